"""Packing what operations save: `saved_tensors_hooks` and its kin."""

import threading
from collections.abc import Callable
from typing import Any

from tests.answers import raised
from tests.autograd.golden_function import leaf


def same(value: Any) -> Any:
    return value


def in_which_order_values_are_packed(torch: Any) -> Any:
    def ones(*shape: int) -> Any:
        return torch.ones(*shape, requires_grad=True)

    column, row, first = ones(2, 1), ones(1, 3), torch.zeros(2, 1, dtype=torch.long)
    builds: list[Callable[[], Any]] = [
        lambda: torch.addmm(ones(2, 4), ones(2, 3), ones(3, 4)),
        lambda: torch.nn.functional.linear(ones(2, 3), ones(4, 3), ones(4)),
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

    return [
        raised(run, lambda t: t.add_(1), same), raised(run, lambda t: 1 / 0, same),
        raised(run, same, lambda t: 1 / 0), raised(run, same, same),
    ]  # fmt: skip


def saved_on_the_cpu(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.save_on_cpu():
        y = x * x
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        z = x.exp()
    (y + z).sum().backward()
    return x.grad


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
