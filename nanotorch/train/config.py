"""YAML text into a tree, with overrides applied; what is wrong with it, and where."""

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nanotorch.serialization.files import contents

# What is wrong with a configuration or its data, and where it was written.


COMMAND_LINE = "command line: "
"""How the place of an override begins."""
LONGEST_QUOTE = 60
LONGEST_NAME = 300
MOST_PROBLEMS = 20
MOST_CHOICES = 100


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a value was written: a line and column of a file, or one argument of the command."""

    source: str
    """The file's name as the user gave it, or `command line: key=value`."""
    line: int = 0
    """Counted from 1; 0 where there are no lines."""
    column: int = 0
    """Counted from 1, in characters."""
    base: Path = Path()
    """The directory from which a relative path written here is meant."""

    def __str__(self) -> str:
        source = named(self.source)
        return f"{source}:{self.line}:{self.column}" if self.line else source

    def is_of(self, path: str) -> bool:
        """Return whether the value at `path`, or what it is in, may have been written here.

        An override says its own value, and not what else is in a section that it has begun.
        """
        key, equals, _ = self.source.removeprefix(COMMAND_LINE).partition("=")
        other = bool(equals) and self.source.startswith(COMMAND_LINE) and not self.line
        return not other or path == key or path.startswith((f"{key}.", f"{key}["))


@dataclass(frozen=True)
class Problem:
    """One mistake: in which value, what is wrong with it, and where that is written."""

    path: str
    message: str
    place: Place | None = None
    """None until somebody who knows has said it."""

    def __str__(self) -> str:
        parts = [str(self.place)] if self.place else ["configuration"]
        # An override's place already spells the path, so that it is not said twice.
        if self.path and f": {self.path}=" not in parts[0]:
            parts.append(self.path)
        return ": ".join([*parts, self.message])


class ConfigError(Exception):
    """A configuration, or the data it names, cannot be used; says everything that is wrong."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MOST_PROBLEMS]]
        if len(self.problems) > MOST_PROBLEMS:
            lines.append(f"and {len(self.problems) - MOST_PROBLEMS} more problems")
        super().__init__("\n".join(lines))


def refusal(path: str, message: str, place: Place | None = None) -> ConfigError:
    """Return the error that says `message` about the value at `path`, or about a place."""
    return ConfigError([Problem(path, message, place)])


def usage_error(argument: str, message: str) -> ConfigError:
    """Return the error about one argument of the command line, or about all of it."""
    source = f"{COMMAND_LINE}{argument}" if argument else COMMAND_LINE.rstrip(": ")
    return refusal("", message, Place(source=source))


def unreadable(path: str, file: Path, reason: str | OSError) -> ConfigError:
    """Return the error about a file, which the value at `path` names."""
    why = (reason.strerror or reason) if isinstance(reason, OSError) else reason
    return refusal(path, f"cannot read {quoted(shown_path(file))}: {why}")


class Origins(dict[str, Place]):
    """Where each value of a configuration was written, by its path; defaults are nowhere."""

    def nearest(self, path: str) -> Place | None:
        """Return the place of `path`, or of the innermost section around it that was written."""
        around = path
        while around:
            if around in self and self[around].is_of(path):
                return self[around]
            around = around[: max(around.rfind("."), around.rfind("["), 0)]
        return self.get("")

    def placed(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return problems that tell where their values were written."""
        return [replace(p, place=p.place or self.nearest(p.path)) for p in problems]

    @contextmanager
    def told(self) -> Iterator[None]:
        """Let problems that are found in the block tell where their values were written."""
        try:
            yield
        except ConfigError as error:
            raise ConfigError(self.placed(error.problems)) from error.__cause__


class Noted:
    """Problems that are told together: those of each block under `with noted`."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, ConfigError):
            return False
        self.problems += error.problems
        return True


def raise_all(problems: Iterable[Problem], noted: list[Problem] | None = None) -> None:
    """Raise a `ConfigError` of all problems, if there are any; add them to `noted` if given."""
    found = list(problems)
    if noted is not None:
        noted += found
    elif found:
        raise ConfigError(found)


def shown_path(path: Path) -> str:
    """Return a path as short as it can be given from the current directory."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def quoted(value: object) -> str:
    """Return `repr(value)`, cut short; control characters cannot reach the terminal."""
    # Cutting first keeps a megabyte from being escaped for sixty characters of it.
    text = repr(value[: 2 * LONGEST_QUOTE] if isinstance(value, str) else value)
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "..."


def named(name: str) -> str:
    """Return the name of a file for a message: on one line, and not longer than a few."""
    shown = name if name.isprintable() else repr(name)
    half = LONGEST_NAME // 2
    return shown if len(shown) <= LONGEST_NAME else f"{shown[:half]}...{shown[-half:]}"


