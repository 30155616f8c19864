"""Choices by a mask: `where`, `masked_fill`, `masked_select`, `nonzero`."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination, refused
from nanotorch._core.batch_functions import DYNAMIC, never, under_vmap
from nanotorch._core.batch_rules import Call, dimensions, elementwise, one_by_one
from nanotorch._core.batched import Shadow, whole_of
from nanotorch._core.choice import pick
from nanotorch._core.op import Array, method, op, public
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.warned import warn
from nanotorch.ops.arguments import as_number, number_in, number_or_infinity
from nanotorch.ops.comparison import zero_where
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.inplace import writer
from nanotorch.ops.joining import unbind
from nanotorch.ops.reduction import sum_all
from nanotorch.ops.shape import unsqueeze

# One of two values

NO_MASKS = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this "
    "because for each batch this would return a differently shaped Tensor. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)
WHERE_FORMS = "Tensor condition", "Tensor condition, Tensor | Number input, Tensor | Number other"


@op(
    input=lambda g, condition: zero_where(g, ~condition),
    other=lambda g, condition: zero_where(g, condition),
    method=False,
    public=False,
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
            f"{dtypes.of_array(array).char}"
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
        names = {"int64": "long int", "uint8": "unsigned char", "int8": "signed char"}
        names |= {"int16": "short int", "float32": "float", "float64": "double"}
        name = names.get(mask.dtype.name, "int" if mask.dtype.kind == "i" else "c10::Half")
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {name}"
        )


def filled(input: Array, mask: Array, value: Any) -> Array:
    """Write ``value`` into ``input`` where ``mask``, which broadcasts to it, is true."""
    boolean_mask(mask)
    if mask.shape != input.shape:
        shape = common_shape(input.shape, mask.shape)
        if shape != input.shape:
            raise RuntimeError(
                f"output with shape {list(input.shape)} doesn't match the broadcast shape "
                f"{list(shape)}"
            )
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


BY_NUMBER: dict[str, Any] = {
    "input": lambda g, mask: zero_where(g, mask),
    "node": "MaskedFillBackward0",
}
BY_TENSOR: dict[str, Any] = {
    "input": lambda g, mask: zero_where(g, mask),
    "value": lambda g, mask: sum_all(zero_where(g, ~mask)),
    "node": "MaskedFillBackward1",
}


@op(**BY_NUMBER, method=False, public=False, batch=elementwise)
def mask_by_number(input: Array, mask: Array, value: dtypes.Number) -> Array:
    """``input`` with a number where ``mask`` is true."""
    return filled(copy_for(input, mask), mask, number_in(value, input.dtype))


@writer(**BY_NUMBER, expanded="masked_fill_", batch=elementwise)
def mask_by_number_in_place(input: Array, mask: Array, value: dtypes.Number) -> Array:
    """Write a number where ``mask`` is true."""
    return filled(input, mask, number_in(value, input.dtype))


def filled_of_all(call: Call) -> Any:
    """`mask_by_tensor` of each sample, whose values may differ."""
    input, value = call.args["input"], call.args["value"]
    if value.ndim:
        scalar_value(value._array, input._array.dtype)
    out = choose(call.args["mask"], value.to(input.dtype), input)
    return input.copy_(out) if call.inplace else whole_of(out, call.batch)


@op(**BY_TENSOR, method=False, public=False, batch=lambda call: filled_of_all(call))
def mask_by_tensor(input: Array, mask: Array, value: Array) -> Array:
    """``input`` with the value of a 0-d tensor where ``mask`` is true."""
    return filled(copy_for(input, mask), mask, scalar_value(value, input.dtype))


@writer(**BY_TENSOR, expanded="masked_fill_", batch=lambda call: filled_of_all(call))
def mask_by_tensor_in_place(input: Array, mask: Array, value: Array) -> Array:
    """Write the value of a 0-d tensor where ``mask`` is true."""
    return filled(input, mask, scalar_value(value, input.dtype))


@method
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """``input`` with ``value``, a number or 0-d tensor, where ``mask`` is true.

    Raises:
        RuntimeError: for a mask that is not bool, or a value with dimensions.
    """
    if isinstance(value, Tensor):
        return mask_by_tensor(input, mask, value)
    return mask_by_number(input, mask, as_number(value))


@method(public=False)
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place `masked_fill`."""
    if isinstance(value, Tensor):
        return mask_by_tensor_in_place(self, mask, value)
    return mask_by_number_in_place(self, mask, as_number(value))


# The values at a mask


def both_broadcast(input: Array, mask: Array) -> tuple[Array, Array]:
    """Two arrays in the shape they have in common."""
    if input.shape == mask.shape:
        return input, mask
    shape = common_shape(mask.shape, input.shape)
    return np.broadcast_to(input, shape), np.broadcast_to(mask, shape)


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
    input, mask = both_broadcast(input, mask)
    return input[mask]


@op(
    g=lambda g, mask: masked_select(g, mask),
    method=False,
    public=False,
    node="MaskedScatterBackward0",
)
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
    if input.dtype != source.dtype:
        a, b = dtypes.of_array(input).char, dtypes.of_array(source).char
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{a} and {b}"
        )
    if mask.dtype.kind != "b":
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{dtypes.of_array(mask).char}"
        )
    out = copy_for(input, mask)
    mask = np.broadcast_to(mask, out.shape)
    count = int(mask.sum())
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out[mask] = source.reshape(-1)[:count]
    return out


@op(
    g=lambda g, mask, g_shape: masked_scatter(blank_in(g, g_shape), mask, g),
    method=False,
    public=False,
)
def masked_scatter_backward(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """The elements of ``g`` at the mask, first in zeros of ``shape``."""
    out = np.zeros(shape, g.dtype)
    chosen = g[np.broadcast_to(mask, g.shape)]
    out.reshape(-1)[: chosen.size] = chosen
    return out


@op(method=False, public=False, batch=dimensions)
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
