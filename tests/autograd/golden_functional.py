"""Jacobians, Hessians and their products with vectors: values, shapes, graphs."""

from typing import Any

from tests.answers import raised
from tests.autograd.golden_function import leaf


def points(torch: Any) -> tuple[Any, Any, Any]:
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return matrix, torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0])


def rows(x: Any) -> Any:
    return x.exp().sum(1)


def cubes(x: Any) -> Any:
    return x.pow(3).sum()


def linear(x: Any, y: Any) -> Any:
    return 2 * x + 3 * y


def mixed(x: Any, y: Any) -> Any:
    return (x.sum() * y.pow(2)).sum()


def two_outputs(x: Any, y: Any) -> Any:
    return x.sum() * y, x * 2


def jacobians(torch: Any) -> Any:
    jacobian = torch.autograd.functional.jacobian
    x, a, b = points(torch)
    return [
        jacobian(rows, x), jacobian(rows, x).shape, jacobian(linear, (a, a)),
        jacobian(two_outputs, (a, b)), jacobian(rows, (x,)), jacobian(lambda x: (x * 2,), a),
        jacobian(cubes, a), jacobian(lambda x: x**2, torch.tensor(3.0)),
        jacobian(lambda x, y: x * 2, (a, b)), jacobian(lambda x: torch.tensor([1.0, 2.0]), a),
        jacobian(lambda x: torch.tensor([1, 2]), a), jacobian(lambda x: x, a),
        jacobian(rows, x, vectorize=True),
    ]  # fmt: skip


def hessians(torch: Any) -> Any:
    hessian = torch.autograd.functional.hessian
    x, a, b = points(torch)
    return [
        hessian(cubes, x), hessian(cubes, x).shape,
        hessian(lambda x, y: (2 * x.pow(2) + 3 * y.pow(2)).sum(), (a, a)), hessian(mixed, (a, b)),
        hessian(lambda x: x.sum(), a), hessian(lambda x: torch.tensor(1.0), a),
        hessian(lambda x: (x**2).sum().reshape(1), a), hessian(cubes, x, vectorize=True),
    ]  # fmt: skip


def products_on_the_left(torch: Any) -> Any:
    vjp = torch.autograd.functional.vjp
    x, a, b = points(torch)
    ones = torch.ones(2)
    return [
        vjp(rows, x, ones), vjp(linear, (a, a), ones),
        vjp(two_outputs, (a, b), (torch.ones(3), ones)), vjp(lambda x: x.sum(), x),
        vjp(lambda x: (x * 2,), torch.tensor(3.0)), vjp(lambda x, y: x * 2, (a, b), ones),
        vjp(lambda x: torch.tensor([1.0, 2.0]), a, ones), vjp(lambda x: x, a, ones),
    ]  # fmt: skip


def products_on_the_right(torch: Any) -> Any:
    jvp = torch.autograd.functional.jvp
    x, a, b = points(torch)
    ones = torch.ones(2)
    return [
        jvp(rows, x, torch.ones(2, 2)), jvp(linear, (a, a), (ones, ones)),
        jvp(two_outputs, (a, b), (ones, torch.ones(3))), jvp(lambda x: x * 2, torch.tensor(3.0)),
        jvp(lambda x: x * 2, (torch.tensor([3.0]),)), jvp(lambda x, y: x * 2, (a, b), (ones, b)),
        jvp(lambda x: torch.tensor([1.0, 2.0]), a, ones), jvp(lambda x: x, a, ones),
    ]  # fmt: skip


def products_with_hessians(torch: Any) -> Any:
    x, a, b = points(torch)
    ones = torch.ones(2)
    for product in (torch.autograd.functional.vhp, torch.autograd.functional.hvp):
        yield from [
            product(cubes, x, torch.ones(2, 2)), product(mixed, (a, b), (ones, b)),
            product(lambda x: x**3, torch.tensor(2.0)), product(lambda x: x.sum(), a, ones),
            product(lambda x: torch.tensor(1.0), a, ones),
        ]  # fmt: skip


