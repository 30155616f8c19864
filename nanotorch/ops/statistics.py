"""Sums and means that skip nan, several reductions at once, and covariance."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_functions import looped, under_vmap
from nanotorch._core.batch_rules import dimensions
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.layout import normal_dim
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method, op, public
from nanotorch._core.sums import sum_over
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.ops.comparison import isnan, logical_not, zero_where
from nanotorch.ops.elementwise import sqrt
from nanotorch.ops.extremum import (
    maximum_of_all,
    minimum_of_all,
    shared,
)
from nanotorch.ops.matrix import mm
from nanotorch.ops.reduction import (
    NOT_GIVEN,
    Dims,
    add_all,
    count,
    normal_dims,
    spread,
    sum,
    sum_dtype,
)
from nanotorch.ops.shape import t, unsqueeze
from nanotorch.ops.variance import (
    like,
    require_float_input,
    spread_and_mean,
    spread_arguments,
    variance_slope,
)

# Without nan


@op(
    input=lambda g, input, dim, keepdim: (
        spread(g, tuple(input.shape), dim, keepdim) * (input == input)
    ),
    method=False,
    public=False,
    node="NansumBackward0",
    in_order=True,
)
def nansum_along(
    input: Array, dim: tuple[int, ...], keepdim: bool, dtype: DType | None = None
) -> Array:
    """The kernel of `nansum`."""
    kind = sum_dtype(input, dtype)
    known = np.where(input == input, input, input.dtype.type(0))
    if kind.kind == "f":
        return sum_over(known.astype(kind, copy=False), dim, keepdim)
    return add_all(known, dim, kind, None, keepdim)


@method
def nansum(
    input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Any:
    """`sum` with 0 in place of nan."""
    return nansum_along(input, normal_dims(dim, input.ndim), keepdim, dtype)


@method
def nanmean(
    input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Any:
    """The mean of the elements that are not nan, or along ``dim``.

    Raises:
        NotImplementedError: for integers.
    """
    if not input.dtype.is_floating_point:
        raise NotImplementedError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.char}"
        )
    if dtype is not None and not dtypes.as_dtype(dtype).is_floating_point:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating "
            f"point or complex dtype. Got: {dtypes.as_dtype(dtype).char}"
        )
    known = sum(logical_not(isnan(input)), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / known


# The least and the greatest element


aminmax_result = named_tuple("aminmax", "min", "max")


def both(*gradients: Any) -> Any:
    """The sum of the gradients that there are."""
    known = [g for g in gradients if g is not None]
    return known[0] if len(known) == 1 else known[0] + known[1]


def ends_slope(
    g: Any, input: Any, least: Any, most: Any, dim: tuple[int, ...], keepdim: bool
) -> Any:
    """The gradient of two extrema, either of which may have none."""
    return both(
        *[
            None if part is None else shared(part, input, out, dim, keepdim)
            for part, out in zip(g, (least, most), strict=True)
        ]
    )


@op(
    input=lambda g, input, least, most, dim, keepdim: ends_slope(
        g, input, least, most, dim, keepdim
    ),
    results=("least", "most"),
    method=False,
    public=False,
    node="AminmaxBackward0",
    batch=dimensions,
)
def ends_along(input: Array, dim: tuple[int, ...], keepdim: bool) -> tuple[Array, Array]:
    """The kernel of `aminmax`."""
    input = np.asarray(input, order="C")
    least = minimum_of_all(input, dim, None, None, keepdim)
    return least, maximum_of_all(input, dim, None, None, keepdim)


@method
def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The least and the greatest element: the named tuple ``(min, max)``; or along ``dim``.

    Equal ones share the gradient; both are nan if there is a nan.

    Raises:
        RuntimeError, IndexError: where there is no element.
    """
    if dim is None:
        if not input.numel():
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                "identity."
            )
        return aminmax_result(ends_along(input, tuple(range(input.ndim)), keepdim))
    dim = normal_dim(dim, input.ndim)
    if input.ndim and not input._array.shape[dim]:
        raise IndexError(f"aminmax: Expected reduction dim {dim} to have non-zero size.")
    return aminmax_result(ends_along(input, (dim,) if input.ndim else (), keepdim))


# Spread and mean


def spread_slope(
    spread_g: Any, mean_g: Any, input: Any, dim: tuple[int, ...], keepdim: bool,
    correction: float, overall: bool,
) -> Any:  # fmt: skip
    """The gradient of a variance and a mean, either of which may have none."""
    first = second = None
    if spread_g is not None:
        first = variance_slope(spread_g, input, dim, keepdim, correction, overall)
    if mean_g is not None:
        shape = tuple(input.shape)
        second = spread(mean_g / (count(shape, dim) or 1), shape, dim, keepdim)
    return both(first, second)


