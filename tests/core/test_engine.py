"""Graphs: nodes and hooks, writes through views, backward passes."""

import weakref
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core.graph import AccumulateGrad, Node
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


def test_an_accumulator_lives_as_long_as_a_graph_holds_it() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    first = y.grad_fn.next_functions[0][0]
    assert isinstance(first, AccumulateGrad)
    assert (x + 1).grad_fn.next_functions[0][0] is first
    assert first.variable is x


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


def test_unknown_saved_names_are_attribute_errors() -> None:
    node = torch.ones(2, requires_grad=True).exp().grad_fn
    with pytest.raises(AttributeError, match=r"ExpBackward0.*_saved_nothing"):
        _ = node._saved_nothing
    with pytest.raises(AttributeError, match=r"ExpBackward0.*no_such"):
        _ = node.no_such


def test_a_handle_keeps_nothing_alive() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g: None)
    node = weakref.ref(y.grad_fn)
    with uncollected():
        del y
        assert node() is None
    handle.remove()


def test_a_hook_may_register_another() -> None:
    x = torch.ones(1, requires_grad=True)
    calls: list[str] = []

    def first(g: Any) -> None:
        calls.append("first")
        x.register_hook(lambda g: calls.append("late"))

    x.register_hook(first)
    (x * 2).backward()
    assert calls == ["first"]
    (x * 2).backward()
    assert calls == ["first", "first", "late"]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_replaced_gradient_reaches_one_branch_only(create_graph: bool) -> None:
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y, z = x * 2, w * 3

    total = y + z
    y.register_hook(lambda g: g * 10)
    total.sum().backward(create_graph=create_graph)
    assert x.grad.tolist() == [20.0, 20.0]
    assert w.grad.tolist() == [3.0, 3.0]


def test_many_writes_to_one_base() -> None:
    """Each element written once, by a view of its own."""
    w = torch.arange(1.0, 201.0).requires_grad_()
    y = torch.zeros(200)
    for k in range(200):
        y[k] = w[k] * w[k]
    y.sum().backward()
    assert np.allclose(w.grad.numpy(), 2 * np.arange(1, 201))


def test_a_view_of_a_view_knows_the_first_base() -> None:
    x = torch.zeros(4, 5, 6)
    view = x
    for step in (lambda v: v[1:], lambda v: v.transpose(0, 2), lambda v: v[2], lambda v: v[:, 0]):
        view = step(view)
        assert view._base is x
    view.fill_(1.0)
    assert x.sum().item() == view.numel()
    assert x._version == view._version == 1


def test_the_gradient_of_a_write_equals_that_of_where() -> None:
    """Writing through any view is the same function as choosing elements by a mask."""
    rng = np.random.default_rng(0)
    ways = {
        "row": lambda t: t[1],
        "column": lambda t: t[:, 2],
        "steps": lambda t: t[::2, 1::2],
        "transposed": lambda t: t.t()[1:3],
        "flat": lambda t: t.view(-1)[3:9],
        "diagonal": lambda t: t.diagonal(),
        "deep": lambda t: t.unsqueeze(0)[0][1:].t()[2],
    }
    for take in ways.values():
        values = rng.normal(size=(4, 4))
        mask = torch.zeros(4, 4)
        take(mask).fill_(1.0)
        grads = []
        for write in (True, False):
            x = torch.tensor(values, requires_grad=True)
            s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
            y = x * 1
            if write:
                take(y).mul_(s)
            else:
                y = torch.where(mask > 0, y * s, y)
            (y * y).sum().backward()
            grads.append((x.grad.numpy(), s.grad.numpy()))
        for a, b in zip(*grads, strict=True):
            assert np.allclose(a, b)


def test_no_gradient_is_added_to_one_whose_elements_share_memory() -> None:
    p = torch.zeros(3, requires_grad=True)
    p.grad = torch.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        (p * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert p.grad.eq(1).all()
