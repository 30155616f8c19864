"""Numbers at equal distances, and grids of them."""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import ABSENT, as_int, combination, integer, lacking, named
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.op import public
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn, warn_once
from nanotorch.ops.arguments import as_number, given_tensors, number_in
from nanotorch.ops.creation import OPTIONS, leaf, numpy_dtype

NUMBERS = ("Number end", "Number start, Number end", "Number start, Number end, Number step = 1")
ARANGE = tuple(
    f"{numbers}, *, {'' if 'step' not in numbers and 'start' in numbers else 'Tensor out = None, '}"
    f"{OPTIONS}"
    for numbers in NUMBERS
)


def spaced(more: str) -> tuple[str, ...]:
    """The forms of `linspace` and its kin, as messages list them."""
    return tuple(
        f"{start} start, {end} end, int steps, {more}*, Tensor out = None, {OPTIONS}"
        for end in ("Tensor", "Number")
        for start in ("Tensor", "Number")
    )


def check_steps(start: float, end: float, step: float) -> None:
    """Refuse bounds to which no steps lead."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


@public
def arange(
    *bounds: Any,
    start: Any = ABSENT,
    end: Any = ABSENT,
    step: Any = ABSENT,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` (0) to before ``end`` in steps of ``step`` (1).

    Args:
        bounds: ``end``; ``start, end``; or ``start, end, step``.
        dtype: default: int64 if all three are integers, else the default dtype.

    Raises:
        RuntimeError: if ``step`` is 0 or leads away from ``end``, or a number is beyond the limits.
        TypeError: for what are no numbers.
        NotImplementedError: for bool.
    """
    if start is end is step is ABSENT and 0 < len(bounds) < 4:
        start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    else:
        by_name = (("start", start), ("end", end), ("step", step))
        named = {key: value for key, value in by_name if value is not ABSENT}
        places = ("end",) if len(bounds) == 1 and not named else ("start", "end", "step")
        given = named | dict(zip(places, bounds, strict=False))
        twice_or_more = len(given) < len(named) + len(bounds)
        if twice_or_more or "end" not in given or ("step" in given and "start" not in given):
            raise combination("arange", bounds, ARANGE, **named)
        start, end, step = given.get("start", 0), given["end"], given.get("step", 1)
    place = ("arange", "end", 1) if len(bounds) == 1 else None
    start, end, step = as_number(start), as_number(end, place), as_number(step)
    whole = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    kind = numpy_dtype(dtype) if dtype is not None or not whole else np.dtype(np.int64)
    if kind.kind == "b":
        raise NotImplementedError("\"arange_cpu\" not implemented for 'Bool'")
    check_steps(start, end, step)
    if whole and kind == np.int64:
        for value in (start, end, step):
            if not -(2**63) <= value < 2**63:
                number_in(value, kind)
        number = -((start - end) // step)
    else:  # the number of values is found in float64, whatever they are
        number = math.ceil((float(end) - float(start)) / float(step))
    at = np.arange(number)
    if kind.kind == "f":
        values = start + at * float(step)
    else:
        values = int(start) + at * int(step)
    return leaf(values.astype(kind), requires_grad, device, layout)


OLD_RANGE = (
    "torch.range is deprecated and will be removed in a future release because its behavior is "
    "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
    "[start, end)."
)


def closed_range(
    start: Any = 0,
    end: Any = ABSENT,
    step: Any = 1,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` to ``end``, which is one of them, in steps of ``step``.

    Args:
        dtype: default: the default dtype, also for integers.

    Raises:
        RuntimeError: if ``step`` is 0 or leads away from ``end``, or a number is infinite.

    Warns:
        UserWarning: that it is deprecated.
    """
    warn(OLD_RANGE)
    if end is ABSENT:
        raise lacking("range", "end")
    start, end, step = as_number(start), as_number(end), as_number(step)
    check_steps(start, end, step)
    at = np.arange(math.floor((float(end) - float(start)) / float(step)) + 1)
    return leaf((start + at * step).astype(numpy_dtype(dtype)), requires_grad, device, layout)


public(named(closed_range, "range"))  # under whose name Python's own could not be called here


@public
def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` numbers at equal distances from ``start`` to ``end``, both included.

    Raises:
        RuntimeError: if ``steps`` is negative, or an end beyond the limits of the dtype.
        TypeError: if it is no integer.
        NotImplementedError: for bool.
    """
    if integer(steps) is None:
        raise combination("linspace", (start, end, steps), spaced(""))
    start, end, steps = as_number(start), as_number(end), as_int(steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = numpy_dtype(dtype)
    if kind.kind == "b":
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'Bool'")
    if kind.kind != "f":
        number_in(start, kind), number_in(end, kind)
        return leaf(np.linspace(start, end, steps).astype(kind), requires_grad, device, layout)
    # Counted from the nearer end, so that both ends are exact; products of single precision are
    # exact in double, so that only the sums are rounded, as PyTorch's fused instructions do.
    wide = np.result_type(kind, np.float32).type  # half precision is computed in single
    first, last = wide(number_in(start, kind)), wide(number_in(end, kind))
    step = float((last - first) / wide(steps - 1)) if steps > 1 else 0.0
    at = np.arange(steps)
    near = at < steps // 2 if steps > 1 else at == 0
    line = np.where(near, float(first) + step * at, float(last) - step * at[::-1])
    return leaf(line.astype(wide).astype(kind), requires_grad, device, layout)


@public
def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` powers of ``base`` with exponents at equal distances."""
    if integer(steps) is None:
        raise combination("logspace", (start, end, steps), spaced("float base = 10.0, "))
    kind = numpy_dtype(dtype)
    if kind.kind == "b":
        raise NotImplementedError("\"logspace_cpu\" not implemented for 'Bool'")
    exponents = linspace(start, end, steps, dtype=dtypes.float64)._array
    return leaf((base**exponents).astype(kind), requires_grad, device, layout)


NO_INDEXING = (
    "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
)


@public
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: one tensor per axis, all of the grid's shape.

    Args:
        indexing: "ij", or "xy" for a grid whose first two dimensions are swapped. Default: "ij".

    Raises:
        RuntimeError: for no tensor, for tensors of several dimensions or of different dtypes, and
            for another ``indexing``.

    Warns:
        UserWarning: if ``indexing`` is not given.
    """
    axes = given_tensors(tensors)
    if not axes:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if any(axis.dtype != axes[0].dtype for axis in axes):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    for axis in axes:
        if axis.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                + str(axis)[7:-1]
            )
    if indexing is None:
        warn_once(NO_INDEXING)
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    order = [position for position, _ in enumerate(axes)]
    if indexing == "xy" and len(axes) > 1:
        order[:2] = 1, 0  # the first tensor runs along the second dimension
    shape = [axes[position].numel() for position in order]
    return tuple(
        t.reshape([-1 if place == position else 1 for place in order]).expand(shape)
        for position, t in enumerate(axes)
    )
