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
from typing import Any, get_args

from .components import CALLBACKS, LAYERS, LOSSES, OPTIMIZERS, SCHEDULES, Components, members_of
from .config import did_you_mean, quoted
from .functions import FUNCTIONS
from .generators import GENERATORS
from .load import flow
from .metrics import screen
from .reading import REQUIRED, Key, Range, Section, described, form, section_keys
from .schema import Config

# What a configuration may say, for people: every section and every name with its fields.


EVERYTHING = "all"
INDENT = 12
"""Where the names of the index begin."""
NO_CALLBACKS = """\
none but what a program registers; what is built in has sections of its own: train, scheduler,
early_stopping, averaging, checkpoint and log"""

REGISTRIES = (LAYERS, LOSSES, OPTIMIZERS, SCHEDULES, CALLBACKS)
COMPONENTS: Mapping[str, Components] = {registry.plural: registry for registry in REGISTRIES}
parsed = functools.cache(lambda source: ast.parse(source))
Keys = Mapping[str, Key]
Texts = Mapping[str, str]


def field_sentences(section: type) -> Mapping[str, str]:
    """Return the sentence under each field of a section, those of its bases included."""
    found: dict[str, str] = {}
    for base in reversed(section.__mro__[:-1]):
        try:
            tree = parsed(inspect.getsource(sys.modules[base.__module__]))
        except (KeyError, OSError, TypeError):  # of one that has no file
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == base.__qualname__:
                for pair in itertools.pairwise(node.body):
                    match pair:
                        case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                            found[name] = " ".join(text.split())
    return found


def first_sentence(thing: Any) -> str:
    """Return the first line of a docstring, which is not that of a base."""
    return inspect.cleandoc(getattr(thing, "__doc__", None) or "").partition("\n")[0]


def about(
    heading: str, thing: Any, keys: Keys, sentences: Texts | None = None, followed: Any = ()
) -> Iterator[str]:
    """Yield what something is, then its keys, each with its type, its default and its sentence."""
    sentence = first_sentence(thing).removeprefix(f"{heading}: ")
    yield "\n".join(wrapped(f"{heading}: {sentence}", "    "))
    for name, key in keys.items():
        words = described(key.hint)
        if name in followed:
            words += "; follows from what comes in"
        else:
            nullable = type(None) in members_of(key.hint) and key.default is not None
            words += " or null" * nullable
            if key.default is not REQUIRED:
                own = isinstance(key.default, Section)
                words += f"; default {'its own' if own else flow(key.default)}"
        told = words if sentences is None else f"{sentences.get(name, '')} ({words})"
        yield from wrapped(f"  {name}: {told}", "    ")


def wrapped(text: str, indent: str) -> list[str]:
    """Return the lines of a text that fit the screen, all but the first indented."""
    return textwrap.wrap(text, screen(), subsequent_indent=indent, break_on_hyphens=False)


def about_section(section: type[Section], heading: str) -> Iterator[str]:
    """Yield a section with what it is, then its fields."""
    return about(heading, section, section_keys(section), field_sentences(section))


def sections_within(section: type[Section], path: str) -> Iterator[tuple[str, type[Section]]]:
    """Yield a section and those in it, with their paths."""
    yield path, section
    for name, key in section_keys(section).items():
        for kind, inner in map(form, members_of(key.hint)):
            if kind == "section":
                yield from sections_within(inner, f"{path}.{name}")


def kinds() -> Mapping[str, Mapping[str, Iterable[str]]]:
    """Return kind -> name -> the lines about it."""
    chosen_by = {config: section_keys(config)["experiment"].hint for config in get_args(Config)}
    pairs = (sections_within(c, ", ".join(get_args(hint))) for c, hint in chosen_by.items())
    sections = {path: about_section(section, path) for pair in pairs for path, section in pair}
    found: dict[str, Mapping[str, Iterable[str]]] = {"sections": sections}
    for kind, r in COMPONENTS.items():
        found[kind] = {n: about(n, r.factory(n), r.keys(n), None, r.followed(n)) for n in r.names}
    makers = GENERATORS.sections.items()
    found["generators"] = {name: about_section(section, name) for name, section in makers}
    known = FUNCTIONS.items()
    found["functions"] = {
        n: [*wrapped(f"{n}: {f.sentence}", "  "), *wrapped(f"  f(x) = {f.shown}", "    ")]
        for n, f in known
    }
    return found


