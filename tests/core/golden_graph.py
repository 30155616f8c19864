"""The graph: what nodes save and free; backward passes, views, writes in place, grad mode."""

from typing import Any

from tests.answers import raised, sessions, told


def _names(torch: Any) -> dict[str, Any]:
    def leaf(*values: float) -> Any:
        return torch.tensor(values, requires_grad=True)

    def second(loss: Any) -> str:
        """The refusal of a further pass, but for its advice."""
        return raised(loss.backward).split(" (or directly")[0]

    names = {"leaf": leaf, "second": second, "grad": torch.autograd.grad}
    return names | {"x": leaf(1.0, 1.0), "v": leaf(1.0, 2.0), "w": leaf(3.0, 4.0)}


session = sessions(_names)
graph = session("""
trees
    m, c = torch.ones(2, 2, requires_grad=True), torch.tensor([5.0, 6.0])
    results = [
        v * w, v * c, c * v, 2 * v, v * 2, v + 1, 1 + v, v - w, 1 - v, v / w, 1 / v, -v, v**2, 2**v,
        v**w, v @ w, m @ v, m @ m, v @ m,
        (v * w).sum(), v.mean(), m.sum(0), m.t(), m[0], m[0, 1], m[:, 1], m[None], m.reshape(4),
        m.view(-1), m.transpose(0, 1), m.permute(1, 0), torch.cat([v, w]), torch.cat([v, c]),
        torch.stack([v, w]), v.exp().log(), torch.sigmoid(v), v.tanh(), torch.relu(v), v.clone(),
        v.abs(), v.max(), v.unbind()[1], m.split(1)[1], torch.where(v > 1, v, w), v.expand(2, 2),
        v.unsqueeze(0).squeeze(0), m.softmax(1), m.log_softmax(0), v.double().float(), abs(v),
        v % 2, v.masked_fill(v > 1, 0.0), v.detach() * w, v.sqrt() * v.sqrt(),
    ]
    [tree(result.grad_fn) for result in results]
nodes are shared
    y = x * x
    z = y + x
    ((accumulator, _), (again, _)), ((node, _), (third, _)) = [
        r.grad_fn.next_functions for r in (y, z)
    ]
    name_of(accumulator), accumulator is again, accumulator is third, node is y.grad_fn
    accumulator.variable is x, accumulator.next_functions, y.grad_fn is y.grad_fn
    (x + 1).grad_fn.next_functions[0][0] is accumulator
node names
    node = (x * 2).sum().grad_fn
    accumulator = node.next_functions[0][0].next_functions[0][0]
    node.name(), name_of(node), accumulator.name(), name_of(accumulator)
    str(node).split(" at ")[0], x.grad_fn, node.metadata, torch.ones(2).grad_fn
output numbers
    x = torch.arange(6.0).requires_grad_()
    parts = x.split(2)
    [p.output_nr for p in parts], [k for _, k in (parts[2] * parts[1]).grad_fn.next_functions]
    parts[0].grad_fn is parts[2].grad_fn, x.output_nr
saved values
    y, z = v.exp(), v * torch.tensor([3.0, 4.0])
    z.grad_fn._saved_other, z.grad_fn._saved_self, y.grad_fn._saved_result
    (v * v).grad_fn._saved_self is v, (v**3).grad_fn._saved_exponent
    y.sum().backward()
    y.grad_fn._saved_result
freed only where saved
    results = [
        (x + x).sum(), (x + 1).sum(), (x * 2).sum(), (x * x).sum(), x.exp().sum(),
        x.reshape(1, 2).t().sum(), -x.sum(), x.sum().clone(), torch.cat([x, x]).sum(), x.sum() / 2,
        x.max(), x[0], x.expand(3, 2).sum(), x.mean(), x.relu().sum(),
    ]
    for y in results:
        _ = y.backward()
        second(y)
    x.grad
freed in part
    shared, own = x * x, x.sin()
    a, b, c = shared.exp().sum(), shared.sin().sum(), (own * own).sum()
    a.backward()
    second(b), c.backward(), x.grad
calling nodes
    node = (v * w).grad_fn
    node(torch.tensor([1.0, 10.0])), (v * 5).grad_fn(torch.ones(2)), v.exp().grad_fn(torch.ones(2))
    node(None), node(), node(torch.ones(2), torch.ones(2))
calling the accumulator
    accumulator = (x * 2).grad_fn.next_functions[0][0]
    accumulator(torch.tensor([1.0, 2.0])), accumulator(torch.tensor([10.0, 20.0])), x.grad
sequence numbers rise
    y = x * 2
    numbers = [n.grad_fn._sequence_nr() for n in (y, y.exp(), x + 1)]
    numbers == sorted(numbers), len(set(numbers))
constants have no nodes
    a = torch.ones(2)
    with torch.no_grad():
        c = a * x
    [t.requires_grad for t in (a, c, a * x.detach(), a + a)], (x > 0).requires_grad
    x.argmax().requires_grad, x.long().requires_grad, (x == x).grad_fn
    x.max(0).indices.requires_grad, x.round().requires_grad
nodes of composed
    w1, b1 = torch.ones(3, 5, requires_grad=True), torch.zeros(5, requires_grad=True)
    w2 = torch.ones(5, 1, requires_grad=True)
    tree(((torch.tanh(torch.ones(4, 3) @ w1 + b1) @ w2) ** 2).mean().grad_fn)
names that a node shows
    x = torch.ones(2, 3, requires_grad=True)
    nodes = [y.grad_fn for y in (x * x, x.sum(1), x.softmax(1), x.max(1)[0], x.exp())]
    theirs = ("_raw_saved", "_input_metadata", "_register_hook_dict", "_set_sequence_nr", "__")
    [sorted(n for n in dir(node) if n[0] == "_" and not n.startswith(theirs)) for node in nodes]
    nodes[1]._saved_self_sym_sizes
a second pass where no edge leads anywhere
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        view = y[:2]
    results = [view * view, view @ view, torch.addcmul(view, view, view), view.exp(), view / view]
    for y in results:
        y.requires_grad, y.sum().backward()
    x.grad, [raised(y.sum().backward) for y in results]
names that no node has
    raised(getattr, x.exp().grad_fn, "_saved_nothing"), raised(getattr, x.exp().grad_fn, "no_such")
names of what is saved
    x = leaf(0.5, 2.0)
    results = [x.exp(), x * x, x.sin(), x.abs(), x.softmax(0), x.atan2(x), x.tanh(), x + 1]
    listed = [[n for n in dir(r.grad_fn) if n.startswith("_saved_")] for r in results]
    [sorted(set(names) & {"_saved_self", "_saved_other", "_saved_result"}) for names in listed]
    [getattr(results[0].grad_fn, name) for name in listed[0]]
""")
passes = session("""
gradient shares nothing
    y, weight = leaf(1.0, 1.0), torch.tensor([1.0, 2.0])
    (x + y).backward(weight)
    x.grad.zero_()
    (x.reshape(2) + y.clone()).backward(weight, retain_graph=True)
    x.grad.mul_(100)
    x.grad, y.grad, weight
non scalar roots
    y = x * 2
    y.backward(), y.backward(torch.ones(3)), y.backward(torch.ones(())), y.backward(2.0)
    grad(y, x), grad(y, x, torch.ones(1)), (x * 2)[:1].backward(), x.grad
weights are cast
    (x * 2).backward(torch.tensor([1.0, 2.0], dtype=torch.float64))
    (x * 2).backward(torch.tensor([1, 2])), x.grad
many roots
    roots = [v * 2, (v * v).sum()]
    torch.autograd.backward(roots, [torch.tensor([1.0, 10.0]), None], retain_graph=True)
    v.grad, grad(roots, v, [torch.ones(2), torch.tensor(3.0)])
    y = v * 3
    torch.autograd.backward([y, y], [torch.ones(2), torch.ones(2)])
    v.grad, torch.autograd.backward([y, y], [torch.ones(2)]), torch.autograd.backward([])
roots that depend on each other
    x = leaf(2.0)
    y = x * x
    torch.autograd.backward([y * x, y])
    a = x.exp()
    x.grad, grad([(a * a).sum(), a.sum()], [a])
grad of unused
    u, n, y = torch.ones(3, requires_grad=True), torch.ones(2), lambda: (x * 2).sum()
    grad(y(), [x, u]), grad(y(), [u]), grad(y(), [x, u], allow_unused=True), grad(y(), [])
    grad(y(), [u, x], materialize_grads=True), grad(y(), [x, n])
    grad(y(), [u], allow_unused=False, materialize_grads=True), grad(y(), [x, n], allow_unused=True)
grad batched
    y = leaf(1.0, 2.0, 3.0)
    grad(y * y, y, torch.eye(3), is_grads_batched=True)
    grad(x.sum() * y, [y, x], torch.eye(3), is_grads_batched=True)
backward inputs
    y = v * w
    z = (y * y).sum()
    z.backward(inputs=[v], retain_graph=True), v.grad, w.grad
    z.backward(inputs=w, retain_graph=True), v.grad, w.grad, z.backward(inputs=[])
    z.backward(inputs=[torch.ones(2)], retain_graph=True)
higher orders
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    for y in (x**5, x * x * x * x * x, torch.sin(x), torch.exp(x)):
        for _ in range(5):
            (y,) = grad(y, x, create_graph=True)
            f"{y.item():.10g}"
views of grads
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    x.sum().backward()
    x.grad.is_contiguous(), x.grad._is_view()
    x.grad += 1
    y.t().backward(torch.arange(6.0).reshape(3, 2))
    x.grad, y.grad
a failed pass leaves the mode as it was
    y = (x * x).sum()
    y.backward()
    with torch.no_grad():
        second(y), torch.is_grad_enabled()
    torch.is_grad_enabled()
the first gradient of a scalar may be written to
    # What a hook or a user's function does to it stays with this pass.
    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2
        @staticmethod
        def backward(ctx, g):
            return g.mul_(3)
    scalar = lambda: torch.tensor(1.0, requires_grad=True)
    Tripled.apply(scalar()).backward()
    for root in (scalar(), scalar() * 1):
        _ = root.register_hook(lambda g: g.mul_(5) and None)
        root.backward()
    x = scalar()
    (x * 1).backward(), x.grad
gradients of half precision add up
    b = torch.zeros(2).half().requires_grad_()
    (torch.ones(3000, 2).half() + b).sum().backward(), b.grad, torch.ones(3000, 2).half().mean(0)
a gradient whose elements share memory
    x.grad = torch.ones(1).expand(2)
    (x * v).sum().backward(), x.grad
integer and bool leaves
    torch.ones(2, dtype=torch.int64).requires_grad_(), torch.tensor([1, 2], requires_grad=True)
    torch.tensor([True]).requires_grad_(True), setattr(torch.tensor([1]), "requires_grad", True)
    torch.tensor([1]).requires_grad_(False).requires_grad
operations without derivative
    x = leaf(1.5, -2.5)
    in_place = [getattr(x * 0.1 + 1.5, name)() for name in ("asinh_", "acosh_")]
    for y in (x // 2, 2 // x, 2 % x, *in_place, (x * 0.1).atanh_()):
        y, name_of(y.grad_fn), y.sum().backward(), x.grad
""")
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
y[::2, 1::2].mul_(w[:1])
y.view(-1)[1:3].mul_(w)
y.diagonal().mul_(w)
y.unsqueeze(0)[0][1:].t()[1].mul_(w[:1])
"""


def writing_to_views(torch: Any) -> Any:
    for write in WRITES.strip().splitlines():
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        w = torch.tensor([5.0, 6.0], requires_grad=True)
        y = x * 1
        exec(write, {"torch": torch, "y": y, "w": w})
        (y * torch.tensor([[1.0, 10.0], [100.0, 1000.0]])).sum().backward()
        yield [told(y.detach()), told(x.grad), told(w.grad)]


views = session("""
views of a base
    x, r = torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)
    views = [
        x[0], x[:, 1:], x.t(), x.view(6), x.reshape(3, 2), x.unsqueeze(0), x.expand(2, 2, 3),
        x.unbind()[1], x.split(1)[0], x[0][1], x.t()[1], x.detach(), r.detach(),
        x[torch.tensor([0])], x.clone(), x.t().reshape(6), r[0], x.narrow(0, 0, 1), x.diagonal(),
        x.squeeze(), x.permute(1, 0), x.transpose(0, 1),
    ]
    [[v._is_view(), v._base is x, v._base is r, v._base is None] for v in views]
