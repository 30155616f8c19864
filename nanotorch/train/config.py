"""YAML text into a tree, with the command line's overrides applied.

Only the syntax is known here: what the keys mean is in `schema`. The text is read from the
parser's events, so that nothing is ever constructed from a tag, the depth is bounded, and
every value keeps its line and column.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nanotorch.serialization.files import contents

from .problems import COMMAND_LINE, ConfigError, Place, Problem, quoted
from .tree import Entry, Items, Scalar, Step, Table, Tree, path_text, plain_scalar, replaced

if TYPE_CHECKING:
    import yaml
    from yaml._yaml import Mark as CMark
    from yaml.error import Mark as PythonMark

    Mark = PythonMark | CMark

DEEPEST = 40
LARGEST_FILE = 100_000
MOST_VALUES = 100_000
"""Values of a file, those that aliases repeat counted each time."""

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
OVERRIDE_PATH = re.compile(rf"{NAME}(\[[0-9]{{1,6}}\])*(\.{NAME}(\[[0-9]{{1,6}}\])*)*", re.ASCII)
OVERRIDE_STEP = re.compile(rf"({NAME})|\[([0-9]+)\]", re.ASCII)


def read_config_text(path: Path, source: str) -> str:
    """Return the text of a configuration file.

    Raises:
        ConfigError: if there is no such file, or it is not text in UTF-8.
    """

    def problem(message: str, line: int = 0, column: int = 0) -> ConfigError:
        place = Place(source=source, line=line, column=column)
        return ConfigError([Problem(place, "", message)])

    if not source:
        raise ConfigError([Problem(Place(source="command line"), "", "the file has no name")])
    try:
        data = contents(path, LARGEST_FILE)
    except OSError as error:
        raise problem(f"cannot be read: {error.strerror or error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", errors="replace")) + 1
        message = f"is not text in UTF-8 (byte 0x{data[error.start]:02x})"
        raise problem(message, before.count(b"\n") + 1, column) from None


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
        mark = error.problem_mark or error.context_mark
        what = ", ".join(part for part in (error.problem, error.context) if part)
        raise ConfigError([builder.problem(mark, f"not valid YAML: {what}")]) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        place = builder.place(line, column)
        message = f"not valid YAML: the character {chr(error.character)!r} is not allowed"
        raise ConfigError([Problem(place, "", message)]) from None
    tree = builder.result()
    if builder.problems and noted is None:
        raise ConfigError(builder.problems)
    if noted is not None:
        noted += builder.problems
    return tree


@dataclass
class OpenNode:
    """A list or mapping whose end has not been read yet."""

    place: Place
    anchor: str | None
    steps: list[Step]
    """The path of this node."""
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
            raise ConfigError([Problem(self._start, "", what)])
        return self._root

    def place(self, line: int, column: int) -> Place:
        """Return the place of a line and column, both counted from 1."""
        return replace(self._start, line=line, column=column) if self._start.line else self._start

    def problem(self, mark: "Mark | None", message: str) -> Problem:
        """Return a problem at the parser's position."""
        return Problem(self._place(mark), "", message)

    def add(self, event: "yaml.Event") -> None:
        """Take the next event."""
        import yaml

        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise self._error(event, "a second document begins; a configuration is one")
        elif isinstance(event, yaml.NodeEvent):
            self._add_node(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close(event)

    def _add_node(self, event: "yaml.NodeEvent") -> None:
        import yaml

        place = self._place(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            self._attach(*self._aliased(event), event)
            return
        if (tag := getattr(event, "tag", None)) is not None:
            raise self._error(event, f"the tag {quoted(tag)} is not allowed; remove it")
        if isinstance(event, yaml.ScalarEvent):
            value = plain_scalar(event.value) if event.implicit[0] else event.value
            self._finish(Scalar(value, place), 1, event, event.anchor, event.value)
            return
        if len(self._stack) >= DEEPEST:
            raise self._error(event, f"nested more than {DEEPEST} deep")
        if self._stack and self._stack[-1].items is None and self._stack[-1].key is None:
            raise self._error(event, "a key must be plain text")
        items: list[Tree] | None = [] if isinstance(event, yaml.SequenceStartEvent) else None
        self._stack.append(OpenNode(place, event.anchor, self._steps(), items))

    def _close(self, event: "yaml.Event") -> None:
        node = self._stack.pop()
        if node.items is not None:
            self._finish(Items(tuple(node.items), node.place), node.size, event, node.anchor)
            return
        inherited: dict[str, Entry] = {}
        for table in reversed(node.merged):  # the first one wins
            inherited.update(table.entries)
        table = Table({**inherited, **node.entries}, node.place)
        self._finish(table, node.size, event, node.anchor)

    def _finish(
        self,
        tree: Tree,
        size: int,
        event: "yaml.Event",
        anchor: str | None,
        text: str | None = None,
    ) -> None:
        if anchor is not None:
            self._anchors[anchor] = tree, size
        self._attach(tree, size, event, text)

    def _attach(self, tree: Tree, size: int, event: "yaml.Event", text: str | None = None) -> None:
        """Put a complete node into the one that is open; `text` is what a scalar looked like."""
        if not self._stack:
            self._root = tree
            return
        parent = self._stack[-1]
        parent.size += size
        if parent.size > MOST_VALUES:
            raise self._error(event, f"with what aliases repeat, more than {MOST_VALUES:,} values")
        if parent.items is not None:
            parent.items.append(tree)
        elif parent.key is None:
            if text is None:
                raise self._error(event, "a key must be plain text")
            self._add_key(parent, text, tree.place)
        else:
            key, key_place = parent.key
            parent.key = None
            if key == "<<":
                parent.merged += self._merged(tree, event)
            elif key not in parent.entries:
                parent.entries[key] = Entry(key_place, tree)

    def _add_key(self, parent: OpenNode, key: str, place: Place) -> None:
        if key in parent.entries:
            path = path_text([*parent.steps, key])
            first = parent.entries[key].key_place.line
            message = (
                f"duplicate key; it stands on line {first} already" if first else "duplicate key"
            )
            self.problems.append(Problem(place, path, message))
        parent.key = (key, place)

    def _merged(self, tree: Tree, event: "yaml.Event") -> list[Table]:
        tables = list(tree.items) if isinstance(tree, Items) else [tree]
        found = [table for table in tables if isinstance(table, Table)]
        if len(found) < len(tables):
            raise self._error(event, "'<<' merges mappings only")
        return found

    def _aliased(self, event: "yaml.AliasEvent") -> tuple[Tree, int]:
        name = event.anchor
        if any(node.anchor == name for node in self._stack):
            raise self._error(event, f"the alias *{name} stands inside its own anchor")
        if name not in self._anchors:
            raise self._error(event, f"the alias *{name} has no anchor before it")
        return self._anchors[name]

    def _steps(self) -> list[Step]:
        """Return the path of the node that is about to open."""
        if not self._stack:
            return []
        parent = self._stack[-1]
        if parent.items is not None:
            return [*parent.steps, len(parent.items)]
        return [*parent.steps, parent.key[0] if parent.key else ""]

    def _place(self, mark: "Mark | None") -> Place:
        return self.place(mark.line + 1, mark.column + 1) if mark else self._start

    def _error(self, event: "yaml.Event", message: str) -> ConfigError:
        return ConfigError([*self.problems, self.problem(event.start_mark, message)])


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
    problems: list[Problem] = []
    for override in overrides:
        try:
            tree = replaced(tree, *parse_override(override))
        except ConfigError as error:
            problems += error.problems
    if problems and noted is None:
        raise ConfigError(problems)
    if noted is not None:
        noted += problems
    return tree


def parse_override(override: str) -> tuple[list[Step], Tree]:
    """Return the steps and the value of `train.epochs=5`."""
    shown = override if override.isprintable() else quoted(override)[1:-1]
    place = Place(source=f"{COMMAND_LINE}{shown}")
    path, equals, text = override.partition("=")
    if not equals or not OVERRIDE_PATH.fullmatch(path):
        message = "expected key=value, as in train.epochs=5 or model.layers[0].out_features=8"
        raise ConfigError([Problem(place, "", message)])
    if path == "inherit":
        raise ConfigError([Problem(place, "", "only a file can inherit from another one")])
    steps: list[Step] = [name or int(index) for name, index in OVERRIDE_STEP.findall(path)]
    if not text.strip():
        return steps, Scalar(None, place)
    return steps, parse_yaml(text, place)
