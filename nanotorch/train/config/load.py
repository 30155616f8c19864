"""Reads, checks and writes configuration files; describes their keys to users and editors."""

import ast
import inspect
import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np

from nanotorch.train.config.components import (
    FUNCTIONS,
    REGISTRIES,
    SEARCHING,
    Components,
    build_errors,
    members_of,
)
from nanotorch.train.config.schema import FIT, GENERATORS, AnyConfig, Config, TrainedConfig
from nanotorch.train.config.sections import (
    COMMAND_LINE,
    COMMANDED,
    OVERRIDE_PATH,
    OVERRIDE_STEP,
    REQUIRED,
    SUFFIXES,
    SURE,
    SYNONYMS,
    Component,
    ConfigError,
    Entry,
    Items,
    Key,
    Noted,
    Origins,
    Place,
    Problem,
    Range,
    Reader,
    Scalar,
    Section,
    Step,
    Table,
    Tree,
    check_readable,
    closest,
    decode_text,
    describe_hint,
    did_you_mean,
    expand_shorthand,
    hint_form,
    is_null,
    place_within,
    plain_scalar,
    quoted,
    raise_all,
    read_failure,
    refusal,
    section_keys,
    shown_path,
    usage_error,
)
from nanotorch.train.training.metrics import screen

# YAML text becomes a tree; the overrides of the command line then change it.
#
# This part depends only on the syntax; `schema` defines the keys. It reads the events of the YAML
# parser, so that no tag constructs an object, the depth is bounded, and every value keeps its line
# and column.


DEEPEST = 40
LARGEST_FILE = 100_000
MOST_VALUES = 100_000
"""The most values in a file; values that aliases repeat count each time."""

SYNTAX = (
    ("node content", "the value is missing or incomplete", False),
    (r"found character '\\t'", "a tab cannot indent a line; use spaces", False),
    ("mapping values", "unexpected key: the indentation differs from the line above, or a "
     "text that contains ': ' needs quotes", False),
    ("expected <block end>", "the indentation differs from the lines above", False),
    ("expected ':'", "expected 'key: value', with a space after the colon", True),
    ("expected ',' or '}'", "a ',' or the closing '}' is missing after this '{'", True),
    ("expected ',' or ']'", "a ',' or the closing ']' is missing after this '['", True),
    ("quoted scalar", "the closing quote is missing", True),
    ("while scanning an alias", "a text that begins with '*' needs quotes", True),
    ("cannot start any token", "a text that begins with this character needs quotes", False),
)  # fmt: skip
"""A pattern of the parser's messages, our message, and whether it names the context's place."""


def read_config_text(path: Path, source: str) -> str:
    """Return the text of a configuration file; `source` is its name in messages."""
    if not source:
        raise usage_error("", "the file has no name")
    try:
        from nanotorch.serialization.files import read_limited  # slow to import

        return decode_text(read_limited(path, LARGEST_FILE), source)
    except OSError as error:
        message = f"cannot be read: {read_failure(error, path)}"
        raise refusal("", message, Place(source=source)) from None


def parse_yaml(text: str, start: Place, noted: Noted | None = None) -> Tree:
    """Return the tree of one YAML document; scalars follow YAML 1.2.

    Args:
        text: the document.
        start: the place where the document begins. A place without a line, such as an argument of
            the command, is the place of the whole document.
        noted: collects the problems that still leave a tree; without it, they are raised.

    Raises:
        ConfigError: if the text is not one valid document.
    """
    import yaml

    def at(mark: Any) -> Place:
        """Return the place of a parser's mark, which counts lines and columns from 0."""
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
            message = "a second document begins; a configuration is a single one"
            raise refusal("", message, at(event.start_mark))
    except yaml.MarkedYAMLError as error:
        what = ", ".join(part for part in (error.problem, error.context) if part)
        known = ((meant, begun) for said, meant, begun in SYNTAX if re.search(said, what))
        what, begun = next(known, (what, False))
        place = at(error.context_mark if begun else error.problem_mark or error.context_mark)
        shell = "" if start.line else "; quote the whole argument for the shell"
        raise refusal("", f"not valid YAML: {what}{shell}", place) from None
    except yaml.reader.ReaderError as error:
        message = f"not valid YAML: the character {chr(error.character)!r} is not allowed"
        place = place_within(start.source, 1, text, error.position) if start.line else start
        raise refusal("", message, place) from None
    with nullcontext() if noted is None else noted:
        raise_all(planter.problems)
    return tree


