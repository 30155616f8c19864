"""The same elements in another shape, or with their dimensions in another order: mostly views."""

from collections.abc import Sequence
from typing import Any

from nanotorch._core.arguments import as_ints, by_own_names, refused, twice
from nanotorch._core.batch_functions import under_vmap
from nanotorch._core.batch_rules import Call, dimensions, new_dimension, shifted
from nanotorch._core.batched import Batch, Batched, batched
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import need_tensors
from nanotorch.ops.memory import alias, check_width, contiguous

WHOLE: Any = slice(None)


def ints(name: str, argument: str, given: tuple[Any, ...], named: Any = None) -> tuple[int, ...]:
    """Numbers given as one sequence or one by one, or as one sequence by the argument's name.

    Raises:
        TypeError: if there is none, they come in both ways, or one is not an integer.
    """
    if named is not None:
        if given:
            raise twice(name, argument)
        if not isinstance(named, (tuple, list)):
            raise refused(named, "tuple of ints", (name, argument, 0))
        given = (named,)
    if not given:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    if len(given) == 1:
        return as_ints(given[0], (name, argument, 1))
    for n in given:
        if n.__class__ is not int:
            return as_ints(given, (name, argument, 1))
    return given


# Another shape, the same order of elements


def unfit(input: Array, size: tuple[int, ...]) -> RuntimeError:
    """Why ``input`` cannot be seen in the shape ``size``."""
    unknown = [n for n in size if n < 0]
    for position, n in enumerate(size):
        if n < -1:
            return RuntimeError(
                f"invalid shape dimension {n} at index {position} of shape {list(size)}"
            )
    if len(unknown) > 1:
        return RuntimeError("only one dimension can be inferred")
    known = 1
    for n in size:
        known *= n if n >= 0 else 1
    if unknown and known == 0 and input.size == 0:
        return RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if known != input.size and not (unknown and known and input.size % known == 0):
        return RuntimeError(f"shape '{list(size)}' is invalid for input of size {input.size}")
    return RuntimeError(
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead."
    )


def seen_as(input: Array, size: tuple[int, ...]) -> Array:
    """The same memory in another shape.

    Raises:
        RuntimeError: if the sizes do not fit or the memory is not laid out for them.
    """
    try:
        out = input.reshape(size) if input.flags.c_contiguous else input.reshape(size, copy=False)
    except ValueError:
        raise unfit(input, size) from None
    if out.shape != size and min(size) < -1:  # NumPy takes any negative size for -1
        raise unfit(input, size)
    return out


@op(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    method=False,
    public=False,
    node="ViewBackward0",
)
def view_in(input: Array, size: tuple[int, ...]) -> Array:
    """The same elements in another shape."""
    return seen_as(input, size)


@op(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    method=False,
    public=False,
    node="ReshapeAliasBackward0",
)
def reshape_alias(input: Array, size: tuple[int, ...]) -> Array:
    """As `view_in`, for a source whose elements do not lie in memory in order."""
    return seen_as(input, size)


@op(
    input=lambda g, input_shape: reshape(g, input_shape),
    method=False,
    public=False,
    node="UnsafeViewBackward0",
    batch=dimensions,
)
def unsafe_view(input: Array, size: tuple[int, ...]) -> Array:
    """A fresh tensor, which nobody else sees, in another shape: no view in the graph's eyes."""
    return seen_as(input, size)


@method(public=False)
def view(self: Tensor, *shape: Any, size: Sequence[int] | None = None) -> Tensor:
    """The same memory in another shape; -1 stands for what is left.

    Args:
        shape: sizes, or a dtype of equal or other width to read the same bytes as.

    Raises:
        RuntimeError: if the sizes do not fit the elements or their layout in memory.
    """
    if len(shape) == 1 and isinstance(shape[0], DType):
        check_width(self._array, shape[0]._numpy)
        out = wrap(self._array.view(shape[0]._numpy))
        out._cell = self._cell
        return out
    return view_in(self, ints("view", "size", shape, size))


