"""Hooks of modules: when they are called, with what, and what becomes of their results."""

from typing import Any

from tests.answers import name_of, numbers, raised, told, warned


def order(torch: Any) -> Any:
    nn = torch.nn
    log: list[str] = []
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

    def note(name: str) -> Any:
        return lambda *_: log.append(name)

    for name, module in (("root", model), ("linear", model[0]), ("tanh", model[1])):
        module.register_forward_pre_hook(note(f"{name} pre"))
        module.register_forward_hook(note(f"{name} after"))
        module.register_forward_hook(note(f"{name} after, first"), prepend=True)
        module.register_forward_pre_hook(note(f"{name} pre, first"), prepend=True)
        module.register_full_backward_pre_hook(note(f"{name} backward pre"))
        module.register_full_backward_hook(note(f"{name} backward"))
        module.register_full_backward_hook(note(f"{name} backward, first"), prepend=True)
    model[0].weight.register_hook(note("weight"))
    x = torch.ones(1, 2, requires_grad=True)
    x.register_hook(note("input"))
    model(x).sum().backward()
    return log


def forward_arguments(torch: Any) -> Any:
    nn = torch.nn
    log: list[Any] = []

    class Net(nn.Module):
        def forward(self, x: Any, *, scale: float = 1.0) -> Any:
            return x * scale

    model = Net()
    model.register_forward_pre_hook(lambda m, a: log.append(["pre", a]))
    model.register_forward_pre_hook(lambda m, a, k: log.append(["pre", a, k]), with_kwargs=True)
    model.register_forward_hook(lambda m, a, out: log.append(["after", a, out]))
    model.register_forward_hook(
        lambda m, a, k, out: log.append(["after", a, k, out]), with_kwargs=True
    )
    model(torch.ones(1), scale=2.0)
    return told(log)


def replaced_arguments(torch: Any) -> Any:
    nn = torch.nn

    class Net(nn.Module):
        def forward(self, x: Any, y: Any = None, *, scale: float = 1.0) -> Any:
            return x * scale if y is None else (x + y) * scale

    def result(**hooks: Any) -> Any:
        model = Net()
        if "pre" in hooks:
            model.register_forward_pre_hook(hooks["pre"])
        if "kwargs" in hooks:
            model.register_forward_pre_hook(hooks["kwargs"], with_kwargs=True)
        if "after" in hooks:
            model.register_forward_hook(hooks["after"])
        return model(torch.ones(1), scale=2.0)

    return [
        result(pre=lambda m, a: a[0] + 1), result(pre=lambda m, a: (a[0], a[0])),
        result(kwargs=lambda m, a, k: (a, {"scale": 5.0})), result(after=lambda m, a, out: out + 1),
        raised(result, kwargs=lambda m, a, k: a), raised(result, kwargs=lambda m, a, k: (a, k, 1)),
        result(after=lambda m, a, out: None),
    ]  # fmt: skip


def always_called(torch: Any) -> Any:
    log: list[str] = []

    class Failing(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("no")

    def fail(*_: Any) -> None:
        raise KeyError("hook")

    model = Failing()
    model.register_forward_hook(lambda *_: log.append("plain"))
    model.register_forward_hook(lambda m, a, out: log.append(f"always {out}"), always_call=True)
    model.register_forward_hook(lambda m, a, k, out: log.append("kwargs"), always_call=True,
                                with_kwargs=True)  # fmt: skip
    first = raised(model, torch.ones(1))
    model.register_forward_hook(fail, always_call=True)
    texts = warned(lambda: log.append(raised(model, torch.ones(1))))
    working = torch.nn.ReLU()
    working.register_forward_hook(fail)
    working.register_forward_hook(lambda *_: log.append("behind"), always_call=True)
    return [first, texts, raised(working, torch.ones(1)), log]


def handles(torch: Any) -> Any:
    log: list[int] = []
    model = torch.nn.ReLU()
    first = model.register_forward_hook(lambda *_: log.append(1))
    with model.register_forward_pre_hook(lambda *_: log.append(2)):
        model(torch.ones(1))
    model(torch.ones(1))
    first.remove()
    first.remove()
    model(torch.ones(1))
    return log


def backward_values(torch: Any) -> Any:
    log: list[Any] = []
    linear = torch.nn.Linear(2, 1)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[2.0, 3.0]]))
    linear.register_full_backward_pre_hook(lambda m, g: log.append(["pre", told(g)]))
    linear.register_full_backward_hook(lambda m, gi, go: log.append([told(gi), told(go)]))
    x = torch.ones(2, 2, requires_grad=True)
    out = linear(x)
    name = name_of(out.grad_fn)
    out.sum().backward()
    return [log, name, out, x.grad, linear.weight.grad]