def results_are_detached(torch: Any) -> Any:
    functional, x, ones = torch.autograd.functional, leaf(torch, 1.0, 2.0), torch.ones(2)
    results = [
        functional.jacobian(lambda x: x**3, x), functional.hessian(cubes, x),
        *functional.vjp(lambda x: x**3, x, ones), *functional.jvp(lambda x: x**3, x, ones),
        *functional.vhp(cubes, x, ones), *functional.hvp(cubes, x, ones),
    ]  # fmt: skip
    return [[r.requires_grad for r in results], x.grad]


def results_with_a_graph(torch: Any) -> Any:
    """With `create_graph` the results lead back to the caller's tensors, and to the vector."""
    functional, grad = torch.autograd.functional, torch.autograd.grad
    x, v = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 1.0)
    jacobian = functional.jacobian(lambda x: x**3, x, create_graph=True)
    hessian = functional.hessian(lambda x: (x**4).sum(), x, create_graph=True)
    yield from [grad(jacobian.sum(), x), grad(hessian.sum(), x)]
    for product, func in (
        (functional.vjp, lambda x: x**3), (functional.jvp, lambda x: x**3),
        (functional.vhp, lambda x: (x**4).sum()), (functional.hvp, lambda x: (x**4).sum()),
    ):  # fmt: skip
        out, result = product(func, x, v, create_graph=True)
        yield [out, result.detach(), grad(result.sum(), (x, v))]


def grad_mode_does_not_matter(torch: Any) -> Any:
    x, _, _ = points(torch)
    with torch.no_grad():
        return [
            torch.autograd.functional.jacobian(rows, x),
            torch.autograd.functional.hessian(cubes, x),
            torch.is_grad_enabled(),
        ]


def wrong_inputs(torch: Any) -> Any:
    functional = torch.autograd.functional
    x, a, _ = points(torch)
    for name in ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"):
        f = getattr(functional, name)
        yield from [
            raised(f, rows, [x]), raised(f, rows, 3.0), raised(f, cubes, (a, 3.0)),
            raised(f, lambda x: 3.0, torch.tensor(1.0)),
            raised(f, lambda x: [x], torch.tensor(1.0)),
            raised(f, lambda x: (x, 3.0), torch.tensor(1.0)),
        ]  # fmt: skip


def wrong_vectors(torch: Any) -> Any:
    functional = torch.autograd.functional
    x, a, b = points(torch)
    yield from [
        raised(functional.vjp, rows, x),
        raised(functional.vjp, lambda x: (x.sum(), x.sum()), x),
        raised(functional.vjp, rows, x, torch.ones(3)),
        raised(functional.vjp, two_outputs, (a, b), (torch.ones(3),)),
        raised(functional.vjp, two_outputs, (a, b), (torch.ones(3), torch.ones(3))),
        raised(functional.vjp, rows, x, 3.0),
        raised(functional.jvp, lambda x, y: x * y, (a[0], a[1])),
    ]
    for name in ("jvp", "vhp", "hvp"):
        f = getattr(functional, name)
        yield from [raised(f, cubes, x), raised(f, cubes, x, torch.ones(2)), raised(f, cubes, x, 3)]


def wrong_outputs(torch: Any) -> Any:
    functional = torch.autograd.functional
    _, a, _ = points(torch)
    ones = torch.ones(2)
    return [
        raised(functional.hessian, lambda x: x**2, a),
        raised(functional.hessian, lambda x: (x.sum(),), a),
        raised(functional.vhp, lambda x: x**2, a, ones),
        raised(functional.vhp, lambda x: (x.sum(), x.sum()), a, ones),
        raised(functional.hvp, lambda x: x**2, a, ones),
        raised(functional.hvp, lambda x: (x.sum(), x.sum()), a, ones),
    ]
