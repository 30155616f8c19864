"""A whole run, what it leaves behind, what it tells when it diverges, and --check."""

import contextlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nanotorch.train import load_config, train
from nanotorch.train.runs.run import Run
from nanotorch.train.training.experiment import Recorder, TensorBoardEvents
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    left_by,
    loaded,
    metrics_of,
    mistake,
    record_of,
    recorded,
    result_of,
    said,
    write_example,
)
from tests.train.runs.test_events import accumulated, curves

EXAMPLES = {
    "regression": REGRESSION, "classification": CLASSIFICATION, "minimization": MINIMIZATION
}  # fmt: skip


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_run_leaves_its_record_which_can_be_run_again(kind: str) -> None:
    result = train(loaded(EXAMPLES[kind], "seed=5"), command=["--config", "x.yaml"])
    files = {"checkpoints", "config.yaml", "metrics.jsonl", "run.json", "weights.safetensors"}
    if kind != "minimization":
        files |= {"preprocessing.json"}
    assert {path.name for path in result.directory.iterdir()} == files
    assert result.directory.parent == Path("runs/x")
    newest = Path("runs/latest.txt").read_text("utf-8").strip()
    assert Path("runs", newest) == result.directory
    assert (result.status, result.exit_code) == ("finished", 0)

    run = record_of(result.directory)
    assert run["status"] == "finished"
    assert run["command"] == ["--config", "x.yaml"]
    assert run["results"] == pytest.approx(result.results)
    assert run["versions"]["numpy"] == np.__version__
    assert set(run["data"]) == ({"table.csv"} if kind == "regression" else set())
    steps = [record["step"] for record in metrics_of(result.directory)]
    assert steps == sorted(steps)
    assert steps[-1] == run["steps"]
    # It can be run again to the same end.
    second = train(load_config(result.directory / "config.yaml"))
    assert second.directory.parent == result.directory.parent
    assert left_by(second.directory) == left_by(result.directory)


def test_metrics_are_measured_as_they_are_reported() -> None:
    result = result_of(CLASSIFICATION, "train={epochs: 2, batch_size: 8}")
    lines = metrics_of(result.directory)
    losses = recorded(result.directory, "train/loss")
    assert len(losses) == 8
    epochs = [line for line in lines if "train/epoch_loss" in line]
    assert [line["epoch"] for line in epochs] == [1, 2]
    # 28 samples in batches of 8, 8, 8 and 4.
    mean = (8 * sum(losses[:3]) + 4 * losses[3]) / 28
    assert epochs[0]["train/epoch_loss"] == pytest.approx(mean)
    final = lines[-1]
    assert final["final/validation/loss"] == epochs[-1]["validation/loss"]
    assert final["final/test/auc"] == result.results["test/auc"]


@pytest.mark.parametrize("kind", EXAMPLES)
def test_tensorboard_shows_what_the_metrics_say(kind: str) -> None:
    result = result_of(EXAMPLES[kind], "log.tensorboard=true")
    expected: dict[str, list[tuple[int, float]]] = {}
    for record in metrics_of(result.directory):
        for tag in record.keys() - {"step", "epoch"}:
            if not tag.startswith("final/"):
                point = record["step"], record[tag]
                expected.setdefault(TensorBoardEvents.tag(tag), []).append(point)
    shown = curves(result.directory)
    assert shown.keys() == expected.keys()
    for tag, points in expected.items():
        np.testing.assert_allclose(shown[tag], points, rtol=1e-6)
    tags = accumulated(result.directory).Tags()
    assert tags["graph"]
    assert "config/text_summary" in tags["tensors"]


def test_tensorboard_changes_nothing_of_what_is_learned() -> None:
    layers = "model.layers=[BatchNorm1d, {name: Dropout, p: 0.5}, {name: Linear, out_features: 1}]"
    runs = [
        result_of(REGRESSION, layers, f"log.tensorboard={on}", "train.batch_size=7").directory
        for on in ("true", "false")
    ]
    assert left_by(runs[0]) == left_by(runs[1])


def diverged(capsys: pytest.CaptureFixture[str], text: str, *overrides: str) -> str:
    result = result_of(text, *overrides)
    assert (result.status, result.exit_code) == ("diverged", 1)
    return capsys.readouterr().out


@pytest.mark.parametrize("text", [REGRESSION, MINIMIZATION])
def test_a_run_that_diverges_says_so_and_keeps_its_record(text: str, capsys) -> None:
    length = "function.iterations" if "function" in text else "train.epochs"
    out = diverged(capsys, text, "optimizer={name: SGD, lr: 1e5}", f"{length}=900")
    first, *_ = out.rpartition("\n\n")[2].splitlines()  # the diagnosis, and no tables of nan
    assert re.fullmatch(r"the loss went from .* to .*; try an optimizer\.lr below .*", first)
    assert "samples  " not in out
    assert "f = " not in out
    assert record_of()["status"] == "diverged"
    (directory,) = Path("runs/x").iterdir()
    assert "NaN" not in (directory / "metrics.jsonl").read_text()


@pytest.mark.parametrize(
    ("text", "overrides", "became"),
    [
        # The last value that is seen is finite, but not the one after the last step.
        (MINIMIZATION, ["function.iterations=1", "optimizer.lr=1e30"], "inf"),
        (MINIMIZATION, ["function.iterations=20", "optimizer.lr=5"], r"2\.585e\+37"),
        (REGRESSION, ["train.steps=1", "train.epochs=null", "optimizer.lr=1e30"], "inf"),
        (REGRESSION, ["train.epochs=2", "optimizer.lr=20"], r"[\d.]+e\+\d+"),
    ],
)
def test_what_the_last_step_does_counts_too(text: str, overrides: Any, became: str, capsys) -> None:
    out = diverged(capsys, text, *overrides)
    assert record_of()["status"] == "diverged"
    pattern = rf"^the loss went from [\d.]+ to {became}; try an optimizer\.lr below "
    assert re.search(pattern, out, re.MULTILINE)