class Planter:
    """Turns events of the parser into a tree; `problems` collects duplicate keys.

    Args:
        events: the events.
        at: returns the place of a mark of the parser.
    """

    def __init__(self, events: Iterator[Any], at: Callable[[Any], Place]) -> None:
        self._events, self._at = events, at
        self._known: dict[str | None, tuple[Tree, int] | None] = {}
        """The tree and the size of each anchor; None while its own tree is being read."""
        self.problems: list[Problem] = []

    def plant(self, event: Any, steps: Sequence[Step]) -> tuple[Tree, int]:
        """Return the tree that begins with `event`, and the number of values in it."""
        import yaml

        place, name = self._at(event.start_mark), event.anchor
        if isinstance(event, yaml.AliasEvent):
            if shared := self._known.get(name):
                return shared
            lacks = "is inside its own anchor" if name in self._known else "has no anchor before it"
            raise refusal("", f"the alias *{name} {lacks}", place)
        if event.tag is not None:
            raise refusal("", f"the tag {quoted(event.tag)} is not allowed; remove it", place)
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if event.style else plain_scalar(event.value)
            self._known[name] = scalar = Scalar(value, place), 1
            return scalar
        if len(steps) == DEEPEST:
            raise refusal("", f"nested more than {DEEPEST} levels deep", place)
        self._known[name] = None
        is_list = isinstance(event, yaml.SequenceStartEvent)
        tree, size = self._list(place, steps) if is_list else self._mapping(place, steps)
        if size > MOST_VALUES:
            message = f"more than {MOST_VALUES:,} values, including those that aliases repeat"
            raise ConfigError([*self.problems, Problem("", message, place)])
        self._known[name] = self._known[name] or (tree, size)  # a value inside may reuse the name
        return tree, size

    def _inner(self) -> Iterator[Any]:
        """Yield the first event of each value in a list or a mapping."""
        import yaml

        while not isinstance(event := next(self._events), yaml.CollectionEndEvent):
            yield event

    def _list(self, place: Place, steps: Sequence[Step]) -> tuple[Tree, int]:
        planted = [self.plant(event, [*steps, k]) for k, event in enumerate(self._inner())]
        return Items([tree for tree, _ in planted], place), 1 + sum(size for _, size in planted)

    def _mapping(self, place: Place, steps: Sequence[Step]) -> tuple[Tree, int]:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        """The entries of the `<<` keys; the first of equal keys wins."""
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
                message = "duplicate key" + (f"; the first is on line {line}" if line else "")
                self.problems.append(Problem(path, message, key_place))
            else:
                entries[key] = Entry(key_place, value)
        return Table({**merged, **entries}, place), size


def with_overrides(tree: Tree, overrides: Sequence[str], noted: Noted) -> Tree:
    """Return `tree` with the overrides of the command line applied in order.

    Values are YAML. Relative paths in them begin at the current directory, as in any argument of
    a command.

    Args:
        tree: the configuration.
        overrides: texts of the form `key=value`.
        noted: collects the problems of the overrides.
    """
    if "=" in overrides:
        raise usage_error(" ".join(overrides), "write key=value without spaces around the '='")
    for override in overrides:
        shown = override if override.isprintable() else quoted(override)[1:-1]
        place = Place(source=COMMAND_LINE + shown, rank=COMMANDED)
        path, equals, text = override.partition("=")
        with noted:
            if not equals or not OVERRIDE_PATH.fullmatch(path):
                message = "expected key=value, as in train.epochs=5 or"
                raise refusal("", f"{message} model.layers.0.out_features=8", place)
            if path == "inherit":
                raise refusal("", "only a file can inherit from another one", place)
            steps = [name or int(index) for name, index in OVERRIDE_STEP.findall(path)]
            value = parse_yaml(text, place) if text.strip() else Scalar(None, place)
            tree = replace_value(tree, steps, value)
    return tree


