"""Going on with a run: the same bits as if nothing had been, and clear words if that cannot be."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nanotorch.train import CheckpointError, ConfigError, load_config, resume, train
from nanotorch.train.cli import main
from nanotorch.train.commands import call_again
from nanotorch.train.runs.run_directory import load_checkpoint, step_of
from nanotorch.train.training.minimization import Minimization
from nanotorch.train.training.supervised import Supervised
from tests.patience import wait_until
from tests.several import posix
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    left_by,
    mistake,
    record_of,
    recorded,
    result_of,
    said,
    write_example,
)
from tests.train.runs.test_events import curves
from tests.train.test_cli import ENVIRONMENT, SCRIPT

LAYERS = (
    "model.layers=[{name: Linear, out_features: 5}, BatchNorm1d, ReLU, {name: Dropout, p: 0.3}, "
    "{name: Linear, out_features: 1}]"
)
EVERY_STEP = "checkpoint={seconds: 0, last: 100}"
# The 28 samples of the classification make batches of 8, 8, 8 and 4.
EPOCHS = "train={epochs: 4, batch_size: 8}"
CASES = {
    "dropout and normalization": (CLASSIFICATION, LAYERS, EPOCHS),
    "accumulation and clipping": (CLASSIFICATION, LAYERS, "train={epochs: 5, batch_size: 5, "
                                  "accumulate: 4, clip_norm: 0.1, clip_value: 1}"),
    "averaging over steps": (CLASSIFICATION, LAYERS, EPOCHS, "averaging={method: ema, start: 1}"),
    "a schedule by steps": (CLASSIFICATION, EPOCHS,
                            "scheduler={name: OneCycleLR, max_lr: 0.1, warmup: 2}"),
    "a plateau": (REGRESSION, "scheduler={name: ReduceLROnPlateau, patience: 0}",
                  "train={epochs: 6, batch_size: 8}", "optimizer={name: Adam, lr: 10}"),
    "an early end": (REGRESSION, "early_stopping={patience: 2, min_delta: 1e9}", "train.epochs=20"),
    "steps that are no whole epochs": (CLASSIFICATION, "train={steps: 9, batch_size: 8}"),
    "some batches only": (CLASSIFICATION, LAYERS,
                          "train={epochs: 5, batch_size: 8, overfit_batches: 2}"),
    "several losses a step": (CLASSIFICATION, LAYERS, "train={epochs: 5, batch_size: 8, "
        "accumulate: 2}", "optimizer={name: LBFGS, lr: 0.1, max_iter: 3, history_size: 4}"),
    "a line search": (CLASSIFICATION, "train={epochs: 6, batch_size: null}",
                      "optimizer={name: LBFGS, max_iter: 2, line_search_fn: strong_wolfe}"),
    "a function with a schedule": (MINIMIZATION, "function.iterations=12",
                                   "optimizer={name: Adam}", "scheduler=CosineAnnealingLR"),
}  # fmt: skip


def finished(text: str, *overrides: str) -> Path:
    """The directory of a run that has kept a checkpoint of every step."""
    return result_of(text, *overrides, EVERY_STEP).directory


def checkpoint(directory: Path, step: int) -> Path:
    return directory / f"checkpoints/step-{step:08}.safetensors"


def killed(directory: Path, step: int, before: bool = False) -> Path:
    """A copy of a run as it was found by who looks after a kill: later checkpoints are not there,
    but lines that were written since are.

    Args:
        step: that of the newest checkpoint; without any if it is 0.
        before: whether earlier ones are there.
    """
    copy = Path(shutil.copytree(directory, f"copies/{directory.name}-{step}"))
    for path in (copy / "checkpoints").glob("step-*"):
        if step_of(path) > step or (step_of(path) < step and not before):
            path.unlink()
    (copy / "weights.safetensors").unlink()
    record = record_of(copy)
    (copy / "run.json").write_text(json.dumps({**record, "status": "running"}), "utf-8")
    return copy


def resumed_alike(copy: Path, whole: Path) -> bool:
    """Whether a run, resumed, leaves what the whole one has left."""
    resume(copy)
    return left_by(copy) == left_by(whole)


@pytest.mark.parametrize("parts", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_from_each_checkpoint_the_end_is_the_same(case: str, parts: int) -> None:
    """From one in the middle; or from the first, and after each third."""
    whole = finished(*CASES[case])
    record = record_of(whole)
    assert record["steps"] >= 5
    each = range(1, record["steps"] + 1, 1 + record["steps"] // parts)
    for step in each[parts == 2 :]:
        copy = killed(whole, step, before=True)
        assert resumed_alike(copy, whole)
        again = record_of(copy)
        assert (again["status"], again["results"]) == (record["status"], record["results"])


def test_lost_weights_of_a_finished_run_are_written_again() -> None:
    whole = finished(CLASSIFICATION, LAYERS, "train.epochs=2", "averaging={method: swa}")
    before = left_by(whole)
    (whole / "weights.safetensors").unlink()
    resume(whole)
    assert left_by(whole) == before


def test_compiled_steps_go_on_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanotorch.train.training.step.WORTHWHILE", 0)
    whole = finished(CLASSIFICATION, LAYERS, "train={epochs: 6, batch_size: 7, clip_norm: 0.1}")
    assert record_of(whole)["step"]["compiled"]
    for step in (3, 10):
        assert resumed_alike(killed(whole, step), whole)


def test_a_run_without_a_checkpoint_begins_anew(capsys: pytest.CaptureFixture[str]) -> None:
    whole = finished(CLASSIFICATION, "train={epochs: 3, batch_size: 8}", "log.tensorboard=true")
    copy = killed(whole, 0)
    assert resumed_alike(copy, whole)
    assert "no checkpoint yet: starting from the beginning\n" in capsys.readouterr().out
    assert curves(copy) == curves(whole)


def test_a_run_that_diverged_is_resumed_with_something_else(capsys) -> None:
    run = result_of(REGRESSION, "optimizer.lr=1e9").directory
    with pytest.raises(CheckpointError, match=r"diverged after \d steps, and would again"):
        resume(run)
    capsys.readouterr()
    assert resume(run, "optimizer.lr=1e-3").status == "finished"
    assert "no checkpoint yet: starting from the beginning\n" in capsys.readouterr().out
    resume(run, "train.steps=9")
    assert capsys.readouterr().err == "train.steps replaces train.epochs\n"
    resume(run, "train.epochs=3")
    assert "resuming after step 9 of 12\n" in capsys.readouterr().out


@pytest.mark.parametrize("text", [CLASSIFICATION, MINIMIZATION])
def test_tensorboard_has_each_step_once(text: str) -> None:
    length = "function.iterations=12" if text == MINIMIZATION else "train={epochs: 4}"
    whole = finished(text, length, "log.tensorboard=true", "log.every=1")
    copy = killed(whole, 4, before=True)
    (torn,) = copy.glob("events.out.tfevents.*")
    with torn.open("ab") as file:  # what a kill leaves of a record
        file.write(b"\x18\0\0\0\0\0\0\0\xff")
    assert resumed_alike(copy, whole)
    assert curves(copy) == curves(whole)
    tag = "objective/value" if text == MINIMIZATION else "loss/train"
    steps = [step for step, _ in curves(copy)[tag]]
    assert steps == list(range(1, steps[-1] + 1))


def test_a_run_can_be_made_longer() -> None:
    settings = (CLASSIFICATION, LAYERS, "optimizer={name: Adam, lr: 0.01}")
    short, long = (finished(*settings, f"train={{epochs: {n}, batch_size: 8}}") for n in (2, 5))
    resume(short, "train.epochs=5")
    assert left_by(short)["weights.safetensors"] == left_by(long)["weights.safetensors"]
    assert load_config(short / "config.yaml").config.train.epochs == 5  # type: ignore[union-attr]


def test_a_finished_run_is_left_alone() -> None:
    newest = finished(REGRESSION)
    before = left_by(newest)
    code, shown, _ = said(f"train --resume {newest}")
    assert code == 0
    assert "finished after 8 steps; nothing is left to do" in shown
    assert left_by(newest) == before
    newest = finished(CLASSIFICATION)
    assert resume("latest").directory == newest
    Path("runs").rename("elsewhere")
    assert resume("elsewhere/latest").status == "finished"


def test_latest_is_a_run_in_that_directory() -> None:
    run = finished(REGRESSION)
    shutil.copytree(run, "elsewhere")
    Path("runs/link").symlink_to(Path("elsewhere").resolve())
    names = ["../elsewhere", str(Path("elsewhere").resolve()), "", ".", "x", "none", "a\0b"]
    for name in [*names, f"x/{run.name}/checkpoints", "n" * 300]:
        Path("runs/latest.txt").write_text(f"{name}\n", "utf-8")
        for command in ("train --resume latest", "predict latest table.csv"):
            error = mistake(command)
            assert error.startswith("error: runs/"), name
            assert error.count("\n") == 1, name
    Path("runs/latest.txt").write_text("link", "utf-8")  # somebody's own way to keep runs
    assert resume("latest").status == "finished"


def test_the_record_tells_of_the_resumption_and_halves_are_removed() -> None:
    copy = killed(finished(REGRESSION), 3)
    theirs = [copy / ".run.json-notes", copy / ".x-01234567", copy / "checkpoints/.keep"]
    names = [".run.json-0123abcd", ".weights.safetensors-01234567", ".config.yaml-89abcdef"]
    ours = [copy / name for name in [*names, "checkpoints/.step-00000009.safetensors-00000000"]]
    for path in [*theirs, *ours]:
        path.write_text("half", "utf-8")
    assert main(["--resume", str(copy), "log.every=5"]) == 0
    assert all(path.exists() for path in theirs)
    assert not any(path.exists() for path in ours)  # what a kill left half written
    record = record_of(copy)
    assert record["status"] == "finished"
    (again,) = record["resumed"]
    assert (again["step"], again["command"]) == (3, ["--resume", str(copy), "log.every=5"])


@pytest.mark.parametrize("warmup", [0, 1])
def test_a_longer_run_has_a_longer_schedule(warmup: int) -> None:
    schedule = f"scheduler={{name: PolynomialLR, warmup: {warmup}}}"
    settings = (schedule, "optimizer={name: SGD, lr: 1e-3}", "train={epochs: 4, batch_size: null}")
    copy = killed(finished(REGRESSION, *settings), 2)
    resume(copy, "train.epochs=40")
    found = recorded(copy, "train/lr")
    assert len(found) == 40
    assert found[10] > found[30] > found[39] > 0


@posix
@pytest.mark.parametrize(
    ("text", "part", "number"),
    [
        (REGRESSION, Supervised, signal.SIGINT),
        pytest.param(MINIMIZATION, Minimization, signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_goes_on(text: str, part: Any, number: int, monkeypatch, capsys) -> None:
    length = "train.epochs=100" if text == REGRESSION else "function.iterations=400"
    more = [length, "optimizer={name: Adam, lr: 1e-4}", "log.progress=false"]
    whole = result_of(text, *more)
    before = set(Path("runs/x").iterdir())
    left, step = iter(range(300, 0, -1)), part.step

    def interrupted(self: Any, batch: Any) -> tuple[float, int]:
        if next(left, 0) == 1:
            os.kill(os.getpid(), number)
        return step(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(part, "step", interrupted)
        assert main(["--config", "x.yaml", *more], SCRIPT[1]) == 128 + number
    (directory,) = set(Path("runs/x").iterdir()) - before
    *_, said, what = re.split(r": |\n *", capsys.readouterr().out.rstrip())
    assert said.rstrip(":") == "to resume"
    subprocess.run(what, shell=True, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    assert left_by(directory) == left_by(whole.directory)


@posix
@pytest.mark.parametrize("name", ["run.json", "config.yaml", "latest.txt", "preprocessing.json"])
def test_a_run_that_is_interrupted_as_it_begins_is_the_latest(name: str, monkeypatch) -> None:
    whole = finished(REGRESSION)
    replace = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        if target.name == name:
            os.kill(os.getpid(), signal.SIGINT)
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupted)
        assert main(["--config", "x.yaml", EVERY_STEP]) == 130
    (begun,) = set(Path("runs/x").iterdir()) - {whole}
    assert resume("latest").directory == begun
    assert left_by(begun) == left_by(whole)


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
    assert record_of()["status"] == "interrupted"


@posix
def test_a_run_whose_terminal_closes_keeps_its_last_step() -> None:
    """Several signals tell of it, and what is printed then is an error of the system."""
    import pty

    write_example(Path(), REGRESSION.replace("epochs: 2", "epochs: 100000000"))
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` lets all ignore it
        os.execve(SCRIPT[0], [*SCRIPT, "--config", "x.yaml", "log.every=1"], ENVIRONMENT)
    records = "x/*/metrics.jsonl"
    wait_until(lambda: any(path.stat().st_size for path in Path("runs").glob(records)))
    os.kill(process, signal.SIGHUP)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 128 + signal.SIGHUP
    record = record_of()
    assert record["status"] == "interrupted"
    assert [*Path("runs").glob(f"x/*/checkpoints/step-{record['steps']:08}.*")]


def test_the_time_may_be_limited() -> None:
    write_example(Path(), REGRESSION)
    code, shown, _ = said("train --config x.yaml train.time_limit=1e-6 train.epochs=3")
    assert code == 0
    assert re.search(r"^out of time after 1 step, ", shown, re.MULTILINE)
    (directory,) = Path("runs/x").iterdir()
    for _ in range(11):
        result = resume(directory)
    assert result.status == "finished"
    whole = result_of(REGRESSION, "train.epochs=3")
    assert left_by(directory) == left_by(whole.directory)
    np.testing.assert_equal(result.results, whole.results)


@pytest.mark.parametrize(
    ("note", "message"),
    [
        (b"\xff\xfe", "which is no run in runs"),
        (b"x" * 20_000, "runs/latest.txt: cannot be read: has more than 10,000 bytes"),
        (b"x" * 5000, "File name too long"),
        (b"a\0b", "names 'a\\x00b', which is no run in runs"),
        (b"", "which is no run in runs"),
    ],
)
def test_a_note_of_the_newest_run_that_is_none(note: bytes, message: str) -> None:
    Path("runs").mkdir()
    Path("runs/latest.txt").write_bytes(note)
    for command in ("train --resume latest", "predict latest x.csv", "compare latest"):
        error = mistake(command)
        assert message in error
        assert error.count("\n") == 1
        assert len(error) < 500


@pytest.mark.parametrize(
    ("schedule", "rate", "expected"),
    [
        ("null", 0.01, [0.1, 0.1, 0.01, 0.01, 0.01]),
        ("{name: ExponentialLR, gamma: 0.5}", 0.4, [0.1, 0.05, 0.1, 0.05, 0.025]),
    ],
)
def test_a_new_learning_rate_counts_from_now_on(schedule: str, rate: float, expected: Any) -> None:
    """It is not forgotten when the run is resumed once more."""
    settings = (f"scheduler={schedule}", "train={epochs: 2, batch_size: null}")
    whole = finished(REGRESSION, *settings)
    resume(whole, "train.epochs=4", f"optimizer.lr={rate}")
    resume(whole, "train.epochs=5")
    assert recorded(whole, "train/lr") == pytest.approx(expected)


def test_what_else_the_optimizer_does_may_change() -> None:
    kept = finished(REGRESSION, "train={epochs: 2, batch_size: null}")
    other = Path("other")
    shutil.copytree(kept, other)
    plain = resume(kept, "train.epochs=4")
    more = ("optimizer.weight_decay=0.5", "optimizer.momentum=0.5")  # which need nothing kept
    decayed = resume(other, "train.epochs=4", *more)
    assert left_by(plain.directory) != left_by(decayed.directory)
    newest = max((other / "checkpoints").glob("step-*"))
    groups = load_checkpoint(newest)["task"]["optimizer"]["state"]["param_groups"]
    assert (groups[0]["weight_decay"], groups[0]["momentum"]) == (0.5, 0.5)
    whole = finished(CLASSIFICATION, "optimizer.amsgrad=true")
    resume(whole, "train.steps=8", "optimizer.amsgrad=false")


STEPPED = "scheduler={name: StepLR, step_size: 2}"
# What was trained: what cannot be changed then, and why.
UNFIT = {
    (REGRESSION,): {
        "optimizer={name: Adam, lr: 0.1}": "the optimizer is Adam, but was SGD",
        "optimizer.lr=1e-5": "has taken all its 8 steps; raise train",
        "seed=1": r"command line: seed=1: cannot change in a resumed run",
        "data.split={train: 0.5, validation: 0.25, test: 0.25}": r"data\b.*: cannot change",
    },
    (CLASSIFICATION,): {
        "optimizer.amsgrad=true": "the optimizer's amsgrad is True, but was False",
        "model.layers[0].out_features=5": "size mismatch for 0.weight",
        "data.generator.samples=50": r"command line: data\b.*: cannot change in a resumed run",
    },
    (MINIMIZATION,): {
        "function.expression=x[0]**4 + x[1]**2": r"function\b.*: cannot change in a resumed run",
        "function.start=[3, 3]": r"command line: function\b.*: cannot change in a resumed run",
    },
    (REGRESSION, STEPPED, "log.tensorboard=true"): {
        "model.layers=[Linear]": "out_features: missing",
        "scheduler.step_size=3": "the scheduler's step_size is 3, but was 2",
        "scheduler={name: ExponentialLR, gamma: 0.5}": "scheduler is ExponentialLR, but was StepLR",
        "scheduler.interval=step": "the scheduler's interval is step, but was epoch",
    },
    (REGRESSION, "scheduler={name: StepLR, step_size: 2, warmup: 3}"): {
        "scheduler.warmup=2": "the scheduler's warmup is 2, but was 3",
    },
    (REGRESSION, "optimizer={name: RMSprop, lr: 0.1}"): {
        "optimizer.centered=true": "the optimizer's centered is True, but was False",
        "optimizer.momentum=0.5": "the optimizer's momentum is 0.5, but was 0",
    },
    (REGRESSION, "optimizer={name: LBFGS, lr: 0.1}"): {
        "optimizer.history_size=5": "the optimizer's history_size is 5, but was 100",
    },
    (REGRESSION, "train.epochs=4"): {
        "train.epochs=1": "has taken 16 steps, but is now to take only 4"
    },
}


@pytest.mark.parametrize("case", UNFIT, ids=range(len(UNFIT)))
def test_what_does_not_fit_changes_nothing(case: tuple[str, ...]) -> None:
    """Not even halves that a kill has left."""
    text, *before = case
    directory = finished(text, *before)
    (directory / ".run.json-0123abcd").touch()
    content = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    for override, message in UNFIT[case].items():
        told = mistake(f"train --resume {directory}", override)
        assert re.search(message, " ".join(told.split()))
        assert told.count("\n") < 5
        found = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
        assert found == content


@pytest.mark.parametrize("change", ["batch_size=8", "accumulate=2", "overfit_batches=2"])
def test_the_steps_of_an_epoch_change_only_where_steps_are_counted(change: str) -> None:
    whole = finished(REGRESSION, "train={epochs: 2, batch_size: 4}")
    name = change.partition("=")[0]
    with pytest.raises(ConfigError, match=rf"train\.{name}\b.*: changes how many steps"):
        resume(whole, f"train.{change}", "train.epochs=4")
    counted = ["train.steps=11"]
    resume(whole, f"train.{change}", *counted)
    assert len(recorded(whole, "train/lr")) == 11


def test_an_older_checkpoint_can_be_chosen() -> None:
    whole = finished(CLASSIFICATION, EPOCHS)
    before = left_by(whole)
    chosen = checkpoint(whole, 6)
    resume(chosen)
    assert left_by(whole) == before
    resume(chosen, "optimizer.lr=0.1")
    assert left_by(whole) != before
    # Those of the future that is no more do not stand in the way.
    assert resume(whole, "train.epochs=5").status == "finished"


@pytest.mark.parametrize("kind", ["torn", "link"])
def test_one_that_cannot_be_used_does_not_push_out_good_ones(kind: str) -> None:
    whole = finished(CLASSIFICATION, EPOCHS)
    copy = killed(whole, 10, before=True)
    spoilt = checkpoint(copy, 10)
    spoilt.unlink()
    if kind == "torn":
        spoilt.write_bytes(checkpoint(whole, 10).read_bytes()[:999])
    else:
        spoilt.symlink_to("nowhere")
    # Pauses at once: the checkpoint of the next step is the only one to be kept.
    resume(copy, "train.time_limit=1e-6", "checkpoint={seconds: 0, last: 1}")
    assert spoilt in (copy / "checkpoints").glob("step-*")
    resume(copy, "train.time_limit=null")
    assert left_by(copy) == left_by(whole)


def test_the_best_weights_that_are_gone_are_found_again() -> None:
    train_long = ("train={epochs: 6, batch_size: null}", "optimizer.lr=0.05")
    whole = finished(REGRESSION, *train_long)
    (best,) = (whole / "checkpoints").glob("best-*")
    assert best.name == "best-00000006.safetensors"  # better from epoch to epoch
    again = resume(checkpoint(whole, 3), "log.every=2")
    assert best.exists()
    assert load_config(again.directory / "config.yaml").config.log.every == 2
    # With steps too long to be better, the best of those that are there is kept.
    resume(checkpoint(whole, 3), "optimizer.lr=0.9")
    (best,) = (whole / "checkpoints").glob("best-*")
    assert best.exists()


def test_a_run_that_is_ended_while_it_is_measured_can_be_gone_on_with(monkeypatch, capsys) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    whole = finished(REGRESSION)
    with monkeypatch.context() as patch:
        patch.setattr("nanotorch.train.training.supervised.Supervised.report", interrupted)
        result = train(load_config("x.yaml"))
    assert (result.status, result.exit_code) == ("interrupted", 130)
    shown = capsys.readouterr().out.splitlines()
    assert shown[-1] == f"to resume: {call_again()} --resume {result.directory}"
    assert resume(result.directory).status == "finished"
    assert left_by(result.directory) == left_by(whole)


ROOT = Path(__file__).parents[3]


@posix
@pytest.mark.slow
def test_killed_trainings_end_as_if_they_had_been_left_alone() -> None:
    command = [sys.executable, str(ROOT / "scripts/kill_and_resume.py"), "--kills", "6"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "equal to the unbroken run, 0 not" in done.stdout