def test_a_loss_may_rise_a_little() -> None:
    assert result_of(REGRESSION, "train.epochs=1", "optimizer.lr=1.5").status == "finished"


def test_a_run_that_fails_says_so_in_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Recorder, step: int, epoch: int, values: object, passing: object = None) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Recorder, "write", fail)
    with pytest.raises(OSError, match="no space left"):
        result_of(REGRESSION)
    assert record_of()["status"] == "failed"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_run_that_ends_before_it_begins_leaves_nothing(error: Any, monkeypatch, capsys) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(Run, "make_loop", fail)
    with contextlib.suppress(OSError):
        result_of(REGRESSION)
    assert list(Path("runs/x").iterdir()) == []
    assert "to resume" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("log", "overrides", "place"),
    [
        ("", ["log.plots=false", "seed=1"], "x.yaml:1:1: log.dir: "),
        ("", ["log={plots: false}"], "command line: log={plots: false}: log.dir: "),
        ("", ["log.dir=runs", "log.plots=false"], "command line: log.dir=runs: "),
        ("", ["log={dir: runs}"], "command line: log={dir: runs}: log.dir: "),
        ("log: {dir: runs}\n", ["log.plots=false"], "x.yaml:11:12: log.dir: "),
        ("log: {plots: false}\n", ["log.every=1"], "x.yaml:11:6: log.dir: "),
        ('log: {dir: "a\\0b"}\n', [], "x.yaml:11:12: log.dir: "),
    ],
)
def test_where_runs_cannot_be_kept_is_told(log: str, overrides: list[str], place: str) -> None:
    write_example(Path(), REGRESSION.rpartition("log:")[0] + log)
    Path("runs").touch()
    told = mistake("train --config x.yaml", *overrides)
    assert told.startswith(f"{place}cannot create a run directory in ")
    if "\\0" not in log:
        assert told.endswith(" in 'runs/x': 'runs' is not a directory\n")


LAYERS = (
    "model.layers=[{name: Linear, out_features: 4}, {name: Dropout, p: 0.5}, "
    "{name: Linear, out_features: 1}]"
)


@pytest.mark.parametrize("compiled", ["false", "true"])
def test_operation_module_and_step_are_named(compiled: str, capsys, monkeypatch) -> None:
    monkeypatch.setattr("nanotorch.train.training.step.WORTHWHILE", 0)
    train_ = f"train={{epochs: 99, batch_size: 4, compile: {compiled}}}"
    out = diverged(capsys, REGRESSION, LAYERS, train_, "optimizer.lr=0.4")
    taken = int(re.findall(r"^diverged after (\d+) steps", out, re.MULTILINE)[0])
    (found,) = re.findall(
        r"^the first number that was not finite:\nstep (\d+): (?:\w+) gave (?:inf|-inf|nan).*\n"
        r"(?:    at .*\n)?    in module (?:\d \(Linear\)|Sequential|.*Loss)",
        out,
        re.MULTILINE,
    )
    assert taken - 2 <= int(found) <= taken
    # The results are of the weights at the end, not of those that the search has left.
    loss = record_of()["results"]["train/loss"]
    assert loss is None or loss > 1e6


@pytest.mark.parametrize("rate", [1e4, 1e6, 1e30])
@pytest.mark.parametrize("text", [REGRESSION, CLASSIFICATION])
def test_plots_of_predictions_are_left_out(text: str, rate: float, capsys) -> None:
    """Warnings are errors: matplotlib gives some for numbers that are not finite or too large."""
    log = "log={tensorboard: false, plots: true}"
    diverged(capsys, text, log, "optimizer=SGD", f"optimizer.lr={rate}", "train.steps=30")
    (directory,) = Path("runs/x").iterdir()
    assert {path.name for path in (directory / "plots").iterdir()} <= {"loss.png"}


def test_a_function_that_is_not_defined(capsys: pytest.CaptureFixture[str]) -> None:
    out = diverged(capsys, MINIMIZATION, "function.expression=log(x[0]) + x[1]", "function.start="
                "[0.1, 1]", "function.iterations=9", "optimizer.lr=0.1")  # fmt: skip
    assert "step 2: log gave nan, from finite inputs\n" in out
    assert "    input: -0.9\n" in out


@pytest.mark.parametrize(
    ("text", "override", "code", "told"),
    [
        (REGRESSION, "seed=1", 0, "a batch of 4 samples: loss "),
        (CLASSIFICATION, "seed=1", 0, "a batch of 8 samples: loss "),
        (MINIMIZATION, "seed=1", 0, "at the start: loss 2, all gradients are finite"),
        # What would end a training at once.
        (MINIMIZATION, "function.expression=sqrt(x[0] - 1) + x[1]", 2,
         "function: at the start: the gradient of x is "),
        (REGRESSION, "data={csv: large.csv, target: y, standardize_target: false}", 2,
         "a batch of 4 samples: the loss is inf"),
    ],
)  # fmt: skip
def test_a_pass_is_tried(text: str, override: str, code: int, told: str) -> None:
    write_example(Path(), text)
    Path("large.csv").write_text("a,y\n" + "1,1e30\n" * 20)
    ended, out, errors = said("train --config x.yaml --check", override)
    assert ended == code
    assert told in (errors if code else out.splitlines()[-1])
    assert {path.name for path in Path().iterdir()} == {"large.csv", "table.csv", "x.yaml"}