def path_text(steps: Sequence[Step]) -> str:
    """Return steps as a dotted path, such as `model.layers[0].name`."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def overlay(before: Tree, tree: Tree) -> Tree:
    """Return `tree` as the replacement of `before`; a scalar remembers it in `over`."""
    return replace(tree, over=before) if isinstance(tree, Scalar) else tree


def replace_value(tree: Tree, steps: Sequence[Step], value: Tree, done: int = 0) -> Tree:
    """Return a new tree with `value` at `steps`; `tree` itself, which aliases share, stays."""
    if done == len(steps):
        return overlay(tree, value)
    step, here = steps[done], path_text(steps[:done])
    if isinstance(step, int):
        if not isinstance(tree, Items):
            raise refusal(here, f"is {tree}, not a list", value.place)
        count = len(tree.items)
        if not -count <= step <= count:
            message = f"the list has {count} item{'s' * (count != 1)}, counted from [0]"
            raise refusal(path_text(steps[: done + 1]), message, value.place)
        items = [*tree.items, *[Scalar(None, value.place)] * (step == count)]  # appends an item
        items[step] = replace_value(items[step], steps, value, done + 1)
        return replace(tree, items=items)
    if is_null(tree):
        tree = Table({}, value.place)  # the file leaves out this section
    tree = expand_shorthand(tree)
    if not isinstance(tree, Table):
        raise refusal(here, f"is {tree}, not a section", value.place)
    old = tree.entries.get(step, Entry(value.place, Scalar(None, value.place)))
    new = replace_value(old.value, steps, value, done + 1)
    # The key keeps its place in the file, unless the override replaces this very value.
    key_place = value.place if done + 1 == len(steps) else old.key_place
    return replace(tree, entries={**tree.entries, step: Entry(key_place, new)})


# `inherit: base.yaml`: a configuration with only the differences from another one.


KEY = "inherit"
MOST_BASES = 10


def read_tree(
    path: Path,
    source: str,
    noted: Noted,
    within: tuple[Path, ...] = (),
    known: dict[Path, Tree] | None = None,
) -> Tree:
    """Return the tree of a file, merged with the trees of the files that it inherits from.

    Args:
        path: the file.
        source: its name in messages.
        noted: collects the problems that still leave a tree.
        within: the files that inherit from this one.
        known: keeps the trees of base files, so that each is read once.
    """
    text = read_config_text(path, source)
    known = {} if known is None else known
    place = Place(source=source, line=1, column=1, base=path.resolve().parent, rank=-len(known))
    tree = parse_yaml(text, place, noted)
    if not isinstance(tree, Table) or KEY not in tree.entries:
        return tree
    entries = dict(tree.entries)
    names = entries.pop(KEY).value
    inner = (*within, path.resolve())
    result: Tree = replace(tree, entries=entries)
    # A later tree wins over an earlier one; the file itself comes last, after its bases.
    bases: list[Path] = []
    for name in names.items if isinstance(names, Items) else [names]:
        if not isinstance(name, Scalar) or not isinstance(name.value, str) or "\0" in name.value:
            raise refusal(KEY, f"expected a file name, got {name}", name.place)
        if len(inner) >= MOST_BASES:
            raise refusal(KEY, f"more than {MOST_BASES} files inherit from one another", name.place)
        bases.append(name.place.base / name.value)
        check_readable(KEY, bases[-1], name.place)
        if bases[-1].resolve() in inner:
            raise refusal(KEY, f"{quoted(name.value)} inherits from itself", name.place)
    for file, base in {base.resolve(): base for base in reversed(bases)}.items():
        if file not in known:
            known[file] = tree  # increases `len(known)`, so that the base's bases rank lower
            known[file] = read_tree(base, shown_path(base), noted, inner, known)
        inherited = known[file]
        if not isinstance(inherited, Table):
            raise refusal("", f"expected sections to inherit, got {inherited}", inherited.place)
        result = merge_trees(inherited, result)
    return result


def merge_trees(base: Tree, tree: Tree) -> Tree:
    """Return `base` with the values of `tree`, which replace whole lists."""
    base = expand_shorthand(base) if isinstance(tree, Table) else base
    if not isinstance(base, Table) or not isinstance(tree, Table):
        return overlay(base, tree)
    entries = dict(base.entries)
    for key, entry in tree.entries.items():
        if key in entries:
            entry = Entry(entry.key_place, merge_trees(entries[key].value, entry.value))
        entries[key] = entry
    return replace(tree, entries=entries)


# The sections of each key, for messages about misplaced keys, such as `lr`.


MOST_HOMES = 2
"""The most sections of a key with a home; a key of more sections, such as `name`, has none."""


@cache
def all_homes() -> Mapping[str, Sequence[str]]:
    """Return section or key -> its dotted paths, for keys in at most `MOST_HOMES` places."""
    found: dict[str, dict[str, None]] = {}
    for kind in get_args(Config):
        for section, key in section_keys(kind).items():
            found.setdefault(section, {})[section] = None
            for name in keys_of(key.hint):
                found.setdefault(name, {})[f"{section}.{name}"] = None
    return {key: [*paths] for key, paths in found.items() if len(paths) <= MOST_HOMES}


def homes(key: str) -> Sequence[str]:
    """Return the dotted paths of a key, which may be misspelt."""
    meant = closest(key, all_homes(), SURE) or SYNONYMS.get(closest(key, SYNONYMS, SURE) or "", "")
    return all_homes().get(meant, ())


def keys_of(hint: Any) -> Iterator[str]:
    """Yield the possible keys of a section or a component."""
    for form, part in map(hint_form, members_of(hint)):
        if form == "section":
            yield from section_keys(part)
        elif form == "component":
            yield from ("name", *chain.from_iterable(map(part.keys, part.names)))


# The checked configuration of a file and the overrides of the command line.


@dataclass(frozen=True)
class LoadedConfig:
    """A configuration, with the origin of each of its values."""

    config: AnyConfig
    origins: Origins = field(repr=False)
    notes: tuple[str, ...] = ()
    """Notes for the user about effects of the command line, a line each."""
    source: str | Path | Mapping[str, Any] = field(default="", repr=False, compare=False)
    """What `load_config` has read, without the overrides."""
    overrides: Sequence[str] = field(default=(), repr=False, compare=False)
    """The values that replace those of the source, each `key=value`."""

    @contextmanager
    def told(self, build: Callable[["LoadedConfig"], object] | None = None) -> Iterator[None]:
        """Add the places of values to the problems of a `ConfigError` in the block.

        If `build` accepts the file alone, the overrides are added as their cause.
        """
        try:
            yield
        except ConfigError as error:
            found = self.origins.placed(error.problems)
            if build and self.overrides and not all(p.commanded for p in found):
                with suppress(ConfigError):
                    build(load_config(self.source))
                    found += usage_error(" ".join(self.overrides), CAUSED).problems
            raise ConfigError(found) from error.__cause__


def load_config(
    path: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()
) -> LoadedConfig:
    """Return the configuration in a file.

        load_config("configs/two_moons.yaml", ["train.epochs=5"])

    Args:
        path: a YAML file, the name of one that nanotorch ships, such as `two_moons`, or a mapping
            with the sections of a file.
        overrides: each `key=value`, as on the command line; they win over the file.

    Raises:
        ConfigError: if anything is wrong; names every mistake.
        TypeError: if `path` or an override is of another type.
    """
    noted = Noted()
    if not isinstance(path, str | Path | Mapping):
        raise TypeError(f"expected the name of a file or configuration, or a mapping; got {path!r}")
    for override in overrides:
        if not isinstance(override, str):
            raise TypeError(f"overrides are texts, key=value, one argument each; got {override!r}")
    if isinstance(path, Mapping):
        source, name = "the mapping", "run"
        written = parse_yaml(flow(path), Place(source=source), noted)
    else:
        name = str(path)
        if BARE_NAME.fullmatch(name) and not Path(name).exists():
            files = shipped()
            here = [file.name for file in Path().iterdir() if file.suffix in SUFFIXES]
            if name not in files:
                meant = did_you_mean(name, [*here, *files])
                message = f"there is no such file or configuration{meant}"
                raise refusal("", message, Place(source=name))
            path = files[name]
        source, name = str(path), run_name(Path(path).stem)
        written = read_tree(Path(path), source, noted)
    tree = with_overrides(written, overrides, noted)
    if not isinstance(tree, Table):
        message = f"expected sections, such as 'model:' and 'train:', got {tree}"
        raise ConfigError([*noted, Problem("", message, tree.place)])
    reader = Reader(homes)
    config = reader.read(tree, Config, "")
    loaded = LoadedConfig(config, reader.places, source=path, overrides=overrides)
    if noted or reader.problems:
        noted += [*reader.problems, *build_errors(reader.components.values())]
        for data_path, file in reader.files.items():
            with noted:
                if data_path.startswith("data."):
                    check_readable(data_path, file)
        with loaded.told(id):
            placed = reader.places.placed(noted)
            raise ConfigError(sorted(placed, key=lambda p: (p.commanded, *p.position)))
    if config.log.name is None:
        config = replace(config, log=replace(config.log, name=name))
    if (
        isinstance(config, TrainedConfig)
        and config.optimizer.name in SEARCHING
        and config.train.batch_size
        and reader.places["optimizer.name"].rank == COMMANDED
    ):
        best = "works best with all samples at once: train.batch_size=null"
        reader.notes.append(f"optimizer: {config.optimizer.name} {best}")
    return replace(loaded, config=config, notes=tuple(reader.notes))


CAUSED = "the file alone is valid; this causes the mistakes above"
BARE_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)


def shipped() -> dict[str, Path]:
    """Return the configuration files that nanotorch ships, by name."""
    package = Path(__file__).parents[2]
    # A wheel has them in the package, a checkout next to it.
    folders = (folder / "configs" for folder in (package, package.parent))
    return next(({p.stem: p for p in sorted(f.glob("*.yaml"))} for f in folders if f.is_dir()), {})


def run_name(stem: str) -> str:
    """Return a valid name for the runs of a file; `stem` is its name without suffix."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", stem).lstrip(".-")[:100] or "run"
    return f"{name}_" if name == "latest.txt" else name


