"""What a configuration may say, for people and for editors."""

import ast
import functools
import inspect
import itertools
import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .components import CALLBACKS, LAYERS, LOSSES, OPTIMIZERS, SCHEDULES, Components, members_of
from .config import did_you_mean, quoted
from .functions import FUNCTIONS
from .generators import GENERATORS
from .reading import REQUIRED, Key, Range, Section, described, form, section_keys
from .schema import MinimizationConfig, SupervisedConfig, TextConfig

# What a configuration may say, for people: every section and every name with its fields.


WIDTH = 100
NO_CALLBACKS = """\
none but what a program registers; what is built in has sections of its own: train, scheduler,
early_stopping, averaging, checkpoint and log"""

COMPONENTS: Mapping[str, Components] = {
    "layers": LAYERS,
    "losses": LOSSES,
    "optimizers": OPTIMIZERS,
    "schedulers": SCHEDULES,
    "callbacks": CALLBACKS,
}


@functools.cache
def class_bodies(module: str) -> Mapping[str, list[ast.stmt]]:
    """Return the statements of each class of a module; nothing of one that has no file."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return {}
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def field_sentences(section: type) -> Mapping[str, str]:
    """Return the sentence under each field of a section, those of its bases included."""
    found: dict[str, str] = {}
    for base in reversed(section.__mro__[:-1]):
        body = class_bodies(base.__module__).get(base.__qualname__, [])
        for statement, following in itertools.pairwise(body):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                text = getattr(getattr(following, "value", None), "value", None)
                if isinstance(following, ast.Expr) and isinstance(text, str):
                    found[statement.target.id] = " ".join(text.split())
    return found


def first_sentence(thing: Any) -> str:
    """Return the first line of a docstring, which is not that of a base."""
    return inspect.cleandoc(getattr(thing, "__doc__", None) or "").partition("\n")[0]


def described_key(key: Key) -> str:
    """Return type and default of a key in words."""
    kind, parts = form(key.hint)
    words = parts.kind if kind == "component" else described(key.hint)
    if type(None) in members_of(key.hint) and key.default is not None:
        words += " or null"
    return words if key.default is REQUIRED else f"{words}; default {shown(key.default)}"


def shown(value: Any) -> str:
    """Return a default as YAML has it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        return f"[{', '.join(shown(item) for item in value)}]"
    return "its own" if isinstance(value, Section) else str(value)


def component_lines(registry: Components, name: str) -> Iterator[str]:
    """Yield a name with what it is, then its arguments."""
    yield f"{name}: {first_sentence(registry.factory(name))}"
    followed = registry.followed(name)
    for argument, key in registry.keys(name).items():
        inferred = f"{described(key.hint)}; follows from what comes in"
        yield f"  {argument}: {inferred if argument in followed else described_key(key)}"


def section_lines(section: type[Section], heading: str) -> Iterator[str]:
    """Yield a section with what it is, then its fields, each with its sentence."""
    yield f"{heading}: {first_sentence(section)}"
    sentences = field_sentences(section)
    for name, key in section_keys(section).items():
        text = f"  {name}: {sentences.get(name, '')} ({described_key(key)})"
        yield from textwrap.wrap(text, WIDTH, subsequent_indent="    ", initial_indent="")


def sections_within(section: type[Section], path: str) -> Iterator[tuple[str, type[Section]]]:
    """Yield a section and those in it, with their paths."""
    yield path, section
    for name, key in section_keys(section).items():
        for kind, inner in map(form, members_of(key.hint)):
            if kind == "section":
                yield from sections_within(inner, f"{path}.{name}")


def kinds() -> Mapping[str, Mapping[str, Iterable[str]]]:
    """Return kind -> name -> the lines about it."""
    experiments = {
        "regression, classification": SupervisedConfig,
        "text": TextConfig,
        "minimization": MinimizationConfig,
    }
    found: dict[str, Mapping[str, Iterable[str]]] = {
        "sections": {
            path: section_lines(inner, path)
            for name, section in experiments.items()
            for path, inner in sections_within(section, name)
        }
    }
    for kind, registry in COMPONENTS.items():
        found[kind] = {name: component_lines(registry, name) for name in registry.names}
    found["generators"] = {
        name: section_lines(section, name) for name, section in GENERATORS.sections.items()
    }
    found["functions"] = {
        name: [f"{name}: {known.sentence}", f"  f(x) = {known.shown}"]
        for name, known in FUNCTIONS.items()
    }
    return found


