"""Views that a user's function makes, writes to and returns, with and without history."""

from typing import Any

from tests.answers import name_of
from tests.answers import raised as whole_text
from tests.autograd.golden_function import make


def _raised(call: Any) -> Any:
    return whole_text(call)[:150]


def _sum_back(torch: Any) -> Any:
    return lambda ctx, *grads: torch.ones(3) * sum([g.sum() for g in grads])


def _seen(t: Any) -> Any:
    return [t, t.requires_grad, name_of(t.grad_fn), t._is_view(), t._version]


def _afterwards(torch: Any, t: Any) -> list[Any]:
    """What can be done with an output."""
    return [
        _raised(lambda: (t * 2).sum().backward(retain_graph=True)),
        _raised(torch.no_grad()(lambda: _seen(t.add_(1)))),
        _raised(lambda: _seen(t.mul_(2))),
        _raised(lambda: _seen(t[:1].mul_(2))),
    ]


def _kinds(torch: Any) -> Any:
    return {
        "same": lambda a: a, "view": lambda a: a.view(3), "part": lambda a: a[:2],
        "parts": lambda a: (a[:1], a[1:]), "view and copy": lambda a: (a.view(3), a.clone()),
        "part of a copy": lambda a: a.clone()[:2],
    }  # fmt: skip


def _given(torch: Any) -> Any:
    def leaf() -> Any:
        return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    return {
        "leaf": leaf, "result": lambda: leaf() * 1, "view": lambda: leaf().view(3),
        "constant": lambda: leaf().detach(),
    }  # fmt: skip


def returned_views(torch: Any) -> Any:
    modes = {"recorded": None, "no_grad": torch.no_grad}
    answers: dict[str, Any] = {}
    for kind, body in _kinds(torch).items():
        for what, given in _given(torch).items():
            for name, mode in modes.items():
                a = given()
                function = make(torch, lambda ctx, a, body=body: body(a), _sum_back(torch))
                apply = function.apply if mode is None else mode()(function.apply)
                out = apply(a)
                outs = out if isinstance(out, tuple) else (out,)
                weight = torch.ones(1, requires_grad=True)
                answers[f"{kind} of a {what}, {name}"] = [
                    [[*_seen(t), t._base is a] for t in outs],
                    [_afterwards(torch, t) for t in outs],
                    _raised(lambda t=outs[0], w=weight: _seen(t.mul_(w))),
                ]
    return answers
