"""Configurations: every mistake is named, with its place, and all of them at once."""

import functools
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from nanotorch.train.config import load
from nanotorch.train.config.components import FUNCTIONS, REGISTRIES
from nanotorch.train.config.load import (
    catalogue,
    catalogue_kinds,
    dump_config,
    field_sentences,
    flow,
    load_config,
    parse_yaml,
    run_name,
    schema_text,
    sections_within,
    text_scalar,
)
from nanotorch.train.config.schema import (
    GENERATORS,
    Averaging,
    Checkpoint,
    Config,
    Data,
    EarlyStopping,
    Line,
    Log,
    Moons,
    Split,
    SupervisedConfig,
    Train,
)
from nanotorch.train.config.sections import MOST_PROBLEMS, ConfigError, Place, Scalar, section_keys
from nanotorch.train.runs.run import build_experiment
from tests.train.config.test_sections import plain
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    loaded,
    mistake,
    refusal_of,
    said,
    write_example,
)

refusal = refusal_of(loaded)


def edited(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def test_a_configuration_becomes_frozen_sections() -> None:
    config = loaded(REGRESSION, "seed=7", "data.split.test=0.15").config
    assert config.seed == 7
    assert config.data == Data(csv=Path("table.csv").resolve(), target="y", split=Split())
    shares = {
        "{}": (0.7, 0.15, 0.15),
        "{train: 0.8, test: 0.2}": (0.8, 0, 0.2),
        "{train: 0.8}": (0.8, 0.1, 0.1),
        "{validation: 0, test: 0}": (1, 0, 0),
        "{train: 0.5, validation: null}": (0.5, 0.25, 0.25),
    }
    for given, parts in shares.items():
        split = loaded(REGRESSION, f"data.split={given}").config.data.split
        assert (split.train, split.validation, split.test) == parts
    assert [layer.name for layer in config.model.layers] == ["Linear"]
    assert config.optimizer.arguments["lr"] == 0.1
    assert config.optimizer.arguments["momentum"] == 0
    assert config.log.name == "x"
    with pytest.raises(AttributeError):
        config.seed = 8  # type: ignore[misc]
    text = CLASSIFICATION[: CLASSIFICATION.index("log:")]  # what has no content has its defaults
    assert loaded(f"{text}log:\n  # every: 10\ncheckpoint: ~\n").config == loaded(text).config
    # A component given by its name gets arguments.
    config = loaded(CLASSIFICATION, "model.layers[1].inplace=true", "loss.pos_weight=2").config
    assert config.model.layers[1].arguments == {"inplace": True}
    assert config.loss.arguments["pos_weight"] == 2
    assert config.data.generator == Moons(name="moons", samples=40)
    text = edited(REGRESSION, "csv: table.csv\n  target: y", "generator: {name: line, low: -2}")
    assert loaded(text).config.data.generator == Line(name="line", low=-2.0)


def test_files_are_relative_to_where_their_name_is_written(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write_example(tmp_path / "deep")
    Path("x.yaml").write_text("inherit: deep/x.yaml\n", "utf-8")
    for path, override, csv in (
        ("deep/x.yaml", "seed=1", tmp_path / "deep/table.csv"),
        ("x.yaml", "seed=1", tmp_path / "deep/table.csv"),
        ("deep/x.yaml", "data.csv=other.csv", Path("other.csv")),
    ):
        assert load_config(path, [override]).config.data.csv == csv


REGRESSION_ERRORS = {
    # Keys.
    ("epochs: 2", "epoch: 2"): "x.yaml:10:9: train.epoch: unknown key; did you mean 'epochs'?",
    ("log:", "'a b\\n': 1\nlog:"): "x.yaml:11:1: 'a b\\\\n': unknown key; known: experiment, "
    "seed, data, model, loss, optimizer, scheduler, train, early_stopping, averaging, callbacks, "
    "checkpoint, log",
    ("loss: {name: MSELoss}\n", ""): "x.yaml:1:1: loss: missing",
    ("{name: MSELoss}", "{}"): "x.yaml:8:7: loss.name: missing; known: MSELoss, L1Loss, "
    "SmoothL1Loss, HuberLoss, PoissonNLLLoss, BCEWithLogitsLoss, BCELoss, CrossEntropyLoss, "
    "NLLLoss; --import FILE adds your own",
    ("experiment: regression\n", ""): "x.yaml:1:1: experiment: missing; known: regression, "
    "classification, text, minimization",
    ("out_features: 1", "bias: true"): "x.yaml:7:7: model.layers[0].out_features: missing",
    ("epochs: 2", "epochs: 1_000"): "x.yaml:10:17: train.epochs: expected an integer, "
    "got '1_000' (text); write 1000",
    ("epochs: 2", "epochs: '2'"): "x.yaml:10:17: train.epochs: expected an integer, "
    "got '2' (text); remove the quotes",
    ("epochs: 2", "epochs: [2]"): "x.yaml:10:17: train.epochs: expected an integer, got a list",
    ("lr: 0.1", "lr:"): "x.yaml:9:27: optimizer.lr: expected a number, got nothing",
    ("target: y", "target: 1"): "x.yaml:4:11: data.target: expected text, got 1 (an integer); "
    "put it in quotes",
    ("csv: table.csv", "csv: ''"): "x.yaml:3:8: data.csv: expected a file name, got '' (text)",
    ("{name: MSELoss}", "[MSELoss]"): "x.yaml:8:7: loss: expected a loss, got a list",
    ("{name: MSELoss}", "{name: 3}"): "x.yaml:8:14: loss.name: expected 'MSELoss' or 'L1Loss' or "
    "'SmoothL1Loss' or 'HuberLoss' or 'PoissonNLLLoss' or 'BCEWithLogitsLoss' or 'BCELoss' or "
    "'CrossEntropyLoss' or 'NLLLoss', got 3 (an integer)",
    ("target: y", "target: y\n  features: [a, 1]"): "x.yaml:5:17: data.features[1]: "
    "expected text, got 1 (an integer); put it in quotes",
    ("target: y", "generator: 3"): "x.yaml:4:14: data.generator: expected a mapping, "
    "got 3 (an integer)",
    # Values.
    ("lr: 0.1", "lr: .nan"): "x.yaml:9:28: optimizer.lr: must be a finite number, got nan",
    ("lr: 0.1", "lr: nan"): "x.yaml:9:28: optimizer.lr: must be a finite number, got nan",
    ("lr: 0.1", "lr: -Infinity"): "x.yaml:9:28: optimizer.lr: must be a finite number, got -inf",
    ("lr: 0.1", "lr: +-nan"): "x.yaml:9:28: optimizer.lr: expected a number, got '+-nan' (text)",
    ("lr: 0.1", "lr: 1e999"): "x.yaml:9:28: optimizer.lr: must be a finite number, got inf",
    ("epochs: 2", "epochs: 0"): "x.yaml:10:17: train.epochs: must be at least 1, got 0",
    ("experiment:", "seed: -1\nexperiment:"): "x.yaml:1:7: seed: must be at least 0, got -1",
    ("experiment:", "seed: 4294967296\nexperiment:"): "x.yaml:1:7: seed: must be at most "
    "4294967295, got 4294967296",
    ("target: y", "target: y\n  split: {train: 0}"): "x.yaml:5:18: data.split.train: "
    "must be greater than 0, got 0.0",
    ("target: y", "target: y\n  split: {train: 0.9, test: 0.3}"): "x.yaml:5:10: data.split: "
    "train 0.9, validation 0 and test 0.3 add up to 1.2, not 1",
    ("target: y", "target: y\n  split: {train: 0.9, sample: 1}"): "x.yaml:5:23: "
    "data.split.sample: unknown key; known: train, validation, test",
    ("regression", "regresion"): "x.yaml:1:13: experiment: 'regresion' is not known; "
    "did you mean 'regression'?",
    ("SGD, lr: 0.1}\ntrain: {", "LBFGS}\ntrain: {clip_value: 1, "): "x.yaml:10:21: "
    "train.clip_value: LBFGS needs the gradients as they are; remove this bound",
    # What several fields say together.
    ("epochs: 2, ", ""): "x.yaml:10:8: train: needs 'epochs' or 'steps'",
    ("\n  csv: table.csv\n  target: y", " {}"): "x.yaml:2:7: data: "
    "needs 'csv', 'npz', 'npy' or 'generator'",
    ("target: y", "standardize: true"): "x.yaml:3:3: data.target: missing; the column to predict",
    ("target: y", "target: y\n  generator: {name: line}"): "x.yaml:5:14: data.generator: "
    "cannot be combined with 'csv'; remove one of the two",
    ("csv: table.csv", "generator: {name: line}"): "x.yaml:4:11: data.target: "
    "belongs to 'csv' or 'npz'; remove it, or 'generator'",
    ("csv: table.csv\n  target: y", "generator: {name: line, low: 2}"): "x.yaml:3:14: "
    "data.generator.high: must be greater than low (2), got 1",
    ("target: y", "target: y\n  features: []"): "x.yaml:5:13: data.features: "
    "needs at least one column; leave it out for all of them",
    ("target: y", "target: y\n  features: [a, y, a]"): "x.yaml:5:17: data.features[1]: "
    "'y' is the target\nx.yaml:5:20: data.features[2]: 'a' is listed twice",
    ("\n    - {name: Linear, out_features: 1}", " []"): "x.yaml:6:11: model.layers: "
    "needs at least one layer",
    ("MSELoss", "MSELoss, reduction: sum"): "x.yaml:8:34: loss.reduction: "
    "must be 'mean': losses are compared between parts",
    ("target: y", "target: y\n  stratify: true"): "x.yaml:5:13: data.stratify: "
    "is only for classification",
    ("target: y", "target: y\n  positive: a"): "x.yaml:5:13: data.positive: "
    "is only for classification",
    ("csv: table.csv\n  target: y", "generator: {name: moons}"): "x.yaml:3:21: "
    "data.generator.name: 'moons' makes classes, but this is a regression; "
    "known: line, polynomial",
    ("every: 1", "every: 1, name: latest.txt"): "x.yaml:11:57: log.name: must consist of letters, "
    "digits and the characters _-.=,+, and not be 'latest.txt'; got 'latest.txt'",
}


CLASSIFICATION_ERRORS = {
    ("moons", "line"): "x.yaml:3:21: data.generator.name: 'line' makes no classes; "
    "known: moons, circles, spiral, blobs, xor",
    ("out_features: 1}", "out_features: 1}, Sigmoid"): "x.yaml:5:84: model.layers[3].name: "
    "remove this layer: BCEWithLogitsLoss applies the sigmoid itself",
    ("BCEWithLogitsLoss", "MSELoss"): "x.yaml:6:7: loss.name: "
    "for classification, choose BCEWithLogitsLoss or BCELoss or CrossEntropyLoss or NLLLoss",
    ("lr: 0.01", "betas: [0.9]"): "x.yaml:7:32: optimizer.betas: "
    "expected a list of 2, each a number, got 1",
    ("lr: 0.01", "betas: [0.9, x]"): "x.yaml:7:38: optimizer.betas[1]: expected a number, "
    "got 'x' (text)",
    ("samples: 40", "samples: 1"): "x.yaml:3:37: data.generator.samples: must be at least 2, got 1",
    ("name: moons", "kind: moons"): "x.yaml:3:14: data.generator.name: missing; "
    "known: line, polynomial, moons, circles, spiral, blobs, xor",
    # What is misspelt is understood, so that what belongs to it is checked as well.
    ("name: moons, samples: 40", "nam: mons, sampels: 4"): "x.yaml:3:15: data.generator.nam: "
    "unknown key; did you mean 'name'?\nx.yaml:3:20: data.generator.name: 'mons' is not known; "
    "did you mean 'moons'?\nx.yaml:3:26: data.generator.sampels: unknown key; "
    "did you mean 'samples'?",
    ("experiment: classification", "experimnt: clasification"): "x.yaml:1:1: experimnt: unknown "
    "key; did you mean 'experiment'?\nx.yaml:1:12: experiment: 'clasification' is not known; "
    "did you mean 'classification'?",
    ("name: Adam, lr", "name: Ada, lrr"): "x.yaml:7:19: optimizer.name: 'Ada' is not known; "
    "did you mean 'Adam'?\nx.yaml:7:24: optimizer.lrr: unknown key of Adam; did you mean 'lr'?",
    ("name: Adam, lr", "name: Damp, lrr"): "x.yaml:7:19: optimizer.name: 'Damp' is not known; "
    "did you mean 'Adam'?",
    ("name: Adam, lr", "nam: Adm, lrr"): "x.yaml:7:13: optimizer.nam: unknown key; "
    "did you mean 'name'?\nx.yaml:7:18: optimizer.name: 'Adm' is not known; did you mean 'Adam'?"
    "\nx.yaml:7:23: optimizer.lrr: unknown key of Adam; did you mean 'lr'?",
}


EXPRESSION = "expression: x[0]**2 + (x[1] - 1)**2"

MINIMIZATION_ERRORS = {
    (EXPRESSION, "name: rosenbrok"): "x.yaml:3:9: function.name: 'rosenbrok' is not known; "
    "did you mean 'rosenbrock'?",
    (EXPRESSION, "expression: __import__('os')"): "x.yaml:3:15: function.expression: "
    "'__import__' is not known; known: abs, cos, exp, log, mean, sin, sqrt, sum, tan, tanh",
    (EXPRESSION + "\n  ", ""): "x.yaml:3:3: function: needs 'name' or 'expression'",
    (EXPRESSION, EXPRESSION + "\n  name: booth"): "x.yaml:3:15: function.expression: "
    "cannot be combined with 'name'; remove one of the two",
    (EXPRESSION, "expression: x[2]"): "x.yaml:3:15: function.expression: "
    "needs x of length 3, but the start has 2",
    (EXPRESSION + "\n  start: [1, 2]", "name: booth\n  start: [1]"): "x.yaml:4:10: "
    "function.start: needs x of length 2, but the start has 1",
    ("[1, 2]", "[]"): "x.yaml:4:10: function.start: needs at least one coordinate",
    ("[1, 2]", "[1, .inf]"): "x.yaml:4:14: function.start[1]: must be a finite number, got inf",
    ("function:", "train: {epochs: 1}\nfunction:"): "x.yaml:2:1: train: unknown key; "
    "known: experiment, seed, function, optimizer, scheduler, callbacks, checkpoint, log",
}


ERRORS = {
    (text, *edit): message
    for text, messages in (
        (REGRESSION, REGRESSION_ERRORS),
        (CLASSIFICATION, CLASSIFICATION_ERRORS),
        (MINIMIZATION, MINIMIZATION_ERRORS),
    )
    for edit, message in messages.items()
}


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case[2].strip()[:40])
def test_mistakes(case: tuple[str, str, str]) -> None:
    assert refusal(edited(*case)) == ERRORS[case]


def test_all_mistakes_are_reported_in_the_order_of_the_file() -> None:
    text = edited(REGRESSION, "epochs: 2", "epochs: 0, stepps: 1")
    text = edited(text, "MSELoss", "MSLoss")
    assert refusal(text, "seed=x", "log.every=0.5").splitlines() == [
        "x.yaml:8:14: loss.name: 'MSLoss' is not known; did you mean 'MSELoss'?",
        "x.yaml:10:17: train.epochs: must be at least 1, got 0",
        "x.yaml:10:20: train.stepps: unknown key; did you mean 'steps'?",
        "command line: seed=x: expected an integer, got 'x' (text)",
        "command line: log.every=0.5: expected an integer, got 0.5 (a number)",
    ]


def test_what_is_too_long_is_cut() -> None:
    keys = "".join(f"k{index}: 1\n" for index in range(50))
    lines = refusal(REGRESSION + keys).splitlines()
    assert len(lines) == MOST_PROBLEMS + 1
    assert lines[-1] == "and 30 more problems"
    assert len(refusal(edited(REGRESSION, "epochs: 2", f"epochs: {'x' * 10**5}"))) < 200


OVERRIDDEN = {
    (CLASSIFICATION, "log.name=#x"): "there is no value",
    (CLASSIFICATION, "inherit=x"): "only a file can inherit from another one",
    (CLASSIFICATION, "data.generator.name.x=1"): "data.generator.name: expected",
    (REGRESSION, "optimizer={name: SGD, momentun: 1}"): "optimizer.momentun: unknown key of SGD; "
    "did you mean 'momentum'?",
    (REGRESSION, "optimizer=1"): "expected an optimizer, got 1 (an integer)",
    # A key in the wrong section is told its own, but none of another kind of experiment.
    (REGRESSION, "train.lr=1"): "unknown key; did you mean 'optimizer.lr'?",
    (REGRESSION, "optimizer.batch_size=1"): "did you mean 'train.batch_size'?",
    (REGRESSION, "train.gamma=1"): "unknown key; did you mean 'scheduler.gamma'?",
    (REGRESSION, "train.monitor=1"): "mean 'early_stopping.monitor' or 'checkpoint.monitor'?",
    (MINIMIZATION, "start=[1]"): "unknown key; did you mean 'function.start'?",
    (MINIMIZATION, "epochs=1"): "known: experiment, seed, function, optimizer",
    (REGRESSION, "data.context=1"): "known: csv, npz",
}


@pytest.mark.parametrize("case", OVERRIDDEN, ids=lambda case: case[1][:40])
def test_mistakes_on_the_command_line(case: tuple[str, str]) -> None:
    told = refusal(*case)
    assert f"command line: {case[1]}: " in told
    assert OVERRIDDEN[case] in told


RICH = REGRESSION.replace("lr: 0.1", "lr: 0.1, momentum: 0.9, nesterov: true")
GROUPED = REGRESSION.replace("lr: 0.1", "lr: 0.1, groups: [{parameters: '*.bias', momentum: 0.5}]")
SMOOTH = REGRESSION.replace("MSELoss", "SmoothL1Loss, beta: 2")
STEPPED = REGRESSION + "scheduler: {name: StepLR, step_size: 1, gamma: 0.5}\n"


# What stands in place of what the file says: the notes, and below them what is used.
KEPT: dict[tuple[str, ...], str] = {
    (RICH, "optimizer=Adam"): "optimizer: Adam keeps lr and drops momentum, nesterov of SGD\n"
    "name: Adam|lr: 0.1",
    (RICH, "optimizer.name=RMSprop"): "optimizer: RMSprop keeps lr, momentum and drops nesterov of "
    "SGD\nname: RMSprop|lr: 0.1|momentum: 0.9",
    (REGRESSION, "optimizer={name: Adam}"): "name: Adam|lr: 0.001",
    # Its rate is the length of a step along a direction that it has searched.
    (
        REGRESSION,
        "optimizer=LBFGS",
    ): "optimizer: LBFGS drops lr of SGD\noptimizer: LBFGS works best "
    "with all samples at once: train.batch_size=null\nlr: 1",
    (GROUPED, "optimizer=Adam"): "optimizer: Adam keeps lr, groups and drops momentum of SGD\n"
    'groups: [{parameters: "*.bias"}]',
    (SMOOTH, "loss=MSELoss"): "loss: MSELoss drops beta of SmoothL1Loss\nname: MSELoss",
    (REGRESSION, "loss=L1Loss"): "name: L1Loss",
    (STEPPED, "scheduler.name=ExponentialLR"): "scheduler: ExponentialLR keeps gamma and drops "
    "step_size of StepLR\ngamma: 0.5",
    (CLASSIFICATION, "model.layers.0=Tanh", "model.layers[-1].out_features=2"): "model.layers[0]: "
    "Tanh drops out_features of Linear\n- name: Tanh|out_features: 2",
    # An alternative replaces the other.
    (REGRESSION, "train.steps=5"): "train.steps replaces train.epochs\nsteps: 5|epochs: null",
    (REGRESSION, "train.steps=null"): "epochs: 2",
    (MINIMIZATION, "function=booth"): "function.name replaces function.expression\nname: booth",
    (MINIMIZATION, "function.name=booth"): "function.name replaces function.expression\n"
    "name: booth",
    (REGRESSION, "data.generator=line"): "data.generator replaces data.csv, data.target\n"
    "name: line",
    (REGRESSION, "data.generator.name=line", "data.generator.noise=0"): "data.generator replaces "
    "data.csv, data.target\nname: line|noise: 0.0",
    (CLASSIFICATION, "data.generator=circles"): "data.generator: circles keeps samples of moons\n"
    "name: circles|samples: 40",
}


@pytest.mark.parametrize("case", KEPT, ids=lambda case: " ".join(case[1:]))
def test_what_is_kept_and_replaced(case: tuple[str, ...]) -> None:
    read = loaded(*case)
    *notes, settings = KEPT[case].split("\n")
    assert [*read.notes] == notes
    lines = {line.partition("  #")[0].strip() for line in dump_config(read).splitlines()}
    assert {*settings.split("|")} <= lines


def test_mistakes_are_not_taken_for_what_is_replaced() -> None:
    assert "optimizer.lrr: unknown key" in refusal(RICH.replace("lr:", "lrr:"), "optimizer=Adam")
    assert "unknown key" in refusal(RICH, "optimizer=Adam", "optimizer.momentum=0.5")
    assert "cannot be combined with 'epochs'" in refusal(
        REGRESSION, "train.steps=5", "train.epochs=5"
    )


def test_a_file_that_is_no_mapping() -> None:
    expected = "x.yaml:1:1: expected sections, such as 'model:' and 'train:', got "
    assert all(refusal(text).startswith(expected) for text in ("- 1", "just text", "3", "~"))


def test_the_name_of_a_run_is_the_file_s() -> None:
    stems = ("two_moons", "latest.txt", "..", "a b/ü")
    assert [*map(run_name, stems)] == ["two_moons", "latest.txt_", "run", "a_b__"]


CAUSES = {
    # Mistakes of reading, of a component, of the layers and of the data.
    (REGRESSION, "experiment=classification", "seed=1"): "x.yaml:8:14: loss.name: for "
    "classification, choose BCEWithLogitsLoss or BCELoss or CrossEntropyLoss or NLLLoss",
    (RICH, "optimizer.momentum=0"): "x.yaml:9:58: optimizer.nesterov: Nesterov momentum requires a "
    "momentum and zero dampening; the default is false",
    (STEPPED, "scheduler.gamma=-1"): "x.yaml:12:12: scheduler: sets the learning rate to -0.1 "
    "after epoch 1",
    (REGRESSION, "data.header=false"): "x.yaml:4:11: data.target: table.csv has no column 'y'; "
    "known: column1, column2, column3",
}


@pytest.mark.parametrize("case", CAUSES, ids=lambda case: case[1])
def test_overrides_are_blamed_for_what_they_make_wrong_elsewhere(case: tuple[str, ...]) -> None:
    text, *overrides = case
    refusal = refusal_of(lambda text: build_experiment(loaded(text, *overrides)))
    cause = "the file alone is valid; this causes the mistakes above"
    assert refusal(text) == f"{CAUSES[case]}\ncommand line: {' '.join(overrides)}: {cause}"
    wrong = text.replace("every: 1", "every: x")
    assert "the file alone" not in refusal(wrong)


def test_mistakes_of_every_step_of_reading_are_told_at_once() -> None:
    """Of the file's form, of its keys, of what is built, of its files and of the command line."""
    text = edited(REGRESSION, "lr: 0.1", "lr: -0.1").replace("csv: table.csv", "csv: no.csv")
    text = edited(text, "out_features: 1}", "out_features: 1}\n    - {name: Dropout, p: 3}")
    told = refusal(f"{text}seed: 1\nseed: 2\n", "train.epoch=5", "x", "train.batch_size=0")
    assert [line.split(": ", 2)[:2] for line in told.splitlines()] == [
        ["x.yaml:3:8", "data.csv"], ["x.yaml:8:26", "model.layers[1].p"],
        ["x.yaml:10:28", "optimizer.lr"], ["x.yaml:14:1", "seed"], ["command line", "x"],
        ["command line", "train.epoch=5"], ["command line", "train.batch_size=0"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "override", "paths"),
    [
        (REGRESSION, "train={epochs: 1, steps: 2, batch_size: 0}",
         ["train.batch_size", "train.steps"]),
        # What a mistake hides is not missed, and what it may have been is not guessed.
        (REGRESSION, "train={epoch: 1}", ["train.epoch"]),
        (REGRESSION, "train={epochs: 0}", ["train.epochs"]),
        (REGRESSION, "train={batch_size: 0}", ["train.batch_size", "train"]),
        (MINIMIZATION,
         "function={name: rosenbrok, start: [1, x], expression: 'x[0]^2', iterations: 0}",
         [f"function.{name}" for name in ("name", "expression", "start[1]", "iterations")]),
    ],
)  # fmt: skip
def test_values_are_checked_together_beside_wrong_ones(
    text: str, override: str, paths: list[str]
) -> None:
    write_example(Path(), text)
    with pytest.raises(ConfigError) as caught:
        load_config("x.yaml", [override])
    assert {problem.path for problem in caught.value.problems} == {*paths}
    if text == MINIMIZATION:
        return
    with pytest.raises(ConfigError) as caught:  # the loss is none of a regression
        load_config("x.yaml", [override, "loss=CrossEntropyLoss", "early_stopping={patience: x}"])
    found = {problem.path for problem in caught.value.problems}
    assert found >= {*paths, "early_stopping.patience"}


def test_what_needs_what_is_not_known_yet_is_not_tried() -> None:
    """The layer's number of inputs, and a scheduler's number of steps."""
    scheduler = "scheduler={name: OneCycleLR, max_lr: 1}"
    assert refusal(CLASSIFICATION, "sed=1", scheduler, "callbacks=[]") == (
        "command line: sed=1: unknown key; did you mean 'seed'?"
    )


# A resolved configuration says where everything came from, and can be run again.

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
    lines = dump_config(
        loaded(REGRESSION, "optimizer.momentum=0.9", "train.batch_size=null")
    ).splitlines()
    shown = {line.split("#")[0].strip(): line.split("# ")[1] for line in lines if " # " in line}
    assert shown["lr: 0.1"] == "x.yaml:9:28"
    assert shown["momentum: 0.9"] == "command line: optimizer.momentum=0.9"
    assert shown["seed: 0"] == "default"
    assert shown["out_features: 1"] == "x.yaml:7:36"
    assert shown["- name: Linear"] == "x.yaml:7:14"
    assert f"{'  time_limit: null':<38}  # default" in lines  # what is left out is shown as well
    assert shown["batch_size: null"] == "command line: train.batch_size=null"
    headings = [line for line in lines[1:] if "#" not in line]
    assert all(line.rstrip().endswith(":") for line in headings)


def test_any_text_survives() -> None:
    texts = ["plain", "a/b-c_d.csv", "on", "Yes", "1", "1e-3", "010", "", " ", "~", "null", "a: b"]
    texts += ["#x", 'q"uo\\te', "ü", "tab\t", "new\nline", "\x7f\x85\u2028", "\ue000", "🙂", "-x"]
    for text in [*texts, "*x", "x:"]:
        tree = parse_yaml(text_scalar(text), Place(source="x", line=1, column=1))
        assert isinstance(tree, Scalar)
        assert tree.value == text


# What a configuration may say, in words: nothing is left out, and everything has a sentence.

SECTIONS = [
    *(inner for config in get_args(Config) for _, inner in sections_within(config, "")),
    *GENERATORS.sections.values(),
]


SUGGESTED = {
    # Misspelt, or longer or shorter than the key.
    "train.epoch": "did you mean 'epochs'?", "train.btach_size": "did you mean 'batch_size'?",
    "train.max_steps": "did you mean 'steps'?", "train.size": "did you mean 'batch_size'?",
    "data.target_column": "did you mean 'target'?", "data.cat_features": "did you mean 'features'?",
    "early_stopping.delta": "did you mean 'min_delta'?", "optimiser": "did you mean 'optimizer'?",
    # In other programs, or in another section.
    "data.separator": "did you mean 'delimiter'?", "dataset": "did you mean 'data'?",
    "train.lr": "did you mean 'optimizer.lr'?",
    "optimizer.beta1": "did you mean 'optimizer.betas'?",
    "train.log_every": "did you mean 'checkpoint.every' or 'log.every'?",
    "train.scheduler": "did you mean 'scheduler'?", "optimizer.eta": "did you mean 'lr'?",
    "train.precision": "samples and model keep the precision that they have; remove it",
    "model.dtype": "samples and model keep the precision that they have; remove it",
    "metrics": "the metrics of the loss are always measured; remove it",
    # Nothing is like these.
    "train.notes": "known: ", "data.ratio": "known: ", "data.excel": "known: ",
    "train.test_size": "known: ", "data.scale": "known: ", "model.in_features": "known: ",
    "version": "known: ", "log.level": "known: ", "model.name": "known: ",
}  # fmt: skip


def test_only_what_is_like_a_key_is_suggested() -> None:
    write_example(Path())
    for key, advice in SUGGESTED.items():
        told = mistake("train --config x.yaml --check", f"{key}=1")
        assert re.search(rf"unknown key( of SGD)?[;:] {re.escape(advice)}", told), told


def test_a_mapping_replaces_a_whole_section() -> None:
    given = {"early_stopping": EarlyStopping, "averaging": Averaging, "checkpoint": Checkpoint}
    for path, section in {**given, "data.split": Split}.items():
        for key in section_keys(section):  # each alone, with its default
            text = f"{path}={{{key}: {flow(getattr(section(), key))}}}"
            config: Any = loaded(REGRESSION, f"{path}=null", text).config
            for name in path.split("."):
                config = getattr(config, name)
            assert config == section(), text
    config = loaded(REGRESSION, "train={epochs: 3}", "log={every: 5}").config
    assert (config.train, config.log) == (Train(epochs=3), Log(every=5, name="x"))


def test_every_field_has_a_sentence() -> None:
    for section in SECTIONS:
        sentences = field_sentences(section)
        for field in fields(section):  # type: ignore[arg-type]
            assert sentences[field.name].endswith("."), (section, field.name)
        assert (section.__doc__ or "").strip()


@pytest.mark.slow  # every component is made
def test_every_name_is_told_with_all_its_fields() -> None:
    text = catalogue("all")
    for registry in REGISTRIES:
        for name in registry.names:
            about = catalogue(name)
            assert about in text
            lines = "\n".join(about.splitlines()).replace("\n    ", " ").splitlines()
            named = [line.split(":")[0].strip() for line in lines if line.startswith("  ")]
            assert [word for word in named if " " not in word] == list(registry.keys(name))
    for name in (*FUNCTIONS, *GENERATORS.sections):
        assert f"\n{name}: " in text


def listed(word: str = "") -> str:
    code, out, errors = said(f"train --list {word}")
    assert (code, errors) == (0, "")
    return out


def test_the_list_begins_with_an_index() -> None:
    lines = listed().splitlines()
    starts = [line.split()[0] for line in lines[2:] if line[:1].strip()]
    assert starts == [*catalogue_kinds(), "--list", "--list"]
    words = {word.strip(",") for line in lines for word in line.split()}
    assert words >= {"regression", "train", "Linear", "Adam", "StepLR", "moons", "rosenbrock"}
    for word in ("regression", "train", "minimization", "layers", "Linear"):
        assert listed(word)


def test_a_word_of_the_list() -> None:
    kinds = catalogue_kinds()
    assert set(kinds) >= {"sections", "layers", "losses", "optimizers", "functions"}
    losses = listed("losses")
    assert losses.startswith("# losses\n\nMSELoss: ")
    assert "Adam" not in losses
    assert listed("early_stopping").startswith("early_stopping:\n  monitor: ")
    table, _, text = listed("data").partition("\nor\n")
    assert "  csv: " in table
    assert "  context: " in text
    layer = listed("Linear")
    assert "\n  in_features: an integer; inferred from the input\n" in layer
    assert "\n  bias: true or false; default true\n" in layer
    assert all(len(line) <= 80 for line in layer.splitlines())
    meant = {kind.removesuffix("es" if kind == "losses" else "s"): kind for kind in kinds}
    meant |= {"function": "function", "schedules": "schedulers", "data.split": "split"}
    meant |= {"train.epochs": "train", "optimizer.lr": "optimizers", "seed": "sections"}
    meant |= {"class_weights": "data", "model.layers": "layers", "experiments": "sections"}
    for word, whole in meant.items():
        assert listed(word) == listed(whole), word
    told = mistake("train --list Adm")
    assert told == "command line: --list Adm: not known; did you mean 'Adam'?\n"
    for word in ("zzzzzz", "device", "metrics"):
        assert "not known; the kinds are sections, layers" in mistake(f"train --list {word}")


# The schema for editors: up to date, true of every shipped configuration, false of mistakes.

CONFIGS = Path(__file__).parents[3] / "configs"


@functools.cache
def validator() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads(schema_text()))


