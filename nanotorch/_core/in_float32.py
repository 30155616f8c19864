"""Operations on bfloat16, whose kernels cannot read its values: they run in float32."""

from typing import Any

import numpy as np

from nanotorch._core import doors, dtypes
from nanotorch._core.arguments import flat_args
from nanotorch._core.bfloat16 import bfloat16, round_to_bfloat16, widen
from nanotorch._core.graph import Recorded
from nanotorch._core.tensor import Tensor

SINGLE_OR_OWN = (np.dtype(np.float32), dtypes.BFLOAT16)
OPERANDS = ("input", "other", "exponent")  # what numbers are rounded as


def in_float32(o: Any, inplace: bool, args: dict[str, Any]) -> Any:
    """Run an operation on bfloat16 in float32, and round its result.

    The tensors hold float32 arrays meanwhile, so the operation records these tensors themselves.
    """
    given = list(flat_args([args]))
    # Bare arrays among the static arguments may be written to.
    bare = [v for v in given if isinstance(v, np.ndarray) and v.dtype == dtypes.BFLOAT16]
    args = {name: widen(value) for name, value in args.items()}
    tensors = [v for v in given if isinstance(v, Tensor)]
    held = {t: t._array for t in tensors if t._array.dtype == dtypes.BFLOAT16}
    if not held and not bare:
        return NotImplemented

    def again(changed: dict[str, Any]) -> Any:
        function, positional, named = doors.call_of(o, inplace, {**args, **changed})
        return function(*positional, **named)

    if not held:  # as formulas call it
        return again({})
    operands = [v._array.item() if v._is_number else v._array for v in tensors]
    kinds = [v for v in given if isinstance(v, dtypes.dtype)]  # asked for
    if not kinds and o.cast:
        kinds = [dtypes.result_type(operands)]
    floats = sorted([t for t in tensors if t.is_floating_point()], key=lambda t: not t.ndim)
    kind = [*kinds, *(t.dtype for t in floats)][0]
    changed, others = {}, {}
    if kind is dtypes.bfloat16:
        numbers = [n for n in OPERANDS if isinstance(args.get(n), float)]
        changed = {n: round_to_bfloat16(args[n]).item() for n in numbers}
        exact = args["other"] if o.unrounded else None
        others = {t: t._array for t in floats if o.cast and t not in held and t is not exact}
    # Operations that refuse, or allow, several dtypes see them.
    alike = o.cast or all(v._array.dtype.kind != "f" or v in held for v in tensors)
    try:
        for tensor, array in held.items():
            tensor._array = widen(array) if alike else array.view(np.ndarray)
        for tensor, array in others.items():
            tensor._array = round_to_bfloat16(array).astype(array.dtype)
        out = again(changed)
    finally:
        for tensor, array in others.items():
            tensor._array = array
        for tensor, array in held.items():
            single, tensor._array = tensor._array, array
            accumulator = tensor._accumulator_ref and tensor._accumulator_ref()
            if accumulator:
                accumulator._outputs = ((array.shape, dtypes.BFLOAT16),)
            if inplace and tensor is args[o.inputs[0]]:
                array[...] = single
    for part in flat_args([out] if isinstance(out, Tensor) else out):
        if not inplace and kind is dtypes.bfloat16 and part._array.dtype in SINGLE_OR_OWN:
            part._array[...] = round_to_bfloat16(part._array)  # which may be saved
            part._array = bfloat16(part._array)
            node = part._history
            if node.__class__ is Recorded and not node.multi:
                node._dtype = dtypes.BFLOAT16
    return out


doors.values.append(in_float32)