def backward_replacements(torch: Any) -> Any:
    def gradients(hook: Any = None, pre: Any = None) -> Any:
        module = torch.nn.Tanh()
        if hook is not None:
            module.register_full_backward_hook(hook)
        if pre is not None:
            module.register_full_backward_pre_hook(pre)
        x = torch.zeros(2, requires_grad=True)
        module(x).sum().backward()
        return x.grad

    return [
        gradients(lambda m, gi, go: (gi[0] * 10,)), gradients(pre=lambda m, go: (go[0] * 3,)),
        gradients(lambda m, gi, go: (gi[0] + 1,), lambda m, go: (go[0] * 3,)),
        raised(gradients, lambda m, gi, go: (gi[0], gi[0])),
        raised(gradients, None, lambda m, go: (go[0], go[0])), gradients(lambda m, gi, go: None),
    ]  # fmt: skip


def several_inputs_and_outputs(torch: Any) -> Any:
    log: list[Any] = []

    class Net(torch.nn.Module):
        def forward(self, x: Any, number: int, y: Any, z: Any) -> Any:
            return x * number, "text", y * z

    model = Net()
    model.register_full_backward_pre_hook(lambda m, go: log.append(told(go)))
    model.register_full_backward_hook(lambda m, gi, go: log.append([told(gi), told(go)]))
    x, y = (torch.ones(1, requires_grad=True) for _ in range(2))
    first, text, second = model(x, 3, y, torch.full((1,), 5.0))
    (first + second).sum().backward()
    yield from [told(log), text, x.grad, y.grad]
    log.clear()
    first, _, second = model(x, 3, y, torch.full((1,), 5.0))
    first.sum().backward()
    yield from [told(log), second.requires_grad]


def without_input_gradients(torch: Any) -> Any:
    log: list[Any] = []
    linear = torch.nn.Linear(1, 1)
    linear.register_full_backward_pre_hook(lambda m, go: log.append(told(go)))
    out = linear(torch.ones(1, 1))
    texts = warned(lambda: out.backward())
    linear.register_full_backward_hook(lambda m, gi, go: log.append([told(gi), told(go)]))
    out = linear(torch.ones(1, 1))
    texts += warned(lambda: out.backward())
    linear.register_full_backward_hook(lambda m, gi, go: (go[0],))
    out = linear(torch.ones(1, 1))
    return [texts, log, raised(lambda: out.backward())]


def backward_hooks_forbid_writes(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.ReLU(inplace=True))
    model[0].register_full_backward_hook(lambda *_: None)
    x = torch.ones(1, requires_grad=True) * 2
    identity = torch.nn.Identity()
    identity.register_full_backward_hook(lambda *_: None)
    return [raised(model, x), raised(lambda: identity(x).add_(1))]


def other_outputs(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return {"out": x}

    model = Net()
    model.register_full_backward_hook(lambda *_: None)
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        quiet = warned(lambda: torch.nn.Identity()(x))
    return [quiet, warned(lambda: raised(model, x))]


def under_no_grad(torch: Any) -> Any:
    log: list[str] = []
    model = torch.nn.Tanh()
    model.register_full_backward_hook(lambda *_: log.append("backward"))
    with torch.no_grad():
        out = model(torch.ones(1, requires_grad=True))
    return [out.requires_grad, out, log]


def twice_backward(torch: Any) -> Any:
    """A hook is called in each pass over a graph that is kept."""
    log: list[Any] = []
    model = torch.nn.Tanh()
    model.register_full_backward_hook(lambda m, gi, go: log.append(gi))
    x = torch.zeros(1, requires_grad=True)
    out = model(x)
    out.backward(retain_graph=True)
    out.backward()
    (g,) = torch.autograd.grad(model(x), x, create_graph=True)
    return [told(log[:2]), numbers(log[2][0]), x.grad, numbers(g)]
