"""Norms of vectors and matrices."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import named
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.op import PUBLIC, Array, method, op
from nanotorch._core.sums import DOUBLE, sum_over, sum_products
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import as_number
from nanotorch.ops.comparison import zero_where
from nanotorch.ops.conversion import convert
from nanotorch.ops.elementwise import abs, sign
from nanotorch.ops.extremum import amax, amin
from nanotorch.ops.factoring import svdvals
from nanotorch.ops.masking import where_true
from nanotorch.ops.order import movedim
from nanotorch.ops.power import pow
from nanotorch.ops.reduction import Dims, add_all, count, maximum_of_all, normal_dims, sum_along
from nanotorch.ops.shape import reshape

INF = math.inf
minimum_of_all: Callable[..., Any] = np.minimum.reduce


def norm_slope(
    g: Any, input: Any, out: Any, ord: float, dim: tuple[int, ...], keepdim: bool
) -> Any:
    """The gradient of a vector norm; zero where the norm is zero; none at all of a count."""
    if ord == 0:
        return None
    if not keepdim:
        shape = tuple([1 if d in dim else n for d, n in enumerate(input.shape)])
        g, out = reshape(g, shape), reshape(out, shape)
    if ord == 1:
        return g * sign(input)
    if ord == 2:
        # Not zeros: the second derivative at zero is nan, which comes as such a gradient.
        return input * (g * where_true(out == 0, out * 0, 1 / out, None))
    if math.isinf(ord):
        # Not the result: of half precision that is rounded.
        size = abs(input)
        largest = size == (amax if ord > 0 else amin)(size, dim, True)
        share = g / sum_along(largest, dim, True)
        return zero_where(share * sign(input), ~largest)
    if ord < 1:
        steep = zero_where(sign(input) * pow(abs(input), ord - 1), input == 0)
        return steep * g * pow(out, 1 - ord)
    scale = zero_where(g / pow(out, ord - 1), out == 0)
    if ord < 2:
        return sign(input) * pow(abs(input), ord - 1) * scale
    return input * pow(abs(input), ord - 2) * scale


@op(
    input=lambda g, input, out, ord, dim, keepdim: norm_slope(g, input, out, ord, dim, keepdim),
    method=False,
    public=False,
    node="LinalgVectorNormBackward0",
    in_order=True,
    wide=True,
)
def norm_along(input: Array, ord: float, dim: tuple[int, ...], keepdim: bool) -> Array:
    """``sum(abs(input) ** ord) ** (1 / ord)`` along dimensions."""
    if input.dtype.kind != "f":
        raise NotImplementedError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.of_array(input).char}"
        )
    if ord and count(input.shape, dim) == 1:  # no power that over- or underflows
        return maximum_of_all(np.abs(input), dim, None, None, keepdim)
    if ord == 2:
        return np.sqrt(sum_products(input, input, dim, keepdim))
    if (math.isinf(ord) or ord < 0) and any(input.shape[d] == 0 for d in dim):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    size = np.abs(input)
    if math.isinf(ord):
        return (maximum_of_all if ord > 0 else minimum_of_all)(size, dim, None, None, keepdim)
    if ord == 0:
        return add_all(size != 0, dim, input.dtype, None, keepdim)
    if ord == 1:
        return sum_over(size, dim, keepdim)
    # Not the operator: of a single number it would compute other last bits than of an array.
    total = sum_over(np.power(size, ord, out=...), dim, keepdim)
    # In single precision already the exponent would not be exact.
    return np.power(total, 1 / ord, dtype=DOUBLE, out=...).astype(input.dtype, copy=False)


def vector_norm(
    input: Tensor,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """``sum(abs(x) ** ord) ** (1 / ord)`` along ``dim``, by default over all elements.

    Args:
        ord: any number; infinity gives the largest absolute value, 0 counts what is not zero.
        dtype: convert to it first.

    Raises:
        NotImplementedError: for integers.
    """
    input = input if dtype is None else convert(input, dtypes.as_dtype(dtype))
    return norm_along(input, float(as_number(ord)), normal_dims(dim, input.ndim), keepdim)


def matrix_norm(
    input: Tensor,
    ord: Any = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """A norm of each matrix of a batch.

    Args:
        ord: "fro" for the root of the sum of squares; 1 and -1 for the largest and smallest sum of
            a column's absolute values, infinity and its negative for a row's; 2 and -2 for the
            greatest and the smallest singular value, "nuc" for the sum of all.

    Raises:
        RuntimeError: for any other ``ord``, or without matrices.
    """
    if input.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    input = input if dtype is None else convert(input, dtypes.as_dtype(dtype))
    if ord == "fro":
        return vector_norm(input, 2, dim, keepdim)
    rows, columns = normal_dims(dim, input.ndim)
    if ord in ("nuc", 2, -2):
        return spectral_norm(input, ord, rows, columns, keepdim)
    if ord not in (1, -1, INF, -INF):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    along, over = (columns, rows) if math.isinf(ord) else (rows, columns)
    sums = norm_along(input, 1.0, (along,), keepdim)
    over -= not keepdim and along < over
    return (amax if ord > 0 else amin)(sums, over, keepdim)


def spectral_norm(A: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    """A norm that singular values make."""
    if A.dtype == dtypes.float16:
        raise NotImplementedError(
            "linalg.matrix_norm: Low precision dtypes not supported. Got Half"
        )
    values = svdvals(movedim(A, (rows, columns), (-2, -1)))
    if ord == "nuc":
        out = sum_along(values, (values.ndim - 1,), False)
    else:
        out = (amax if ord > 0 else amin)(values, -1)
    if not keepdim:
        return out
    return reshape(out, tuple([1 if d in (rows, columns) else n for d, n in enumerate(A.shape)]))


def norm(
    input: Tensor,
    ord: Any = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """`matrix_norm` of a matrix (or over two dimensions), else `vector_norm`."""
    if ord is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if dim is None and input.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{input.ndim}D."
        )
    pair = input.ndim == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2
    if pair or isinstance(ord, str):
        return matrix_norm(input, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)  # type: ignore[arg-type]
    return vector_norm(input, ord, dim, keepdim, dtype=dtype)


@method(name="norm", public=False)
def norm_method(
    self: Tensor,
    p: Any = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """`torch.norm`."""
    return torch_norm(self, p, dim, keepdim, dtype=dtype)


def torch_norm(
    input: Tensor,
    p: Any = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """The vector norm with exponent ``p`` over all elements, or along ``dim``; "fro" stands for 2.

    Args:
        p: or "nuc", for the sum of the singular values of matrices.

    Raises:
        RuntimeError: for another word.
    """
    if out is not None:  # by its place, not by its name
        return PUBLIC["norm"](input, p, dim, keepdim, out=out, dtype=dtype)
    if p == "nuc":
        return matrix_norm(input, p, (0, 1) if dim is None else dim, keepdim, dtype=dtype)  # type: ignore[arg-type]
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return vector_norm(input, 2 if p == "fro" or p is None else p, dim, keepdim, dtype=dtype)


PUBLIC["norm"] = named(torch_norm, "norm")
