"""Backward passes: `backward`, `autograd.grad`, their options and refusals."""

from typing import Any

from tests.answers import name_of, raised, told


def accumulating(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 2).sum().backward()
    held = x.grad
    (x * 3).sum().backward()
    same = held is x.grad
    x.grad = None
    (x * 4).sum().backward()
    return [held, same, x.grad]


def seed_examples(torch: Any) -> Any:
    """`x*x + sin(2y)` at x = 4, y = pi; and one variable in three disguises."""
    x, y = torch.tensor(4.0, requires_grad=True), torch.tensor(3.14159265, requires_grad=True)
    z = x * x + torch.sin(2 * y)
    z.backward()
    yield from [z, x.grad, y.grad]
    for make in (
        lambda x: torch.tensor(3.0, requires_grad=True), lambda x: x, lambda x: torch.tensor(1.0),
        lambda x: x.detach().clone(), lambda x: x.clone(),
    ):  # fmt: skip
        x = torch.tensor(3.0, requires_grad=True)
        y = make(x)
        z = x + y * y
        z.backward()
        y_grad = y.grad if y.is_leaf else None
        yield from [z, x.grad, y_grad, y.requires_grad]


def gradient_shares_nothing(torch: Any) -> Any:
    """A leaf's gradient belongs to it: writing to it changes nobody else's."""
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    weight = torch.tensor([1.0, 2.0])
    (x + y).backward(weight)
    x.grad.zero_()
    (x.reshape(2) + y.clone()).backward(weight, retain_graph=True)
    x.grad.mul_(100)
    return [x.grad, y.grad, weight]