def settings_of(path: Path) -> dict[str, str]:
    """Return the single values of a file by dotted name; {} for a damaged file."""
    try:
        return settings_in(read_config_text(path, str(path)))
    except ConfigError:
        return {}


def settings_in(text: str) -> dict[str, str]:
    """Return the single values of a configuration by dotted name."""
    tree = parse_yaml(text, Place(source="", line=1))
    return {path_text(steps): value for steps, value in leaves(tree, [])}


def leaves(tree: Tree, steps: list[Any]) -> Iterator[tuple[list[Any], str]]:
    """Yield the steps to each single value of a tree, and the value as text."""
    if isinstance(tree, Scalar):
        value = tree.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 0.0 is the same setting as 0
        yield steps, flow(value)
    elif isinstance(tree, Items):
        for index, item in enumerate(tree.items):
            yield from leaves(item, [*steps, index])
    else:
        for key, entry in tree.entries.items():
            yield from leaves(entry.value, [*steps, key])


# A configuration as YAML, with the origin of each value in a comment.


WIDTH = 38
PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*", re.ASCII)
YAML_1_1 = {"on", "off", "yes", "no", "y", "n"}
"""Words that programs with YAML 1.1 read as booleans."""


def dump_config(loaded: LoadedConfig) -> str:
    """Return a configuration as YAML, defaults included; `load_config` reads the same back."""
    lines = ["# What this run used, and where each value came from. It can be run again."]
    fitted = loaded.config.experiment == FIT
    if fitted:
        lines = ["# The arguments of `fit`; a program has the model and the samples."]
    places = {path: str(place) for path, place in loaded.origins.items()}
    whole = loaded.origins.get("experiment", Place(source="")).source
    if (file := Path(whole)).is_absolute():  # a shipped configuration, for example
        lines.append(f"# {file.name} is {whole}")
        places = {path: place.replace(whole, file.name) for path, place in places.items()}
    for text, path in block(loaded.config, "", ""):
        if path is not None and not fitted:
            text = f"{text:<{WIDTH}}  # {places.get(path, 'default')}"
        lines.append(text)
    return "\n".join(lines) + "\n"


