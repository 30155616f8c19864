"""Transforms, and what they make of distributions."""

from typing import Any

from tests.answers import numbers, sessions


def _shown(answer: Any) -> Any:
    """Tensors as numbers."""
    return numbers(answer) if hasattr(answer, "requires_grad") else answer


def _names(torch: Any) -> dict[str, Any]:
    d = torch.distributions
    return {name: getattr(d, name) for name in dir(d) if name[0].isupper()} | {
        "d": d, "c": d.constraints, "divergence": d.kl_divergence, "tensor": torch.tensor,
        "ones": torch.ones, "zeros": torch.zeros, "affine": d.AffineTransform,
        "exp": d.ExpTransform(), "tanh": d.TanhTransform(), "stick": d.StickBreakingTransform(),
        "softmax": d.SoftmaxTransform(), "x": torch.tensor([[0.3, -1.2, 2.0], [0.1, 0.2, -0.4]]),
    }  # fmt: skip


session = sessions(_names, _shown)

transforms = session("""
values
    transforms = [exp, SigmoidTransform(), tanh, SoftplusTransform(), affine(1.0, tensor(-2.0))]
    transforms += [affine(1.0, 2.0, event_dim=1), ComposeTransform([exp, affine(1, 2)]), stick]
    transforms += [IndependentTransform(exp, 1), ComposeTransform([stick, affine(0.0, 3.0, 1)])]
    for t in transforms:
        y = t(x)
        repr(t), t.bijective, t.domain.event_dim, t.codomain.event_dim
        y, t.inv(y), t.log_abs_det_jacobian(x, y), t.inv.log_abs_det_jacobian(y, x)
        t.forward_shape(x.shape), t.inverse_shape(y.shape), t.inv.inv is t
        repr(t.domain), repr(t.codomain), t.inv.bijective, repr(t.inv.domain)
        t.inv.forward_shape(y.shape), repr(t.inv)
    y = softmax(tensor([[0.3, -1.2], [0.4, 0.2]]))
    y, softmax(softmax.inv(y)), softmax.bijective, exp.inv.inv(x[0])
equality
    exp == ExpTransform(), exp == tanh, affine(1, 2) == affine(1, 2), affine(1, 2) == affine(1, 3)
    affine(1.0, tensor(2.0)) == affine(1, 2), affine(0, ones(2)) == affine(0, ones(2))
    exp != ExpTransform(), exp.inv == ExpTransform().inv, exp.inv == exp, exp == 3
    TanhTransform(cache_size=1) == tanh
    ComposeTransform([exp, affine(1, 2)]) == ComposeTransform([exp, affine(1, 2)])
    ComposeTransform([exp, affine(1, 2)]) == ComposeTransform([affine(1, 2), exp])
    IndependentTransform(exp, 1) == IndependentTransform(exp, 1)
    IndependentTransform(exp, 1) == IndependentTransform(exp, 2)
signs
    down = affine(0.0, -2.0)
    exp.sign, down.sign, affine(0, 0).sign, affine(0, tensor([1.0, -3.0])).sign, down.inv.sign
    ComposeTransform([exp, down, down]).sign, ComposeTransform([exp, down]).inv.sign
    ComposeTransform([]).sign, IndependentTransform(down, 1).sign
    raised(lambda: stick.sign).split(":")[0]
    raised(lambda: softmax.log_abs_det_jacobian(0, 0)).split(":")[0]
caches
    x = tensor([12.0, -0.5])
    transforms = [tanh, affine(1.0, 3.0), IndependentTransform(tanh, 1)]
    for t in (*transforms, ComposeTransform([tanh, affine(0.0, 2.0)])):
        cached = t.with_cache()
        repr(cached), cached == t, cached.with_cache() is cached, t.with_cache(0) is t
        y = cached(x)
        cached(x) is y, cached.inv(y) is x, t.inv(t(x)) is x
        back = cached.inv
        moved = back(y.clone())
        back(y) is x, back.inv is cached, cached(moved).shape
    ExpTransform(cache_size=2)
    p = TransformedDistribution(Normal(zeros(2), 9.0), TanhTransform(cache_size=1))
    p.log_prob(p.rsample((4,)))
one's own, as programs write them
    class Cube(d.Transform):
        domain = codomain = c.real
        bijective = True
        sign = 1
        def _call(self, x):
            return x**3
        def _inverse(self, y):
            return y.sign() * y.abs() ** (1 / 3)
        def log_abs_det_jacobian(self, x, y):
            return (3 * x**2).log()
    x, cube = tensor([0.3, 1.2]), Cube(cache_size=1)
    cube, cube == Cube(), cube.inv(cube(x)) is x, cube.with_cache(0)._cache_size
    p = TransformedDistribution(Normal(0.0, 1.0), [Cube(), exp])
    p.log_prob(x), p.cdf(x), p.icdf(tensor(0.7))
registries
    x = tensor([[0.3, -1.2], [0.1, 0.2]])
    sets = [c.real, c.positive, c.nonnegative, c.unit_interval, c.interval(-1, 3), c.less_than(2.0)]
    sets += [c.greater_than(2.0), c.simplex, c.real_vector, c.independent(c.positive, 1)]
    for one in sets:
        repr(one), repr(d.transform_to(one)), repr(d.biject_to(one)), d.transform_to(one)(x)
        d.biject_to(one)(x), bool(one.check(d.transform_to(one)(x)).all())
    d.biject_to(c.boolean)
    values = {c.nonnegative_integer: [0.0, 1.5, -1.0], c.positive_integer: [0.0, 1.0]}
    values |= {c.multinomial(3): [1.0, 2.0], c.lower_triangular: [[1.0, 2.0], [0.0, 1.0]]}
    values |= {c.positive_definite: [[1.0, 2.0], [2.0, 1.0]]}
    for one, value in (values | {c.lower_cholesky: [[1.0, 0.0], [2.0, 1.0]]}).items():
        repr(one), one.check(tensor(value)), one.event_dim, one.is_discrete
    registry = type(d.biject_to)()
    registry.register(c.positive, lambda constraint: SoftplusTransform()) is None
    @registry.register(c.real)
    def same(constraint):
        return d.identity_transform
    registry(c.greater_than(3.0)), registry(c.real), registry(c.simplex)
    raised(registry.register, 3, same).split(":")[0]
""")