def problems(text: str) -> list[str]:
    tree = plain(parse_yaml(text, Place(source="x.yaml", line=1, column=1)))
    return [error.message for error in validator().iter_errors(tree)]


def test_the_file_is_up_to_date() -> None:
    """Write it anew by `python scripts/train.py --schema > configs/schema.json`."""
    assert said("train --schema") == (0, (CONFIGS / "schema.json").read_text("utf-8"), "")


EMPTY = CLASSIFICATION[: CLASSIFICATION.index("log:")] + "log:\n  # every: 10\n"
HEIR = "inherit: base.yaml\noptimizer: {lr: 1}\n"


def test_it_holds_for_every_shipped_configuration_and_the_examples() -> None:
    shipped = [path.read_text("utf-8") for path in CONFIGS.glob("*.yaml")]
    for text in [*shipped, REGRESSION, CLASSIFICATION, MINIMIZATION, EMPTY, HEIR]:
        assert problems(text) == []


def test_what_it_refuses_the_trainer_refuses() -> None:
    """Of the mistakes above, it refuses those that one key or value makes alone."""
    assert sum(bool(problems(edited(*case))) for case in ERRORS) >= 26
    for case in (
        (REGRESSION, "out_features: 1", "out_feature: 1"),
        (REGRESSION, "out_features: 1", "out_features: 0"),
        (CLASSIFICATION, "ReLU", "Relu"),
    ):
        assert problems(edited(*case))
        assert refusal(edited(*case))


