"""The printed form of a tensor: PyTorch's, character for character.

All elements of a tensor are written alike (a `_Style`: digits, exponent, width) and stand in
columns. Beyond `threshold` elements only the first and last `edgeitems` of each axis are shown, and
only those decide the style.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

_FLOAT32 = np.dtype(np.float32)


class _Options:
    """What `set_printoptions` sets."""

    def __init__(self) -> None:
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


_options = _Options()
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; what is not given stays, except `sci_mode`.

    Args:
        precision: Digits after the point.
        threshold: Tensors of more elements are summarised.
        edgeitems: Elements shown at both ends of each axis of a summarised tensor.
        linewidth: Columns after which a line is broken.
        profile: `"default"`, `"short"` or `"full"`: values for the four above, which the others
            given override. An unknown name changes nothing, as in PyTorch.
        sci_mode: Whether to write exponents; `None`, also by omission, decides by the values.
    """
    chosen = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen |= {name: value for name, value in given.items() if value is not None}
    for name, value in chosen.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The print options, as arguments for `set_printoptions`."""
    return dict(vars(_options))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Set print options for the extent of a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Style(NamedTuple):
    """How the elements of one tensor are written: a format, a mark behind finite ones, a width."""

    spec: str
    mark: str
    width: int

    def write(self, value: bool | int | float) -> str:
        text = format(value, self.spec) if self.spec else str(value)
        if self.mark and math.isfinite(value):
            text += self.mark
        return text.rjust(self.width)


def _style(values: np.ndarray) -> _Style:
    """The style that `values` ask for; zeros, infinities and NaN have no say in it."""
    if values.dtype.kind != "f":
        return _Style(
            "", "", max((len(str(value)) for value in values.ravel().tolist()), default=1)
        )
    values = values[np.isfinite(values) & (values != 0)]
    if values.size == 0:
        return _Style(".0f", ".", 1)
    sizes = np.abs(values).astype(np.float64)
    low, high = float(sizes.min()), float(sizes.max())
    scientific = _options.sci_mode
    if scientific is None:
        scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
    if scientific:
        spec, mark = f".{_options.precision}e", ""
    elif (values == np.ceil(values)).all():
        spec, mark = ".0f", "."
    else:
        spec, mark = f".{_options.precision}f", ""
    longest = max(len(format(value, spec)) for value in values.tolist())
    return _Style(spec, mark, longest + len(mark))


def _shown(array: np.ndarray) -> np.ndarray:
    """The elements of a summarised `array` that are shown."""
    edge = _options.edgeitems
    if edge == 0 and array.ndim:
        return array[:0]
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis)
    return array


def _row(array: np.ndarray, indent: int, summarize: bool, style: _Style) -> str:
    """A vector in brackets, broken into lines of at most `linewidth` columns."""
    edge = _options.edgeitems
    if summarize and edge == 0:
        items = ["..."]
    elif summarize and len(array) > 2 * edge:
        first, last = array[:edge].tolist(), array[-edge:].tolist()
        items = [*map(style.write, first), " ...", *map(style.write, last)]
    else:
        items = [style.write(value) for value in array.tolist()]
    per_line = max(1, (_options.linewidth - indent) // (style.width + 2))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _block(array: np.ndarray, indent: int, summarize: bool, style: _Style) -> str:
    """The elements of `array`, nested in brackets; one call deep per axis."""
    if array.ndim == 0:
        return style.write(array.item())
    if array.ndim == 1:
        return _row(array, indent, summarize, style)
    edge, count = _options.edgeitems, len(array)
    cut = summarize and count > 2 * edge
    head = [_block(part, indent + 1, summarize, style) for part in (array[:edge] if cut else array)]
    tail = (
        [_block(part, indent + 1, summarize, style) for part in array[count - edge :]]
        if cut
        else []
    )
    parts = [*head, "...", *tail] if cut else head
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _close(text: str, suffixes: Sequence[str], indent: int) -> str:
    """Append the suffixes, each on the last line if it fits there and on its own if not."""
    # One or two columns more than there are: PyTorch breaks lines by this count.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def format_tensor(
    array: np.ndarray,
    default_dtype: np.dtype[Any] = _FLOAT32,
    suffixes: Sequence[str] = (),
    prefix: str = "tensor(",
) -> str:
    """Write an array as PyTorch prints a tensor.

    Args:
        array: The elements.
        default_dtype: The floating-point dtype that goes without saying; so do int64 and bool,
            unless there is no element to tell them by.
        suffixes: What stands behind the elements, size and dtype: `"requires_grad=True"`, ...
        prefix: What stands before, up to the opening parenthesis; it sets the indentation.
    """
    implied = [default_dtype]
    if array.size:
        implied += [np.dtype(np.int64), np.dtype(np.bool_)]
        summarize = array.size > _options.threshold
        style = _style(_shown(array) if summarize else array)
        text = _block(array, len(prefix), summarize, style)
        sized = _options.edgeitems == 0
    else:
        text, sized = "[]", array.ndim != 1
    marks = [f"size={array.shape}"] if sized else []
    if array.dtype not in implied:
        marks.append(f"dtype=torch.{array.dtype.name}")
    return _close(prefix + text, [*marks, *suffixes], len(prefix))
