"""Effects that a step has by way of others are had at every call."""

import contextlib
import functools
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import optim
from tests.compile.beside import caught

CALLS = 6


class Scene:
    """A leaf and what might count the calls."""

    def __init__(self) -> None:
        self.w = torch.ones(2, requires_grad=True)
        self.found: list[Any] = []


def hook(scene: Scene) -> Any:
    w, found = scene.w, scene.found
    w.register_hook(found.append)

    def step() -> None:
        w.grad = None
        (w * 2).sum().backward()

    return step, lambda: len(found)


def method(scene: Scene) -> Any:
    record, found = scene.found.append, scene.found

    def step() -> Any:
        record(1)
        return torch.ones(1)

    return step, lambda: len(found)


def on_function(scene: Scene) -> Any:
    def counter() -> None: ...

    return counting(counter)


def on_tensor(scene: Scene) -> Any:
    return counting(scene.w)


def on_optimizer(scene: Scene) -> Any:
    return counting(optim.SGD([scene.w], lr=0.1))


def counting(holder: Any) -> Any:
    """A step that counts its calls in an attribute."""
    holder.calls = 0

    def step() -> Any:
        holder.calls += 1
        return torch.ones(1)

    return step, lambda: holder.calls


@pytest.mark.parametrize("make", [hook, method, on_function, on_tensor, on_optimizer])
def test_every_call_counts(make: Any) -> None:
    step, count = make(Scene())
    compiled = torch.compile(step)
    assert len(caught(lambda: [compiled() for _ in range(CALLS)])) == 1
    assert count() == CALLS


SAY = functools.partial(print, "x", flush=True)


def says() -> Any:
    SAY()
    return torch.ones(1)


def maps() -> Any:
    list(map(print, ["x"]))
    return torch.ones(1)


def calls_back() -> Any:
    with contextlib.ExitStack() as stack:
        stack.callback(print, "x")
    return torch.ones(1)


@pytest.mark.parametrize("step", [says, maps, calls_back])
def test_every_call_prints(step: Any, capsys: Any) -> None:
    compiled = torch.compile(step)
    assert len(caught(lambda: [compiled() for _ in range(CALLS)])) == 1
    assert capsys.readouterr().out == "x\n" * CALLS
