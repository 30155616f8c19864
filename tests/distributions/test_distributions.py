"""Distributions, compared with PyTorch, and PyTorch's files of them."""

from importlib import import_module

import pytest

import nanotorch as torch
from nanotorch import distributions


def test_a_divergence_of_ones_own() -> None:
    class Shifted(torch.distributions.Normal):
        """A kind of one's own."""

    @torch.distributions.register_kl(Shifted, torch.distributions.Normal)
    def always(p: Shifted, q: torch.distributions.Normal) -> torch.Tensor:
        return torch.tensor(7.0)

    p, q = Shifted(0.0, 1.0), torch.distributions.Normal(0.0, 1.0)
    assert torch.distributions.kl_divergence(p, q) == 7
    assert torch.distributions.kl_divergence(q, p) == 0


@pytest.mark.parametrize(
    ("file", "name"),
    [("bernoulli", "Bernoulli"), ("categorical", "Categorical"),
     ("kl", "kl_divergence"), ("normal", "Normal"), ("uniform", "Uniform"),
     ("independent", "Independent"), ("distribution", "Distribution")],
)  # fmt: skip
def test_a_name_is_where_pytorch_has_it(file: str, name: str) -> None:
    found = getattr(import_module(f"nanotorch.distributions.{file}"), name)
    assert found is getattr(distributions, name)


def test_what_is_not_there_is_told_with_the_reason() -> None:
    with pytest.raises(AttributeError, match=r"Gamma.*out of scope.*Normal"):
        getattr(distributions, "Gamma")  # noqa: B009 - checkers of types know that it is missing
