"""`assert_close`: a check that two results are equal up to rounding; its error says how not."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand

# The relative and absolute tolerance, by dtype.
TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5), dtypes.float32: (1.3e-6, 1e-5), dtypes.float64: (1e-7, 1e-7),
    dtypes.bfloat16: (1.6e-2, 1e-5),
}  # fmt: skip
NUMBERS = (int, float, complex)


class Options:
    """The options of a comparison.

    Raises:
        ValueError: if only one tolerance is given.
    """

    def __init__(self, rtol: float | None, atol: float | None, **flags: bool) -> None:
        if (rtol is None) != (atol is None):
            missing = "atol" if atol is None else "rtol"
            raise ValueError(
                f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            )
        self._given = None if rtol is None or atol is None else (rtol, atol)
        self.flags = flags

    def tolerances(self, *kinds: DType) -> tuple[float, float]:
        """The relative and the absolute tolerance: the largest of those of several dtypes."""
        if self._given is not None:
            return self._given
        pairs = [TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(r for r, _ in pairs), max(a for _, a in pairs)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol |expected| for all elements.

    Args:
        actual, expected: tensors, arrays, numbers, None, or sequences and mappings of them.
        allow_subclasses: allow other types that can be compared, such as a tensor and a parameter.
            Default: True.
        rtol, atol: both or neither. Default: by dtype; integers must be equal.
        equal_nan: whether nan equals nan. Default: False.
        check_dtype: whether dtypes must be equal. Default: True.
        check_stride: whether strides must be equal. Default: False.
        check_device, check_layout: accepted for PyTorch's sake.
        msg: the message of the error, or a function from the default message to it.

    Raises:
        AssertionError: if they are not close.
        TypeError: for types that cannot be compared.
        ValueError: if only one tolerance is given.
    """
    options = Options(
        rtol, atol, nan=equal_nan, dtype=check_dtype, stride=check_stride, same=not allow_subclasses
    )
    problem = find_difference(actual, expected, options, ())
    if problem is None:
        return
    text, path = problem
    if path:
        text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}"
    raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)


Problem = tuple[str, tuple[Any, ...]]


def find_difference(
    actual: Any, expected: Any, options: Options, path: tuple[Any, ...]
) -> Problem | None:
    """The first difference as text, and its path; None if there is none.

    Raises:
        TypeError: for types that cannot be compared.
    """
    if is_sequence(actual) and is_sequence(expected):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            return text, path
        keys: Any = range(len(actual))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            missing = sorted(expected.keys() - actual.keys())
            extra = sorted(actual.keys() - expected.keys())
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {extra}"
            ), path
        keys = sorted(actual) if all(isinstance(k, str) for k in actual) else list(actual)
    else:
        problem = leaf_problem(actual, expected, options)
        return None if problem is None else (problem, path)
    for key in keys:
        found = find_difference(actual[key], expected[key], options, (*path, key))
        if found is not None:
            return found
    return None


def is_sequence(value: Any) -> bool:
    """Whether a value is compared entry by entry."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def leaf_problem(actual: Any, expected: Any, options: Options) -> str | None:
    """The difference of two values that are not containers, as text; None if there is none.

    Raises:
        TypeError: for types that cannot be compared.
    """
    pair = (actual, expected)
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if all(isinstance(v, bool | np.bool_) for v in pair):
        same = bool(actual) is bool(expected)
        return None if same else f"Booleans mismatch: {actual} is not {expected}"
    if all(isinstance(v, NUMBERS) and not isinstance(v, bool) for v in pair):
        if options.flags["dtype"] and type(actual) is not type(expected):
            return f"The (d)types do not match: {type(actual)} != {type(expected)}."
        whole = isinstance(actual, int) and isinstance(expected, int)
        kind = dtypes.int64 if whole else dtypes.float64
        return scalar_problem(actual, expected, options, options.tolerances(kind))
    related = not options.flags["same"] or type(actual) is type(expected)
    if not (all(isinstance(v, Tensor | np.ndarray) for v in pair) and related):
        kinds = f"{type(actual)} and {type(expected)}"
        raise TypeError(f"No comparison pair was able to handle inputs of type {kinds}.")
    actual, expected = (
        (v if isinstance(v, Tensor) else Tensor._lift(v)).detach() for v in (actual, expected)
    )
    for name, wanted in (("shape", True), ("dtype", options.flags["dtype"])):
        a, e = getattr(actual, name), getattr(expected, name)
        if wanted and a != e:
            return f"The values for attribute '{name}' do not match: {a} != {e}."
    if options.flags["stride"] and actual.stride() != expected.stride():
        strides = f"{actual.stride()} != {expected.stride()}"
        return f"The values for attribute 'stride()' do not match: {strides}."
    tolerances = options.tolerances(actual.dtype, expected.dtype)
    if not actual.ndim:
        return scalar_problem(actual.item(), expected.item(), options, tolerances)
    kind = dtypes.promote_types(actual.dtype, expected.dtype)
    a, e = actual._array.astype(kind._numpy), expected._array.astype(kind._numpy)
    matches = is_close(a, e, options, tolerances)
    return None if matches.all() else mismatch(a, e, matches, tolerances)


def is_close(actual: Any, expected: Any, options: Options, tolerances: tuple[float, float]) -> Any:
    """The mask of the elements at which two arrays, or numbers, are close."""
    rtol, atol = tolerances
    with np.errstate(invalid="ignore"):
        return np.isclose(actual, expected, rtol, atol, equal_nan=options.flags["nan"])


def scalar_problem(
    actual: Any, expected: Any, options: Options, tolerances: tuple[float, float]
) -> str | None:
    """The difference of two numbers as text; None if they are close."""
    if is_close(actual, expected, options, tolerances):
        return None
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected else float("inf")
    found = [f"Absolute difference: {difference}", f"Relative difference: {relative}"]
    return report("Scalars", f"Expected {expected} but got {actual}.", found, tolerances)


def mismatch(
    actual: np.ndarray, expected: np.ndarray, matches: np.ndarray, tolerances: tuple[float, float]
) -> str:
    """The text of how many elements differ, and of the greatest differences."""
    if actual.dtype.kind != "f":
        actual, expected = actual.astype(np.int64), expected.astype(np.int64)
    with np.errstate(all="ignore"):
        difference = np.abs(actual - expected)
        relative = difference / np.abs(expected)
    count, found = matches.size - int(matches.sum()), []
    for name, values in (("absolute", difference), ("relative", relative)):
        differing = np.where(matches, 0, values)
        place = tuple(map(int, np.unravel_index(differing.argmax(), differing.shape)))
        found.append(f"Greatest {name} difference: {differing[place].item()} at index {place}")
    first = f"Mismatched elements: {count} / {matches.size} ({count / matches.size:.1%})"
    return report("Tensor-likes", first, found, tolerances)


def report(what: str, first: str, found: list[str], tolerances: tuple[float, float]) -> str:
    """The message with the absolute and relative difference found, each with its tolerance."""
    rtol, atol = tolerances
    exact = not rtol and not atol
    allowed = ["" if exact else f" (up to {tolerance} allowed)" for tolerance in (atol, rtol)]
    lines = [difference + up_to for difference, up_to in zip(found, allowed, strict=True)]
    return "\n".join([f"{what} are not {'equal' if exact else 'close'}!", "", first, *lines])


on_demand(__name__)
