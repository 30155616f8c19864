"""`gradient`: the slopes of a function that is known at points."""

from collections.abc import Sequence
from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_ints, combination, kind_of
from nanotorch._core.op import public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import as_number
from nanotorch.ops.joining import cat
from nanotorch.ops.reduction import normal_dims
from nanotorch.ops.scalar import over, times
from nanotorch.ops.shape import reshape
from nanotorch.ops.slicing import narrow

FORMS = tuple(
    f"Tensor input, *, {form}, int edge_order = 1"
    for form in (
        "tuple of ints dim",
        "Number spacing, tuple of ints dim",
        "Number spacing = None, int dim = None",
        "tuple of Scalars spacing, int dim = None",
        "tuple of Scalars spacing, tuple of ints dim",
        "tuple of Tensors spacing, int dim = None",
        "tuple of Tensors spacing, tuple of ints dim",
    )
)


@public
def gradient(
    input: Any, *, spacing: Any = 1, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slopes of a function along dimensions, from its values at points.

    Inside, the slope at a point is that of the parabola through it and its neighbours.

    Args:
        input: the values.
        spacing: how far points lie apart, a number for all dimensions or one for each; or for each
            the coordinates of its points, a vector. Default: 1.
        dim: along which. Default: every dimension.
        edge_order: at the ends, 1 for the slope to the neighbour, 2 for that of the parabola
            through the last three points. Default: 1.

    Returns:
        The slopes along each of the dimensions, shaped as ``input``.

    Raises:
        RuntimeError: for another ``edge_order``, dimensions with too few points, and ``spacing``
            that does not fit.
    """
    if isinstance(spacing, Tensor) and spacing.ndim:
        raise combination("gradient", (input,), FORMS, spacing=spacing)
    spacing = 1 if spacing is None else spacing
    if not isinstance(edge_order, int):
        raise combination("gradient", (input,), FORMS, edge_order=edge_order)
    dims = normal_dims(None if dim is None else as_ints(dim), input.ndim)
    if dim is not None and not isinstance(dim, int) and not len(dim):
        dims = ()
    apart = spacing if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(apart) != len(dims):
        raise RuntimeError(of_another_length(input.ndim, len(apart), None if dim is None else dims))
    of_points = any(isinstance(one, Tensor) for one in apart) and apart is spacing
    for position, one in enumerate(apart if of_points else ()):
        if not isinstance(one, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 1, but got {kind_of(one)}"
            )
        if one.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an "
                f"element with {one.ndim} dimensions!"
            )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if input.dtype == dtypes.uint8:
        raise NotImplementedError("torch.gradient does not support uint8 input.")
    if any(input.shape[d] <= edge_order for d in dims):
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1"
        )
    if of_points:
        return tuple(
            among_points(input, d, one, edge_order) for d, one in zip(dims, apart, strict=True)
        )
    return tuple(
        at_equal_distances(input, d, as_number(one), edge_order)
        for d, one in zip(dims, apart, strict=True)
    )


def of_another_length(ndim: int, count: int, dims: tuple[int, ...] | None) -> str:
    """What is said of ``spacing`` for ``count`` dimensions."""
    if dims is None:
        return (
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {ndim}', since dim argument was not given, but got a list of "
            f"length {count}"
        )
    return (
        "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
        f"arguments to have the same length, but got a spacing argument of length {count} and a "
        f"dim argument of length {len(dims)}."
    )


def at_equal_distances(values: Any, dim: int, step: Any, edge_order: int) -> Tensor:
    """The slopes at points that lie ``step`` apart."""
    count = values.shape[dim]

    def at(start: int, size: int = 1) -> Any:
        return narrow(values, dim, start, size)

    if edge_order == 1:
        first, last = at(1) - at(0), at(count - 1) - at(count - 2)
    else:
        first = times(at(0), -1.5) + times(at(1), 2) - times(at(2), 0.5)
        last = times(at(count - 3), 0.5) - times(at(count - 2), 2) + times(at(count - 1), 1.5)
    inside = over(at(2, count - 2) - at(0, count - 2), 2)
    return cat([over(part, step) for part in (first, inside, last)], dim)


def among_points(values: Any, dim: int, points: Any, edge_order: int) -> Tensor:
    """The slopes at points with these coordinates."""
    count = values.shape[dim]
    steps = points[1:] - points[:-1]

    def at(start: int, size: int = 1) -> Any:
        return narrow(values, dim, start, size)

    def through(three: Sequence[Any], a: Any, b: Any, where: int) -> Any:
        """The slopes of parabolas through points ``a`` and ``b`` apart, at one of the three."""
        shares = [
            (-(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))),
            (-b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b))),
            (b / (a * (a + b)), -(a + b) / (a * b), (a + 2 * b) / (b * (a + b))),
        ][where]
        shape = [-1 if d == dim else 1 for d in range(values.ndim)]
        weighted = [v * reshape(share, shape) for v, share in zip(three, shares, strict=True)]
        return weighted[0] + weighted[1] + weighted[2]

    if edge_order == 1:
        first = (at(1) - at(0)) / steps[:1]
        last = (at(count - 1) - at(count - 2)) / steps[-1:]
    else:
        first = through([at(0), at(1), at(2)], steps[:1], steps[1:2], 0)
        last = through([at(count - 3), at(count - 2), at(count - 1)], steps[-2:-1], steps[-1:], 2)
    size = count - 2
    inside = through([at(0, size), at(1, size), at(2, size)], steps[:-1], steps[1:], 1)
    return cat([first, inside, last], dim)
