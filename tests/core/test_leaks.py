"""A dropped loss frees its graph at once: there are no reference cycles to collect."""

import gc
import re
import textwrap
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core.op import CONSTANTS


@pytest.fixture(autouse=True, scope="module")
def _only_what_is_new() -> Iterator[None]:
    """The collector looks only at what these tests make, and only when it is called."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


def graph_of(*outputs: Any) -> list[weakref.ref[Any]]:
    """Weak references to every node behind the outputs and to what the nodes keep."""
    nodes = [out.grad_fn for out in outputs if out.grad_fn is not None]
    found: list[Any] = list(nodes)
    for node in nodes:  # the list grows while the loop runs
        nodes += [n for n, _ in node.next_functions if n is not None and n not in nodes]
    for node in nodes:
        if hasattr(node, "variable"):
            continue  # an accumulator, which lives as long as its leaf needs it
        found.append(node)
        for kept in node._saved or ():
            if isinstance(kept, tuple):
                found += [part for part in kept if hasattr(part, "__weakref__")]
    found += [out._array for out in outputs]
    return [weakref.ref(thing) for thing in found]


X = torch.ones(3, requires_grad=True)
W = torch.full((3,), 2.0, requires_grad=True)


def network() -> Any:
    return (torch.tanh(X * W).exp() / (1 + X * X)).sum()


def refused(call: Callable[[], object]) -> None:
    try:
        call()
    except RuntimeError as error:
        error.__traceback__ = None


# A line with a name, and below it what is done; `found` are the nodes that have to go.
PROGRAMS = """
forward
    found = graph_of(network())
after backward
    loss = network()
    found = graph_of(loss)
    loss.backward()
after retained backward
    loss = network()
    loss.backward(retain_graph=True)
    found = graph_of(loss)
with hooks
    y = X * W
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    z = y.exp()
    z.register_hook(lambda g: g * 2)
    z.grad_fn.register_hook(lambda *_: None)
    z.grad_fn.register_prehook(lambda *_: None)
    loss = z.sum()
    found = graph_of(loss, z)
    loss.backward()
after autograd.grad
    loss = network()
    found = graph_of(loss)
    torch.autograd.grad(loss, [X, W])
after create_graph
    loss = network()
    first = torch.autograd.grad(loss, [X, W], create_graph=True)
    second = torch.autograd.grad(first[0].sum(), [X, W], create_graph=True)
    found = graph_of(loss, *first, *second)
after double backward
    loss = network()
    (g,) = torch.autograd.grad(loss, X, create_graph=True)
    found = graph_of(loss, g)
    g.sum().backward()
in place
    y = X * W
    y.mul_(W).add_(1).exp_()
    found = graph_of(y)
    y.sum().backward()
views
    y = (X * W).reshape(1, 3)
    z = y.t()[1:].sum() + y[0].exp().sum()
    found = graph_of(z, y)
    z.backward()
writes through views
    y = X * W
    part = y[1:]
    part.mul_(2)
    y[0] = W[0] * 3
    found = graph_of(y, part, y[2])
    (y.sum() + part.sum()).backward()
several outputs
    y = X * W
    a, b, c = y.unbind()
    values, _ = y.reshape(1, 3).max(1)
    loss = a + b.exp() + values.sum()
    found = graph_of(loss, a, b, c, values)
    loss.backward()
joined
    loss = torch.cat([X, W, X * W]).sum() + torch.stack([X, W]).exp().sum()
    found = graph_of(loss)
    loss.backward()
a failed backward
    z = (X * W).exp()
    loss = z.sum()
    z.add_(1)
    found = graph_of(loss)
    refused(loss.backward)
second pass refused
    loss = network()
    found = graph_of(loss)
    loss.backward()
    refused(loss.backward)
without recording
    with torch.no_grad():
        y = network()
    found = [weakref.ref(y), weakref.ref(y._array)]
"""
WAYS = {
    title: compile(textwrap.dedent(statements), title, "exec")
    for part in re.split(r"\n(?=\S)", PROGRAMS.strip())
    for title, _, statements in [part.partition("\n")]
}


def walked(way: str) -> list[weakref.ref[Any]]:
    """What a program has found, all of whose variables are gone."""
    names: dict[str, Any] = {}
    exec(WAYS[way], globals(), names)
    found: list[weakref.ref[Any]] = names["found"]
    return found


def alive(found: list[weakref.ref[Any]]) -> list[Any]:
    """What is still there, but for the leaves and the cached tensors of Python numbers."""
    kept = [X, W, *CONSTANTS.values()]
    held = {id(t) for t in kept} | {id(t._array) for t in kept}
    return [thing for r in found if (thing := r()) is not None and id(thing) not in held]


def growth(step: Callable[[], object], count: int) -> int:
    """Bytes that ``count`` steps leave behind; none of them in a cycle."""
    for _ in range(min(count, 200)):
        step()
    gc.collect()  # also empties the interpreter's own stores of freed tuples, which fill slowly
    tracemalloc.start()
    try:
        step()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(count):
            step()
        assert gc.collect() == 0, "there are reference cycles"
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before


def holds_nothing(step: Callable[[], object], count: int) -> bool:
    """What leaks does so every time; stores of the interpreter fill up."""
    return any(growth(step, count) < 6_000 for _ in range(3))


@pytest.mark.parametrize("way", WAYS)
def test_a_dropped_graph_dies_at_once(way: str) -> None:
    X.grad = W.grad = None
    found = walked(way)
    assert found
    X.grad = W.grad = None
    assert alive(found) == []


def test_a_cycle_would_be_seen() -> None:
    loss = network()
    loss.grad_fn.metadata["myself"] = loss
    found = graph_of(loss)
    del loss
    assert alive(found)


@pytest.mark.parametrize("way", WAYS)
def test_repeated_graphs_hold_no_memory(way: str) -> None:
    assert holds_nothing(lambda: walked(way), 60)


def test_steps_of_training_hold_no_memory() -> None:
    w1 = torch.full((4, 8), 0.1, requires_grad=True)
    w2 = torch.full((8, 1), 0.1, requires_grad=True)
    x = torch.ones(16, 4)

    def step() -> None:
        loss = ((torch.tanh(x @ w1) @ w2 - 1) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= 0.01 * w.grad
                w.grad.zero_()

    assert holds_nothing(step, 300)


def test_growth_and_cycles_are_seen() -> None:
    hoard: list[Any] = []
    assert not holds_nothing(lambda: hoard.append(torch.ones(1)), 60)

    def cycle() -> None:
        loss = network()
        loss.grad_fn.metadata["myself"] = loss

    with pytest.raises(AssertionError, match="cycles"):
        growth(cycle, 3)
