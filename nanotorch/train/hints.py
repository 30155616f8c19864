"""The type hints of a configuration's fields, in the words of messages."""

import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from .problems import quoted
from .tree import plain_scalar

NAMES = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "text",
    Path: "a file name",
    type(None): "null",
}


def meant_as(value: Any, hint: Any) -> str:
    """Return how a value should have been written, if that is plain."""
    if hint is int and isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"; write {int(value)}"
    if hint is str and value is not None:
        return "; put it in quotes"
    if not isinstance(value, str) or hint not in (int, float, bool):
        return ""
    if hint is bool:
        words = {"yes": "true", "on": "true", "no": "false", "off": "false"}
        return f"; write {words[value.lower()]}" if value.lower() in words else ""
    digits = value.strip().replace("_", "")
    if type(plain_scalar(digits)) not in (int, hint):
        return ""
    return "; remove the quotes" if digits == value else f"; write {digits}"


def described(hint: Any) -> str:
    """Return a hint in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return described(arguments[0])
    if origin in (Union, types.UnionType):
        members = [member for member in arguments if member is not types.NoneType]
        return " or ".join(described(member) for member in members)
    if origin is tuple and arguments[-1] is ...:
        return f"a list, each item {described(arguments[0])}"
    if origin is tuple:
        return f"a list of {len(arguments)}, each {described(arguments[0])}"
    if origin is Literal:
        return " or ".join(quoted(choice) for choice in arguments)
    return NAMES.get(hint, "a mapping")
