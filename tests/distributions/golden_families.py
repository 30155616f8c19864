"""Distributions: samples, densities, moments, gradients, errors."""

from typing import Any

from tests.answers import numbers, raised, told


def _made(torch: Any) -> dict[str, Any]:
    """Distributions of several kinds and batches, each with a value that it can have."""
    d = torch.distributions
    loc, scale = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([0.3, 1.5, 2.0])
    table = torch.tensor([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])
    return {
        "normal": (d.Normal(0.0, 1.0), torch.tensor(0.3)),
        "normals": (d.Normal(loc, scale), torch.tensor([0.1, 0.2, 3.0])),
        "mixed": (d.Normal(loc, 2), torch.tensor([[0.1], [0.7]])),
        "uniform": (d.Uniform(loc, loc + scale), loc + scale / 3),
        "bernoulli": (d.Bernoulli(torch.tensor([0.2, 0.5, 1.0])), torch.tensor([1.0, 0.0, 1.0])),
        "logits": (d.Bernoulli(logits=loc), torch.tensor([1.0, 0.0, 1.0])),
        "categorical": (d.Categorical(table), torch.tensor([2, 0])),
        "energies": (d.Categorical(logits=table), torch.tensor([[1, 2], [0, 0]])),
        "single": (d.Categorical(torch.ones(4)), torch.tensor(3)),
        "independent": (d.Independent(d.Normal(loc, scale), 1), torch.tensor([0.1, 0.2, 3.0])),
    }


def _told(torch: Any, call: Any) -> Any:
    """The numbers a call gives, or its error."""
    try:
        value = call()
    except NotImplementedError:
        return "not implemented"
    return numbers(value) if isinstance(value, torch.Tensor) else told(value)


def moments(torch: Any) -> Any:
    return {
        name: [
            repr(p),
            [p.batch_shape, p.event_shape, repr(p.support), p.has_rsample],
            [_told(torch, lambda n=n, p=p: getattr(p, n)) for n in ("mean", "variance", "stddev")],
            _told(torch, lambda p=p: p.mode),
            _told(torch, lambda p=p: p.entropy()),
            _told(torch, lambda p=p: p.perplexity()),
        ]
        for name, (p, _) in _made(torch).items()
    }


def densities(torch: Any) -> Any:
    return {
        name: [
            _told(torch, lambda p=p, v=v: p.log_prob(v)),
            _told(torch, lambda p=p, v=v: p.cdf(v)),
            _told(torch, lambda p=p: p.icdf(torch.tensor(0.3))),
            _told(torch, lambda p=p: p.enumerate_support()),
            _told(torch, lambda p=p: p.enumerate_support(expand=False)),
        ]
        for name, (p, v) in _made(torch).items()
    }


def samples(torch: Any) -> Any:
    found = {}
    for name, (p, _) in _made(torch).items():
        torch.manual_seed(3)
        drawn = [p.sample(), p.sample((2,)), p.sample(torch.Size([20]))]
        drawn += [p.rsample((2, 2))] if p.has_rsample else []
        found[name] = numbers(drawn)
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


def expanded(torch: Any) -> Any:
    found = {}
    for name, (p, _) in _made(torch).items():
        larger = p.expand((2, *p.batch_shape))
        torch.manual_seed(2)
        found[name] = [repr(larger), larger.batch_shape, numbers(larger.sample())]
    return found


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
