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
    return [
        raised(empty.apply, x),
        raised(gradients, make(torch, double), x),
    ]


def instances(torch: Any) -> Any:
    function = make(torch, double)
    texts = [text.replace(repr(function), "Mine") for text in warned(function)]

    def call() -> None:
        raised(function())

    return [texts, len(warned(call))]


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
