"""Distributions, compared with PyTorch, and PyTorch's files of them."""

import gc
import weakref
from abc import ABC
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch


def test_a_divergence_of_ones_own() -> None:
    class Shifted(torch.distributions.Normal):
        """A kind of one's own."""

    @torch.distributions.register_kl(Shifted, torch.distributions.Normal)
    def always(p: Shifted, q: torch.distributions.Normal) -> torch.Tensor:
        return torch.tensor(7.0)

    p, q = Shifted(0.0, 1.0), torch.distributions.Normal(0.0, 1.0)
    assert torch.distributions.kl_divergence(p, q) == 7
    assert torch.distributions.kl_divergence(q, p) == 0


def test_a_module_is_a_distribution_too() -> None:
    class Prior(torch.nn.Module, torch.distributions.Gamma):
        """A distribution with buffers, as those of Gaussian processes."""

        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            torch.distributions.Gamma.__init__(self, torch.tensor(2.0), 3.0)
            rate = self.rate
            del self.rate
            self.register_buffer("rate", rate)

    prior = Prior()
    assert list(prior.state_dict()) == ["rate"]
    usual = torch.distributions.Gamma(2.0, 3.0)
    assert prior.log_prob(torch.tensor(0.4)) == usual.log_prob(torch.tensor(0.4))
    assert prior.mean == usual.mean


def test_what_is_out_of_scope_is_there_to_inherit_from() -> None:
    class Base(torch.distributions.Distribution, ABC):
        """What a library adds."""

    class Wide(Base, torch.distributions.HalfCauchy):
        """A prior that nobody needs to make."""

    with pytest.raises(NotImplementedError, match=r"out of scope\. Few use it"):
        Wide(1.0)


def test_arguments_are_named_as_in_the_declaration() -> None:
    for call, missing in (
        (
            torch.distributions.Normal,
            r"Normal.__init__\(\) missing 2 required .* 'loc' and 'scale'",
        ),
        (torch.distributions.Exponential, "missing 1 required positional argument: 'rate'"),
    ):
        with pytest.raises(TypeError, match=missing):
            call()
    with pytest.raises(TypeError, match="unexpected keyword argument 'sigma'"):
        torch.distributions.Normal(0.0, sigma=1.0)


def test_a_cache_ends_with_its_distribution() -> None:
    normal = torch.distributions.Normal(torch.zeros(3, requires_grad=True), 1.0)
    gc.disable()
    try:
        parts = [torch.distributions.TanhTransform(cache_size=1)]
        squashed = torch.distributions.TransformedDistribution(normal, parts)
        x = squashed.rsample()
        assert squashed.log_prob(x).requires_grad
        sample = weakref.ref(x)
        del x, parts, squashed
        assert sample() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("container", [tuple, iter, len])
def test_transforms_are_one_or_a_list(container: Callable[..., Any]) -> None:
    d = torch.distributions
    with pytest.raises(ValueError, match="must be a Transform or a list"):
        d.TransformedDistribution(d.Normal(0.0, 1.0), container([d.ExpTransform()]))
