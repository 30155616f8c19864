"""Packing what operations save: `saved_tensors_hooks` and its kin."""

import threading
from collections.abc import Callable
from typing import Any

from tests.answers import name_of, raised
from tests.autograd.golden_function import leaf, make


def same(value: Any) -> Any:
    return value


def packed_by(torch: Any, build: Callable[[], Any]) -> list[Any]:
    """What is packed while ``build`` runs, and how many are unpacked in its backward pass."""
    log: list[Any] = []
    unpacked: list[Any] = []

    def pack(t: Any) -> Any:
        log.append([tuple(t.shape), t.requires_grad, name_of(t.grad_fn), t.is_leaf])
        return "packed", t

    def unpack(pair: Any) -> Any:
        unpacked.append(pair[0])
        return pair[1]

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = build()
    y.sum().backward()
    return [sorted(log, key=str), len(unpacked)]


def what_is_packed(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    with torch.no_grad():
        constant = x * 5
    return [
        packed_by(torch, lambda: x * x), packed_by(torch, lambda: x * constant),
        packed_by(torch, lambda: x * 3), packed_by(torch, lambda: x + x),
        packed_by(torch, lambda: x.exp()), packed_by(torch, lambda: x.exp() * x),
        packed_by(torch, lambda: x**2), packed_by(torch, lambda: torch.ones(2, 2) @ x),
        packed_by(torch, lambda: (x * 2).exp_()),
    ]  # fmt: skip


def in_which_order_values_are_packed(torch: Any) -> Any:
    def ones(*shape: int) -> Any:
        return torch.ones(*shape, requires_grad=True)

    column, row, first = ones(2, 1), ones(1, 3), torch.zeros(2, 1, dtype=torch.long)
    builds: list[Callable[[], Any]] = [
        lambda: torch.addmm(ones(2, 4), ones(2, 3), ones(3, 4)),
        lambda: torch.nn.functional.linear(ones(2, 3), ones(4, 3), ones(4)),
        lambda: torch.addmv(ones(2), ones(2, 3), ones(3)),
        lambda: torch.addcdiv(ones(1, 1), column, row), lambda: torch.lerp(column, row, ones(2, 3)),
        lambda: column**row, lambda: torch.atan2(column, row), lambda: torch.hypot(column, row),
        lambda: torch.dist(column, row), lambda: column / row, lambda: ones(2, 3).gather(1, first),
        lambda: ones(2, 3).max(1),
        lambda: torch.nn.functional.conv1d(ones(1, 2, 5), ones(3, 2, 2), ones(3)),
    ]  # fmt: skip
    packed: list[list[Any]] = []
    for build in builds:
        packed.append([])
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: (packed[-1].append(tuple(t.shape)), t)[1], same
        ):
            build()
    return packed


def nothing_recorded(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(seen.append, same):
        torch.ones(1) * torch.ones(1)
        with torch.no_grad():
            x * x
    return seen


def values_unpacked(torch: Any) -> Any:
    """The gradient is computed with what is unpacked."""
    for unpack in (
        lambda a: torch.tensor(a) * 10, lambda a: torch.tensor(5.0),
        lambda a: torch.ones(2, dtype=torch.float64), lambda a: None, lambda a: 3,
    ):  # fmt: skip
        x = leaf(torch, 1.0, 2.0)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), unpack):
            y = x * x
        error = raised(y.sum().backward)
        yield [error, x.grad]


def refusals(torch: Any) -> Any:
    hooks = torch.autograd.graph.saved_tensors_hooks

    def run(pack: Any, unpack: Any) -> Any:
        x = leaf(torch, 1.0, 2.0) * 1
        with hooks(pack, unpack):
            y = x * x
        y.sum().backward()

    def disabled() -> None:
        with torch.autograd.graph.disable_saved_tensors_hooks("not here"), hooks(same, same):
            pass

    def too_late() -> None:
        with hooks(same, same), torch.autograd.graph.disable_saved_tensors_hooks("too late"):
            pass

    return [
        raised(run, lambda t: t.add_(1), same), raised(run, lambda t: 1 / 0, same),
        raised(run, same, lambda t: 1 / 0), raised(disabled), raised(too_late),
        raised(run, same, same),
    ]  # fmt: skip


def second_order(torch: Any) -> Any:
    """Unpacked values keep their place in the graph."""
    for pack in (same, lambda t: t.detach().clone()):
        for build in (lambda x: x * x * x, lambda x: x.exp(), lambda x: x.sin().exp()):
            x = leaf(torch, 1.0, 2.0)
            with torch.autograd.graph.saved_tensors_hooks(pack, same):
                y = build(x)
            (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            (h,) = torch.autograd.grad(g.sum(), x)
            yield [g, h]


def writes_after_packing(torch: Any) -> Any:
    """What was packed is the user's: no version is checked."""
    w = leaf(torch, 1.0, 2.0)
    x = w * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), same):
        y = x * x
    x.add_(1)
    y.sum().backward()
    return w.grad


def nested(torch: Any) -> Any:
    """The innermost hooks count, and only while operations are recorded."""
    seen: list[Any] = []

    def noting(name: str) -> Any:
        def pack(t: Any) -> Any:
            seen.append(name)
            return t

        return pack

    x, hooks = leaf(torch, 1.0), torch.autograd.graph.saved_tensors_hooks
    with hooks(noting("outer"), same):
        a = x.exp()
        with hooks(noting("inner"), same):
            b = x.exp()
        c = x.exp()
    with hooks(noting("late"), same):
        (a + b + c).backward()
    return [seen, x.grad]


def hooks_that_compute(torch: Any) -> Any:
    seen = []

    def pack(t: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return t * 2

    def unpack(t: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return t / 2

    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x
    y.sum().backward()
    return [seen, x.grad]


def user_functions(torch: Any) -> Any:
    """Each look at `saved_tensors` unpacks anew."""
    log: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(x, y, None)
        return y

    def backward(ctx: Any, g: Any) -> Any:
        log.append([ctx.saved_tensors, name_of(ctx.saved_tensors[1].grad_fn)])
        return g

    def pack(t: Any) -> Any:
        log.append(["pack", t])
        return t

    def unpack(t: Any) -> Any:
        log.append("unpack")
        return t

    x = leaf(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = make(torch, forward, backward).apply(x)
    y.backward()
    return [log, x.grad]


def retained_graphs(torch: Any) -> Any:
    unpacked: list[Any] = []
    x = leaf(torch, 1.0, 2.0)

    def unpack(t: Any) -> Any:
        unpacked.append(t)
        return t

    with torch.autograd.graph.saved_tensors_hooks(same, unpack):
        y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return [len(unpacked), x.grad, raised(y.backward)]


def saved_on_the_cpu(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.save_on_cpu():
        y = x * x
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        z = x.exp()
    (y + z).sum().backward()
    return x.grad


def looking_at_saved_values(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: "x", lambda _: torch.ones(2) * 7):
        y = x * x
    return [y.grad_fn._saved_self, y.grad_fn._saved_other.is_leaf]


def threads(torch: Any) -> Any:
    """Hooks are those of their thread."""
    seen: list[Any] = []
    x = leaf(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(seen.append, same):
        thread = threading.Thread(target=lambda: x * x)
        thread.start()
        thread.join()
    return seen


def counting_writes(torch: Any) -> Any:
    x, y = torch.ones(1), torch.ones(1)
    torch.autograd.graph.increment_version(x)
    torch.autograd.graph.increment_version([x, y])
    return [x._version, y._version]
