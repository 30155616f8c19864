"""Whole parts by index, choices by a mask."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination, refused
from nanotorch._core.batched import (
    DYNAMIC,
    Call,
    Shadow,
    dimensions,
    elementwise,
    never,
    one_by_one,
    shifted,
    under_vmap,
    whole_of,
)
from nanotorch._core.call_site import warn
from nanotorch._core.layout import normal_dim, own_dim
from nanotorch._core.op import Array, hidden_op, method, op, public
from nanotorch._core.overloads import overloads
from nanotorch._core.sums import pick
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import (
    NUMBERS,
    char_of,
    need_kind,
    need_one_dtype,
    number_in,
    number_or_infinity,
)
from nanotorch.ops.elementwise import zero_where
from nanotorch.ops.gathering import (
    add_rows,
    at,
    check_index,
    gather,
    outside,
    part,
    scatter_add,
    scatter_number,
)
from nanotorch.ops.inplace import blank, written
from nanotorch.ops.joining import common_shape, refuse_larger, unbind
from nanotorch.ops.reduction import sum_all
from nanotorch.ops.shape import unsqueeze

# Whole parts by index along one dimension: `index_select`, `index_add`, `index_copy`, ...


WHOLE: Any = slice(None)

# Along one dimension


def parts_of_all(call: Call) -> Any:
    """`index_select` of each sample; each at its own place in one long dimension."""
    own, size = call.ndim("input"), call.batch.size
    if not own or call.args["index"].ndim != 1:
        return one_by_one(call)
    dim, index = shifted(call.args["dim"], own), call.whole("index")
    if not call.is_batched("index"):
        return index_select(call.whole("input"), dim, index)
    if not call.is_batched("input"):
        flat = index_select(call.args["input"], dim - 1, index.reshape(-1))
        return flat.unflatten(dim - 1, index.shape).movedim(dim - 1, 0)
    source = call.whole("input").movedim(dim, 1)
    rows = index + wrap(np.arange(size).reshape(-1, 1) * source.shape[1])
    flat = index_select(source.flatten(0, 1), 0, rows.reshape(-1))
    return flat.unflatten(0, index.shape).movedim(1, dim)


@op(
    input=lambda g, input_shape, dim, index: index_select_backward(g, input_shape, dim, index),
    batch=parts_of_all,
)
def index_select(input: Array, dim: int, index: Array) -> Array:
    """The parts at ``index`` of dimension ``dim``."""
    dim = normal_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype.kind != "i" or index.itemsize < 4:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    source, wanted = (input, index.reshape(-1)) if input.ndim else (input.reshape(1), index)
    if not input.ndim and index.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
    try:
        picked = source.take(wanted, dim)
    except IndexError:
        raise cannot_select(source.shape, wanted, dim) from None
    # NumPy counts from the end too, and takes any place in nothing.
    if (wanted < 0).any() or (not picked.size and (wanted >= source.shape[dim]).any()):
        raise cannot_select(source.shape, wanted, dim)
    return picked if input.ndim else picked.reshape(())


def cannot_select(shape: tuple[int, ...], index: Array, dim: int) -> Exception:
    """The error for an index out of range."""
    size, some = shape[dim], 0 not in shape
    if len(shape) == 1 or (some and dim != 1):
        return IndexError("index out of range in self")
    # PyTorch has a kernel of its own for the second dimension, and for nothing, with other words.
    if not size:
        return RuntimeError("index_select(): self indexing axis dim should be positive")
    first = index[(index < 0) | (index >= size)][0]
    return RuntimeError(f"INDICES element is out of DATA bounds, id={first} axis_dim={size}")


@hidden_op(g=lambda g, dim, index: index_select(g, dim, index), node="IndexAddBackward0")
def index_select_backward(g: Array, shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """Zeros of ``shape``, to which `index_select`'s gradient is added where its parts came from."""
    return parts_added(np.zeros(shape, g.dtype), dim, index, g)


