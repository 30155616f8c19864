"""PyTorch's files of distributions, which programs import from."""

from importlib import import_module

import pytest

from nanotorch import distributions


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