def plain(value: Section | Component) -> dict[str, Any]:
    """Return a section or a component as a mapping; `name` is its first key."""
    if isinstance(value, Component):
        return {"name": value.name, **value.arguments}
    given = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
    return {"name": given.pop("name"), **given} if "name" in given else given


def block(value: Any, path: str, indent: str) -> Iterator[tuple[str, str | None]]:
    """Yield lines of YAML, each with the path of its value; the path of a heading is None."""
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
    """Return a plain value as YAML on one line."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(flow(item) for item in value)}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str | Path):
        return text_scalar(str(value))
    if isinstance(value, Section):
        return flow(plain(value))
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value) if isinstance(value, int | float) else text_scalar(repr(value))


def text_scalar(text: str) -> str:
    """Return text as a YAML scalar, quoted unless every reader keeps it as it is."""
    if PLAIN.fullmatch(text) and text.lower() not in YAML_1_1 and plain_scalar(text) == text:
        return text
    escaped = re.sub(r'["\\]', r"\\\g<0>", text)
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'


# The catalogue for users: every section and every component with its keys.


EVERYTHING = "all"
INDENT = 12
"""The column at which the names of the index begin."""
NO_CALLBACKS = """\
only those that a program registers; built-in ones have their own sections: train, scheduler,
early_stopping, averaging, checkpoint and log"""

parsed = cache(lambda source: ast.parse(source))
Keys = Mapping[str, Key]
Texts = Mapping[str, str]


def field_sentences(section: type) -> Mapping[str, str]:
    """Return field -> the sentence under it, for a section and its bases."""
    found: dict[str, str] = {}
    for base in reversed(section.__mro__[:-1]):
        try:
            tree = parsed(inspect.getsource(sys.modules[base.__module__]))
        except (KeyError, OSError, TypeError):  # a class without a source file
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == base.__qualname__:
                for pair in pairwise(node.body):
                    match pair:
                        case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                            found[name] = " ".join(text.split())
    return found


def first_sentence(thing: Any) -> str:
    """Return the first line of an object's own docstring, not of a base's; "" without one."""
    return inspect.cleandoc(getattr(thing, "__doc__", None) or "").partition("\n")[0]


def describe_entry(
    heading: str, thing: Any, keys: Keys, sentences: Texts | None = None, followed: Any = ()
) -> Iterator[str]:
    """Yield a heading with the first sentence of `thing`, then a text for each of its keys.

    The text has the key's sentence, type and default.
    """
    sentence = first_sentence(thing).removeprefix(f"{heading}: ")
    yield "\n".join(wrap_text(f"{heading}: {sentence}", "    "))
    for name, key in keys.items():
        words = describe_hint(key.hint)
        if name in followed:
            words += "; inferred from the input"
        else:
            nullable = type(None) in members_of(key.hint) and key.default is not None
            words += " or null" * nullable
            if key.default is not REQUIRED:
                own = isinstance(key.default, Section)
                words += f"; default {'those of its keys' if own else flow(key.default)}"
        told = words if sentences is None else f"{sentences.get(name, '')} ({words})"
        yield from wrap_text(f"  {name}: {told}", "    ")


def wrap_text(text: str, indent: str) -> list[str]:
    """Return the lines of a text that fit the screen; all but the first are indented."""
    return textwrap.wrap(text, screen(), subsequent_indent=indent, break_on_hyphens=False)


def about_section(section: type[Section], heading: str) -> Iterator[str]:
    """Yield the heading of a section and the texts of its fields, as `describe_entry` does."""
    return describe_entry(heading, section, section_keys(section), field_sentences(section))


def sections_within(section: type[Section], path: str) -> Iterator[tuple[str, type[Section]]]:
    """Yield a section and the sections in it, each after its path."""
    yield path, section
    for name, key in section_keys(section).items():
        for kind, inner in map(hint_form, members_of(key.hint)):
            if kind == "section":
                yield from sections_within(inner, f"{path}.{name}")


def catalogue_kinds() -> Mapping[str, Mapping[str, Iterable[str]]]:
    """Return kind -> name -> the lines about this name."""
    found: dict[str, dict[str, Iterable[str]]] = {"sections": {}}
    for config in get_args(Config):
        experiments = ", ".join(get_args(section_keys(config)["experiment"].hint))
        for path, section in sections_within(config, experiments):
            found["sections"][path] = about_section(section, path)
    for r in REGISTRIES:
        found[r.plural] = {
            n: describe_entry(n, r.factory(n), r.keys(n), None, r.followed(n)) for n in r.names
        }
    found["generators"] = {n: about_section(of, n) for n, of in GENERATORS.sections.items()}
    found["functions"] = {
        n: [*wrap_text(f"{n}: {f.sentence}", "  "), *wrap_text(f"  f(x) = {f.shown}", "    ")]
        for n, f in FUNCTIONS.items()
    }
    return found


def catalogue(word: str) -> str:
    """Return the part of the catalogue that `word` chooses.

    Args:
        word: a kind, such as `layers` or `layer`; a section, such as `train`; a name, such as
            `Linear`; a key, such as `epochs` or `train.epochs`, for the section or kind that has
            it; `all` for everything; "" for the index.

    Raises:
        ConfigError: if there is none.
    """
    every = catalogue_kinds()
    if not word:
        return index(every)
    word = listed_word(word, every)
    inner = [n for n in every["sections"] if word in n.rpartition(".")[2].split(", ")]
    if inner:  # several experiments may have it, such as `train`
        texts = dict.fromkeys("\n".join(list(every["sections"][name])[1:]) for name in inner)
        more = f"\n\nThe names: --list {word}s" if f"{word}s" in every else ""
        return f"{word}:\n" + "\nor\n".join(texts) + more
    chosen = {word: every[word]} if word in every else every
    lines: list[str] = []
    for kind, names in chosen.items():
        if word in names:
            return "\n".join(names[word])
        inner = [line for about in names.values() for line in about]
        lines += [f"# {kind}", "", *(inner or [NO_CALLBACKS]), ""]
    if word == EVERYTHING or word in every:
        return "\n".join(lines).rstrip()
    advice = f"the kinds are {', '.join(every)}, and --list KIND lists the names of one"
    if meant := closest(word, listed_names(every)):
        advice = f"did you mean '{meant}'?"
    raise usage_error(f"--list {word}", f"not known; {advice}")


def listed_names(every: Mapping[str, Mapping[str, Iterable[str]]]) -> list[str]:
    """Return the kinds, and the names of each kind; a section's name is the end of its path."""
    names = [*every, *chain.from_iterable(every.values())]
    return [text for name in names for text in name.rpartition(".")[2].split(", ")]