def inherited(
    text: str, *overrides: str, base: str = CLASSIFICATION
) -> tuple[SupervisedConfig, str]:
    write_example(Path(), text)
    Path("base.yaml").write_text(base, "utf-8")
    loaded = load_config("x.yaml", overrides)
    return loaded.config, dump_config(loaded)


refusal_of_heir = refusal_of(inherited)


def test_what_is_not_said_comes_from_the_base() -> None:
    layers = "model: {layers: [{name: Linear, out_features: 1}]}\nlog: ~\n"
    config, text = inherited(
        f"inherit: base.yaml\nseed: 7\noptimizer: {{lr: 0.5}}\ntrain: {{epochs: 2}}\n{layers}",
        base=CLASSIFICATION.replace("{name: Adam, lr: 0.01}", "Adam"),
    )
    assert (config.seed, config.train.epochs, config.train.steps) == (7, 2, None)
    assert len(config.model.layers) == 1  # lists are replaced
    assert config.log.plots  # a section that is taken back is one of defaults
    assert config.optimizer.name == "Adam"
    assert config.optimizer.arguments["lr"] == 0.5
    assert "lr: 0.5                               # x.yaml:3:17" in text
    assert "samples: 40                         # base.yaml:3:37" in text
    assert "inherit" not in text
    assert config.log.name == "x"


