"""The parts of a configuration: places, problems, trees, sections, and the reader of sections."""

import inspect
import json
import math
import os
import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from difflib import SequenceMatcher
from errno import ENOENT
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from nanotorch.names.lookup import reason_text as told_why
from nanotorch.names.scope import why_not

# The problems of a configuration or its data, and their places.


COMMAND_LINE = "command line: "
"""The beginning of the place of an override."""
COMMANDED = 1
"""The rank of the command line."""
SUFFIXES = (".yaml", ".yml")
"""The suffixes of configuration files."""
LONGEST_QUOTE = 60
LONGEST_NAME = 300
MOST_PROBLEMS = 20
MOST_CHOICES = 25


@dataclass(frozen=True, kw_only=True)
class Place:
    """The place of a value: a line and column of a file, or one argument of the command."""

    source: str
    """The file's name as the user gave it, or `command line: key=value`."""
    line: int = 0
    """The number of the line, counted from 1; 0 without lines."""
    column: int = 0
    """The number of the character in the line, counted from 1."""
    base: Path = Path()
    """The directory in which relative paths at this place begin."""
    rank: int = 0
    """The rank of the source: a value replaces those of lower ranks. A file that others inherit
    from has a negative rank, the command line has `COMMANDED`."""

    def __str__(self) -> str:
        source = name_text(self.source)
        return f"{source}:{self.line}:{self.column}" if self.line else source


@dataclass(frozen=True)
class Problem:
    """One mistake: the path of the value, a message, and the place of the value."""

    path: str
    message: str
    place: Place | None = None
    """None until `Origins` adds the place."""
    rivals: tuple[str, ...] = ()
    """The paths of other values that may be wrong; the one with the highest rank is blamed."""

    @property
    def commanded(self) -> bool:
        """Whether the command line has the value."""
        return self.place is not None and self.place.rank == COMMANDED

    @property
    def position(self) -> tuple[int, int, int]:
        """Sorts problems by their places in the file, then in its bases."""
        return (-self.place.rank, self.place.line, self.place.column) if self.place else (0, 0, 0)

    def __str__(self) -> str:
        parts = [str(self.place)] if self.place else ["configuration"]
        # The place of an override already contains the path.
        if self.path and f": {self.path}=" not in parts[0]:
            parts.append(self.path)
        return ": ".join([*parts, self.message])


class ConfigError(Exception):
    """The error for a configuration, or for data that it names, with all problems found.

    Code that reads a configuration, or builds the objects in it, may raise this error.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MOST_PROBLEMS]]
        if len(self.problems) > MOST_PROBLEMS:
            lines.append(f"and {len(self.problems) - MOST_PROBLEMS} more problems")
        super().__init__("\n".join(lines))


def refusal(path: str, message: str, place: Place | None = None) -> ConfigError:
    """Return the error with `message` about the value at `path`, or about a place."""
    return ConfigError([Problem(path, message, place)])


def usage_error(argument: str, message: str) -> ConfigError:
    """Return the error about one argument of the command line, or about all of it."""
    source = f"{COMMAND_LINE}{argument}" if argument else COMMAND_LINE.rstrip(": ")
    return refusal("", message, Place(source=source))


def unreadable(path: str, file: Path, reason: Any, place: Place | None = None) -> ConfigError:
    """Return the error about a file, which the value at `path` names."""
    message = f"cannot read '{name_text(shown_path(file))}': {read_failure(reason, file)}"
    return refusal(path, message, place)


def check_readable(path: str, file: Path, place: Place | None = None) -> None:
    """Refuse a file that cannot be read."""
    from nanotorch.serialization.files import open_file  # slow to import

    try:
        open_file(file).close()
    except OSError as error:
        raise unreadable(path, file, error, place) from None


def read_failure(error: str | Exception, file: Path) -> str:
    """Return why a file cannot be read; for a missing one, also a similar name."""
    if not isinstance(error, OSError):
        return str(error)
    found: dict[str, Path] = {}
    suffixes = [file.suffix] if file.suffix not in ("", *SUFFIXES) else SUFFIXES
    for place in (file.parent, Path(), Path("configs")) if error.errno == ENOENT else ():
        with suppress(OSError):
            found = {p.stem: p for p in place.iterdir() if p.suffix in suffixes} | found
    name = closest(file.stem, found)
    there = f"; did you mean {quoted(shown_path(found[name]))}?" if name else ""
    return f"{error.strerror or error}{there}"


NAME = r"[A-Za-z_][A-Za-z0-9_]*"
INDEX = r"-?[0-9]{1,6}"
OVERRIDE_PATH = re.compile(rf"{NAME}(\.{NAME}|\.{INDEX}|\[{INDEX}\])*", re.ASCII)
OVERRIDE_STEP = re.compile(rf"({NAME})|({INDEX})", re.ASCII)


class Origins(dict[str, Place]):
    """The place of each value of a configuration, by dotted path; defaults have none."""

    def nearest(self, path: str) -> Place | None:
        """Return the place of `path`, or of the innermost section around it that has a place."""
        around = path
        while around:
            if place := self.get(around):
                # The place of an override holds only for its own value, not for the other values
                # of a section that the override has created.
                given = place.source.removeprefix(COMMAND_LINE).partition("=")[0]
                begun, depth = (len(OVERRIDE_STEP.findall(text)) for text in (around, given))
                if place.rank < COMMANDED or begun >= depth:
                    return place
            around = around[: max(around.rfind("."), around.rfind("["), 0)]
        return self.get("")

    def placed(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return the problems with the places of their values."""

        def rank(path: str) -> int:
            return place.rank if (place := self.nearest(path)) else 0

        both = [(p, max((p.path, *p.rivals), key=rank)) for p in problems]
        return [replace(p, path=path, place=p.place or self.nearest(path)) for p, path in both]


