"""Arrays of bfloat16, a dtype that NumPy lacks.

Such an array holds float32 values, rounded to bfloat16 whenever a result is stored. Its mark is a
NumPy dtype that no other tensor has: float32 in the other byte order. If a kernel calls NumPy with
such an array, the array raises `NoValues`. The function of the operation catches `NoValues`, as it
does under `vmap`, runs the operation in float32, and rounds the result once. Formulas compute in
float32, too: a gradient is rounded when it is converted to the dtype of its target. Operations on
other arrays need no check for bfloat16.
"""

from typing import Any

import numpy as np

from nanotorch._core.dtypes import BFLOAT16
from nanotorch._core.meta import (
    DTYPE,
    ON_MEMORY,
    SINGLE,
    KernelArray,
    MetaArray,
    like_meta,
    refuse_kernels,
)

HALF_ULP, LAST_BIT, KEPT = np.uint32(0x7FFF), np.uint32(1), np.uint32(0xFFFF0000)


def round_to_bfloat16(values: Any) -> np.ndarray:
    """Round float32 numbers to the nearest bfloat16, ties to even."""
    with np.errstate(over="ignore"):
        single = np.array(values, SINGLE)
    bits = single.view(np.uint32)
    up = HALF_ULP + (bits >> np.uint32(16) & LAST_BIT)
    np.add(bits, up, out=bits, where=~np.isnan(single))
    bits &= KEPT
    return single


class Bfloat16Array(KernelArray):
    """An array of bfloat16."""

    def __array_finalize__(self, source: Any) -> None:
        if DTYPE.__get__(self) != BFLOAT16:  # a method has computed with one
            refuse_kernels()

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **named: Any
    ) -> Any:
        refuse_kernels()
        if method == "at":
            target = widen(inputs[0])
            ufunc.at(target, *widen(inputs[1:]))
            inputs[0][...] = target
            return None
        given = {} if out is None else {"out": widen(out)}
        result = getattr(ufunc, method)(*widen(inputs), **widen(named), **given)
        if out is not None:
            for target, values in zip(out, given["out"], strict=True):
                target[...] = values
            return out[0] if len(out) == 1 else out
        if ufunc is np.add and all(getattr(x, "dtype", None) == BFLOAT16 for x in inputs):
            return bfloat16(result)  # as sums of gradients are kept
        return result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in ON_MEMORY:
            if func is np.broadcast_to:
                kwargs = {"subok": True, **kwargs}
            return super().__array_function__(func, types, args, kwargs)
        refuse_kernels()
        if func is np.copyto:
            taken = widen(args[0])
            np.copyto(taken, *widen(args[1:]), **widen(kwargs))
            args[0][...] = taken
            return None
        result = func(*widen(args), **widen(kwargs))
        return bfloat16(result) if getattr(result, "dtype", None) == BFLOAT16 else result

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, round_to_bfloat16(widen(value)))

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        return part if isinstance(part, np.ndarray) else bfloat16(part)

    def __reduce_ex__(self, protocol: Any) -> Any:  # a pickle of NumPy's keeps no byte order
        return from_bits, (to_bits(self),)

    def fill(self, value: Any) -> None:
        """Store one number everywhere."""
        self[...] = value

    def astype(self, dtype: Any, *args: Any, **named: Any) -> Any:
        """A copy in another dtype: an ordinary array, unless the dtype is bfloat16."""
        refuse_kernels()
        return cast(self, dtype, *args, **named)


def in_float32(name: str) -> Any:
    """A method of arrays that reads the numbers without a call of NumPy's functions."""

    def method(self: Bfloat16Array, *args: Any, **named: Any) -> Any:
        refuse_kernels()
        return getattr(widen(self), name)(*widen(args), **named)

    return method


for _name in ("argmax", "argmin", "argsort", "dot", "nonzero", "searchsorted"):
    setattr(Bfloat16Array, _name, in_float32(_name))


def widen(value: Any) -> Any:
    """An array as ordinary float32; also each array in a sequence or dict."""
    if isinstance(value, np.ndarray):
        plain = value.view(np.ndarray)
        if plain.dtype != BFLOAT16:
            return value
        return like_meta(value, SINGLE) if isinstance(value, MetaArray) else plain.astype(SINGLE)
    if type(value) in (list, tuple):
        return type(value)(map(widen, value))
    return {k: widen(v) for k, v in value.items()} if isinstance(value, dict) else value


def bfloat16(values: Any) -> Bfloat16Array:
    """Numbers as an array of bfloat16, with the dimensions in the same order in memory."""
    plain = values.view(np.ndarray) if isinstance(values, np.ndarray) else values
    return round_to_bfloat16(plain).astype(BFLOAT16).view(Bfloat16Array)


def to_bits(array: np.ndarray) -> np.ndarray:
    """The 16 bits of each number, as files hold them: the upper half of its float32."""
    bits: np.ndarray = (widen(array).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return bits


def from_bits(bits: np.ndarray) -> Bfloat16Array:
    """The array whose bits these are: the inverse of `to_bits`."""
    return bfloat16((bits.astype(np.uint32) << np.uint32(16)).view(SINGLE))


of_bits = from_bits  # what pickles of before name


def reinterpret(array: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Reinterpret the bytes of bfloat16 as another dtype, or the other way round.

    This copies, for the memory holds float32.
    """
    if kind == BFLOAT16:
        return from_bits(np.ascontiguousarray(array).view(np.uint16))
    return to_bits(array).view(kind)


def with_shared_dtype(array: np.ndarray) -> np.ndarray:
    """A new array of the dtype, rounded; an array of bfloat16 stays as it is."""
    return array if isinstance(array, (Bfloat16Array, MetaArray)) else bfloat16(array)


def cast(array: Any, dtype: Any, *args: Any, **named: Any) -> np.ndarray:
    """``array.astype``, also to bfloat16."""
    if isinstance(array, MetaArray):
        return like_meta(array, dtype)
    copy: np.ndarray = widen(array).astype(SINGLE if dtype == BFLOAT16 else dtype, *args, **named)
    return bfloat16(copy) if dtype == BFLOAT16 else copy