def parts_added(out: Array, dim: int, index: Array, source: Array) -> Array:
    """Add the parts of ``source`` along ``dim`` into those of ``out`` at ``index``."""
    if out.ndim and out.size:
        add_rows(np.moveaxis(out, dim, 0), index.reshape(-1), np.moveaxis(source, dim, 0))
    elif not out.ndim:
        out += source
    return out


def check_index_add(input: Array, dim: int, index: Array, source: Array, alpha: Any) -> int:
    """The dimension, counted from the front; refuses what does not fit."""
    dim = normal_dim(dim, input.ndim)
    char = char_of(index)
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{char} and size: {list(index.shape)}"
        )
    if index.dtype.kind != "i" or index.itemsize < 4:
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {char}")
    text = "index_add_(): self ({}) and source ({}) must have the same scalar type"
    need_one_dtype(text, input, source)
    if dim and dim >= source.ndim:
        raise RuntimeError(
            f"index_add_(): Indexing dim {dim} is out of bounds of the source tensor with dim "
            f"{source.ndim}"
        )
    alone = not source.ndim and index.size == 1
    count = 1 if alone else source.shape[own_dim(dim, source.ndim)]
    if index.size != count:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({count}), for dim: {dim}"
        )
    rest = [a.shape[:dim] + a.shape[dim + 1 :] for a in (input, source)]
    if rest[0] != rest[1] or input.ndim != source.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )
    size = input.shape[dim] if input.ndim else 1
    wrong = ((index < 0) | (index >= size)).any()
    scattered = input.ndim > 1 and dim in (0, input.ndim - 1) and index.itemsize == 8
    scattered = scattered and alpha == 1 and alpha is not True
    if wrong and input.size and scattered:
        raise outside(index, dim, size, RuntimeError)
    if wrong and (input.size or input.ndim == 1):
        raise IndexError("index out of range in self")
    return dim


@written(
    input=lambda g: g,
    # It names the source only to notice, as PyTorch does, that it was written to.
    source=lambda g, dim, index, alpha, source: (
        index_select(g, dim, index) if alpha == 1 else index_select(g, dim, index) * alpha
    ),
    overlap=False,
)
def index_add(
    input: Array, dim: int, index: Array, source: Array, *, alpha: dtypes.Number = 1
) -> Array:
    """``input`` with ``alpha * source`` added to its parts at ``index`` along ``dim``."""
    dim = check_index_add(input, dim, index, source, alpha)
    scaled = source if alpha == 1 else source * number_in(alpha, input.dtype)
    return parts_added(input, dim, index, scaled)


COPY_DTYPES = (
    "index_copy_(): self and source expected to have the same dtype, but got (self) {} and "
    "(source) {}"
)


def check_index_copy(input: Array, dim: int, index: Array, source: Array) -> int:
    """The dimension, counted from the front; refuses what does not fit."""
    dim = normal_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element (got "
            f"{index.size})"
        )
    if input.ndim != source.ndim and input.ndim and source.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({source.ndim}), destination dimensionality "
            f"({input.ndim})"
        )
    if index.dtype != np.int64:
        text = "index_copy_(): Expected a long tensor for index, but got "
        raise RuntimeError(text + char_of(index))
    need_one_dtype(COPY_DTYPES, input, source)
    rest = [x.shape[:dim] + x.shape[dim + 1 :] for x in (input, source)]
    if rest[0] != rest[1]:
        shapes = [" ".join(map(str, r)) for r in rest]
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {shapes[0]} at dimension {dim} and source slice shape: {shapes[1]} at "
            "dimension 0."
        )
    if source.ndim and index.size != source.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[dim]})"
        )
    size = input.shape[dim] if input.ndim else 1
    if ((index < 0) | (index >= size)).any() and (input.size or not size):
        raise outside(index, dim, size, name="index_copy_(): ")
    return dim