def test_what_another_optimizer_takes_over() -> None:
    base = CLASSIFICATION.replace("lr: 0.01", "lr: 0.01, betas: [0.8, 0.9]")
    for section, taken in {
        "{name: SGD, momentum: 0.5}": ("SGD", 0.01),  # what both have stays
        "SGD": ("SGD", 0.01),
        "LBFGS": ("LBFGS", 1.0),
        "{lr: 1}": ("Adam", 1.0),
    }.items():
        config, _ = inherited(f"inherit: base.yaml\noptimizer: {section}\n", base=base)
        assert (config.optimizer.name, config.optimizer.arguments["lr"]) == taken


def test_bases_have_bases_and_the_later_one_wins() -> None:
    Path("sub").mkdir()
    Path("sub/a.yaml").write_text("inherit: ../base.yaml\nseed: 1\ntrain: {steps: 8}\n", "utf-8")
    Path("sub/b.yaml").write_text("seed: 2\n", "utf-8")
    config, _ = inherited("inherit: [sub/a.yaml, sub/b.yaml]\n", "train.batch_size=4")
    assert (config.seed, config.train.steps, config.train.batch_size) == (2, 8, 4)


def test_mistakes_of_several_files() -> None:
    """They are told each in its own."""
    for names, told in {
        "none.yaml": "10: inherit: cannot read 'none.yaml': No such file or directory",
        ".": "10: inherit: cannot read '.': Is a directory",
        "x.yaml": "10: inherit: 'x.yaml' inherits from itself",
        "3": "10: inherit: expected a file name, got 3 (an integer)",
        "[base.yaml, [a]]": "22: inherit: expected a file name, got a list",
    }.items():
        assert refusal_of_heir(f"inherit: {names}\n") == f"x.yaml:1:{told}"
    wrong = CLASSIFICATION.replace("lr:", "epss:")
    assert refusal_of_heir("inherit: base.yaml\nsed: 1\n", base=wrong) == (
        "x.yaml:2:1: sed: unknown key; did you mean 'seed'?\n"
        "base.yaml:7:25: optimizer.epss: unknown key of Adam; did you mean 'eps'?"
    )
    Path("a.yaml").write_text("inherit: x.yaml\n", "utf-8")
    circle = "a.yaml:1:10: inherit: 'x.yaml' inherits from itself"
    assert refusal_of_heir("inherit: a.yaml\n") == circle
    message = "base.yaml:1:1: expected sections to inherit, got a list"
    assert refusal_of_heir(f"inherit: base.yaml\n{CLASSIFICATION}", base="- 1\n") == message
    for number in range(12):
        Path(f"{number}.yaml").write_text(f"inherit: {number + 1}.yaml\n", "utf-8")
    many = "more than 10 files inherit from one another"
    assert refusal_of_heir("inherit: 0.yaml\n").endswith(many)


def test_a_file_that_many_inherit_from_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    reads = load.read_config_text
    once = lambda path, source: read.append(source) or reads(path, source)  # noqa: E731
    monkeypatch.setattr(load, "read_config_text", once)
    for level in range(8):
        below = [f"{level + 1}-{number}.yaml" for number in range(5)]
        below = below if level < 7 else ["base.yaml"]
        for number in range(5):
            Path(f"{level}-{number}.yaml").write_text(f"inherit: {[*below, *below]}\n", "utf-8")
    config, _ = inherited("inherit: 0-0.yaml\nseed: 3\n")
    assert config.seed == 3
    assert len(read) == 1 + 1 + 7 * 5 + 1
    assert len(set(read)) == len(read)