class Noted(list[Problem]):
    """A list of problems to raise together. Each `with noted` block adds its `ConfigError`."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, ConfigError):
            return False
        self += error.problems
        return True


def raise_all(problems: Iterable[Problem]) -> None:
    """Raise a `ConfigError` of all problems, if there are any."""
    if found := list(problems):
        raise ConfigError(found)


def shown_path(path: Path) -> str:
    """Return a path relative to the current directory, or as it is if it lies outside."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def quoted(value: object) -> str:
    """Return `repr(value)`, cut short; control characters cannot reach the terminal."""
    # Cut before `repr`, which would otherwise escape a megabyte of text to show sixty characters.
    text = repr(value[: 2 * LONGEST_QUOTE] if isinstance(value, str) else value)
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "..."


def name_text(name: str) -> str:
    """Return a file's name for a message: on one line, and shortened if it is long."""
    shown = name if name.isprintable() else repr(name)
    half = LONGEST_NAME // 2
    return shown if len(shown) <= LONGEST_NAME else f"{shown[:half]}...{shown[-half:]}"


def place_within(source: str, line: int, text: str, position: int) -> Place:
    """Return the place of a position in a text that begins in line `line` of a file."""
    line += text.count("\n", 0, position)
    return Place(source=source, line=line, column=position - text.rfind("\n", 0, position))


