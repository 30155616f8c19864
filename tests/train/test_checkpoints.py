"""Which checkpoints are kept, and what happens to them on a disk that takes no more."""

import json
import re
import shlex
from pathlib import Path

import pytest

import nanotorch as torch
from nanotorch.serialization.files import write_atomically
from nanotorch.train import resume
from nanotorch.train.run_directory import KIND, VERSION, CheckpointError, load_checkpoint
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, result_of, write_example
from tests.train.test_cli import SCRIPT, posix
from tests.train.test_disk import on_a_small_disk, run, small_disks_can_be_had


def kept(directory: Path, pattern: str) -> list[int]:
    paths = (directory / "checkpoints").glob(f"{pattern}-*.safetensors")
    return sorted(int(path.stem.partition("-")[2]) for path in paths)


def test_the_newest_and_some_for_good_are_kept() -> None:
    settings = "checkpoint={seconds: 0, last: 3, every: 5}"
    result = result_of(REGRESSION, settings, "train={epochs: 3, batch_size: 2}")
    assert kept(result.directory, "step") == [5, 10, 15, 19, 20, 21]


def test_one_at_the_end_if_time_does_not_count() -> None:
    result = result_of(REGRESSION, "checkpoint.seconds=null")
    assert kept(result.directory, "step") == [8]


def test_the_best_weights_are_kept() -> None:
    overrides = ["checkpoint={best: 2}", "train={epochs: 6, batch_size: null}", "optimizer.lr=0.8"]
    directory = result_of(REGRESSION, *overrides).directory
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
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


def test_no_best_weights_are_wanted() -> None:
    assert kept(result_of(REGRESSION, "checkpoint.best=0").directory, "best") == []
    assert kept(result_of(MINIMIZATION).directory, "best") == []


def test_a_run_that_diverged_keeps_what_was_before() -> None:
    overrides = ["optimizer={name: SGD, lr: 30}", "checkpoint={seconds: 0, last: 50}"]
    result = result_of(REGRESSION, *overrides, "train={epochs: 40, batch_size: null}")
    record = json.loads((result.directory / "run.json").read_text("utf-8"))
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


def test_a_disk_that_may_only_be_read() -> None:
    if not small_disks_can_be_had():
        pytest.skip("a disk that may only be read needs Linux's user name spaces")
    result = result_of(REGRESSION)
    before = sorted(path.name for path in (result.directory / "checkpoints").iterdir())
    command = shlex.join([*SCRIPT, "--resume", str(result.directory), "train.epochs=9"])
    script = f"mount --bind runs runs && mount -o remount,ro,bind runs && {command}"
    done = run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script])
    assert done.returncode == 1
    assert re.fullmatch(r"error: \[Errno 30\] Read-only file system: 'runs/x/[^']+'\n", done.stderr)
    assert sorted(path.name for path in (result.directory / "checkpoints").iterdir()) == before
    assert resume(result.directory, "train.epochs=9").status == "finished"


def test_a_full_disk_leaves_the_last_good_checkpoint() -> None:
    if not small_disks_can_be_had():
        pytest.skip("a disk that is full needs Linux's user name spaces")
    Path("runs").mkdir()
    text = CLASSIFICATION.replace("steps: 5", "steps: 9000").replace("out_features: 4", "out_fea"
                                                                     "tures: 400")  # fmt: skip
    write_example(Path(), text)
    command = [*SCRIPT, "--config", "x.yaml", "log.progress=false", "log.every=1"]
    more = "checkpoint={seconds: 0, last: 1, best: 0, every: 1}"
    script = f"{shlex.join([*command, more])}; code=$?; ls -A runs/x/*/checkpoints >&2; exit $code"
    done = on_a_small_disk("400k", ["sh", "-c", script])
    assert done.returncode == 1
    first, *names = done.stderr.splitlines()
    assert re.fullmatch(r"error: \[Errno 28\] No space left on device: 'runs/x/[^']+'", first)
    assert names  # what was written before is there, and nothing half written
    assert all(re.fullmatch(r"step-\d{8}\.safetensors", name) for name in names)


@posix
def test_a_file_that_may_not_grow_leaves_the_last_good_checkpoint() -> None:
    write_example(Path(), CLASSIFICATION.replace("steps: 5", "steps: 20000"))
    command = [*SCRIPT, "--config", "x.yaml", "log.every=1", "log.progress=false"]
    command += ["checkpoint.every=20"]
    done = run(["sh", "-c", f"ulimit -f 60; {shlex.join(command)}"])
    assert done.returncode == 1
    assert re.fullmatch(r"error: \[Errno 27\] File too large: 'runs/x/[^']+'\n", done.stderr)
    (directory,) = Path("runs/x").iterdir()
    assert json.loads((directory / "run.json").read_text("utf-8"))["status"] == "failed"
    steps = kept(directory, "step")
    assert resume(directory, "train.steps=800", "log.every=50").status == "finished"
    assert steps
