"""Functions of the user's own: calling them, their gradients, and what is refused."""

from collections.abc import Callable
from typing import Any

from tests.answers import name_of, raised, tree, warned


def make(torch: Any, forward: Callable[..., Any], backward: Any = None, **more: Any) -> Any:
    """A function made of these parts, called `Mine`."""
    members = {"forward": staticmethod(forward)}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    members |= {name: staticmethod(part) for name, part in more.items()}
    return type("Mine", (torch.autograd.Function,), members)


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def double(ctx: Any, x: Any, *rest: Any) -> Any:
    return x * 2


def gradients(function: Any, *args: Any) -> list[Any]:
    """The gradients of the tensors among the arguments, after a call and a backward pass."""
    out = function.apply(*args)
    several = out if isinstance(out, tuple) else (out,)
    sum(t.sum() for t in several if hasattr(t, "grad_fn") and t.requires_grad).backward()
    return [a.grad for a in args if hasattr(a, "grad_fn")]


def rectifier(torch: Any) -> Any:
    """The textbook example: a rectifier with its own gradient, in a linear model."""

    class MyReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, input: Any) -> Any:
            ctx.save_for_backward(input)
            return input.clamp(min=0)

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            (input,) = ctx.saved_tensors
            grad_input = grad_output.clone()
            grad_input[input < 0] = 0
            return grad_input

    w, b = torch.tensor([[3.0, 1.0]], requires_grad=True), torch.tensor([[3.0]], requires_grad=True)
    x, y = torch.tensor([[-1.0, -1.0], [1.0, 1.0]]), torch.tensor([[2.0, 3.0]])
    out = MyReLU.apply(x @ w.t() + b)
    loss = torch.mean(torch.pow(out - y, 2))
    loss.backward()
    text = repr(out.grad_fn).split(" at 0x")[0]
    return [out, text, out.grad_fn.name(), name_of(out.grad_fn), w.grad, b.grad]


def numbers_of_gradients(torch: Any) -> Any:
    def attempt(given: Any, *args: Any) -> Any:
        return raised(gradients, make(torch, double, lambda ctx, g: given(g)), *args)

    x, y, k = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0), torch.ones(2)
    return [
        attempt(lambda g: (g, g), x), attempt(lambda g: (g, None), x), attempt(lambda g: g, x, y),
        attempt(lambda g: g, x, 3), attempt(lambda g: (g, g), x, 3),
        attempt(lambda g: (g, g), x, k), attempt(lambda g: (g, None), x, 3),
        attempt(lambda g: (None, g), x, y), attempt(lambda g: None, x), attempt(lambda g: (), x),
    ]  # fmt: skip


def kinds_of_gradients(torch: Any) -> Any:
    def attempt(given: Any) -> Any:
        x = leaf(torch, 1.0, 2.0)
        return raised(gradients, make(torch, double, lambda ctx, g: given(g)), x)

    return [
        attempt(lambda g: [g]), attempt(lambda g: 3.0), attempt(lambda g: (3.0,)),
        attempt(lambda g: torch.ones(3)), attempt(lambda g: torch.ones(3, 2)),
        attempt(lambda g: torch.ones(1)), attempt(lambda g: torch.ones(())),
        attempt(lambda g: torch.ones(2, dtype=torch.float64)),
        attempt(lambda g: torch.ones(2, dtype=torch.int64)), attempt(lambda g: g.sum()),
    ]  # fmt: skip


def missing_parts(torch: Any) -> Any:
    x = leaf(torch, 1.0)
    empty = type("Mine", (torch.autograd.Function,), {})
    both = make(torch, double, lambda ctx, g: g, vjp=lambda ctx, g: g)
    return [
        raised(empty.apply, x),
        raised(gradients, make(torch, double), x),
        raised(gradients, both, leaf(torch, 1.0)),
        gradients(make(torch, double, vjp=lambda ctx, g: g * 2), leaf(torch, 1.0)),
    ]


def instances(torch: Any) -> Any:
    function = make(torch, double)
    texts = [text.replace(repr(function), "Mine") for text in warned(function)]

    def call() -> None:
        raised(function())

    return [texts, len(warned(call))]