def catalogue(word: str) -> str | None:
    """Return what there is: of one kind, about one name, or everything.

    Args:
        word: a kind, such as `layers`, a section, such as `train`, or a name, such as `Linear`;
            empty for everything.

    Returns:
        Text for people, None if there is no such kind or name.
    """
    every = kinds()
    inner = [name for name in every["sections"] if name.rpartition(".")[2] == word]
    if inner:  # such as `train`, which several experiments have
        texts = dict.fromkeys("\n".join(list(every["sections"][name])[1:]) for name in inner)
        return f"{word}:\n" + "\nor\n".join(texts)
    chosen = {word: every[word]} if word in every else every
    lines: list[str] = []
    for kind, names in chosen.items():
        if word in names:
            return "\n".join(names[word])
        inner = [line for about in names.values() for line in about]
        lines += [f"# {kind}", "", *(inner or [NO_CALLBACKS]), ""]
    return None if word and word not in every else "\n".join(lines).rstrip()


def unknown(word: str) -> str:
    """Return the message for a word that the catalogue has not."""
    every = kinds()
    known = [*every, *(name for names in every.values() for name in names)]
    meant = did_you_mean(word, known)
    if "known here" in meant:
        meant = f"; there are {', '.join(every)}, and every name in these"
    return f"--list {quoted(word)}: is not known{meant}"


# The JSON schema of configuration files, for editors that complete and check while one types.
#
#     # yaml-language-server: $schema=schema.json
#
# It knows names, types and ranges. What several values must have in common, and what must not be
# left out, only `--check` tells: a file may inherit the rest from another one.


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
        match form(hint):
            case "component", registry:
                return self._defined(registry.kind.partition(" ")[2], self._components, registry)
            case "chosen", registry:
                sections = [self._node(section) for section in registry.sections.values()]
                return {"anyOf": [*sections, NAMELESS]}
            case "arguments", keys:
                properties = {name: self._node(key.hint) for name, key in keys.items()}
                required = [name for name, key in keys.items() if key.default is REQUIRED]
                return closed(properties, required)
            case "limited", (inner, Range() as bounds):
                return self._node(inner) | limits(bounds)
            case "limited", (inner, _):
                return self._node(inner)
            case "union", members:
                nodes = [self._node(member) for member in members]
                return nodes[0] if len(nodes) == 1 else {"anyOf": nodes}
            case "choice", choices:
                return {"enum": list(choices)}
            case "list", item:
                return {"type": "array", "items": self._node(item)}
            case "tuple", items:
                nodes, count = [self._node(item) for item in items], len(items)
                return {"type": "array", "items": nodes, "minItems": count, "maxItems": count}
            case "section", section:
                return self._defined(section.__name__, self._section, section)
        return {"type": PLAIN[hint]}

    def _defined(self, name: str, make: Callable[[Any], Node], of: Any) -> Node:
        if name not in self._definitions:
            self._definitions[name] = {}  # for what contains itself
            self._definitions[name] = make(of)
        return {"$ref": f"#/definitions/{name}"}

    def _components(self, registry: Components) -> Node:
        names = [self._component(registry, name) for name in registry.names]
        return {"anyOf": [{"enum": list(registry.names)}, *names, NAMELESS]}

    def _component(self, registry: Components, name: str) -> Node:
        properties: Node = {"name": {"const": name}}
        for argument, key in registry.keys(name).items():
            properties[argument] = self._node(key.hint)
            if isinstance(key.default, bool | int | float | str | list | tuple):
                properties[argument] = {**properties[argument], "default": key.default}
        about = first_sentence(registry.factory(name))
        return {**closed(properties, ["name"]), "description": about}

    def _section(self, section: type[Section]) -> Node:
        sentences = field_sentences(section)
        properties: Node = {}
        for name, key in section_keys(section).items():
            node = self._node(key.hint)
            if isinstance(key.default, Section):  # all its lines may be comments
                node = {"anyOf": [node, {"type": "null"}]}
            properties[name] = {**node, "description": sentences[name]}
            if isinstance(key.default, bool | int | float | str):
                properties[name]["default"] = key.default
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