def non_scalar_roots(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    return [
        raised(y.backward), raised(lambda: y.backward(torch.ones(3))),
        raised(lambda: y.backward(torch.ones(()))), raised(lambda: y.backward(2.0)),
        raised(lambda: torch.autograd.grad(y, x)),
        raised(lambda: torch.autograd.grad(y, x, torch.ones(1))),
        raised(lambda: (x * 2)[:1].backward()), x.grad,
    ]  # fmt: skip


def roots_without_history(torch: Any) -> Any:
    x, leaf = torch.ones(1), torch.ones(1, requires_grad=True)
    leaf.backward()
    with torch.no_grad():
        y = leaf * 2
    return [
        raised(x.backward), raised(y.backward),
        raised(lambda: torch.autograd.backward([leaf * 2, x])),
        raised(lambda: torch.autograd.grad(x, leaf)), leaf.grad,
        raised(torch.ones(1, dtype=torch.int64).backward),
    ]  # fmt: skip


def weights_are_cast(torch: Any) -> Any:
    x, answers = torch.ones(2, requires_grad=True), []
    for weight in (torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([1, 2])):
        answers.append(raised(lambda weight=weight: (x * 2).backward(weight)))
    return [answers, x.grad]


def many_roots(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a, b = x * 2, (x * x).sum()
    torch.autograd.backward([a, b], [torch.tensor([1.0, 10.0]), None], retain_graph=True)
    first = told(x.grad)
    (g,) = torch.autograd.grad([a, b], x, [torch.ones(2), torch.tensor(3.0)])
    y = x * 3
    torch.autograd.backward([y, y], [torch.ones(2), torch.ones(2)])
    return [
        first, g, x.grad, raised(lambda: torch.autograd.backward([y, y], [torch.ones(2)])),
        raised(lambda: torch.autograd.backward([])),
    ]  # fmt: skip


def roots_that_depend_on_each_other(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    y = x * x
    z = y * x
    torch.autograd.backward([z, y])
    a = x.exp()
    b = a * a
    (g,) = torch.autograd.grad([b.sum(), a.sum()], [a])
    return [x.grad, g]


def a_leaf_as_root(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    x.backward()
    x.backward(torch.tensor(5.0))
    (g,) = torch.autograd.grad(x, x)
    y = torch.tensor([1.0, 2.0], requires_grad=True)
    (h,) = torch.autograd.grad(y, y, torch.tensor([3.0, 4.0]))
    return [x.grad, g, h, raised(lambda: torch.autograd.grad(x, y))]


def grad_of_inputs(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    z = y.sin()
    total = (z * z).sum()

    def grad(*inputs: Any) -> Any:
        return torch.autograd.grad(total, inputs, retain_graph=True)

    return [grad(x), grad(w, x), grad(y), grad(z, y, x), grad(total), grad(x, x), x.grad, y.is_leaf]


def grad_of_shared_intermediates(torch: Any) -> Any:
    """A gradient with respect to an inner tensor holds what comes through every path."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = (y * x + y.exp()).sum()
    gy, gx = torch.autograd.grad(z, [y, x])
    return [gy, gx]


def grad_of_unused(torch: Any) -> Any:
    x, u = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    grad = torch.autograd.grad

    def y() -> Any:
        return (x * 2).sum()

    return [
        raised(lambda: grad(y(), [x, u])), raised(lambda: grad(y(), [u])),
        grad(y(), [x, u], allow_unused=True), grad(y(), [u, x], materialize_grads=True),
        raised(lambda: grad(y(), [u], allow_unused=False, materialize_grads=True)),
        raised(lambda: grad(y(), [x, torch.ones(2)])), raised(lambda: grad(y(), [])),
        raised(lambda: grad(y(), [x, torch.ones(2)], allow_unused=True)),
    ]  # fmt: skip


def grad_leaves_grad_alone(torch: Any) -> Any:
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad((x * w).sum(), x)
    return [g, x.grad, w.grad]


def grad_batched(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    (rows,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    w = torch.ones(2, requires_grad=True)
    z = w.sum() * x
    gx, gw = torch.autograd.grad(z, [x, w], torch.eye(3), is_grads_batched=True)
    return [rows, gx, gw]


def backward_inputs(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    z = (y * y).sum()
    z.backward(inputs=[x], retain_graph=True)
    first = [told(x.grad), told(w.grad)]
    z.backward(inputs=w, retain_graph=True)
    return [
        first, x.grad, w.grad, raised(lambda: z.backward(inputs=[])),
        raised(lambda: z.backward(inputs=[torch.ones(2)], retain_graph=True)),
    ]  # fmt: skip


def backward_to_inner_inputs(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    z = (y * y).sum()
    z.backward(inputs=[y], retain_graph=True)
    first = told(y.grad)
    z.backward(inputs=[y, x])
    return [first, y.grad, x.grad]


def higher_orders(torch: Any) -> Any:
    """Derivatives of x**5 and of sin up to the fifth."""
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    for function in (lambda x: x**5, lambda x: x * x * x * x * x, torch.sin, torch.exp):
        y = function(x)
        column = []
        for _ in range(5):
            (y,) = torch.autograd.grad(y, x, create_graph=True)
            column.append(f"{y.item():.10g}")
        yield column


def second_backward_into_grad(torch: Any) -> Any:
    """A gradient made under `create_graph` can itself be run backward."""
    x = torch.tensor([2.0], requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (g * g).sum().backward()
    return [g.requires_grad, name_of(g.grad_fn), x.grad, x.grad.requires_grad]


def gradient_penalty(torch: Any) -> Any:
    """The norm of a gradient in a loss, through a small network."""
    torch.manual_seed(0)
    w1, w2 = torch.full((3, 4), 0.25), torch.full((4, 1), -0.5)
    w1, w2 = w1.requires_grad_(), w2.requires_grad_()
    x = torch.tensor([[0.5, -1.0, 2.0]], requires_grad=True)
    out = torch.tanh(x @ w1) @ w2
    (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    loss = (g.pow(2).sum() - 1) ** 2 + out.sum()
    loss.backward()
    return [[round(v, 5) for v in t.flatten().tolist()] for t in (w1.grad, w2.grad, x.grad)]


def create_graph_into_grad(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    y = (x**3).sum()
    y.backward(create_graph=True)
    recorded = x.grad
    first = [told(recorded), recorded.requires_grad]
    (second,) = torch.autograd.grad(recorded.sum(), x)
    (x * 1.0).sum().backward()
    return [first, second, x.grad, recorded]


def no_grad_inside_backward(torch: Any) -> Any:
    """Without `create_graph` results have no history, whatever the mode outside."""
    x = torch.tensor([2.0], requires_grad=True)
    y = x * x
    (g,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    total = y.sum()
    with torch.no_grad():
        (h,) = torch.autograd.grad(total, x, create_graph=True)
    return [g.requires_grad, h.requires_grad, torch.is_grad_enabled()]


def mixed_dtypes(torch: Any) -> Any:
    """Each leaf's gradient has the leaf's dtype, whatever the types on the way."""
    a = torch.ones(2, dtype=torch.float32, requires_grad=True)
    b = torch.ones(2, dtype=torch.float64, requires_grad=True)
    c = torch.ones((), dtype=torch.float64, requires_grad=True)
    h = torch.ones(2, dtype=torch.float16, requires_grad=True)
    out = a * b + a * c + h * a
    out.sum().backward()
    return [out.dtype, [t.grad for t in (a, b, c, h)]]


def broadcast_gradients(torch: Any) -> Any:
    shapes = [(), (1,), (3,), (2, 1), (1, 3), (2, 3), (1, 1, 1)]
    for a in shapes:
        for b in shapes:
            x, y = torch.ones(a, requires_grad=True), torch.full(b, 2.0, requires_grad=True)
            (x * y).sum().backward()
            yield [told(x.grad), told(y.grad)]


def views_of_grads(torch: Any) -> Any:
    """Gradients that are views on the way in (expand, transpose) end up as plain tensors."""
    x = torch.ones(2, 3, requires_grad=True)
    x.sum().backward()
    first = [x.grad.is_contiguous(), x.grad._is_view()]
    x.grad += 1
    y = torch.ones(2, 3, requires_grad=True)
    y.t().backward(torch.arange(6.0).reshape(3, 2))
    return [first, x.grad, y.grad]


def unused_outputs(torch: Any) -> Any:
    x = torch.tensor([[3.0, 1.0], [2.0, 5.0]], requires_grad=True)
    values, _ = x.max(1)
    top, rest = x.unbind()
    (values.sum() + rest.sum()).backward()
    return [x.grad, top.grad_fn is rest.grad_fn]


def integer_and_bool_leaves(torch: Any) -> Any:
    return [
        raised(lambda: torch.ones(2, dtype=torch.int64).requires_grad_()),
        raised(lambda: torch.tensor([1, 2], requires_grad=True)),
        raised(lambda: torch.tensor([True]).requires_grad_(True)),
        raised(lambda: setattr(torch.tensor([1]), "requires_grad", True)),
        torch.tensor([1]).requires_grad_(False).requires_grad,
    ]


def operations_without_derivative(torch: Any) -> Any:
    x = torch.tensor([1.5, -2.5], requires_grad=True)
    in_place = [getattr(x * 0.1 + 1.5, name)() for name in ("asinh_", "acosh_")]
    for y in (x // 2, 2 // x, 2 % x, *in_place, (x * 0.1).atanh_()):
        yield from [y, name_of(y.grad_fn), raised(y.sum().backward), x.grad]
