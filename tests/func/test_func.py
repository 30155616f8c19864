"""Transforms of functions, compared with PyTorch."""

import nanotorch as torch
from nanotorch.func import jacfwd, jacrev


def test_rows_and_columns_agree() -> None:
    x = torch.rand(4, dtype=torch.float64)

    def f(t: torch.Tensor) -> torch.Tensor:
        return torch.outer(t.sin(), t.exp()).cumsum(0)

    assert torch.allclose(jacrev(f)(x), jacfwd(f)(x), rtol=1e-14)