@written(
    input=lambda g, dim, index: fill_by_number(g, dim, index, 0),
    source=lambda g, dim, index, source: (
        index_select(g, dim, index) if g.ndim else index_select(g, dim, index).reshape(source.shape)
    ),
    overlap=False,
)
def index_copy(input: Array, dim: int, index: Array, source: Array) -> Array:
    """``input`` with the parts of ``source`` at ``index`` along ``dim``."""
    dim = check_index_copy(input, dim, index, source)
    target = input if input.ndim else input.reshape(1)
    if target.size:  # in nothing any place will do
        target[(*(WHOLE,) * dim, index.reshape(-1))] = source
    return input


def index_filled(input: Array, dim: int, index: Array, value: Any) -> Array:
    """Write ``value`` into the parts of ``input`` at ``index`` along ``dim``."""
    dim = normal_dim(dim, input.ndim)
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, np.ndarray) and value.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    target = input if input.ndim else input.reshape(1)
    try:
        target[(*(WHOLE,) * dim, index)] = value
    except IndexError:
        if target.size or not target.shape[dim]:
            size = target.shape[dim]
            raise outside(index, dim, size, low=-size) from None
    return input


@hidden_op()
def distinct(index: Array, filled: Array, dim: int) -> Array:
    """The indices of ``filled`` along ``dim`` that ``index`` means, each once."""
    size = filled.shape[dim] if filled.ndim else 1
    return np.unique(np.where(index < 0, index + size, index))


FILL: dict[str, Any] = {
    "input": lambda g, dim, index: fill_by_number(g, dim, index, 0),
    "method": False,
    "overlap": False,
    "expanded": "index_fill_",  # of which PyTorch warns only
}


@written(np.array, **FILL, node="IndexFillBackward0")
def fill_by_number(input: Array, dim: int, index: Array, value: dtypes.Number) -> Array:
    """Write a number into the parts of ``input`` at ``index`` along ``dim``."""
    return index_filled(input, dim, index, number_in(value, input.dtype))


@written(
    np.array,
    **FILL,
    value=lambda g, dim, index: sum_all(index_select(g, dim, distinct(index, g, dim))),
    node="IndexFillBackward1",
)
def fill_by_tensor(input: Array, dim: int, index: Array, value: Array) -> Array:
    """Write the value of a 0-d tensor into the parts of ``input`` at ``index`` along ``dim``."""
    return index_filled(input, dim, index, value)


@overloads(
    {
        "Tensor input, int dim, Tensor index, Tensor value": fill_by_tensor,
        "Tensor input, int dim, Tensor index, Number value": fill_by_number,
    },
    inplace=True,
)
def index_fill(input: Any, dim: int, index: Tensor, value: Any) -> Any:
    """``input`` with ``value``, a number or 0-d tensor, in its parts at ``index`` along ``dim``."""


# Choices by a mask: `where`, `masked_fill`, `masked_select`, `nonzero`.


# One of two values

NO_MASKS = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this "
    "because for each batch this would return a differently shaped Tensor. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)
WHERE_FORMS = "Tensor condition", "Tensor condition, Tensor | Number input, Tensor | Number other"


@hidden_op(
    input=lambda g, condition: zero_where(g, ~condition),
    other=lambda g, condition: zero_where(g, condition),
    node="WhereBackward0",
    batch=elementwise,
)
def where_true(condition: Array, input: Array, other: Array, dtype: np.dtype | None) -> Array:
    """``input`` where ``condition`` is true and ``other`` elsewhere, in the given dtype."""
    if dtype is not None:
        input, other = input.astype(dtype, copy=False), other.astype(dtype, copy=False)
    try:
        return pick(condition, input, other)
    except ValueError:
        common_shape(common_shape(condition.shape, input.shape), other.shape)
        raise


