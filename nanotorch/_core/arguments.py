"""Arguments of the wrong kind, refused in PyTorch's words.

What looks at an argument does not know which function was given it, by which name: the stack is
asked, once there is something to refuse. A right argument costs one look at its class.
"""

import functools
import inspect
import operator
import sys
from collections.abc import Sequence
from types import FrameType, FunctionType
from typing import Any

GENERATED = "<nanotorch op "  # the file name of an operation's own source
# Names of what passes a call on: to a function not compiled yet, to one with a further argument.
PASSING = ("uncompiled", "accepting_out", "accepting_axis")
OPERATIONS = ("nanotorch._core.", "nanotorch.ops.")


def kind_of(value: Any) -> str:
    """The name of a value's type, with that of NumPy where it is one of NumPy's."""
    kind = type(value)
    if kind.__module__ == "numpy":
        return f"numpy.{kind.__name__}"
    return "torch.dtype" if kind.__name__ == "dtype" else kind.__name__


Place = tuple[str, str, int]  # a function's name, an argument's, its position or 0


def place_of(value: Any) -> Place | None:
    """The operation that was given ``value``, the argument's name there, and its position.

    Of operations that call each other that which was called first is meant. A method's position
    does not count ``self``.
    """
    frame: FrameType | None = sys._getframe(1)
    outer: FrameType | None = None
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    while frame is not None and (
        frame.f_code.co_filename.startswith(GENERATED)
        or str(frame.f_globals.get("__name__")).startswith(OPERATIONS)
    ):
        if frame.f_code.co_name not in PASSING:
            outer = frame
        frame = frame.f_back
    if outer is None:
        return None
    code, held = outer.f_code, outer.f_locals
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    for position, name in enumerate(code.co_varnames[:count]):  # `*args` comes last
        given = held.get(name)
        within = isinstance(given, (tuple, list)) and any(v is value for v in given)
        if given is value or within:
            method = code.co_varnames[0] == "self" or code.co_qualname.startswith(METHOD)
            counted = position + (0 if method else 1)
            return code.co_name, name, counted if position < code.co_argcount else 0
    return None


def named(function: Any, name: str) -> Any:
    """Give a function made by another its own name, in its frames too."""
    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function


METHOD = "Tensor."


def as_method(function: Any) -> Any:
    """A copy of a function whose frames tell that it was called as a method of `Tensor`."""
    code = function.__code__
    copy = FunctionType(
        code.replace(co_qualname=METHOD + code.co_name),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(copy, function)
    copy.__qualname__, copy.__module__ = METHOD + function.__name__, "nanotorch._core.tensor"
    return copy


def told(place: Place) -> str:
    """An argument as messages name it; those given by keyword only have no position."""
    name, argument, position = place
    return f"{name}(): argument '{argument}'" + (f" (position {position})" if position else "")


def refused(value: Any, wanted: str, place: Place | None = None) -> TypeError:
    """The error for an argument that is not ``wanted``, which is a phrase as ``tuple of ints``."""
    place, kind = place or place_of(value), kind_of(value)
    if place is None:
        return TypeError(f"expected {wanted}, not {kind}")
    return TypeError(f"{told(place)} must be {wanted}, not {kind}")


def require_bool(value: object, place: Place | None) -> None:
    """Raise `TypeError` unless ``value`` is one of Python's own bools."""
    if value is not True and value is not False:
        raise refused(value, "bool", place)


def refused_element(values: Any, position: int, place: Place | None) -> TypeError:
    """The error for a sequence whose element at ``position`` is not an integer."""
    place, kind = place or place_of(values), kind_of(values[position])
    if place is None:
        return TypeError(f"expected tuple of ints, but found {kind} at pos {position}")
    if position:
        return TypeError(
            f"{told((*place[:2], 0))} failed to unpack the object at pos {position + 1} "
            f'with error "type must be tuple of ints,but got {kind}"'
        )
    return TypeError(
        f"{told(place)} must be tuple of ints, but found element of type {kind} at pos 0"
    )


def combination(name: str, given: Sequence[Any], forms: Sequence[str], **named: Any) -> TypeError:
    """The error for arguments that fit none of a function's forms, which it lists."""
    told = [kind_of(value) for value in given]
    kinds = ", ".join(told + [f"{key}={kind_of(value)}" for key, value in named.items()])
    listed = "".join(f"\n * ({form})" for form in forms)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({kinds}), but expected one "
        f"of:{listed}\n"
    )


def integer(value: Any) -> int | None:
    """A number, 0-d array or tensor as an integer; None for what is not one."""
    if isinstance(value, bool) or type(value).__name__ == "bool":  # NumPy's as well
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def as_int(value: Any) -> int:
    """An argument that is an integer: Python's, NumPy's, or a 0-d tensor's.

    Raises:
        TypeError: for anything else, bools included.
    """
    if value.__class__ is int:
        return value
    number = None if getattr(value, "ndim", 0) else integer(value)
    if number is None:
        raise refused(value, "int")
    return number


def as_ints(value: Any, place: Place | None = None) -> tuple[int, ...]:
    """An argument that is a sequence of integers, or one integer.

    Args:
        place: whose argument it is; default: see `place_of`.

    Raises:
        TypeError: for anything else; PyTorch lets bools pass behind the first element.
    """
    if value.__class__ is int:
        return (value,)
    if not isinstance(value, (tuple, list)):
        number = integer(value)
        if number is None:
            raise refused(value, "tuple of ints", place)
        return (number,)
    numbers = []
    for position, n in enumerate(value):
        number = n if n.__class__ is int or (n.__class__ is bool and position) else integer(n)
        if number is None:
            raise refused_element(value, position, place)
        numbers.append(int(number))
    return tuple(numbers)
