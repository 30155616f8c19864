"""Subclasses of `Tensor` with a `__torch_function__`, which handles calls of functions on them.

Such a class gets methods that call its `__torch_function__`, and an `_array` that operations cannot
read. So operations end up here too, in the same way as under `vmap` for a tensor without values.
Other tensors are never checked. A function of several operations calls `__torch_function__` for
each of them.
"""

import functools
import sys
import threading
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from nanotorch._core import doors
from nanotorch._core.arguments import flat_args
from nanotorch._core.doors import NoValues
from nanotorch._core.dtypes import Size
from nanotorch._core.meta import GENERATED, OF_FORMULAS
from nanotorch._core.tensor import Tensor, call_plainly
from nanotorch.names.lookup import on_demand
from nanotorch.ops.creation import alias

__all__ = ["handle_torch_function", "has_torch_function", "is_tensor_like"]
NOT_HANDLED = (
    "Multiple dispatch failed for '{}'; all __torch_function__ handlers returned NotImplemented:"
    "\n\n{}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
)
# Python's methods for operators, brackets and built-in functions.
OPERATORS = (
    *("getitem", "setitem", "neg", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge", "pow"),
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "and", "or", "xor"),
    *("bool", "contains", "dir", "float", "format", "index", "int", "len", "repr", "reversed"),
)
FORMS = {f"__{kind}{name}__" for name in OPERATORS for kind in ("", "r", "i")} | {
    "_base",
    "_version",
}
# The method that `__torch_function__` gets for a special method.
NAMED = {f"__{name}__": name for name in ("add", "sub", "mul", "neg", "abs", "pow", "matmul")}
NAMED |= {"__truediv__": "div", "__radd__": "add", "__rmul__": "mul", "__iadd__": "add_"}


class _State(threading.local):
    """Per thread: the number of open blocks of `DisableTorchFunctionSubclass`."""

    disabled = 0


state = _State()


class DisableTorchFunctionSubclass:
    """A block in which no `__torch_function__` is called."""

    def __enter__(self) -> None:
        state.disabled += 1

    def __exit__(self, *error: Any) -> None:
        state.disabled -= 1


def is_tensor_like(inp: Any) -> bool:
    """Whether ``inp`` is a tensor, or of a class with `__torch_function__`."""
    return hasattr(inp, "__torch_function__")


def overrides(value: Any) -> bool:
    """Whether the class of a value has a `__torch_function__` of its own."""
    kind = type(value)
    own = None if kind is Tensor else getattr(kind, "__torch_function__", None)
    return own is not None and own is not call_plainly


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the `__torch_function__` of one of the arguments must be called."""
    return not state.disabled and any(map(overrides, relevant_args))


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call the arguments' `__torch_function__`, subclasses first; returns the first result.

    Args:
        public_api: the function that was called.
        relevant_args: the arguments that may have a `__torch_function__`.
        args, kwargs: all arguments of the call.

    Raises:
        TypeError: if each `__torch_function__` returns NotImplemented.
    """
    asked: list[Any] = []
    for value in filter(overrides, relevant_args):
        if all(type(value) is not type(other) for other in asked):
            place = (k for k, other in enumerate(asked) if isinstance(value, type(other)))
            asked.insert(next(place, len(asked)), value)
    types = tuple(map(type, asked))
    kind: Any
    for kind in types:
        result = kind.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    told = [f"  - tensor subclass {kind}" for kind in types]
    raise TypeError(NOT_HANDLED.format(f"torch.{public_api.__qualname__}", "\n".join(told)))


@functools.cache
def get_default_nowrap_functions() -> set[Any]:
    """The functions whose results do not become tensors of the subclass."""
    return {vars(Tensor)[name].__get__ for name in ("_base", "grad")}


def default(cls: type[Tensor], func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """`Tensor.__torch_function__`: call the function, and convert its results to ``cls``."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if func in get_default_nowrap_functions() else to_subclass(result, cls)


def to_subclass(result: Any, cls: type[Tensor]) -> Any:
    """The result of a function, with tensors, also in tuples and lists, as ``cls``."""
    if isinstance(result, (tuple, list)) and type(result) is not Size:
        return type(result)([to_subclass(part, cls) for part in result])
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return as_subclass(result, cls)
    return result


def as_subclass(tensor: Tensor, cls: type[Tensor]) -> Any:
    """A view of a tensor, as a tensor of the subclass ``cls``.

    Raises:
        TypeError: if ``cls`` is not a subclass of `Tensor`.
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"cls must be a subclass of Tensor, but got {cls!r}")
    with DisableTorchFunctionSubclass():
        out = alias(tensor)
    out.__class__ = cls
    return out


def make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Any:
    """A leaf of the subclass ``cls`` that shares memory with ``data``."""
    with DisableTorchFunctionSubclass():
        out = data.detach()
        out.__class__ = cls
        return out.requires_grad_(require_grad)


def ask_first(function: Callable[..., Any]) -> Any:
    """A method that calls `__torch_function__` of its arguments first."""

    @functools.wraps(function)
    def ask(*args: Any, **kwargs: Any) -> Any:
        if state.disabled:
            return function(*args, **kwargs)
        return handle_torch_function(function, flat_args((args, kwargs)), *args, **kwargs)

    return ask


def property_that_asks(of: property) -> property:
    """A property that calls `__torch_function__`, except when the framework itself reads it."""

    def by(function: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*args: Any) -> Any:
            asker = str(sys._getframe(1).f_globals.get("__name__"))
            if state.disabled or asker.startswith("nanotorch."):
                return function(*args)
            return handle_torch_function(function, args[:1], *args)

        return ask

    return property(by(of.__get__), by(of.__set__), by(of.__delete__), of.__doc__)


def array_of(tensor: Any) -> Any:
    """The array of a tensor; raises NoValues in an operation, which must call the class first."""
    if not state.disabled:
        frame: Any = sys._getframe(1)
        for _ in range(3):
            code = frame.f_code
            if code.co_filename.startswith(GENERATED) and code.co_name not in OF_FORMULAS:
                raise NoValues
            frame = frame.f_back
            if frame is None:
                break
    return vars(tensor)["_array"]


def prepare(cls: Any) -> None:
    """Make methods and operations call the `__torch_function__` of a new class of tensors."""
    if cls.__torch_function__ is call_plainly:
        return
    cls._array = property(array_of, lambda tensor, array: vars(tensor).update(_array=array))
    every = {name: f for part in reversed(Tensor.__mro__[:-1]) for name, f in vars(part).items()}
    for name, function in every.items():
        asks = isinstance(function, FunctionType | property) and (name[0] != "_" or name in FORMS)
        if asks and getattr(cls, name) is function:
            plain = every[NAMED.get(name, name)]
            setattr(
                cls, name, (property_that_asks if type(plain) is property else ask_first)(plain)
            )


def operation(o: Any, inplace: bool, args: dict[str, Any]) -> Any:
    """The result of an operation on tensors whose arrays it cannot read."""
    if not has_torch_function(flat_args([args])):
        return NotImplemented
    function, positional, named = doors.call_of(o, inplace, dict(args))
    return handle_torch_function(function, flat_args([args]), *positional, **named)


doors.values.insert(-2, operation)  # before tensors without values, and bfloat16

on_demand(__name__)
