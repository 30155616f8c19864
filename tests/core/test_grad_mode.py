"""Whether operations are recorded."""

import threading
from collections.abc import Callable

import pytest

import nanotorch as torch
from tests.several import in_threads


def test_each_thread_has_a_mode_of_its_own() -> None:
    seen: dict[str, bool] = {}
    ready, go = threading.Event(), threading.Event()

    def other() -> None:
        seen["new thread"] = torch.is_grad_enabled()
        with torch.no_grad():
            ready.set()
            go.wait(5)
            seen["inside, after the first left"] = torch.is_grad_enabled()
        seen["outside"] = torch.is_grad_enabled()

    with torch.no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        ready.wait(5)
        seen["first"] = torch.is_grad_enabled()
    seen["first, outside"] = torch.is_grad_enabled()
    go.set()
    thread.join()
    assert seen == {
        "new thread": True,
        "inside, after the first left": False,
        "outside": True,
        "first": False,
        "first, outside": True,
    }


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


def test_no_node_is_made_without_recording() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = (x * 2).exp().sum()
        x.mul_(2)
    assert y.grad_fn is None
    assert y.is_leaf
    assert x.is_leaf


INFINITE = torch.tensor([float("inf"), float("nan"), -1.0, 0.0, 1e300], dtype=torch.float64)
SILENT: dict[str, Callable[[], object]] = {
    "division": lambda: INFINITE / 0,
    "logarithm": lambda: INFINITE.log(),
    "overflow": lambda: INFINITE.exp(),
    "narrower": lambda: INFINITE.float(),
    "integers": lambda: INFINITE.long(),
    "creation": lambda: torch.tensor([1e300]),
    "filling": lambda: torch.full((2,), float("inf")),
    "copying": lambda: torch.ones(5).copy_(INFINITE),
    "nothing": lambda: torch.ones(0).mean(),
    "comparison": lambda: torch.isclose(INFINITE, INFINITE),
    "printing": lambda: repr(INFINITE),
}


@pytest.mark.parametrize("name", SILENT)
def test_numpy_is_silent_in_every_thread(name: str) -> None:
    """Also where the call is the first of its thread. Warnings are errors here."""
    errors: list[Exception] = []

    def work() -> None:
        try:
            SILENT[name]()
        except Exception as error:
            errors.append(error)

    in_threads(lambda _: work(), 1)
    assert errors == []