reading views after writes
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    first, rest = y[0], y[1:]
    y.mul_(2)
    rest.mul_(5)
    total = first * 10 + rest.sum()
    total.backward(), first, rest, total, x.grad
views of constants
    y = torch.zeros(2, 2)
    v = y[0]
    y.requires_grad, v.requires_grad
    v.mul_(x)
    u = y[1]
    y.requires_grad, v.requires_grad, u.requires_grad
    name_of(y.grad_fn), name_of(v.grad_fn), name_of(u.grad_fn)
views of views
    x = torch.zeros(4, 5, 6)
    view = x[1:].transpose(0, 2)[2][:, 0]
    view._base is x, view.fill_(1.0), x.sum(), x._version, view._version
many writes to one base
    w, y = torch.arange(1.0, 21.0).requires_grad_(), torch.zeros(20)
    for k in range(20):
        y[k] = w[k] * w[k]
    y.sum().backward(), w.grad
second order through writes
    y = v * v
    y[0] = w[1] * w[1]
    y[1:].mul_(w[:1])
    _ = y.exp_()
    gv, gw = grad((y.log() ** 2).sum(), [v, w], create_graph=True)
    second = grad((gv * gv).sum() + gw.prod(), [v, w])
    [[f"{n:.4g}" for n in t.tolist()] for t in (gv, gw, *second)]
