"""YAML text into a tree, with overrides applied; what is wrong with it, and where."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from errno import ENOENT
from pathlib import Path
from typing import Any

# What is wrong with a configuration or its data, and where it was written.


COMMAND_LINE = "command line: "
"""How the place of an override begins."""
COMMANDED = 1
"""The rank of what the command line says."""
SUFFIXES = (".yaml", ".yml")
"""How the names of configurations end."""
LONGEST_QUOTE = 60
LONGEST_NAME = 300
MOST_PROBLEMS = 20
MOST_CHOICES = 25


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
    rank: int = 0
    """Which source this is: a value replaces those of lower ranks. A file that others inherit from
    has a negative one, the command line has `COMMANDED`."""

    def __str__(self) -> str:
        source = named(self.source)
        return f"{source}:{self.line}:{self.column}" if self.line else source


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
    """A configuration, or the data it names, cannot be used; says everything that is wrong.

    Whatever reads a configuration, or makes what it describes, may raise it.
    """

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
    why = reason_of(reason, file) if isinstance(reason, OSError) else reason
    return refusal(path, f"cannot read '{named(shown_path(file))}': {why}")


def reason_of(error: OSError, file: Path) -> str:
    """Return why a file cannot be read; of one that is missing, also what is there instead."""
    found: dict[str, Path] = {}
    suffixes = [file.suffix] if file.suffix not in ("", *SUFFIXES) else SUFFIXES
    for place in (file.parent, Path(), Path("configs")) if error.errno == ENOENT else ():
        with suppress(OSError):
            found = {p.stem: p for p in place.iterdir() if p.suffix in suffixes} | found
    name = closest(file.stem, found)
    there = f"; did you mean {quoted(shown_path(found[name]))}?" if name else ""
    return f"{error.strerror or error}{there}"


class Origins(dict[str, Place]):
    """Where each value of a configuration was written, by its path; defaults are nowhere."""

    def nearest(self, path: str) -> Place | None:
        """Return the place of `path`, or of the innermost section around it that was written."""
        around = path
        while around:
            if place := self.get(around):
                # An override says its own value, and not what else is in a section it has begun.
                given = place.source.removeprefix(COMMAND_LINE).partition("=")[0]
                begun, depth = (len(OVERRIDE_STEP.findall(text)) for text in (around, given))
                if place.rank < COMMANDED or begun >= depth:
                    return place
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


SYNONYMS = {
    "learning_rate": "lr", "rate": "p", "l2": "weight_decay", "max_grad_norm": "clip_norm",
    "dense": "Linear", "units": "out_features", "filters": "out_channels", "mae": "L1Loss",
    "file": "csv", "path": "csv", "label": "target", "labels": "target", "normalize": "standardize",
    "sep": "delimiter", "type": "name", "task": "experiment", "random_state": "seed",
    "num_epochs": "epochs", "max_epochs": "epochs", "grad_clip": "clip_norm", "metric": "monitor",
    "output_dir": "dir", "batch": "batch_size",
}  # fmt: skip
"""What other programs call what a configuration names."""
SURE = 0.8
"""How alike a name must be to a known one to be taken for it."""
ABSENT = dict.fromkeys(
    ("device", "gpu", "gpus", "cuda", "accelerator"), "nanotorch runs on the CPU only"
)
ABSENT |= dict.fromkeys(("num_workers", "workers", "pin_memory"), "all samples are in memory")
"""What other programs have, and why there is nothing to say about it here."""


def closest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return what `word` is most likely meant to be, None if nothing is close.

    Args:
        word: what was written.
        known: what could have been.
        likeness: how alike they must be, from 0 to 1 for all but the case of letters.
    """
    by_lower_case = {choice.lower(): choice for choice in known}
    whole = word.lower()
    last = whole.partition("(")[0].rpartition(".")[2]  # of torch.nn.Linear(3, 8)
    for text in (whole, last, SYNONYMS.get(last, "").lower()):
        if text in by_lower_case:
            return by_lower_case[text]
    ratios, matcher = dict[str, float](), SequenceMatcher(b=whole)
    for choice in by_lower_case:
        matcher.set_seq1(choice)
        ratios[choice] = matcher.ratio() if matcher.real_quick_ratio() >= likeness else 0.0
    close = max(ratios, key=lambda choice: ratios[choice], default="")
    if ratios.get(close, 0) < likeness:
        begun = likeness < SURE and len(whole) > 2
        close = next((choice for choice in ratios if begun and choice.startswith(whole)), "")
    return by_lower_case.get(close)


