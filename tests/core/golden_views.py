"""Views and their bases: who shares memory and history, and what writes to them do."""

from typing import Any

from tests.answers import name_of, raised, told


def views_of_a_base(torch: Any) -> Any:
    x, r = torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)
    views = [
        x[0], x[:, 1:], x.t(), x.view(6), x.reshape(3, 2), x.unsqueeze(0), x.expand(2, 2, 3),
        x.unbind()[1], x.split(1)[0], x[0][1], x.t()[1], x.detach(), r.detach(),
        x[torch.tensor([0])], x.clone(), x.t().reshape(6), r[0], x.narrow(0, 0, 1), x.diagonal(),
        x.squeeze(), x.permute(1, 0), x.transpose(0, 1),
    ]  # fmt: skip
    return [[v._is_view(), v._base is x, v._base is r, v._base is None] for v in views]


# Writes of `w` to parts of `y`, some of them twice, by methods, indices and operators.
WRITES = """
y[0] = w
y[:, 1] = w * 2
y[1].mul_(w)
y.t()[0].mul_(w)
y[0].mul_(w); y[0].mul_(2)
y[0].mul_(w); y[:, 0].mul_(w)
v = y[0]; y.mul_(3); v.mul_(w)
v = y.view(4); u = v[1:3]; u.mul_(w); v.add_(1)
y[0].zero_()
y[0].fill_(7.0)
y[0].copy_(w)
y.copy_(w)
y[torch.tensor([0]), torch.tensor([1])] = w[:1]
y[y > 2] = 0.0
y[1] += w; y[0] *= 2
"""


def writing_to_views(torch: Any) -> Any:
    """Gradients through writes to views of a tensor with history."""
    for write in WRITES.strip().splitlines():
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        w = torch.tensor([5.0, 6.0], requires_grad=True)
        y = x * 1
        exec(write, {"torch": torch, "y": y, "w": w})
        (y * torch.tensor([[1.0, 10.0], [100.0, 1000.0]])).sum().backward()
        yield [told(y.detach()), told(x.grad), told(w.grad)]


def reading_views_after_writes(torch: Any) -> Any:
    """Other views of the base take part in its history after a write."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    first, rest = y[0], y[1:]
    y.mul_(2)
    rest.mul_(5)
    total = first * 10 + rest.sum()
    total.backward()
    return [first, rest, total, x.grad]


def views_of_constants(torch: Any) -> Any:
    """A write that brings history to a base brings it to its views."""
    y = torch.zeros(2, 2)
    v = y[0]
    w = torch.ones(2, requires_grad=True)
    before = [y.requires_grad, v.requires_grad]
    v.mul_(w)
    u = y[1]
    after = [y.requires_grad, v.requires_grad, u.requires_grad]
    return [before, after, name_of(y.grad_fn), name_of(v.grad_fn), name_of(u.grad_fn)]


def second_order_through_writes(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * x
    y[0] = w[1] * w[1]
    y[1:].mul_(w[:1])
    y.exp_()
    y = y.log() ** 2
    gx, gw = torch.autograd.grad(y.sum(), [x, w], create_graph=True)
    second = torch.autograd.grad((gx * gx).sum() + gw.prod(), [x, w])
    return [[f"{v:.4g}" for v in t.tolist()] for t in (gx, gw, *second)]


def views_under_no_grad(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    with torch.no_grad():
        v = y[1:]
        leaf_view = x[1:]
    return [
        raised(lambda: v.mul_(2)), raised(lambda: leaf_view.mul_(2)), v.requires_grad, v.grad_fn,
        v._is_view(),
    ]  # fmt: skip


def outputs_of_many_views(torch: Any) -> Any:
    """Views that `split`, `unbind` and `chunk` return cannot be written to."""
    texts = []
    for make in (
        lambda y: y.split(1)[1], lambda y: y.unbind()[0], lambda y: y.chunk(2)[1],
        lambda y: y.unbind()[0][:1],
    ):  # fmt: skip
        x = torch.ones(2, 2, requires_grad=True)
        y = x * 1
        part = make(y)
        texts.append(raised(lambda part=part: part.mul_(2)))
    constant = torch.ones(2, 2)
    constant.unbind()[0].mul_(2)
    return [texts, constant]