def listed_word(word: str, every: Mapping[str, Mapping[str, Iterable[str]]]) -> str:
    """Return the name or kind in the catalogue that `word` means; else `word` itself."""
    last, known = word.rpartition(".")[2], listed_names(every)
    paths = all_homes().get(last) or all_homes().get(last.removesuffix("s"), ())
    sections = (path.partition(".")[0] for path in (word, *paths))
    for text in (word, last, *sections, *["sections"] * len(paths)):
        if text in known:
            return text
        for kind in every if len(text) > 3 else ():
            if kind.startswith(text.removesuffix("s")):  # in the singular, for example
                return kind
    return word


def index(every: Mapping[str, Mapping[str, Iterable[str]]]) -> str:
    """Return the names of each kind, and the commands that show more."""
    lines = ["What a configuration can contain, by kind:", ""]
    for kind, names in every.items():
        last = dict.fromkeys(name.rpartition(".")[2] for name in names)
        shown = ", ".join(last) or "those that your program registers"
        lines += wrap_text(f"{kind:{INDENT}}{shown}", " " * INDENT)
    more = ["train, layers or Linear: more about a section, a kind or a name", "all: everything"]
    return "\n".join([*lines, "", *(f"--list {line}" for line in more)])


# The JSON schema of configuration files, for editors that complete and check during typing.
#
#     # yaml-language-server: $schema=schema.json
#
# It describes names, types and ranges. Only `--check` finds conflicts between values, and missing
# values, which a file may inherit from another one.


