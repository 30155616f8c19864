"""Maxima and minima, where they are, and whether any or all elements are true."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_ints, lacking, twice
from nanotorch._core.batch_functions import along, under_vmap
from nanotorch._core.batch_rules import dimensions, in_rows
from nanotorch._core.layout import normal_dim
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.comparison import zero_where
from nanotorch.ops.elementwise import maximum, minimum
from nanotorch.ops.reduction import NOT_GIVEN, NOT_KEPT, Dims, normal_dims, spread, sum_along
from nanotorch.ops.shape import reshape

maximum_of_all: Callable[..., Any] = np.maximum.reduce
minimum_of_all: Callable[..., Any] = np.minimum.reduce
max_result = named_tuple("max", "values", "indices")
min_result = named_tuple("min", "values", "indices")


def shared(g: Any, input: Any, out: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """The gradient of an extremum, in equal shares to the elements that attain it."""
    at = (input == spread(out, tuple(input.shape), dim, keepdim)) * 1.0
    return shares(g, at, dim, keepdim)


def shared_by_all(g: Any, input: Any, out: Any) -> Any:
    """As `shared`, over all elements; nans share what a nan received, others get none of a nan."""
    shape, every = tuple(input.shape), tuple(range(input.ndim))
    result = spread(out, shape, every, False)
    at = (input == result) | ((input != input) & (result != result))
    share = spread(g, shape, every, False) / sum_along(at * 1.0, every, True)
    return zero_where(share, ~at)


def shares(g: Any, at: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """The gradient in equal parts to the elements where ``at`` is 1."""
    return at * spread(g, tuple(at.shape), dim, keepdim) / sum_along(at, dim, True)


def require_elements(name: str, input: Array, dim: tuple[int, ...]) -> None:
    """Nothing is the greatest of no elements."""
    for d in dim:
        if input.shape[normal_dim(d, input.ndim)] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


@op(
    input=lambda g, input, out, dim, keepdim: shared(g, input, out, dim, keepdim),
    method=False,
    public=False,
    node="AmaxBackward0",
    in_order=True,
)
def amax_along(input: Array, dim: tuple[int, ...], keepdim: bool) -> Array:
    """The greatest element along dimensions."""
    require_elements("amax", input, dim)
    return maximum_of_all(input, dim, None, None, keepdim)


@op(
    input=lambda g, input, out, dim, keepdim: shared(g, input, out, dim, keepdim),
    method=False,
    public=False,
    node="AminBackward0",
    in_order=True,
)
def amin_along(input: Array, dim: tuple[int, ...], keepdim: bool) -> Array:
    """The smallest element along dimensions."""
    require_elements("amin", input, dim)
    return minimum_of_all(input, dim, None, None, keepdim)


def some_dims(name: str, dim: Dims, input: Any) -> tuple[int, ...]:
    """The dimensions to reduce, if they have elements; all of them only where there is one."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return whole(name, input)
    if 0 in input.shape:
        require_elements(name, input, as_ints(dim))
    return normal_dims(dim, input.ndim)


@method
def amax(input: Any, dim: Dims = (), keepdim: bool = False) -> Any:
    """The greatest element, or along ``dim``; equal ones share the gradient.

    Raises:
        IndexError: where there is no element.
    """
    return amax_along(input, some_dims("amax", dim, input), keepdim)


@method
def amin(input: Any, dim: Dims = (), keepdim: bool = False) -> Any:
    """The smallest element, or along ``dim``; equal ones share the gradient.

    Raises:
        IndexError: where there is no element.
    """
    return amin_along(input, some_dims("amin", dim, input), keepdim)


def whole(name: str, input: Any) -> tuple[int, ...]:
    """All dimensions of an input that must have elements."""
    if math.prod(input.shape) == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    return tuple(range(input.ndim))


@op(
    input=lambda g, input, out: shared_by_all(g, input, out),
    method=False,
    public=False,
    node="MaxBackward1",
    batch=lambda call: amax_along(in_rows(call.whole("input")), (1,), False),
)
def max_all(input: Array) -> Array:
    """The greatest of all elements."""
    return maximum_of_all(input, whole("max", input))


@op(
    input=lambda g, input, out: shared_by_all(g, input, out),
    method=False,
    public=False,
    node="MinBackward1",
    batch=lambda call: amin_along(in_rows(call.whole("input")), (1,), False),
)
def min_all(input: Array) -> Array:
    """The smallest of all elements."""
    return minimum_of_all(input, whole("min", input))


# Along one dimension, with the index of the element chosen


@op(
    input=lambda g, positions, dim, size: put_along(g, positions, dim, size),
    method=False,
    public=False,
    batch=dimensions,
)
def take_along(input: Array, positions: Array, dim: int, size: int) -> Array:
    """One element along ``dim`` for each position; ``positions`` keeps that dimension as 1."""
    return np.take_along_axis(input, positions, dim)


@op(
    input=lambda g, positions, dim, size: take_along(g, positions, dim, size),
    method=False,
    public=False,
    batch=dimensions,
)
def put_along(input: Array, positions: Array, dim: int, size: int) -> Array:
    """Zeros but for one element along ``dim`` at each position: the adjoint of `take_along`."""
    shape = list(positions.shape)
    shape[dim] = size
    out = np.zeros(shape, input.dtype)
    np.put_along_axis(out, positions, input, dim)
    return out


