"""Distributions: samples, densities, moments, gradients, errors."""

from typing import Any

from tests.answers import numbers, raised, told


def _made(torch: Any) -> dict[str, Any]:
    """Distributions of all kinds and several batches, each with a value that it can have."""
    d, tensor = torch.distributions, torch.tensor
    loc, scale = tensor([0.5, -1.0, 2.0]), tensor([0.3, 1.5, 2.0])
    a, b, x = tensor([0.5, 2.0, 30.0]), tensor([1.5, 0.7, 3.0]), tensor([0.2, 0.5, 0.9])
    table, m = tensor([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]]), tensor([[2.0, 0.3], [0.3, 1.0]])
    pair, coins, point = tensor([0.5, -1.0]), tensor([1.0, 0.0, 1.0]), tensor([0.1, 0.2])
    logistic = [d.SigmoidTransform().inv, d.AffineTransform(1.0, -2.0)]
    transformed = d.TransformedDistribution
    return {
        "normal": (d.Normal(0.0, 1.0), tensor(0.3)),
        "normals": (d.Normal(loc, scale), tensor([0.1, 0.2, 3.0])),
        "mixed": (d.Normal(loc, 2), tensor([[0.1], [0.7]])),
        "uniform": (d.Uniform(loc, loc + scale), loc + scale / 3),
        "bernoulli": (d.Bernoulli(tensor([0.2, 0.5, 1.0])), coins),
        "logits": (d.Bernoulli(logits=loc), coins),
        "categorical": (d.Categorical(table), tensor([2, 0])),
        "energies": (d.Categorical(logits=table), tensor([[1, 2], [0, 0]])),
        "single": (d.Categorical(torch.ones(4)), tensor(3)),
        "independent": (d.Independent(d.Normal(loc, scale), 1), tensor([0.1, 0.2, 3.0])),
        "exponential": (d.Exponential(b), x),
        "laplace": (d.Laplace(a, b), x),
        "gamma": (d.Gamma(a, b), x),
        "gamma of numbers": (d.Gamma(2.0, 3), tensor(0.7)),
        "beta": (d.Beta(a, b), x),
        "poisson": (d.Poisson(tensor([0.5, 12.0])), tensor([[2.0, 9.0], [0.0, 20.0]])),
        "multinomial": (d.Multinomial(4, table), tensor([1.0, 3.0, 0.0])),
        "multinomial of logits": (d.Multinomial(2, logits=table), coins),
        "covariance": (d.MultivariateNormal(pair, m), tensor([[0.1, 0.2], [1.0, -3.0]])),
        "precision": (d.MultivariateNormal(pair, precision_matrix=m), point),
        "factor": (d.MultivariateNormal(pair, scale_tril=m.tril()), point),
        "lognormal": (d.LogNormal(a, b), x),
        "logistic": (transformed(d.Uniform(torch.zeros(2), 1), logistic), tensor([0.3, -4.0])),
        "squashed": (d.Independent(transformed(d.Normal(a, b), [d.TanhTransform()]), 1), x),
        "broken": (transformed(d.Normal(pair, 1.0), d.StickBreakingTransform()), table[0]),
    }


def _told(torch: Any, call: Any) -> Any:
    """The numbers a call gives, or its error."""
    try:
        value = call()
    except NotImplementedError:
        return "not implemented"
    return numbers(value) if isinstance(value, torch.Tensor) else told(value)


def moments(torch: Any) -> Any:
    names = ("mean", "variance", "stddev", "mode")
    return {
        name: [
            repr(p), [p.batch_shape, p.event_shape, repr(p.support), p.has_rsample],
            [_told(torch, lambda n=n, p=p: getattr(p, n)) for n in names],
            _told(torch, p.entropy), "gamma" in name or _told(torch, p.perplexity),
        ]
        for name, (p, _) in _made(torch).items()
    }  # fmt: skip


def densities(torch: Any) -> Any:
    found = {}
    for name, (p, v) in _made(torch).items():
        wider = p.expand((2, *p.batch_shape))
        found[name] = [
            *[_told(torch, lambda p=p, v=v: p.log_prob(v)) for p in (p, wider)],
            _told(torch, p.enumerate_support),
            _told(torch, lambda p=p: p.enumerate_support(expand=False)),
        ]
        if not p.event_shape and "gamma" not in name:
            found[name] += [_told(torch, lambda p=p, v=v: p.cdf(v))]
            found[name] += [_told(torch, lambda p=p: p.icdf(torch.tensor(0.3)))]
    return found


