"""Functions of the user's own: calls, gradients, `ctx`, what they return, and what is refused."""

import functools
from collections.abc import Callable
from typing import Any

from tests.answers import name_of, sessions


def make(torch: Any, forward: Callable[..., Any], backward: Any = None, **more: Any) -> Any:
    """A function made of these parts, called `Mine`."""
    members = {"forward": staticmethod(forward)}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    members |= {name: staticmethod(part) for name, part in more.items()}
    return type("Mine", (torch.autograd.Function,), members)


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def gradients(function: Any, *args: Any) -> list[Any]:
    """The gradients of the tensors among the arguments, after a call and a backward pass."""
    out = function.apply(*args)
    several = out if isinstance(out, tuple) else (out,)
    sum(t.sum() for t in several if hasattr(t, "grad_fn") and t.requires_grad).backward()
    return [a.grad for a in args if hasattr(a, "grad_fn")]


def _names(torch: Any) -> dict[str, Any]:
    def double(ctx: Any, x: Any, *rest: Any) -> Any:
        return x * 2

    def attempt(given: Any, *args: Any) -> Any:
        return gradients(make(torch, double, lambda ctx, g: given(g)), *args)

    def passing(ctx: Any, g: Any) -> Any:
        return g

    def writing(ctx: Any, x: Any, *rest: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def keep(what: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(what(x))
            return x * 2

        return make(torch, forward)

    def marking(value: Any, out: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            result = out(x)
            ctx.mark_non_differentiable(value(x, result))
            return result

        return make(torch, forward)

    def seen_of(ctx: Any) -> list[Any]:
        return [ctx.needs_input_grad, ctx.saved_tensors, name_of(ctx.saved_tensors[1].grad_fn)]

    names: dict[str, Any] = {
        "double": double, "attempt": attempt, "passing": passing, "writing": writing, "keep": keep,
        "marking": marking, "gradients": gradients, "seen": [], "grad": torch.autograd.grad,
        "seen_of": seen_of, "make": functools.partial(make, torch),
        "leaf": functools.partial(leaf, torch),
    }  # fmt: skip
    return names


session = sessions(_names)

calls = session("""
a rectifier
    class MyReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            return input.clamp(min=0)
        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors
            grad_input = grad_output.clone()
            grad_input[input < 0] = 0
            return grad_input
    w = torch.tensor([[3.0, 1.0]], requires_grad=True)
    b = torch.tensor([[3.0]], requires_grad=True)
    x, y = torch.tensor([[-1.0, -1.0], [1.0, 1.0]]), torch.tensor([[2.0, 3.0]])
    out = MyReLU.apply(x @ w.t() + b)
    torch.mean(torch.pow(out - y, 2)).backward()
    out, repr(out.grad_fn).split(" at 0x")[0], out.grad_fn.name(), name_of(out.grad_fn)
    w.grad, b.grad
missing parts
    type("Mine", (torch.autograd.Function,), {}).apply(leaf(1.0))
    gradients(make(double), leaf(1.0))
instances
    function = make(double)
    [text.replace(repr(function), "Mine") for text in warned(function)]
    len(warned(lambda: raised(function())))
keywords: gradients are returned for the arguments that were passed, in the signature's order
    def forward(ctx, x, a=2.0, b=3.0):
        seen.append(ctx.needs_input_grad)
        return x * a * b
    apply = make(forward, lambda ctx, g: (g, None, None)[: len(ctx.needs_input_grad)]).apply
    x = leaf(1.0)
    outs = [apply(x), apply(x, a=1.0), apply(x, b=5.0, a=1.0), apply(a=4.0, x=x)]
    for out in outs:
        _ = out.backward()
    outs, seen, x.grad, apply(x, d=1.0)
    make(lambda ctx, x, *, k: x * k, lambda ctx, g: (g, None)).apply(x, k=1.0)
a separate context: defaults count as arguments
    def setup(ctx, inputs, output):
        seen.append([inputs, output, output.grad_fn, torch.is_grad_enabled()])
        ctx.factor = inputs[1]
        ctx.save_for_backward(inputs[0], output)
    def backward(ctx, g):
        seen.append(seen_of(ctx))
        return g * ctx.factor, None
    apply = make(lambda x, k=2.0: x * k, backward, setup_context=setup).apply
    for options in ({}, {"k": 4.0}):
        x = leaf(1.0)
        _ = apply(x, **options).backward()
        x.grad
    x, y = leaf(1.0), leaf(1.0)
    _ = apply(x, 3.0).backward(), apply(k=5.0, x=y).backward()
    x.grad, y.grad, seen, apply()
    make(lambda ctx, x: x, passing, setup_context=setup).apply(leaf(1.0))
    make(lambda x, *, k=1: x, passing, setup_context=setup).apply(leaf(1.0), k=1)
""")

of_gradients = session("""
how many
    x, y, k = leaf(1.0, 2.0), leaf(1.0, 2.0), torch.ones(2)
    attempt(lambda g: (g, g), x), attempt(lambda g: (g, None), x), attempt(lambda g: g, x, y)
    attempt(lambda g: g, x, 3), attempt(lambda g: (g, g), x, 3), attempt(lambda g: (g, g), x, k)
    attempt(lambda g: (g, None), x, 3), attempt(lambda g: (None, g), x, y)
    attempt(lambda g: None, x), attempt(lambda g: (), x)
kinds
    values = [3.0, (3.0,), torch.ones(3), torch.ones(3, 2), torch.ones(1), torch.ones(())]
    values += [torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.int64)]
    for value in values:
        attempt(lambda g: value, leaf(1.0, 2.0))
    attempt(lambda g: [g], leaf(1.0, 2.0)), attempt(lambda g: g.sum(), leaf(1.0, 2.0))
a recorded backward pass runs the user's backward with recording on
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x
    def backward(ctx, g):
        seen.append([torch.is_grad_enabled(), g.requires_grad])
        (x,) = ctx.saved_tensors
        return 3 * x * x * g
    x = leaf(2.0)
    (g,) = grad(make(forward, backward).apply(x), x, create_graph=True)
    (h,) = grad(g, x, create_graph=True)
    g, h, grad(h, x)[0], seen
once differentiable
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        seen.append([torch.is_grad_enabled(), g.requires_grad])
        return g * 2 * ctx.saved_tensors[0]
    once = make(forward, backward)
    x, w = leaf(2.0), leaf(3.0)
    grad(once.apply(x), x), grad(once.apply(x), x, create_graph=True)[0]
    (b,) = grad(once.apply(x), x, w * 1, create_graph=True)
    b, tree(b.grad_fn), b.grad_fn.name(), b.backward(), seen
""")

contexts = session("""
saved values: inputs come back as they are, outputs as other tensors with the same history
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x, y, None)
        seen.append(ctx.saved_tensors)
        return y
    def backward(ctx, g):
        first, second, third = ctx.saved_tensors
        seen.append([first is x, first, second, name_of(second.grad_fn), third])
        return g
    function, x = make(forward, backward), leaf(1.0)
    _ = function.apply(x).backward()
    x = leaf(1.0) * 3
    _ = function.apply(x).backward()
    seen
saving what is no tensor
    for what in (lambda x: 3, lambda x: [x], lambda x: None):
        keep(what).apply(leaf(1.0))
writes to saved tensors are found, whatever they are to the function
    def forward(ctx, x):
        kept.update(input=x, between=x * 5, output=x * 2)
        ctx.save_for_backward(kept[which])
        return kept["output"]
    kept, function = {}, make(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    for which in ("input", "output", "between"):
        y = function.apply(leaf(1.0) * 1)
        _ = {**kept, "output": y}[which].add_(1)
        y.backward()
the context is the node
    def forward(ctx, x, y):
        seen.append(ctx)
        ctx.save_for_backward(x)
        ctx.note = "here"
        return x * y
    z, log = make(forward, lambda ctx, g: (g, g)).apply(leaf(1.0), leaf(2.0)), []
    node = z.grad_fn
    _ = node.register_hook(lambda inputs, outputs: log.append(["after", inputs, outputs]))
    _ = node.register_prehook(lambda outputs: log.append(["before", outputs]))
    node.metadata["mine"] = 1
    _ = z.backward()
    node is seen[0], node.note, node.name(), node.metadata, node.requires_grad
    node.needs_input_grad, tree(node), log
needs_input_grad
    def forward(ctx, *args):
        seen.append(ctx.needs_input_grad)
        return args[0] * 2
    apply, x = make(forward).apply, leaf(1.0)
    _ = apply(x, 3, torch.ones(2), None, x * 2), apply(torch.ones(1), x), torch.no_grad()(apply)(x)
    seen
gradients that do not arrive
    def forward(ctx, x):
        if value is not None:
            ctx.set_materialize_grads(value)
        return x * 2, x * 3, torch.tensor([1, 2]), 4.0
    def backward(ctx, *grads):
        seen.extend(grads)
        return grads[0]
    for value in (True, False, None, 3):
        seen, x = [], leaf(1.0, 2.0)
        make(forward, backward).apply(x)[0].sum().backward()
        seen, x.grad
""")

outputs = session("""
constants of all kinds
    x = leaf(1.0) * 2
    same = marking(lambda x, out: out, lambda x: x).apply(x)
    marking(lambda x, out: out, lambda x: x * 2).apply(x), same, same is x, same._is_view(), x
    marking(lambda x, out: x * 5, lambda x: x * 2).apply(x)
    marking(lambda x, out: 3, lambda x: x * 2).apply(x)
an input that was written to and marked is returned itself, with the node as its history
    function, x, constant = make(writing, lambda ctx, g: g * 2), leaf(1.0), torch.ones(1)
    inner = x * 2
    before = inner * inner
    y = function.apply(inner)
    _ = y.sum().backward()
    y is inner, y, y._is_view(), y._base is inner, y.is_leaf, y.output_nr, tree(y.grad_fn)
    inner._version, x.grad, before.backward()
    z = function.apply(constant)
    z is constant, z, z._version, function.apply(leaf(1.0))
marks that do not fit
    x, fresh = leaf(1.0) * 2, leaf(1.0)
    y = make(lambda ctx, x: x.mul_(2), lambda ctx, g: g * 2).apply(x)
    y is x, y, x, y._is_view(), make(lambda ctx, x: (ctx.mark_dirty(x.mul_(2)), x * 1)[1]).apply(x)
    y, x, make(lambda ctx, x: (ctx.mark_dirty(3), x)[1]).apply(x)
    def no_input(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y
    warned(lambda: make(no_input).apply(fresh))
views that must not be written to
    function, base = make(writing, lambda ctx, g: g * 2), leaf(1.0, 2.0) * 2
    pair = make(lambda ctx, x: (writing(ctx, x), x * 2), lambda ctx, a, b: a)
    with torch.no_grad():
        untracked = base[:1]
    custom = make(lambda ctx, x: x[:1], passing).apply(base)
    function.apply(leaf(1.0, 2.0)[:1]), pair.apply(base[:1])
    function.apply((leaf(1.0, 2.0) * 2).unbind(0)[0]), function.apply(custom)
    function.apply(untracked)
""")