def decode_text(data: bytes, source: str, advice: str = "") -> str:
    """Return UTF-8 data as text, without the byte order mark.

    Raises:
        ConfigError: if the data are not UTF-8; `advice` ends the message.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", errors="replace")
        message = f"is not text in UTF-8 (byte 0x{data[error.start]:02x}){advice}"
        if data.startswith(b"PK"):  # a zip file
            message = "is an archive or a spreadsheet, not text; export it as CSV"
        raise refusal("", message, place_within(source, 1, before, len(before))) from None


SYNONYMS = {
    "learning_rate": "lr", "eta": "lr", "rate": "p", "l2": "weight_decay", "beta1": "betas",
    "beta2": "betas", "dense": "Linear", "units": "out_features", "filters": "out_channels",
    "mae": "L1Loss", "file": "csv", "path": "csv", "label": "target", "labels": "target",
    "normalize": "standardize", "sep": "delimiter", "separator": "delimiter", "type": "name",
    "task": "experiment", "random_state": "seed", "batch": "batch_size", "dataset": "data",
    "max_grad_norm": "clip_norm", "grad_clip": "clip_norm", "clip_grad": "clip_norm",
    "gradient_clip_val": "clip_norm", "accumulate_grad_batches": "accumulate",
    "gradient_accumulation_steps": "accumulate", "eval_steps": "validate_every",
    "log_every": "every", "log_every_n_steps": "every", "save_every": "every",
    "save_steps": "every", "logging_steps": "every", "warmup_steps": "warmup",
    "progress_bar": "progress", "criterion": "loss", "metric": "monitor", "output_dir": "dir",
    "out_dir": "dir", "logger": "log", "logging": "log",
}  # fmt: skip
"""The names in other programs of keys and components here."""
SURE = 0.85
"""The least likeness of a misspelt name to a known one for which it counts as this one."""
ABSENT = dict.fromkeys(
    ("device", "devices", "gpu", "gpus", "cuda", "mps", "accelerator"),
    "nanotorch runs on the CPU only",
)
ABSENT |= dict.fromkeys(
    ("precision", "mixed_precision", "dtype", "amp", "fp16", "bf16"),
    "samples and model keep the precision that they have",
)
ABSENT["metrics"] = "the metrics of the loss are always measured"
ABSENT |= dict.fromkeys(("num_workers", "workers", "pin_memory"), "all samples are in memory")
ABSENT["earlystopping"] = "the section early_stopping: {patience: 5} does this"
ABSENT["modelcheckpoint"] = "the section checkpoint: {monitor: validation/loss} does this"
"""Names of other programs that have no use here, with the reasons."""


def closest(
    word: str, known: Iterable[str], likeness: float = 0.75, of_data: bool = False
) -> str | None:
    """Return the known word closest to `word`; None if none is close.

    Args:
        word: the word as written.
        known: the words to choose from.
        likeness: the least likeness, from 0 to 1; 1 is equality without regard to case.
        of_data: whether the words are from a user's data, not keys or names of components.
    """
    by_lower_case = {choice.lower(): choice for choice in known}
    whole = word.lower()
    last = whole.partition("(")[0].rpartition(".")[2]  # `linear` in torch.nn.Linear(3, 8)
    for text in (whole, last, "" if of_data else SYNONYMS.get(last, "").lower()):
        if text in by_lower_case:
            return by_lower_case[text]
    # Another program's name is no misspelling.
    foreign = not of_data and (last in SYNONYMS or last in ABSENT)
    if likeness < SURE and len(whole) > 2:
        longer = [c for c in by_lower_case if c.startswith(whole) or c.endswith(f"_{whole}")]
        if longer:
            return by_lower_case[min(longer, key=len)]
        within = [c for c in by_lower_case if len(c) > 2 and f"_{c}_" in f"_{whole}_"]
        if within and not foreign:
            return by_lower_case[max(within, key=lambda c: (len(c), whole.startswith(c)))]
    if foreign:
        return None
    ratios, matcher = dict[str, float](), SequenceMatcher(b=whole)
    for choice in by_lower_case:
        matcher.set_seq1(choice)
        ratios[choice] = matcher.ratio() if matcher.real_quick_ratio() >= likeness else 0.0
    close = max(ratios, key=lambda choice: ratios[choice], default="")
    return by_lower_case[close] if ratios.get(close, 0) >= likeness else None


def did_you_mean(word: str, known: Iterable[str], advice: str = "", of_data: bool = False) -> str:
    """Return `; did you mean 'x'?` if a known word is close, else the list of known words.

    `advice` follows the list; `of_data` is that of `closest`.
    """
    choices = [name_text(choice)[:LONGEST_QUOTE] for choice in known]
    if meant := closest(word, choices, of_data=of_data):
        return f"; did you mean '{meant}'?"
    if not of_data and word.lower() in ABSENT:
        return f": {ABSENT[word.lower()]}; remove it"
    shown = ", ".join(choices[:MOST_CHOICES])
    more = f" and {len(choices) - MOST_CHOICES} more" if len(choices) > MOST_CHOICES else ""
    listed = [f"known: {shown}{more}"] if choices and not (more and advice) else []
    return "".join(f"; {part}" for part in [*listed, advice] if part)


# A parsed configuration file: scalars, lists and mappings with their places.


ScalarValue = None | bool | int | float | str

# The core schema of YAML 1.2, but strict about leading zeros: `010` is ten in YAML 1.2, eight in
# YAML 1.1 and most often an identifier. So it stays text, and is refused instead of a number.
CONSTANTS: dict[str, ScalarValue] = {"": None, "~": None}
CONSTANTS |= dict.fromkeys(["null", "Null", "NULL"])
CONSTANTS |= dict.fromkeys(["true", "True", "TRUE"], True)
CONSTANTS |= dict.fromkeys(["false", "False", "FALSE"], False)
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*|0o[0-7]+|0x[0-9a-fA-F]+)", re.ASCII)
FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

# Python refuses to read very long decimal integers, and no number here is that large.
LONGEST_NUMBER = 400


def plain_scalar(text: str) -> ScalarValue:
    """Return the value of an unquoted YAML scalar."""
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
    """The tree that this value has replaced."""

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
    """A mapping; its keys are texts as written, even if they look like numbers."""

    entries: Mapping[str, Entry]
    place: Place

    def __str__(self) -> str:
        return "a mapping"


Tree = Scalar | Items | Table
Step = str | int


def is_null(tree: Tree) -> bool:
    """Return whether a tree is null, that is, without a value."""
    return isinstance(tree, Scalar) and tree.value is None


def expand_shorthand(tree: Tree) -> Tree:
    """Return a text, such as `ReLU` in `- ReLU`, expanded to a mapping with this `name`.

    If the text has replaced a mapping, the result is that mapping with the text as its new name.
    Other trees are returned as they are.
    """
    if not isinstance(tree, Scalar) or not isinstance(tree.value, str):
        return tree
    before = expand_shorthand(tree.over) if tree.over else tree
    entries = before.entries if isinstance(before, Table) else {}
    replaced = entries["name"].value if "name" in entries else None
    name = Entry(tree.place, replace(tree, over=replaced))
    return Table({**entries, "name": name}, tree.place)


# The type hints of a configuration's fields, in the words of messages.


NAMES = {
    bool: "true or false", int: "an integer", float: "a number", str: "text",
    Path: "a file name", type(None): "null",
}  # fmt: skip


def hint_form(hint: Any) -> tuple[str, Any]:
    """Return the form of a type hint, and its parts.

    The form decides the parts. `component`: the registry; `chosen`, a section by its name: the
    registry of sections; `arguments`: their keys; `limited`: the hint and the check; `union`: the
    members; `choice`: the values; `list`: the hint of the items; `tuple`: the hint of each item;
    `section`: the class; `plain`: the type.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        forms = {Component: "component", Section: "chosen", Arguments: "arguments"}
        found = forms.get(parts[0]) if isinstance(parts[0], type) else None
        return (found, parts[1]) if found else ("limited", parts[:2])
    if origin in (Union, types.UnionType):
        return "union", parts
    if origin is Literal:
        return "choice", parts
    if origin is tuple:
        return ("list", parts[0]) if parts[-1] is ... else ("tuple", parts)
    if isinstance(hint, type) and issubclass(hint, Section):
        return "section", hint
    return "plain", hint