def catalogue(word: str) -> str | None:
    """Return what there is: an index, or more of one kind, about one name, or everything.

    Args:
        word: a kind, such as `layers`, a section, such as `train`, or a name, such as `Linear`;
            `all` for everything; empty for the index.

    Returns:
        Text for people, None if there is no such kind or name.
    """
    every = kinds()
    if not word:
        return index(every)
    inner = [n for n in every["sections"] if word in n.rpartition(".")[2].split(", ")]
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
    return "\n".join(lines).rstrip() if word == EVERYTHING or word in every else None


def index(every: Mapping[str, Mapping[str, Iterable[str]]]) -> str:
    """Return the names of each kind, and how to learn more about them."""
    lines = ["What a configuration may say, by kind:", ""]
    for kind, names in every.items():
        last = dict.fromkeys(name.rpartition(".")[2] for name in names)
        shown = ", ".join(last) or "those that your program registers"
        lines += wrapped(f"{kind:{INDENT}}{shown}", " " * INDENT)
    more = ["train, layers or Linear: more about a section, a kind or a name", "all: everything"]
    return "\n".join([*lines, "", *(f"--list {line}" for line in more)])


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
    bool: "boolean", int: "integer", float: "number", str: "string", Path: "string",
    type(None): "null",
}  # fmt: skip
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
        inherited: Node = {"type": ["string", "array"], "items": {"type": "string"}}
        inherited["description"] = "Files whose values hold where this one says nothing."
        found = [self._section(config) for config in get_args(Config)]
        for node in found:
            node["properties"] = {"inherit": inherited, **node["properties"]}
        title = "A configuration of nanotorch's trainer"
        whole = {"$schema": DIALECT, "title": title, "anyOf": found}
        return {**whole, "definitions": self._definitions}

    def _node(self, hint: Any) -> Node:
        match form(hint):
            case "component", registry:
                return self._defined(registry.kind.partition(" ")[2], self._components, registry)
            case "chosen", registry:
                sections = [self._node(section) for section in registry.sections.values()]
                return {"anyOf": [{"enum": [*registry.sections]}, *sections, NAMELESS]}
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
        named = [
            self._closed(registry.factory(name), registry.keys(name), {"name": {"const": name}})
            for name in registry.names
        ]
        return {"anyOf": [{"enum": list(registry.names)}, *named, NAMELESS]}

    def _section(self, section: type[Section]) -> Node:
        return self._closed(section, section_keys(section), {}, field_sentences(section))

    def _closed(
        self, of: Any, keys: Keys, properties: Node, sentences: Texts | None = None
    ) -> Node:
        """Return a mapping with these keys and no others."""
        for name, key in keys.items():
            properties[name] = node = {**self._node(key.hint)}
            if isinstance(key.default, Section):  # all its lines may be comments
                properties[name] = node = {"anyOf": [node, {"type": "null"}]}
            if sentences is not None:
                node["description"] = sentences[name]
            if isinstance(key.default, bool | int | float | str | list | tuple):
                node["default"] = key.default
        required = [name for name in ("name",) if {"enum", "const"} & {*properties.get(name, ())}]
        return closed(properties, required) | {"description": first_sentence(of)}


def closed(properties: Node, required: list[str]) -> Node:
    """Return a mapping with these keys and no others."""
    node: Node = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**node, "required": required} if required else node


def limits(bounds: Range) -> Node:
    """Return the limits of a number."""
    words = {"minimum": bounds.low, "exclusiveMinimum": bounds.above}
    words |= {"maximum": bounds.high, "exclusiveMaximum": bounds.below}
    return {word: value for word, value in words.items() if abs(value) != float("inf")}
