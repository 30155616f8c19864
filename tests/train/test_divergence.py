"""Where a loss that is not finite came from."""

import json
import re
from pathlib import Path

import pytest

from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, result_of

LAYERS = (
    "model.layers=[{name: Linear, out_features: 4}, {name: Dropout, p: 0.5}, "
    "{name: Linear, out_features: 1}]"
)


def shown(capsys: pytest.CaptureFixture[str], text: str, *overrides: str) -> str:
    assert result_of(text, *overrides).status == "diverged"
    return capsys.readouterr().out


@pytest.mark.parametrize("compiled", ["false", "true"])
def test_the_operation_the_module_and_the_step_are_named(
    compiled: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanotorch.train.step.WORTHWHILE", 0)
    train_ = f"train={{epochs: 99, batch_size: 4, compile: {compiled}}}"
    out = shown(capsys, REGRESSION, LAYERS, train_, "optimizer.lr=0.4")
    taken = int(re.findall(r"^diverged after (\d+) steps", out, re.MULTILINE)[0])
    found = re.search(
        r"^the first number that was not finite:\nstep (\d+): (\w+) gave (inf|-inf|nan).*\n"
        r"(    at .*\n)?    in module (\d \(Linear\)|Sequential|.*Loss)",
        out,
        re.MULTILINE,
    )
    assert taken - 2 <= int(found[1]) <= taken


@pytest.mark.parametrize("rate", [1e4, 1e6, 1e30])
@pytest.mark.parametrize("text", [REGRESSION, CLASSIFICATION])
def test_plots_of_predictions_are_left_out(text: str, rate: float, capsys) -> None:
    """Warnings are errors: matplotlib gives some for numbers that are not finite or too large."""
    log = "log={tensorboard: false, plots: true}"
    shown(capsys, text, log, "optimizer=SGD", f"optimizer.lr={rate}", "train.steps=30")
    (directory,) = Path("runs/x").iterdir()
    assert {path.name for path in (directory / "plots").iterdir()} <= {"loss.png"}


def test_a_function_that_is_not_defined(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, MINIMIZATION, "function.expression=log(x[0]) + x[1]", "function.start="
                "[0.1, 1]", "function.iterations=9", "optimizer.lr=0.1")  # fmt: skip
    assert "step 2: log gave nan, from finite inputs\n" in out
    assert "    input: -0.9\n" in out


def test_the_state_is_left_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, REGRESSION, LAYERS, "train={epochs: 99, batch_size: 4}", "optimizer.lr=0.4")
    # The results are of the weights at the end, not of those that the search has left.
    (record,) = Path("runs/x").glob("*/run.json")
    loss = json.loads(record.read_text("utf-8"))["results"]["train/loss"]
    assert loss is None or loss > 1e6
    assert out.count("the first number that was not finite") == 1
