"""Transforms of functions, compared with PyTorch."""

import nanotorch as torch
from nanotorch.func import jacfwd, jacrev


def test_rows_and_columns_agree() -> None:
    x = torch.rand(4, dtype=torch.float64)

    def f(t: torch.Tensor) -> torch.Tensor:
        return torch.outer(t.sin(), t.exp()).cumsum(0)

    assert torch.allclose(jacrev(f)(x), jacfwd(f)(x), rtol=1e-14)


def test_a_second_derivative_by_a_number_is_a_number() -> None:
    found = torch.func.hessian(lambda x: x**3)(torch.tensor(2.0))
    assert torch.equal(found, torch.tensor(12.0))
