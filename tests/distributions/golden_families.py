"""Distributions: samples, densities, moments, gradients, divergences, errors."""

import functools
from typing import Any

from tests.answers import numbers, sessions, told
from tests.distributions.golden_transforms import _names, _shown


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
        "dirichlet": (d.Dirichlet(table), tensor([0.2, 0.3, 0.5])),
        "dirichlet of few": (d.Dirichlet(tensor([[0.5, 0.9], [0.5, 2.0]])), tensor([0.3, 0.7])),
        "one-hot": (d.OneHotCategorical(table), tensor([0.0, 0.0, 1.0])),
        "one-hot of logits": (d.OneHotCategorical(logits=table), torch.eye(3)[:2]),
        "gumbel": (d.Gumbel(loc, scale), tensor([[0.1], [0.7]])),
        "gumbel of numbers": (d.Gumbel(0.5, 2), tensor(-1.0)),
        "binomial": (d.Binomial(4, tensor([0.1, 0.5, 0.9])), tensor([0.0, 1.0, 4.0])),
        "binomial of many": (d.Binomial(40, tensor([0.3, 0.6])), tensor([[3.0], [25.0]])),
        "binomial of logits": (d.Binomial(tensor([[3], [5]]), logits=loc), coins),
        "student": (d.StudentT(tensor([0.5, 1.5, 4.0]), loc, scale), x),
        "student of numbers": (d.StudentT(3), tensor(0.7)),
        "mixture": (d.MixtureSameFamily(d.Categorical(a), d.Normal(loc, scale)), x[:, None]),
        "mixture of gammas": (
            d.MixtureSameFamily(d.Categorical(table), d.Gamma(a, b.expand(2, 3))),
            x[:2],
        ),
        "mixture of vectors": (
            d.MixtureSameFamily(
                d.Categorical(table[0]), d.Independent(d.Normal(torch.stack([a, b], -1), 1.0), 1)
            ),
            pair,
        ),
        "mixture of counts": (d.MixtureSameFamily(d.Categorical(a), d.Poisson(b)), 3 * coins[0]),
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


def _more(torch: Any) -> dict[str, Any]:
    told_of = functools.partial(_told, torch)
    return _names(torch) | {"made": _made(torch), "again": _made(torch), "told_of": told_of}


session = sessions(_more, _shown)