def edges(torch: Any) -> Any:
    """Only tensors have edges, constants among them one that leads nowhere."""
    function = make(torch, double, lambda ctx, g: (g, None, None, g))
    x, y = leaf(torch, 1.0), leaf(torch, 2.0) * 2
    same = make(torch, lambda ctx, a, b: a * b, lambda ctx, g: (g, g))
    return [
        tree(function.apply(x, 3, torch.ones(1), y).grad_fn),
        tree(function.apply(x, None, "text", [y]).grad_fn),
        tree(same.apply(x, x).grad_fn),
        function.apply(torch.ones(1), 1, 2, 3).grad_fn,
        make(torch, lambda ctx, ts: ts[0] * 2).apply([x]).requires_grad,
    ]


def keywords(torch: Any) -> Any:
    """Gradients are returned for the arguments that were passed, in the signature's order."""
    seen = []

    def forward(ctx: Any, x: Any, a: float = 2.0, b: float = 3.0) -> Any:
        seen.append(ctx.needs_input_grad)
        return x * a * b

    function = make(torch, forward, lambda ctx, g: (g, None, None)[: len(ctx.needs_input_grad)])
    x = leaf(torch, 1.0)
    outs = [
        function.apply(x), function.apply(x, a=1.0), function.apply(x, b=5.0, a=1.0),
        function.apply(a=4.0, x=x),
    ]  # fmt: skip
    for out in outs:
        out.backward()
    only = make(torch, lambda ctx, x, *, k: x * k, lambda ctx, g: (g, None))
    return [
        outs, seen, x.grad, raised(function.apply, x, d=1.0), raised(only.apply, x, k=1.0),
    ]  # fmt: skip


def separate_context(torch: Any) -> Any:
    """`forward` without `ctx`, and `setup_context`: defaults count as arguments."""
    seen = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append([inputs, output, output.grad_fn, torch.is_grad_enabled()])
        ctx.factor = inputs[1]
        ctx.save_for_backward(inputs[0], output)

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(
            [ctx.needs_input_grad, ctx.saved_tensors, name_of(ctx.saved_tensors[1].grad_fn)]
        )
        return g * ctx.factor, None

    function = make(torch, lambda x, k=2.0: x * k, backward, setup_context=setup)
    answers = []
    for call in (
        lambda x: function.apply(x), lambda x: function.apply(x, 3.0),
        lambda x: function.apply(x, k=4.0), lambda x: function.apply(k=5.0, x=x),
    ):  # fmt: skip
        x = leaf(torch, 1.0)
        call(x).backward()
        answers.append(x.grad)
    wrong = make(torch, lambda ctx, x: x, lambda ctx, g: g, setup_context=setup)
    keyword = make(torch, lambda x, *, k=1: x, lambda ctx, g: g, setup_context=setup)
    return [
        answers, seen, raised(function.apply), raised(wrong.apply, leaf(torch, 1.0)),
        raised(keyword.apply, leaf(torch, 1.0), k=1),
    ]  # fmt: skip


def inheritance(torch: Any) -> Any:
    base = make(torch, double, lambda ctx, g: g * 2)

    class Derived(base):  # type: ignore[misc]
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 20

    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    a, b = base.apply(x), Derived.apply(y)
    a.backward()
    b.backward()
    return [x.grad, y.grad, a, b]


