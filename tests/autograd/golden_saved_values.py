"""What nodes keep: writes before a backward pass, a second pass, packing by hooks."""

import functools
import threading
from typing import Any

from tests.answers import raised, sessions
from tests.autograd.golden_function import leaf


def _names(torch: Any) -> dict[str, Any]:
    def same(value: Any) -> Any:
        return value

    def run(pack: Any, unpack: Any) -> Any:
        x = leaf(torch, 1.0, 2.0) * 1
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = x * x
        y.sum().backward()

    def packed(build: Any) -> Any:
        shapes: list[Any] = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: (shapes.append(tuple(t.shape)), t)[1], same
        ):
            build()
        return shapes

    def twice(of: Any) -> str:
        out = of(leaf(torch, 1.0, 2.0, 3.0))
        loss = out.sum() if out.ndim else out
        loss.backward()
        return raised(loss.backward)[:130]

    def written(of: Any, which: int | None, frozen: tuple[int, ...]) -> str:
        """A backward pass after an operand, or the result, has been written to."""
        leaves = [leaf(torch, 1.5, -2.0, 3.0), leaf(torch, 0.5, 2.0, -1.0)]
        given = [x.detach().clone() if k in frozen else x * 1 for k, x in enumerate(leaves)]
        out = of(*given)
        with torch.no_grad():
            (out if which is None else given[which]).mul_(2)
        return raised(lambda: (out.sum().backward(), [x.grad for x in leaves])[1])[:130]

    return {
        "same": same, "run": run, "packed": packed, "twice": twice, "written": written,
        "leaf": functools.partial(leaf, torch), "F": torch.nn.functional, "threading": threading,
        "hooks": torch.autograd.graph.saved_tensors_hooks, "graph": torch.autograd.graph,
        "ones": lambda *shape: torch.ones(*shape, requires_grad=True),
        "o": torch.ones(3), "square": torch.ones(3, 3), "places": torch.tensor([0, 2]),
    }  # fmt: skip


session = sessions(_names)

kept = session("""
second passes
    twice(lambda x: torch.trapezoid(x)), twice(lambda x: torch.trapezoid(x, dx=2.0))
    twice(lambda x: torch.trapezoid(x, torch.tensor([0.0, 1.0, 3.0])))
    twice(lambda x: torch.addmm(x, square, square)), twice(lambda x: torch.addcmul(x, o, o))
    twice(lambda x: F.linear(square, square, x)), twice(lambda x: torch.fmod(x, o))
    twice(lambda x: torch.remainder(x, o)), twice(lambda x: x.index_add(0, places, torch.ones(2)))
    twice(lambda x: x.scatter_add(0, places, torch.ones(2))), twice(lambda x: x.angle())
    twice(lambda x: torch.div(x, o, rounding_mode="floor")), twice(lambda x: x * 2)
    twice(lambda x: x.mean())
writes in between
    forms = [torch.copysign, lambda a, b: torch.div(a, b, rounding_mode="trunc"), torch.maximum]
    forms += [lambda a, b: torch.div(a, b, rounding_mode="floor")]
    for form in (*forms, lambda a, b: torch.addcdiv(a, a, b)):
        for which in (None, 0, 1):
            for frozen in ((), (0,), (1,)):
                written(form, which, frozen)
indices that change
    for index in (torch.tensor([True, False, True]), places):
        for value in (0.0, torch.zeros(1), torch.zeros(2, requires_grad=True)):
            at, x = index.clone(), leaf(1.0, 2.0, 3.0) * 1
            x[at] = value
            _ = at.copy_(at.flip(0) if at.dtype == torch.int64 else at.logical_not())
            raised(x.sum().backward)[:130]
counting writes
    x, y = torch.ones(1), torch.ones(1)
    graph.increment_version(x), graph.increment_version([x, y]), x._version, y._version
""")

packing = session("""
the order
    column, row, first = ones(2, 1), ones(1, 3), torch.zeros(2, 1, dtype=torch.long)
    packed(lambda: torch.addmm(ones(2, 4), ones(2, 3), ones(3, 4)))
    packed(lambda: F.linear(ones(2, 3), ones(4, 3), ones(4)))
    packed(lambda: torch.addcdiv(ones(1, 1), column, row))
    packed(lambda: torch.lerp(column, row, ones(2, 3))), packed(lambda: column**row)
    packed(lambda: torch.atan2(column, row)), packed(lambda: torch.hypot(column, row))
    packed(lambda: torch.dist(column, row)), packed(lambda: column / row)
    packed(lambda: ones(2, 3).gather(1, first)), packed(lambda: ones(2, 3).max(1))
    packed(lambda: F.conv1d(ones(1, 2, 5), ones(3, 2, 2), ones(3)))
the gradient is computed with what is unpacked
    unpacks = [lambda a: torch.tensor(a) * 10, lambda a: torch.tensor(5.0), lambda a: None]
    for unpack in (*unpacks, lambda a: torch.ones(2, dtype=torch.float64), lambda a: 3):
        x = leaf(1.0, 2.0)
        with hooks(lambda t: t.detach().numpy().copy(), unpack):
            y = x * x
        y.sum().backward(), x.grad
a view of what was made before
    for function in (torch.exp, torch.tanh, torch.relu):
        y = function(ones(2, 3))
        with hooks(same, same):
            z = y.view(-1) * 2
        torch.autograd.grad(z.sum(), y)[0]
refusals
    run(lambda t: t.add_(1), same), run(lambda t: 1 / 0, same)
    run(same, lambda t: 1 / 0), run(same, same)
on the CPU
    x = leaf(1.0, 2.0)
    with graph.save_on_cpu():
        y = x * x
    with graph.save_on_cpu(pin_memory=False):
        z = x.exp()
    (y + z).sum().backward(), x.grad
hooks are those of their thread
    seen, x = [], leaf(1.0)
    with hooks(seen.append, same):
        thread = threading.Thread(target=lambda: x * x)
        thread.start(), thread.join()
    seen
""")
