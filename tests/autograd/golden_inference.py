"""Inference mode, and the tensors made in it."""

from typing import Any

from tests.answers import raised
from tests.autograd.golden_function import leaf, make


def states(torch: Any) -> Any:
    def state() -> list[bool]:
        return [torch.is_grad_enabled(), torch.is_inference_mode_enabled()]

    seen = [state()]
    with torch.inference_mode():
        seen.append(state())
        with torch.no_grad():
            seen.append(state())
        with torch.inference_mode(False):
            seen.append(state())
        seen.append(state())
    with torch.no_grad():
        with torch.inference_mode(mode=False):
            seen.append(state())
        with torch.inference_mode():
            seen.append(state())
        seen.append(state())

    @torch.inference_mode()
    def called() -> list[bool]:
        return state()

    @torch.inference_mode
    def bare() -> list[bool]:
        return state()

    @torch.inference_mode(False)
    def off() -> list[bool]:
        return state()

    @torch.inference_mode()
    def steps() -> Any:
        yield state()
        yield state()

    iterator = steps()
    seen += [called(), bare(), off(), next(iterator), state(), next(iterator), state()]
    return [seen, torch.autograd.inference_mode is torch.inference_mode]


def what_is_an_inference_tensor(torch: Any) -> Any:
    plain, x = torch.tensor([1.0, 2.0]), leaf(torch, 1.0, 2.0)
    inner = x * 2
    with torch.inference_mode():
        fresh = torch.ones(2)
        made = {
            "fresh": fresh, "tensor": torch.tensor([1.0]), "empty": torch.empty(2),
            "rand": torch.rand(2), "arange": torch.arange(3),
            "leaf": torch.ones(2, requires_grad=True), "result": x * 2, "sum": x.sum(),
            "clone": x.clone(), "view of fresh": fresh[:1], "part of fresh": fresh.unbind(0)[0],
            "view of plain": plain[:1], "view of leaf": x[:1], "view of result": inner[:1],
            "detached": x.detach(), "written": plain.add_(1),
            "of leaf": torch.ones(2, requires_grad=True) * 2,
        }  # fmt: skip
    made["view outside"] = fresh[:1]
    made["result outside"] = fresh + fresh
    made["clone outside"] = fresh.clone()
    return [
        [name, t.is_inference(), torch.is_inference(t), t.requires_grad, t.is_leaf]
        for name, t in made.items()
    ]


def saving_is_refused(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    with torch.inference_mode():
        i = torch.ones(2)

    def user_function() -> Any:
        def forward(ctx: Any, x: Any, i: Any) -> Any:
            ctx.save_for_backward(i)
            return x * 2

        return make(torch, forward).apply(x, i)

    with torch.no_grad():
        unrecorded = x * i
    return [
        raised(lambda: x * i), raised(lambda: i * x), raised(lambda: torch.ones(2, 2) @ x + i * x),
        raised(user_function), x + i, unrecorded, x * i.clone(), (x * 1).add_(i),
        raised((x * 1).mul_, i), torch.ones(2).mul_(i), torch.ones(2).copy_(i),
    ]  # fmt: skip


def writing_is_refused_outside(torch: Any) -> Any:
    with torch.inference_mode():
        i = torch.ones(3)
        view = i[:1]
        i.add_(1)
        i[0] = 5.0
        view.mul_(2)
        inside = i.clone()

    def no_grad() -> Any:
        with torch.no_grad():
            return i.add_(1)

    def by_index() -> None:
        i[0] = 1.0

    texts = [raised(i.mul_, 1), raised(no_grad), raised(by_index), raised(view.add_, 1)]
    return [inside, texts, raised(i.copy_, i)]


def views_made_inside(torch: Any) -> Any:
    """Views of ordinary tensors cannot be written to outside, where that would be recorded."""
    plain, x = torch.tensor([1.0, 2.0]), leaf(torch, 1.0, 2.0)
    inner, other = x * 2, x * 3
    with torch.inference_mode():
        of_plain, of_leaf, of_inner, of_other = plain[:1], x[:1], inner[:1], other[:1]
    inner.add_(1)
    return [
        of_plain.add_(1), raised(of_leaf.add_, 1), raised(lambda: of_inner.grad_fn),
        raised(of_other.add_, 1),
    ]  # fmt: skip


def requiring_grad(torch: Any) -> Any:
    with torch.inference_mode():
        i = torch.ones(2)
        i.requires_grad_()
        inside = i.requires_grad
        i.requires_grad_(False)
        j = torch.ones(2, requires_grad=True)

    def assign() -> None:
        i.requires_grad = True

    return [inside, raised(i.requires_grad_), raised(assign), i.requires_grad_(False), j, j * 2]


def parameters(torch: Any) -> Any:
    parameter = torch.nn.Parameter
    with torch.inference_mode():
        a = torch.ones(3)
        inside = parameter(a).requires_grad
    return [inside, raised(parameter, a), parameter(a, requires_grad=False).requires_grad]


def _told(t: Any) -> Any:
    return [t.is_inference(), t.requires_grad, t.is_leaf, raised(lambda: t._version)]


def on_the_same_memory(torch: Any) -> Any:
    """What `detach` and `data` give, and what takes `data`, inside and outside the mode."""
    x = leaf(torch, 1.0, 2.0)
    with torch.inference_mode():
        i, j = torch.ones(2), torch.ones(2, requires_grad=True)
        inside = [_told(t) for t in (i.detach(), i.data, j.detach(), x.detach(), x.data)]
        kept = [_told(j.detach_()), _told(x.detach_())]
    outside = [_told(t) for t in (i.detach(), i.data, j.detach(), i.detach().detach(), i[:1])]
    with torch.no_grad():
        outside += [_told(i.detach()), _told(i.data)]
    d = i.detach()
    outside += [
        d.add_(1), _told(d), _told(d), raised(lambda: x * i.detach()), _told(j.detach_()),
    ]  # fmt: skip
    x.data = i
    taken = [_told(x), raised(lambda: x * x), x.detach().add_(1), _told(x)]
    x.data = torch.ones(2)
    return [inside, kept, outside, taken, _told(x), x * x]


def reshaped_in_place(torch: Any) -> Any:
    with torch.inference_mode():
        i = torch.ones(1, 2)
        i.squeeze_().unsqueeze_(1)
        r = torch.ones(4, requires_grad=True).resize_(2)
    views = [i.t_, i.squeeze_, lambda: i.unsqueeze_(0), lambda: i.resize_(1)]
    return [i.shape, r.shape, [raised(view) for view in views]]
