"""Operations on tensors without values: kernels run on zeros, and the results have no values."""

from typing import Any

import numpy as np

from nanotorch._core import doors, dtypes
from nanotorch._core.arguments import flat_args
from nanotorch._core.bfloat16 import bfloat16
from nanotorch._core.in_float32 import in_float32
from nanotorch._core.meta import MetaArray, as_meta, dense
from nanotorch._core.tensor import Tensor


def zeros_of(value: Any) -> Any:
    """In an index, zeros for a tensor without values; other values as they are."""
    meta = isinstance(value, Tensor) and isinstance(value._array, MetaArray)
    return type(value)._lift(dense(value._array)) if meta else value


# Operations that take an index, or values that have no effect, from the CPU.
BY_INDEX = frozenset(("copied_into", "embedding_rows", "index", "index_put", "index_cleared"))


MIXED = "Tensor on device cpu is not on the expected device meta!"


def check_devices(o: Any, given: list[Any]) -> None:
    """Raise RuntimeError for tensors with values beside those without; numbers may be of either."""
    there = {
        isinstance(v._array, MetaArray)
        for v in given
        if isinstance(v, Tensor) and isinstance(v._array, np.ndarray) and v._array.ndim
    }
    if len(there) > 1 and o.name not in BY_INDEX:
        raise RuntimeError(MIXED)


def on_zeros(o: Any, inplace: bool, args: dict[str, Any]) -> Any:
    """Run an operation on zeros in place of tensors without values."""
    given = list(flat_args([args]))
    if not any(isinstance(getattr(v, "_array", v), MetaArray) for v in given):
        return NotImplemented
    check_devices(o, given)
    held = {v: v._array for v in given if isinstance(v, Tensor) and isinstance(v._array, MetaArray)}
    plain = {n: v.replaced(zeros_of) for n, v in args.items() if hasattr(v, "replaced")}
    args = {name: dense(value) for name, value in args.items()} | plain
    written = args[o.inputs[0]] if inplace else None
    if inplace and written not in held:
        raise RuntimeError(MIXED)
    try:
        for tensor, array in held.items():
            zeros = np.zeros_like(dense(array)) if tensor is written else dense(array)
            tensor._array = bfloat16(zeros) if array.dtype == dtypes.BFLOAT16 else zeros
        function, positional, named = doors.call_of(o, inplace, dict(args))
        with np.errstate(all="ignore"):
            out = function(*positional, **named)
    finally:
        for tensor, array in held.items():
            now, tensor._array = tensor._array, array
            if tensor is written and now.shape != array.shape:
                tensor._array = as_meta(now)
    parts = list(flat_args([out]))
    for part in parts:
        if isinstance(part, Tensor) and not isinstance(part._array, MetaArray):
            part._array = as_meta(part._array)
    return out if isinstance(parts[0], Tensor) else as_meta(out)  # bare, as formulas call it


doors.values.insert(doors.values.index(in_float32), on_zeros)
