"""Graphs: nodes and hooks, writes through views, backward passes."""

import weakref

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core.graph import Node
from tests.several import uncollected


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


def test_a_leafs_gradient_is_stolen_or_copied_never_shared() -> None:
    """What a formula made for one edge is kept; what somebody else holds is copied."""
    seed = torch.tensor([1.0, 2.0, 3.0])
    for start in (lambda y: y.backward(seed), lambda y: (y * seed).sum().backward()):
        x = torch.ones(3, requires_grad=True)
        w = torch.ones(3, requires_grad=True)
        start(x + w)
        arrays = [t.grad.numpy() for t in (x, w)] + [seed.numpy()]
        for k, one in enumerate(arrays):
            for other in arrays[k + 1 :]:
                assert not np.shares_memory(one, other)
    z = torch.ones(3, requires_grad=True)
    z.sum().backward()
    assert z.grad.numpy().flags.writeable
    assert z.grad._array.flags.owndata


def test_nothing_is_saved_that_no_formula_asks_for() -> None:
    x = torch.ones(2, requires_grad=True)
    constant = torch.ones(2)
    assert (x + constant).grad_fn._saved == (1,)  # alpha
    saved_for_x = (x * constant).grad_fn._saved
    assert [s is None for s in saved_for_x] == [False, True]
    assert (x * constant).grad_fn._saved_other is constant
    assert (x * constant).grad_fn._saved_self is None


def test_a_saved_result_is_not_the_tensor_itself() -> None:
    """Else the tensor would hold its node and the node the tensor."""
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    saved = y.grad_fn._saved_result
    assert saved is not y
    assert saved.grad_fn is y.grad_fn
    assert np.shares_memory(saved.detach().numpy(), y.detach().numpy())


def test_a_handle_keeps_nothing_alive() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g: None)
    node = weakref.ref(y.grad_fn)
    with uncollected():
        del y
        assert node() is None
    handle.remove()
