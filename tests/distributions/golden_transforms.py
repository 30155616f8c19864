"""Transforms, and what they make of distributions."""

from typing import Any

from tests.answers import numbers, raised


def transforms(torch: Any) -> Any:
    d = torch.distributions
    x = torch.tensor([[0.3, -1.2, 2.0], [0.1, 0.2, -0.4]])
    cases = [
        (d.ExpTransform(), x), (d.SigmoidTransform(), x), (d.TanhTransform(), x),
        (d.SoftplusTransform(), x), (d.AffineTransform(1.0, torch.tensor(-2.0)), x),
        (d.AffineTransform(1.0, 2.0, event_dim=1), x),
        (d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1, 2)]), x),
        (d.StickBreakingTransform(), x), (d.IndependentTransform(d.ExpTransform(), 1), x),
        (d.ComposeTransform([d.StickBreakingTransform(), d.AffineTransform(0.0, 3.0, 1)]), x),
    ]  # fmt: skip
    for t, value in cases:
        y = t(value)
        yield repr(t), t.bijective, t.domain.event_dim, t.codomain.event_dim
        yield numbers(y), numbers(t.inv(y)), numbers(t.log_abs_det_jacobian(value, y))
        yield numbers(t.inv.log_abs_det_jacobian(y, value)), t.forward_shape(value.shape)
        yield t.inverse_shape(y.shape), t.inv.inv is t, repr(t.domain), repr(t.codomain)
        yield t.inv.bijective, repr(t.inv.domain), t.inv.forward_shape(y.shape), repr(t.inv)
    square = torch.tensor([[0.3, -1.2], [0.4, 0.2]])
    for t in (d.SoftmaxTransform(),):
        yield numbers(t(square)), numbers(t(t.inv(t(square)))), t.bijective
    yield d.ExpTransform() == d.ExpTransform(), d.ExpTransform() == d.TanhTransform()
    yield d.AffineTransform(1, 2) == d.AffineTransform(1, 2), d.ExpTransform().inv.inv(x[0])


def equality(torch: Any) -> Any:
    d = torch.distributions
    exp, affine = d.ExpTransform(), d.AffineTransform
    tanh = d.TanhTransform(cache_size=1)
    yield affine(1, 2) == affine(1, 3), affine(1.0, torch.tensor(2.0)) == affine(1, 2)
    yield affine(0, torch.ones(2)) == affine(0, torch.ones(2)), exp != d.ExpTransform()
    yield exp.inv == d.ExpTransform().inv, exp.inv == exp, tanh == d.TanhTransform()
    yield d.ComposeTransform([exp, affine(1, 2)]) == d.ComposeTransform([exp, affine(1, 2)])
    yield d.ComposeTransform([exp, affine(1, 2)]) == d.ComposeTransform([affine(1, 2), exp])
    yield d.IndependentTransform(exp, 1) == d.IndependentTransform(exp, 1)
    yield d.IndependentTransform(exp, 1) == d.IndependentTransform(exp, 2), exp == 3


def signs(torch: Any) -> Any:
    d = torch.distributions
    exp, down = d.ExpTransform(), d.AffineTransform(0.0, -2.0)
    for t in (
        exp, down, d.AffineTransform(0, 0), d.AffineTransform(0, torch.tensor([1.0, -3.0])),
        down.inv, d.ComposeTransform([exp, down, down]), d.ComposeTransform([exp, down]).inv,
        d.ComposeTransform([]), d.IndependentTransform(down, 1),
    ):  # fmt: skip
        yield t.sign
    yield raised(lambda: d.StickBreakingTransform().sign).split(":")[0]
    yield raised(lambda: d.SoftmaxTransform().log_abs_det_jacobian(0, 0)).split(":")[0]


