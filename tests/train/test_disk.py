"""A disk that takes no more: one clear line, and a record that says so."""

import functools
import itertools
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from nanotorch.serialization.files import naming
from nanotorch.train.run_directory import write_json
from tests.train.examples import CLASSIFICATION, result_of, write_example
from tests.train.test_cli import ENVIRONMENT, SCRIPT

Done = subprocess.CompletedProcess[str]


def run(command: list[str]) -> Done:
    # A limit to the size of files would cut off byte code that is written, for all who read it.
    environment = {**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def on_a_small_disk(size: str, command: list[str]) -> Done:
    """Run a command with `runs` on a disk of its own; the output ends with the records there."""
    script = f"mount -t tmpfs -o size={size} none runs; {shlex.join(command)}; code=$?;"
    script += "cat runs/x/*/run.json; exit $code"
    return run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script])


@functools.cache
def small_disks_can_be_had() -> bool:
    try:
        return run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                    "mount -t tmpfs none /tmp"]).returncode == 0  # fmt: skip
    except OSError:
        return False


@pytest.mark.parametrize(
    ("size", "tensorboard"),
    [
        ("40k", "true"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in itertools.product(["200k", "40k", "8k"], ["true", "false"])
            if case != ("40k", "true")
        ),
    ],
)
def test_a_full_disk_is_one_line(size: str, tensorboard: str) -> None:
    if not small_disks_can_be_had():
        pytest.skip("a disk that is full needs Linux's user name spaces")
    Path("runs").mkdir()
    write_example(Path(), CLASSIFICATION.replace("steps: 5", "steps: 9000"))
    command = [*SCRIPT, "--config", "x.yaml", f"log.tensorboard={tensorboard}"]
    done = on_a_small_disk(size, command)
    assert done.returncode == 1
    assert re.fullmatch(
        r"error: \[Errno 28\] No space left on device: 'runs/x/[^']+'\n", done.stderr
    )
    record = json.loads("{" + done.stdout.rpartition("\n{")[2])
    assert record["status"] == "failed"
    assert record["seconds"] > 0


def full(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_record_is_written_in_its_place_if_need_be(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("a.json")
    path.write_text(json.dumps({"status": "running", "much": "x" * 50}))
    monkeypatch.setattr("nanotorch.train.run_directory.os.fsync", full)
    write_json(path, {"status": "failed"}, in_place=True)
    assert json.loads(path.read_text("utf-8")) == {"status": "failed"}
    assert [entry.name for entry in Path().iterdir()] == ["a.json"]


def test_the_name_of_the_newest_is_not_worth_a_failure() -> None:
    (Path("runs") / "latest.txt").mkdir(parents=True)
    result = result_of(CLASSIFICATION)
    assert result.status == "finished"
    assert {path.name for path in Path("runs").iterdir()} == {"latest.txt", "x"}


def test_errors_name_the_file() -> None:
    message = r"^\[Errno 28\] No space left on device: 'a\.txt'$"
    with pytest.raises(OSError, match=message), naming(Path("a.txt")):
        full(0)
    with pytest.raises(OSError, match=r"^a sentence$"), naming(Path("a.txt")):
        raise OSError("a sentence")
