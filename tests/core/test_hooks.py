"""Hooks of tensors, nodes and accumulators."""

import gc
import weakref
from typing import Any

import pytest

import nanotorch as torch


def test_a_handle_keeps_nothing_alive() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g: None)
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()
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