views under no grad
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    with torch.no_grad():
        view, leaf_view = y[1:], x[1:]
    view.mul_(2), leaf_view.mul_(2), view.requires_grad, view.grad_fn, view._is_view()
outputs of many views
    y = torch.ones(2, 2, requires_grad=True) * 1
    y.split(1)[1].mul_(2), y.unbind()[0].mul_(2), y.chunk(2)[1].mul_(2), y.unbind()[0][:1].mul_(2)
    constant = torch.ones(2, 2)
    constant.unbind()[0].mul_(2)
    constant
""")
writes = session("""
modified inputs
    # The whole text of the error, for different saved values and origins: a value, what is computed
    # of it, and what is written to.
    c, w = torch.ones(2, 3), torch.ones(3, 2, requires_grad=True)
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
        (lambda x: x.double() * 2, lambda y: y * y, lambda y: y),
    ]
    for value, result, written in made:
        y = value(torch.ones(2, 3, requires_grad=True))
        loss = result(y).sum()
        _ = written(y).add_(1)
        loss.backward()
versions
    x = torch.ones(4)
    view, detached, data, copy = x[1:], x.detach(), x.data, x.clone()
    steps = [
        lambda: x.add_(1), lambda: view.mul_(2), lambda: detached.zero_(), lambda: data.fill_(3),
        lambda: copy.fill_(4), lambda: x.__setitem__(0, 5.0),
        lambda: view.__setitem__(slice(None), torch.zeros(3)), lambda: x.copy_(torch.ones(4)),
        lambda: x.view(2, 2).t().add_(1), lambda: x.__iadd__(1),
    ]
    for step in steps:
        _ = step()
        [t._version for t in (x, view, detached, data, copy)]
    x, view
