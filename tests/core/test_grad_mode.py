"""Whether operations are recorded."""

import threading
from collections.abc import Callable

import pytest

import nanotorch as torch
from tests.several import in_threads


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
