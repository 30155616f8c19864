"""Transforms of functions, compared with PyTorch."""

import subprocess
import sys

import nanotorch as torch
from nanotorch.func import grad, jacfwd, jacrev, vjp


def test_results_hold_no_graph() -> None:
    """What nobody can differentiate is not kept."""
    x = torch.rand(3)
    _, pull = vjp(torch.sin, x)
    for tensor in (grad(lambda t: (t**2).sum())(x), pull(x)[0], jacrev(torch.sin)(x)):
        assert tensor.grad_fn is None
        assert not tensor.requires_grad
    assert x.grad is None


def test_rows_and_columns_agree() -> None:
    x = torch.rand(4, dtype=torch.float64)

    def f(t: torch.Tensor) -> torch.Tensor:
        return torch.outer(t.sin(), t.exp()).cumsum(0)

    assert torch.allclose(jacrev(f)(x), jacfwd(f)(x), rtol=1e-14)


def test_functions_keep_their_names() -> None:
    def named(x: torch.Tensor) -> torch.Tensor:
        """Told."""
        return x.sum()

    for transform in (grad, jacrev, jacfwd, torch.vmap):
        assert (transform(named).__name__, transform(named).__doc__) == ("named", "Told.")


FIRST_USE = """
import nanotorch as torch

x = torch.arange(12.0).reshape(3, 4)

def loss(v):
    spread = torch.pdist(v.reshape(2, 2)).sum()
    return spread + torch.nn.functional.cross_entropy(v, torch.tensor(1))

assert torch.allclose(torch.vmap(loss)(x), torch.stack([loss(v) for v in x]))
"""


def test_what_a_function_under_vmap_is_the_first_to_use() -> None:
    """Rules hold of parts of the library, too, that are imported meanwhile."""
    subprocess.run([sys.executable, "-c", FIRST_USE], check=True)


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