def did_you_mean(word: str, known: Iterable[str], advice: str = "") -> str:
    """Return `; did you mean 'x'?` where something known is close, else what is known.

    `advice` says where to look besides, unless what is close is likely.
    """
    choices = list(known)
    if meant := closest(word, choices):
        advice = f" {advice}" if advice and not closest(word, choices, 0.7) else ""
        return f"; did you mean '{meant}'?{advice}"
    if word.lower() in ABSENT:
        return f": {ABSENT[word.lower()]}; remove it"
    shown = ", ".join(choices[:MOST_CHOICES])
    more = f" and {len(choices) - MOST_CHOICES} more" if len(choices) > MOST_CHOICES else ""
    known_here = [f"known here: {shown}{more}"] if choices and not (more and advice) else []
    return "".join(f"; {part}" for part in [*known_here, advice] if part)


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
        return int(text, 0)
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
    over: "Tree | None" = None
    """What it has replaced."""

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


def is_null(tree: Tree) -> bool:
    """Return whether nothing is said."""
    return isinstance(tree, Scalar) and tree.value is None


def in_full(tree: Tree) -> Tree:
    """Return the mapping that text alone, as in `- ReLU`, is short for.

    It is what the text has replaced, with another name.
    """
    if not isinstance(tree, Scalar) or not isinstance(tree.value, str):
        return tree
    before = in_full(tree.over) if tree.over else tree
    entries = before.entries if isinstance(before, Table) else {}
    replaced = entries["name"].value if "name" in entries else None
    name = Entry(tree.place, replace(tree, over=replaced))
    return Table({**entries, "name": name}, tree.place)


def over(before: Tree, tree: Tree) -> Tree:
    """Return `tree`, which replaces what was there before."""
    return replace(tree, over=before) if isinstance(tree, Scalar) else tree


def replaced(tree: Tree, steps: Sequence[Step], value: Tree, done: int = 0) -> Tree:
    """Return `tree` with `value` at the end of `steps`; what aliases share stays as it was."""
    if done == len(steps):
        return over(tree, value)
    step, here = steps[done], path_text(steps[:done])
    if isinstance(step, int):
        if not isinstance(tree, Items):
            raise refusal(here, f"is {tree}, not a list", value.place)
        count = len(tree.items)
        if not -count <= step <= count:
            message = f"the list has {count} item{'s' * (count != 1)}, counted from [0]"
            raise refusal(path_text(steps[: done + 1]), message, value.place)
        items = [*tree.items, *[Scalar(None, value.place)] * (step == count)]  # one more is added
        items[step] = replaced(items[step], steps, value, done + 1)
        return replace(tree, items=items)
    if is_null(tree):
        tree = Table({}, value.place)  # a section that the file left out
    tree = in_full(tree)
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
INDEX = r"-?[0-9]{1,6}"
OVERRIDE_PATH = re.compile(rf"{NAME}(\.{NAME}|\.{INDEX}|\[{INDEX}\])*", re.ASCII)
OVERRIDE_STEP = re.compile(rf"({NAME})|({INDEX})", re.ASCII)