def closest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return what `word` is most likely meant to be, None if nothing is close.

    Args:
        word: what was written.
        known: what could have been.
        likeness: how alike they must be, from 0 to 1 for all but the case of letters.
    """
    by_lower_case = {choice.lower(): choice for choice in known}
    close = difflib.get_close_matches(word.lower(), by_lower_case, n=1, cutoff=likeness)
    return by_lower_case[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` where something known is close, else what is known."""
    choices = list(known)
    if meant := closest(word, choices):
        return f"; did you mean '{meant}'?"
    shown = ", ".join(choices[:MOST_CHOICES])
    more = f" and {len(choices) - MOST_CHOICES} more" if len(choices) > MOST_CHOICES else ""
    return f"; known here: {shown}{more}" if choices else ""


# A parsed configuration file: scalars, lists and mappings that remember where they stand.


ScalarValue = None | bool | int | float | str

# The core schema of YAML 1.2, strict about leading zeros: `010` is ten there, eight in YAML 1.1
# and most often an identifier, so that it stays text and is refused where a number is wanted.
CONSTANTS: dict[str, ScalarValue] = {"": None, "~": None}
CONSTANTS |= dict.fromkeys(["null", "Null", "NULL"])
CONSTANTS |= dict.fromkeys(["true", "True", "TRUE"], True)
CONSTANTS |= dict.fromkeys(["false", "False", "FALSE"], False)
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*|0o[0-7]+|0x[0-9a-fA-F]+)", re.ASCII)
FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

# Python refuses to read longer integers in decimal, and nothing here is that large.
LONGEST_NUMBER = 400


def plain_scalar(text: str) -> ScalarValue:
    """Return what an unquoted YAML scalar means."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if len(text) > LONGEST_NUMBER:
        return text
    if INTEGER.fullmatch(text):
        digits = text.lstrip("+-")
        base = {"0o": 8, "0x": 16}.get(digits[:2], 10)
        return int(text, base)
    if FLOAT.fullmatch(text):
        return float(text)
    if NOT_FINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text


@dataclass(frozen=True)
class Scalar:
    """A single value."""

    value: ScalarValue
    place: Place

    def __str__(self) -> str:
        names = {bool: "a boolean", int: "an integer", float: "a number", str: "text"}
        if self.value is None:
            return "nothing"
        return f"{quoted(self.value)} ({names[type(self.value)]})"


@dataclass(frozen=True)
class Items:
    """A list."""

    items: Sequence["Tree"]
    place: Place

    def __str__(self) -> str:
        return "a list"


@dataclass(frozen=True)
class Entry:
    """A value of a mapping, with the place of its key."""

    key_place: Place
    value: "Tree"


@dataclass(frozen=True)
class Table:
    """A mapping; its keys are text as written, whatever they look like."""

    entries: Mapping[str, Entry]
    place: Place

    def __str__(self) -> str:
        return "a mapping"


Tree = Scalar | Items | Table
Step = str | int


def path_text(steps: Sequence[Step]) -> str:
    """Return steps as the user writes them: `model.layers[0].name`."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def renamed(old: Tree, steps: Sequence[Step], value: Tree) -> Tree:
    """Return what takes the place of `old`: of a component's mapping, a bare name the name alone.

    What a layer has besides would be lost unseen, so that this is refused.
    """
    if not isinstance(old, Table) or not isinstance(value, Scalar) or "name" not in old.entries:
        return value
    here = path_text(steps)
    lost = [f"{here}.{key}" for key in old.entries if key != "name"]
    if not lost or not isinstance(value.value, str):
        return value
    if len(steps) == 1:
        return replace(old, entries={**old.entries, "name": Entry(value.place, value)})
    message = f"would drop {', '.join(lost)}; to keep them, write {here}.name={value.value}"
    raise refusal(here, f"{message}, else {here}={{name: {value.value}}}", value.place)


def replaced(tree: Tree, steps: Sequence[Step], value: Tree, done: int = 0) -> Tree:
    """Return `tree` with `value` at the end of `steps`; what aliases share stays as it was."""
    if done == len(steps):
        return renamed(tree, steps, value)
    step, here = steps[done], path_text(steps[:done])
    if isinstance(step, int):
        if not isinstance(tree, Items):
            raise refusal(here, f"is {tree}, not a list", value.place)
        if step >= len(tree.items):
            count = len(tree.items)
            message = f"the list has {count} item{'s' * (count != 1)}, counted from [0]"
            raise refusal(path_text(steps[: done + 1]), message, value.place)
        items = list(tree.items)
        items[step] = replaced(items[step], steps, value, done + 1)
        return replace(tree, items=items)
    if isinstance(tree, Scalar) and tree.value is None:
        tree = Table({}, value.place)  # a section that the file left out
    elif isinstance(tree, Scalar) and isinstance(tree.value, str):
        tree = Table({"name": Entry(tree.place, tree)}, tree.place)  # `- ReLU` for short
    if not isinstance(tree, Table):
        raise refusal(here, f"is {tree}, not a section", value.place)
    old = tree.entries.get(step, Entry(value.place, Scalar(None, value.place)))
    new = replaced(old.value, steps, value, done + 1)
    # The key stands where the file has it, unless this very value is what is replaced.
    key_place = value.place if done + 1 == len(steps) else old.key_place
    return replace(tree, entries={**tree.entries, step: Entry(key_place, new)})


