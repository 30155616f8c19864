"""Arrays without values: those of tensors on the device "meta", and why a kernel stops at others.

A `MetaArray` has a shape, strides and a dtype. Its memory is a range of addresses without pages, in
which NumPy makes views as in any other. What NumPy computes from such an array is such an array:
elementwise functions, reductions and matrix products compute one element and note the shape; other
functions compute on zeros.
"""

import sys
from typing import Any, ClassVar

import numpy as np

from nanotorch._core.doors import NoValues
from nanotorch._core.dtypes import BFLOAT16

SINGLE = np.dtype(np.float32)
DTYPE: Any = vars(np.ndarray)["dtype"]
# Makes a view of another dtype; for this NumPy 2.5 calls `_set_dtype` in place of the setter.
SET_DTYPE: Any = getattr(np.ndarray, "_set_dtype", DTYPE.__set__)
# The generated functions that call formulas.
GENERATED, OF_FORMULAS = "<nanotorch op", {"plain_back", "careful_back", "apply_bare"}
NO_DATA = "Cannot copy out of meta tensor; no data!"
NO_ITEM = "Tensor.item() cannot be called on meta tensors"
# NumPy's functions that depend on shapes and memory, not on values.
ON_MEMORY = frozenset((
    np.transpose, np.moveaxis, np.swapaxes, np.squeeze, np.expand_dims, np.reshape, np.ravel,
    np.broadcast_to, np.diagonal, np.flip, np.split, np.array_split, np.may_share_memory,
    np.shares_memory, np.shape, np.ndim, np.size,
))  # fmt: skip
ELEMENTWISE = frozenset((np.where, np.clip, np.nan_to_num, np.round, np.isclose))
BY_VALUES = frozenset((
    np.argwhere, np.array_equal, np.count_nonzero, np.flatnonzero, np.nonzero, np.unique,
))  # fmt: skip
LIKE = frozenset((np.empty_like, np.zeros_like, np.ones_like, np.full_like))


# Operations whose kernels, like those that convert to one dtype, make no arrays of their own.
LIGHT = frozenset(("mm", "mv", "bmm", "dot", "sum_all"))


def refuse_kernels(light: bool = False) -> None:
    """Raise `NoValues` inside a kernel, unless the kernel makes a view.

    Args:
        light: whether kernels without arrays of their own are allowed, too.
    """
    frame: Any = sys._getframe(2)
    while not frame.f_code.co_filename.startswith(GENERATED):
        if frame.f_back is None or frame.f_code.co_name == "run_without_values":
            return
        called, frame = frame, frame.f_back
        if frame.f_code.co_filename.startswith(GENERATED):
            code = called.f_code  # of a kernel, or what records it, calls it again, tells its error
            if code.co_filename.endswith("graph.py") or code.co_name in ("again", "explain"):
                return
    op = frame.f_globals["this_op"]
    allowed = op.view or (light and (op.cast or op.name in LIGHT))
    if frame.f_code.co_name not in OF_FORMULAS and not allowed:
        raise NoValues


class KernelArray(np.ndarray):
    """An array whose values kernels cannot use as those of others.

    Attributes:
        light: whether it may be given to kernels that make no arrays of their own.
    """

    light: ClassVar[bool] = False

    @property
    def dtype(self) -> Any:
        """The dtype. A kernel that reads it is about to make another array of this dtype."""
        if not sys._getframe(1).f_code.co_filename.startswith(GENERATED):  # around the kernel
            refuse_kernels(self.light)
        return DTYPE.__get__(self)

    @dtype.setter
    def dtype(self, kind: Any) -> None:
        SET_DTYPE(self, kind)

    def _set_dtype(self, kind: Any) -> None:
        SET_DTYPE(self, kind)


