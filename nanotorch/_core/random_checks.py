"""What the random distributions ask of their arguments, in PyTorch's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.dtypes import C_NAMES, OF_NUMPY

if TYPE_CHECKING:  # numpy.typing imports for 1 ms
    from numpy.typing import DTypeLike, NDArray

DType = np.dtype[Any]

# PyTorch shuffles more elements than this by another rule.
_LONGEST_PERMUTATION = (2**32 - 1) // 20 - 1


def require(condition: bool, message: str) -> None:
    """Raise a RuntimeError unless the condition holds."""
    if not condition:
        raise RuntimeError(message)


def floating(dtype: DTypeLike, kernel: str) -> DType:
    """The dtype, which must be of floating point for PyTorch's kernel of that name."""
    found = np.dtype(dtype)
    if found.kind != "f":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{OF_NUMPY[found].char}'")
    return found


def continuous(dtype: DTypeLike, distribution: str) -> DType:
    """The dtype, which must be of floating point for a continuous distribution."""
    found = np.dtype(dtype)
    if found.kind != "f":
        # PyTorch's two messages name the dtype in two ways.
        in_c = distribution == "Cauchy"
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. dtype must be "
            "a floating point but you specified "
            f"{C_NAMES[found.name] if in_c else OF_NUMPY[found].char}"
        )
    return found


def largest_count(dtype: DType) -> int:
    """The largest integer up to which `dtype` has every natural number."""
    return 1 << _digits(dtype) if dtype.kind == "f" else int(_limits(dtype)[1])


def integer_range(low: int, high: int | None, dtype: DType) -> tuple[int, int]:
    """The first and the last integer to draw from `[low, high)`, which `dtype` must cover.

    Without `high` the last is `largest_count`. For a floating-point dtype the range is narrowed
    until none of its integers is rounded to one outside.
    """
    if high is not None:
        require(
            low < high,
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}",
        )
    smallest, largest = _limits(dtype)
    first, last = low, largest_count(dtype) if high is None else high - 1
    require(smallest <= first <= largest, f"from is out of bounds for {C_NAMES[dtype.name]}")
    require(smallest <= last <= largest, f"to - 1 is out of bounds for {C_NAMES[dtype.name]}")
    if dtype.kind != "f":
        return first, last
    above, below = int(dtype.type(first + 1)), int(dtype.type(last))
    if above < first:
        first = above + _spacing(first + 1, dtype)
    if below > last:
        last = below - _spacing(last, dtype) - 1
    cast = "random_ expects 'from' casted to dtype to be less than"
    if high is None:
        require(
            first < last,
            f"{cast} or equal to 'to_inc' casted to dtype, but got from={first} > to_inc={last}",
        )
    require(first <= last, f"{cast} 'to' casted to dtype, but got from={first} >= to={last + 1}")
    return first, last


def uniform_range(low: float, high: float, dtype: DType) -> None:
    """`[low, high)` must be a range whose length `dtype` can hold."""
    smallest, largest = _limits(dtype)
    name = C_NAMES[dtype.name]
    require(smallest <= low <= largest, f"from is out of bounds for {name}")
    require(smallest <= high <= largest, f"to is out of bounds for {name}")
    require(
        low <= high,
        f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}",
    )
    require(
        high - low <= largest,
        f"uniform_ expects to-from <= std::numeric_limits<{OF_NUMPY[dtype].char}>::max(), but "
        f"found to={high:g} and from={low:g} which result in to-from to exceed the limit",
    )


def permutation(n: int, dtype: DType) -> None:
    """`dtype` must tell `n` indices apart."""
    require(n >= 0, f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype.kind == "b":
        raise NotImplementedError("\"randperm\" not implemented for 'Bool'")
    if dtype.kind == "f":
        limit = largest_count(dtype) + 1
        text = str(limit) if dtype.itemsize == 2 else f"2^{_digits(dtype)}+1"
        char = OF_NUMPY[dtype].char
        require(n <= limit, f"n cannot be greater than {text} for {char} type.")
    else:
        fits = n <= largest_count(dtype) + 1
        require(fits, f"value cannot be converted to type {dtype.name}_t without overflow")
    require(
        n <= _LONGEST_PERMUTATION,
        f"nanotorch shuffles at most {_LONGEST_PERMUTATION} elements, but got n={n}",
    )


def weights(values: NDArray[Any], num_samples: int, replacement: bool) -> None:
    """`values` must be rows of finite weights, none negative, enough of them for the samples."""
    require(values.ndim in (1, 2), "prob_dist must be 1 or 2 dim")
    require(
        values.dtype.kind == "f",
        "multinomial only supports floating-point dtypes for input, got: "
        f"{OF_NUMPY[values.dtype].char}",
    )
    require(num_samples > 0, "cannot sample n_sample <= 0 samples")
    require(
        replacement or num_samples <= values.shape[-1],
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    )
    wrong = "invalid multinomial distribution"
    positive, finite = bool((values >= 0).all()), bool((values < np.inf).all())
    if replacement and num_samples > 1:
        require(positive, f"{wrong} (encountering probability entry < 0)")
        require(finite, f"{wrong} (encountering probability entry = infinity or NaN)")
    else:
        message = "probability tensor contains either `inf`, `nan` or element < 0"
        require(positive and finite, message)
    require(bool((values > 0).any(-1).all()), f"{wrong} (sum of probabilities <= 0)")


def _digits(dtype: DType) -> int:
    """The binary digits of a floating-point number."""
    return int(np.finfo(dtype).nmant) + 1


def _spacing(value: int, dtype: DType) -> int:
    """The distance from a number as large as `value` to the next that `dtype` has."""
    return 1 << (abs(value).bit_length() - _digits(dtype))


def _limits(dtype: DType) -> tuple[float, float]:
    """The smallest and the largest finite number of `dtype`."""
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    return (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