def truth(condition: Any) -> Any:
    """A condition as bool.

    Raises:
        RuntimeError: for any other dtype but uint8.
    """
    array: Any = condition._array if isinstance(condition, Tensor) else condition
    if not isinstance(array, (np.ndarray, np.generic, Shadow)):
        raise refused(condition, "Tensor")
    if array.dtype.kind == "b":
        return condition
    if array.dtype != np.uint8:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{char_of(array)}"
        )
    warn(
        "where received a uint8 condition tensor. This behavior is deprecated and will be removed "
        "in a future version of PyTorch. Use a boolean condition instead."
    )
    return wrap(np.not_equal(array, 0))


def choose(condition: Any, input: Any, other: Any) -> Any:
    """`where` of three arguments; two of them may be numbers."""
    condition, pair = truth(condition), (input, other)
    if isinstance(condition, Tensor):
        for x in pair:
            if not isinstance(x, (Tensor, bool, int, float, np.generic)):
                raise combination("where", (condition, *pair), WHERE_FORMS)
    if not isinstance(condition, Tensor) and not any(isinstance(x, Tensor) for x in pair):
        return where_true(condition, input, other, None)
    held = [x._array if isinstance(x, Tensor) else x for x in pair]
    if isinstance(input, Tensor) and isinstance(other, Tensor) and held[0].dtype == held[1].dtype:
        return where_true(condition, input, other, None)
    kind = dtypes.result_type(held)._numpy
    operands = [
        x if isinstance(x, Tensor) else wrap(np.array(number_or_infinity(x, kind))) for x in pair
    ]
    return where_true(condition, *operands, kind)


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """``input`` where ``condition`` is true and ``other`` elsewhere, broadcasting.

    With ``condition`` alone: the indices of its nonzero elements, a tensor for each dimension.

    Raises:
        RuntimeError: for a condition that is not bool.
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return choose(condition, input, other)


public(where)


@method(name="where", public=False)
def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where ``condition`` is true and ``other`` elsewhere."""
    return choose(condition, self, other)


# One value


def boolean_mask(mask: Array) -> None:
    """Refuse masks of other dtypes."""
    if mask.dtype.kind != "b":
        name = dtypes.C_NAMES[mask.dtype.name]
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {name}"
        )


def filled(input: Array, mask: Array, value: Any) -> Array:
    """Write ``value`` into ``input`` where ``mask``, which broadcasts to it, is true."""
    boolean_mask(mask)
    if mask.shape != input.shape:
        refuse_larger(input.shape, mask.shape)
    np.copyto(input, value, casting="unsafe", where=mask)
    return input


def copy_for(input: Array, mask: Array) -> Array:
    """A copy of ``input`` in the shape it has in common with ``mask``."""
    if mask.shape == input.shape:
        return np.array(input, order="C")
    return np.array(np.broadcast_to(input, common_shape(mask.shape, input.shape)), order="C")


def scalar_value(value: Array, kind: np.dtype) -> Any:
    """The value of a 0-d tensor, for tensors of the type ``kind``.

    Raises:
        RuntimeError: for more dimensions, or an integer type that does not hold the value.
    """
    if value.ndim:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    return value if kind.kind == "b" else number_in(value.item(), kind)


def filled_of_all(call: Call) -> Any:
    """`mask_by_tensor` of each sample, whose values may differ."""
    input, value = call.args["input"], call.args["value"]
    if value.ndim:
        scalar_value(value._array, input._array.dtype)
    out = choose(call.args["mask"], value.to(input.dtype), input)
    return input.copy_(out) if call.inplace else whole_of(out, call.batch)


MASKED: dict[str, Any] = {
    "input": lambda g, mask: zero_where(g, mask),
    "method": False,
    "expanded": "masked_fill_",
}


@written(copy_for, 2, **MASKED, node="MaskedFillBackward0", batch=elementwise)
def mask_by_number(input: Array, mask: Array, value: dtypes.Number) -> Array:
    """Write a number where ``mask`` is true."""
    return filled(input, mask, number_in(value, input.dtype))