class MetaArray(KernelArray):
    """An array without values, which reads as zeros; writes have no effect."""

    light = True

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **named: Any
    ) -> Any:
        check_kernel(inputs, out)
        if method == "at":
            return None
        with np.errstate(all="ignore"):
            if method == "__call__" and ufunc.signature is None:
                result = elementwise(ufunc, inputs, named)
            elif ufunc is np.matmul:
                result = matmul(*inputs)
            elif method == "reduce":
                result = reduce(ufunc, *inputs, **named)
            else:
                result = as_meta(getattr(ufunc, method)(*dense(inputs), **dense(named)))
        if out is None:
            return result
        return out[0] if len(out) == 1 else out

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in ON_MEMORY:
            if func is np.broadcast_to:
                kwargs = {"subok": True, **kwargs}
            return as_meta(super().__array_function__(func, types, args, kwargs))
        if func is np.copyto:
            check_kernel(args, (args[0],))
            return None
        if func in BY_VALUES:
            raise no_kernel(func.__name__)
        if func in LIKE:
            return like_meta(*args[:1], *args[1 + (func is np.full_like) :], **kwargs)
        check_kernel(args, (kwargs["out"],) if kwargs.get("out") is not None else None)
        with np.errstate(all="ignore"):
            if func in ELEMENTWISE:
                return elementwise(func, args, kwargs)
            return as_meta(func(*dense(args), **dense(kwargs)))

    def __getitem__(self, key: Any) -> Any:
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, MetaArray) and part.dtype.kind == "b":
                raise no_kernel("nonzero")
        return as_meta(self.view(np.ndarray)[dense(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        np.broadcast_to(dense(value), self[key].shape)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return meta_array, (self.shape, self.dtype)

    def item(self, *args: Any) -> Any:
        """Raise the error for a number that there is not."""
        refuse_kernels()  # checks of values find zeros
        raise RuntimeError(NO_ITEM)

    __bool__ = __int__ = __float__ = __index__ = item

    def tolist(self) -> Any:
        """Raise the error for numbers that there are not."""
        raise NotImplementedError(NO_DATA)

    def dot(self, other: Any, out: Any = None) -> Any:
        """The product with a vector or matrix."""
        return np.matmul(self, other, out=out)

    def nonzero(self) -> Any:
        """Raise the error for a result whose shape depends on values."""
        raise no_kernel("nonzero")

    def astype(self, dtype: Any, *args: Any, **named: Any) -> Any:
        """The array in another dtype."""
        return like_meta(self, dtype)

    def copy(self, order: Any = "C") -> "MetaArray":
        """A copy; with ``order="K"``, the dimensions keep their order in memory."""
        return like_meta(self) if order == "K" else meta_array(self.shape, self.dtype)

    def fill(self, value: Any) -> None:
        """Do nothing."""


def on_zeros(name: str) -> Any:
    """A method of arrays that reads the values without a call of NumPy's functions."""

    def method(self: MetaArray, *args: Any, **named: Any) -> Any:
        check_kernel((self,), None)
        return as_meta(getattr(dense(self), name)(*dense(args), **dense(named)))

    return method


for _name in (
    "argmax", "argmin", "argsort", "choose", "flatten", "ravel", "repeat",
    "reshape", "searchsorted", "take", "trace",
):  # fmt: skip
    setattr(MetaArray, _name, on_zeros(_name))


class Region:
    """The range of addresses of all these arrays: 16 TB, where the system gives so many."""

    size = 1 << 44
    held: Any = None
    exceeded = False  # whether an array did not fit, so that zero strides say nothing

    @classmethod
    def memory(cls) -> Any:
        """The memory, which can be read only; a few bytes where there is no such range."""
        if cls.held is None:
            try:
                import mmap  # few programs need it

                private: Any = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
                cls.held = mmap.mmap(-1, cls.size, flags=private, prot=mmap.PROT_READ)
            except (AttributeError, ImportError, OSError, OverflowError, ValueError):
                cls.held, cls.size = bytes(1 << 20), 1 << 20
        return cls.held


def meta_array(shape: tuple[int, ...], kind: np.dtype) -> MetaArray:
    """A new array; where its addresses are too many, all elements have the first one's."""
    memory = Region.memory()
    size = kind.itemsize
    for n in shape:
        size *= n
    if size <= Region.size:
        return np.ndarray.__new__(MetaArray, shape, kind, memory)
    Region.exceeded = True
    return np.ndarray.__new__(MetaArray, shape, kind, memory, 0, (0,) * len(shape))


def like_meta(array: Any, dtype: Any = None, *args: Any, **named: Any) -> MetaArray:
    """A new array of the shape of another, with the dimensions in the same order in memory."""
    kind = array.dtype if dtype is None else np.dtype(dtype)
    order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    made = meta_array(tuple(array.shape[d] for d in order), kind)
    return made.transpose(np.argsort(order)) if order else made


def no_kernel(name: str) -> NotImplementedError:
    """The error for a function whose result depends on values."""
    return NotImplementedError(
        f"aten::{name}: attempted to run this operator with Meta tensors, but there was no fake "
        "impl or Meta kernel registered."
    )


def check_kernel(inputs: Any, out: Any) -> None:
    """Raise `NoValues` in a kernel with arrays of its own, and for results in ordinary arrays."""
    bfloat16 = any(isinstance(x, MetaArray) and DTYPE.__get__(x) == BFLOAT16 for x in inputs)
    flat = [x for each in inputs for x in (each if isinstance(each, (list, tuple)) else [each])]
    # `on_zeros` refuses tensors with values.
    mixed = any(isinstance(x, np.ndarray) and x.ndim and type(x) is not MetaArray for x in flat)
    refuse_kernels(light=not (bfloat16 or mixed))
    if out is not None and not all(isinstance(target, MetaArray) for target in out):
        raise NoValues


def dense(value: Any) -> Any:
    """An array without values as zeros; also each array in a sequence or dict."""
    if isinstance(value, MetaArray):
        return value.view(np.ndarray)
    if type(value) in (list, tuple):
        return type(value)(map(dense, value))
    return {k: dense(v) for k, v in value.items()} if isinstance(value, dict) else value


def as_meta(value: Any) -> Any:
    """An array as one without values; also each array in a sequence."""
    if isinstance(value, (list, tuple)):
        return getattr(type(value), "_make", type(value))(map(as_meta, value))
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    if isinstance(value, np.ndarray) and not value.flags.writeable:  # a view
        return value.view(MetaArray)
    return meta_array(value.shape, value.dtype)


def first_of(value: Any) -> Any:
    """The first element of an array along each dimension; other values as they are."""
    if not isinstance(value, np.ndarray):
        return value
    kind = SINGLE if value.dtype == BFLOAT16 else value.dtype
    return np.ones([min(n, 1) for n in value.shape], kind)  # zeros would be errors to some


def elementwise(function: Any, inputs: Any, named: Any) -> Any:
    """The result of a function that broadcasts its inputs, from one element of each."""
    results = function(*map(first_of, inputs), **{k: first_of(v) for k, v in named.items()})
    arrays = [x for x in (*inputs, *named.values()) if isinstance(x, np.ndarray)]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    model = next((x for x in arrays if x.shape == shape), meta_array(shape, SINGLE))
    if isinstance(results, tuple):
        return tuple([like_meta(model, r.dtype) for r in results])
    return like_meta(model, results.dtype)


def matmul(a: Any, b: Any) -> MetaArray:
    """The product of matrices, from one row and one column."""
    row, column = np.zeros((1, *a.shape[-1:]), a.dtype), np.zeros((*b.shape[-2:-1], 1), b.dtype)
    if b.ndim == 1:
        column = np.zeros((*b.shape, 1), b.dtype)
    kind = np.matmul(row, column).dtype
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return meta_array((*batch, *a.shape[-2:-1], *b.shape[-1:][: b.ndim - 1]), kind)


def reduce(
    ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
    keepdims: bool = False, **named: Any,
) -> MetaArray:  # fmt: skip
    """A reduction, from one element along each dimension."""
    reduced = ufunc.reduce(first_of(array), axis, dtype, keepdims=True, **dense(named))
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    dims = {d % array.ndim for d in axes}
    kept = [1 if d in dims else n for d, n in enumerate(array.shape) if keepdims or d not in dims]
    return meta_array(tuple(kept), reduced.dtype)
