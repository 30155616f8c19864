"""The warning of `backward(create_graph=True)`, in PyTorch's words."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core import call_site

TEXT = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)


@pytest.fixture(autouse=True)
def _as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_site, "said", set())


def told(call: Callable[[], Any]) -> list[tuple[type[Warning], str]]:
    """The warnings that a call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [(w.category, str(w.message)) for w in caught]


def cube() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.tensor([2.0], requires_grad=True, dtype=torch.float64)
    return x, (x**3).sum()


def with_inputs() -> None:
    x, y = cube()
    y.backward(inputs=[x], create_graph=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: cube()[1].backward(create_graph=True),
        lambda: torch.autograd.backward(cube()[1], create_graph=True),
        with_inputs,
    ],
)
def test_given_once(call: Callable[[], Any]) -> None:
    assert told(call) == [(UserWarning, TEXT)]
    assert told(call) == []


def refused() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (x * x).backward(create_graph=True)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (x * x).sum().backward(create_graph=True, inputs=[])


def derivatives() -> None:
    x, y = cube()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.backward()
    functional = torch.autograd.functional
    f = lambda x: (x**3).sum()  # noqa: E731 - a function of one line
    functional.jacobian(f, x, create_graph=True)
    functional.hessian(f, x, create_graph=True)
    torch.autograd.gradcheck(f, x)
    torch.autograd.gradgradcheck(f, x)


@pytest.mark.parametrize("call", [refused, derivatives])
def test_not_given(call: Callable[[], Any]) -> None:
    assert told(call) == []
