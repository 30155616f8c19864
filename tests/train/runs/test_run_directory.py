"""Run directories: which checkpoints are kept, what cannot be resumed, disks that take no more."""

import functools
import itertools
import json
import math
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch.serialization.files import naming_file, write_atomically
from nanotorch.train import ConfigError, resume
from nanotorch.train.runs.run_directory import (
    ANEW,
    KIND,
    VERSION,
    CheckpointError,
    create_run_directory,
    load_checkpoint,
    locked,
    step_of,
    write_json,
)
from nanotorch.train.training.experiment import Recorder
from tests.several import posix
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    TABLE,
    metrics_of,
    mistake,
    record_of,
    refusal_of,
    result_of,
    write_example,
)
from tests.train.runs.test_resume import checkpoint, finished, killed, resumed_alike
from tests.train.test_cli import ENVIRONMENT, SCRIPT


def test_runs_that_begin_at_once_share_no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len({create_run_directory(Path("runs"), "x") for _ in range(9)}) == 9
    monkeypatch.setattr("nanotorch.train.runs.run_directory.os.urandom", lambda n: b"aaa")
    with pytest.raises(FileExistsError):
        {create_run_directory(Path("runs"), "x") for _ in range(99)}


def test_the_newest_is_named() -> None:
    root = Path("runs")
    for _ in range(2):
        root.mkdir(exist_ok=True)
        (root / ".latest.txt-0123abcd").touch()  # a killed run may have left it
        newest = result_of(REGRESSION).directory
        # Seen from where the file is, so that a directory that is moved still works.
        assert (root / "latest.txt").read_text("utf-8") == f"x/{newest.name}\n"
    assert sorted(path.name for path in root.iterdir()) == ["latest.txt", "x"]
    # The name is not worth a failure.
    (root / "latest.txt").unlink()
    (root / "latest.txt").mkdir()
    assert result_of(CLASSIFICATION).status == "finished"
    assert {path.name for path in root.iterdir()} == {"latest.txt", "x"}


def test_what_is_no_number_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("a.json")
    write_json(path, {"a": [1.5, math.nan, (math.inf,)], "b": {"c": -math.inf}})
    assert json.loads(path.read_text("utf-8")) == {"a": [1.5, None, [None]], "b": {"c": None}}
    # If need be, a record is written in its place.
    monkeypatch.setattr("nanotorch.train.runs.run_directory.os.fsync", full)
    write_json(path, {"status": "failed"}, in_place=True)
    assert json.loads(path.read_text("utf-8")) == {"status": "failed"}
    assert [entry.name for entry in Path().iterdir()] == ["a.json"]


def full(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_metrics_are_lines_that_can_be_read_at_any_time() -> None:
    recorder = Recorder(Path(), tensorboard=False, resumed=None)
    recorder.begin()
    recorder.write(1, 1, {"train/loss": 0.1})
    assert Path("metrics.jsonl").read_text() == '{"step": 1, "epoch": 1, "train/loss": 0.1}\n'
    recorder.write(2, 1, {"train/loss": math.nan})
    recorder.close()
    assert json.loads(Path("metrics.jsonl").read_text().splitlines()[1])["train/loss"] is None


def test_a_run_without_a_time_has_its_name_to_itself() -> None:
    assert result_of(MINIMIZATION, "log.timed=false").directory == Path("runs/x")
    refusal = refusal_of(result_of)(MINIMIZATION, "log.timed=false")
    assert "cannot create a run directory in 'runs/x': File exists" in refusal


refusal = refusal_of(resume, (CheckpointError, ConfigError))


def cut_metrics(checkpoint_: Path) -> None:
    """Leave the metrics of the checkpoint before."""
    run = checkpoint_.parents[1]
    before = load_checkpoint(checkpoint(run, step_of(checkpoint_) - 1))
    os.truncate(run / "metrics.jsonl", before["recorder"]["metrics"])


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "is empty": lambda path: path.write_bytes(b""),
    r"is cut off: of \d+ bytes \d+ are there": lambda p: p.write_bytes(p.read_bytes()[:-99]),
    r"metrics\.jsonl lacks lines that it had then": cut_metrics,
}


