"""Inference mode, and the tensors made in it."""

import functools
from typing import Any

from tests.answers import outcome, sessions
from tests.autograd.golden_function import leaf, make


def _names(torch: Any) -> dict[str, Any]:
    def state() -> list[bool]:
        return [torch.is_grad_enabled(), torch.is_inference_mode_enabled()]

    def kind(t: Any) -> list[bool]:
        return [t.is_inference(), torch.is_inference(t), t.requires_grad, t.is_leaf]

    def facts(t: Any) -> list[Any]:
        return [*kind(t), outcome(lambda: t._version)]

    with torch.inference_mode():
        i = torch.ones(2)
    return {
        "state": state, "kind": kind, "facts": facts, "mode": torch.inference_mode, "i": i,
        "x": leaf(torch, 1.0, 2.0), "plain": torch.tensor([1.0, 2.0]),
        "make": functools.partial(make, torch),
    }  # fmt: skip


session = sessions(_names)

modes = session("""
contexts
    state()
    with mode():
        state()
        with torch.no_grad():
            state()
        with mode(False):
            state()
        state()
    with torch.no_grad():
        with mode(mode=False):
            state()
        with mode():
            state()
        state()
    torch.autograd.inference_mode is mode
decorators
    @mode()
    def steps():
        yield state()
        yield state()
    iterator = steps()
    mode()(state)(), mode(state)(), mode(False)(state)()
    next(iterator), state(), next(iterator), state()
""")

tensors = session("""
which are of inference
    inner = x * 2
    with mode():
        fresh = torch.ones(2)
        kind(fresh), kind(torch.tensor([1.0])), kind(torch.empty(2)), kind(torch.rand(2))
        kind(torch.arange(3)), kind(torch.ones(2, requires_grad=True)), kind(x * 2)
        kind(x.sum()), kind(x.clone()), kind(fresh[:1]), kind(fresh.unbind(0)[0])
        kind(plain[:1]), kind(x[:1]), kind(inner[:1]), kind(x.detach()), kind(plain.add_(1))
        kind(torch.ones(2, requires_grad=True) * 2)
    kind(fresh[:1]), kind(fresh + fresh), kind(fresh.clone())
parameters
    parameter = torch.nn.Parameter
    with mode():
        a = torch.ones(3)
        parameter(a).requires_grad
    parameter(a), parameter(a, requires_grad=False).requires_grad
what detach and data give
    with mode():
        j = torch.ones(2, requires_grad=True)
        facts(i.detach()), facts(i.data), facts(j.detach()), facts(x.detach()), facts(x.data)
        facts(j.detach_()), facts(x.detach_())
    facts(i.detach()), facts(i.data), facts(j.detach()), facts(i.detach().detach()), facts(i[:1])
    with torch.no_grad():
        facts(i.detach()), facts(i.data)
    d = i.detach()
    d.add_(1), facts(d), x * i.detach(), facts(j.detach_())
what takes data
    x.data = i
    facts(x), x * x, x.detach().add_(1), facts(x)
    x.data = torch.ones(2)
    facts(x), x * x
""")

refusals = session("""
saving
    def forward(ctx, x, i):
        ctx.save_for_backward(i)
        return x * 2
    with torch.no_grad():
        x * i
    x * i, i * x, torch.ones(2, 2) @ x + i * x, make(forward).apply(x, i), x + i
    x * i.clone(), (x * 1).add_(i), (x * 1).mul_(i), torch.ones(2).mul_(i), torch.ones(2).copy_(i)
writing outside
    with mode():
        view = i[:1]
        _ = i.add_(1)
        i[0] = 5.0
        view.mul_(2), i.clone()
    with torch.no_grad():
        i.add_(1)
    i.mul_(1), i.__setitem__(0, 1.0), view.add_(1), i.copy_(i)
views of ordinary tensors, where writing would be recorded
    inner, other = x * 2, x * 3
    with mode():
        of_plain, of_leaf, of_inner, of_other = plain[:1], x[:1], inner[:1], other[:1]
    _ = inner.add_(1)
    of_plain.add_(1), of_leaf.add_(1), of_inner.grad_fn, of_other.add_(1)
requiring grad
    with mode():
        i.requires_grad_().requires_grad
        _ = i.requires_grad_(False)
        j = torch.ones(2, requires_grad=True)
    i.requires_grad_(), setattr(i, "requires_grad", True), i.requires_grad_(False), j, j * 2
shapes in place
    with mode():
        i = torch.ones(1, 2)
        i.squeeze_().unsqueeze_(1).shape, torch.ones(4, requires_grad=True).resize_(2).shape
    i.t_(), i.squeeze_(), i.unsqueeze_(0), i.resize_(1)
""")
