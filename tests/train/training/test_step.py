"""A compiled step: the same bits in everything a run leaves, and a word about what became of it."""

import cProfile
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import nanotorch as torch
from nanotorch import nn
from nanotorch.train import RunResult
from nanotorch.train.cli import main
from nanotorch.train.config.components import FUNCTIONS
from nanotorch.train.training.step import WORTHWHILE, compilation_text
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    record_of,
    result_of,
    write_example,
)

MIXED = (
    "model.layers=[BatchNorm1d, {name: Linear, out_features: 5}, ReLU, {name: Dropout, p: 0.3}, "
    "{name: Linear, out_features: 4}, Tanh, {name: Linear, out_features: 1}]"
)
LONGER = "train={epochs: 6, batch_size: 8}"
# The 28 samples of the classification make batches of 8, 8, 8 and 4.
CLASSIFIED = {
    "a last smaller batch": [LONGER],
    "batches of everything": ["train={epochs: 9, batch_size: null}"],
    "more than there is": ["train={epochs: 9, batch_size: 500}"],
    "BatchNorm1d and Dropout": [LONGER, MIXED],
    "Adam with decay": [LONGER, "optimizer={name: Adam, weight_decay: 0.1}"],
    "AdamW with amsgrad": [LONGER, "optimizer={name: AdamW, amsgrad: true}"],
    "bounded gradients": [LONGER, "train.clip_norm=0.1", "train.clip_value=0.1", MIXED],
    "accumulated gradients": ["train={epochs: 9, batch_size: 6, accumulate: 2}", MIXED],
    "a schedule and an average": [
        LONGER, MIXED, "averaging={method: ema}", "scheduler={name: OneCycleLR, max_lr: 0.1}"
    ],
}  # fmt: skip
NESTEROV = "optimizer={name: SGD, lr: 0.01, momentum: 0.9, nesterov: true}"
REGRESSED = {
    "Nesterov's momentum": ["train.epochs=9", NESTEROV],
    "Huber's loss": ["train.epochs=9", "loss={name: HuberLoss, delta: 0.5}"],
    "divergence after some steps": ["train.epochs=999", "optimizer.lr=30"],
    "divergence at the second step": ["train.epochs=9", "optimizer.lr=1e30"],
}
MINIMIZED = {
    name: [
        f"function={{name: {name}, start: [0.5, 1.5], iterations: 40}}",
        "optimizer={name: SGD, lr: 0.001, momentum: 0.5}",
    ]
    for name in FUNCTIONS
}
MINIMIZED["Adam, and every function there is"] = [
    "function.expression=sin(x[0])*cos(x[1]) + exp(-x[0]) + log(x[1] + 4) + sqrt(x[0] + 9)"
    " + tanh(x[1]) + tan(x[0]/9) + abs(x[1]) + mean(x)",
    "function.iterations=40",
    "optimizer={name: Adam, lr: 0.1}",
]
MINIMIZED["divergence"] = ["function.iterations=400", "optimizer.lr=50"]
GROUPS = {CLASSIFICATION: CLASSIFIED, REGRESSION: REGRESSED, MINIMIZATION: MINIMIZED}
CASES = {name: (text, given) for text, cases in GROUPS.items() for name, given in cases.items()}
LONG = (
    "more than there is", "Adam with decay", "AdamW with amsgrad", "Huber's loss",
    "bounded gradients", "a schedule and an average", *FUNCTIONS,
)  # fmt: skip


@pytest.fixture
def eager_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanotorch.train.training.step.WORTHWHILE", 0)


def switch(text: str, on: bool) -> str:
    """The override that switches compiling."""
    return f"{'function' if text == MINIMIZATION else 'train'}.compile={str(on).lower()}"


def left_by(result: RunResult, shown: str) -> list[Any]:
    """What a run left behind, without what differs between any two runs."""
    shown = re.sub(r"run directory: .*|, [\d.,]+ s\w*/s\w*|, [\d.]+ s$|^compiled: .*\n", "",
                   shown, flags=re.MULTILINE)  # fmt: skip
    changing = ("id", "started", "seconds", "step", "command")
    run = {key: value for key, value in record_of(result.directory).items() if key not in changing}
    files = [result.directory / name for name in ("metrics.jsonl", "weights.safetensors")]
    return [run, shown, *(path.read_bytes() for path in files)]


