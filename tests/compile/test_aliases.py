"""Tensors that are the same, share memory or are held by others at some calls only."""

from typing import Any

import pytest

import nanotorch as torch
from nanotorch import optim
from tests.compile.beside import behind, compare

BUFFER = torch.ones(2)


def twofold(a: Any, b: Any) -> Any:
    return a * 2 + b[:1]


def with_buffer(a: Any) -> Any:
    return a * 2 + BUFFER


@pytest.mark.parametrize("aliases", [True, False])
def test_arguments_that_are_the_same_tensor_only_at_times(aliases: bool) -> None:
    x, y = torch.ones(2), torch.full((2,), 5.0)
    step = torch.compile(twofold, fullgraph=True)
    kinds = [(x, x), (x, y), (x, x.detach()), (x, torch.from_numpy(x.numpy()))]
    for args in [kinds[0 if aliases else 1]] * 4 + kinds * 3:
        assert step(*args).tolist() == twofold(*args).tolist()
    assert step.report().plans


def test_arguments_that_overlap_now_and_then() -> None:
    data = torch.arange(20.0)
    step = torch.compile(twofold, fullgraph=True)
    for at, shift in [(0, 0), (1, 0), (2, 0), (0, 4), (1, 4), (3, 0), (2, 1), (5, 1), (7, 1)] * 2:
        args = data[at : at + 4], data[at + shift : at + shift + 4]
        assert step(*args).tolist() == twofold(*args).tolist()


def test_an_argument_that_is_a_tensor_in_reach_at_times() -> None:
    y = torch.full((2,), 5.0)
    step = torch.compile(with_buffer, fullgraph=True)
    for x in [BUFFER] * 4 + [y] * 4 + [BUFFER, BUFFER.detach(), BUFFER.view(2), y]:
        assert step(x).tolist() == with_buffer(x).tolist()
    assert len(step.report().plans) == 1


def test_identity_of_arguments_decides() -> None:
    def identity(a: Any, b: Any) -> Any:
        return a.sum() * (2.0 if a is b else 1.0)

    x, y = torch.ones(2), torch.ones(2)
    step = torch.compile(identity, fullgraph=True)
    for args in [(x, y)] * 4 + [(x, x), (y, x)] * 4:
        assert step(*args).item() == identity(*args).item()


@pytest.mark.parametrize("leaves", [1, 3])
def test_a_gradient_that_is_kept_while_its_leaf_lets_go(leaves: int) -> None:
    weights = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(leaves)]

    def step(x: Any) -> None:
        sum((w * x).sum() for w in weights).backward()

    compiled, kept = torch.compile(step, fullgraph=True), []
    for n in range(6):
        for w in weights:
            w.grad = None
        compiled(torch.tensor([float(n), 1.0]))
        kept.append(weights[0].grad)
    assert [grad.tolist() for grad in kept] == [[float(n), 1.0] for n in range(6)]
    assert compiled.report().plans


def test_a_parameter_that_gets_a_gradient_though_it_requires_none() -> None:
    def make() -> Any:
        a, b = torch.tensor([1.0], requires_grad=True), torch.tensor([3.0])
        optimizer = optim.SGD([a, b], lr=0.1)

        def step() -> None:
            (a * b).sum().backward()
            optimizer.step()

        step.b = b  # type: ignore[attr-defined]
        return step, lambda: [a, b]

    def between(n: int, step: Any) -> None:
        if n in (5, 9):
            behind(step).b.grad = torch.ones(1)
        elif n == 7:
            behind(step).b.grad = None

    compare(make, calls=12, between=between)
