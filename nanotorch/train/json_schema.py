"""The JSON schema of configuration files, for editors that complete and check while one types.

    # yaml-language-server: $schema=schema.json

It knows names, types and ranges. What several values must have in common, and what must not be
left out, only `--check` tells: a file may inherit the rest from another one.
"""

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from .catalogue import field_sentences, first_sentence
from .components import Components
from .generators import Generators
from .reading import Arguments, Members, Range, Section
from .schema import MinimizationConfig, SupervisedConfig, TextConfig

DIALECT = "http://json-schema.org/draft-07/schema#"
PLAIN: Mapping[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    Path: "string",
    type(None): "null",
}
NAMELESS = {"type": "object", "not": {"required": ["name"]}}
"""A mapping whose name another file may say."""

Node = dict[str, Any]


def schema_text() -> str:
    """Return the schema as it is kept in `configs/schema.json`."""
    return json.dumps(Builder().schema(), indent=1, ensure_ascii=False) + "\n"


class Builder:
    """Turns the type hints that configurations are read by into a schema."""

    def __init__(self) -> None:
        self._definitions: dict[str, Node] = {}

    def schema(self) -> Node:
        """Return the whole."""
        experiments = [SupervisedConfig, TextConfig, MinimizationConfig]
        inherited: Node = {"type": ["string", "array"], "items": {"type": "string"}}
        inherited["description"] = "Files whose values hold where this one says nothing."
        found = []
        for experiment in experiments:
            node = self._section(experiment)
            node["properties"] = {"inherit": inherited, **node["properties"]}
            found.append(node)
        return {
            "$schema": DIALECT,
            "title": "A configuration of nanotorch's trainer",
            "anyOf": found,
            "definitions": self._definitions,
        }

    def _node(self, hint: Any) -> Node:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self._annotated(arguments[0], arguments[1])
        if origin in (Union, types.UnionType):
            return self._any_of([self._node(member) for member in arguments])
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is tuple and arguments[-1] is ...:
            return {"type": "array", "items": self._node(arguments[0])}
        if origin is tuple:
            items = [self._node(argument) for argument in arguments]
            return {"type": "array", "items": items, "minItems": len(items), "maxItems": len(items)}
        if isinstance(hint, type) and issubclass(hint, Section):
            return self._defined(hint.__name__, lambda: self._section(hint))
        return {"type": PLAIN[hint]}

    def _any_of(self, nodes: list[Node]) -> Node:
        return nodes[0] if len(nodes) == 1 else {"anyOf": nodes}

    def _defined(self, name: str, make: Any) -> Node:
        if name not in self._definitions:
            self._definitions[name] = {}  # for what contains itself
            self._definitions[name] = make()
        return {"$ref": f"#/definitions/{name}"}

    def _annotated(self, hint: Any, extra: Any) -> Node:
        if isinstance(extra, Components):
            name = extra.kind.partition(" ")[2]
            return self._defined(name, lambda: self._components(extra))
        if isinstance(extra, Generators):
            sections = [self._node(section) for section in extra.sections.values()]
            return {"anyOf": [*sections, NAMELESS]}
        if hint is Arguments and isinstance(extra, Members):
            members = {**extra.required, **extra.optional}
            properties = {key: self._node(inner) for key, inner in members.items()}
            return closed(properties, list(extra.required))
        node = self._node(hint)
        return node | limits(extra) if isinstance(extra, Range) else node

    def _components(self, registry: Components) -> Node:
        names = [self._component(registry, name) for name in registry.names]
        return {"anyOf": [{"enum": list(registry.names)}, *names, NAMELESS]}

    def _component(self, registry: Components, name: str) -> Node:
        defaults = registry.defaults(name)
        properties: Node = {"name": {"const": name}}
        for argument, hint in registry.hints(name).items():
            properties[argument] = self._node(hint)
            default = defaults.get(argument, MISSING)
            if isinstance(default, bool | int | float | str | list | tuple):
                properties[argument] = {**properties[argument], "default": default}
        about = first_sentence(registry.factory(name))
        return {**closed(properties, ["name"]), "description": about}

    def _section(self, section: type[Section]) -> Node:
        sentences = field_sentences(section)
        hints = get_type_hints(section, include_extras=True)
        properties: Node = {}
        for field in fields(section):  # type: ignore[arg-type]
            node = self._node(hints[field.name])
            if field.default_factory is not MISSING:  # all its lines may be comments
                node = {"anyOf": [node, {"type": "null"}]}
            node = {**node, "description": sentences[field.name]}
            if isinstance(field.default, bool | int | float | str):
                node["default"] = field.default
            properties[field.name] = node
        required = [name for name, node in properties.items() if name == "name" and "enum" in node]
        return {**closed(properties, required), "description": first_sentence(section)}


def closed(properties: Node, required: list[str]) -> Node:
    """Return a mapping with these keys and no others."""
    node: Node = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**node, "required": required} if required else node


def limits(bounds: Range) -> Node:
    """Return the limits of a number."""
    words = {
        "minimum": bounds.low,
        "exclusiveMinimum": bounds.above,
        "maximum": bounds.high,
        "exclusiveMaximum": bounds.below,
    }
    return {word: value for word, value in words.items() if abs(value) != float("inf")}