DIALECT = "http://json-schema.org/draft-07/schema#"
JSON_TYPES: Mapping[Any, str] = {
    bool: "boolean", int: "integer", float: "number", str: "string", Path: "string",
    type(None): "null",
}  # fmt: skip
NAMELESS = {"type": "object", "not": {"required": ["name"]}}
"""A mapping without `name`, which an inherited file may have."""

Node = dict[str, Any]


def schema_text() -> str:
    """Return the text of `configs/schema.json`."""
    return json.dumps(Builder().schema(), indent=1, ensure_ascii=False) + "\n"


class Builder:
    """Converts the type hints of configurations to a JSON schema."""

    def __init__(self) -> None:
        self._definitions: dict[str, Node] = {}

    def schema(self) -> Node:
        """Return the whole schema."""
        inherited: Node = {"type": ["string", "array"], "items": {"type": "string"}}
        inherited["description"] = "Files whose values hold where this one says nothing."
        found = [self._section(config) for config in get_args(Config)]
        for node in found:
            node["properties"] = {"inherit": inherited, **node["properties"]}
        title = "A configuration of nanotorch's trainer"
        whole = {"$schema": DIALECT, "title": title, "anyOf": found}
        return {**whole, "definitions": self._definitions}

    def _node(self, hint: Any) -> Node:
        match hint_form(hint):
            case "component", registry:
                return self._defined(registry.kind.partition(" ")[2], self._components, registry)
            case "chosen", registry:
                sections = [self._node(section) for section in registry.sections.values()]
                return {"anyOf": [{"enum": [*registry.sections]}, *sections, NAMELESS]}
            case "arguments", keys:
                return self._closed(None, keys, {})
            case "limited", (inner, Range() as bounds):
                words = {"minimum": bounds.low, "exclusiveMinimum": bounds.above}
                words |= {"maximum": bounds.high, "exclusiveMaximum": bounds.below}
                limits = {word: value for word, value in words.items() if abs(value) < math.inf}
                return self._node(inner) | limits
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
        return {"type": JSON_TYPES[hint]}

    def _defined(self, name: str, make: Callable[[Any], Node], of: Any) -> Node:
        if name not in self._definitions:
            self._definitions[name] = {}  # for definitions that contain themselves
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
        """Return the schema of a mapping with these keys and no others."""
        for name, key in keys.items():
            properties[name] = node = {**self._node(key.hint)}
            if isinstance(key.default, Section):  # null, if all lines in it are comments
                properties[name] = node = {"anyOf": [node, {"type": "null"}]}
            if sentences is not None:
                node["description"] = sentences[name]
            if isinstance(key.default, bool | int | float | str | list | tuple):
                node["default"] = key.default
        required = [name for name in ("name",) if {"enum", "const"} & {*properties.get(name, ())}]
        if of is None:  # arguments are not inherited from other files
            required = [name for name, key in keys.items() if key.default is REQUIRED]
        whole: Node = {"type": "object", "properties": properties, "additionalProperties": False}
        whole |= {"required": required} if required else {}
        return whole | ({"description": first_sentence(of)} if of else {})