distributions = session("""
dimensions
    normal, vectors = Normal(zeros(5, 3), ones(3)), MultivariateNormal(zeros(5, 3), torch.eye(3))
    table, short = torch.arange(6.0).reshape(2, 3), Normal(zeros(3), 1.0)
    pairs = [(normal, []), (normal, [exp]), (normal, stick), (normal, [stick, exp])]
    pairs += [(vectors, stick), (Independent(normal, 1), [exp, stick])]
    pairs += [(Independent(normal, 2), [stick.inv.inv]), (normal, affine(0.0, 2.0, event_dim=2))]
    pairs += [(vectors, IndependentTransform(exp, 2)), (Normal(0.0, 1.0), affine(table, 2.0))]
    for base, parts in (*pairs, (short, affine(table, 2.0, event_dim=1))):
        p = TransformedDistribution(base, parts)
        x = p.sample((4,))
        p.batch_shape, p.event_shape, x.shape, p.log_prob(x).shape, repr(p.support)
        wider = p.expand((2, *p.batch_shape))
        wider.batch_shape, wider.event_shape, wider.log_prob(x.unsqueeze(1)).shape
        repr(p.base_dist), wider.has_rsample
    both, p = ComposeTransform([exp, stick]), TransformedDistribution(normal, exp)
    both.event_dim, both.domain.event_dim, both.inv.codomain.event_dim, repr(both.inv)
    raised(lambda: TransformedDistribution(Normal(0.0, 1.0), stick)).split(":")[0]
    raised(lambda: TransformedDistribution(normal, "exp")).split(" or ")[0]
    TransformedDistribution(normal, [exp, 3]), raised(lambda: p.mean).split(":")[0]
    raised(lambda: p.log_prob(-ones(3))).split(", but")[0]
gradients
    parts = [[TanhTransform(cache_size=1)], [SigmoidTransform(), affine(-1, 2)], stick]
    for part in (*parts, [SoftplusTransform(), exp.inv]):
        loc, scale = (tensor(v, requires_grad=True) for v in ([0.5, -1.0], [0.3, 1.5]))
        p = TransformedDistribution(Normal(loc, scale), part)
        _ = torch.manual_seed(0)
        x = p.rsample((3,))
        _ = (x.sum() ** 2 - p.log_prob(x).mean()).backward()
        loc.grad, scale.grad
    t = affine(loc, scale)
    t.log_abs_det_jacobian(loc, t(loc)).sum().backward(), scale.grad
divergences
    p, q = Normal(zeros(3), 1.0), Normal(tensor([1.0, 0.0, 2.0]), 2.0)
    moved = [TransformedDistribution(base, [exp]) for base in (p, q)]
    divergence(*moved), divergence(LogNormal(0.0, 1.0), moved[1])
    divergence(*[Independent(base, 1) for base in moved])
    for other in (TransformedDistribution(q, []), q, Independent(moved[1], 1), Independent(q, 1)):
        raised(lambda: divergence(moved[0], other)).split(":")[0]
one's own, as programs write them
    class TanhNormal(TransformedDistribution):
        arg_constraints = {"loc": c.real, "scale": c.positive}
        def __init__(self, loc, scale):
            self.loc, self.scale = loc, scale
            super().__init__(Normal(loc, scale), [TanhTransform(cache_size=1)])
        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(TanhNormal, _instance)
            return super().expand(batch_shape, _instance=new)
        @property
        def mean(self):
            return self.loc.tanh()
    x = tensor([0.3, 1.2])
    q = TanhNormal(x, ones(2))
    y = q.rsample((2,))
    q, y, q.log_prob(y), q.mean, q.expand((3, 2)).batch_shape
    raised(lambda: q.log_prob(2 * ones(2))).split(", but")[0]
    raised(lambda: TanhNormal(x, -x)).split(", but")[0]
""")