@written(
    copy_for,
    2,
    **MASKED,
    value=lambda g, mask: sum_all(zero_where(g, ~mask)),
    node="MaskedFillBackward1",
    batch=filled_of_all,
)
def mask_by_tensor(input: Array, mask: Array, value: Array) -> Array:
    """Write the value of a 0-d tensor where ``mask`` is true."""
    return filled(input, mask, scalar_value(value, input.dtype))


@overloads(
    {
        "Tensor input, Tensor mask, Tensor value": mask_by_tensor,
        "Tensor input, Tensor mask, Number value": mask_by_number,
    },
    inplace=True,
)
def masked_fill(input: Any, mask: Tensor, value: Any) -> Any:
    """``input`` with ``value``, a number or 0-d tensor, where ``mask`` is true.

    Raises:
        RuntimeError: for a mask that is not bool, or a value with dimensions.
    """


# The values at a mask


def selected_of_all(call: Call) -> Any:
    """`masked_select` of each sample, by one mask.

    Raises:
        RuntimeError: if each has its own.
    """
    if call.is_batched("mask"):
        raise RuntimeError(NO_MASKS)
    return one_by_one(call)


@op(
    input=lambda g, input, mask: masked_select_backward(g, mask, tuple(input.shape)),
    batch=selected_of_all,
)
def masked_select(input: Array, mask: Array) -> Array:
    """The elements where ``mask`` is true, in one dimension; the two broadcast."""
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if input.shape != mask.shape:
        shape = common_shape(mask.shape, input.shape)
        input, mask = np.broadcast_to(input, shape), np.broadcast_to(mask, shape)
    return input[mask]


@hidden_op(g=lambda g, mask: masked_select(g, mask), node="MaskedScatterBackward0")
def masked_select_backward(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """``g`` where ``mask`` is true and zeros elsewhere."""
    full = common_shape(mask.shape, shape)
    out = np.zeros(full, g.dtype)
    out[np.broadcast_to(mask, full)] = g
    return out


@op(
    input=lambda g, mask: zero_where(g, mask),
    source=lambda g, mask, source_shape: masked_scatter_backward(g, mask, source_shape),
    inplace=True,
    overlap=True,
    in_order=True,
)
def masked_scatter(input: Array, mask: Array, source: Array) -> Array:
    """``input`` with consecutive elements of ``source`` where ``mask`` is true.

    Raises:
        RuntimeError: if ``source`` has too few.
    """
    text = "masked_scatter: expected self and source to have same dtypes but got{} and {}"
    need_one_dtype(text, input, source)
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {char_of(mask)}"
        )
    out = copy_for(input, mask)
    mask = np.broadcast_to(mask, out.shape)
    count = int(mask.sum())
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out[mask] = source.reshape(-1)[:count]
    return out


@hidden_op(g=lambda g, mask, g_shape: masked_scatter(blank_in(g, g_shape), mask, g))
def masked_scatter_backward(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """The elements of ``g`` at the mask, first in zeros of ``shape``."""
    out = np.zeros(shape, g.dtype)
    chosen = g[np.broadcast_to(mask, g.shape)]
    out.reshape(-1)[: chosen.size] = chosen
    return out


@hidden_op(batch=dimensions)
def blank_in(g: Array, shape: tuple[int, ...]) -> Array:
    """Zeros of a shape, with the dtype of ``g``."""
    return np.zeros(shape, g.dtype)


# Indices


@method
@under_vmap(never(DYNAMIC.format("nonzero")))
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero, ``(number, ndim)``.

    Args:
        as_tuple: give a vector for each dimension instead; a 0-d tensor counts as having one.
    """
    if as_tuple:
        source = unsqueeze(input.detach(), 0) if input.ndim == 0 else input
        return unbind(nonzero(source), 1)
    return wrap(np.argwhere(input._array))


@method
@under_vmap(never(DYNAMIC.format("nonzero")))
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, ``(number, ndim)``."""
    return nonzero(input)


# Elements combined where an index says: `scatter_reduce`.


REDUCTIONS: dict[str, Any] = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum
}  # fmt: skip