modified data goes unseen
    x = leaf(1.0, 1.0, 1.0)
    loss = (x * x).sum()
    x.data.fill_(5.0)
    loss.backward(), x.grad, x._version
shapes and types that do not fit
    x, n, b = torch.ones(3), torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.bool)
    x.add_(torch.ones(2, 3)), x.add_(torch.ones(4)), n.add_(1.5), n.mul_(x), b.add_(1), n.div_(2)
    x.copy_(torch.ones(4)), x.expand(2, 3).add_(1), x.add_(n), n.add_(b)
    x.mul_(torch.tensor(2.0, dtype=torch.float64))
chains
    x = torch.tensor(1.0, requires_grad=True)
    y = 2 * x
    name_of(y.grad_fn)
    y += 2
    name_of(y.grad_fn), y.log_(), name_of(y.grad_fn), y.backward(), y, x.grad
trees
    fresh = lambda: torch.ones(2, 2, requires_grad=True) * 1
    steps = [
        (fresh(), lambda y: y.mul_(2)), (fresh(), lambda y: y.zero_()),
        (fresh(), lambda y: y.__setitem__(0, x)), (fresh(), lambda y: y.__setitem__((0, 0), 3.0)),
        (torch.zeros(2, 2), lambda y: y.__setitem__(1, x)),
        (torch.zeros(2), lambda y: y.copy_(x)), (torch.zeros(2), lambda y: y.__iadd__(x)),
    ]
    for y, write in steps:
        _ = write(y)
        tree(y.grad_fn)
    y = fresh()
    v = y[0]
    v.mul_(3), tree(y.grad_fn), tree(v.grad_fn)
    y = fresh()
    v = y.t()
    y.add_(1), tree(y.grad_fn), tree(v.grad_fn)
    y = torch.zeros(2, 2)
    v = y[1]
    y.mul_(torch.ones(2, 2, requires_grad=True)), tree(y.grad_fn), tree(v.grad_fn), v.requires_grad