def not_recorded(torch: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        seen.append([ctx.needs_input_grad, torch.is_grad_enabled(), x.requires_grad])
        return x * 2

    function = make(torch, forward, lambda ctx, g: g * 2)
    x = leaf(torch, 1.0)
    with torch.no_grad():
        a = function.apply(x)
    with torch.enable_grad():
        b = function.apply(x)
    return [a, b, function.apply(torch.ones(1)), seen, torch.is_grad_enabled()]


def errors_inside(torch: Any) -> Any:
    """An error in either pass comes through, and grad mode is what it was."""

    def fail(ctx: Any, x: Any) -> Any:
        raise KeyError("here")

    x = leaf(torch, 1.0)
    return [
        raised(make(torch, fail).apply, x), torch.is_grad_enabled(),
        raised(gradients, make(torch, double, fail), x), torch.is_grad_enabled(),
        raised(gradients, make(torch, double, lambda ctx, g: ctx.nothing), x),
    ]  # fmt: skip


def second_order(torch: Any) -> Any:
    """A recorded backward pass runs the user's backward with recording on."""
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    def backward(ctx: Any, g: Any) -> Any:
        seen.append([torch.is_grad_enabled(), g.requires_grad])
        (x,) = ctx.saved_tensors
        return 3 * x * x * g

    x = leaf(torch, 2.0)
    y = make(torch, forward, backward).apply(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x, create_graph=True)
    (third,) = torch.autograd.grad(h, x)
    return [g, h, third, seen]


def second_order_through_the_output(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    x = leaf(torch, 1.0)
    y = make(torch, forward, lambda ctx, g: ctx.saved_tensors[0] * g).apply(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x, create_graph=True)
    (third,) = torch.autograd.grad(h, x)
    return [y, g, h, third, tree(g.grad_fn)]


def once(torch: Any) -> Any:
    seen = []

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            seen.append([torch.is_grad_enabled(), g.requires_grad])
            return g * 2 * ctx.saved_tensors[0]

    x, w = leaf(torch, 2.0), leaf(torch, 3.0)
    plain = torch.autograd.grad(Once.apply(x), x)
    (a,) = torch.autograd.grad(Once.apply(x), x, create_graph=True)
    (b,) = torch.autograd.grad(Once.apply(x), x, w * 1, create_graph=True)
    return [plain, a, b, tree(b.grad_fn), b.grad_fn.name(), raised(b.backward), seen]


def graph_inside(torch: Any) -> Any:
    """`forward` may build a graph of its own and `backward` use it."""

    def forward(ctx: Any, x: Any) -> Any:
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = ctx.x.sin() * ctx.x
        return ctx.y.detach()

    def backward(ctx: Any, g: Any) -> Any:
        return torch.autograd.grad(ctx.y, ctx.x, g)[0]

    return gradients(make(torch, forward, backward), leaf(torch, 1.0, 2.0))


def nothing_arrives(torch: Any) -> Any:
    """A user's backward runs even where no gradient arrives; zeros stand in, if wanted."""
    for materialize in (True, False):
        seen: list[Any] = []

        def forward(ctx: Any, x: Any, materialize: bool = materialize) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2

        def backward(ctx: Any, g: Any, seen: list[Any] = seen) -> Any:
            seen.append(g)
            return g

        x = leaf(torch, 1.0, 2.0)
        y = make(torch, forward, backward).apply(x)
        make(torch, double, lambda ctx, g: None).apply(y).sum().backward()
        yield [seen, x.grad]


def writing_to_the_gradient(torch: Any) -> Any:
    """What arrives may be written to; the caller's own weights then change too."""
    function = make(torch, double, lambda ctx, g: g.mul_(2))
    x, y = leaf(torch, 1.0), leaf(torch, 1.0, 2.0)
    function.apply(x).sum().backward()
    weights = torch.ones(2)
    function.apply(y).backward(weights)
    z = leaf(torch, 1.0)
    function.apply(z).backward(torch.ones(()).expand(1))
    return [x.grad, y.grad, weights, z.grad]


def other_dtypes(torch: Any) -> Any:
    """Gradients are cast to the dtypes of the inputs and arrive in those of the outputs."""
    seen = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(g.dtype)
        return g

    x = leaf(torch, 1.0)
    make(torch, lambda ctx, x: x.double(), backward).apply(x).sum().backward()
    return [seen, x.grad]


def views_as_inputs(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = make(torch, lambda ctx, x: x * 3, lambda ctx, g: g * 3).apply(x[:1])
    y.backward()
    return [x.grad, tree(y.grad_fn)]


def names(torch: Any) -> Any:
    function = make(torch, double)
    node = function._backward_cls
    classes = torch.autograd.function
    return [
        node.__name__, issubclass(node, classes.FunctionCtx),
        issubclass(node, classes.BackwardCFunction), torch.autograd.Function is classes.Function,
        issubclass(node, torch.autograd.graph.Node),
        isinstance(function.apply(leaf(torch, 1.0)).grad_fn, torch.autograd.graph.Node),
    ]  # fmt: skip


def once_differentiable_without_all_gradients(torch: Any) -> Any:
    once = torch.autograd.function.once_differentiable
    for results in (lambda g: (g * 2, None), lambda g: (None, g * 2), lambda g: (None, None)):
        function = make(
            torch, lambda ctx, a, b: a + b, once(lambda ctx, g, results=results: results(g))
        )
        leaves = [leaf(torch, 1.0), leaf(torch, 2.0)]
        weights = leaf(torch, 3.0)
        grads = torch.autograd.grad(
            function.apply(*leaves), leaves, weights, create_graph=True, allow_unused=True
        )
        for g in grads:
            if g is not None:
                following = [
                    n if n is None else type(n).__name__ for n, _ in g.grad_fn.next_functions
                ]
                yield [name_of(g.grad_fn), following]
                yield raised(torch.autograd.grad, g, leaves, allow_unused=True)
        yield [g is None for g in grads]
