"""Statistics: reductions without nan, covariance, quantiles, histograms, cumulative reductions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, named_tuple, rename, to_integer
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import INT64
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.layout import existing_dim, normal_dim
from nanotorch._core.op import Array, as_number, hidden_op, method, op, public
from nanotorch._core.sums import OF_BLAS, sum_over
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import (
    check_first_tensors,
    check_kind,
    check_ndim,
    check_same_dtype,
    no_form,
    refuse_lost_history,
    require,
)
from nanotorch.ops.binary import lerp
from nanotorch.ops.creation import full_like, linspace, zeros_like
from nanotorch.ops.elementwise import (
    ceil,
    floor,
    isnan,
    logical_not,
    logical_xor,
    over,
    round,
    sqrt,
    sub,
    times,
    zero_where,
)
from nanotorch.ops.gathering import gather, gather_backward, masked_fill
from nanotorch.ops.joining import cat
from nanotorch.ops.matrix import mm
from nanotorch.ops.reduction import (
    Dims,
    accumulate_along,
    add_all,
    count,
    cumsum,
    define_inplace,
    define_variance,
    extremum_formula,
    maximum_of_all,
    minimum_of_all,
    normal_dims,
    only_dim,
    reverse_cumsum,
    rows_without_one,
    spread,
    sum,
    sum_along,
    sum_dtype,
    variance_formula,
    variance_kernel,
)
from nanotorch.ops.reduction import any as any_of
from nanotorch.ops.shape import (
    distinct_dims,
    movedim,
    narrow,
    reshape,
    select,
    t,
    transpose,
    triu,
    unsqueeze,
)
from nanotorch.ops.sorting import sort

# Sums and means that skip nan, two reductions in one call, and covariance.


# Sums and means without nan


@op(
    input=lambda g, input, dim, keepdim: (
        spread(g, tuple(input.shape), dim, keepdim) * (input == input)
    ),
    dims=normal_dims, in_order=True,
)  # fmt: skip
def nansum(
    input: Array, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Array:
    """The sum of the elements that are not nan; arguments as for `sum`."""
    kind = sum_dtype(input, dtype)
    known = np.where(input == input, input, input.dtype.type(0))
    if kind.kind == "f":
        return sum_over(known.astype(kind, copy=False), dim, keepdim)
    return add_all(known, dim, kind, None, keepdim)


@method
def nanmean(
    input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Any:
    """The mean of the elements that are not nan; arguments as for `sum`.

    Raises:
        NotImplementedError: for integers.
    """
    check_kind("nanmean", input._array)
    floating = dtype is None or dtypes.as_dtype(dtype).is_floating_point
    require(floating, "nanmean(): dtype must be of floating point, not {}", dtype)
    known = sum(logical_not(isnan(input)), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / known


# The least and the greatest element


aminmax_result = named_tuple("aminmax", "min", "max")


def add_gradients(*gradients: Any) -> Any:
    """The sum of one or two gradients; either may be None, but not both."""
    known = [g for g in gradients if g is not None]
    return known[0] if len(known) == 1 else known[0] + known[1]


@hidden_op(
    input=lambda g, input, least, most, dim, keepdim: add_gradients(
        *[
            None if part is None else extremum_formula(part, input, out, dim, keepdim)
            for part, out in zip(g, (least, most), strict=True)
        ]
    ),
    results=("least", "most"), node="AminmaxBackward0",
)  # fmt: skip
def ends_along(input: Array, dim: tuple[int, ...], keepdim: bool) -> tuple[Array, Array]:
    """The kernel of `aminmax`."""
    input = np.asanyarray(input, order="C")
    least = minimum_of_all(input, dim, None, None, keepdim)
    return least, maximum_of_all(input, dim, None, None, keepdim)


@method
def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The least and the greatest element, of all or along ``dim``: the named tuple ``(min, max)``.

    Both are nan if an element is nan. Equal elements share the gradient.

    Raises:
        IndexError: for a dimension ``dim`` without elements.
        RuntimeError: without ``dim``, for a tensor without elements.
    """
    along = tuple(range(input.ndim)) if dim is None else only_dim(dim, input.ndim)
    error = RuntimeError if dim is None else IndexError
    require(count(input.shape, along), "aminmax(): the input has no elements", error=error)
    return aminmax_result(ends_along(input, along, keepdim))


