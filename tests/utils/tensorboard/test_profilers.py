"""A profiler that is at work stays so while a graph is drawn."""

import cProfile
import profile
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.utils.tensorboard import SummaryWriter
from tests.utils.tensorboard.records import costs_of, profiles_of


def draw(directory: Path) -> None:
    with SummaryWriter(directory) as writer:
        writer.add_graph(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.ones(2, 4))
    afterwards()


def afterwards() -> None:
    """What is called when the graph is drawn."""


def operations(directory: Path) -> tuple[set[str], bool]:
    """Return the names of the nodes, and whether any has a time."""
    costs = costs_of(profiles_of(directory)["forward"])
    return set(costs), any(micros for micros, _ in costs.values())


@pytest.mark.parametrize("kind", [cProfile.Profile, profile.Profile])
def test_pythons_profilers_go_on(kind: Any, tmp_path: Path) -> None:
    profiler = kind()
    profiler.runcall(draw, tmp_path / "profiled")
    assert sys.getprofile() is None
    profiler.create_stats()
    called = {name for _, _, name in profiler.stats}
    assert {"draw", "add_graph", "forward", "afterwards"} <= called
    draw(tmp_path / "plain")
    names, _ = operations(tmp_path / "profiled")
    assert names == operations(tmp_path / "plain")[0]
    assert operations(tmp_path / "plain")[1]


def test_a_profiler_sees_every_call_and_return(tmp_path: Path) -> None:
    events: list[str] = []

    def see(frame: FrameType, event: str, argument: Any) -> None:
        events.append(event)

    sys.setprofile(see)
    try:
        draw(tmp_path)
        assert sys.getprofile() is see
    finally:
        sys.setprofile(None)
    calls = events.count("call"), events.count("return")
    assert abs(calls[0] - calls[1]) <= 1  # the test itself was not called under the profiler
    assert operations(tmp_path)[1]  # times are measured beside it
