"""The warning of `backward(create_graph=True)`, in PyTorch's words."""

from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core import call_site
from tests.answers import raised, warned

TEXT = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)


def cube() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.tensor([2.0], requires_grad=True, dtype=torch.float64)
    return x, (x**3).sum()


def with_inputs() -> None:
    x, y = cube()
    y.backward(inputs=[x], create_graph=True)


def refused() -> None:
    x = torch.ones(2, requires_grad=True)
    raised((x * x).backward, create_graph=True)
    raised((x * x).sum().backward, create_graph=True, inputs=[])


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


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (lambda: cube()[1].backward(create_graph=True), [f"UserWarning: {TEXT}"]),
        (lambda: torch.autograd.backward(cube()[1], create_graph=True), [f"UserWarning: {TEXT}"]),
        (with_inputs, [f"UserWarning: {TEXT}"]),
        (refused, []),
        (derivatives, []),
    ],
)
def test_given_once_in_a_process(call: Any, given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_site, "said", set())
    assert warned(call) == given
    assert warned(call) == []