def describe_hint(hint: Any) -> str:
    """Return the description of a type hint in words."""
    match hint_form(hint):
        case "limited", (inner, _):
            return describe_hint(inner)
        case "union", members:
            return " or ".join(describe_hint(m) for m in members if m is not types.NoneType)
        case "list", item:
            kind, _, word = describe_hint(item).rpartition(" ")  # such as `a layer`, or `text`
            return f"a list of {word}s" if len(kind) < 3 else f"a list, each {kind} {word}"
        case "tuple", items:
            return f"a list of {len(items)}, each {describe_hint(items[0])}"
        case "choice", choices:
            return " or ".join(quoted(choice) for choice in choices)
        case "plain", kind:
            return NAMES.get(kind, "a mapping")
        case "component", registry:
            return str(registry.kind)
    return "a mapping"


def suggest_value(tree: "Tree", hint: Any) -> str:
    """Return advice about the right spelling of a value; "" if it is not evident."""
    kind, parts = hint_form(hint)
    value = tree.value if isinstance(tree, Scalar) else None
    if kind == "section":
        return f"; its keys are {', '.join(section_keys(parts))}"
    if kind == "union":
        several = isinstance(value, str) and "," in value
        told = (
            suggest_value(tree, part) for part in parts if several or hint_form(part)[0] != "list"
        )
        return next(filter(None, told), "")
    if kind == "limited":
        return suggest_value(tree, parts[0])
    if kind == "list":
        return "; write it in []" if value is not None and hint_form(parts)[0] == "plain" else ""
    if hint is int and isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"; write {int(value)}"
    if hint is str and value is not None:
        given = tree.place.source.partition("=")[2]
        given = given if plain_scalar(given) == value else json.dumps(value)
        shell = f"""; write '"{given}"'"""  # the shell removes the outer quotes
        return shell if tree.place.rank == COMMANDED else "; put it in quotes"
    if isinstance(value, bool) and hint in (int, float):
        return "; write a number"
    if not isinstance(value, str) or hint not in (int, float, bool):
        return ""
    if hint is bool:
        words = {"yes": "true", "on": "true", "no": "false", "off": "false"}
        return f"; write {words[value.lower()]}" if value.lower() in words else ""
    digits = value.strip().replace("_", "")
    if hint is float and "," in digits and FLOAT.fullmatch(digits.replace(",", ".")):
        return "; write a decimal point, not a comma"
    if type(plain_scalar(digits)) not in (int, hint):
        return ""
    return "; remove the quotes" if digits == value else f"; write {digits}"


# The reader converts a tree of plain values to the frozen dataclasses that describe it.
#
# Only the type hint of a field decides which values are valid: `int`, `float | None`,
# `tuple[str, ...]`, `Literal["line"]`, `Annotated[int, Range(low=1)]`, another section, or a
# component with the registry of its arguments. The reader collects all mistakes.


