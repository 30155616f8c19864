"""Operations of the user's own."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from tests.several import uncollected


def keeping(*which: str) -> Any:
    """A function that saves its input, its output or both."""

    class Keeping(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.save_for_backward(*[{"input": x, "output": y}[w] for w in which])
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    return Keeping


def same(value: Any) -> Any:
    return value


def copied(value: Any) -> Any:
    return value.detach().clone()


def dies_at_once(build: Callable[[], Any]) -> bool:
    """Whether what is built, and its node, are gone without the collector."""
    gc.collect()
    with uncollected():
        tensor = build()
        refs = [weakref.ref(tensor), weakref.ref(tensor.grad_fn)]
        del tensor
        return all(ref() is None for ref in refs)


@pytest.mark.parametrize("which", [("input",), ("output",), ("input", "output")])
def test_a_function_is_in_no_reference_cycle(which: tuple[str, ...]) -> None:
    x = torch.ones(2, requires_grad=True)
    assert dies_at_once(lambda: keeping(*which).apply(x))
    assert dies_at_once(lambda: keeping(*which).apply(x * 3).sum())


@pytest.mark.parametrize("which", [("input",), ("output",)])
def test_packed_values_are_in_no_reference_cycle(which: tuple[str, ...]) -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(copied, same):
        assert dies_at_once(lambda: keeping(*which).apply(x))
        assert dies_at_once(lambda: x.exp())


def test_a_written_view_may_be_any_argument() -> None:
    """PyTorch takes the first argument for the written one, and its gradients are wrong then."""

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, w: Any, x: Any) -> Any:
            ctx.save_for_backward(w, x.clone())
            x.mul_(w)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            w, x = ctx.saved_tensors
            return (g * x).sum(0, keepdim=True), g * w

    for order in (False, True):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        w = torch.tensor([5.0], requires_grad=True)
        base = x * 2
        Scale.apply(w, base[:1])
        (g,) = torch.autograd.grad(base.sum(), w, retain_graph=True, create_graph=order)
        base.sum().backward()
        assert x.grad.tolist() == [10.0, 2.0]
        assert w.grad.tolist() == g.tolist() == [2.0]


def test_a_deep_chain_of_functions_needs_no_stack() -> None:
    x = torch.ones(1, requires_grad=True)
    y = x
    function = keeping("input")
    with torch.no_grad():
        scale = torch.full((1,), 0.5)
    for _ in range(5_000):
        y = function.apply(y) * scale
    y.backward()
    assert x.grad.tolist() == [1.0]


@pytest.mark.parametrize("call", [
    lambda y: torch.autograd.backward([y, 3]), lambda y: torch.autograd.backward(y, inputs=[3]),
    lambda y: torch.autograd.grad(y, {"x": y}),
    lambda y: torch.autograd.graph.increment_version([y, 3]),
])  # fmt: skip
def test_what_is_no_tensor_is_refused(call: Any) -> None:
    with pytest.raises(TypeError, match=r"expected a Tensor or several, but got (int|str)"):
        call(torch.ones(1, requires_grad=True) * 2)


def test_hooks_have_to_be_functions() -> None:
    with pytest.raises(TypeError, match="takes two functions"):
        torch.autograd.graph.saved_tensors_hooks(None, None).__enter__()


def test_gradients_are_checked_in_reverse_mode_only() -> None:
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(NotImplementedError, match="no forward-mode"):
        torch.autograd.gradcheck(lambda x: x, x, check_forward_ad=True)
    with pytest.raises(AssertionError, match="check_rev_over_rev"):
        torch.autograd.gradgradcheck(lambda x: x, x, check_rev_over_rev=False)


def test_an_empty_output_has_an_empty_jacobian() -> None:
    x, jacobian = torch.ones(3), torch.autograd.functional.jacobian
    assert jacobian(lambda x: x[:0] * 2, x).shape == (0, 3)
    assert jacobian(lambda x: x * 2, x[:0]).shape == (0, 0)
