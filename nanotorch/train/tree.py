"""A parsed configuration file: scalars, lists and mappings that remember where they stand."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .problems import ConfigError, Place, Problem, quoted

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


def refuse_loss(old: Tree, steps: Sequence[Step], value: Tree) -> None:
    """Refuse a bare name in place of a component with arguments, which would be lost unseen."""
    if not isinstance(old, Table) or not isinstance(value, Scalar) or "name" not in old.entries:
        return
    here = path_text(steps)
    lost = [f"{here}.{key}" for key in old.entries if key != "name"]
    if lost and isinstance(value.value, str):
        message = f"would drop {', '.join(lost)}; to keep them, write {here}.name={value.value}"
        message += f", else {here}={{name: {value.value}}}"
        raise ConfigError([Problem(value.place, here, message)])


def replaced(tree: Tree, steps: Sequence[Step], value: Tree, done: int = 0) -> Tree:
    """Return `tree` with `value` at the end of `steps`; what aliases share stays as it was."""
    if done == len(steps):
        refuse_loss(tree, steps, value)
        return value
    step, here = steps[done], path_text(steps[:done])
    if isinstance(step, int):
        if not isinstance(tree, Items):
            raise ConfigError([Problem(value.place, here, f"is {tree}, not a list")])
        if step >= len(tree.items):
            count = len(tree.items)
            message = f"the list has {count} item{'s' * (count != 1)}, counted from [0]"
            raise ConfigError([Problem(value.place, path_text(steps[: done + 1]), message)])
        items = list(tree.items)
        items[step] = replaced(items[step], steps, value, done + 1)
        return replace(tree, items=items)
    if isinstance(tree, Scalar) and tree.value is None:
        tree = Table({}, value.place)  # a section that the file left out
    elif isinstance(tree, Scalar) and isinstance(tree.value, str):
        tree = Table({"name": Entry(tree.place, tree)}, tree.place)  # `- ReLU` for short
    if not isinstance(tree, Table):
        raise ConfigError([Problem(value.place, here, f"is {tree}, not a section")])
    old = tree.entries.get(step, Entry(value.place, Scalar(None, value.place)))
    new = replaced(old.value, steps, value, done + 1)
    # The key stands where the file has it, unless this very value is what is replaced.
    key_place = value.place if done + 1 == len(steps) else old.key_place
    return replace(tree, entries={**tree.entries, step: Entry(key_place, new)})