uses = session("""
gradients of samples, those of the last two to three digits, to which PyTorch has them
    loc, scale = (tensor(v, requires_grad=True) for v in ([0.5, -1.0], [0.3, 1.5]))
    logits = tensor([0.1, 0.7, -0.2], requires_grad=True)
    _ = torch.manual_seed(1)
    for p in (Normal(loc, scale), Uniform(loc, loc + scale)):
        _ = (p.rsample((5,)) ** 2).sum().backward(), p.log_prob(p.sample()).sum().backward()
        p.sample().requires_grad, loc.grad, scale.grad
    policy, coin = Categorical(logits=logits), Bernoulli(logits=logits)
    action = policy.sample((7,))
    _ = (-policy.log_prob(action).mean() - 0.1 * policy.entropy()).backward()
    _ = coin.log_prob(coin.sample()).sum().backward()
    action, logits.grad
    a = tensor([0.3, 1.0, 2.5, 40.0, 4000.0], dtype=torch.float64)
    b = tensor([1.5, 0.7, 3.0, 60.0, 0.5], dtype=torch.float64)
    of_matrix = MultivariateNormal, [zeros(2), tensor([[2.0, 0.3], [0.3, 1.0]])]
    rounded = [(Gamma, [a[:4], b[:4]]), (Beta, [a[:4], b[:4]])]
    for make, given in ((Exponential, [b]), (Laplace, [a, b]), of_matrix, *rounded):
        _ = torch.manual_seed(0)
        leaves = [x.clone().requires_grad_() for x in given]
        _ = make(*leaves).rsample((2,)).pow(2).sum().backward()
        numbers([x.grad.half() if make in (Gamma, Beta) else x.grad for x in leaves])
gradients of densities
    for kind in (Gamma, Beta, Laplace):
        values = [0.5, 2.0, 30.0], [1.5, 0.7, 3.0], [0.2, 0.5, 0.9]
        leaves = [tensor(v, requires_grad=True) for v in values]
        kind(*leaves[:2]).log_prob(leaves[2]).sum().backward(), numbers([v.grad for v in leaves])
gradients of what is computed from a parameter, after a first use without
    for kind in (Bernoulli, Categorical):
        logits = tensor([0.3, -1.0], requires_grad=True)
        p = kind(logits=logits)
        _ = p.sample(), (p.probs**2).sum().backward()
        logits.grad, repr(p)
    factor = tensor([[2.0, 0.0], [0.3, 1.0]], requires_grad=True)
    p = MultivariateNormal(zeros(3, 2), scale_tril=factor)
    with torch.no_grad():
        _ = p.covariance_matrix
    _ = (p.covariance_matrix.sum() + p.precision_matrix.sum()).backward()
    factor.grad, p, p.expand((2, 3)), p.expand((2, 3)).precision_matrix.shape
divergences
    loc, scale, probs = tensor([0.5, -1.0, 2.0]), tensor([0.3, 1.5, 2.0]), tensor([0.0, 0.4, 1.0])
    table, a = tensor([[0.2, 0.3, 0.5], [0.0, 1.0, 2.0]]), tensor([0.5, 2.0, 30.0])
    b = tensor([1.5, 0.7, 3.0])
    pairs = [(Normal(loc, scale), Normal(0.0, 1.0))]
    pairs += [(Uniform(loc, loc + scale), Uniform(-2.0, 3.0))]
    pairs += [(Bernoulli(probs), Bernoulli(0.3)), (Bernoulli(0.3), Bernoulli(probs))]
    pairs += [(Categorical(table), Categorical(ones(2, 3)))]
    pairs += [(Categorical(ones(2, 3)), Categorical(table))]
    pairs += [(Independent(Normal(loc, scale), 1), Independent(Normal(loc, 1.0), 1))]
    pairs += [(kind(a, b), kind(b, a)) for kind in (Gamma, Beta, Laplace)]
    pairs += [(kind(a), kind(b)) for kind in (Exponential, Poisson)]
    for p, q in (*pairs, (made["covariance"][0], made["factor"][0])):
        divergence(p, q)
    names = "exponential", "laplace", "gamma", "gamma of numbers", "beta", "poisson", "multinomial"
    for name in (*names, "multinomial of logits", "covariance", "precision", "factor"):
        told_of(lambda: 1 + divergence(made[name][0], again[name][0]))
divergences from other families
    loc, b, low = tensor([0.5, -1.0, 2.0]), tensor([1.5, 0.7, 3.0]), tensor([0.2, 0.5, 0.7])
    table, n = tensor([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]]), tensor([4.0, 5.0])
    gumbel, normal = Gumbel(loc, b), Normal(loc, b)
    others = [Beta(b, low), Exponential(b), Gamma(low, b), Laplace(loc, b), Uniform(low, low + b)]
    for p in (*others, gumbel, normal):
        told_of(lambda: divergence(p, Gumbel(low, 2 * b))), divergence(p, Normal(low, 2 * b))
    for p in (gumbel, normal, others[3]):
        [divergence(p, q) for q in (*others[:3], others[4])]
    [divergence(p, q) for p in others[1:3] for q in (others[0], others[4])]
    divergence(Dirichlet(table), Dirichlet(table.flip(0))), divergence(Poisson(b), Bernoulli(low))
    divergence(OneHotCategorical(table), OneHotCategorical(ones(3)))
    divergence(Poisson(b), Binomial(3, low))
    for q in (Binomial(4, 0.3), Binomial(n - 1, 0.4), Binomial(n + 1, 0.4), StudentT(3.0)):
        divergence(Binomial(n, tensor([0.2, 0.7])), q)
    told_of(lambda: divergence(StudentT(3.0), StudentT(4.0)))
gradients of further families
    df, loc, scale, value = [1.5, 2.5, 30.0], [0.5, -1.0, 2.0], [1.5, 0.7, 3.0], [0.2, 0.5, 0.3]
    for kind, given in ((StudentT, [df, loc, scale]), (Gumbel, [loc, scale]), (Dirichlet, [df])):
        x, *leaves = [tensor(v, requires_grad=True) for v in (value, *given)]
        p, _ = kind(*leaves), torch.manual_seed(0)
        _ = (p.rsample((4,)).pow(2).sum() + p.log_prob(x).sum()).backward()
        _ = p.entropy().sum().backward()
        numbers([x.grad] + [v.grad if kind is Gumbel else v.grad.half() for v in leaves])
    logits, k = tensor([0.3, -1.0, 0.0], requires_grad=True), tensor([1.0, 2.0, 0.0])
    mixture = MixtureSameFamily(Categorical(logits=logits), Normal(k, 1.0))
    total = mixture.log_prob(k).sum() + Binomial(2, logits=logits).log_prob(k).sum()
    total = total + OneHotCategorical(logits=logits).log_prob(tensor([0.0, 1.0, 0.0]))
    _ = (total + Binomial(3, logits=logits).entropy().sum() + mixture.variance).backward()
    logits.grad
refusals of further families
    Dirichlet(tensor(1.0)), Dirichlet(tensor([1.0, -1.0])), Dirichlet(ones(2)).log_prob(ones(2))
    OneHotCategorical(ones(3)).log_prob(ones(3)), OneHotCategorical(ones(2), ones(2))
    Gumbel(0.0, -1.0), StudentT(3.0, 0.0, -1.0), Binomial(3), Binomial(-1, 0.5), Binomial(3, 1.5)
    Binomial(3, 0.5).log_prob(tensor(4.0)), Binomial(tensor([2, 3]), ones(2) / 2).entropy()
    Binomial(tensor([2, 3]), ones(2) / 2).enumerate_support(), OneHotCategorical(ones(3)).rsample()
    raised(MixtureSameFamily, Normal(0.0, 1.0), Normal(ones(2), 1.0)).split("Mixture")[1].split()
    MixtureSameFamily(Categorical(ones(2)), 3)
    MixtureSameFamily(Categorical(ones(3)), Normal(ones(2), 1.0))
    mixture = MixtureSameFamily(Categorical(ones(2)), Exponential(ones(2)))
    mixture.log_prob(tensor(-1.0)), mixture.rsample(), told_of(mixture.entropy)
    mixture.mixture_distribution, mixture.component_distribution, c.one_hot.check(torch.eye(2))
    c.one_hot.event_dim, c.one_hot.is_discrete, d.studentT.StudentT is StudentT
modes
    a, b = tensor([0.5, 0.5, 1.0, 1.0, 2.0]), tensor([0.5, 0.7, 1.0, 0.5, 2.0])
    Beta(a, b).mode, Beta(b, a).mode, Gamma(a, b).mode, Gamma(b, a).mode
refusals
    Normal(tensor([0.0, float("nan")]), 1.0), Normal(0.0, -1.0), Normal("a", 1.0), Categorical()
    Categorical(ones(2), ones(2)), Categorical(tensor([-1.0, 2.0])), Categorical(tensor(1.0))
    Bernoulli(2.0), Bernoulli(), Uniform(1.0, 0.0), Categorical(ones(3)).log_prob(tensor(3))
    Categorical(ones(3)).rsample(), Normal(0.0, 1.0).log_prob("a")
    Uniform(0.0, 1.0).log_prob(tensor(2.0)), Bernoulli(0.5).log_prob(tensor(0.5))
    Normal(zeros(2), 1.0).log_prob(zeros(3)), Independent(Normal(zeros(2), 1.0), 2)
    divergence(Uniform(0.0, 1.0), Bernoulli(0.5)), Normal(0.0, -1.0, validate_args=False).scale
    Gamma(-1.0, 1.0), Exponential(ones(2)).log_prob(tensor([-1.0, 1.0]))
    MultivariateNormal(zeros(2)), divergence(Laplace(0.0, 1.0), Bernoulli(0.5))
    raised(lambda: MultivariateNormal(zeros(2), -torch.eye(2))).split("\\n")[0]
    Poisson(1.0).rsample(), Multinomial(3), Multinomial(tensor([3, 4]), ones(2))
    raised(lambda: Beta(1.0, tensor([1.0, 0.0]))).split("0")[0].split(" (")[0]
    MultivariateNormal(zeros(2), torch.eye(2), torch.eye(2))
classes that inherit, as programs write them
    class Half(Normal):
        def __init__(self, scale):
            super().__init__(torch.zeros_like(scale), scale)
        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Half, _instance)
            return super().expand(batch_shape, new)
        def rsample(self, sample_shape=()):
            return super().rsample(sample_shape).abs()
    class Triangle(Distribution):
        arg_constraints = {"width": c.positive}
        def __init__(self, width):
            (self.width,) = d.utils.broadcast_all(width)
            super().__init__(self.width.shape)
        @c.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return c.interval(-self.width, self.width)
        def log_prob(self, value):
            self._validate_sample(value)
            return (self.width - value.abs()).log() - 2 * self.width.log()
    p, q = Half(tensor([1.0, 2.0])), Triangle(2.0)
    p, p.rsample((2,)), p.expand((3, 2)), p.batch_shape, p.log_prob(tensor(0.3))
    divergence(p, Normal(0.0, 1.0)), q, q.log_prob(tensor([0.5])), repr(q.support)
    Triangle.support.event_dim, q.log_prob(tensor(3.0)), Triangle(-1.0), q.sample(), q.mean
    q.expand((2,))
""")