# Variance and mean


def var_mean_formula(
    g: Any, input: Any, dim: tuple[int, ...], keepdim: bool, correction: float, overall: bool
) -> Any:
    """The gradient of a variance and a mean; one of their gradients may be None."""
    spread_g, mean_g = g
    if spread_g is not None:
        spread_g = variance_formula(spread_g, input, dim, keepdim, correction, overall)
    if mean_g is not None:
        shape = tuple(input.shape)
        mean_g = spread(mean_g / (count(shape, dim) or 1), shape, dim, keepdim)
    return add_gradients(spread_g, mean_g)


var_mean_along = hidden_op(
    input=var_mean_formula, results=("variance", "mean"), node="VarMeanBackward0", wide=True
)(variance_kernel("var_mean"))
std_mean_along = hidden_op(
    input=lambda g, input, deviation, dim, keepdim, correction, overall: var_mean_formula(
        (None if g[0] is None else zero_where(g[0] / (deviation * 2), deviation == 0), g[1]),
        input, dim, keepdim, correction, overall,
    ),
    results=("deviation", "mean"), node="StdMeanBackward0", wide=True,
)(variance_kernel("std_mean"))  # fmt: skip
VAR_MEAN = "The variance and the mean, as a tuple; arguments as for `var`."
STD_MEAN = "The standard deviation and the mean, as a tuple; arguments as for `std`."
public(define_variance("var_mean", var_mean_along, VAR_MEAN))
public(define_variance("std_mean", std_mean_along, STD_MEAN))


# Covariance


