"""Reductions: sums, products, variances, maxima and minima, norms of vectors."""

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import (
    Absent,
    AbsentFlag,
    as_ints,
    given_twice,
    missing_args,
    named_tuple,
    rename,
)
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import INT64, Number
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.layout import normal_dim
from nanotorch._core.meta import MetaArray
from nanotorch._core.op import Array, as_number, hidden_op, method, op
from nanotorch._core.overloads import overloads
from nanotorch._core.sums import DOUBLE, HALF, SINGLE, sum_over, sum_products, sum_whole
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import check_kind, inplace_form, require
from nanotorch.ops.creation import convert
from nanotorch.ops.elementwise import abs as absolute
from nanotorch.ops.elementwise import exp, maximum, minimum, sign, zero_where
from nanotorch.ops.shape import distinct_dims, reshape, transpose, unsqueeze

# Reductions over all dimensions, or over the dimensions ``dim``.


Dims = int | Sequence[int] | None
# Called with (array, axes, dtype, out, keepdims, initial); faster than `np.sum`, which wraps them.
add_all: Callable[..., Any] = np.add.reduce
multiply_all: Callable[..., Any] = np.multiply.reduce
maximum_of_all: Callable[..., Any] = np.maximum.reduce
minimum_of_all: Callable[..., Any] = np.minimum.reduce


def normal_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions ``dim``, none negative; all of them for None or an empty sequence."""
    if dim.__class__ is int and ndim:
        return (normal_dim(dim, ndim),)
    dims = () if dim is None else distinct_dims(dim, ndim)
    return dims if dims and ndim else tuple(range(ndim))


def only_dim(dim: int, ndim: int) -> tuple[int, ...]:
    """The dimension ``dim``, not negative, in a tuple; an empty tuple if ``ndim`` is 0."""
    along = normal_dim(dim, ndim)
    return (along,) if ndim else ()


def kept_shape(shape: Sequence[int], dim: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a reduction along ``dim`` that keeps the dimensions."""
    return tuple([1 if d in dim else n for d, n in enumerate(shape)])


