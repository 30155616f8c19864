"""Threads: their modes and warnings, and how many compute matrix products."""

import threading

import pytest

import nanotorch as torch
from tests.answers import expressions
from tests.several import PYTHON, ended, in_threads


@pytest.mark.parametrize("given", [0, 1.5, "1", True])
def test_wrong_numbers_as_pytorch(given: object) -> None:
    what = "a positive integer" if given == 0 else f"an int, but got {type(given).__name__}"
    with pytest.raises(RuntimeError, match=f"^set_num_threads expects {what}$"):
        torch.set_num_threads(given)


def run(program: str, **environment: str) -> str:
    """What a program in a process of its own prints."""
    code, out, error = ended(PYTHON, "-W", "always", "-c", program, **environment)
    assert code == 0, error
    return out + error


def test_the_limit_holds_where_it_can_be_set() -> None:
    pytest.importorskip("threadpoolctl", reason="without it there is no limit to set")
    program = """
import nanotorch as torch
from tests.answers import expressions
torch.set_num_threads(1)
print(torch.get_num_threads())
"""
    assert run(program, OPENBLAS_NUM_THREADS="2").split() == ["1"]


def test_without_threadpoolctl_a_warning_tells_what_to_do() -> None:
    program = """
import sys
sys.modules["threadpoolctl"] = None
import nanotorch as torch
from tests.answers import expressions
print(torch.get_num_threads())
torch.set_num_threads(2)
torch.set_num_threads(1)
"""
    told = run(program, OPENBLAS_NUM_THREADS="2")
    assert told.startswith("2\n")
    assert told.count("UserWarning: set_num_threads has no effect without") == 1
    assert "OPENBLAS_NUM_THREADS=1 in the environment" in told


def test_one_decorator_object_serves_several_threads() -> None:
    x = torch.ones(1, requires_grad=True)
    barrier = threading.Barrier(4)
    results = []

    @torch.no_grad()
    def work() -> None:
        barrier.wait(5)
        results.append((x * 2).requires_grad)
        barrier.wait(5)

    in_threads(lambda _: work(), 4)
    assert results == [False] * 4


SILENT = """
x / 0|x.log()|x.exp()|x.float()|x.long()|torch.tensor([1e300])|torch.full((2,), float("inf"))
torch.ones(5).copy_(x)|torch.ones(0).mean()|torch.isclose(x, x)|repr(x)
"""


@pytest.mark.parametrize("call", expressions(SILENT))
def test_numpy_is_silent_in_every_thread(call: str) -> None:
    """Also where the call is the first of its thread. Warnings are errors here."""
    x = torch.tensor([float("inf"), float("nan"), -1.0, 0.0, 1e300], dtype=torch.float64)
    in_threads(lambda _: eval(call, {"torch": torch, "x": x}), 1)
