"""What cannot be resumed, and the words in which that is said."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import nanotorch as torch
from nanotorch.train import CheckpointError, resume
from nanotorch.train.cli import main
from nanotorch.train.run_directory import KIND, VERSION, load_checkpoint, locked
from tests.train.examples import REGRESSION, refusal_of
from tests.train.test_cli import posix
from tests.train.test_resume import as_if_killed, finished, left_by

refusal = refusal_of(resume, CheckpointError)


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", r"is empty.*"),
    "torn": (lambda data: data[: len(data) * 2 // 3], r"is cut off: of \d+ bytes \d+ are there"),
    "without most of it": (lambda data: data[:50], r"is cut off: its header has \d+ bytes, .*"),
    "with a flipped bit": (
        lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
        r"the tensor '[^']+' was changed after saving",
    ),
    "of another program": (lambda data: b"PK\x03\x04" + data, r"is a zip archive.*"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_named(damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = finished(REGRESSION, [])
    checkpoints = sorted((whole.directory / "checkpoints").glob("step-*"))
    copy = as_if_killed(whole.directory, checkpoints[4], checkpoints[:4])
    spoil, problem = DAMAGES[damage]
    path = copy / "checkpoints" / checkpoints[4].name
    path.write_bytes(spoil(path.read_bytes()))
    assert re.fullmatch(f"{re.escape(str(path))}: {problem}", refusal(path), re.DOTALL)
    # The one before is good, and leads to the same end.
    capsys.readouterr()
    resume(copy)
    warning = capsys.readouterr().err
    assert warning.startswith(f"warning: {path}: ")
    assert warning.endswith("; going on from the one before\n")
    assert left_by(copy) == left_by(whole.directory)


def test_no_good_checkpoint_at_all() -> None:
    whole = finished(REGRESSION, [])
    checkpoints = sorted((whole.directory / "checkpoints").glob("step-*"))
    copy = as_if_killed(whole.directory, checkpoints[1], [])
    path = copy / "checkpoints" / checkpoints[1].name
    path.write_bytes(b"")
    assert refusal(copy).startswith(
        f"{copy}: none of its checkpoints can be used:\n  {path}: is em"
    )


@posix
def test_checkpoints_that_nobody_can_list_are_not_taken_for_none() -> None:
    whole = finished(REGRESSION, [])
    before = (whole.directory / "metrics.jsonl").read_bytes()
    place = whole.directory / "checkpoints"
    place.rename(whole.directory / "aside")
    place.touch()  # what a directory without permission is to others than the administrator
    with pytest.raises(CheckpointError, match=r"checkpoints: is no directory, and in the way"):
        resume(whole.directory, "train.epochs=9")
    assert (whole.directory / "metrics.jsonl").read_bytes() == before


def test_a_checkpoint_of_another_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = finished(REGRESSION, []), finished(REGRESSION, ["seed=1"])
    name = sorted(path.name for path in (one.directory / "checkpoints").glob("step-*"))[-1]
    foreign = other.directory / "checkpoints" / name
    foreign.write_bytes((one.directory / "checkpoints" / name).read_bytes())
    record = json.loads((other.directory / "run.json").read_text("utf-8"))
    (other.directory / "run.json").write_text(json.dumps({**record, "status": "running"}))
    message = refusal(foreign)
    assert message.startswith(f"{foreign}: is of another run, ")
    assert main(["--resume", str(foreign)]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_other_files_are_no_checkpoints() -> None:
    whole = finished(REGRESSION, [])
    for path in (whole.directory / "weights.safetensors",):
        with pytest.raises(CheckpointError, match="holds something else than the state of a train"):
            load_checkpoint(path)
    later = Path("later.safetensors")
    torch.save({"kind": KIND, "version": VERSION, "state": {"a": 1}}, later)
    assert load_checkpoint(later) == {"a": 1}


def test_changed_data_is_refused() -> None:
    whole = finished(REGRESSION, [])
    table = Path("table.csv")
    table.write_text(table.read_text().replace("\n3,", "\n4,"))
    with pytest.raises(CheckpointError, match=r"^table\.csv: is not what it was when the run beg"):
        resume(whole.directory, "train.epochs=9")


def test_lost_metrics_are_noticed() -> None:
    whole = finished(REGRESSION, [])
    (whole.directory / "metrics.jsonl").write_text("")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: has lost lines"):
        resume(whole.directory, "train.epochs=9")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: shutil.rmtree(run), "there is no such run"),
        (lambda run: (run / "config.yaml").unlink(), "is not the directory of a run: it has no c"),
        (lambda run: (run / "run.json").unlink(), "cannot be read: No such file or directory"),
        (lambda run: (run / "run.json").write_text("{"), "is not JSON: "),
        (lambda run: (run / "run.json").write_text("{}"), "lacks data, id, status"),
    ],
)
def test_what_is_no_run(damage: Callable[[Path], None], message: str) -> None:
    whole = finished(REGRESSION, [])
    damage(whole.directory)
    assert message in refusal(whole.directory)


@posix
def test_a_run_that_is_going_on_is_not_gone_on_with() -> None:
    whole = finished(REGRESSION, [])
    with locked(whole.directory), pytest.raises(CheckpointError, match="is still going on"):
        resume(whole.directory, "train.epochs=9")