@hidden_op(
    input=lambda g, dim, keepdim: sum_along(g, dim, keepdim),
    node="ExpandBackward0",
)  # fmt: skip
def spread(input: Array, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Array:
    """A reduced array repeated along ``dim`` to ``shape`` again: the adjoint of a sum."""
    if not keepdim:
        input = input.reshape(kept_shape(shape, dim))
    out = np.empty(shape, input.dtype)
    out[...] = input
    return out


def spread_all(g: Any, shape: tuple[int, ...]) -> Any:
    """One number, repeated to ``shape``."""
    return spread(g, shape, tuple(range(len(shape))), False)


# Sums


def sum_dtype(input: Array, dtype: DType | None) -> np.dtype:
    """The dtype of a sum or product; int64 by default for integers and bools."""
    if dtype is not None:
        return dtypes.as_dtype(dtype)._numpy
    return input.dtype if input.dtype.kind == "f" else np.dtype(np.int64)


@hidden_op(
    input=lambda g, input_shape: spread_all(g, input_shape),
    node="SumBackward0",
)  # fmt: skip
def sum_all(input: Array, dtype: DType | None = None) -> Array:
    """The sum of all elements."""
    if dtype is None and input.dtype.kind == "f":
        return sum_whole(input)
    kind = sum_dtype(input, dtype)
    if kind.kind == "f":
        return sum_whole(input.astype(kind, copy=False))
    return add_all(input, None, kind)


@hidden_op(
    input=lambda g, input_shape, dim, keepdim: spread(g, input_shape, dim, keepdim),
    node="SumBackward1", dims=normal_dims, in_order=True,
)  # fmt: skip
def sum_along(
    input: Array, dim: tuple[int, ...], keepdim: bool = False, dtype: DType | None = None
) -> Array:
    """The sum along dimensions."""
    if dtype is None and input.dtype.kind == "f":
        return sum_over(input, dim, keepdim)
    kind = sum_dtype(input, dtype)
    if kind.kind == "f":
        return sum_over(input.astype(kind, copy=False), dim, keepdim)
    return add_all(input, dim, kind, None, keepdim)


NOT_GIVEN: Any = Absent("<all>")
NOT_KEPT: Any = AbsentFlag()  # the default of `keepdim`
# The signatures of `sum` and `mean`, for `overloads`.
WHOLE = "Tensor input, *, torch.dtype dtype = None"
ALONG = "Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None"


@overloads({WHOLE: sum_all, ALONG: sum_along})
def sum(
    input: Any, dim: Dims = NOT_GIVEN, keepdim: bool = NOT_KEPT, *, dtype: DType | None = None
) -> Any:
    """The sum of all elements, or along ``dim``.

    Args:
        dim: a dimension or several; None and () mean all.
        keepdim: keep the reduced dimensions, with size 1. Default: False.
        dtype: the dtype of the result. Default: int64 for integers and bools, else that of
            ``input``.

    Raises:
        IndexError: for a dimension out of range.
    """


def count(shape: tuple[int, ...], dim: tuple[int, ...]) -> int:
    """The number of elements that are reduced to one result."""
    product = 1
    for d in dim:
        product *= shape[d]
    return product


def require_mean_dtype(input: Array, dtype: DType | None) -> None:
    """Refuse a mean of integers, or with a ``dtype`` that is not a floating-point one."""
    if dtype is None and input.dtype.kind == "f":
        return
    kind = dtypes.dtype_of(input) if dtype is None else dtypes.as_dtype(dtype)
    if not kind.is_floating_point:
        raise NotImplementedError(
            f"mean(): could not infer output dtype. {'Input' if dtype is None else 'Optional'} "
            f"dtype must be either a floating point or complex dtype. Got: {kind.char}"
        )


@hidden_op(
    input=lambda g, input_shape: spread_all(g / (math.prod(input_shape) or 1), input_shape),
    node="MeanBackward0",
)  # fmt: skip
def mean_all(input: Array, dtype: DType | None = None) -> Array:
    """The mean of all elements."""
    require_mean_dtype(input, dtype)
    kind = input.dtype if dtype is None else dtypes.as_dtype(dtype)._numpy
    # The sum may exceed the range of half precision.
    if kind.itemsize == 2:
        return np.true_divide(sum_whole(input.astype(SINGLE)), input.size).astype(kind)
    return np.true_divide(sum_whole(input.astype(kind, copy=False)), input.size, dtype=kind)


@hidden_op(
    input=lambda g, input_shape, dim, keepdim: spread(
        g / (count(input_shape, dim) or 1), input_shape, dim, keepdim
    ),
    node="MeanBackward1", dims=normal_dims, in_order=True,
)  # fmt: skip
def mean_along(
    input: Array, dim: tuple[int, ...], keepdim: bool = False, dtype: DType | None = None
) -> Array:
    """The mean along dimensions."""
    require_mean_dtype(input, dtype)
    kind = input.dtype if dtype is None else dtypes.as_dtype(dtype)._numpy
    # The sum may exceed the range of half precision.
    held = input.astype(SINGLE if kind.itemsize == 2 else kind, copy=False)
    total = sum_over(held, dim, keepdim)
    return np.asarray(np.true_divide(total, count(input.shape, dim))).astype(kind, copy=False)


@overloads({WHOLE: mean_all, ALONG: mean_along})
def mean(
    input: Any, dim: Dims = NOT_GIVEN, keepdim: bool = NOT_KEPT, *, dtype: DType | None = None
) -> Any:
    """The mean of all elements, or along ``dim``; arguments as for `sum`.

    Raises:
        NotImplementedError: for integers without a floating-point ``dtype``.
    """


@op(input=lambda g, dim: reverse_cumsum(g, dim), dims=normal_dim, inplace=True, in_order=True)
def cumsum(input: Array, dim: int, *, dtype: DType | None = None) -> Array:
    """The cumulative sums along ``dim``; int64 for integers, unless ``dtype`` is given."""
    return accumulate_along(np.add, input, dim, sum_dtype(input, dtype))


def define_inplace(name: str) -> None:
    """Declare `cumsum_` or `cumprod_`, which accept only the tensor's own ``dtype``."""
    written = inplace_form(name)

    def function(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        require(dtype in (None, self.dtype), "{}_(): dtype must be that of the tensor", name)
        return written(self, dim, dtype=self.dtype)

    rename(function, f"{name}_").__doc__ = f"In-place `{name}`."
    method(function, public=False)


define_inplace("cumsum")
STRETCH = 1 << 15  # numbers in double precision that fit a processor's cache


def accumulate_along(function: np.ufunc, input: Array, dim: int, kind: np.dtype) -> Array:
    """Cumulative sums or products; floating-point ones are computed in double precision."""
    input = input.astype(kind, copy=False)
    if not input.ndim:
        return input.copy()
    if kind.kind == "b" and input.size:
        name = "cumsum" if function is np.add else "cumprod"
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
    if kind.kind != "f" or kind == DOUBLE:
        return function.accumulate(input, dim, kind)
    if input.size <= STRETCH >> 1:
        return function.accumulate(input.astype(DOUBLE), dim).astype(kind)
    size, row = input.shape[dim], math.prod(input.shape[dim + 1 :])
    source = np.ascontiguousarray(input).reshape(-1, size, row)
    out = np.empty(source.shape, kind)
    many = max(1, STRETCH // (size * row))
    step = max(4, STRETCH // (many * row) // 4 * 4)
    # In NumPy's `accumulate`, each element waits for the one before it. Many or long rows are
    # therefore added as whole vectors, side by side. Otherwise very short rows (`apart`) are
    # transposed in memory, because NumPy's inner loops run along the last dimension.
    side_by_side = many * row >= 512 or size < 16
    apart, last = row < 16 and not side_by_side, np.empty(0)
    for first in range(0, len(source), many):
        for start in range(0, size, step):
            part = np.s_[first : first + many, start : start + step]
            if apart:
                held = np.moveaxis(source[part].swapaxes(1, 2).astype(DOUBLE, order="C"), 2, 0)
            else:
                held = source[part].astype(DOUBLE).swapaxes(0, 1)
            if start:
                function(held[0], last, out=held[0])
            accumulate_rows(function, held, side_by_side)
            last = held[-1]
            for j in range(row) if apart else [slice(None)]:
                out[part][..., j] = held[..., j].swapaxes(0, 1)
    return out.reshape(input.shape)


def accumulate_rows(function: np.ufunc, held: Array, side_by_side: bool) -> None:
    """Replace an array of 3 dimensions by its cumulative sums or products along the first."""
    if side_by_side:
        for before, after in itertools.pairwise(held):
            function(before, after, out=after)
        return
    even = len(held) - len(held) % 4 if function is np.add else 0  # products could overflow
    if even:
        strips = [held[i:even:4] for i in range(4)]
        for before, strip in itertools.pairwise(strips):
            np.add(before, strip, out=strip)
        ends = np.add.accumulate(strips[-1][:-1])
        for strip in strips:
            strip[1:] += ends
    rest = held[max(even - 1, 0) :]
    function.accumulate(rest, 0, out=rest)


@hidden_op(input=lambda g, dim: cumsum(g, dim))
def reverse_cumsum(input: Array, dim: int) -> Array:
    """The cumulative sums from the end: the adjoint of `cumsum`."""
    if not input.ndim:
        return input.copy()
    return np.flip(accumulate_along(np.add, np.flip(input, dim), dim, input.dtype), dim).copy()


# Products. Formulas name `out` even if unused: then, as in PyTorch, a write to `out` is an error.


def is_single_zero(input: Any, size: int) -> bool:
    """Whether a recorded product is of one element, which is zero: its gradient has no history."""
    return size == 1 and isinstance(input, Tensor) and not bool(input.all())


def prod_formula(g: Any, input: Any, out: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """The gradient of a product along one dimension; ``dim`` is empty for a 0-d input."""
    if not dim:
        return g
    if not keepdim:
        g = reshape(g, kept_shape(input.shape, dim))
    if is_single_zero(input, input.shape[dim[0]]):
        return g
    return g * transpose(others(transpose(input, dim[0], -1)), dim[0], -1)


def prod_all_formula(g: Any, input: Any, out: Any) -> Any:
    """The gradient of the product of all elements."""
    shape, size = tuple(input.shape), math.prod(input.shape)
    if not shape or is_single_zero(input, size):
        return reshape(g, shape) if shape else g
    return g * reshape(others(reshape(input, (size,))), shape)


@hidden_op(
    input=prod_all_formula, node="ProdBackward0",
)  # fmt: skip
def prod_all(input: Array, dtype: DType | None = None) -> Array:
    """The product of all elements."""
    return product(input, None, False, sum_dtype(input, dtype))


def product(input: Array, dim: tuple[int, ...] | None, keepdim: bool, kind: np.dtype) -> Array:
    """The product along dimensions; half precision is computed in single precision."""
    if kind == HALF:
        return multiply_all(input.astype(SINGLE), dim, None, None, keepdim).astype(kind)
    return multiply_all(input, dim, kind, None, keepdim)


@hidden_op(input=prod_formula, node="ProdBackward1", in_order=True)
def prod_along(
    input: Array, dim: tuple[int, ...], keepdim: bool, dtype: DType | None = None
) -> Array:
    """The product along one dimension; ``dim`` is empty for a 0-d input."""
    return product(input, dim, keepdim, sum_dtype(input, dtype))


@hidden_op(input=lambda g, input: others_slope(g, input), wide=True)
def others(input: Array) -> Array:
    """For each element, the product of all others along the last dimension."""
    if input.all():  # here a nan makes all products nan, as in PyTorch
        return multiply_all(input, -1, None, None, True) / input
    ones = np.ones((*input.shape[:-1], 1), input.dtype)
    before = np.cumprod(np.concatenate([ones, input[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, input[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


@hidden_op(
    shares=lambda g, input: others_slope(g, input),
    input=lambda g, shares, input: sum_along(  # `others_slope` of each row without one element
        without_diagonal(
            unsqueeze(shares, -1)
            * others_slope(without_diagonal(rows_without_one(g)), rows_without_one(input))
        ),
        (input.ndim - 1,),
    ),
    wide=True,
)
def others_slope(shares: Array, input: Array) -> Array:
    """The gradient of `others`, whose n results are products of n - 1 elements each."""
    last = (input.ndim - 1,)
    if not input.all():
        products = shares[..., None] * others(rows_without_one(input))
        return sum_over(without_diagonal(products), last)
    kind, (shares, input) = input.dtype, (shares.astype(DOUBLE), input.astype(DOUBLE))
    rests, parts = multiply_all(input, -1, None, None, True) / input, shares / input
    if not np.isfinite(input).all():  # the result is nan where PyTorch's division makes it nan
        return (sum_over(parts, last, True) * rests - shares * (rests / input)).astype(kind)
    before, after = np.zeros_like(parts), np.zeros_like(parts)
    np.cumsum(parts[..., :-1], -1, out=before[..., 1:])
    np.cumsum(parts[..., :0:-1], -1, out=after[..., -2::-1])
    return ((before + after) * rests).astype(kind)


@hidden_op(input=lambda g: sum_along(without_diagonal(g), (g.ndim - 2,), False))
def rows_without_one(input: Array) -> Array:
    """The rows ``(..., n, n)`` of ``(..., n)``: row i is ``input`` with element i replaced by 1."""
    n = input.shape[-1]
    rows = np.repeat(input[..., None, :], n, -2)
    rows[..., np.arange(n), np.arange(n)] = 1
    return rows


@hidden_op(input=lambda g: without_diagonal(g))
def without_diagonal(input: Array) -> Array:
    """A copy with zeros on the diagonal of the last two dimensions."""
    out = input.copy()
    at = np.arange(input.shape[-1])
    out[..., at, at] = 0
    return out


@method
def prod(
    input: Any, dim: int = NOT_GIVEN, keepdim: bool = NOT_KEPT, *, dtype: DType | None = None
) -> Any:
    """The product of all elements, or along one dimension; other arguments as for `sum`."""
    if dim is not NOT_GIVEN:
        return prod_along(input, only_dim(dim, input.ndim), keepdim, dtype)
    if keepdim is not NOT_KEPT:
        raise missing_args("prod", "dim")
    return prod_all(input, dtype)


@op(
    input=lambda g, input, out, dim, keepdim: (
        spread(g, tuple(input.shape), dim, keepdim)
        * exp(input - spread(out, tuple(input.shape), dim, keepdim))
    ),
    cast="float", dims=normal_dims, in_order=True, wide=True,
)  # fmt: skip
def logsumexp(input: Array, dim: Any, keepdim: bool = False) -> Array:
    """``log(sum(exp(input)))`` along ``dim``, computed without overflow."""
    top = maximum_of_all(input, dim, None, None, True, -np.inf)
    top = np.where(np.isfinite(top), top, input.dtype.type(0))
    total = np.log(sum_over(np.exp(input - top), dim, keepdim))
    return total + top.reshape(total.shape)


# Variance and standard deviation.


NO_FREEDOM = (
    "{}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
    "factor (input numel divided by output numel)."
)
MANY = 8192  # elements; above this, another pass over them costs more than another call
PART = 1 << 17  # elements that fit a cache in double precision


def variance_and_mean(
    input: Array, dim: tuple[int, ...], correction: float, name: str
) -> tuple[Array, Array]:
    """The variance and the mean along dimensions, in double precision, for `as_dtype_of`.

    Warns:
        UserWarning: if each result has no more elements than ``correction``.
    """
    n = count(input.shape, dim)
    enough = n >= 8 and input.size > MANY and input.dtype != DOUBLE
    if enough:  # double has digits to spare: the mean square may cancel some of them
        total, squares = apply_in_parts(powers, input, dim)
        mean = total / n
        level = mean * total
        squares -= level
        enough = (squares > level * 1e-6).all()
    if not enough:
        if input.size <= PART:  # the usual case, without `apply_in_parts`
            mean, squares = deviations(input.astype(DOUBLE, order="C"), dim)
        else:
            mean, squares = apply_in_parts(deviations, input, dim)
    if (n if squares.size else 0) <= correction:
        warn(NO_FREEDOM.format(name))
    return squares / max(n - correction, 0), mean


def apply_in_parts(function: Any, input: Array, dim: tuple[int, ...]) -> Sequence[Array]:
    """``function`` of ``input`` in double precision, computed by parts that fit a cache.

    The results of the parts are added if they are short sums (`powers`), and joined otherwise.
    """
    if input.size <= PART or (function is deviations and len(dim) == input.ndim):
        return function(input.astype(DOUBLE, order="C"), dim)
    parts = -(-input.size // PART)
    axes = [d for d in range(input.ndim) if d not in dim]
    if function is powers and math.prod([input.shape[d] for d in axes]) <= PART // 16:
        axes = list(range(input.ndim))
    along = max(axes, key=lambda d: (min(input.shape[d], parts), -d))
    size = input.shape[along]
    step = max(1, size // parts)
    places = [(slice(None),) * along + (slice(k, k + step),) for k in range(0, size, step)]
    found = [function(input[place].astype(DOUBLE, order="C"), dim) for place in places]
    if along in dim:
        return [functools.reduce(np.add, values) for values in zip(*found, strict=True)]
    return [np.concatenate(values, along) for values in zip(*found, strict=True)]


def powers(values: Array, dim: tuple[int, ...]) -> tuple[Array, Array]:
    """The sums of the values and of their squares; may overwrite ``values``."""
    keep = len(dim) < values.ndim
    return sum_over(values, dim, keep), squares_along(values, dim, keep)


def deviations(values: Array, dim: tuple[int, ...]) -> tuple[Array, Array]:
    """The mean of the values and the sum of the squared deviations; overwrites ``values``."""
    keep = len(dim) < values.ndim
    mean = sum_over(values, dim, keep) / count(values.shape, dim)
    values -= mean
    return mean, squares_along(values, dim, keep)


def squares_along(values: Array, dim: tuple[int, ...], keep: bool) -> Array:
    """The sums of squares along dimensions; may overwrite ``values``, which are contiguous."""
    if values.ndim - 1 in dim:
        return sum_products(values, values, dim, keep)
    return sum_over(np.multiply(values, values, out=values), dim, keep)


def as_dtype_of(values: Array, input: Array, dim: tuple[int, ...], keepdim: bool) -> Array:
    """Results along dimensions, in the dtype of ``input``; ``keepdim`` keeps the dimensions."""
    if keepdim:
        values = values.reshape(kept_shape(input.shape, dim))
    elif len(dim) < input.ndim:
        values = values.reshape([n for d, n in enumerate(input.shape) if d not in dim])
    return values.astype(input.dtype)


def variance_formula(
    g: Any, input: Any, dim: tuple[int, ...], keepdim: bool, correction: Number, overall: bool
) -> Any:
    """The gradient of a variance: ``g * 2 / (n - correction) * (input - mean)``."""
    n = count(input.shape, dim) - correction
    share, mean = spread(g, tuple(input.shape), dim, keepdim), mean_along(input, dim, True)
    if overall and n <= 0:  # nan at the mean, infinite elsewhere
        return share * ((1.0 - 1.0 * (input == mean)) * math.inf)
    return share * (2 / n if n else math.inf) * (input - mean)


def variance_kernel(name: str) -> Any:
    """The kernel of `var`, `std`, `var_mean` or `std_mean` along dimensions."""

    def kernel(
        input: Array, dim: tuple[int, ...], keepdim: bool, correction: Number, overall: bool
    ) -> Any:
        """The statistics; ``overall``: the user named no ``dim``, so all of them are meant."""
        if input.dtype.kind != "f":
            what = name if mean_too else "std and var"
            raise NotImplementedError(f"{what} only support floating point and complex dtypes")
        variance, mean = variance_and_mean(input, dim, correction, name)
        out = as_dtype_of(np.sqrt(variance) if root else variance, input, dim, keepdim)
        return (out, as_dtype_of(mean, input, dim, keepdim)) if mean_too else out

    root, mean_too = name.startswith("std"), name.endswith("mean")
    return rename(kernel, f"{name}_along")


var_along = hidden_op(input=variance_formula, node="VarBackward0", in_order=True, wide=True)(
    variance_kernel("var")
)
std_along = hidden_op(
    input=lambda g, input, out, dim, keepdim, correction, overall: variance_formula(
        zero_where(g / (out * 2), out == 0), input, dim, keepdim, correction, overall
    ),
    node="StdBackward0", in_order=True, wide=True,
)(variance_kernel("std"))  # fmt: skip


def define_variance(name: str, along: Any, doc: str = "") -> Any:
    """`var` or a function like it, by ``along``; its second argument may be ``unbiased``."""

    def function(
        input: Tensor, dim: Any = NOT_GIVEN, unbiased: bool = True, keepdim: bool = False, *,
        correction: float | None = None,
    ) -> Any:  # fmt: skip
        """The variance of all elements, or along ``dim``.

        Args:
            dim: a dimension or several. Default: all.
            unbiased: divide by n - 1; False: by n. Default: True.
            keepdim: keep the reduced dimensions, with size 1. Default: False.
            correction: divide by n - ``correction``; overrides ``unbiased``.

        Raises:
            NotImplementedError: for integers.
        """
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        overall = dim is NOT_GIVEN or dim is None or input.ndim == 0
        dims = normal_dims(None if dim is NOT_GIVEN else dim, input.ndim)
        correction = float(unbiased) if correction is None else correction
        return along(input, dims, keepdim, correction, overall)

    function.__doc__ = doc or inspect.getdoc(function)
    return rename(function, name)


STD = "The standard deviation: the square root of `var`, with the same arguments."
var, std = method(define_variance("var", var_along)), method(define_variance("std", std_along, STD))


# Maxima and minima, their indices, and whether any or all elements are true.


def extremum_formula(g: Any, input: Any, out: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """The gradient of an extremum, split equally among the elements that attain it."""
    shape = tuple(input.shape)
    at = (input == spread(out, shape, dim, keepdim)) * 1.0
    return at * spread(g, shape, dim, keepdim) / sum_along(at, dim, True)


def extremum_all_formula(g: Any, input: Any, out: Any) -> Any:
    """`extremum_formula` over all elements. If the extremum is nan, the nans share the gradient."""
    shape, every = tuple(input.shape), tuple(range(input.ndim))
    result = spread(out, shape, every, False)
    at = (input == result) | ((input != input) & (result != result))
    share = spread(g, shape, every, False) / sum_along(at * 1.0, every, True)
    return zero_where(share, ~at)


def require_elements(name: str, input: Array, dim: tuple[int, ...]) -> None:
    """Raise IndexError if a dimension to reduce has no elements, and so no extremum."""
    for d in dim:
        if 0 in input.shape and input.shape[normal_dim(d, input.ndim)] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def all_nonempty_dims(name: str, input: Any) -> tuple[int, ...]:
    """All dimensions of ``input``; raises RuntimeError if it has no elements."""
    message = "{}(): dim is required for a tensor without elements"
    require(math.prod(input.shape) != 0, message, name)
    return tuple(range(input.ndim))


# Along one dimension, with the index of the chosen element


@hidden_op(input=lambda g, positions, dim, size: put_along(g, positions, dim, size))
def take_along(input: Array, positions: Array, dim: int, size: int) -> Array:
    """The elements at ``positions`` along ``dim``; ``positions`` has size 1 there."""
    return np.take_along_axis(input, positions, dim)


@hidden_op(input=lambda g, positions, dim, size: take_along(g, positions, dim, size))
def put_along(input: Array, positions: Array, dim: int, size: int) -> Array:
    """Zeros with ``input`` at ``positions`` along ``dim``: the adjoint of `take_along`."""
    shape = list(positions.shape)
    shape[dim] = size
    out = np.zeros(shape, input.dtype)
    np.put_along_axis(out, positions, input, dim)
    return out


def chosen_formula(
    g: Any, indices: Any, input_shape: tuple[int, ...], dim: int, keepdim: bool
) -> Any:
    """The gradient of one element chosen along ``dim``."""
    if input_shape and not keepdim:
        kept = kept_shape(input_shape, (dim,))
        g, indices = reshape(g, kept), reshape(indices, kept)
    return taken_formula(g, indices, input_shape, dim)


def taken_formula(g: Any, indices: Any, input_shape: tuple[int, ...], dim: int) -> Any:
    """The gradient of elements taken at ``indices`` along ``dim``."""
    return put_along(g, indices, dim, input_shape[dim]) if input_shape else g * 1.0


# Declarations of an operation that chooses one element along ``dim`` and returns its index: of the
# operation (CHOSEN) and of the public function (FIELDS).
CHOSEN: dict[str, Any] = {"input": chosen_formula, "aux": ("indices",)}
FIELDS: dict[str, Any] = {"dims": normal_dim, "fields": ("values", "indices")}


def take_chosen(input: Array, indices: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The elements at ``indices``, and the indices, which have size 1 along ``dim``."""
    values = np.take_along_axis(input, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def define_extremum(name: str, word: str, pair: Any, reduce: Any, find: Any) -> Any:
    """Declare `max` and `amax`, or `min` and `amin`; returns the second.

    Args:
        word: what the documentation calls the extremum.
        pair: the operation of two tensors.
        reduce, find: NumPy's functions of the extremum and of its index.
    """
    result, title, called = named_tuple(name, "values", "indices"), name.title(), f"a{name}"

    def along_dims(input: Array, dim: tuple[int, ...], keepdim: bool) -> Array:
        """The extrema along dimensions."""
        require_elements(called, input, dim)
        return reduce(input, dim, None, None, keepdim)

    def of_all(input: Array) -> Array:
        """The extremum of all elements."""
        return reduce(input, all_nonempty_dims(name, input))

    def along_dim(input: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        """The extrema along ``dim``, and their first indices."""
        if input.ndim == 0:
            return input.copy(), np.zeros((), np.int64)
        require_elements(name, input, (dim,))
        indices = find(input, dim, keepdims=True).astype(INT64, copy=False)
        return take_chosen(input, indices, dim, keepdim)

    several = hidden_op(input=extremum_formula, node=f"A{name}Backward0", in_order=True)(
        rename(along_dims, f"{called}_along")
    )
    whole = hidden_op(
        input=extremum_all_formula, node=f"{title}Backward1",
    )(rename(of_all, f"{name}_all"))  # fmt: skip
    single = hidden_op(**CHOSEN, node=f"{title}Backward0")(rename(along_dim, f"{name}_along"))

    def extrema(input: Any, dim: Dims = (), keepdim: bool = False) -> Any:
        """The {word} element of all, or along ``dim``; equal ones share the gradient.

        Raises:
            IndexError: for a dimension without elements.
            RuntimeError: without ``dim``, for a tensor without elements.
        """
        if dim is None or (isinstance(dim, (tuple, list)) and not dim):
            return several(input, all_nonempty_dims(called, input), keepdim)
        if 0 in input.shape:
            require_elements(called, input, as_ints(dim))
        return several(input, normal_dims(dim, input.ndim), keepdim)

    def function(
        input: Any, dim: Any = NOT_GIVEN, keepdim: bool = NOT_KEPT, *, other: Any = None
    ) -> Any:
        """The {word} element; with ``dim``, the named tuple ``(values, indices)`` along it.

        Args:
            dim: a dimension; or a tensor: then the result is `{pair}` of both tensors.
            keepdim: keep dimension ``dim``, with size 1. Default: False.

        Raises:
            IndexError: for a dimension ``dim`` without elements.
            RuntimeError: without ``dim``, for a tensor without elements.
        """
        if isinstance(dim, Tensor) and other is None:
            other, dim = dim, NOT_GIVEN
        if other is not None:
            if dim is not NOT_GIVEN or keepdim is not NOT_KEPT:
                raise given_twice(name, "other")
            return pair(input, other)
        if dim is not NOT_GIVEN:
            return result(single(input, normal_dim(dim, input.ndim), keepdim))
        if keepdim is not NOT_KEPT:
            raise missing_args(name, "dim")
        return whole(input)

    for made, known_as in ((function, name), (extrema, called)):
        made.__doc__ = (inspect.getdoc(made) or "").format(word=word, pair=pair.__name__)
        method(rename(made, known_as))
    return extrema


amax = define_extremum("max", "greatest", maximum, maximum_of_all, np.argmax)
amin = define_extremum("min", "smallest", minimum, minimum_of_all, np.argmin)


def as_array(found: Any, **options: Any) -> Array:
    """NumPy's `asarray`; an array without values stays as it is."""
    return found if isinstance(found, MetaArray) else np.asarray(found, **options)


def arg_extremum(name: str, find: Any, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The body of `argmax` and `argmin`."""
    array = input._array
    if array.dtype.kind == "b":
        raise NotImplementedError(f"{name}(): does not support bool input")
    if dim is None:
        message = "{}(): dim is required for a tensor without elements"
        require(array.size, message, name, error=IndexError)
        found = as_array(find(array), dtype=INT64)
        return wrap(found.reshape((1,) * array.ndim) if keepdim else found)
    axis = normal_dim(dim, array.ndim)
    if array.ndim == 0:
        return wrap(np.zeros((), np.int64))
    require_elements(name, array, (axis,))
    return wrap(as_array(find(array, axis, keepdims=keepdim), dtype=INT64))


@method
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the greatest element, of all (flat) or along ``dim``; the first of equal ones.

    Raises:
        IndexError: if there are no elements.
    """
    return arg_extremum("argmax", np.argmax, input, dim, keepdim)


@method
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element; arguments and errors as for `argmax`."""
    return arg_extremum("argmin", np.argmin, input, dim, keepdim)


def reduce_truth(reduce: Any, input: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """The body of `any` and `all`: bools, or uint8 for uint8. ``dim=()`` tests each element."""
    axes = () if isinstance(dim, (tuple, list)) and not dim else normal_dims(dim, input.ndim)
    out = as_array(reduce(input._array, axes, keepdims=keepdim), order="C")
    return wrap(out.astype(np.uint8) if input.dtype == dtypes.uint8 else out)


@method
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are nonzero, overall or along ``dim``."""
    return reduce_truth(np.all, input, dim, keepdim)


@method
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether any element is nonzero, overall or along ``dim``."""
    return reduce_truth(np.any, input, dim, keepdim)


@method
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """The number of nonzero elements, overall or along ``dim``."""
    found = np.count_nonzero(input._array, normal_dims(dim, input.ndim))
    return wrap(np.asarray(found, INT64, order="C"))


# Norms of vectors.


def norm_formula(
    g: Any, input: Any, out: Any, ord: float, dim: tuple[int, ...], keepdim: bool
) -> Any:
    """The gradient of a vector norm: zero where the norm is zero, None for ``ord=0``, a count."""
    if ord == 0:
        return None
    if not keepdim:
        shape = kept_shape(input.shape, dim)
        g, out = reshape(g, shape), reshape(out, shape)
    if ord == 1:
        return g * sign(input)
    if ord == 2:
        # Mask only `1 / out`: a nan in `g` must pass, as in second derivatives at zero.
        return input * (g * zero_where(1 / out, out == 0))
    if math.isinf(ord):
        # Do not use `out`: it is rounded in half precision.
        size = absolute(input)
        largest = (size == (amax if ord > 0 else amin)(size, dim, True)) | (input != input)
        at = largest * 1.0
        return sign(input) * (at * g / sum_along(at, dim, True))
    if ord < 1:
        steep = zero_where(sign(input) * pow(absolute(input), ord - 1), input == 0)
        return steep * g * pow(out, 1 - ord)
    scale = zero_where(g / pow(out, ord - 1), out == 0)
    if ord < 2:
        return sign(input) * pow(absolute(input), ord - 1) * scale
    return input * pow(absolute(input), ord - 2) * scale


@hidden_op(input=norm_formula, node="LinalgVectorNormBackward0", in_order=True, wide=True)
def norm_along(input: Array, ord: float, dim: tuple[int, ...], keepdim: bool) -> Array:
    """``sum(abs(input) ** ord) ** (1 / ord)`` along dimensions."""
    check_kind("linalg.vector_norm", input)
    if ord and count(input.shape, dim) == 1:  # avoids overflow and underflow of the power
        return maximum_of_all(np.abs(input), dim, None, None, keepdim)
    if ord == 2:
        return np.sqrt(sum_products(input, input, dim, keepdim))
    if math.isinf(ord) or ord < 0:
        require(count(input.shape, dim), "linalg.vector_norm(): no elements for order {:g}", ord)
    size = np.abs(input)
    if math.isinf(ord):
        return (maximum_of_all if ord > 0 else minimum_of_all)(size, dim, None, None, keepdim)
    if ord == 0:
        return add_all(size != 0, dim, input.dtype, None, keepdim)
    if ord == 1:
        return sum_over(size, dim, keepdim)
    # Do not use `**`: for a single number its last bits differ from those for an array.
    total = sum_over(np.power(size, ord, out=...), dim, keepdim)
    # Compute in double: in single precision the exponent itself would be inexact.
    return np.power(total, 1 / ord, dtype=DOUBLE, out=...).astype(input.dtype, copy=False)


def vector_norm(
    input: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """``sum(abs(x) ** ord) ** (1 / ord)`` along ``dim``, by default over all elements.

    Args:
        ord: any number; inf: the greatest absolute value, -inf: the smallest; 0: the number of
            nonzero elements. Default: 2.
        dim: a dimension or several. Default: all.
        keepdim: keep the reduced dimensions, with size 1. Default: False.
        dtype: convert ``input`` to it first.

    Raises:
        NotImplementedError: for integers.
    """
    input = input if dtype is None else convert(input, dtypes.as_dtype(dtype))
    return norm_along(input, float(as_number(ord)), normal_dims(dim, input.ndim), keepdim)