def caches(torch: Any) -> Any:
    d = torch.distributions
    x = torch.tensor([12.0, -0.5])
    for t in (
        d.TanhTransform(), d.AffineTransform(1.0, 3.0),
        d.IndependentTransform(d.TanhTransform(), 1),
        d.ComposeTransform([d.TanhTransform(), d.AffineTransform(0.0, 2.0)]),
    ):  # fmt: skip
        cached = t.with_cache()
        yield repr(cached), cached == t, cached.with_cache() is cached, t.with_cache(0) is t
        y = cached(x)
        yield cached(x) is y, cached.inv(y) is x, t.inv(t(x)) is x
        back = cached.inv
        moved = back(y.clone())
        yield back(y) is x, back.inv is cached, cached(moved).shape
    yield raised(lambda: d.ExpTransform(cache_size=2))
    p = d.TransformedDistribution(d.Normal(torch.zeros(2), 9.0), d.TanhTransform(cache_size=1))
    torch.manual_seed(0)
    drawn = p.rsample((4,))
    yield numbers(p.log_prob(drawn))


def dimensions(torch: Any) -> Any:
    d = torch.distributions
    stick, exp = d.StickBreakingTransform(), d.ExpTransform()
    normal = d.Normal(torch.zeros(5, 3), torch.ones(3))
    vectors = d.MultivariateNormal(torch.zeros(5, 3), torch.eye(3))
    table = torch.arange(6.0).reshape(2, 3)
    for base, parts in (
        (normal, []), (normal, [exp]), (normal, stick), (normal, [stick, exp]), (vectors, stick),
        (d.Independent(normal, 1), [exp, stick]), (d.Independent(normal, 2), [stick.inv.inv]),
        (normal, d.AffineTransform(0.0, 2.0, event_dim=2)),
        (vectors, d.IndependentTransform(exp, 2)),
        (d.Normal(0.0, 1.0), d.AffineTransform(table, 2.0)),
        (d.Normal(torch.zeros(3), 1.0), d.AffineTransform(table, 2.0, event_dim=1)),
    ):  # fmt: skip
        p = d.TransformedDistribution(base, parts)
        x = p.sample((4,))
        yield p.batch_shape, p.event_shape, x.shape, p.log_prob(x).shape, repr(p.support)
        wider = p.expand((2, *p.batch_shape))
        yield wider.batch_shape, wider.event_shape, wider.log_prob(x.unsqueeze(1)).shape
        yield repr(p.base_dist), wider.has_rsample
    both = d.ComposeTransform([exp, stick])
    yield both.event_dim, both.domain.event_dim, both.inv.codomain.event_dim, repr(both.inv)
    yield raised(lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), stick)).split(":")[0]
    yield raised(lambda: d.TransformedDistribution(normal, "exp")).split(" or ")[0]
    yield raised(lambda: d.TransformedDistribution(normal, [exp, 3]))
    p = d.TransformedDistribution(normal, exp)
    yield raised(lambda: p.log_prob(-torch.ones(3))).split(", but")[0]
    yield raised(lambda: p.mean).split(":")[0]


def gradients(torch: Any) -> Any:
    d = torch.distributions
    for parts in (
        [d.TanhTransform(cache_size=1)], [d.SigmoidTransform(), d.AffineTransform(-1, 2)],
        d.StickBreakingTransform(), [d.SoftplusTransform(), d.ExpTransform().inv],
    ):  # fmt: skip
        loc = torch.tensor([0.5, -1.0], requires_grad=True)
        scale = torch.tensor([0.3, 1.5], requires_grad=True)
        p = d.TransformedDistribution(d.Normal(loc, scale), parts)
        torch.manual_seed(0)
        x = p.rsample((3,))
        (x.sum() ** 2 - p.log_prob(x).mean()).backward()
        yield numbers(loc.grad), numbers(scale.grad)
    t = d.AffineTransform(loc, scale)
    t.log_abs_det_jacobian(loc, t(loc)).sum().backward()
    yield numbers(scale.grad)


