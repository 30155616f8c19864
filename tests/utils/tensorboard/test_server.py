"""The real TensorBoard server on a run's directory: what its page would ask for."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.utils.tensorboard import SummaryWriter

pytestmark = pytest.mark.slow


@contextmanager
def tensorboard(logdir: Path) -> Iterator[str]:
    """Serve a directory and yield the address of the plugins' data."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--reload_interval", "1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/data/plugin"
    finally:
        server.terminate()
        server.wait(timeout=30)


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def wait_for(url: str, ready: Any, seconds: float = 90) -> Any:
    """Poll until `ready` accepts the JSON answer; the server needs some seconds to read a run."""
    deadline, answer = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        try:
            answer = json.loads(fetch(url))
        except (urllib.error.URLError, ConnectionError, json.JSONDecodeError):
            answer = None
        if answer and ready(answer):
            return answer
        time.sleep(0.5)
    raise AssertionError(f"{url} never became ready; last answer: {answer}")


def test_the_server_shows_graph_and_curves(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_graph(model, torch.rand(2, 3))
        with writer.trace_step(model, 7):
            model(torch.rand(2, 3)).sum().backward()
        for step in range(20):
            writer.add_scalar("train/loss", 1 / (1 + step), step)
    with tensorboard(tmp_path) as data:
        info = wait_for(f"{data}/graphs/info", lambda runs: len(runs["run"]["tags"]) == 4)
        for tag in ("forward", "backward", "step_7/forward", "step_7/backward"):
            assert info["run"]["tags"][tag]["profile"] is True
            assert info["run"]["tags"][tag]["op_graph"] is True
        text = fetch(f"{data}/graphs/graph?run=run")
        assert 'name: "Sequential/0_Linear/weight"' in text
        assert 'name: "Sequential/1_Tanh/tanh"' in text
        profile = fetch(f"{data}/graphs/run_metadata?run=run&tag=forward")
        assert 'node_name: "Sequential/1_Tanh/tanh"' in profile
        text = fetch(f"{data}/graphs/graph?run=run&tag=step_7%2Fbackward")
        assert 'name: "Sequential/0_Linear/weight.grad"' in text
        points = wait_for(
            f"{data}/scalars/scalars?run=run&tag=train%2Floss", lambda found: len(found) == 20
        )
        assert [step for _, step, _ in points] == list(range(20))
