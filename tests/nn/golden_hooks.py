"""Hooks of modules: when they are called, with what, and what becomes of their results."""

from tests.answers import sessions

session = sessions(lambda torch: {})
hooks = session("""
order
    log = []
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    def note(name):
        return lambda *_: log.append(name)
    for name, module in (("root", model), ("linear", model[0]), ("tanh", model[1])):
        _ = module.register_forward_pre_hook(note(f"{name} pre"))
        _ = module.register_forward_hook(note(f"{name} after"))
        _ = module.register_forward_hook(note(f"{name} after, first"), prepend=True)
        _ = module.register_forward_pre_hook(note(f"{name} pre, first"), prepend=True)
        _ = module.register_full_backward_pre_hook(note(f"{name} backward pre"))
        _ = module.register_full_backward_hook(note(f"{name} backward"))
        _ = module.register_full_backward_hook(note(f"{name} backward, first"), prepend=True)
    _ = model[0].weight.register_hook(note("weight"))
    x = torch.ones(1, 2, requires_grad=True)
    _ = x.register_hook(note("input"))
    _ = model(x).sum().backward()
    log
forward arguments
    log = []
    class Net(nn.Module):
        def forward(self, x, *, scale=1.0):
            return x * scale
    model = Net()
    _ = model.register_forward_pre_hook(lambda m, a: log.append(["pre", a]))
    _ = model.register_forward_pre_hook(lambda m, a, k: log.append(["pre", a, k]), with_kwargs=True)
    _ = model.register_forward_hook(lambda m, a, out: log.append(["after", a, out]))
    _ = model.register_forward_hook(
        lambda m, a, k, out: log.append(["after", a, k, out]), with_kwargs=True
    )
    _ = model(torch.ones(1), scale=2.0)
    told(log)
replaced arguments
    class Net(nn.Module):
        def forward(self, x, y=None, *, scale=1.0):
            return x * scale if y is None else (x + y) * scale
    def result(**hooks):
        model = Net()
        if "pre" in hooks:
            model.register_forward_pre_hook(hooks["pre"])
        if "kwargs" in hooks:
            model.register_forward_pre_hook(hooks["kwargs"], with_kwargs=True)
        if "after" in hooks:
            model.register_forward_hook(hooks["after"])
        return model(torch.ones(1), scale=2.0)
    result(pre=lambda m, a: a[0] + 1), result(pre=lambda m, a: (a[0], a[0]))
    result(kwargs=lambda m, a, k: (a, {"scale": 5.0})), result(after=lambda m, a, out: out + 1)
    result(kwargs=lambda m, a, k: a), result(kwargs=lambda m, a, k: (a, k, 1))
    result(after=lambda m, a, out: None)
always called
    log = []
    class Failing(nn.Module):
        def forward(self, x):
            raise ValueError("no")
    def fail(*_):
        raise KeyError("hook")
    model = Failing()
    _ = model.register_forward_hook(lambda *_: log.append("plain"))
    _ = model.register_forward_hook(lambda m, a, out: log.append(f"always {out}"), always_call=True)
    _ = model.register_forward_hook(
        lambda m, a, k, out: log.append("kwargs"), always_call=True, with_kwargs=True
    )
    first = raised(model, torch.ones(1))
    _ = model.register_forward_hook(fail, always_call=True)
    texts = warned(lambda: log.append(raised(model, torch.ones(1))))
    working = nn.ReLU()
    _ = working.register_forward_hook(fail)
    _ = working.register_forward_hook(lambda *_: log.append("behind"), always_call=True)
    first, texts, working(torch.ones(1)), log
handles
    log = []
    model = nn.ReLU()
    first = model.register_forward_hook(lambda *_: log.append(1))
    with model.register_forward_pre_hook(lambda *_: log.append(2)):
        _ = model(torch.ones(1))
    _ = model(torch.ones(1))
    _ = first.remove()
    _ = first.remove()
    _ = model(torch.ones(1))
    log
backward values
    log = []
    linear = nn.Linear(2, 1)
    with torch.no_grad():
        _ = linear.weight.copy_(torch.tensor([[2.0, 3.0]]))
    _ = linear.register_full_backward_pre_hook(lambda m, g: log.append(["pre", told(g)]))
    _ = linear.register_full_backward_hook(lambda m, gi, go: log.append([told(gi), told(go)]))
    x = torch.ones(2, 2, requires_grad=True)
    out = linear(x)
    name = name_of(out.grad_fn)
    _ = out.sum().backward()
    log, name, out, x.grad, linear.weight.grad
backward replacements
    def gradients(hook=None, pre=None):
        module = nn.Tanh()
        if hook is not None:
            module.register_full_backward_hook(hook)
        if pre is not None:
            module.register_full_backward_pre_hook(pre)
        x = torch.zeros(2, requires_grad=True)
        module(x).sum().backward()
        return x.grad
    gradients(lambda m, gi, go: (gi[0] * 10,)), gradients(pre=lambda m, go: (go[0] * 3,))
    gradients(lambda m, gi, go: (gi[0] + 1,), lambda m, go: (go[0] * 3,))
    gradients(lambda m, gi, go: (gi[0], gi[0])), gradients(None, lambda m, go: (go[0], go[0]))
    gradients(lambda m, gi, go: None)
several inputs and outputs
    log = []
    class Net(nn.Module):
        def forward(self, x, number, y, z):
            return x * number, "text", y * z
    model = Net()
    _ = model.register_full_backward_pre_hook(lambda m, go: log.append(told(go)))
    _ = model.register_full_backward_hook(lambda m, gi, go: log.append([told(gi), told(go)]))
    x, y = (torch.ones(1, requires_grad=True) for _ in range(2))
    first, text, second = model(x, 3, y, torch.full((1,), 5.0))
    _ = (first + second).sum().backward()
    told(log), text, x.grad, y.grad
    _ = log.clear()
    first, _, second = model(x, 3, y, torch.full((1,), 5.0))
    _ = first.sum().backward()
    told(log), second.requires_grad
without input gradients
    log = []
    linear = nn.Linear(1, 1)
    _ = linear.register_full_backward_pre_hook(lambda m, go: log.append(told(go)))
    out = linear(torch.ones(1, 1))
    texts = warned(lambda: out.backward())
    _ = linear.register_full_backward_hook(lambda m, gi, go: log.append([told(gi), told(go)]))
    out = linear(torch.ones(1, 1))
    texts += warned(lambda: out.backward())
    _ = linear.register_full_backward_hook(lambda m, gi, go: (go[0],))
    out = linear(torch.ones(1, 1))
    texts, out.backward(), log
backward hooks forbid writes
    model = nn.Sequential(nn.ReLU(inplace=True))
    _ = model[0].register_full_backward_hook(lambda *_: None)
    x = torch.ones(1, requires_grad=True) * 2
    identity = nn.Identity()
    _ = identity.register_full_backward_hook(lambda *_: None)
    model(x), identity(x).add_(1)
other outputs
    class Net(nn.Module):
        def forward(self, x):
            return {"out": x}
    model = Net()
    _ = model.register_full_backward_hook(lambda *_: None)
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        quiet = warned(lambda: nn.Identity()(x))
    quiet, warned(lambda: raised(model, x))
under no grad
    log = []
    model = nn.Tanh()
    _ = model.register_full_backward_hook(lambda *_: log.append("backward"))
    with torch.no_grad():
        out = model(torch.ones(1, requires_grad=True))
    out.requires_grad, out, log
twice backward
    # A hook is called in each pass over a graph that is kept.
    log = []
    model = nn.Tanh()
    _ = model.register_full_backward_hook(lambda m, gi, go: log.append(gi))
    x = torch.zeros(1, requires_grad=True)
    out = model(x)
    _ = out.backward(retain_graph=True)
    _ = out.backward()
    (g,) = torch.autograd.grad(model(x), x, create_graph=True)
    told(log[:2]), numbers(log[2][0]), x.grad, numbers(g)
""")
