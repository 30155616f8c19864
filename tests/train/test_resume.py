"""Going on with a run: the same bits as if nothing had been, and clear words if that cannot be."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nanotorch.train import RunResult, compare, load_config, predict, resume, sweep, train
from nanotorch.train.cli import main
from nanotorch.train.minimization import Minimization
from nanotorch.train.supervised import Supervised
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, write_example
from tests.train.test_cli import ENVIRONMENT, SCRIPT, posix

LAYERS = (
    "model.layers=[{name: Linear, out_features: 5}, BatchNorm1d, ReLU, {name: Dropout, p: 0.3}, "
    "{name: Linear, out_features: 1}]"
)
EVERY_STEP = "checkpoint={seconds: 0, last: 100}"
# The 28 samples of the classification make batches of 8, 8, 8 and 4.
CASES = {
    "dropout and normalization": (CLASSIFICATION, [LAYERS, "train={epochs: 4, batch_size: 8}"]),
    "accumulation and clipping": (
        CLASSIFICATION,
        [LAYERS, "train={epochs: 5, batch_size: 5, accumulate: 4, clip_norm: 0.1, clip_value: 1}"],
    ),
    "averaging over steps": (
        CLASSIFICATION,
        [LAYERS, "averaging={method: ema, start: 1}", "train={epochs: 4, batch_size: 8}"],
    ),
    "averaging over epochs": (
        CLASSIFICATION,
        [LAYERS, "averaging={method: swa, start: 1}", "train={epochs: 4, batch_size: 8}"],
    ),
    "a schedule by steps": (
        CLASSIFICATION,
        ["scheduler={name: OneCycleLR, max_lr: 0.1, warmup: 2}",
         "train={epochs: 4, batch_size: 8}"],
    ),
    "a plateau": (
        REGRESSION,
        ["scheduler={name: ReduceLROnPlateau, patience: 0}", "train={epochs: 6, batch_size: 8}",
         "optimizer={name: Adam, lr: 10}"],
    ),
    "milestones": (
        REGRESSION, ["scheduler={name: MultiStepLR, milestones: [2, 3]}", "train.epochs=5"],
    ),
    "an early end": (
        REGRESSION, ["early_stopping={patience: 2, min_delta: 1e9}", "train.epochs=20"],
    ),
    "steps that are no whole epochs": (CLASSIFICATION, ["train={steps: 9, batch_size: 8}"]),
    "no shuffling": (REGRESSION, ["train={epochs: 3, batch_size: 4, shuffle: false}"]),
    "some batches only": (
        CLASSIFICATION, [LAYERS, "train={epochs: 5, batch_size: 8, overfit_batches: 2}"],
    ),
    "several losses a step": (
        CLASSIFICATION,
        [LAYERS, "optimizer={name: LBFGS, lr: 0.1, max_iter: 3, history_size: 4}",
         "train={epochs: 5, batch_size: 8, accumulate: 2}"],
    ),
    "a line search": (
        CLASSIFICATION,
        ["optimizer={name: LBFGS, max_iter: 2, line_search_fn: strong_wolfe}",
         "train={epochs: 6, batch_size: null}"],
    ),
    "a function": (MINIMIZATION, ["function.iterations=12"]),
    "a function with a schedule": (
        MINIMIZATION,
        ["function.iterations=12", "optimizer={name: Adam}", "scheduler=CosineAnnealingLR"],
    ),
}  # fmt: skip
ALIKE = ("averaging over epochs", "milestones", "no shuffling", "a function with a schedule")
"""Cases that keep what another one keeps."""


def finished(text: str, overrides: list[str]) -> RunResult:
    write_example(Path(), text)
    return train(load_config("x.yaml", [*overrides, EVERY_STEP]))


def left_by(directory: Path) -> dict[str, bytes]:
    names = ("weights.safetensors", "metrics.jsonl")
    return {name: (directory / name).read_bytes() for name in names}


def as_if_killed(directory: Path, after: Path, before: list[Path]) -> Path:
    """A copy of a run as it was found by who looks after a kill: later checkpoints are not there,
    but lines that were written since are."""
    copy = Path("copies") / f"{directory.name}-{after.stem}"
    shutil.copytree(directory, copy)
    kept = {path.name for path in [*before, after]}
    for path in (copy / "checkpoints").glob("step-*"):
        if path.name not in kept:
            path.unlink()
    (copy / "weights.safetensors").unlink()
    record = json.loads((copy / "run.json").read_text("utf-8"))
    (copy / "run.json").write_text(json.dumps({**record, "status": "running"}), "utf-8")
    return copy


@pytest.mark.parametrize("parts", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case in ALIKE)) for case in CASES]
)
def test_from_each_checkpoint_the_end_is_the_same(case: str, parts: int) -> None:
    """From one in the middle; or from the first, and after each third."""
    text, overrides = CASES[case]
    whole = finished(text, overrides)
    checkpoints = sorted((whole.directory / "checkpoints").glob("step-*"))
    assert len(checkpoints) >= 5
    each = range(0, len(checkpoints), 1 + len(checkpoints) // parts)
    for number in each[parts == 2 :]:
        copy = as_if_killed(whole.directory, checkpoints[number], checkpoints[:number])
        again = resume(copy)
        assert (again.status, again.results) == (whole.status, pytest.approx(whole.results))
        assert left_by(copy) == left_by(whole.directory)


def test_compiled_steps_go_on_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanotorch.train.step.WORTHWHILE", 0)
    whole = finished(CLASSIFICATION, [LAYERS, "train={epochs: 6, batch_size: 7, clip_norm: 0.1}"])
    record = json.loads((whole.directory / "run.json").read_text("utf-8"))
    assert record["step"]["compiled"]
    checkpoints = sorted((whole.directory / "checkpoints").glob("step-*"))
    for number in (2, 9):
        copy = as_if_killed(whole.directory, checkpoints[number], [])
        resume(copy)
        assert left_by(copy) == left_by(whole.directory)


@pytest.mark.parametrize("forgotten", ["random", "loader", "optimizer"])
def test_what_is_forgotten_would_be_seen(forgotten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = finished(CLASSIFICATION, [LAYERS, "train={epochs: 4, batch_size: 8}"])
    checkpoint = sorted((whole.directory / "checkpoints").glob("step-*"))[5]
    copy = as_if_killed(whole.directory, checkpoint, [])
    load: Callable[..., None] = Supervised.load_training_state

    def forgetful(self: Supervised, state: dict[str, Any]) -> None:
        load(self, {**state, forgotten: self.training_state()[forgotten]})

    monkeypatch.setattr(Supervised, "load_training_state", forgetful)
    resume(copy)
    assert left_by(copy) != left_by(whole.directory)


def test_a_run_without_a_checkpoint_begins_anew() -> None:
    whole = finished(CLASSIFICATION, ["train={epochs: 3, batch_size: 8}", "log.tensorboard=true"])
    copy = as_if_killed(whole.directory, Path("none"), [])
    resume(copy)
    assert left_by(copy) == left_by(whole.directory)
    assert curves(copy) == curves(whole.directory)


def curves(directory: Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(directory), size_guidance={"scalars": 0}).Reload()
    tags = set(events.Tags()["scalars"]) - {"train/samples_per_second"}
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in tags}


@pytest.mark.parametrize("text", [CLASSIFICATION, MINIMIZATION])
def test_tensorboard_has_each_step_once(text: str) -> None:
    length = "function.iterations=12" if text == MINIMIZATION else "train={epochs: 4}"
    whole = finished(text, [length, "log.tensorboard=true", "log.every=1"])
    checkpoints = sorted((whole.directory / "checkpoints").glob("step-*"))
    copy = as_if_killed(whole.directory, checkpoints[3], checkpoints[:3])
    (torn,) = copy.glob("events.out.tfevents.*")
    with torn.open("ab") as file:  # what a kill leaves of a record
        file.write(b"\x18\0\0\0\0\0\0\0\xff")
    resume(copy)
    assert curves(copy) == curves(whole.directory)
    steps = [step for step, _ in curves(copy)["function/value" if text == MINIMIZATION else
                                             "train/loss"]]  # fmt: skip
    assert steps == list(range(1, steps[-1] + 1))


def test_a_run_can_be_made_longer() -> None:
    optimizer = "optimizer={name: Adam, lr: 0.01}"
    short = finished(CLASSIFICATION, [LAYERS, "train={epochs: 2, batch_size: 8}", optimizer])
    result = resume(short.directory, ["train.epochs=5"])
    long = finished(CLASSIFICATION, [LAYERS, "train={epochs: 5, batch_size: 8}", optimizer])
    weights = "weights.safetensors"
    assert (result.directory / weights).read_bytes() == (long.directory / weights).read_bytes()
    assert load_config(result.directory / "config.yaml").config.train.epochs == 5  # type: ignore[union-attr]


def test_a_finished_run_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    whole = finished(REGRESSION, [])
    before = left_by(whole.directory)
    capsys.readouterr()
    assert main(["--resume", str(whole.directory)]) == 0
    assert "finished after 8 steps; nothing is left to do" in capsys.readouterr().out
    assert left_by(whole.directory) == before


def test_the_newest_run_is_meant_by_latest() -> None:
    finished(REGRESSION, [])
    newest = finished(CLASSIFICATION, [])
    assert resume("latest").directory == newest.directory
    Path("runs").rename("elsewhere")
    assert resume("elsewhere/latest").status == "finished"


def test_the_record_tells_of_the_resumption() -> None:
    whole = finished(REGRESSION, [])
    checkpoints = sorted((whole.directory / "checkpoints").glob("step-*"))
    copy = as_if_killed(whole.directory, checkpoints[2], [])
    assert main(["--resume", str(copy), "log.every=5"]) == 0
    record = json.loads((copy / "run.json").read_text("utf-8"))
    assert record["status"] == "finished"
    (again,) = record["resumed"]
    assert (again["step"], again["command"]) == (3, ["--resume", str(copy), "log.every=5"])


@pytest.mark.parametrize("warmup", [0, 1])
def test_a_longer_run_has_a_longer_schedule(warmup: int) -> None:
    schedule = f"scheduler={{name: PolynomialLR, warmup: {warmup}}}"
    rates = [schedule, "optimizer={name: SGD, lr: 1e-3}"]
    short = finished(REGRESSION, [*rates, "train={epochs: 4, batch_size: null}"])
    checkpoint = sorted((short.directory / "checkpoints").glob("step-*"))[1]
    copy = as_if_killed(short.directory, checkpoint, [])
    resume(copy, ["train.epochs=40"])
    lines = [json.loads(line) for line in (copy / "metrics.jsonl").read_text().splitlines()]
    found = [line["train/lr"] for line in lines if "train/lr" in line]
    assert len(found) == 40
    assert found[10] > found[30] > found[39] > 0


@posix
@pytest.mark.parametrize(
    ("text", "part", "number", "code"),
    [
        (REGRESSION, Supervised, signal.SIGINT, 130),
        pytest.param(MINIMIZATION, Minimization, signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param(REGRESSION, Supervised, signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param(MINIMIZATION, Minimization, signal.SIGINT, 130, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_goes_on(
    text: str,
    part: type,
    number: signal.Signals,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    length = "train.epochs=100" if text == REGRESSION else "function.iterations=400"
    write_example(Path(), text)
    more = [length, "optimizer={name: Adam, lr: 1e-4}", "log.progress=false"]
    whole = train(load_config("x.yaml", more))
    before = set(Path("runs/x").iterdir())
    left, step = iter(range(300, 0, -1)), part.step

    def interrupted(self: Any, batch: Any) -> tuple[float, int]:
        if next(left, 0) == 1:
            os.kill(os.getpid(), number)
        return step(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(part, "step", interrupted)
        assert main(["--config", "x.yaml", *more], SCRIPT[1]) == code
    (directory,) = set(Path("runs/x").iterdir()) - before
    said, what = capsys.readouterr().out.splitlines()[-1].split(": ")
    assert said == "to go on"
    subprocess.run(what, shell=True, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    assert left_by(directory) == left_by(whole.directory)


@posix
@pytest.mark.parametrize("name", ["run.json", "config.yaml", "latest.txt", "preprocessing.json"])
def test_a_run_that_is_interrupted_as_it_begins_is_the_latest(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = finished(REGRESSION, [])
    replace = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        if target.name == name:
            os.kill(os.getpid(), signal.SIGINT)
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupted)
        assert main(["--config", "x.yaml", EVERY_STEP]) == 130
    (begun,) = set(Path("runs/x").iterdir()) - {whole.directory}
    assert resume("latest").directory == begun
    assert left_by(begun) == left_by(whole.directory)


@posix
def test_a_second_signal_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Minimization.step

    def twice(self: Minimization, batch: Any) -> tuple[float, int]:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return step(self, batch)

    monkeypatch.setattr(Minimization, "step", twice)
    write_example(Path(), MINIMIZATION)
    assert main(["--config", "x.yaml"]) == 130
    (path,) = Path("runs/x").glob("*/run.json")
    assert json.loads(path.read_text("utf-8"))["status"] == "interrupted"


def test_the_time_may_be_limited(capsys: pytest.CaptureFixture[str]) -> None:
    write_example(Path(), REGRESSION)
    assert main(["--config", "x.yaml", "train.time_limit=1e-6", "train.epochs=3"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^out of time after 1 steps, ", shown, re.MULTILINE)
    (directory,) = Path("runs/x").iterdir()
    for _ in range(11):
        result = resume(directory)
    assert result.status == "finished"
    whole = train(load_config("x.yaml", ["train.epochs=3"]))
    assert left_by(directory) == left_by(whole.directory)
    np.testing.assert_equal(result.results, whole.results)


def test_what_a_kill_left_half_written_is_removed() -> None:
    whole = finished(REGRESSION, [])
    first = sorted((whole.directory / "checkpoints").glob("step-*"))[0]
    copy = as_if_killed(whole.directory, first, [])
    theirs = [copy / ".run.json-notes", copy / ".x-01234567", copy / "checkpoints/.keep"]
    names = [".run.json-0123abcd", ".weights.safetensors-01234567", ".config.yaml-89abcdef"]
    ours = [copy / name for name in [*names, "checkpoints/.step-00000009.safetensors-00000000"]]
    for path in [*theirs, *ours]:
        path.write_text("half", "utf-8")
    resume(copy)
    assert all(path.exists() for path in theirs)
    assert not any(path.exists() for path in ours)


def test_what_cannot_be_gone_on_with_is_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Not even a schedule that its checkpoint does not fit costs the run anything."""
    whole = finished(REGRESSION, ["scheduler={name: StepLR, step_size: 2}", "log.tensorboard=true"])
    first = sorted((whole.directory / "checkpoints").glob("step-*"))[0]
    copy = as_if_killed(whole.directory, first, [])
    (copy / ".run.json-0123abcd").touch()
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    for override in ("scheduler={name: MultiStepLR, milestones: [1]}", "model.layers=[Linear]",
                     "optimizer={name: Adam}", "early_stopping={patience: x}"):  # fmt: skip
        assert main(["--resume", str(copy), override]) == 2
        assert capsys.readouterr().err.count("\n") < 4
        assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("note", "message"),
    [
        (b"\xff\xfe", "runs/latest.txt: is not text in UTF-8"),
        (b"x" * 20_000, "runs/latest.txt: cannot be read: has more than 10,000 bytes"),
        (b"x" * 5000, "File name too long"),
        (b"a\0b", "there is no such run"),
        (b"", "is not the directory of a run"),
    ],
)
def test_a_note_of_the_newest_run_that_is_none(
    note: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("runs").mkdir()
    Path("runs/latest.txt").write_bytes(note)
    for command in (
        lambda: main(["--resume", "latest"]),
        lambda: predict.main(["latest", "x.csv"]),
        lambda: compare.main(["latest"]),
    ):
        assert command() == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
        assert len(error) < 500


@pytest.mark.parametrize("name", ["x" * 5000, "a/" * 2500, "x\ny"])
def test_names_that_are_none(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        lambda: main(["--resume", name]),
        lambda: main(["--config", name]),
        lambda: predict.main([name, "x.csv"]),
        lambda: compare.main([name]),
        lambda: sweep.main(["--config", name, "seed=1"]),
    ):
        assert command() == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert len(error) < 500
