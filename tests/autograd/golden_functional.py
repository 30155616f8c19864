"""Jacobians and Hessians: values, shapes, graphs."""

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


def results_are_detached(torch: Any) -> Any:
    functional, x = torch.autograd.functional, leaf(torch, 1.0, 2.0)
    results = [
        functional.jacobian(lambda x: x**3, x), functional.hessian(cubes, x),
    ]  # fmt: skip
    return [[r.requires_grad for r in results], x.grad]


def wrong_inputs(torch: Any) -> Any:
    functional = torch.autograd.functional
    x, a, _ = points(torch)
    for name in ("jacobian", "hessian"):
        f = getattr(functional, name)
        yield from [
            raised(f, rows, [x]), raised(f, rows, 3.0), raised(f, cubes, (a, 3.0)),
            raised(f, lambda x: 3.0, torch.tensor(1.0)),
            raised(f, lambda x: [x], torch.tensor(1.0)),
            raised(f, lambda x: (x, 3.0), torch.tensor(1.0)),
        ]  # fmt: skip


def wrong_outputs(torch: Any) -> Any:
    functional = torch.autograd.functional
    _, a, _ = points(torch)
    return [
        raised(functional.hessian, lambda x: x**2, a),
        raised(functional.hessian, lambda x: (x.sum(),), a),
    ]


def products(torch: Any) -> Any:
    vjp, (x, a, b) = torch.autograd.functional.vjp, points(torch)
    return [
        vjp(rows, x, torch.ones(2)), vjp(cubes, x), vjp(mixed, (a, b[:2]))[0].shape,
        vjp(two_outputs, (a, b), (b, a)), vjp(lambda x: x * 2, a, a, create_graph=True),
        vjp(lambda x: x**2, leaf(torch, 1.0, 2.0), a, create_graph=True),
        vjp(lambda x: b, a, b), vjp(lambda x, y: x * 2, (a, b), a),
        raised(vjp, rows, x, torch.ones(3)), raised(vjp, two_outputs, (a, b), b),
        raised(vjp, rows, x).split(":")[0], raised(vjp, lambda x: 3, x).split(":")[0],
    ]  # fmt: skip
