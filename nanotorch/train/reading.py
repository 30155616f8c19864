"""A tree of plain values into the frozen dataclasses that describe it."""

import math
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from .config import (
    Entry,
    Items,
    Origins,
    Place,
    Problem,
    Scalar,
    Table,
    Tree,
    closest,
    did_you_mean,
    plain_scalar,
    quoted,
)

# The type hints of a configuration's fields, in the words of messages.


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


# A tree of plain values into the frozen dataclasses that describe it.
#
# What a value may be is said by the type hint of its field and nowhere else: `int`, `float | None`,
# `tuple[str, ...]`, `Literal["line"]`, `Annotated[int, Range(low=1)]`, another section, or a
# component with the registry that knows its arguments. The walk never stops at the first mistake.


INVALID = object()
"""What stands for a value whose problem has been noted."""
INFINITE = re.compile(r"[-+]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
SURE = 0.8
"""How alike a name must be to a known one for its arguments to be checked as that one's."""


class Section:
    """Base of the dataclasses that mirror a section of the file, name for name."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield `(field, message)` for what the fields' types cannot say."""
        yield from ()


@dataclass(frozen=True)
class Component:
    """Something to build, by the name it has in PyTorch."""

    name: str
    arguments: Mapping[str, Any]
    """What it is built with: what was given, and every default but `None`."""


class Registry(typing.Protocol):
    """Knows the components of one kind."""

    @property
    def kind(self) -> str:
        """What they are, with an article."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names a configuration may use."""

    def hints(self, name: str) -> Mapping[str, Any]:
        """Return the type of each argument a configuration may give."""

    def defaults(self, name: str) -> Mapping[str, Any]:
        """Return the value of each argument that may be left out."""


class Sections(typing.Protocol):
    """Knows sections, one of which the value of `name` chooses."""

    @property
    def sections(self) -> Mapping[str, type[Section]]:
        """The sections by their names."""


class Arguments(Mapping[str, Any]):
    """Marks a mapping of some arguments of a component: `Annotated[Arguments, Members(...)]`."""


@dataclass(frozen=True)
class Members:
    """What a mapping may have, beside what it must have."""

    required: Mapping[str, Any]
    optional: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Range:
    """The numbers from `low` to `high`; `above` and `below` leave the end itself out."""

    low: float = -math.inf
    above: float = -math.inf
    high: float = math.inf
    below: float = math.inf

    def problem(self, value: float) -> str | None:
        """Return what is wrong with `value`, None if it lies within."""
        if value < self.low:
            return f"must be at least {self.low:.15g}, got {quoted(value)}"
        if value <= self.above:
            return f"must be greater than {self.above:.15g}, got {quoted(value)}"
        if value > self.high:
            return f"must be at most {self.high:.15g}, got {quoted(value)}"
        if value >= self.below:
            return f"must be less than {self.below:.15g}, got {quoted(value)}"
        return None


class NotKnownError(Exception):
    """A check asks for a value that is wrong itself."""


def partly(hint: type[Section], values: Mapping[str, Any], unknown: Collection[str]) -> Section:
    """Return a section that raises `NotKnownError` for some of its values, to check the others."""

    def look_up(self: Any, name: str) -> Any:
        if name in unknown:
            raise NotKnownError
        return object.__getattribute__(self, name)

    section: Section = object.__new__(type(hint.__name__, (hint,), {"__getattribute__": look_up}))
    for field in fields(hint):  # type: ignore[arg-type]
        if field.name in values:
            object.__setattr__(section, field.name, values[field.name])
        elif field.default_factory is not MISSING:
            object.__setattr__(section, field.name, field.default_factory())
    return section


def told(section: Section) -> Iterator[tuple[str, str]]:
    """Yield the problems of a section, up to the first check that cannot be made."""
    try:
        yield from section.problems()
    except NotKnownError:
        return


class Reader:
    """Reads trees by hints; what it finds grows as it goes, by the paths of values.

    Args:
        homes: tells at which paths a key may stand.
    """

    def __init__(self, homes: Callable[[str], Sequence[str]] = lambda key: ()) -> None:
        self._homes = homes
        self._sections: Collection[str] = ()
        self.problems: list[Problem] = []
        self.places: dict[str, Place] = {}
        self.components: dict[str, Component] = {}
        self.files: dict[str, Path] = {}

    def read(self, tree: Tree, hint: Any, path: str) -> Any:
        """Return the value of `tree`, or `INVALID` after noting why there is none."""
        self.places[path] = tree.place
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self._annotated(tree, arguments[0], arguments[1], path)
        if origin in (Union, types.UnionType):
            return self._union(tree, arguments, hint, path)
        if origin is Literal:
            return self._literal(tree, arguments, path)
        if origin is tuple:
            return self._tuple(tree, arguments, hint, path)
        if isinstance(hint, type) and issubclass(hint, Section):
            return self._section(tree, hint, path)
        return self._scalar(tree, hint, path)

    @property
    def depth_of_problems(self) -> tuple[int, int]:
        """How many problems there are, and less the deeper they lie."""
        return len(self.problems), -max(len(problem.path) for problem in self.problems)

    def note(self, place: Place, path: str, message: str) -> Any:
        """Note a problem and return `INVALID`."""
        self.problems.append(Problem(place, path, message))
        return INVALID

    def _expected(self, tree: Tree, hint: Any, path: str, more: str = "") -> Any:
        return self.note(tree.place, path, f"expected {described(hint)}, got {tree}{more}")

    def _annotated(self, tree: Tree, hint: Any, extra: Any, path: str) -> Any:
        if hint is Component:
            return self._component(tree, extra, path)
        if hint is Section:
            return self._chosen(tree, extra, path)
        if hint is Arguments:
            return self._arguments(tree, extra, path)
        value = self.read(tree, hint, path)
        if value is INVALID or value is None:
            return value
        message = extra.problem(value)
        return self.note(tree.place, path, message) if message else value

    def _union(self, tree: Tree, members: tuple[Any, ...], hint: Any, path: str) -> Any:
        if isinstance(tree, Scalar) and tree.value is None and types.NoneType in members:
            return None
        members = tuple(member for member in members if member is not types.NoneType)
        if len(members) == 1:
            return self.read(tree, members[0], path)
        if all(isinstance(member, type) and issubclass(member, Section) for member in members):
            return self._tagged(tree, members, path)
        attempts = []
        for member in members:
            attempt = Reader(self._homes)
            value = attempt.read(tree, member, path)
            if not attempt.problems:
                self.places |= attempt.places
                self.components |= attempt.components
                self.files |= attempt.files
                return value
            if all(problem.path != path for problem in attempt.problems):
                attempts.append(attempt)
        if not attempts:
            return self._expected(tree, hint, path)
        # Of what is right as a whole, the one with the fewest and innermost mistakes was meant.
        self.problems += min(attempts, key=lambda attempt: attempt.depth_of_problems).problems
        return INVALID

    def _tagged(self, tree: Tree, members: tuple[type[Section], ...], path: str) -> Any:
        """Read the section that the value of its first field, a `Literal`, chooses."""
        tag = fields(members[0])[0].name  # type: ignore[arg-type]
        by_tag = {
            choice: member
            for member in members
            for choice in get_args(typing.get_type_hints(member)[tag])
        }
        return self._section_by(tree, tag, by_tag, path)

    def _chosen(self, tree: Tree, registry: Sections, path: str) -> Any:
        """Read the section that the value of `name` chooses."""
        return self._section_by(tree, "name", registry.sections, path)

    def _section_by(
        self, tree: Tree, tag: str, by_tag: Mapping[str, type[Section]], path: str
    ) -> Any:
        inner = f"{path}.{tag}".lstrip(".")
        if not isinstance(tree, Table):
            meant = tree.value if isinstance(tree, Scalar) and tree.value in by_tag else ""
            more = f"; did you mean {inner}={meant}?" if meant else ""
            return self._expected(tree, Section, path, more)
        spelled = self._with_tag(tree, tag, path)
        if tag not in spelled.entries:
            message = f"missing; one of {', '.join(by_tag)}"
            return self.note(tree.place, inner, message)
        choice, meant = self._choice(spelled.entries[tag].value, tuple(by_tag), inner)
        if meant is None:
            return INVALID
        place = spelled.entries[tag].value.place
        entry = Entry(place, Scalar(meant, place))
        known = replace(spelled, entries={**spelled.entries, tag: entry})
        section = self._section(spelled if meant == choice else known, by_tag[meant], path)
        return section if meant == choice and spelled is tree else INVALID

    def _with_tag(self, tree: Table, tag: str, path: str) -> Table:
        """Return a mapping in which a misspelt `tag` has been noted and put right."""
        if tag in tree.entries or (key := closest(tag, tree.entries, SURE)) is None:
            return tree
        self._refuse_unknown({key: tree.entries[key]}, [tag], path)
        others = {name: entry for name, entry in tree.entries.items() if name != key}
        return replace(tree, entries={tag: tree.entries[key], **others})

    def _choice(self, tree: Tree, known: tuple[str, ...], path: str) -> tuple[Any, str | None]:
        """Return the one of `known` that `tree` is, and the one that it was meant to be."""
        choice = self.read(tree, Literal[known], path)
        if choice is not INVALID:
            return choice, choice
        # What belongs to what was meant is checked as well, to tell of all mistakes at once.
        text = tree.value if isinstance(tree, Scalar) else None
        return choice, closest(text, known, SURE) if isinstance(text, str) else None

    def _literal(self, tree: Tree, choices: tuple[Any, ...], path: str) -> Any:
        if isinstance(tree, Scalar) and tree.value in choices:
            return tree.value
        if isinstance(tree, Scalar) and isinstance(tree.value, str):
            message = f"{quoted(tree.value)} is not known{did_you_mean(tree.value, choices)}"
            return self.note(tree.place, path, message)
        return self._expected(tree, Literal[choices], path)

    def _tuple(self, tree: Tree, arguments: tuple[Any, ...], hint: Any, path: str) -> Any:
        if not isinstance(tree, Items):
            several = arguments[-1] is ... and arguments[0] in (str, int, float)
            single = several and isinstance(tree, Scalar) and tree.value is not None
            return self._expected(tree, hint, path, "; write it in []" if single else "")
        if arguments[-1] is ...:
            hints: tuple[Any, ...] = (arguments[0],) * len(tree.items)
        elif len(arguments) == len(tree.items):
            hints = arguments
        else:
            message = f"expected {described(hint)}, got {len(tree.items)}"
            return self.note(tree.place, path, message)
        values = tuple(
            self.read(item, item_hint, f"{path}[{index}]")
            for index, (item, item_hint) in enumerate(zip(tree.items, hints, strict=True))
        )
        return INVALID if INVALID in values else values

    def _scalar(self, tree: Tree, hint: Any, path: str) -> Any:
        if not isinstance(tree, Scalar):
            return self._expected(tree, hint, path)
        value = tree.value
        if hint is float and isinstance(value, str) and INFINITE.fullmatch(value):
            value = float(value)  # a number to everybody but YAML
        # A boolean is an integer to Python, which is never what a file means.
        if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
            if math.isnan(value) or abs(value) > 1e300:
                return self.note(tree.place, path, f"must be a finite number, got {quoted(value)}")
            return float(value)
        if hint is Path and isinstance(value, str) and value and "\0" not in value:
            self.files[path] = tree.place.base / value
            return self.files[path]
        if type(value) is hint:
            return value
        return self._expected(tree, hint, path, meant_as(value, hint))

    def _section(self, tree: Tree, hint: type[Section], path: str) -> Any:
        known: dict[str, Field[Any]] = {field.name: field for field in fields(hint)}  # type: ignore[arg-type]
        if isinstance(tree, Scalar) and tree.value is None:
            tree = Table({}, tree.place)  # all its lines are comments, say
        if not isinstance(tree, Table):
            return self._expected(tree, hint, path, f"; its keys are {', '.join(known)}")
        self._sections = self._sections if path else known
        misspelt = self._refuse_unknown(tree.entries, known, path)
        hints = typing.get_type_hints(hint, include_extras=True)
        values: dict[str, Any] = {}
        for name, field in known.items():
            inner = f"{path}.{name}".lstrip(".")
            if name in tree.entries:
                values[name] = self.read(tree.entries[name].value, hints[name], inner)
            elif field.default is MISSING and field.default_factory is MISSING:
                values[name] = self._missing(tree, name, misspelt, inner)
        unknown = misspelt | {name for name, value in values.items() if value is INVALID}
        section = partly(hint, values, unknown) if unknown else hint(**values)
        found = list(told(section))
        for name, message in found:
            inner = f"{path}.{name}".strip(".")
            self.note(Origins(self.places).nearest(inner) or tree.place, inner, message)
        return INVALID if found or unknown else section

    def _component(self, tree: Tree, registry: Registry, path: str) -> Any:
        if isinstance(tree, Scalar) and isinstance(tree.value, str):
            tree = Table({"name": Entry(tree.place, tree)}, tree.place)  # `- ReLU` for short
        if not isinstance(tree, Table):
            return self._expected(tree, Section, path)
        spelled = self._with_tag(tree, "name", path)
        if "name" not in spelled.entries:
            message = f"missing; the name of {registry.kind}"
            return self.note(tree.place, f"{path}.name", message)
        written = spelled.entries["name"].value
        choice, name = self._choice(written, registry.names, f"{path}.name")
        if name is None:
            return INVALID
        right, tree = choice == name and spelled is tree, spelled
        hints, defaults = registry.hints(name), registry.defaults(name)
        misspelt = self._refuse_unknown(tree.entries, ["name", *hints], path)
        arguments = {}
        for argument, hint in hints.items():
            inner = f"{path}.{argument}"
            if argument in tree.entries:
                arguments[argument] = self.read(tree.entries[argument].value, hint, inner)
            elif argument not in defaults:
                arguments[argument] = self._missing(tree, argument, misspelt, inner)
            elif defaults[argument] is not None:
                arguments[argument] = defaults[argument]
        if INVALID in arguments.values() or not right:
            return INVALID
        self.components[path] = Component(name, arguments)
        return self.components[path]

    def _arguments(self, tree: Tree, members: Members, path: str) -> Any:
        hints = {**members.required, **members.optional}
        if not isinstance(tree, Table):
            return self._expected(tree, Section, path)
        misspelt = self._refuse_unknown(tree.entries, hints, path)
        values = {
            key: self.read(entry.value, hints[key], f"{path}.{key}")
            for key, entry in tree.entries.items()
            if key in hints
        }
        for key in members.required:
            if key not in values:
                values[key] = self._missing(tree, key, misspelt, f"{path}.{key}")
        return INVALID if misspelt or INVALID in values.values() else values

    def _refuse_unknown(
        self, entries: Mapping[str, Entry], known: Collection[str], path: str
    ) -> set[str]:
        """Note the keys that are not known; return what they were probably meant to be."""
        meant = set()
        for key in (key for key in entries if key not in known):
            inner = f"{path}.{key if key.isidentifier() else quoted(key)}".lstrip(".")
            others = [home for home in self._homes(key) if home.split(".")[0] in self._sections]
            if others and inner not in others and closest(key, known) is None:
                meaning = f"; did you mean {' or '.join(map(quoted, others))}?"
            else:
                meaning = did_you_mean(key, known)
            self.note(entries[key].key_place, inner, f"unknown key{meaning}")
            meant.add(closest(key, known) or key)
        return meant

    def _missing(self, tree: Tree, name: str, misspelt: Collection[str], path: str) -> Any:
        return INVALID if name in misspelt else self.note(tree.place, path, "missing")