SYNTAX = (
    ("node content", "the value is missing or not complete", False),
    (r"found character '\\t'", "a tab cannot indent a line; use spaces", False),
    ("mapping values", "no key can stand here: the line is indented unlike the one above it, or "
     "a text with ': ' in it needs quotes", False),
    ("expected <block end>", "the line is indented unlike those above it", False),
    ("expected ':'", "expected 'key: value', with a space after the colon", True),
    ("expected ',' or '}'", "a ',' or the closing '}' is missing after this '{'", True),
    ("expected ',' or ']'", "a ',' or the closing ']' is missing after this '['", True),
    ("quoted scalar", "the closing quote is missing", True),
    ("while scanning an alias", "a text that begins with '*' needs quotes", True),
    ("cannot start any token", "a text that begins with this character needs quotes", False),
)  # fmt: skip
"""What the parser says, what that means, and whether it is to be told where it began."""


def place_within(source: str, line: int, text: str, position: int) -> Place:
    """Return the place of a position in a text that begins in some line of a file."""
    line += text.count("\n", 0, position)
    return Place(source=source, line=line, column=position - text.rfind("\n", 0, position))


def decoded(data: bytes, source: str, advice: str = "") -> str:
    """Return text in UTF-8; the mark that some programs put in front of it is left out."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", errors="replace")
        message = f"is not text in UTF-8 (byte 0x{data[error.start]:02x}){advice}"
        if data.startswith(b"PK"):  # as zip files do
            message = "is an archive or a spreadsheet, not text; export it as CSV"
        raise refusal("", message, place_within(source, 1, before, len(before))) from None


def read_config_text(path: Path, source: str) -> str:
    """Return the text of a configuration file."""
    if not source:
        raise usage_error("", "the file has no name")
    try:
        from nanotorch.serialization.files import contents  # here: it takes a while to import

        return decoded(contents(path, LARGEST_FILE), source)
    except OSError as error:
        message = f"cannot be read: {reason_of(error, path)}"
        raise refusal("", message, Place(source=source)) from None


def parse_yaml(text: str, start: Place, noted: list[Problem] | None = None) -> Tree:
    """Return the tree of one YAML document; scalars are read as YAML 1.2 has them.

    Args:
        text: the document.
        start: where it begins. One without a line, a command's argument, is the place of all of it.
        noted: takes what is wrong with the document but leaves a tree; else it is raised, too.
    """
    import yaml

    def at(mark: Any) -> Place:
        """Return the place of a mark of the parser, whose lines and columns count from 0."""
        if mark is None or not start.line:
            return start
        return replace(start, line=mark.line + 1, column=mark.column + 1)

    try:
        events = yaml.parse(text, yaml.BaseLoader)
        next(events)  # the stream begins
        if isinstance(next(events), yaml.StreamEndEvent):
            what = "the file is empty" if start.line else "there is no value"
            raise refusal("", what, start)
        planter = Planter(events, at)
        tree, _ = planter.plant(next(events), [])
        next(events)  # the document ends
        if not isinstance(event := next(events), yaml.StreamEndEvent):
            message = "a second document begins; a configuration is one"
            raise refusal("", message, at(event.start_mark))
    except yaml.MarkedYAMLError as error:
        what = ", ".join(part for part in (error.problem, error.context) if part)
        place = at(error.problem_mark or error.context_mark)
        for said, meant, begun in SYNTAX:
            if re.search(said, what):
                what = meant
                place = at(error.context_mark) if begun else place
                break
        shell = "" if start.line else "; quote the whole argument for the shell"
        raise refusal("", f"not valid YAML: {what}{shell}", place) from None
    except yaml.reader.ReaderError as error:
        message = f"not valid YAML: the character {chr(error.character)!r} is not allowed"
        place = place_within(start.source, 1, text, error.position) if start.line else start
        raise refusal("", message, place) from None
    raise_all(planter.problems, noted)
    return tree


class Planter:
    """Turns events of the parser into a tree; `problems` collects the keys that stand twice.

    Args:
        events: the events.
        at: returns the place of a mark of the parser.
    """

    def __init__(self, events: Iterator[Any], at: Callable[[Any], Place]) -> None:
        self._events, self._at = events, at
        self._known: dict[str | None, tuple[Tree, int] | None] = {}
        """The tree and the size of what has an anchor; None within it."""
        self.problems: list[Problem] = []

    def plant(self, event: Any, steps: Sequence[Step]) -> tuple[Tree, int]:
        """Return the tree that begins with an event, and how many values it has."""
        import yaml

        place, name = self._at(event.start_mark), event.anchor
        if isinstance(event, yaml.AliasEvent):
            if shared := self._known.get(name):
                return shared
            within = "stands inside its own anchor"
            lacks = within if name in self._known else "has no anchor before it"
            raise refusal("", f"the alias *{name} {lacks}", place)
        if event.tag is not None:
            raise refusal("", f"the tag {quoted(event.tag)} is not allowed; remove it", place)
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if event.style else plain_scalar(event.value)
            self._known[name] = scalar = Scalar(value, place), 1
            return scalar
        if len(steps) == DEEPEST:
            raise refusal("", f"nested more than {DEEPEST} deep", place)
        self._known[name] = None
        is_list = isinstance(event, yaml.SequenceStartEvent)
        tree, size = self._list(place, steps) if is_list else self._mapping(place, steps)
        if size > MOST_VALUES:
            message = f"with what aliases repeat, more than {MOST_VALUES:,} values"
            raise ConfigError([*self.problems, Problem("", message, place)])
        self._known[name] = self._known[name] or (tree, size)  # one within may have the name, too
        return tree, size

    def _inner(self) -> Iterator[Any]:
        """Yield the events with which what is in a list or a mapping begins."""
        import yaml

        while not isinstance(event := next(self._events), yaml.CollectionEndEvent):
            yield event

    def _list(self, place: Place, steps: Sequence[Step]) -> tuple[Tree, int]:
        planted = [self.plant(event, [*steps, k]) for k, event in enumerate(self._inner())]
        return Items([tree for tree, _ in planted], place), 1 + sum(size for _, size in planted)

    def _mapping(self, place: Place, steps: Sequence[Step]) -> tuple[Tree, int]:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        """What the `<<` keys brought; the first one wins."""
        size = 1
        for event in self._inner():
            key, key_place = getattr(event, "value", None), self._at(event.start_mark)
            if key is None:
                raise refusal("", "a key must be plain text", key_place)
            self.plant(event, steps)
            inner = next(self._events)
            value, values = self.plant(inner, [*steps, key])
            size += 1 + values
            path = path_text([*steps, key])
            if key == "<<":
                for table in value.items if isinstance(value, Items) else [value]:
                    if not isinstance(table, Table):
                        raise refusal("", "'<<' merges mappings only", value.place)
                    merged = {**table.entries, **merged}
            elif ":" in key and getattr(inner, "value", key) == "" and not inner.style:
                self.problems.append(Problem(path, "needs a space after the colon", key_place))
                key, _, text = key.partition(":")
                entries[key] = Entry(key_place, Scalar(plain_scalar(text), key_place))
            elif key in entries:
                line = entries[key].key_place.line
                message = "duplicate key" + (f"; it stands on line {line} already" if line else "")
                self.problems.append(Problem(path, message, key_place))
            else:
                entries[key] = Entry(key_place, value)
        return Table({**merged, **entries}, place), size


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
    """
    found, overrides = Noted(), list(overrides)
    if "=" in overrides:
        raise usage_error(" ".join(overrides), "write key=value without spaces around the '='")
    for override in overrides:
        shown = override if override.isprintable() else quoted(override)[1:-1]
        place = Place(source=COMMAND_LINE + shown, rank=COMMANDED)
        path, equals, text = override.partition("=")
        with found:
            if not equals or not OVERRIDE_PATH.fullmatch(path):
                message = "expected key=value, as in train.epochs=5 or"
                raise refusal("", f"{message} model.layers.0.out_features=8", place)
            if path == "inherit":
                raise refusal("", "only a file can inherit from another one", place)
            steps = [name or int(index) for name, index in OVERRIDE_STEP.findall(path)]
            value = parse_yaml(text, place) if text.strip() else Scalar(None, place)
            tree = replaced(tree, steps, value)
    raise_all(found.problems, noted)
    return tree
