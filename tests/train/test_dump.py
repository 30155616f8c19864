"""A resolved configuration says where everything came from, and can be run again."""

from pathlib import Path

import pytest

from nanotorch.train.config import Place, Scalar
from nanotorch.train.load import dump_config, flow, load_config, parse_yaml, text_scalar
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, write_example

TRICKY = REGRESSION.replace("target: y", "target: 'on'\n  features: [\"a: b\", '1', 'ü #\\\"']")


@pytest.mark.parametrize("text", [REGRESSION, CLASSIFICATION, MINIMIZATION, TRICKY])
@pytest.mark.parametrize("override", ["seed=3", "optimizer={name: Adam, lr: 1e-7}"])
def test_what_is_dumped_loads_as_the_same(text: str, override: str) -> None:
    write_example(Path(), text)
    loaded = load_config("x.yaml", [override])
    Path("elsewhere").mkdir()
    path = Path("elsewhere/config.yaml")
    path.write_text(dump_config(loaded), "utf-8")
    assert load_config(path).config == loaded.config


def test_every_value_has_an_origin() -> None:
    write_example(Path(), REGRESSION)
    lines = dump_config(load_config("x.yaml", ["optimizer.momentum=0.9"])).splitlines()
    shown = {line.split("#")[0].strip(): line.split("# ")[1] for line in lines if " # " in line}
    assert shown["lr: 0.1"] == "x.yaml:9:28"
    assert shown["momentum: 0.9"] == "command line: optimizer.momentum=0.9"
    assert shown["seed: 0"] == "default"
    assert shown["out_features: 1"] == "x.yaml:7:36"
    assert shown["- name: Linear"] == "x.yaml:7:14"
    headings = [line for line in lines[1:] if "#" not in line]
    assert all(line.rstrip().endswith(":") for line in headings)


def test_what_is_left_out_is_shown_as_well() -> None:
    write_example(Path(), REGRESSION)
    lines = dump_config(load_config("x.yaml")).splitlines()
    assert f"{'early_stopping: null':<38}  # default" in lines
    assert f"{'  time_limit: null':<38}  # default" in lines


def test_a_batch_of_everything_is_dumped_though_it_is_null() -> None:
    write_example(Path(), REGRESSION)
    assert "batch_size: null" in dump_config(load_config("x.yaml", ["train.batch_size=null"]))


@pytest.mark.parametrize(
    "text",
    ["plain", "a/b-c_d.csv", "on", "Yes", "1", "1e-3", "010", "", " ", "~", "null", "a: b", "#x",
     'q"uo\\te', "ü", "tab\t", "new\nline", "\x7f\x85\u2028", "\ue000", "🙂", "-x", "*x", "x:"],
)  # fmt: skip
def test_any_text_survives(text: str) -> None:
    place = Place(source="x", line=1, column=1)
    tree = parse_yaml(text_scalar(text), place)
    assert isinstance(tree, Scalar)
    assert tree.value == text


def test_plain_values_stand_on_one_line() -> None:
    assert (
        flow({"a": [1, 2.5, None], "b": (True, "x y")}) == '{a: [1, 2.5, null], b: [true, "x y"]}'
    )
