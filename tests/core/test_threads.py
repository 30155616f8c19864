"""The number of threads of matrix products."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nanotorch as torch

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0, "set_num_threads expects a positive integer"),
        (1.5, "set_num_threads expects an int, but got float"),
        ("1", "set_num_threads expects an int, but got str"),
        (True, "set_num_threads expects an int, but got bool"),
    ],
)
def test_wrong_numbers_as_pytorch(given: object, message: str) -> None:
    with pytest.raises(RuntimeError, match=f"^{message}$"):
        torch.set_num_threads(given)


def run(program: str, **environment: str) -> str:
    """What a program in a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    return done.stdout + done.stderr


def test_the_limit_holds_where_it_can_be_set() -> None:
    pytest.importorskip("threadpoolctl", reason="without it there is no limit to set")
    program = """
import nanotorch as torch
torch.set_num_threads(1)
print(torch.get_num_threads())
"""
    assert run(program, OPENBLAS_NUM_THREADS="2").split() == ["1"]


def test_without_threadpoolctl_a_warning_tells_what_to_do() -> None:
    program = """
import sys
sys.modules["threadpoolctl"] = None
import nanotorch as torch
print(torch.get_num_threads())
torch.set_num_threads(2)
torch.set_num_threads(1)
"""
    told = run(program, OPENBLAS_NUM_THREADS="2")
    assert told.startswith("2\n")
    assert told.count("UserWarning: set_num_threads has no effect without") == 1
    assert "OPENBLAS_NUM_THREADS=1 in the environment" in told