@method
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix of variables, ``(variables, variables)``.

    Args:
        input: ``(variables, observations)``, or the observations of one variable.
        correction: the number to subtract from the number of observations. Default: 1.
        fweights: the count of each observation, integers.
        aweights: the weight of each observation, floating-point numbers.

    Raises:
        RuntimeError: for more than two dimensions, or weights that do not fit or are negative.
    """
    check_ndim("cov", input, 0, 2)
    correction = as_int(correction, "correction")
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    n = rows.shape[1]
    for name, given, floating in (("fweights", fweights, False), ("aweights", aweights, True)):
        if given is None:
            continue
        check_first_tensors("cov", **{name: given})
        kind, text = given.dtype, "cov(): expected {} to have {} dtype but got {} with {} dtype"
        fits = kind.is_floating_point is floating and kind is not dtypes.bool_
        wanted = "floating point" if floating else "integral"
        require(fits, text, name, wanted, name, kind.char)
        text = "cov(): {} must be {} numbers in one dimension, not {}"
        require(given.ndim < 2 and given.numel() == n, text, name, n, list(given.shape))
        require((given._array >= 0).all(), "cov(): {} cannot be negative", name)
    weights = fweights if aweights is None else aweights
    if fweights is not None and aweights is not None:
        weights = fweights * aweights
    total = n if weights is None else weights.sum()
    require(weights is None or total != 0, "cov(): weights sum to zero, can't be normalized")
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
    """The correlation matrix of variables, from -1 to 1; shapes as for `cov`.

    Raises:
        RuntimeError: for more than two dimensions.
    """
    check_ndim("corrcoef", input, 0, 2)
    c = cov(input)
    if not c.ndim:
        return c / c
    deviation = sqrt(c.diag())
    return (c / deviation.view(-1, 1) / deviation.view(1, -1)).clip(-1, 1)


# Quantiles.


METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile_of(
    input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool
) -> Any:
    """The body of `quantile` and `nanquantile`."""
    require(interpolation in METHODS, "quantile(): unknown interpolation {!r}", interpolation)
    if not isinstance(q, Tensor):
        require(0 <= as_number(q) <= 1, "quantile() q must be in the range [0, 1] but got {:g}", q)
        q = wrap(np.asarray(q, input._array.dtype))
    require(input.numel(), "quantile() input tensor must be non-empty")
    check_ndim("quantile", q, 0, 1)
    require(input._array.dtype in OF_BLAS, "quantile(): expected single or double precision")
    require(q.dtype == input.dtype, "quantile() q tensor must be same dtype as the input tensor")
    within = ((q._array >= 0) & (q._array <= 1)).all()
    require(within, "quantile() q values must be in the range [0, 1]")
    if dim is not None:
        dim = normal_dim(dim, input.ndim)
    if not input.ndim or dim is None:
        rows = reshape(input, (*(1,) * (input.ndim * keepdim), -1))
    else:
        rows = transpose(unsqueeze(input, -1), dim, -1) if keepdim else movedim(input, dim, -1)
    values, share = sort(rows, -1)[0], reshape(q, (-1,))
    last = values.shape[-1] - 1
    if skip_nan:
        ranks = share * (sum(logical_not(isnan(values)), -1, True) - 1)
        ranks = masked_fill(ranks, ranks < 0, 0)
    else:  # with a nan, the last of the sorted elements, which is nan
        ranks = masked_fill(share * last, any_of(isnan(values), -1, True), last)
    ranks = ranks.expand(*values.shape[:-1], q.numel())
    whole = {"lower": floor, "higher": ceil, "nearest": round}.get(interpolation)
    ranks = ranks if whole is None else whole(ranks)
    below = ranks.detach().long()
    out = gather(values, -1, below)
    if whole is None:
        weights = full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
        out = lerp(out, gather(values, -1, ceil(ranks.detach()).long()), weights)
    if q.ndim:
        out.unsqueeze_(0).transpose_(0, -1)
    return out.squeeze_(-1)


def quantiles(name: str, skip_nan: bool) -> Any:
    """The function `quantile`, or `nanquantile` if ``skip_nan``."""

    def function(
        input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *,
        interpolation: str = "linear",
    ) -> Any:  # fmt: skip
        """The value below which the fraction ``q`` of the elements lies.

        If an element is nan, `quantile` is nan, and `nanquantile` ignores the element.

        Args:
            q: a number in [0, 1], or a tensor ``(n,)`` of such numbers; then the result begins
                with a dimension of size n.
            dim: a dimension. Default: all elements.
            keepdim: keep the reduced dimensions, with size 1. Default: False.
            interpolation: the value between two elements: "linear", "lower", "higher", "midpoint"
                or "nearest". Default: "linear".

        Raises:
            RuntimeError: for another ``q`` or ``interpolation``, a dtype other than float32 and
                float64, or no elements.
        """
        return quantile_of(input, q, dim, keepdim, interpolation, skip_nan)

    return method(rename(function, name))


quantile, nanquantile = quantiles("quantile", False), quantiles("nanquantile", True)


# `histogram`.


histogram_result = named_tuple("histogram", "hist", "bin_edges")


@method
def histogram(
    input: Tensor, bins: Any = 100, *, range: Sequence[float] | None = None,
    weight: Tensor | None = None, density: bool = False,
) -> Any:  # fmt: skip
    """The number of elements in each bin, between two edges.

    Args:
        bins: the number of bins of equal width; or all edges, a vector in ascending order.
            Default: 100.
        range: the first and the last edge. Default: the least and the greatest element.
        weight: the weight of each element, in the shape of ``input``. Default: 1.
        density: divide by the sum and by the widths, so that the integral is 1. Default: False.

    Returns:
        The named tuple ``(hist, bin_edges)``. ``hist`` counts elements on the last edge, but none
        outside of the edges.

    Raises:
        NotImplementedError: for dtypes other than float32 and float64.
        RuntimeError: for arguments that do not fit, and a range that is not finite.
    """
    given = isinstance(bins, Tensor)
    fits = range is None if given else to_integer(bins) is not None
    if not fits or not (weight is None or isinstance(weight, Tensor)):
        options = {"range": range, "weight": weight}
        used = {key: value for key, value in options.items() if value is not None}
        raise no_form("histogram", input, bins, **used)
    refuse_lost_history(input)
    points, weights = input._array.reshape(-1), None
    if weight is not None:
        weights = weight._array.reshape(-1)
        require(weights.shape == points.shape, "histogram(): expected one weight for each element")
        check_same_dtype(points, weights)
    parts = bins.numel() - 1 if given else bins
    require(parts > 0, "torch.histogram(): bins must be > 0, but got {} for dimension 0", parts)
    check_kind("histogramdd", points, half=False)
    if given:
        edges = bins._array.copy()
        check_same_dtype(points, edges)
        check_ndim("histogram", edges, 1, 1)
    else:
        ends = (0, 1) if range is None else range
        if range is None and points.size:
            ends = points.min(), points.max()
        numbers = [float(n) for n in ends]
        fits = len(numbers) == 2 and -math.inf < numbers[0] <= numbers[1] < math.inf
        text = "histogram(): the range{} must be 2 finite numbers in order, not {}"
        require(fits, text, " of the elements" if range is None else "", numbers)
        low, high = numbers
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = linspace(low, high, parts + 1, dtype=input.dtype)._array
    inside = (points >= edges[0]) & (points <= edges[-1])
    at = np.minimum(np.searchsorted(edges, points, side="right") - 1, parts - 1)
    chosen = None if weights is None else weights[inside]
    counts = np.bincount(at[inside], chosen, minlength=parts)
    if density:
        counts = counts / counts.sum() / np.diff(edges)
    return histogram_result((wrap(counts.astype(points.dtype)), wrap(edges)))


# Cumulative products and extrema along a dimension, differences and integrals.


# Products


def cumprod_formula(g: Any, input: Any, out: Any, dim: int) -> Any:
    """The gradient of cumulative products.

    It is 0 after the first zero. The zero itself counts in the products up to the next zero.
    """
    if math.prod(input.shape) <= 1 or input.shape[dim] == 1:
        return g
    if not bool((input == 0).any()):
        return reverse_cumsum(g * out, dim) / input
    if not isinstance(input, Tensor):  # needs memory in proportion to the input
        zeros = cumsum(input == 0, dim)
        past, first = zeros > 0, (input == 0) & (zeros == 1)
        before = reverse_cumsum(zero_where(g * out, past), dim) / input
        products = cumprod(input + first, dim)  # the products without the first zero
        at_first = reverse_cumsum(zero_where(g * products, ~past), dim)
        return zero_where(before, past) + zero_where(at_first, ~first)
    g, rows = transpose(g, dim, -1), rows_without_one(transpose(input, dim, -1))
    # Row i: the derivatives by element i of the products, of which those from i on depend on it.
    slopes = triu(cumprod(rows, rows.ndim - 1))
    return transpose(sum_along(unsqueeze(g, -2) * slopes, (slopes.ndim - 1,), False), dim, -1)


@op(input=cumprod_formula, dims=normal_dim, inplace=True, in_order=True)
def cumprod(input: Array, dim: int, *, dtype: DType | None = None) -> Array:
    """The cumulative products along ``dim``; int64 for integers, unless ``dtype`` is given."""
    return accumulate_along(np.multiply, input, dim, sum_dtype(input, dtype))


define_inplace("cumprod")


# The logarithm of sums of exponentials


def logs_accumulated(input: Array, dim: int, backwards: bool = False) -> Array:
    """``log(cumsum(exp(input)))`` along ``dim``, perhaps from the end, in double precision."""
    if not input.ndim:
        return input
    turned = np.flip(input, dim) if backwards else input
    out = np.logaddexp.accumulate(turned.astype(np.float64), dim)
    return np.flip(out, dim) if backwards else out


@op(
    input=lambda g, input, out, dim: shares_summed(g, input, out, dim, True),
    dims=normal_dim, in_order=True, wide=True,
)  # fmt: skip
def logcumsumexp(input: Array, dim: int) -> Array:
    """``log(cumsum(exp(input)))`` along ``dim``, computed without overflow."""
    check_kind("logcumsumexp_out_cpu", input)
    return logs_accumulated(input, dim).astype(input.dtype)


def shares_formula(
    g: Any, values: Any, input: Any, logs: Any, dim: int, backwards: bool
) -> tuple[Any, Any, Any]:
    """The gradients of `shares_summed`, which is linear in ``values``."""
    up, down = (g, values) if backwards else (values, g)
    from_end = shares_summed(down, input, logs, dim, True)
    from_start = shares_summed(up, input, logs, dim, False)
    own = from_start if backwards else from_end
    return own, up * from_end, -down * from_start


@hidden_op(
    values=shares_formula, input=shares_formula, logs=shares_formula,
    joint=True, dims=normal_dim, wide=True,
)  # fmt: skip
def shares_summed(values: Array, input: Array, logs: Array, dim: int, backwards: bool) -> Array:
    """The sums of ``values`` times the shares ``exp(input[i] - logs[j])``, i <= j, along ``dim``.

    Args:
        backwards: the sum over j for each i, which is the gradient of `logcumsumexp` from that of
            its result; else the sum over i for each j.
    """
    before, after = (-logs, input) if backwards else (input, -logs)
    low = values.dtype.type(0)
    parts = [  # of the positive and the negative values
        np.exp(logs_accumulated(np.log(np.maximum(v, low)) + before, dim, backwards) + after)
        for v in (values, -values)
    ]
    return (parts[0] - parts[1]).astype(values.dtype)


# Extrema


def cummax_formula(g: Any, input: Any, indices: Any, dim: int) -> Any:
    """The gradient of cumulative extrema, added at the index of each; as in PyTorch, an input
    without elements is its own gradient."""
    if 0 in input.shape:
        return input * 1.0
    return gather_backward(g, tuple(input.shape), dim, indices) if input.ndim else g * 1.0


def define_cumulative(name: str, best: np.ufunc) -> Any:
    """The operation `cummax` or `cummin`; ``best`` is `np.maximum` or `np.minimum`."""

    def kernel(input: Array, dim: int) -> tuple[Array, Array]:
        """The greatest (`cummax`) or smallest (`cummin`) element so far along ``dim``.

        Returns:
            The named tuple ``(values, indices)``. An index is that of the last occurrence so far.
            All values from the first nan on are nan.
        """
        if not input.ndim:
            return input.copy(), np.zeros((), np.int64)
        input = np.asanyarray(input, order="C")
        values = best.accumulate(input, dim)
        shape = [1] * input.ndim
        shape[dim] = input.shape[dim]
        place = np.arange(input.shape[dim], dtype=INT64).reshape(shape)
        met = (input == values) | (input != input)
        return values, np.maximum.accumulate(np.where(met, place, 0), dim)

    declared = op(
        input=cummax_formula, aux=("indices",), dims=normal_dim, fields=("values", "indices")
    )
    return declared(rename(kernel, name))


cummax, cummin = define_cumulative("cummax", np.maximum), define_cumulative("cummin", np.minimum)


# Differences


@method
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbouring elements along ``dim``.

    Args:
        n: the number of times to take differences. Default: 1.
        prepend, append: tensors to join to ``input`` along ``dim`` first.

    Raises:
        RuntimeError: for a 0-d tensor, or a negative ``n``.
    """
    check_ndim("diff", input, 1)
    n = as_int(n, "n")
    require(n >= 0, "order must be non-negative but got {}", n)
    dim = normal_dim(dim, input.ndim)
    parts = [part for part in (prepend, input, append) if part is not None]
    if n == 0:
        return zeros_like(input).copy_(input)
    out = cat(parts, dim) if len(parts) > 1 else input
    minus: Any = logical_xor if out.dtype == dtypes.bool_ else sub
    for _ in range(min(n, out.shape[dim])):
        size = out.shape[dim] - 1
        out = minus(narrow(out, dim, 1, size), narrow(out, dim, 0, size))
    return out