def samples(torch: Any) -> Any:
    found = {}
    for name, (p, _) in _made(torch).items():
        larger = p.expand((2, *p.batch_shape))
        found[name] = [repr(larger), larger.batch_shape, larger.event_shape]
        torch.manual_seed(3)
        drawn = [p.sample(), p.sample((2,)), p.sample(torch.Size([20])), larger.sample()]
        drawn += [p.rsample((2, 2))] if p.has_rsample else []
        found[name].append(numbers(drawn))
    return found


def gradients(torch: Any) -> Any:
    d = torch.distributions
    torch.manual_seed(1)
    loc = torch.tensor([0.5, -1.0], requires_grad=True)
    scale = torch.tensor([0.3, 1.5], requires_grad=True)
    logits = torch.tensor([0.1, 0.7, -0.2], requires_grad=True)
    for p in (d.Normal(loc, scale), d.Uniform(loc, loc + scale)):
        (p.rsample((5,)) ** 2).sum().backward()
        p.log_prob(p.sample()).sum().backward()
        yield from [p.sample().requires_grad, numbers(loc.grad), numbers(scale.grad)]
    policy = d.Categorical(logits=logits)
    action = policy.sample((7,))
    (-policy.log_prob(action).mean() - 0.1 * policy.entropy()).backward()
    coin = d.Bernoulli(logits=logits)
    coin.log_prob(coin.sample()).sum().backward()
    yield from [action, numbers(logits.grad)]


def divergences(torch: Any) -> Any:
    d = torch.distributions
    loc, scale = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([0.3, 1.5, 2.0])
    probs, table = torch.tensor([0.0, 0.4, 1.0]), torch.tensor([[0.2, 0.3, 0.5], [0.0, 1.0, 2.0]])
    pairs = [
        (d.Normal(loc, scale), d.Normal(0.0, 1.0)),
        (d.Uniform(loc, loc + scale), d.Uniform(-2.0, 3.0)),
        (d.Bernoulli(probs), d.Bernoulli(0.3)),
        (d.Bernoulli(0.3), d.Bernoulli(probs)),
        (d.Categorical(table), d.Categorical(torch.ones(2, 3))),
        (d.Categorical(torch.ones(2, 3)), d.Categorical(table)),
        (d.Independent(d.Normal(loc, scale), 1), d.Independent(d.Normal(loc, 1.0), 1)),
    ]
    return [numbers(d.kl_divergence(p, q)) for p, q in pairs]


def refused(torch: Any) -> Any:
    d = torch.distributions
    nan = float("nan")
    return [
        raised(d.Normal, torch.tensor([0.0, nan]), 1.0), raised(d.Normal, 0.0, -1.0),
        raised(d.Normal, "a", 1.0), raised(d.Categorical),
        raised(d.Categorical, torch.ones(2), torch.ones(2)),
        raised(d.Categorical, torch.tensor([-1.0, 2.0])), raised(d.Categorical, torch.tensor(1.0)),
        raised(d.Bernoulli, 2.0), raised(d.Bernoulli), raised(d.Uniform, 1.0, 0.0),
        raised(d.Categorical(torch.ones(3)).log_prob, torch.tensor(3)),
        raised(d.Categorical(torch.ones(3)).rsample), raised(d.Normal(0.0, 1.0).log_prob, "a"),
        raised(d.Uniform(0.0, 1.0).log_prob, torch.tensor(2.0)),
        raised(d.Bernoulli(0.5).log_prob, torch.tensor(0.5)),
        raised(d.Normal(torch.zeros(2), 1.0).log_prob, torch.zeros(3)),
        raised(d.Independent, d.Normal(torch.zeros(2), 1.0), 2),
        raised(d.kl_divergence, d.Uniform(0.0, 1.0), d.Bernoulli(0.5)),
        d.Normal(0.0, -1.0, validate_args=False).scale,
    ]  # fmt: skip
