"""`backward`, `autograd.grad`, walking the graph by hand, and hooks."""

import warnings
from typing import Any

from tests.answers import Log, name_of, raised, told, tree, warned


def attributes_of_tensors(torch: Any) -> Any:
    """`requires_grad` is off for leaves of the user's and on for a network's weights."""
    x, p = torch.tensor(2.0), torch.nn.Parameter(torch.ones(2))
    y = (p * x).sum()
    return [
        [x.data, x.requires_grad, x.grad, x.grad_fn, x.is_leaf],
        [p.requires_grad, p.grad, p.grad_fn, p.is_leaf],
        [y.requires_grad, name_of(y.grad_fn), y.is_leaf],
        [w.requires_grad for w in torch.nn.Linear(2, 1).parameters()],
    ]


def two_ways_to_call_it(torch: Any) -> Any:
    """``autograd.backward(z)`` is ``z.backward()``, and that is ``z.backward(tensor(1.))``."""
    for call in (
        lambda z: z.backward(), lambda z: torch.autograd.backward(z),
        lambda z: torch.autograd.backward([z]), lambda z: z.backward(torch.tensor(1.0)),
        lambda z: torch.autograd.backward(tensors=z, grad_tensors=torch.tensor(1.0)),
    ):  # fmt: skip
        x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
        z = x**2 + y
        call(z)
        yield [z, x.grad, y.grad]


def former_names(torch: Any) -> Any:
    """The weights were called `grad_variables` once."""
    x, weights = torch.ones(2, requires_grad=True), torch.tensor([1.0, 3.0])

    def former() -> None:
        torch.autograd.backward(x * 2, grad_variables=weights)

    def both() -> None:
        with warnings.catch_warnings(action="ignore"):
            torch.autograd.backward(x * 2, weights, grad_variables=weights)

    def not_only_inputs() -> None:
        torch.autograd.grad((x * 2).sum(), x, only_inputs=False)

    return [warned(former), x.grad, raised(both), warned(not_only_inputs)]


def roots_of_several_elements(torch: Any) -> Any:
    """They need weights, or a sum first."""
    x = torch.ones(2, requires_grad=True)
    text = raised((x + 2).backward)
    z = x + 2
    z.backward(torch.ones_like(z))
    yield from [text, x.grad.clone()]
    (x * 2).sum().backward()
    yield x.grad.clone()
    weights = torch.tensor([0.5, 4.0])
    ((x * 3) * weights).sum().backward()
    (x * 3).backward(weights)
    yield x.grad


def gradients_without_accumulating(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    z = x**2
    first = torch.autograd.grad(outputs=z, inputs=x)
    inner = x**2
    (g,) = torch.autograd.grad((inner * 3).sum(), inner)
    return [first, x.grad, g]


def higher_derivatives(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**4, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    return [first.item(), second.item(), third.item(), name_of(first.grad_fn)]


def accumulating(torch: Any) -> Any:
    x, seen = torch.tensor(2.0, requires_grad=True), []
    for _ in range(3):
        (x**2).backward()
        seen.append(x.grad.item())
    x.grad.zero_()
    (x**2).backward()
    return [seen, x.grad]


def product_and_sum(torch: Any) -> tuple[Any, Any, Any]:
    torch.manual_seed(6)
    x, y = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    return x, y, (x * y).sum()


def nodes_by_hand(torch: Any) -> Any:
    """Calling each node on the gradient of its output is a backward pass."""
    x, y, loss = product_and_sum(torch)
    loss.backward()
    expected = [x.grad, y.grad]
    a, b, loss = product_and_sum(torch)
    of_sum = loss.grad_fn
    dz = of_sum(torch.tensor(1.0))
    of_product = of_sum.next_functions[0][0]
    da, db = of_product(dz)
    (of_a, first), (of_b, second) = of_product.next_functions
    of_a(da)
    of_b(db)
    return [
        expected,
        torch.equal(a.grad, x.grad) and torch.equal(b.grad, y.grad),
        [name_of(of_sum), name_of(of_product), name_of(of_a), first, second],
    ]


def a_small_graph(torch: Any) -> Any:
    """``exp(a b) + e``: what is a leaf, which node made what, and where the edges lead."""
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    e = torch.tensor(1.0, requires_grad=True)
    c = a * b
    d = c.exp()
    f = d + e
    yield from [
        f, [t.is_leaf for t in (a, b, c, d, e, f)], [name_of(t.grad_fn) for t in (f, d, c, a)],
        [[name_of(n), k] for n, k in f.grad_fn.next_functions], tree(f.grad_fn),
    ]  # fmt: skip
    f.backward(retain_graph=True)
    yield from [a.grad, b.grad, e.grad]


def hooks_of_tensors(torch: Any) -> Any:
    """A hook sees the gradient of a tensor and may return another for it."""
    torch.manual_seed(0)
    log: list[Any] = []

    def halve(grad: Any) -> Any:
        log.append(told(grad))
        return grad / 2

    w = torch.nn.Parameter(torch.randn(2, 2))
    w.register_hook(halve)
    loss = (w - 1) ** 2
    log.append("before")
    loss.mean().backward()
    log.append("after")
    return [log, w.grad]


def hooks_of_operations(torch: Any) -> Any:
    """A tensor's hook is called for every graph, a node's for its own."""
    log, w = Log(), torch.nn.Parameter(torch.ones(2, 2))
    w.register_hook(log.name("parameter"))
    y = w + 1
    y.grad_fn.register_hook(log.name("operation"))
    log.append("first")
    y.sum().backward()
    z = w + 1
    log.append("second")
    z.sum().backward()
    return [list(log), name_of(y.grad_fn), w.grad]


def evaluation_and_no_grad(torch: Any) -> Any:
    """`eval()` changes what modules compute, `no_grad` whether it is recorded."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5))
    x = torch.ones(1, 3)
    model.eval()
    a = model(x)
    repeated = torch.equal(a, model(x))
    model.train()
    with torch.no_grad():
        b = model(x)
    return [a.requires_grad, repeated, b.requires_grad, model.training, (b == 0).any().item()]