def neutral(reduce: str, kind: np.dtype) -> Any:
    """What leaves any number of a type as it is."""
    if reduce in ("sum", "mean"):
        return kind.type(0)
    if reduce == "prod":
        return kind.type(1)
    if kind.kind == "f":
        return kind.type(-np.inf if reduce == "amax" else np.inf)
    if kind.kind == "b":
        return reduce == "amin"
    return np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max


# Gradients: of what was there before, and of what was combined with it


def counts(input: Any, dim: int, index: Any, src: Any, include_self: bool) -> Any:
    """How many elements went into each, at least 1."""
    held = blank(input) + 1.0 * include_self
    number = scatter_add(held, dim, index, blank(src) + 1)
    return mask_by_number(number, number == 0, 1)


def attained(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, include_self: bool
) -> tuple[Any, Any]:
    """The gradients of an extremum, in equal shares to the elements that attain it."""
    mine = (input == out) * (blank(input) + 1)
    theirs = (src == gather(out, dim, index)) * (blank(src) + 1)
    share = g / scatter_add(mine, dim, index, theirs)
    return mine * share, theirs * gather(share, dim, index)


def factors(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, include_self: bool
) -> tuple[Any, Any]:
    """The gradients of products, without a division by zero."""
    whole = mask_by_number(input, input == 0, 1)
    first = g * scatter_reduce(whole, dim, index, src, "prod", include_self=include_self) / whole
    zero = src == 0
    number = gather(scatter_add(input * 0, dim, index, zero * (src * 0 + 1)), dim, index)
    single = zero & (number == 1)
    others = scatter_reduce(
        input, dim, index, mask_by_number(src, single, 1), "prod", include_self=include_self
    )
    divided = gather(g * out, dim, index) / mask_by_number(src, zero, 1)
    return first, where_true(single, gather(g * others, dim, index), divided, None)


def slopes(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, reduce: str, include_self: bool
) -> tuple[Any, Any]:
    """The gradients of `scatter_reduce`.

    Raises:
        RuntimeError: for more sources than indices, which only sums and means put up with.
    """
    if reduce in ("sum", "mean"):
        if reduce == "mean":
            g = g / counts(input, dim, index, src, include_self)
        first, second = g, gather(g, dim, index)
    else:
        common_shape(src.shape, index.shape)
        combined = factors if reduce == "prod" else attained
        first, second = combined(g, input, dim, index, src, out, include_self)
    return (first if include_self else scatter_number(first, dim, index, 0)), second


@op(input=slopes, src=slopes, joint=True, inplace=True, overlap=False, batch=dimensions)
def scatter_reduce(
    input: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """``input`` with elements of ``src`` combined along ``dim``, where ``index`` says.

    Args:
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether what was there before counts too.

    Raises:
        RuntimeError: for an index out of range, or another word.
    """
    dim = check_index("scatter", input, index, dim, src)
    if reduce not in REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    out = np.array(input, order="C")
    if not index.size:
        return out
    if reduce == "mean":
        need_kind("scatter_gather_tensor_cpu_reduce_mean", out, kinds=NUMBERS)
    flat, shape = out.reshape(-1), out.shape or (1,)
    places = np.ravel_multi_index(at(np.atleast_1d(index), dim), shape).reshape(-1)
    values = np.atleast_1d(part(np.atleast_1d(src), np.atleast_1d(index).shape)).reshape(-1)
    if not include_self:
        flat[places] = neutral(reduce, out.dtype)
    REDUCTIONS[reduce].at(flat, places, values)
    if reduce == "mean":
        number = np.bincount(places, minlength=flat.size) + include_self
        number = np.maximum(number, 1).astype(out.dtype)
        np.copyto(flat, np.floor_divide(flat, number) if out.dtype.kind != "f" else flat / number)
    return out
