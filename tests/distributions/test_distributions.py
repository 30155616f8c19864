"""Distributions, compared with PyTorch, and PyTorch's files of them."""

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
