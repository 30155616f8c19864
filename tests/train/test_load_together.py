"""All mistakes of a configuration are told at once."""

from pathlib import Path

import pytest

from nanotorch.train.config import ConfigError
from nanotorch.train.load import load_config
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, write_example
from tests.train.test_load import edited, refusal


def test_mistakes_of_every_step_of_reading_are_told_at_once() -> None:
    """Of the file's form, of its keys, of what is built, of its files and of the command line."""
    text = edited(REGRESSION, "lr: 0.1", "lr: -0.1").replace("csv: table.csv", "csv: no.csv")
    text = edited(text, "out_features: 1}", "out_features: 1}\n    - {name: Dropout, p: 3}")
    told = refusal(f"{text}seed: 1\nseed: 2\n", "train.epoch=5", "x", "train.batch_size=0")
    assert [line.split(": ", 2)[:2] for line in told.splitlines()] == [
        ["x.yaml:3:8", "data.csv"],
        ["x.yaml:8:26", "model.layers[1].p"],
        ["x.yaml:10:28", "optimizer.lr"],
        ["x.yaml:14:1", "seed"],
        ["command line", "x"],
        ["command line", "train.epoch=5"],
        ["command line", "train.batch_size=0"],
    ]


@pytest.mark.parametrize(
    ("override", "paths"),
    [
        ("train={epochs: 1, steps: 2, batch_size: 0}", {"train.batch_size", "train.steps"}),
        # What a mistake hides is not missed, and what it may have been is not guessed.
        ("train={epoch: 1}", {"train.epoch"}),
        ("train={epochs: 0}", {"train.epochs"}),
        ("train={batch_size: 0}", {"train.batch_size", "train"}),
    ],
)
def test_values_are_checked_together_beside_wrong_ones(override: str, paths: set[str]) -> None:
    write_example(Path(), REGRESSION)
    with pytest.raises(ConfigError) as caught:
        load_config("x.yaml", [override])
    assert {problem.path for problem in caught.value.problems} == paths
    with pytest.raises(ConfigError) as caught:  # the loss is none of a regression
        load_config("x.yaml", [override, "loss=CrossEntropyLoss", "early_stopping={patience: x}"])
    expected = paths | {"early_stopping.patience"}
    assert {problem.path for problem in caught.value.problems} >= expected


def test_a_function_is_checked_beside_other_mistakes() -> None:
    function = "function={name: rosenbrok, start: [1, x], expression: 'x[0]^2', iterations: 0}"
    write_example(Path(), MINIMIZATION)
    with pytest.raises(ConfigError) as caught:
        load_config("x.yaml", [function])
    assert {problem.path for problem in caught.value.problems} == {
        f"function.{name}" for name in ("name", "expression", "start[1]", "iterations")
    }


def test_what_needs_what_is_not_known_yet_is_not_tried() -> None:
    """The layer's number of inputs, and a scheduler's number of steps."""
    scheduler = "scheduler={name: OneCycleLR, max_lr: 1}"
    assert refusal(CLASSIFICATION, "sed=1", scheduler, "callbacks=[]") == (
        "command line: sed=1: unknown key; did you mean 'seed'?"
    )


@pytest.mark.parametrize(
    ("text", "override", "meant"),
    [
        (REGRESSION, "lr=1", "did you mean 'optimizer.lr'?"),
        (REGRESSION, "train.lr=1", "did you mean 'optimizer.lr'?"),
        (REGRESSION, "model.weight_decay=1", "did you mean 'optimizer.weight_decay'?"),
        (REGRESSION, "optimizer.batch_size=1", "did you mean 'train.batch_size'?"),
        (REGRESSION, "epochs=1", "did you mean 'train.epochs'?"),
        (REGRESSION, "train.gamma=1", "did you mean 'scheduler.gamma'?"),
        (REGRESSION, "train.monitor=1", "mean 'early_stopping.monitor' or 'checkpoint.monitor'?"),
        (MINIMIZATION, "start=[1]", "did you mean 'function.start'?"),
        # What another kind of experiment has is of no use here.
        (MINIMIZATION, "epochs=1", "known here: experiment, seed, function, optimizer"),
        (REGRESSION, "data.context=1", "known here: csv, npz"),
    ],
)
def test_a_key_in_the_wrong_section_is_told_its_own(text: str, override: str, meant: str) -> None:
    told = refusal(text, override)
    assert told.startswith(f"command line: {override}: ")
    assert f"unknown key; {meant}" in told or meant in told