def divergences(torch: Any) -> Any:
    d = torch.distributions
    p, q = d.Normal(torch.zeros(3), 1.0), d.Normal(torch.tensor([1.0, 0.0, 2.0]), 2.0)
    moved = [d.TransformedDistribution(base, [d.ExpTransform()]) for base in (p, q)]
    yield (
        numbers(d.kl_divergence(*moved)),
        numbers(d.kl_divergence(d.LogNormal(0.0, 1.0), moved[1])),
    )
    whole = [d.Independent(base, 1) for base in moved]
    yield numbers(d.kl_divergence(*whole))
    for other in (
        d.TransformedDistribution(q, []), q, d.Independent(moved[1], 1), d.Independent(q, 1),
    ):  # fmt: skip
        yield raised(lambda other=other: d.kl_divergence(moved[0], other)).split(":")[0]


def of_ones_own(torch: Any) -> Any:
    """Transforms and distributions that inherit, as programs write them."""
    d, c = torch.distributions, torch.distributions.constraints

    class Cube(d.Transform):
        domain = codomain = c.real
        bijective = True
        sign = 1

        def _call(self, x: Any) -> Any:
            return x**3

        def _inverse(self, y: Any) -> Any:
            return y.sign() * y.abs() ** (1 / 3)

        def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
            return (3 * x**2).log()

    class TanhNormal(d.TransformedDistribution):
        arg_constraints = {"loc": c.real, "scale": c.positive}  # noqa: RUF012

        def __init__(self, loc: Any, scale: Any) -> None:
            self.loc, self.scale = loc, scale
            super().__init__(d.Normal(loc, scale), [d.TanhTransform(cache_size=1)])

        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            new = self._get_checked_instance(TanhNormal, _instance)
            return super().expand(batch_shape, _instance=new)

        @property
        def mean(self) -> Any:
            return self.loc.tanh()

    x = torch.tensor([0.3, 1.2])
    cube = Cube(cache_size=1)
    yield cube, cube == Cube(), cube.inv(cube(x)) is x, cube.with_cache(0)._cache_size
    p = d.TransformedDistribution(d.Normal(0.0, 1.0), [Cube(), d.ExpTransform()])
    yield numbers(p.log_prob(x)), numbers(p.cdf(x)), numbers(p.icdf(torch.tensor(0.7)))
    q = TanhNormal(x, torch.ones(2))
    torch.manual_seed(0)
    y = q.rsample((2,))
    yield q, numbers(y), numbers(q.log_prob(y)), numbers(q.mean), q.expand((3, 2)).batch_shape
    yield raised(lambda: q.log_prob(2 * torch.ones(2))).split(", but")[0]
    yield raised(lambda: TanhNormal(x, -x)).split(", but")[0]

    registry = type(d.biject_to)()
    registry.register(c.positive, lambda constraint: d.SoftplusTransform())

    @registry.register(c.real)
    def same(constraint: Any) -> Any:
        return d.identity_transform

    yield registry(c.greater_than(3.0)), registry(c.real), raised(registry, c.simplex)
    yield raised(registry.register, 3, same).split(":")[0]


def registries(torch: Any) -> Any:
    d, c = torch.distributions, torch.distributions.constraints
    x = torch.tensor([[0.3, -1.2], [0.1, 0.2]])
    sets = [
        c.real, c.positive, c.nonnegative, c.unit_interval, c.interval(-1, 3), c.less_than(2.0),
        c.greater_than(2.0), c.simplex, c.real_vector, c.independent(c.positive, 1),
    ]  # fmt: skip
    for one in sets:
        yield repr(one), repr(d.transform_to(one)), repr(d.biject_to(one))
        yield numbers(d.transform_to(one)(x)), numbers(d.biject_to(one)(x))
        yield bool(one.check(d.transform_to(one)(x)).all())
    yield raised(lambda: d.biject_to(c.boolean))
    for one, value in (
        (c.nonnegative_integer, [0.0, 1.5, -1.0]), (c.positive_integer, [0.0, 1.0]),
        (c.multinomial(3), [1.0, 2.0]), (c.lower_triangular, [[1.0, 2.0], [0.0, 1.0]]),
        (c.positive_definite, [[1.0, 2.0], [2.0, 1.0]]),
        (c.lower_cholesky, [[1.0, 0.0], [2.0, 1.0]]),
    ):  # fmt: skip
        yield repr(one), one.check(torch.tensor(value)), one.event_dim, one.is_discrete