# YAML text into a tree, with the command line's overrides applied.
#
# Only the syntax is known here: what the keys mean is in `schema`. The text is read from the
# parser's events, so that nothing is ever constructed from a tag, the depth is bounded, and
# every value keeps its line and column.


DEEPEST = 40
LARGEST_FILE = 100_000
MOST_VALUES = 100_000
"""Values of a file, those that aliases repeat counted each time."""

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
OVERRIDE_PATH = re.compile(rf"{NAME}(\[[0-9]{{1,6}}\])*(\.{NAME}(\[[0-9]{{1,6}}\])*)*", re.ASCII)
OVERRIDE_STEP = re.compile(rf"({NAME})|\[([0-9]+)\]", re.ASCII)


def place_within(source: str, line: int, text: str, position: int) -> Place:
    """Return the place of a position in a text that begins in some line of a file."""
    line += text.count("\n", 0, position)
    return Place(source=source, line=line, column=position - text.rfind("\n", 0, position))


def decoded(data: bytes, source: str, advice: str = "") -> str:
    """Return text in UTF-8; the mark that some programs put in front of it is left out.

    Raises:
        ConfigError: if it is something else; says where in the file.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", errors="replace")
        message = f"is not text in UTF-8 (byte 0x{data[error.start]:02x}){advice}"
        raise refusal("", message, place_within(source, 1, before, len(before))) from None


def read_config_text(path: Path, source: str) -> str:
    """Return the text of a configuration file.

    Raises:
        ConfigError: if there is no such file, or it is not text in UTF-8.
    """
    if not source:
        raise usage_error("", "the file has no name")
    try:
        return decoded(contents(path, LARGEST_FILE), source)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise refusal("", message, Place(source=source)) from None


def parse_yaml(text: str, start: Place, noted: list[Problem] | None = None) -> Tree:
    """Return the tree of one YAML document; scalars are read as YAML 1.2 has them.

    Args:
        text: the document.
        start: where it begins. One without a line, a command's argument, is the place of all of it.
        noted: takes what is wrong with the document but leaves a tree; else it is raised, too.

    Raises:
        ConfigError: if the text is not YAML, or uses what a configuration does not need.
    """
    import yaml

    builder = TreeBuilder(start)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.add(event)
    except yaml.MarkedYAMLError as error:
        what = ", ".join(part for part in (error.problem, error.context) if part)
        place = builder.place(error.problem_mark or error.context_mark)
        raise refusal("", f"not valid YAML: {what}", place) from None
    except yaml.reader.ReaderError as error:
        message = f"not valid YAML: the character {chr(error.character)!r} is not allowed"
        place = place_within(start.source, 1, text, error.position) if start.line else start
        raise refusal("", message, place) from None
    tree = builder.result()
    raise_all(builder.problems, noted)
    return tree


@dataclass
class OpenNode:
    """A list or mapping whose end has not been read yet."""

    place: Place
    anchor: str | None
    items: list[Tree] | None
    """The items so far; None for a mapping."""
    entries: dict[str, Entry] = field(default_factory=dict)
    merged: list[Table] = field(default_factory=list)
    """What the `<<` keys brought."""
    key: tuple[str, Place] | None = None
    """The key that waits for its value."""
    size: int = 1
    """How many values it holds, itself included."""


class TreeBuilder:
    """Builds a tree from parser events, without recursion; `problems` collects what can wait."""

    def __init__(self, start: Place) -> None:
        self._start = start
        self._stack: list[OpenNode] = []
        self._anchors: dict[str, tuple[Tree, int]] = {}
        self._documents = 0
        self._root: Tree | None = None
        self.problems: list[Problem] = []

    def result(self) -> Tree:
        """Return the whole tree; of what has a key twice, the first."""
        if self._root is None:
            what = "the file is empty" if self._start.line else "there is no value"
            raise refusal("", what, self._start)
        return self._root

    def place(self, mark: Any) -> Place:
        """Return the place of a mark of the parser, whose lines and columns count from 0."""
        if mark is None or not self._start.line:
            return self._start
        return replace(self._start, line=mark.line + 1, column=mark.column + 1)

    def add(self, event: Any) -> None:
        """Take the next event."""
        import yaml

        place = self.place(event.start_mark)
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise self._error(place, "a second document begins; a configuration is one")
        elif isinstance(event, yaml.AliasEvent):
            if any(node.anchor == event.anchor for node in self._stack):
                raise self._error(place, f"the alias *{event.anchor} stands inside its own anchor")
            if event.anchor not in self._anchors:
                raise self._error(place, f"the alias *{event.anchor} has no anchor before it")
            self._attach(*self._anchors[event.anchor], place)
        elif (tag := getattr(event, "tag", None)) is not None:
            raise self._error(place, f"the tag {quoted(tag)} is not allowed; remove it")
        elif isinstance(event, yaml.ScalarEvent):
            value = plain_scalar(event.value) if event.implicit[0] else event.value
            self._finish(Scalar(value, place), 1, place, event.anchor, event.value)
        elif isinstance(event, yaml.NodeEvent):
            if len(self._stack) >= DEEPEST:
                raise self._error(place, f"nested more than {DEEPEST} deep")
            if self._stack and self._stack[-1].items is None and self._stack[-1].key is None:
                raise self._error(place, "a key must be plain text")
            items: list[Tree] | None = [] if isinstance(event, yaml.SequenceStartEvent) else None
            self._stack.append(OpenNode(place, event.anchor, items))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            node = self._stack.pop()
            tree: Tree = Items(tuple(node.items or ()), node.place)
            if node.items is None:
                entries: dict[str, Entry] = {}
                for table in reversed(node.merged):  # the first one wins
                    entries.update(table.entries)
                tree = Table({**entries, **node.entries}, node.place)
            self._finish(tree, node.size, place, node.anchor)

    def _finish(
        self, tree: Tree, size: int, place: Place, anchor: str | None, text: str | None = None
    ) -> None:
        if anchor is not None:
            self._anchors[anchor] = tree, size
        self._attach(tree, size, place, text)

    def _attach(self, tree: Tree, size: int, place: Place, text: str | None = None) -> None:
        """Put a complete node into the one that is open; `text` is what a scalar looked like."""
        if not self._stack:
            self._root = tree
            return
        parent = self._stack[-1]
        parent.size += size
        if parent.size > MOST_VALUES:
            raise self._error(place, f"with what aliases repeat, more than {MOST_VALUES:,} values")
        if parent.items is not None:
            parent.items.append(tree)
        elif parent.key is None:
            if text is None:
                raise self._error(place, "a key must be plain text")
            if text in parent.entries:
                line = parent.entries[text].key_place.line
                message = "duplicate key" + (f"; it stands on line {line} already" if line else "")
                outer = [n.key[0] if n.key else len(n.items or ()) for n in self._stack[:-1]]
                self.problems.append(Problem(path_text([*outer, text]), message, tree.place))
            parent.key = (text, tree.place)
        else:
            key, key_place = parent.key
            parent.key = None
            if key == "<<":
                for table in tree.items if isinstance(tree, Items) else [tree]:
                    if not isinstance(table, Table):
                        raise self._error(place, "'<<' merges mappings only")
                    parent.merged.append(table)
            elif key not in parent.entries:
                parent.entries[key] = Entry(key_place, tree)

    def _error(self, place: Place, message: str) -> ConfigError:
        return ConfigError([*self.problems, Problem("", message, place)])


def with_overrides(
    tree: Tree, overrides: Iterable[str], noted: list[Problem] | None = None
) -> Tree:
    """Return `tree` with each `key=value` of the command line put in, later ones last.

    Values are YAML. Relative paths in them are meant from the current directory, as everywhere
    on a command line.

    Args:
        tree: the configuration.
        overrides: what to put in.
        noted: takes what is wrong with some of them; else it is raised.

    Raises:
        ConfigError: if one is not `key=value`, or its path leads through something else.
    """
    found = Noted()
    for override in overrides:
        with found:
            tree = replaced(tree, *parse_override(override))
    raise_all(found.problems, noted)
    return tree


def parse_override(override: str) -> tuple[list[Step], Tree]:
    """Return the steps and the value of `train.epochs=5`."""
    shown = override if override.isprintable() else quoted(override)[1:-1]
    place = Place(source=f"{COMMAND_LINE}{shown}")
    path, equals, text = override.partition("=")
    if not equals or not OVERRIDE_PATH.fullmatch(path):
        message = "expected key=value, as in train.epochs=5 or model.layers[0].out_features=8"
        raise refusal("", message, place)
    if path == "inherit":
        raise refusal("", "only a file can inherit from another one", place)
    steps: list[Step] = [name or int(index) for name, index in OVERRIDE_STEP.findall(path)]
    if not text.strip():
        return steps, Scalar(None, place)
    return steps, parse_yaml(text, place)
