"""The schema for editors: up to date, true of every shipped configuration, false of mistakes."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nanotorch.train.config import ConfigError, Place
from nanotorch.train.load import load_config, parse_yaml, schema_text
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, write_example
from tests.train.test_config import plain

CONFIGS = Path(__file__).parents[2] / "configs"

TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
    "integer": int, "number": (int, float),
}  # fmt: skip


@functools.cache
def schema() -> dict[str, Any]:
    return dict(json.loads(schema_text()))


def is_type(value: Any, name: str) -> bool:
    """Return whether a value has a type of JSON, whose booleans are no numbers."""
    return isinstance(value, TYPES[name]) and (isinstance(value, bool) <= (name == "boolean"))


def refused(value: Any, node: dict[str, Any]) -> Iterator[str]:
    """Yield which of the words that the schema uses do not hold."""
    if "$ref" in node:
        yield from refused(value, schema()["definitions"][node["$ref"].rpartition("/")[2]])
    kinds = node.get("type", [])
    if kinds and not any(is_type(value, k) for k in ([kinds] if isinstance(kinds, str) else kinds)):
        yield f"{value!r} is no {kinds}"
        return
    if "enum" in node and value not in node["enum"]:
        yield f"{value!r} is none of {node['enum']}"
    if "const" in node and value != node["const"]:
        yield f"{value!r} is not {node['const']}"
    if "not" in node and not [*refused(value, node["not"])]:
        yield f"{value!r} is what it must not be"
    if "anyOf" in node and all([*refused(value, choice)] for choice in node["anyOf"]):
        yield f"{value!r} is nothing that it may be"
    if isinstance(value, dict):
        yield from refused_mapping(value, node)
    elif isinstance(value, list) and "items" in node:
        items = node["items"]
        if not node.get("minItems", 0) <= len(value) <= node.get("maxItems", len(value)):
            yield f"{value!r} has the wrong length"
        for index, item in enumerate(value):
            yield from refused(item, items[index] if isinstance(items, list) else items)
    elif is_type(value, "number"):
        low, high = node.get("minimum", value), node.get("maximum", value)
        above, below = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
        if not low <= value <= high or above == value or below == value:
            yield f"{value!r} is out of range"


def refused_mapping(value: dict[str, Any], node: dict[str, Any]) -> Iterator[str]:
    for key in node.get("required", []):
        if key not in value:
            yield f"{key} is missing"
    properties = node.get("properties", {})
    for key, item in value.items():
        if key in properties:
            yield from refused(item, properties[key])
        elif node.get("additionalProperties") is False:
            yield f"{key} is unknown"


def problems(text: str) -> list[str]:
    return list(
        refused(plain(parse_yaml(text, Place(source="x.yaml", line=1, column=1))), schema())
    )


def test_the_file_is_up_to_date() -> None:
    """Write it anew by `python scripts/train.py --schema > configs/schema.json`."""
    assert (CONFIGS / "schema.json").read_text("utf-8") == schema_text()


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_it_holds_for_every_shipped_configuration(path: Path) -> None:
    assert problems(path.read_text("utf-8")) == []


EMPTY = CLASSIFICATION[: CLASSIFICATION.index("log:")] + "log:\n  # every: 10\n"


@pytest.mark.parametrize("text", [REGRESSION, CLASSIFICATION, MINIMIZATION, EMPTY])
def test_it_holds_for_the_examples(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (REGRESSION, "experiment: regression", "experiment: regresion"),
        (REGRESSION, "out_features: 1", "out_feature: 1"),
        (REGRESSION, "out_features: 1", "out_features: 0"),
        (REGRESSION, "out_features: 1", "out_features: one"),
        (REGRESSION, "lr: 0.1", "lr: fast"),
        (REGRESSION, "{name: SGD, lr: 0.1}", "{name: Adam, betas: [0.9]}"),
        (REGRESSION, "name: MSELoss", "name: MSELos"),
        (REGRESSION, "epochs: 2", "epochs: 2.5"),
        (REGRESSION, "epochs: 2", "epochs: true"),
        (REGRESSION, "log:", "logs:"),
        (CLASSIFICATION, "ReLU", "Relu"),
        (CLASSIFICATION, "samples: 40", "samples: 1"),
        (CLASSIFICATION, "name: moons", "name: suns"),
        (MINIMIZATION, "iterations: 3", "iterations: x"),
        (MINIMIZATION, "start: [1, 2]", "start: [1, a]"),
    ],
)
def test_what_it_refuses_the_trainer_refuses(text: str, old: str, new: str) -> None:
    edited = text.replace(old, new)
    assert edited != text
    assert problems(edited)
    write_example(Path(), edited)
    with pytest.raises(ConfigError):
        load_config("x.yaml")


def test_a_file_that_inherits_may_leave_names_out() -> None:
    assert problems("inherit: base.yaml\noptimizer: {lr: 1}\n") == []
