"""Arrays that write down what is done with them.

While a step is traced, library code sees `Traced` objects in place of ndarrays. They compute at
once, with NumPy's own functions on the arrays behind them, and note every call on the tape. To
reach into one for its values ends the trace, for the tape could not follow what is done with them.
"""

import operator
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.origins import PACKAGE

Array = np.ndarray


class Nobody:
    """Notes nothing: what `Traced` objects ask while no trace is on."""

    def ufunc(self, ufunc: Any, method: str, inputs: Any, kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return function(*real(inputs), **real(kwargs))

    def function(self, function: Any, args: Any, kwargs: Any) -> Any:
        return function(*real(tuple(args)), **real(kwargs))

    def effect(self, function: Any, args: Any, kwargs: Any, target: Any) -> Any:
        return function(*real(tuple(args)), **real(kwargs))

    def read(self, what: str) -> None:
        pass

    def item(self, traced: Any, *args: Any) -> Any:
        return traced.value.item(*args)

    def proxy(self, array: Array) -> Array:
        return array

    def located(self, array: Array) -> None:
        pass


class Current:
    """Who notes what is done with traced arrays."""

    recorder: Any
    thread: int


NOBODY = Nobody()
current = Current()
current.recorder, current.thread = NOBODY, 0


class Traced:
    """Stands for an ndarray, also for `isinstance`; see the module."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 500.0

    def __init__(self, value: Array) -> None:
        self.value = value

    @property
    def recorder(self) -> Any:
        """Who notes what is done now; a `Traced` that has survived its trace is a constant."""
        return current.recorder if threading.get_ident() == current.thread else NOBODY

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.ndarray

    if TYPE_CHECKING:  # the attributes and methods set below

        def __getattr__(self, name: str) -> Any: ...

        def __getitem__(self, index: Any) -> Any: ...

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.recorder.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.recorder.function(function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self.recorder.read("np.asarray")
        return np.array(self.value, dtype, copy=copy)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.value)))

    def __len__(self) -> int:
        return len(self.value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.recorder.effect(operator.setitem, (self, index, value), {}, self)

    # NumPy's operator computes some powers in other ways than its function does.

    def __pow__(self, other: Any) -> Any:
        return self.recorder.function(operator.pow, (self, other), {})

    def __rpow__(self, other: Any) -> Any:
        return self.recorder.function(operator.pow, (other, self), {})

    def __ipow__(self, other: Any) -> Any:
        self.recorder.effect(operator.ipow, (self, other), {}, self)
        return self

    @property
    def __array_interface__(self) -> Any:
        # NumPy itself must not read the values past the recorder.
        caller = sys._getframe(1).f_code
        own = caller.co_filename.startswith(PACKAGE)
        if not own or "__array_interface__" not in caller.co_names:
            raise AttributeError("__array_interface__")
        if "data_ptr" in (caller.co_name, sys._getframe(2).f_code.co_name):
            self.recorder.located(self.value)
        return self.value.__array_interface__

    def item(self, *args: Any) -> Any:
        return self.recorder.item(self, *args)

    @property
    def base(self) -> Any:
        base = self.value.base
        return self.recorder.proxy(base) if isinstance(base, np.ndarray) else base

    @property
    def T(self) -> Any:
        return self.transpose()

    @property
    def flat(self) -> Any:
        self.recorder.read("flat")
        return self.value.flat

    def __repr__(self) -> str:
        return f"Traced({self.value!r})"


def real(value: Any) -> Any:
    """A structure of arguments with the arrays behind those that are traced."""
    kind = type(value)
    if kind is Traced:
        return value.value
    if kind is tuple or kind is list:
        return kind([real(part) for part in value])
    if kind is dict:
        return {name: real(part) for name, part in value.items()}
    return value


def layout_attribute(name: str) -> property:
    """What does not depend on the values, but on where they lie."""
    return property(lambda self: getattr(self.value, name))


for _name in (
    "shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes", "flags",
):  # fmt: skip
    setattr(Traced, _name, layout_attribute(_name))


def binary(ufunc: Any) -> tuple[Any, Any, Any]:
    """An operator, its reflected form and its augmented one."""

    def forward(self: Any, other: Any) -> Any:
        if getattr(type(other), "__array_ufunc__", True) is None:  # a Tensor's turn
            return NotImplemented
        return ufunc(self, other)

    def reflected(self: Any, other: Any) -> Any:
        return ufunc(other, self)

    def augmented(self: Any, other: Any) -> Any:
        return ufunc(self, other, out=self)

    return forward, reflected, augmented


OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "matmul": np.matmul,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
for _name, _ufunc in OPERATORS.items():
    for _prefix, _function in zip(("", "r", "i"), binary(_ufunc), strict=True):
        setattr(Traced, f"__{_prefix}{_name}__", _function)
COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal,
}  # fmt: skip
for _name, _ufunc in COMPARISONS.items():
    setattr(Traced, f"__{_name}__", binary(_ufunc)[0])
for _name, _ufunc in {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}.items():  # fmt: skip
    setattr(Traced, f"__{_name}__", lambda self, ufunc=_ufunc: ufunc(self))


def method(name: str) -> Callable[..., Any]:
    """A method that gives an array, new or a view."""
    function = getattr(np.ndarray, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.recorder.function(function, (self, *args), kwargs)

    return call


for _name in (
    "__getitem__", "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "copy",
    "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "prod", "ravel",
    "repeat", "reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take",
    "trace", "transpose", "var", "view",
):  # fmt: skip
    setattr(Traced, _name, method(_name))


def writer(name: str) -> Callable[..., Any]:
    """A method that writes to the array itself."""
    function = getattr(np.ndarray, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        self.recorder.effect(function, (self, *args), kwargs, self)

    return call


for _name in ("fill", "put", "sort", "partition"):
    setattr(Traced, _name, writer(_name))


def reader(name: str) -> Callable[..., Any]:
    """A method that gives values to Python."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.recorder.read(name.strip("_"))
        return getattr(self.value, name)(*args, **kwargs)

    return call


for _name in (
    "tolist", "tobytes", "nonzero", "__bool__", "__int__", "__float__", "__index__", "__complex__",
    "__contains__", "__format__", "__str__", "__reduce__", "__reduce_ex__", "__copy__",
    "__deepcopy__", "compress", "choose", "tofile", "dump",
):  # fmt: skip
    setattr(Traced, _name, reader(_name))
