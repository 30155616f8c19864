"""Strict mode: functions that do not depend on their inputs are refused, each in its words."""

from typing import Any

from tests.answers import raised
from tests.autograd.golden_function import leaf
from tests.autograd.golden_functional import cubes, points, rows


def independent_outputs(torch: Any) -> Any:
    functional = torch.autograd.functional
    _, a, b = points(torch)

    def first(x: Any, y: Any) -> Any:
        return x * 2

    def square(x: Any, y: Any) -> Any:
        return (x**2).sum()

    return [
        raised(functional.jacobian, first, (a, b), strict=True),
        raised(functional.hessian, square, (a, b), strict=True),
    ]


def constant_outputs(torch: Any) -> Any:
    functional = torch.autograd.functional
    _, a, _ = points(torch)

    def several(x: Any) -> Any:
        return torch.tensor([1.0, 2.0])

    def one(x: Any) -> Any:
        return torch.tensor(1.0)

    return [
        raised(functional.jacobian, several, a, strict=True),
        raised(functional.hessian, one, a, strict=True),
    ]


def constant_jacobians_with_a_graph(torch: Any) -> Any:
    functional, x = torch.autograd.functional, leaf(torch, 1.0, 2.0)
    options = {"strict": True, "create_graph": True}

    def linear(x: Any) -> Any:
        return x * 2

    return [
        raised(functional.jacobian, linear, x, **options),
        raised(functional.hessian, lambda x: (x**2).sum(), x, **options),
    ]


def options_that_do_not_go_together(torch: Any) -> Any:
    functional = torch.autograd.functional
    x, _, _ = points(torch)
    return [
        raised(functional.jacobian, rows, x, vectorize=True, strict=True),
        raised(functional.jacobian, rows, x, strategy="forward-mode"),
        raised(functional.jacobian, rows, x, strategy="forward-mode", vectorize=True, strict=True),
        raised(functional.jacobian, rows, x, strategy="other"),
        raised(functional.hessian, cubes, x, outer_jacobian_strategy="other"),
        raised(functional.hessian, cubes, x, outer_jacobian_strategy="forward-mode"),
    ]
