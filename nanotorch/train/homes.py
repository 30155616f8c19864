"""Where a key belongs that stands in the wrong section: `lr` in `optimizer`."""

import types
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from .reading import Component, Section
from .schema import Config

MOST_HOMES = 2
"""A key that may stand in more sections, such as `name`, has no home."""


def homes(key: str) -> list[str]:
    """Return the paths at which a configuration has a key; nothing if they are many."""
    found = list(dict.fromkeys(path for path, name in all_keys() if name == key))
    return found if len(found) <= MOST_HOMES else []


@cache
def all_keys() -> list[tuple[str, str]]:
    """Return the path and the name of every key of a section that a configuration has once."""
    return [
        (f"{section}.{key}", key)
        for kind in get_args(Config)
        for section, hint in get_type_hints(kind, include_extras=True).items()
        for key in keys_of(hint)
    ]


def keys_of(hint: Any) -> Iterator[str]:
    """Yield the keys that a section or a component may have."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated and arguments[0] is Component:
        for name in arguments[1].names:
            yield from arguments[1].hints(name)
    elif origin in (Union, types.UnionType):
        for member in arguments:
            yield from keys_of(member)
    elif isinstance(hint, type) and issubclass(hint, Section):
        yield from (field.name for field in fields(hint))  # type: ignore[arg-type]
