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


def derivatives(x: Any, y: Any) -> None:
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.backward()
    functional, f = torch.autograd.functional, (lambda x: (x**3).sum())
    functional.jacobian(f, x, create_graph=True)
    functional.hessian(f, x, create_graph=True)
    torch.autograd.gradcheck(f, x)
    torch.autograd.gradgradcheck(f, x)


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (lambda x, y: y.backward(create_graph=True), [f"UserWarning: {TEXT}"]),
        (lambda x, y: torch.autograd.backward(y, create_graph=True), [f"UserWarning: {TEXT}"]),
        (lambda x, y: y.backward(inputs=[x], create_graph=True), [f"UserWarning: {TEXT}"]),
        (lambda x, y: raised((x.repeat(2) * x).backward, create_graph=True), []),
        (lambda x, y: raised(y.backward, create_graph=True, inputs=[]), []),
        (derivatives, []),
    ],
)
def test_given_once_in_a_process(call: Any, given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        x = torch.tensor([2.0], requires_grad=True, dtype=torch.float64)
        call(x, (x**3).sum())

    monkeypatch.setattr(call_site, "said", set())
    assert warned(run) == given
    assert warned(run) == []
