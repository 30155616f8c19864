"""Backward passes."""

from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core.graph import Node


class Wrong(Node):
    """A node whose formula returns what it is told to."""

    def __init__(self, returned: list[np.ndarray], x: torch.Tensor) -> None:
        self.returned = returned
        self._edges = ((x.sum().grad_fn.next_functions[0][0], 0),)
        self._outputs = (((), np.dtype("float32")),)
        self._sequence = 10**9

    def apply(self, grads: object, graph: bool) -> list[np.ndarray]:
        return self.returned


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([np.ones(3, np.float32)], r"Wrong returned an invalid gradient at index 0 - got \[3\]"),
        ([np.ones((), np.float32)], r"invalid gradient at index 0 - got \[\]"),
        ([], r"incorrect number of gradients \(expected 1, got 0\)"),
    ],
)
def test_gradients_that_do_not_fit(returned: list[np.ndarray], message: str) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.sum()
    y._come_from((Wrong(returned, x), 0))
    with pytest.raises(RuntimeError, match=message):
        y.backward()
    assert x.grad is None


def test_gradients_are_cast_to_the_dtype_of_their_input() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.sum()
    y._come_from((Wrong([np.ones(2)], x), 0))
    y.backward()
    assert x.grad.dtype is torch.float32


def test_only_nodes_that_lead_to_an_input_run() -> None:
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    ran = []
    inner = w.exp()
    inner.grad_fn.register_hook(lambda *_: ran.append("exp"))
    y = x * 2 + inner
    y.grad_fn.register_hook(lambda *_: ran.append("add"))
    torch.autograd.grad(y.sum(), x)
    assert ran == ["add"]


def test_a_failed_pass_leaves_the_mode_as_it_was() -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with torch.no_grad():
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_a_leafs_gradient_is_stolen_or_copied_never_shared() -> None:
    """What a formula made for one edge is kept; what somebody else holds is copied."""
    x = torch.ones(3, requires_grad=True)
    w = torch.ones(3, requires_grad=True)
    seed = torch.tensor([1.0, 2.0, 3.0])
    (x + w).backward(seed)
    arrays = [t.grad.numpy() for t in (x, w)] + [seed.numpy()]
    for k, one in enumerate(arrays):
        for other in arrays[k + 1 :]:
            assert not np.shares_memory(one, other)
    z = torch.ones(3, requires_grad=True)
    z.sum().backward()
    assert z.grad.numpy().flags.writeable
    assert z.grad._array.flags.owndata


def test_the_first_gradient_of_a_scalar_may_be_written_to() -> None:
    """What a hook or a user's function does to it stays with this pass."""

    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.mul_(3)

    Tripled.apply(torch.tensor(1.0, requires_grad=True)).backward()
    for root in (torch.tensor(1.0, requires_grad=True), torch.tensor(1.0, requires_grad=True) * 1):
        root.register_hook(lambda g: g.mul_(5) and None)
        root.backward()
    x = torch.tensor(1.0, requires_grad=True)
    (x * 1).backward()
    assert x.grad.item() == 1


def test_gradients_of_half_precision_add_up() -> None:
    b = torch.zeros(2).half().requires_grad_()
    (torch.ones(3000, 2).half() + b).sum().backward()
    assert b.grad.tolist() == [3000, 3000]
    assert torch.ones(3000, 2).half().mean(0).tolist() == [1, 1]