@op(
    input=lambda g, input, dim, keepdim, correction, overall: spread_slope(
        g[0], g[1], input, dim, keepdim, correction, overall
    ),
    results=("variance", "mean"),
    method=False,
    public=False,
    node="VarMeanBackward0",
    wide=True,
)
def var_mean_along(
    input: Array, dim: tuple[int, ...], keepdim: bool, correction: float, overall: bool
) -> tuple[Array, Array]:
    """The kernel of `var_mean`."""
    require_float_input(input, "var_mean")
    variance, mean = spread_and_mean(input, dim, correction, "var_mean")
    return like(variance, input, dim, keepdim), like(mean, input, dim, keepdim)


def of_variance(g: Any, deviation: Any) -> Any:
    """The gradient of a variance, from that of its root."""
    return None if g is None else zero_where(g / (deviation * 2), deviation == 0)


@op(
    input=lambda g, input, deviation, dim, keepdim, correction, overall: spread_slope(
        of_variance(g[0], deviation), g[1], input, dim, keepdim, correction, overall
    ),
    results=("deviation", "mean"),
    method=False,
    public=False,
    node="StdMeanBackward0",
    wide=True,
)
def std_mean_along(
    input: Array, dim: tuple[int, ...], keepdim: bool, correction: float, overall: bool
) -> tuple[Array, Array]:
    """The kernel of `std_mean`."""
    require_float_input(input, "std_mean")
    variance, mean = spread_and_mean(input, dim, correction, "std_mean")
    return like(np.sqrt(variance), input, dim, keepdim), like(mean, input, dim, keepdim)


@public
def var_mean(
    input: Tensor,
    dim: Any = NOT_GIVEN,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    """The variance and the mean, as a tuple; arguments as for `var`."""
    return var_mean_along(input, *spread_arguments(input, dim, unbiased, keepdim, correction))


@public
def std_mean(
    input: Tensor,
    dim: Any = NOT_GIVEN,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    """The standard deviation and the mean, as a tuple; arguments as for `std`."""
    return std_mean_along(input, *spread_arguments(input, dim, unbiased, keepdim, correction))


# Covariance


def check_weights(name: str, weights: Any, observations: int, floating: bool) -> None:
    """Refuse weights of the wrong number, shape or kind, or below zero."""
    head = f"cov(): expected {name} to have"
    if weights.ndim > 1:
        raise RuntimeError(
            f"{head} one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    kind = dtypes.of_array(weights._array)
    if kind.is_floating_point is not floating or kind is dtypes.bool_:
        wanted = "floating point" if floating else "integral"
        raise RuntimeError(f"{head} {wanted} dtype but got {name} with {kind.char} dtype")
    if weights.numel() != observations:
        raise RuntimeError(
            f"{head} the same numel as there are observations in the input but got "
            f"{weights.numel()} != {observations}"
        )
    if weights.numel() and weights._array.min() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")


@method
@under_vmap(looped)
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance of variables, ``(variables, variables)``.

    Args:
        input: ``(variables, observations)``, or the observations of one variable.
        correction: what to subtract from the number of observations.
        fweights: how often each observation was made.
        aweights: the weight of each observation.

    Raises:
        RuntimeError: for more dimensions, or weights that do not fit.
    """
    if input.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    n = rows.shape[1]
    for name, given, floating in (("fweights", fweights, False), ("aweights", aweights, True)):
        if given is not None:
            check_weights(name, given, n, floating)
    weights = fweights if aweights is None else aweights
    if fweights is not None and aweights is not None:
        weights = fweights * aweights
    total = n if weights is None else weights.sum()
    mean = sum(rows if weights is None else rows * weights, 1) / total
    degrees = total - correction
    if aweights is not None and correction:
        degrees = total - correction * (weights * aweights).sum() / total
    if degrees <= 0:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations."
        )
        degrees = 0
    rows = rows - unsqueeze(mean, 1)
    return (mm(rows, t(rows if weights is None else rows * weights)) / degrees).squeeze()


@method
def corrcoef(input: Any) -> Any:
    """The correlation of variables, ``(variables, variables)``, from -1 to 1; see `cov`.

    Raises:
        RuntimeError: for more than two dimensions.
    """
    if input.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    c = cov(input)
    if not c.ndim:
        return c / c
    deviation = sqrt(c.diag())
    return (c / deviation.view(-1, 1) / deviation.view(1, -1)).clip(-1, 1)
