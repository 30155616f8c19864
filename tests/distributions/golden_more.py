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
    loc, simplex = torch.tensor([0.5, -1.0]), torch.tensor([0.2, 0.3, 0.5])
    return {
        "exponential": (d.Exponential(b), x),
        "laplace": (d.Laplace(a, b), x),
        "gamma": (d.Gamma(a, b), x),
        "gamma of numbers": (d.Gamma(2.0, 3), torch.tensor(0.7)),
        "beta": (d.Beta(a, b), x),
        "dirichlet": (d.Dirichlet(a), simplex),
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


def moments(torch: Any) -> Any:
    names = ("mean", "variance", "stddev", "mode")
    for name, (p, _) in _made(torch).items():
        yield name, repr(p), p.batch_shape, p.event_shape, p.has_rsample, repr(p.support)
        yield [_told(torch, lambda p=p, n=n: getattr(p, n)) for n in names]
        yield _told(torch, p.entropy)


def densities(torch: Any) -> Any:
    for name, (p, v) in _made(torch).items():
        yield name, _told(torch, lambda p=p, v=v: p.log_prob(v))
        if not p.event_shape and "gamma" not in name:
            yield _told(torch, lambda p=p, v=v: p.cdf(v))
            yield _told(torch, lambda p=p: p.icdf(torch.tensor(0.3)))
        wider = p.expand((2, *p.batch_shape))
        yield wider.batch_shape, wider.event_shape, _told(torch, lambda q=wider, v=v: q.log_prob(v))


def samples(torch: Any) -> Any:
    for name, (p, _) in _made(torch).items():
        torch.manual_seed(1)
        yield name, numbers(p.sample((3,))), numbers(p.sample())


def gradients_of_samples(torch: Any) -> Any:
    d = torch.distributions
    a = torch.tensor([0.3, 1.0, 2.5, 40.0, 4000.0], dtype=torch.float64)
    b = torch.tensor([1.5, 0.7, 3.0, 60.0, 0.5], dtype=torch.float64)
    # PyTorch has the slopes of these to three digits only.
    for make in (d.Gamma, d.Beta, lambda x, y: d.Dirichlet(torch.stack([x, y, y], -1))):
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
    yield numbers(d.kl_divergence(d.Dirichlet(a), d.Dirichlet(b)))
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
