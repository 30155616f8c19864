"""Gamma, Beta and the like: samples, densities, gradients through both, divergences."""

import math
from typing import Any

from tests.answers import numbers, raised


def _made(torch: Any) -> dict[str, Any]:
    """Distributions, each with values that they can have."""
    d = torch.distributions
    a, b = torch.tensor([0.5, 2.0, 30.0]), torch.tensor([1.5, 0.7, 3.0])
    x, m = torch.tensor([0.2, 0.5, 0.9]), torch.tensor([[2.0, 0.3], [0.3, 1.0]])
    table = torch.tensor([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])
    loc = torch.tensor([0.5, -1.0])
    return {
        "exponential": (d.Exponential(b), x),
        "laplace": (d.Laplace(a, b), x),
        "gamma": (d.Gamma(a, b), x),
        "gamma of numbers": (d.Gamma(2.0, 3), torch.tensor(0.7)),
        "beta": (d.Beta(a, b), x),
        "poisson": (d.Poisson(torch.tensor([0.5, 12.0])), torch.tensor([[2.0, 9.0], [0.0, 20.0]])),
        "multinomial": (d.Multinomial(4, table), torch.tensor([1.0, 3.0, 0.0])),
        "multinomial of logits": (d.Multinomial(2, logits=table), torch.tensor([1.0, 0.0, 1.0])),
        "covariance": (d.MultivariateNormal(loc, m), torch.tensor([[0.1, 0.2], [1.0, -3.0]])),
        "precision": (d.MultivariateNormal(loc, precision_matrix=m), torch.tensor([0.1, 0.2])),
        "factor": (d.MultivariateNormal(loc, scale_tril=m.tril()), torch.tensor([0.1, 0.2])),
    }  # fmt: skip


def _told(torch: Any, call: Any) -> Any:
    try:
        value = call()
    except NotImplementedError:
        return "not implemented"
    return numbers(value) if isinstance(value, torch.Tensor) else repr(value)


def moments_of(torch: Any, made: dict[str, Any]) -> Any:
    names = ("mean", "variance", "stddev", "mode")
    for name, (p, _) in made.items():
        yield name, repr(p), p.batch_shape, p.event_shape, p.has_rsample, repr(p.support)
        yield [_told(torch, lambda p=p, n=n: getattr(p, n)) for n in names]
        yield _told(torch, p.entropy)


def densities_of(torch: Any, made: dict[str, Any]) -> Any:
    for name, (p, v) in made.items():
        yield name, _told(torch, lambda p=p, v=v: p.log_prob(v))
        if not p.event_shape and "gamma" not in name:
            yield _told(torch, lambda p=p, v=v: p.cdf(v))
            yield _told(torch, lambda p=p: p.icdf(torch.tensor(0.3)))
        wider = p.expand((2, *p.batch_shape))
        yield wider.batch_shape, wider.event_shape, _told(torch, lambda q=wider, v=v: q.log_prob(v))


def samples_of(torch: Any, made: dict[str, Any]) -> Any:
    for name, (p, _) in made.items():
        torch.manual_seed(1)
        yield name, numbers(p.sample((3,))), numbers(p.sample())


def moments(torch: Any) -> Any:
    return moments_of(torch, _made(torch))


def densities(torch: Any) -> Any:
    return densities_of(torch, _made(torch))


def samples(torch: Any) -> Any:
    return samples_of(torch, _made(torch))


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
    d, made, again = torch.distributions, _made(torch), _made(torch)
    for name, (p, _) in made.items():
        yield (
            name,
            _told(torch, lambda p=p, q=again[name][0]: 1 + torch.distributions.kl_divergence(p, q)),
        )
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
