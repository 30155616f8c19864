"""Run directories are nobody else's, and their files are whole."""

import json
import math
import threading
from pathlib import Path

import pytest

from nanotorch.train.experiment import Recorder
from nanotorch.train.run_directory import create_run_directory, write_json
from tests.several import in_threads
from tests.train.examples import MINIMIZATION, REGRESSION, refusal_of, result_of


def test_many_runs_at_once_share_no_directory() -> None:
    made: list[Path] = []
    barrier = threading.Barrier(8)

    def make() -> None:
        barrier.wait()
        made.extend(create_run_directory(Path("runs"), "x") for _ in range(25))

    in_threads(lambda _: make(), 8)
    assert len(set(made)) == 200
    assert len(list(Path("runs/x").iterdir())) == 200


def test_a_name_that_is_taken_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter([b"aaa", b"aaa", b"bbb"])
    monkeypatch.setattr("nanotorch.train.run_directory.os.urandom", lambda n: next(tokens))
    monkeypatch.setattr("nanotorch.train.run_directory.datetime", FrozenTime)
    first = create_run_directory(Path("runs"), "x")
    second = create_run_directory(Path("runs"), "x")
    assert [first.name, second.name] == ["now-616161", "now-626262"]


class FrozenTime:
    """A clock that stands."""

    @staticmethod
    def now() -> type["FrozenTime"]:
        return FrozenTime

    @staticmethod
    def strftime(pattern: str) -> str:
        return "now"


def test_the_newest_is_named() -> None:
    root = Path("runs")
    for _ in range(2):
        root.mkdir(exist_ok=True)
        (root / ".latest.txt-0123abcd").touch()  # a killed run may have left it
        newest = result_of(REGRESSION).directory
        # Seen from where the file is, so that a directory that is moved still works.
        assert (root / "latest.txt").read_text("utf-8") == f"x/{newest.name}\n"
    assert sorted(path.name for path in root.iterdir()) == ["latest.txt", "x"]


def test_json_has_null_for_what_it_cannot_say() -> None:
    write_json(Path("a.json"), {"a": [1.5, math.nan, (math.inf,)], "b": {"c": -math.inf}})
    assert json.loads(Path("a.json").read_text("utf-8")) == {
        "a": [1.5, None, [None]],
        "b": {"c": None},
    }


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
    assert "cannot make a run directory in 'runs/x': File exists" in refusal