def chosen_slope(
    g: Any, indices: Any, input_shape: tuple[int, ...], dim: int, keepdim: bool
) -> Any:
    """The gradient of an element chosen along ``dim``."""
    if not input_shape:
        return g * 1.0
    if not keepdim:
        kept = tuple(1 if d == dim else n for d, n in enumerate(input_shape))
        g, indices = reshape(g, kept), reshape(indices, kept)
    return put_along(g, indices, dim, input_shape[dim])


# The declaration of an operation that picks one element along ``dim`` and tells its index.
CHOSEN: dict[str, Any] = {
    "input": lambda g, indices, input_shape, dim, keepdim: chosen_slope(
        g, indices, input_shape, dim, keepdim
    ),
    "aux": ("indices",),
    "method": False,
    "public": False,
}


def chosen(input: Array, indices: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The elements at ``indices``, whose dimension ``dim`` is kept as 1, and those."""
    values = np.take_along_axis(input, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def choose(input: Array, dim: int, keepdim: bool, find: Any, name: str) -> tuple[Array, Array]:
    """The element that ``find`` picks along ``dim``, and its index."""
    if input.ndim == 0:
        return input.copy(), np.zeros((), np.int64)
    require_elements(name, input, (dim,))
    return chosen(input, np.expand_dims(find(input, dim), dim), dim, keepdim)


@op(**CHOSEN, node="MaxBackward0")
def max_along(input: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The greatest element along ``dim`` and its first index."""
    return choose(input, dim, keepdim, np.argmax, "max")


@op(**CHOSEN, node="MinBackward0")
def min_along(input: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The smallest element along ``dim`` and its first index."""
    return choose(input, dim, keepdim, np.argmin, "min")


def second_operand(name: str, dim: Any, keepdim: bool, other: Any) -> Any:
    """The tensor to compare with, by its own name or in the place of ``dim``; None without one.

    Raises:
        TypeError: for a dimension besides, or ``keepdim`` without either.
    """
    if isinstance(dim, Tensor) and other is None:
        other, dim = dim, NOT_GIVEN
    if other is not None:
        if dim is not NOT_GIVEN or keepdim is not NOT_KEPT:
            raise twice(name, "other")
    elif dim is NOT_GIVEN and keepdim is not NOT_KEPT:
        raise lacking(name, "dim")
    return other


@method
def max(input: Any, dim: Any = NOT_GIVEN, keepdim: bool = NOT_KEPT, *, other: Any = None) -> Any:
    """The greatest element; with ``dim``, the named tuple ``(values, indices)`` along it.

    Args:
        dim: a dimension, or a tensor, for which this is `maximum`.

    Raises:
        RuntimeError, IndexError: where there is no element.
    """
    second = second_operand("max", dim, keepdim, other)
    if second is not None:
        return maximum(input, second)
    if dim is NOT_GIVEN:
        return max_all(input)
    return max_result(max_along(input, normal_dim(dim, input.ndim), keepdim))


@method
def min(input: Any, dim: Any = NOT_GIVEN, keepdim: bool = NOT_KEPT, *, other: Any = None) -> Any:
    """The smallest element; with ``dim``, the named tuple ``(values, indices)`` along it.

    Args:
        dim: a dimension, or a tensor, for which this is `minimum`.

    Raises:
        RuntimeError, IndexError: where there is no element.
    """
    second = second_operand("min", dim, keepdim, other)
    if second is not None:
        return minimum(input, second)
    if dim is NOT_GIVEN:
        return min_all(input)
    return min_result(min_along(input, normal_dim(dim, input.ndim), keepdim))


def index_of(name: str, find: Any, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """`argmax` and `argmin`."""
    array = input._array
    if array.dtype.kind == "b":
        raise NotImplementedError(f"{name}(): does not support bool input")
    if dim is None:
        if array.size == 0:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
            )
        found = np.asarray(find(array))
        return wrap(found.reshape((1,) * array.ndim) if keepdim else found)
    axis = normal_dim(dim, array.ndim)
    if array.ndim == 0:
        return wrap(np.zeros((), np.int64))
    if array.shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return wrap(np.asarray(find(array, axis, keepdims=keepdim)))


@method
@under_vmap(along)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the greatest element, flat or along ``dim``; the first of equal ones."""
    return index_of("argmax", np.argmax, input, dim, keepdim)


@method
@under_vmap(along)
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element, flat or along ``dim``; the first of equal ones."""
    return index_of("argmin", np.argmin, input, dim, keepdim)


def truth(reduce: Any, input: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """`any` and `all`: bool, but uint8 for uint8; along no dimension of each element."""
    axes = () if isinstance(dim, (tuple, list)) and not dim else normal_dims(dim, input.ndim)
    out = np.asarray(reduce(input._array, axes, keepdims=keepdim), order="C")
    return wrap(out.astype(np.uint8) if input.dtype == dtypes.uint8 else out)


@method
@under_vmap(along)
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether every element is nonzero, overall or along ``dim``."""
    return truth(np.all, input, dim, keepdim)


@method
@under_vmap(along)
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether some element is nonzero, overall or along ``dim``."""
    return truth(np.any, input, dim, keepdim)


@method
@under_vmap(along)
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """The number of nonzero elements, overall or along ``dim``."""
    return wrap(np.asarray(np.count_nonzero(input._array, normal_dims(dim, input.ndim)), order="C"))