Shared = Callable[[str, str], Collection[str]]
INVALID = object()
"""The result for a value whose problem has been noted."""
INFINITE = re.compile(r"[-+]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)


Alternatives = Mapping[str, Collection[str]]
"""Keys of which a section needs exactly one, each with the other keys that it allows."""


class Section:
    """Base of the frozen dataclasses that mirror a section of the file, name for name."""

    alternatives: ClassVar[Alternatives] = {}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield `(field, message)` for each problem that the fields' types cannot express."""
        about = self.alternatives
        given = [key for key in about if getattr(self, key) is not None]
        if about and not given:
            yield "", f"needs {join_keys(about)}"
        for other in given[1:]:
            yield other, f"cannot be combined with '{given[0]}'; remove one of the two"
        for key in dict.fromkeys(chain.from_iterable(about.values())) if given else ():
            owners = [owner for owner in about if key in about[owner]]
            if given[0] not in owners and getattr(self, key) != getattr(type(self), key):
                yield key, f"belongs to {join_keys(owners)}; remove it, or '{given[0]}'"


def join_keys(keys: Iterable[str]) -> str:
    """Return keys for a message: `'a', 'b' or 'c'`."""
    *most, last = (f"'{key}'" for key in keys)
    return f"{', '.join(most)} or {last}" if most else last


@dataclass(frozen=True)
class Component:
    """The description of an object to build, by its name in PyTorch."""

    name: str
    arguments: Mapping[str, Any]
    """The given arguments, and the defaults of the others except `None`."""
    path: str = field(default="", compare=False)
    """Its dotted path in the configuration."""
    registry: Any = field(default=None, compare=False, repr=False)
    """The registry that builds it."""

    def build(self, *inputs: Any, **inferred: Any) -> Any:
        """Return the object; the arguments are those of the registry's `build`."""
        return self.registry.build(self, *inputs, **inferred)

    def changed(
        self, arguments: Mapping[str, Any] | None = None, without: Collection[str] = ()
    ) -> "Component":
        """Return the component with some arguments added or changed, and some removed."""
        kept = {key: value for key, value in self.arguments.items() if key not in without}
        return replace(self, arguments={**kept, **(arguments or {})})


REQUIRED: Any = inspect.Parameter.empty
"""The default of a key that must be given."""


@dataclass(frozen=True)
class Key:
    """A key of a mapping: its type and its default."""

    hint: Any
    default: Any = REQUIRED
    """The value if the key is left out."""


def section_keys(section: type[Section]) -> Mapping[str, Key]:
    """Return the keys of a section."""
    hints = get_type_hints(section, include_extras=True)
    keys = {}
    for own in fields(section):  # type: ignore[arg-type]
        default = own.default if own.default is not MISSING else REQUIRED
        default = default if own.default_factory is MISSING else own.default_factory()
        keys[own.name] = Key(hints[own.name], default)
    return keys


class Arguments(Mapping[str, Any]):
    """Marks a mapping of some arguments of a component: `Annotated[Arguments, keys]`."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """The numbers from `low` to `high`; `above` and `below` leave the end itself out."""

    low: float = -math.inf
    above: float = -math.inf
    high: float = math.inf
    below: float = math.inf

    def problem(self, value: float) -> str | None:
        """Return the problem of `value`; None if it lies within the range."""
        for wrong, words, bound in (
            (value < self.low, "at least", self.low),
            (value <= self.above, "greater than", self.above),
            (value > self.high, "at most", self.high),
            (value >= self.below, "less than", self.below),
        ):
            if wrong:
                return f"must be {words} {bound:.15g}, got {quoted(value)}"
        return None


Positive = Annotated[int, Range(low=1)]
Natural = Annotated[int, Range(low=0)]
Above = Annotated[float, Range(above=0)]
NotNegative = Annotated[float, Range(low=0)]
Fraction = Annotated[float, Range(low=0, high=1)]


def drop_keys(tree: Tree, keys: Collection[str], rank: int, lost: dict[str, Tree]) -> Any:
    """Return a tree without some keys of a lower rank, also inside the lists of the tree.

    Args:
        tree: the tree.
        keys: the names of the keys.
        rank: the rank of the value that makes them obsolete; keys of this rank or higher stay.
        lost: a dict that gets the keys left out, with their values.
    """
    if isinstance(tree, Items):
        return replace(tree, items=[drop_keys(item, keys, rank, lost) for item in tree.items])
    if not isinstance(tree, Table):
        return tree
    kept = dict[str, Entry]()
    for key, entry in tree.entries.items():
        if key in keys and entry.key_place.rank < rank:
            lost[key] = entry.value
        elif isinstance(entry.value, Items):
            kept[key] = replace(entry, value=drop_keys(entry.value, keys, rank, lost))
        else:
            kept[key] = entry
    return replace(tree, entries=kept)


class NotKnownError(Exception):
    """The error inside a check that needs an invalid value."""


def partial_section(
    hint: type[Section], values: Mapping[str, Any], unknown: Collection[str]
) -> Section:
    """Return a section whose invalid values raise `NotKnownError`, to check the valid ones."""

    def look_up(self: Any, name: str) -> Any:
        if name in unknown:
            raise NotKnownError
        return object.__getattribute__(self, name)

    section: Section = object.__new__(type(hint.__name__, (hint,), {"__getattribute__": look_up}))
    for name, key in section_keys(hint).items():
        if name in values or key.default is not REQUIRED:
            object.__setattr__(section, name, values.get(name, key.default))
    return section


class Reader:
    """Reads trees by type hints. Its attributes collect the results, by the paths of values.

    Args:
        homes: returns the dotted paths that a key may have.
    """

    def __init__(self, homes: Callable[[str], Sequence[str]] = lambda key: ()) -> None:
        self._homes = homes
        self._sections: Collection[str] = ()
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        """The other values that an override of the command line replaces, a line each."""
        self.places = Origins()
        self.components: dict[str, Component] = {}
        self.files: dict[str, Path] = {}

    def read(self, tree: Tree, hint: Any, path: str) -> Any:
        """Return the value of `tree`, or `INVALID` after noting its problem."""
        self.places[path] = tree.place
        match hint_form(hint):
            case "component", registry:
                return self._component(tree, registry, path)
            case "chosen", registry:
                return self._section_by(tree, "name", registry.sections, path)
            case "arguments", keys:
                return self._arguments(tree, keys, path)
            case "limited", (inner, limits):
                value = self.read(tree, inner, path)
                if value is INVALID or value is None:
                    return value
                message = limits.problem(value)
                return self.note(tree.place, path, message) if message else value
            case "union", members:
                return self._union(tree, members, hint, path)
            case "choice", choices:
                return self._literal(tree, choices, path)
            case "list" | "tuple" as kind, inner:
                return self._items(tree, kind, inner, hint, path)
            case "section", section:
                return self._section(tree, section, path)
        return self._scalar(tree, hint, path)

    def note(self, place: Place, path: str, message: str) -> Any:
        """Note a problem and return `INVALID`."""
        self.problems.append(Problem(path, message, place))
        return INVALID

    def _renamed(self, tree: Table, shared: Shared, path: str) -> Table:
        """Return a mapping without the keys of a component that a new name has replaced.

        Args:
            tree: a mapping with a `name`.
            shared: returns the keys that two names share; all its keys for the same name twice.
            path: the path of the mapping.
        """
        name: Tree | None = tree.entries["name"].value
        names, rank = list[str](), tree.entries["name"].value.place.rank
        while isinstance(name, Scalar):
            names, name = [*names, str(name.value)], name.over
        new, *before = dict.fromkeys(names)
        older = [k for k, e in tree.entries.items() if e.key_place.rank < rank and k != "name"]
        if not before or not older:
            return tree
        both, lost = shared(before[0], new), dict[str, Tree]()
        others = {key for name in before for key in shared(name, name)} - {*both}
        pruned: Table = drop_keys(tree, others, rank, lost)
        done = {"keeps": [key for key in older if key in both], "drops": [*lost]}
        said = " and ".join(f"{verb} {', '.join(keys)}" for verb, keys in done.items() if keys)
        if said and rank == COMMANDED:
            self.notes.append(f"{path}: {new} {said} of {before[0]}")
        return pruned

    def _chosen(self, tree: Table, hint: type[Section], path: str) -> Table:
        """Return a section with its alternative of the highest rank, without replaced keys."""
        about, keys, lost = hint.alternatives, section_keys(hint), dict[str, Tree]()
        given = {k: e for k, e in tree.entries.items() if k in about and not is_null(e.value)}
        if not given:
            return tree
        chosen = max(given, key=lambda key: given[key].key_place.rank)
        rank = given[chosen].key_place.rank
        others = {*about, *chain.from_iterable(about.values())} - {chosen, *about[chosen]}
        pruned: Table = drop_keys(tree, others, rank, lost)
        told = [
            f"{path}.{key}"
            for key, value in lost.items()
            if not isinstance(value, Scalar) or value.value != keys[key].default
        ]
        if told and rank == COMMANDED:
            self.notes.append(f"{path}.{chosen} replaces {', '.join(told)}")
        return pruned

    def _expected(self, tree: Tree, hint: Any, path: str, meant: str = "") -> Any:
        meant = meant or suggest_value(tree, hint)
        return self.note(tree.place, path, f"expected {describe_hint(hint)}, got {tree}{meant}")

    def _union(self, tree: Tree, members: tuple[Any, ...], hint: Any, path: str) -> Any:
        if is_null(tree) and types.NoneType in members:
            return None
        none = isinstance(tree, Scalar) and tree.value in ("none", "None")
        if none and types.NoneType in members and not {str, Path} & {*members}:
            return self._expected(tree, hint, path, "; write null")
        members = tuple(member for member in members if member is not types.NoneType)
        if len(members) == 1:
            return self.read(tree, members[0], path)
        if all(hint_form(member)[0] == "section" for member in members):
            # The first key of each section is a `Literal`; its value chooses the section.
            tag = next(iter(section_keys(members[0])))
            choices = [(member, get_args(section_keys(member)[tag].hint)) for member in members]
            by_tag = {choice: member for member, own in choices for choice in own}
            return self._section_by(tree, tag, by_tag, path)
        before, found = self.problems, list[list[Problem]]()
        for member in members:
            self.problems = []
            value, problems, self.problems = self.read(tree, member, path), self.problems, before
            if not problems:
                return value
            if all(problem.path != path for problem in problems):
                found.append(problems)
        if not found:
            return self._expected(tree, hint, path)
        # Report the member with the fewest and innermost mistakes, which the user probably means.
        fewest = min(found, key=lambda p: (len(p), -max(len(one.path) for one in p)))
        self.problems += fewest
        return INVALID

    def _section_by(
        self, tree: Tree, tag: str, by_tag: Mapping[str, type[Section]], path: str
    ) -> Any:
        """Read the section that the value of `tag` chooses."""
        tree = expand_shorthand(tree) if tag == "name" else tree
        if not isinstance(tree, Table):
            return self._expected(tree, dict, path)

        def shared(one: str, other: str) -> Collection[str]:
            if one not in by_tag:
                return ()
            return section_keys(by_tag[one]).keys() & section_keys(by_tag[other]).keys()

        tree, choice, right = self._choice(tree, tag, tuple(by_tag), path)
        if choice and tag == "name":
            tree = self._renamed(tree, shared, path)
        section = self._section(tree, by_tag[choice], path) if choice else INVALID
        return section if right else INVALID

    def _choice(
        self, tree: Table, tag: str, known: tuple[str, ...], path: str, advice: str = ""
    ) -> tuple[Table, str | None, bool]:
        """Return a mapping, the choice among `known` that its `tag` names, and whether it is valid.

        For a misspelt choice, the likely one is returned, so that its keys are checked, too. A
        misspelt override of `experiment` has none, as the file's keys belong to the replaced one.
        """
        right = tag in tree.entries
        key = next((key for key in tree.entries if closest(key, [tag], SURE)), None)
        if not right and key is not None:
            self._refuse_unknown({key: tree.entries[key]}, [tag], path)
            others = {name: entry for name, entry in tree.entries.items() if name != key}
            tree = replace(tree, entries={tag: tree.entries[key], **others})
        inner = f"{path}.{tag}".lstrip(".")
        if tag not in tree.entries:
            name = next((key for key in tree.entries if closest(key, known, SURE)), None)
            meant = f"; write {{name: {name}, ...}}" if name else did_you_mean("", known, advice)
            self.note(tree.place, inner, f"missing{meant}")
            return tree, None, False
        written = tree.entries[tag].value
        self.places[inner] = written.place
        if (choice := self._literal(written, known, inner, advice)) is not INVALID:
            return tree, choice, right
        if not isinstance(written, Scalar) or not isinstance(written.value, str):
            return tree, None, False
        written_for = written.over if tag != "name" else None
        choice = None if written_for else closest(written.value, known, SURE)
        entry = Entry(written.place, replace(written, value=choice))
        return replace(tree, entries={**tree.entries, tag: entry}), choice, False

    def _literal(self, tree: Tree, choices: tuple[Any, ...], path: str, advice: str = "") -> Any:
        if isinstance(tree, Scalar) and tree.value in choices:
            return tree.value
        if isinstance(tree, Scalar) and isinstance(tree.value, str):
            # Some of PyTorch's layers, losses and optimizers are missing, without a substitute.
            why = why_not("nn", tree.value) or why_not("optim", tree.value)
            why = why if path.endswith("name") else None
            meant = did_you_mean(tree.value, choices, advice)
            said = told_why(why) if why else f"not known{meant}"
            return self.note(tree.place, path, f"{quoted(tree.value)} is {said}")
        return self._expected(tree, Literal[choices], path)

    def _items(self, tree: Tree, kind: str, inner: Any, hint: Any, path: str) -> Any:
        if not isinstance(tree, Items):
            return self._expected(tree, hint, path)
        hints = (inner,) * len(tree.items) if kind == "list" else inner
        if len(hints) != len(tree.items):
            message = f"expected {describe_hint(hint)}, got {len(tree.items)}"
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
            value = float(value)  # YAML itself spells them `.inf` and `.nan`
        # A boolean is an integer for Python, but never means one in a file.
        if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
            if math.isnan(value) or abs(value) > 1e300:
                return self.note(tree.place, path, f"must be a finite number, got {quoted(value)}")
            return float(value)
        if hint is Path and isinstance(value, str) and value and "\0" not in value:
            self.files[path] = tree.place.base / os.path.expanduser(value)  # noqa: PTH111
            return self.files[path]
        if type(value) is hint:
            return value
        return self._expected(tree, hint, path)

    def _section(self, tree: Tree, hint: type[Section], path: str) -> Any:
        keys = section_keys(hint)
        if is_null(tree):
            tree = Table({}, tree.place)  # for example, if all lines in it are comments
        tree = expand_shorthand(tree) if "name" in hint.alternatives else tree
        if not isinstance(tree, Table):
            return self._expected(tree, hint, path)
        tree = self._chosen(tree, hint, path)
        self._sections = self._sections if path else keys
        values, misspelt = self._values(tree, keys, path)
        unknown = misspelt | {name for name, value in values.items() if value is INVALID}
        section = partial_section(hint, values, unknown) if unknown else hint(**values)
        before = len(self.problems)
        with suppress(NotKnownError):
            for name, message in section.problems():
                inner = f"{path}.{name}".strip(".")
                self.note(self.places.nearest(inner) or tree.place, inner, message)
        return INVALID if len(self.problems) > before or unknown else section

    def _component(self, tree: Tree, registry: Any, path: str) -> Any:
        if not isinstance(tree := expand_shorthand(tree), Table):
            return self._expected(tree, Annotated[Component, registry], path)
        advice = f"--list {registry.plural} shows all, " * (len(registry.names) > MOST_CHOICES)
        advice += "--import FILE adds your own"
        tree, name, right = self._choice(tree, "name", registry.names, path, advice)
        if name is None:
            return INVALID
        tree = self._renamed(tree, registry.shared, path)
        keys = registry.keys(name)
        values, _ = self._values(tree, {"name": Key(str), **keys}, path, f" of {name}")
        if INVALID in values.values() or not right:
            return INVALID
        defaults = {k: key.default for k, key in keys.items() if key.default is not None}
        given = {**defaults, **values}
        arguments = {key: given[key] for key in keys if key in given}
        self.components[path] = Component(name, arguments, path, registry)
        return self.components[path]

    def _arguments(self, tree: Tree, keys: Mapping[str, Key], path: str) -> Any:
        if not isinstance(tree, Table):
            return self._expected(tree, dict, path)
        values, misspelt = self._values(tree, keys, path)
        if misspelt or INVALID in values.values():
            return INVALID
        return {key: values[key] for key in tree.entries}

    def _values(
        self, tree: Table, keys: Mapping[str, Key], path: str, owner: str = ""
    ) -> tuple[dict[str, Any], set[str]]:
        """Return the values of a mapping, and the keys that unknown keys probably mean."""
        misspelt = self._refuse_unknown(tree.entries, keys, path, owner)
        values: dict[str, Any] = {}
        for name, key in keys.items():
            inner = f"{path}.{name}".lstrip(".")
            if name in tree.entries:
                values[name] = self.read(tree.entries[name].value, key.hint, inner)
            elif key.default is REQUIRED:
                missing = name not in misspelt
                values[name] = self.note(tree.place, inner, "missing") if missing else INVALID
        return values, misspelt

    def _refuse_unknown(
        self, entries: Mapping[str, Entry], known: Collection[str], path: str, owner: str = ""
    ) -> set[str]:
        """Note the unknown keys; return the keys that they probably mean."""
        meant = set()
        for key in [key for key in entries if key not in known]:
            inner = f"{path}.{key if key.isidentifier() else quoted(key)}".lstrip(".")
            others = [h for h in self._homes(key) if h.split(".")[0] in self._sections]
            like, meaning = closest(key, known), did_you_mean(key, known)
            if others and inner not in others and like is None:
                meaning = f"; did you mean {' or '.join(map(quoted, others))}?"
            self.note(entries[key].key_place, inner, f"unknown key{owner}{meaning}")
            meant.add(like or key)
        return meant