def of_all(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """`reshape` of each sample."""
    input, *given = args
    if not isinstance(input, Batched):
        return function(*args, **kwargs)
    size = ints("reshape", "shape", tuple(given) or (kwargs["shape"],))
    return batched(reshape(input._whole, (batch.size, *size)), batch)


def reshape(input: Any, *given: Any, shape: Sequence[int] | None = None) -> Any:
    """The same elements in another shape: a view where the layout in memory allows, else a copy.

    Raises:
        RuntimeError: if the sizes do not fit.
    """
    size = ints("reshape", "shape", given, shape)
    if not isinstance(input, Tensor):
        return input.reshape(size)
    array = input._array
    if array.flags.c_contiguous:
        return view_in(input, size)
    try:
        array.reshape(size, copy=False)
    except ValueError:
        return unsafe_view(contiguous(input), size)
    return reshape_alias(input, size)


under_vmap(of_all)(reshape)
method(reshape)  # after the definition, which formulas above refer to


@method(public=False)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """`view` in the shape of ``other``."""
    need_tensors(other)
    return view(self, other.shape)


@method(public=False)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """`reshape` to the shape of ``other``."""
    need_tensors(other)
    return reshape(self, other.shape)


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions ``start_dim`` to ``end_dim`` made one.

    Raises:
        RuntimeError: if ``start_dim`` comes after ``end_dim``.
    """
    shape = input._array.shape
    start, end = normal_dim(start_dim, len(shape)), normal_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if start == end:
        return input
    count = 1
    for n in shape[start : end + 1]:
        count *= n
    return reshape(input, (*shape[:start], count, *shape[end + 1 :]))


@method
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Dimension ``dim`` in the shape ``sizes``, one of which may be -1.

    Raises:
        RuntimeError: if the sizes do not multiply to that dimension's.
    """
    dim = normal_dim(dim, input.ndim)
    sizes = ints("unflatten", "sizes", (sizes,))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not input.ndim:
        raise RuntimeError(
            "unflatten got an unexpected error:\nDimension specified as 0 but tensor has no "
            "dimensions"
        )
    n, known = input.shape[dim], 1
    for s in sizes:
        known *= abs(s)
    if -1 in sizes and known and n % known == 0 and sizes.count(-1) == 1:
        sizes = tuple([n // known if s == -1 else s for s in sizes])
    elif n % known if -1 in sizes and known else n != known:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({n}) in the input tensor"
        )
    return view(input, (*input.shape[:dim], *sizes, *input.shape[dim + 1 :]))


@method
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return view(contiguous(input), -1)


# Dimensions of size 1


@op(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    method=False,
    public=False,
    node="SqueezeBackward0",
    batch=lambda call: squeeze_several(call.whole("input"), unit_dims(call)),
)
def squeeze_all(input: Array) -> Array:
    """Without any dimension of size 1."""
    return input.squeeze()


def unit_dims(call: Call) -> tuple[int, ...]:
    """The dimensions of size 1 of a sample, in the tensor of all samples."""
    return tuple([d for d, n in enumerate(call.args["input"].shape, 1) if n == 1])


@op(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    method=False,
    public=False,
    node="SqueezeBackward1",
)
def squeeze_one(input: Array, dim: int) -> Array:
    """Without one dimension, if it has size 1."""
    dim = normal_dim(dim, input.ndim)
    return input.squeeze(dim) if input.ndim and input.shape[dim] == 1 else input[...]


@op(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    method=False,
    public=False,
    node="SqueezeBackward2",
)
def squeeze_several(input: Array, dim: tuple[int, ...]) -> Array:
    """Without those of several dimensions that have size 1."""
    dims = distinct_dims(dim, input.ndim)
    return input.squeeze(tuple([d for d in dims if input.ndim and input.shape[d] == 1]))


def distinct_dims(dim: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Dimensions counted from the front.

    Raises:
        RuntimeError: if one is named twice.
    """
    dims = tuple([normal_dim(d, ndim) for d in as_ints(dim)])
    for position, d in enumerate(dims):
        if d in dims[:position]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


@method
def squeeze(input: Any, *dims: Any, dim: Any = None, **named: Any) -> Any:
    """Without dimensions of size 1: without all of them, or those among ``dim``.

    Args:
        dim: a dimension or several.
    """
    if named:
        return by_own_names(squeeze, named, input=input, dim=dims or dim)
    if dims:
        if dim is not None:
            raise TypeError("squeeze() got an unexpected keyword argument 'dim'")
        dim = dims[0] if len(dims) == 1 else dims
    elif dim is None:
        return squeeze_all(input)
    if isinstance(dim, (tuple, list)):
        return squeeze_several(input, tuple(dim))
    return squeeze_one(input, dim)


@op(input=lambda g, dim: squeeze_one(g, dim), view=True, batch=new_dimension)
def unsqueeze(input: Array, dim: int) -> Array:
    """With a new dimension of size 1 at ``dim``."""
    dim = normal_dim(dim, input.ndim + 1)
    return input[(WHOLE,) * dim + (None,)]


# Dimensions in another order


@op(input=lambda g, dim0, dim1: transpose(g, dim0, dim1), view=True)
def transpose(input: Array, dim0: int, dim1: int) -> Array:
    """With two dimensions swapped."""
    dim0, dim1 = normal_dim(dim0, input.ndim), normal_dim(dim1, input.ndim)
    return input.swapaxes(dim0, dim1) if input.ndim else input[...]


@op(input=lambda g: t(g), view=True, batch=lambda call: turned(call))
def t(input: Array) -> Array:
    """The transpose of a matrix; vectors and 0-d tensors as they are.

    Raises:
        RuntimeError: for more dimensions.
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.T


def turned(call: Call) -> Any:
    """`t` of each sample."""
    array, whole = call.args["input"]._array, call.whole("input")
    if array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {array.ndim}D")
    return transpose(whole, 1, 2) if array.ndim == 2 else alias(whole)


def inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The order of dimensions that undoes ``dims``."""
    order = [0] * len(dims)
    for position, d in enumerate(dims):
        order[d] = position
    return tuple(order)


def behind(call: Call, name: str) -> tuple[int, ...]:
    """The dimension of the samples, and behind it the dimensions that an argument names."""
    return (0, *[shifted(d, call.ndim("input")) for d in call.args[name]])


@op(
    input=lambda g, dims: permute_to(g, inverse(dims)),
    view=True,
    method=False,
    public=False,
    node="PermuteBackward0",
    batch=lambda call: permute_to(call.whole("input"), behind(call, "dims")),
)
def permute_to(input: Array, dims: tuple[int, ...]) -> Array:
    """With the dimensions in the order ``dims``."""
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    try:
        return input.transpose(dims)
    except ValueError:
        for d in dims:
            normal_dim(d, input.ndim)
        raise RuntimeError("permute(): duplicate dims are not allowed.") from None


@method
def permute(input: Any, *order: Any, dims: Sequence[int] | None = None) -> Any:
    """With the dimensions in the order ``dims``.

    Raises:
        RuntimeError: unless each dimension is named once.
    """
    return permute_to(input, ints("permute", "dims", order, dims))
