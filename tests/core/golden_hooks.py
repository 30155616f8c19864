"""Hooks of tensors, nodes and accumulators: their order, what they see, replace and refuse."""

from typing import Any

from tests.answers import Log, sessions


def _names(torch: Any) -> dict[str, Any]:
    def leaf(*values: float) -> Any:
        return torch.tensor(values, requires_grad=True)

    return {"leaf": leaf, "log": Log(), "x": leaf(1.0, 1.0), "grad": torch.autograd.grad}


session = sessions(_names)
of_tensors = session("""
leaf hooks of cat
    # Which of many leaves comes first is up to the heap of ready nodes.
    for count in range(1, 17):
        log, leaves = Log(), [torch.ones(2, requires_grad=True) for _ in range(count)]
        for k, one in enumerate(leaves):
            _ = one.register_hook(log.name(str(k)))
        _ = torch.cat(leaves).sum().backward()
        " ".join(log)
replacing
    x = leaf(1.0, 2.0)
    y = x * 3
    _ = y.register_hook(log.hook("first", lambda g: g * 2)), y.register_hook(log.hook("second"))
    _ = y.register_hook(log.hook("third", lambda g: g + 1))
    _ = x.register_hook(log.hook("leaf", lambda g: -g))
    y.sum().backward(), log, x.grad
removing
    y = leaf(1.0) * 2
    handle, _ = y.register_hook(log.hook("removed")), y.register_hook(log.hook("kept"))
    handle.remove(), handle.remove()
    with y.register_hook(log.hook("inside")):
        y.backward(retain_graph=True)
    y.backward(), log
removing while running
    def once(g):
        log.append("once")
        handle.remove()
    y = leaf(1.0) * 2
    handle, _ = y.register_hook(once), y.register_hook(log.name("always"))
    y.backward(retain_graph=True), y.backward(), log
leaf hooks outlive graphs
    (x * 2).sum().backward()
    _ = x.register_hook(log.hook("before any new graph", lambda g: g * 10))
    (x * 3).sum().backward(), (x * 4).sum().backward(), log, x.grad
leaf hook sees the total
    x = leaf(1.0)
    _ = x.register_hook(log.hook("x"))
    (x * 2 + x * 3 + x.sin() * 0).sum().backward(), log
refused results
    def hook(g):
        return result
    for result in (torch.ones(3), torch.ones(2, dtype=torch.float64), 2.0, "no"):
        y = x * 2
        _ = y.register_hook(hook)
        y.sum().backward()
refused registrations
    y, plain = x * 2, torch.ones(2)
    plain.register_hook(print), plain.register_post_accumulate_grad_hook(print)
    y.register_post_accumulate_grad_hook(print), plain.retain_grad()
order at one tensor
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    _ = y.grad_fn.register_prehook(log.name("prehook")), y.grad_fn.register_hook(log.name("hook"))
    _ = y.register_hook(log.hook("tensor", lambda g: g * 5)), x.register_hook(log.name("leaf"))
    _ = x.register_post_accumulate_grad_hook(log.name("post"))
    y.backward(), log, y.grad, x.grad
post accumulate
    def step(t):
        log.append(["step", told(t.grad)])
        with torch.no_grad():
            t.sub_(t.grad)
        t.grad = None
    handle = x.register_post_accumulate_grad_hook(step)
    _ = x.register_post_accumulate_grad_hook(lambda t: log.append(["second", told(t.grad)]))
    (x * 3).sum().backward(), handle.remove(), (x * 4).sum().backward()
    _ = grad((x * 5).sum(), x)
    log, x, x.grad
post accumulate returns
    _ = x.register_post_accumulate_grad_hook(lambda t: 1)
    (x * 2).sum().backward()
retaining
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    y.retain_grad(), y.retain_grad(), x.retain_grad()
    y.retains_grad, z.retains_grad, x.retains_grad
    z.sum().backward(retain_graph=True), y.grad, z.sum().backward(), y.grad, x.grad
retaining sees what hooks return
    x = leaf(1.0)
    y = x * 2
    _ = y.register_hook(lambda g: g * 3), y.retain_grad(), y.register_hook(lambda g: g * 5)
    y.backward(), y.grad, x.grad
retaining the root
    y = (x * x).sum()
    y.retain_grad(), y.backward(torch.tensor(3.0)), y.grad, x.grad
retaining through a write
    y = x * 2
    y.retain_grad(), y.mul_(3), y.sum().backward(), y.grad, x.grad, y.retains_grad
hooks before and after a write
    y = x * 2
    _ = y.register_hook(log.hook("before")), y.mul_(3), y.register_hook(log.hook("after"))
    y.sum().backward(), log
hooks of outputs
    x = torch.arange(6.0).requires_grad_()
    a, b, c = x.split(2)
    for name, part in (("a", a), ("b", b), ("c", c)):
        _ = part.register_hook(log.hook(name))
    (c * 3 + a * 2).sum().backward(), log, x.grad
hooks of views
    x = leaf(1.0, 1.0, 1.0)
    y = x * 1
    v = y[1:]
    _ = v.register_hook(log.hook("view")), y.register_hook(log.hook("base"))
    (v * 2).sum().backward(), log, x.grad
hooks under grad
    w = leaf(1.0, 1.0)
    y = x * w
    _ = x.register_hook(log.hook("x", lambda g: g * 2)), w.register_hook(log.hook("w"))
    _ = y.register_hook(log.hook("y", lambda g: g * 3))
    _ = x.register_post_accumulate_grad_hook(log.name("post"))
    _ = y.grad_fn.register_hook(log.name("node")), y.grad_fn.register_prehook(log.name("prehook"))
    grad(y.sum(), [x, y], retain_graph=True), grad(y.sum(), [y]), log, x.grad, w.grad
retaining under grad
    y = x * 2
    z = y * 3
    y.retain_grad(), z.retain_grad()
    _ = grad(z.sum(), y)
    y.grad, z.grad
hooks with create graph
    x = leaf(2.0)
    y = x * x
    _ = y.register_hook(lambda g: log.append(g.requires_grad) or g * x)
    (g,) = grad(y.sum(), x, create_graph=True)
    (gg,) = grad(g.sum(), x)
    log, g, gg
hooks run without grad mode
    y = leaf(1.0) * 2
    _ = y.register_hook(lambda g: log.append([torch.is_grad_enabled(), g.requires_grad]))
    y.backward(retain_graph=True), y.backward(create_graph=True), log
an error in a hook
    def hook(g):
        raise KeyError("mine")
    x = leaf(1.0)
    y = x * 2
    handle = y.register_hook(hook)
    y.backward(retain_graph=True), handle.remove(), y.backward(), x.grad, torch.is_grad_enabled()
a hook may register another
    def first(g):
        log.append("first")
        x.register_hook(log.name("late"))
    _ = x.register_hook(first)
    (x * 2).sum().backward(), log, (x * 2).sum().backward(), log
a replaced gradient reaches one branch only
    for create_graph in (False, True):
        x, w = leaf(1.0, 1.0), leaf(1.0, 1.0)
        y = x * 2
        total = y + w * 3
        _ = y.register_hook(lambda g: g * 10)
        total.sum().backward(create_graph=create_graph), x.grad, w.grad
only nodes that lead to an input run
    inner = leaf(1.0, 2.0).exp()
    y = x * 2 + inner
    _ = inner.grad_fn.register_hook(log.name("exp")), y.grad_fn.register_hook(log.name("add"))
    grad(y.sum(), x), log
keeping what a hook sees
    y, kept = x * 2, []
    _ = y.register_hook(kept.append), x.register_hook(kept.append)
    (y * 3).sum().backward(retain_graph=True), kept, (y * 5).sum().backward(), kept, x.grad
""")
of_nodes = session("""
node hooks
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    _ = y.grad_fn.register_hook(lambda gs, outs: log.append(["after", told(gs), told(outs)]))
    _ = y.grad_fn.register_prehook(lambda outs: log.append(["before", told(outs)]))
    _ = y.register_hook(log.hook("tensor", lambda g: g * 2))
    y.sum().backward(), log, x.grad, w.grad
node hooks replace
    for where in ("before", "after", "both"):
        x = leaf(1.0, 2.0)
        y = x * 3
        if where != "after":
            _ = y.grad_fn.register_prehook(lambda grads: tuple(g * 10 for g in grads))
        if where != "before":
            _ = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, *inputs[1:]))
            _ = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 2, *inputs[1:]))
        y.sum().backward(), x.grad
node hooks of constants
    y = x * torch.tensor([5.0, 6.0])
    _ = y.grad_fn.register_hook(lambda inputs, outputs: log.append(told(inputs)))
    y.sum().backward(), log
accumulator hooks
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    _ = accumulator.register_prehook(lambda gs: log.append(["prehook", told(gs), told(x.grad)]))
    _ = accumulator.register_hook(lambda *gs: log.append(["hook", told(gs), told(x.grad)]))
    _ = x.register_hook(log.hook("tensor"))
    _ = x.register_post_accumulate_grad_hook(lambda t: log.append(["post", told(t.grad)]))
    y.sum().backward(), log
replacements must fit
    # What hooks of nodes and of modules return stands where a gradient stood.
    ones, two, exp = torch.ones, torch.ones(2), lambda x: (x * 1).exp()
    double = lambda x: x * 2
    def hook(*_):
        return result
    for register, operation, results in (
        ("register_hook", exp, [(ones(3, 2),), (two.double(),), two, ("a",), (None,)]),
        ("register_hook", double, [(two, two), 3, (two, None, None), [two, None]]),
        ("register_prehook", double, [two, (ones(3),), (two.long(),), ("a",), 3, (two, None)]),
    ):
        for result in results:
            y = operation(ones(2, requires_grad=True))
            _ = getattr(y.grad_fn, register)(hook)
            raised(y.sum().backward)
    for register in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        for result in ((ones(3),), "a", ones(1, 2), (ones(1, 2).double(),)):
            layer = nn.Linear(2, 2)
            _ = getattr(layer, register)(lambda *_: result)
            raised(layer(ones(1, 2, requires_grad=True)).sum().backward)
outputs that users know
    # Hooks see a gradient for each output that PyTorch's node has, whatever else is kept.
    x = (torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4) / 10).requires_grad_()
    gru = nn.GRU(4, 2, dtype=torch.float64)
    count = lambda gs: [None if g is None else list(g.shape) for g in gs]
    def times(factor):
        def before(gs):
            log.append(["before", count(gs)])
            return tuple(None if g is None else g * factor for g in gs)
        return before
    for operation in (
        F.gelu, lambda x: gru(x)[0], lambda x: F.group_norm(x, 1), lambda x: F.layer_norm(x, (4,)),
        lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
        lambda x: x.sort(1)[0], lambda x: torch.std_mean(x)[1], lambda x: torch.linalg.svd(x)[1],
    ):
        y = operation(x * 1)
        _ = y.grad_fn.register_prehook(times(1)), y.grad_fn.register_prehook(times(2))
        _ = y.grad_fn.register_hook(lambda _, gs: log.append(["after", count(gs)]))
        raised(y.grad_fn, *[None] * 5)
        (slope,) = grad((y**3).sum(), x)
        if y.grad_fn.name() != "StackBackward0":  # of weights that are drawn
            slope
    log
""")