self writes
    steps = [
        lambda y: y.add_(y), lambda y: y.mul_(y), lambda y: y.sub_(y * 2),
        lambda y: y.copy_(y.flip(0)),
    ]
    for step in steps:
        x = leaf(1.0, 2.0)
        y = x * 1
        _ = step(y)
        y, y.sum().backward(), x.grad
detaching in place
    y = x * 2
    z = y + 1
    y.detach_()
    z.sum().backward()
    y.requires_grad, y.is_leaf, x.grad, (x * 2)[0].detach_()
requires grad in place
    x, base = torch.zeros(2), torch.zeros(2, 2)
    x.mul_(2)
    x.requires_grad_()
    y, view = x * 2, base[0]
    x.requires_grad, y.requires_grad_(False), y.requires_grad_().requires_grad
    view.requires_grad_(), view.is_leaf, base.requires_grad
swapped data
    x.data = torch.tensor([5.0, 6.0])
    (x * x).sum().backward()
    x, x.grad, setattr(x, "data", [1.0]), setattr(x, "data", torch.ones(2, dtype=torch.int64))
""")
modes = session("""
exceptions
    for manager in (torch.no_grad(), torch.enable_grad(), torch.set_grad_enabled(True)):
        try:
            with manager:
                raise ValueError("inside")
        except ValueError:
            torch.is_grad_enabled()
reused objects
    guard = torch.no_grad()
    for _ in range(2):
        with guard:
            torch.is_grad_enabled()
        torch.is_grad_enabled()
objects inside themselves
    for guard in (torch.no_grad(), torch.enable_grad(), torch.set_grad_enabled(False)):
        with guard:
            with guard:
                torch.is_grad_enabled()
            torch.is_grad_enabled()
        torch.is_grad_enabled()
        _ = torch.set_grad_enabled(True)
refused modes
    torch.set_grad_enabled("yes"), torch.set_grad_enabled(), torch.is_grad_enabled()
decorators
    def work(a, b=1):
        "Its documentation."
        return (a * b).requires_grad
    off, bare = torch.no_grad()(work), torch.no_grad(work)
    on, switched = torch.enable_grad()(work), torch.set_grad_enabled(False)(work)
    off(x), bare(x), on(x), switched(x), torch.is_grad_enabled()
    with torch.no_grad():
        off(x, b=3), on(x), torch.is_grad_enabled()
    off.__name__, off.__doc__
decorated recursion
    seen = []
    @torch.no_grad()
    def count(n):
        seen.append(torch.is_grad_enabled())
        if n:
            count(n - 1)
        seen.append(torch.is_grad_enabled())
    count(3), seen, torch.is_grad_enabled()
generators that talk
    # `send`, `throw`, `close` and the returned value pass through the decorator.
    log = []
    @torch.no_grad()
    def steps():
        try:
            got = yield "first"
            log.append([got, torch.is_grad_enabled()])
            try:
                yield "second"
            except KeyError as error:
                log.append([str(error), torch.is_grad_enabled()])
                yield "third"
            return "result"
        finally:
            log.append(["closed", torch.is_grad_enabled()])
    talk, left = steps(), steps()
    next(talk), talk.send("hello"), talk.throw(KeyError("thrown")), next(talk), next(left)
    left.close(), log, torch.is_grad_enabled()
generator errors
    @torch.no_grad()
    def steps():
        yield 1
        raise ValueError("inside")
    list(steps()), torch.is_grad_enabled()
""")
