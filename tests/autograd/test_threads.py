"""Several threads: gradients of shared leaves, and modes of their own."""

import threading
from typing import Any

import pytest

import nanotorch as torch
from tests.autograd.thread_rounds import rounds, switching
from tests.several import in_threads

# Large enough for NumPy to let other threads run while it adds.
SIZE, THREADS, PASSES = 100_000, 4, 60


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        assert not torch.is_grad_enabled()
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 + x * 0


@pytest.mark.parametrize("double", [lambda x: x * 2, Double.apply])
def test_backward_passes_in_threads_add_up(double: Any) -> None:
    x = torch.zeros(SIZE, requires_grad=True)

    def work(number: int) -> None:
        for _ in range(PASSES // 2):
            double(x * (number + 1)).sum().backward()

    in_threads(work, THREADS)
    assert bool((x.grad == PASSES * sum(range(1, THREADS + 1))).all())


def test_the_first_gradient_is_stored_once() -> None:
    for _ in range(PASSES):
        x = torch.zeros(SIZE // 10, requires_grad=True)
        in_threads(lambda number, x=x: (x * 2).sum().backward(), THREADS)
        assert bool((x.grad == 2 * THREADS).all())


def test_one_graph_swept_in_threads() -> None:
    x = torch.ones(SIZE // 10, requires_grad=True)
    loss = (x.exp().log() * x).sum()

    def work(number: int) -> None:
        for _ in range(20):
            loss.backward(retain_graph=True)

    in_threads(work, THREADS)
    (expected,) = torch.autograd.grad(loss, x)
    assert bool(((x.grad - expected * 20 * THREADS).abs() < 1e-2).all())


def test_hooks_are_called_in_the_thread_of_the_pass() -> None:
    x = torch.ones(3, requires_grad=True)
    seen: list[tuple[int, int]] = []
    x.register_hook(lambda g: seen.append((int(g[0].item()), threading.get_ident())))
    idents: dict[int, int] = {}

    def work(number: int) -> None:
        idents[number] = threading.get_ident()
        (x * number).sum().backward()

    in_threads(work, THREADS)
    assert sorted(seen) == sorted((k, idents[k]) for k in range(THREADS))


def test_modes_belong_to_their_thread() -> None:
    seen: dict[int, Any] = {}
    inside = threading.Barrier(THREADS)
    switches = [torch.no_grad, torch.enable_grad, torch.inference_mode, torch.enable_grad]

    def work(number: int) -> None:
        x = torch.ones(1, requires_grad=True)
        with switches[number]():
            inside.wait()
            y = x * 2
            inside.wait()
            state = (torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        seen[number] = (*state, y.requires_grad, y.is_inference(), torch.is_grad_enabled())

    with torch.no_grad():  # of the thread that starts them
        in_threads(work, THREADS)
    assert seen == {
        0: (False, False, False, False, True),
        1: (True, False, True, False, True),
        2: (False, True, False, True, True),
        3: (True, False, True, False, True),
    }


@pytest.mark.parametrize("name", rounds())
@pytest.mark.parametrize("count", [3, pytest.param(400, marks=pytest.mark.slow)])
def test_threads_lose_nothing(name: str, count: int) -> None:
    with switching():
        for _ in range(count):
            seen, expected = rounds()[name](torch)
            assert seen == expected