@pytest.mark.usefixtures("eager_to_compile")
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case in LONG)) for case in CASES]
)
def test_everything_is_the_same_to_the_bit(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    text, overrides = CASES[case]
    found = []
    for on in (True, False):
        result = result_of(text, *overrides, switch(text, on))
        found.append(left_by(result, capsys.readouterr().out))
        step = record_of(result.directory)["step"]
        early = result.status == "diverged" and "second" in case
        assert step["compiled"] is (on and not early), step
    assert found[0] == found[1]


@pytest.mark.usefixtures("eager_to_compile")
def test_tensorboard_shows_the_same() -> None:
    shown = []
    for on in (True, False):
        overrides = [LONGER, MIXED, "log.tensorboard=true", switch(CLASSIFICATION, on)]
        events = EventAccumulator(str(result_of(CLASSIFICATION, *overrides).directory)).Reload()
        tags = {*events.Tags()["scalars"]} - {"train/samples_per_second"}
        curves = {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in tags}
        graph = [(node.name, node.op, tuple(node.input)) for node in events.Graph().node]
        assert len(graph) >= 20
        assert {"forward", "backward"} <= set(events.Tags()["tensors"])
        shown.append((curves, graph))
    assert shown[0] == shown[1]


@pytest.mark.usefixtures("eager_to_compile")
def test_the_record_and_the_summary_tell_what_was_compiled(capsys) -> None:
    result_of(CLASSIFICATION, "train.steps=9")
    step = record_of()["step"]
    (plan,) = step["plans"]
    assert plan["kernels"] < plan["traced"]
    assert plan["fresh"] < plan["eager_bytes"]
    assert f"\n{compilation_text(step)}\nfinished after 9 steps" in capsys.readouterr().out


def test_few_steps_are_not_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    few = f"3 steps of one size are too few to save time; it takes {WORTHWHILE}"
    off = [(text, switch(text, on=False)) for text in (CLASSIFICATION, MINIMIZATION)]
    for overrides in ((CLASSIFICATION,), *off):  # 3 of 5 steps are of full batches
        reason = "switched off" if overrides in off else few
        result = result_of(*overrides)
        assert record_of(result.directory)["step"] == {"compiled": False, "reason": reason}
        assert "compiled" not in capsys.readouterr().out
    for steps in (WORTHWHILE - 1, WORTHWHILE):
        more = [f"function.iterations={steps}", "log.progress=false", "optimizer.lr=0.01"]
        step = record_of(result_of(MINIMIZATION, *more).directory)["step"]
        assert step["compiled"] is (steps == WORTHWHILE)


@pytest.mark.usefixtures("eager_to_compile")
def test_a_profiler_sees_the_step_itself() -> None:
    profiler = cProfile.Profile()
    result = profiler.runcall(result_of, CLASSIFICATION, "log.tensorboard=true")
    assert record_of(result.directory)["step"]["reason"].startswith("a profiler is active")
    names = {entry.code.co_name for entry in profiler.getstats() if hasattr(entry.code, "co_name")}
    assert names >= {"training_step", "forward"}
    # Until Python 3.11, `cProfile` leaves no place for TensorBoard's watch of a step.
    watched = "forward" in EventAccumulator(str(result.directory)).Reload().Tags()["tensors"]
    assert watched == (sys.version_info >= (3, 12))


class Choosing(nn.ReLU):
    """Does what depends on values, which no replay can."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input) if input.sum() > 0 else input * 0.5


@pytest.mark.usefixtures("eager_to_compile")
@pytest.mark.parametrize("filters", ["error", "default", "ignore"])
def test_what_cannot_be_compiled_is_trained_as_it_is(filters: Any, monkeypatch, capsys) -> None:
    monkeypatch.setattr(nn, "ReLU", Choosing)
    write_example(Path(), CLASSIFICATION)
    with warnings.catch_warnings():
        warnings.simplefilter(filters)
        assert main(["--config", "x.yaml", LONGER]) == 0
    captured = capsys.readouterr()
    line = Choosing.forward.__code__.co_firstlineno + 1
    shown = " ".join(captured.err.split())
    start = "warning: nanotorch.compile runs `training_step` as it is, uncompiled. "
    assert shown.startswith(f"{start}{__file__}:{line}: ")
    assert "finished after 24 steps" in captured.out
    step = record_of()["step"]
    assert step["compiled"] is False
    assert " ".join(step["reason"].split()) == shown.removeprefix(start)
