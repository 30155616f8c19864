"""Deep and wide graphs: nothing recurses, nothing is quadratic."""

import sys
import weakref
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

import nanotorch as torch
from tests.several import uncollected

DEEP = 20_000


def calls(work: Callable[[], object]) -> int:
    """How many functions, Python's and C's, are called while the work is done."""
    count = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event.endswith("call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(lambda y: y + 1, id="nothing saved"),
        pytest.param(lambda y: y * 1.00001, id="an input saved"),
        pytest.param(lambda y: y.sin_(), id="in place"),
    ],
)
def test_a_deep_chain_builds_runs_prints_and_is_freed(step: Callable[..., torch.Tensor]) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    for _ in range(DEEP):
        y = step(y)
    assert "grad_fn=<" in repr(y)
    y.sum().backward(retain_graph=True)
    assert x.grad is not None
    (g,) = torch.autograd.grad(y.sum(), x)
    assert g.shape == (2,)
    node = weakref.ref(y.grad_fn)
    with uncollected():
        del y
        assert node() is None


def test_a_deep_chain_under_create_graph() -> None:
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * x
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.item() == 5001
    (h,) = torch.autograd.grad(g, x)
    assert h.item() == 5001 * 5000
    del y, g, h


def test_doubling_visits_every_node_once() -> None:
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    assert calls(lambda: y.backward()) < 60 * 20
    assert x.grad.item() == 2.0**60


def test_wide_graphs() -> None:
    """Many consumers of one leaf, and many inputs of one node."""
    x, total = torch.ones(1, requires_grad=True), torch.zeros(1)
    for _ in range(10_000):
        total = total + x * 2
    total.backward()
    assert x.grad.item() == 20_000
    leaves = [torch.ones(1, requires_grad=True) for _ in range(10_000)]
    torch.cat(leaves).sum().backward()
    assert all(leaf.grad is not None for leaf in leaves)


def test_work_grows_with_the_length_only() -> None:
    """Ten times the nodes take ten times the work, not a hundred times."""

    def run(count: int) -> int:
        x = torch.ones(1, requires_grad=True)
        y = x
        for _ in range(count):
            y = y * 1.0 + x
        return calls(lambda: y.backward())

    run(100)
    short, long = run(500), run(5000)
    assert long < 11 * short


def test_quadratic_work_is_seen() -> None:
    def quadratic(count: int) -> int:
        return calls(lambda: [abs(k) for k in range(count) for _ in range(count)])

    assert quadratic(100) > 11 * quadratic(10)


def test_many_views_and_writes() -> None:
    x = torch.ones(10, requires_grad=True)
    y = x * 1
    for k in range(1000):
        y[k % 10].mul_(1.0)
    for _ in range(300):
        y = y.view(2, 5).t().reshape(10)[:]
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 10


class Within(torch.autograd.Function):
    """A function whose backward runs a backward pass through another one of its kind."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, further: float) -> torch.Tensor:
        ctx.further = further
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, None]:
        if ctx.further:
            with torch.enable_grad():
                y = torch.ones(1, requires_grad=True)
                Within.apply(y, ctx.further - 1).sum().backward()
        return g, None


def test_passes_inside_of_passes() -> None:
    before = sys.getrecursionlimit()
    x = torch.ones(1, requires_grad=True)
    Within.apply(x, 2000).sum().backward()
    assert x.grad.item() == 1.0
    assert sys.getrecursionlimit() == before


def test_passes_without_end_are_an_error() -> None:
    """In one of two threads, of which the other goes on as it did."""

    def without_end() -> None:
        with pytest.raises(RecursionError):
            Within.apply(torch.ones(1, requires_grad=True), float("inf")).sum().backward()
        ended.append(True)

    before, ended = sys.getrecursionlimit(), []
    thread = Thread(target=without_end)
    thread.start()
    x = torch.ones(1, requires_grad=True)
    Within.apply(x, 500).sum().backward()
    thread.join()
    assert x.grad.item() == 1.0
    assert ended == [True]
    assert sys.getrecursionlimit() == before
