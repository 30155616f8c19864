"""A configuration as YAML, with the origin of every value beside it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from .load import LoadedConfig
from .reading import Component, Section
from .tree import plain_scalar

WIDTH = 40
PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*", re.ASCII)
YAML_1_1 = {"on", "off", "yes", "no", "y", "n"}
"""What other programs may read as booleans."""


def dump_config(loaded: LoadedConfig) -> str:
    """Return what a run used, defaults included; `load_config` reads it back to the same."""
    lines = ["# What this run used, and where each value came from. It can be run again."]
    for text, path in block(loaded.config, "", ""):
        if path is not None:
            text = f"{text:<{WIDTH}}  # {loaded.origins[path] or 'default'}"
        lines.append(text)
    return "\n".join(lines) + "\n"


def plain(value: Section | Component) -> dict[str, Any]:
    """Return a section or a component as a mapping, whose name comes first."""
    if isinstance(value, Component):
        return {"name": value.name, **value.arguments}
    given = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
    return {"name": given.pop("name"), **given} if "name" in given else given


def block(value: Any, path: str, indent: str) -> Iterator[tuple[str, str | None]]:
    """Yield lines, each with the path of the value that is in it, None for a heading."""
    for key, item in plain(value).items():
        inner = f"{path}.{key}".lstrip(".")
        if isinstance(item, Section | Component):
            yield f"{indent}{key}:", None
            yield from block(item, inner, indent + "  ")
        elif isinstance(item, tuple) and item and isinstance(item[0], Component):
            yield f"{indent}{key}:", None
            for index, member in enumerate(item):
                lines = block(member, f"{inner}[{index}]", "")
                for number, (text, text_path) in enumerate(lines):
                    yield f"{indent}{'    ' if number else '  - '}{text}", text_path
        else:
            yield f"{indent}{key}: {flow(item)}", inner


def flow(value: Any) -> str:
    """Return a plain value on one line."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(flow(item) for item in value)}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str | Path):
        return text_scalar(str(value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def text_scalar(text: str) -> str:
    """Return text as a YAML scalar, quoted unless it is certain to be read as it stands."""
    if PLAIN.fullmatch(text) and text.lower() not in YAML_1_1 and plain_scalar(text) == text:
        return text
    escaped = (
        character if character.isprintable() and character not in '"\\' else escape(character)
        for character in text
    )
    return f'"{"".join(escaped)}"'


def escape(character: str) -> str:
    """Return a character in the form that YAML's double quotes have for every character."""
    return f"\\{character}" if character in '"\\' else f"\\U{ord(character):08X}"
