"""Views that a user's function makes, writes to and returns, with and without history."""

import warnings
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


def _written_part(torch: Any, ctx: Any, a: Any) -> Any:
    part = a.clone()[1:]
    part.mul_(2)
    return part


def _written_part_of_input(torch: Any, ctx: Any, a: Any) -> Any:
    part = a[1:]
    part.mul_(2)
    return part


def _written_detached(torch: Any, ctx: Any, a: Any) -> Any:
    whole = a.detach().view(-1)
    whole[0] = 7
    return whole


def _filled(torch: Any, ctx: Any, a: Any) -> Any:
    whole = torch.zeros(3).view(3)
    whole.copy_(a)
    return whole


def _base_and_view(torch: Any, ctx: Any, a: Any) -> Any:
    whole = torch.zeros(3)
    part = whole.view(3)
    part.copy_(a)
    return whole, part


def _dirty_view(torch: Any, ctx: Any, a: Any) -> Any:
    view = a.view(3)
    ctx.mark_dirty(view)
    return view.mul_(2)


def _afterwards(torch: Any, t: Any) -> list[Any]:
    """What can be done with an output."""
    return [
        _raised(lambda: (t * 2).sum().backward(retain_graph=True)),
        _raised(torch.no_grad()(lambda: _seen(t.add_(1)))),
        _raised(lambda: _seen(t.mul_(2))),
        _raised(lambda: _seen(t[:1].mul_(2))),
    ]


def written_inside(torch: Any) -> Any:
    answers: dict[str, Any] = {}
    for body in (
        _written_part, _written_part_of_input, _written_detached, _filled, _base_and_view,
        _dirty_view,
    ):  # fmt: skip
        for leaf in (True, False):
            x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
            function = make(torch, lambda ctx, a, body=body: body(torch, ctx, a), _sum_back(torch))
            try:
                with warnings.catch_warnings(
                    action="ignore"
                ):  # of a tensor that is dirty and no input
                    out = function.apply(x if leaf else x * 1)
            except RuntimeError as error:
                answers[f"{body.__name__} {leaf}"] = str(error)
                continue
            outs = out if isinstance(out, tuple) else (out,)
            told = [_seen(t) for t in outs] + [_afterwards(torch, t) for t in outs]
            answers[f"{body.__name__} {leaf}"] = [told, x.grad]
    return answers


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


def written_to_later(torch: Any) -> Any:
    """The input, after a view of it was returned under `no_grad`."""
    for what in ("result", "constant"):
        a = _given(torch)[what]()
        function = make(torch, lambda ctx, a: a[:2], _sum_back(torch))
        view = torch.no_grad()(function.apply)(a)
        a.mul_(torch.ones(1, requires_grad=True))
        yield [_raised(lambda v=view: _seen(v)), _seen(a)]
