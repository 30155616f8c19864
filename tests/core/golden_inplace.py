"""Writes in place: versions, graphs, what is refused and in which words."""

from collections.abc import Callable
from typing import Any

from tests.answers import name_of, raised, told, tree


def versions(torch: Any) -> Any:
    """A tensor, its views and `detach` share one count; `.data` and copies have their own."""
    x = torch.ones(4)
    view, detached, data, copy = x[1:], x.detach(), x.data, x.clone()
    seen = []
    steps: list[Callable[[], Any]] = [
        lambda: x.add_(1), lambda: view.mul_(2), lambda: detached.zero_(), lambda: data.fill_(3),
        lambda: copy.fill_(4), lambda: x.__setitem__(0, 5.0),
        lambda: view.__setitem__(slice(None), torch.zeros(3)), lambda: x.copy_(torch.ones(4)),
        lambda: x.view(2, 2).t().add_(1), lambda: x.__iadd__(1),
    ]  # fmt: skip
    for step in steps:
        step()
        seen.append([t._version for t in (x, view, detached, data, copy)])
    return [seen, x, view]


def modified_inputs(torch: Any) -> Any:
    """The whole text of the error, for different saved values and origins."""
    c, w = torch.ones(2, 3), torch.ones(3, 2, requires_grad=True)
    # A value, what is computed of it, and what is written to afterwards.
    made = [
        (lambda x: x * torch.ones(2, 3), lambda y: y * c, lambda y: c),
        (lambda x: x * 2, lambda y: y * y, lambda y: y),
        (lambda x: x.exp(), lambda y: y * 1, lambda y: y),
        (lambda x: x.sigmoid(), lambda y: y.clone(), lambda y: y),
        (lambda x: x + 0, lambda y: y.sin(), lambda y: y[0]),
        (lambda x: x + 0, lambda y: y.t().sin(), lambda y: y),
        (lambda x: x + 0, lambda y: y.sin(), lambda y: y.detach()),
        (lambda x: (x + 0).max(1).values, lambda y: y * y, lambda y: y),
        (lambda x: x + 0, lambda y: y**2, lambda y: y),
        (lambda x: x + 0, lambda y: y @ w, lambda y: y),
    ]
    kinds = [torch.float32] * len(made) + [torch.float64]
    for kind, (value, result, written) in zip(kinds, [*made, made[1]], strict=True):
        y = value(torch.ones(2, 3, requires_grad=True, dtype=kind))
        loss = result(y).sum()
        written(y).add_(1)
        yield raised(loss.backward)


def modified_data_goes_unseen(torch: Any) -> Any:
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    w.data.fill_(5.0)
    loss.backward()
    return [w.grad, w._version]


def shapes_and_types_that_do_not_fit(torch: Any) -> Any:
    x, n, b = torch.ones(3), torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.bool)
    return [
        raised(lambda: x.add_(torch.ones(2, 3))), raised(lambda: x.add_(torch.ones(4))),
        raised(lambda: n.add_(1.5)), raised(lambda: n.mul_(x)), raised(lambda: b.add_(1)),
        raised(lambda: n.div_(2)), raised(lambda: x.copy_(torch.ones(4))),
        raised(lambda: x.expand(2, 3).add_(1)), x.add_(n), n.add_(b),
        x.mul_(torch.tensor(2.0, dtype=torch.float64)),
    ]  # fmt: skip


def chains(torch: Any) -> Any:
    """`log(2x + 2)` in place: values, node names and the gradient."""
    x = torch.tensor(1.0, requires_grad=True)
    y = 2 * x
    names = [name_of(y.grad_fn)]
    y += 2
    names.append(name_of(y.grad_fn))
    y.log_()
    names.append(name_of(y.grad_fn))
    y.backward()
    return [y, names, x.grad]


def trees(torch: Any) -> Any:
    """The graphs that writes leave."""
    x = torch.ones(2, requires_grad=True)

    def fresh() -> Any:
        return torch.ones(2, 2, requires_grad=True) * 1

    for y, write in (
        (fresh(), lambda y: y.mul_(2)), (fresh(), lambda y: y.zero_()),
        (fresh(), lambda y: y.__setitem__(0, x)), (fresh(), lambda y: y.__setitem__((0, 0), 3.0)),
        (torch.zeros(2, 2), lambda y: y.__setitem__(1, x)), (torch.zeros(2), lambda y: y.copy_(x)),
    ):  # fmt: skip
        write(y)
        yield tree(y.grad_fn)
    y = fresh()
    v = y[0]
    v.mul_(3)
    yield [tree(y.grad_fn), tree(v.grad_fn)]
    y = fresh()
    v = y.t()
    y.add_(1)
    yield [tree(y.grad_fn), tree(v.grad_fn)]
    y = torch.zeros(2, 2)
    v = y[1]
    y.mul_(torch.ones(2, 2, requires_grad=True))
    yield [tree(y.grad_fn), tree(v.grad_fn), v.requires_grad]
    y = torch.zeros(3)
    y += torch.ones(3, requires_grad=True)
    yield tree(y.grad_fn)


def self_writes(torch: Any) -> Any:
    """Operands that are the tensor itself."""
    for step in (
        lambda y: y.add_(y), lambda y: y.mul_(y), lambda y: y.sub_(y * 2),
        lambda y: y.copy_(y.flip(0)),
    ):  # fmt: skip
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 1
        step(y)
        text = raised(lambda y=y: y.sum().backward())
        yield [told(y), text, told(x.grad)]


def detaching_in_place(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y + 1
    y.detach_()
    z.sum().backward()
    v = (x * 2)[0]
    return [y.requires_grad, y.is_leaf, x.grad, raised(v.detach_)]


def requires_grad_in_place(torch: Any) -> Any:
    x = torch.zeros(2)
    x.mul_(2)
    x.requires_grad_()
    y = x * 2
    text = raised(lambda: y.requires_grad_(False))
    base = torch.zeros(2, 2)
    view = base[0]
    return [
        x.requires_grad, text, y.requires_grad_().requires_grad,
        raised(lambda: view.requires_grad_()), view.is_leaf, base.requires_grad,
    ]  # fmt: skip


def swapped_data(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.data = torch.tensor([5.0, 6.0])
    y = (x * x).sum()
    y.backward()
    return [
        x, x.grad, raised(lambda: setattr(x, "data", [1.0])),
        raised(lambda: setattr(x, "data", torch.ones(2, dtype=torch.int64))),
    ]  # fmt: skip
