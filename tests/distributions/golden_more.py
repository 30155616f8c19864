"""Gamma, Beta and the like: gradients through samples and densities, divergences."""

import math
from typing import Any

from tests.answers import numbers, raised
from tests.distributions.golden_families import _made, _told

NAMES = (
    "exponential", "laplace", "gamma", "gamma of numbers", "beta", "poisson", "multinomial",
    "multinomial of logits", "covariance", "precision", "factor",
)  # fmt: skip


def gradients_of_samples(torch: Any) -> Any:
    d = torch.distributions
    a = torch.tensor([0.3, 1.0, 2.5, 40.0, 4000.0], dtype=torch.float64)
    b = torch.tensor([1.5, 0.7, 3.0, 60.0, 0.5], dtype=torch.float64)
    # PyTorch has the slopes of these to three digits only.
    for make in (d.Gamma, d.Beta):
        torch.manual_seed(0)
        leaves = [x[:4].clone().requires_grad_() for x in (a, b)]
        make(*leaves).rsample((2,)).pow(2).sum().backward()
        yield [numbers(x.grad.half()) for x in leaves]
    m = torch.tensor([[2.0, 0.3], [0.3, 1.0]])
    for make, given in (
        (d.Exponential, [b]), (d.Laplace, [a, b]),
        (lambda x, y: d.MultivariateNormal(x, y), [torch.zeros(2), m]),
    ):  # fmt: skip
        torch.manual_seed(0)
        leaves = [x.clone().requires_grad_() for x in given]
        make(*leaves).rsample((2,)).pow(2).sum().backward()
        yield [numbers(x.grad) for x in leaves]


def gradients_of_densities(torch: Any) -> Any:
    d = torch.distributions
    a, b = torch.tensor([0.5, 2.0, 30.0]), torch.tensor([1.5, 0.7, 3.0])
    x = torch.tensor([0.2, 0.5, 0.9])
    for kind in (d.Gamma, d.Beta, d.Laplace):
        leaves = [v.clone().requires_grad_() for v in (a, b, x)]
        p = kind(*leaves[:2])
        p.log_prob(leaves[2]).sum().backward()
        yield [numbers(v.grad) for v in leaves]


def divergences(torch: Any) -> Any:
    made, again = _made(torch), _made(torch)
    for name in NAMES:
        pair = made[name][0], again[name][0]
        yield name, _told(torch, lambda pair=pair: 1 + torch.distributions.kl_divergence(*pair))
    d = torch.distributions
    a, b = torch.tensor([0.5, 2.0, 30.0]), torch.tensor([1.5, 0.7, 3.0])
    for kind in (d.Gamma, d.Beta, d.Laplace):
        yield numbers(d.kl_divergence(kind(a, b), kind(b, a)))
    yield numbers(d.kl_divergence(d.Exponential(a), d.Exponential(b)))
    yield numbers(d.kl_divergence(d.Poisson(a), d.Poisson(b)))
    one, other = made["covariance"][0], made["factor"][0]
    yield numbers(d.kl_divergence(one, other))


def refused(torch: Any) -> Any:
    d = torch.distributions
    yield raised(lambda: d.Gamma(-1.0, 1.0))
    yield raised(lambda: d.Exponential(torch.ones(2)).log_prob(torch.tensor([-1.0, 1.0])))
    yield raised(lambda: d.MultivariateNormal(torch.zeros(2)))
    yield raised(lambda: d.MultivariateNormal(torch.zeros(2), -torch.eye(2))).split("\n")[0]
    yield raised(lambda: d.kl_divergence(d.Laplace(0.0, 1.0), d.Bernoulli(0.5)))
    yield raised(lambda: d.Poisson(1.0).rsample()), math.pi
    yield raised(lambda: d.Multinomial(3))
    yield raised(lambda: d.Multinomial(torch.tensor([3, 4]), torch.ones(2)))
    yield raised(lambda: d.Beta(1.0, torch.tensor([1.0, 0.0]))).split("0")[0].split(" (")[0]
    yield raised(lambda: d.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2)))


def lazily(torch: Any) -> Any:
    """What is computed from a parameter has its gradient, after a first use without."""
    d = torch.distributions
    for kind in (d.Bernoulli, d.Categorical):
        logits = torch.tensor([0.3, -1.0], requires_grad=True)
        p = kind(logits=logits)
        p.sample()
        (p.probs**2).sum().backward()
        yield numbers(logits.grad), repr(p)
    factor = torch.tensor([[2.0, 0.0], [0.3, 1.0]], requires_grad=True)
    p = d.MultivariateNormal(torch.zeros(3, 2), scale_tril=factor)
    with torch.no_grad():
        p.covariance_matrix  # noqa: B018
    (p.covariance_matrix.sum() + p.precision_matrix.sum()).backward()
    yield numbers(factor.grad), p, p.expand((2, 3)), p.expand((2, 3)).precision_matrix.shape


def modes(torch: Any) -> Any:
    a, b = torch.tensor([0.5, 0.5, 1.0, 1.0, 2.0]), torch.tensor([0.5, 0.7, 1.0, 0.5, 2.0])
    for kind in (torch.distributions.Beta, torch.distributions.Gamma):
        yield numbers(kind(a, b).mode), numbers(kind(b, a).mode)


def of_ones_own(torch: Any) -> Any:
    """Classes that inherit, as programs write them."""
    d = torch.distributions

    class Half(d.Normal):
        def __init__(self, scale: Any) -> None:
            super().__init__(torch.zeros_like(scale), scale)

        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            new = self._get_checked_instance(Half, _instance)
            return super().expand(batch_shape, new)

        def rsample(self, sample_shape: Any = ()) -> Any:
            return super().rsample(sample_shape).abs()

    class Triangle(d.Distribution):
        arg_constraints = {"width": d.constraints.positive}  # noqa: RUF012

        def __init__(self, width: Any) -> None:
            (self.width,) = d.utils.broadcast_all(width)
            super().__init__(self.width.shape)

        @d.constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self) -> Any:
            return d.constraints.interval(-self.width, self.width)

        def log_prob(self, value: Any) -> Any:
            self._validate_sample(value)
            return (self.width - value.abs()).log() - 2 * self.width.log()

    p = Half(torch.tensor([1.0, 2.0]))
    torch.manual_seed(0)
    yield p, numbers(p.rsample((2,))), p.expand((3, 2)), p.batch_shape
    yield numbers(p.log_prob(torch.tensor(0.3))), numbers(d.kl_divergence(p, d.Normal(0.0, 1.0)))
    q = Triangle(2.0)
    yield q, numbers(q.log_prob(torch.tensor([0.5]))), repr(q.support), Triangle.support.event_dim
    yield raised(lambda: q.log_prob(torch.tensor(3.0))), raised(lambda: Triangle(-1.0))
    yield raised(lambda: q.sample()), raised(lambda: q.mean), raised(lambda: q.expand((2,)))
