"""Backward passes: `backward`, `autograd.grad`, their options and refusals."""

from typing import Any

from tests.answers import name_of, raised, told


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


def views_of_grads(torch: Any) -> Any:
    """Gradients that are views on the way in (expand, transpose) end up as plain tensors."""
    x = torch.ones(2, 3, requires_grad=True)
    x.sum().backward()
    first = [x.grad.is_contiguous(), x.grad._is_view()]
    x.grad += 1
    y = torch.ones(2, 3, requires_grad=True)
    y.t().backward(torch.arange(6.0).reshape(3, 2))
    return [first, x.grad, y.grad]


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
