"""Transforms of functions, compared with PyTorch."""

import nanotorch as torch
from nanotorch.func import jacfwd, jacrev


def test_rows_and_columns_agree() -> None:
    x = torch.rand(4, dtype=torch.float64)

    def f(t: torch.Tensor) -> torch.Tensor:
        return torch.outer(t.sin(), t.exp()).cumsum(0)

    assert torch.allclose(jacrev(f)(x), jacfwd(f)(x), rtol=1e-14)


def test_columns_with_random_numbers_of_their_own() -> None:
    """As PyTorch draws them: those for the columns of all arguments at once."""
    x, y = torch.tensor([1.0, 2.0]), torch.ones(1, 3)

    def f(a: torch.Tensor, b: torch.Tensor) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        drawn = torch.rand(3)
        return {"o": a.sum() * b[0] * drawn}, drawn

    torch.manual_seed(0)
    jacobians, aux = jacfwd(f, (0, 1), True, randomness="different")(x, y)
    after = torch.rand(1)
    torch.manual_seed(0)
    drawn = torch.rand(5, 3)
    assert torch.equal(jacobians["o"][0], drawn[:2].t())
    assert torch.equal(jacobians["o"][1], (3 * torch.diag(drawn[2:].diagonal()))[:, None])
    assert torch.equal(aux, drawn[0])
    assert torch.equal(after, torch.rand(1))