@pytest.mark.parametrize("problem", DAMAGES)
def test_a_damaged_checkpoint_is_named(problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = finished(REGRESSION)
    copy = killed(whole, 5, before=True)
    path = checkpoint(copy, 5)
    DAMAGES[problem](path)
    told = f"{copy}: this checkpoint cannot be used; name the run, which takes its newest sound one"
    assert re.fullmatch(re.escape(f"{told}:\n  {path}: ") + problem, refusal(path))
    # The one before is good, and leads to the same end.
    capsys.readouterr()
    assert resumed_alike(copy, whole)
    warning = rf"warning: {path}: {problem}; continuing from the one before\n"
    assert re.fullmatch(warning, capsys.readouterr().err)


def test_what_is_no_good_checkpoint() -> None:
    one, other = finished(REGRESSION), killed(finished(REGRESSION, "seed=1"), 8)
    copy = killed(one, 2)
    path = checkpoint(copy, 2)
    path.write_bytes(b"")
    expected = f"{copy}: none of its checkpoints can be used; {ANEW}:\n  {path}: is em"
    assert refusal(copy).startswith(expected)
    foreign = checkpoint(other, 8)
    foreign.write_bytes(checkpoint(one, 8).read_bytes())
    message = mistake(f"train --resume {foreign}")
    assert f"\n  {foreign}: belongs to another run, " in message
    with pytest.raises(CheckpointError, match="is not the checkpoint of a train"):
        load_checkpoint(one / "weights.safetensors")


def in_the_way(place: Path) -> None:
    """What a directory without permission is to others than the administrator."""
    shutil.rmtree(place)
    place.touch()


SPOILT: list[tuple[Callable[[Path], Any], str]] = [
    (lambda run: shutil.rmtree(run), "there is no such run"),
    (lambda run: (run / "config.yaml").unlink(), "it has no config.yaml; restore it, or start a"),
    (lambda run: (run / "config.yaml").write_text("a: 1"), "config.yaml: restore what has changed"),
    (lambda run: (run / "run.json").unlink(), "cannot be read: No such file or directory; start"),
    (lambda run: (run / "run.json").write_text("{"), "is not JSON: "),
    (lambda run: (run / "run.json").write_text("{}"), f"lacks data, id, status; {ANEW}"),
    (lambda run: (run / "metrics.jsonl").write_text(""), ": metrics.jsonl lacks lines"),
    (
        lambda run: in_the_way(run / "checkpoints"),
        "checkpoints: should be a directory of the run; move",
    ),
    (lambda run: shutil.rmtree(run / "checkpoints"), "taken 8 steps, but its checkpoints are gone"),
    (
        lambda run: write_example(Path(), table=TABLE[:-1]),
        "table.csv: has changed since",
    ),
]


def test_what_cannot_be_gone_on_with_is_told() -> None:
    whole = finished(REGRESSION)
    if os.name == "posix":  # a run that is going on
        with locked(whole), pytest.raises(CheckpointError, match="is still in progress"):
            resume(whole, "train.epochs=9")
    for damage, message in SPOILT:
        run = Path(shutil.copytree(whole, "run"))
        damage(run)
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        assert message in refusal(run, "train.epochs=9")
        assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
        shutil.rmtree(run, ignore_errors=True)


Done = subprocess.CompletedProcess[str]


def run(command: list[str]) -> Done:
    # A limit to the size of files would cut off byte code that is written, for all who read it.
    environment = {**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def on_own_disk(command: str) -> list[str]:
    """The command of a shell script that may mount disks."""
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command]


@functools.cache
def disks_can_be_mounted() -> bool:
    try:
        return run(on_own_disk("mount -t tmpfs none /tmp")).returncode == 0
    except OSError:
        return False


own_disk = pytest.mark.skipif(
    "not disks_can_be_mounted()", reason="a disk of one's own needs Linux's user name spaces"
)


def kept(directory: Path, pattern: str) -> list[int]:
    paths = (directory / "checkpoints").glob(f"{pattern}-*.safetensors")
    return sorted(int(path.stem.partition("-")[2]) for path in paths)


def test_the_newest_and_some_for_good_are_kept() -> None:
    settings = "checkpoint={seconds: 0, last: 3, every: 5}"
    result = result_of(REGRESSION, settings, "train={epochs: 3, batch_size: 2}")
    assert kept(result.directory, "step") == [5, 10, 15, 19, 20, 21]
    # One at the end if time does not count, and no best ones if none are wanted.
    result = result_of(REGRESSION, "checkpoint={seconds: null, best: 0}")
    assert kept(result.directory, "step") == [8]
    assert kept(result.directory, "best") == []
    assert kept(result_of(MINIMIZATION).directory, "best") == []


def test_the_best_weights_are_kept() -> None:
    overrides = ["checkpoint={best: 2}", "train={epochs: 6, batch_size: null}", "optimizer.lr=0.8"]
    directory = result_of(REGRESSION, *overrides).directory
    lines = metrics_of(directory)
    losses = {line["step"]: line["validation/loss"] for line in lines if "validation/loss" in line}
    expected = sorted(sorted(losses, key=losses.__getitem__)[:2])
    assert kept(directory, "best") == expected
    # They are weights like any, of the step that they are called after.
    best = torch.load(directory / "checkpoints" / f"best-{expected[0]:08}.safetensors")
    again = result_of(REGRESSION, f"train={{epochs: {expected[0]}, batch_size: null}}",
                      "optimizer.lr=0.8")  # fmt: skip
    weights = torch.load(again.directory / "weights.safetensors")
    assert {name: tensor.tolist() for name, tensor in best.items()} == {
        name: tensor.tolist() for name, tensor in weights.items()
    }


def test_a_run_that_diverged_keeps_what_was_before() -> None:
    overrides = ["optimizer={name: SGD, lr: 30}", "checkpoint={seconds: 0, last: 50}"]
    result = result_of(REGRESSION, *overrides, "train={epochs: 40, batch_size: null}")
    record = record_of(result.directory)
    assert record["status"] == "diverged"
    assert kept(result.directory, "step") == list(range(1, record["steps"]))
    again = resume(result.directory, "optimizer.lr=30")
    assert again.status == "diverged"


def test_what_reads_back_wrong_takes_nobody_s_place() -> None:
    path = Path("a.safetensors")
    torch.save({"kind": KIND, "version": VERSION, "state": {"a": torch.ones(3)}}, path)

    def spoilt(fresh: Path) -> None:
        fresh.write_bytes(fresh.read_bytes()[:-1])
        load_checkpoint(fresh)

    with pytest.raises(CheckpointError, match="is cut off"):
        write_atomically(path, path.read_bytes(), spoilt)
    assert load_checkpoint(path)["a"].tolist() == [1, 1, 1]
    assert [entry.name for entry in Path().iterdir()] == ["a.safetensors"]


@own_disk
def test_a_disk_that_may_only_be_read() -> None:
    result = result_of(REGRESSION)
    before = sorted(path.name for path in (result.directory / "checkpoints").iterdir())
    command = shlex.join([*SCRIPT, "--resume", str(result.directory), "train.epochs=9"])
    script = f"mount --bind runs runs && mount -o remount,ro,bind runs && {command}"
    done = run(on_own_disk(script))
    assert done.returncode == 1
    assert re.fullmatch(r"error: runs/x/[^:]+: Read-only file system\n", done.stderr)
    assert sorted(path.name for path in (result.directory / "checkpoints").iterdir()) == before
    assert resume(result.directory, "train.epochs=9").status == "finished"


@posix
def test_a_file_that_may_not_grow_leaves_the_last_good_checkpoint() -> None:
    write_example(Path(), CLASSIFICATION.replace("steps: 5", "steps: 20000"))
    command = [*SCRIPT, "--config", "x.yaml", "log.every=1", "log.progress=false"]
    command += ["checkpoint.every=20"]
    done = run(["sh", "-c", f"ulimit -f 60; {shlex.join(command)}"])
    assert done.returncode == 1
    assert re.fullmatch(r"error: runs/x/[^:]+: File too large\n", done.stderr)
    (directory,) = Path("runs/x").iterdir()
    assert record_of(directory)["status"] == "failed"
    steps = kept(directory, "step")
    assert resume(directory, "train.steps=500", "log.every=50").status == "finished"
    assert steps


EACH_STEP = ["model.layers[0].out_features=400", "checkpoint={seconds: 0, last: 1, every: 1}"]


@own_disk
@pytest.mark.parametrize(
    ("size", "overrides"),
    [
        ("40k", ["log.tensorboard=true"]),
        ("400k", EACH_STEP),
        *(
            pytest.param(size, [f"log.tensorboard={shown}"], marks=pytest.mark.slow)
            for size, shown in itertools.product(["200k", "40k", "8k"], ["true", "false"])
        ),
    ],
)
def test_a_full_disk_is_one_line_and_leaves_good_checkpoints(size: str, overrides: Any) -> None:
    Path("runs").mkdir()
    write_example(Path(), CLASSIFICATION.replace("steps: 5", "steps: 9000"))
    command = shlex.join([*SCRIPT, "--config", "x.yaml", *overrides])
    script = f"mount -t tmpfs -o size={size} none runs; {command}; code=$?; echo checkpoints:;"
    script += "ls -A runs/x/*/checkpoints 2>/dev/null; cat runs/x/*/run.json; exit $code"
    done = run(on_own_disk(script))
    assert done.returncode == 1
    error = r"error: runs/x/[^:]+: No space left on device\n"
    assert re.fullmatch(error, done.stderr)
    names, _, record = done.stdout.rpartition("checkpoints:\n")[2].partition("{")
    # What was written before is there, and nothing half written.
    assert names or overrides is not EACH_STEP
    assert all(re.fullmatch(r"(step|best)-\d{8}\.safetensors", name) for name in names.splitlines())
    told = json.loads("{" + record)
    assert told["status"] == "failed"
    assert told["seconds"] > 0


def test_errors_name_the_file() -> None:
    message = r"^\[Errno 28\] No space left on device: 'a\.txt'$"
    with pytest.raises(OSError, match=message), naming_file(Path("a.txt")):
        full(0)
    with pytest.raises(OSError, match=r"^a sentence$"), naming_file(Path("a.txt")):
        raise OSError("a sentence")
