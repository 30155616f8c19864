"""Transforms of functions, compared with PyTorch."""

import subprocess
import sys

import nanotorch as torch
from nanotorch.func import grad, jacfwd, jacrev, vjp
from tests.asking import as_pytorch

test_func = as_pytorch("func")
test_vmap = as_pytorch("vmap")


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