@public
def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slopes of the values of a function on a grid: central differences along each dimension.

    Args:
        spacing: the distance of neighbours; or, for each dimension, the distance or a vector of
            positions. Default: 1.
        dim: a dimension or several. Default: all.
        edge_order: the order of the differences at the ends, 1 or 2. Default: 1.

    Raises:
        RuntimeError: for fewer than ``edge_order + 1`` values along a dimension, or spacings that
            do not fit the dimensions.
    """
    check_first_tensors("gradient", input=input)
    require(input.dtype != dtypes.uint8, "torch.gradient does not support uint8 input.")
    known = as_int(edge_order, "edge_order") in (1, 2)
    require(known, "torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = tuple(range(input.ndim)) if dim is None else distinct_dims(dim, input.ndim)
    several = isinstance(spacing, (tuple, list))
    spacings = spacing if several else [as_number(spacing)] * len(dims)
    message = "gradient(): got {} spacings for {} dimensions"
    require(len(spacings) == len(dims), message, len(spacings), len(dims))
    message = "torch.gradient expected each dimension size to be at least edge_order+1"
    require(min([input.shape[d] for d in dims], default=3) > edge_order, message)
    return tuple([slopes(input, d, h, edge_order) for d, h in zip(dims, spacings, strict=True)])


def slopes(y: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    """`gradient` along one dimension."""
    n, gaps = y.shape[dim], spacing
    if isinstance(spacing, Tensor):
        message = (
            "torch.gradient expected each element of spacing to have one dimension, but got an "
        )
        require(spacing.ndim == 1, message + "element with {} dimensions!", spacing.ndim)
        gaps = reshape(diff(spacing), (-1, *(1,) * (y.ndim - dim - 1)))
    left, right = neighbours(y, dim)
    steps = (right - left) / gaps
    first, last = narrow(steps, dim, 0, 1), narrow(steps, dim, n - 2, 1)
    before, after = neighbours(steps, dim)
    bends, share = after - before, 0.5  # `share`: of the gap before in the two gaps of a point
    if isinstance(spacing, Tensor):
        one, other = neighbours(gaps, 0)
        share = one / (one + other)
        middle = before + bends * share
    else:
        middle = (narrow(y, dim, 2, n - 2) - narrow(y, dim, 0, n - 2)) / (2 * gaps)
    if edge_order == 2:
        first = first - narrow(bends * share, dim, 0, 1)
        last = last + narrow(bends * (1 - share), dim, n - 3, 1)
    return cat((first, middle, last), dim)


# Integrals by the trapezoidal rule


def neighbours(y: Any, dim: int) -> tuple[Any, Any]:
    """All elements but the last, and all but the first, along ``dim``."""
    size = max(y.shape[dim] - 1, 0)
    return narrow(y, dim, 0, size), narrow(y, dim, min(1, y.shape[dim]), size)


@public
def trapezoid(y: Tensor, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule.

    Args:
        x: the positions of the values of ``y``, ``(n,)`` or in the shape of ``y``.
        dx: without ``x``: the distance between neighbours. Default: 1.

    Raises:
        RuntimeError: if the shapes of ``x`` and ``y`` do not fit.
        NotImplementedError: for bools.
    """
    dim = existing_dim(dim, y.ndim)
    if not y.shape[dim]:
        return y.new_zeros((*y.shape[:dim], *y.shape[dim + 1 :]))
    kinds = [points.dtype for points in (y, x) if points is not None]
    message = "trapezoid(): bools are not supported"
    require(dtypes.bool_ not in kinds, message, error=NotImplementedError)
    if x is not None:
        if x.ndim == 1:
            require(len(x) == y.shape[dim], "trapezoid(): expected one `x` for each sample point")
            x, along = reshape(x, (len(x), *(1,) * (y.ndim - dim - 1))), 0
        else:
            x, along = reshape(x, ((1,) * (y.ndim - x.ndim) + tuple(x.shape))), dim
        (left, right), (start, stop) = neighbours(y, dim), neighbours(x, along)
        return over(sum((left + right) * (stop - start), dim), 2.0)
    ends = times(select(y, dim, 0) + select(y, dim, -1), 0.5)
    return times(sum(y, dim) - ends, as_number(dx, "dx"))
