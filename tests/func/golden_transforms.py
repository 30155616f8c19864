"""Transforms of functions, alone, nested in each other, and inside and outside of recording."""

from collections import OrderedDict, namedtuple
from typing import Any

from tests.answers import numbers, raised, told

Pair = namedtuple("Pair", ["a", "b"])


def _values(tree: Any) -> Any:
    """Tensors as numbers, with whether they require grad."""
    if isinstance(tree, dict):
        return {str(k): _values(v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [type(tree).__name__, *map(_values, tree)]
    if hasattr(tree, "requires_grad"):
        return [numbers(tree), tree.requires_grad]
    return told(tree)


def _each(*trees: Any) -> list[Any]:
    return [_values(tree) for tree in trees]


def _points(torch: Any) -> tuple[Any, Any]:
    x = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64)
    w = torch.tensor([[0.5, 1.0, -0.2], [1.5, 0.1, 0.4]], dtype=torch.float64)
    return x, w


def gradients(torch: Any) -> Any:
    x, w = _points(torch)
    f = torch.func

    def loss(w: Any, x: Any, scale: float = 1.0) -> Any:
        return (torch.tanh(w @ x) ** 2).sum() * scale

    def both(w: Any, x: Any) -> Any:
        y = w @ x
        return (y**2).sum(), {"y": y}

    return _each(
        f.grad(loss)(w, x), f.grad(loss, argnums=1)(w, x, scale=2.0),
        f.grad(loss, argnums=(1, 0))(w, x), f.grad(loss, argnums=-1)(w, x),
        f.grad_and_value(loss, argnums=(0,))(w, x), f.grad(both, has_aux=True)(w, x),
        f.grad_and_value(both, has_aux=True)(w, x),
        f.grad(lambda p: (p["w"] @ p["x"][0]).sum())({"w": w, "x": [x]}),
        f.grad(lambda p: p.a.sum() * 2 + p.b)(Pair(x, x[0])), f.grad(lambda x: w.sum())(x),
        f.grad(lambda x: x.detach().sum())(x),
    )  # fmt: skip


def gradients_refused(torch: Any) -> Any:
    x, _ = _points(torch)
    grad = torch.func.grad
    return [
        raised(grad(lambda x: x), x), raised(grad(lambda x: 3), x),
        raised(grad(lambda x: x.sum(), has_aux=True), x),
        raised(grad(lambda x: x.sum(), argnums=1), x),
        raised(grad(lambda x: x.sum(), argnums=(0, 0)), x),
        raised(grad(lambda x: x.sum(), argnums=()), x),
        raised(grad(lambda x: x.sum(), argnums="x"), x), raised(grad(lambda x: x * 2), 3.0),
    ]  # fmt: skip


def nested(torch: Any) -> Any:
    x, w = _points(torch)
    f = torch.func

    def cube(t: Any) -> Any:
        return (t**3).sum()

    point = torch.tensor(2.0)
    return _each(
        f.grad(f.grad(torch.sin))(point), f.grad(f.grad(f.grad(lambda t: t**4)))(point),
        f.grad(lambda t: f.grad(cube)(t).sum())(x), f.hessian(cube)(x),
        f.hessian(lambda w: (w.sum(0) * x).prod())(w), f.jacrev(f.jacrev(torch.sin))(x),
        f.jacfwd(f.jacfwd(torch.exp))(x), f.jvp(f.grad(cube), (x,), (torch.ones_like(x),)),
        f.grad(lambda t: f.jvp(torch.sin, (t,), (torch.ones_like(t),))[1].sum())(x),
        f.vjp(f.grad(cube), x)[1](torch.ones_like(x)),
        # The inner function sees the outer's variable.
        f.grad(lambda t: f.grad(lambda s: s * t)(t) * t)(point),
    )  # fmt: skip


def jacobians(torch: Any) -> Any:
    x, w = _points(torch)
    f = torch.func

    def product(w: Any, x: Any) -> Any:
        return {"y": w @ x, "z": (x.sum(), w[0])}

    for transform in (f.jacrev, f.jacfwd):
        yield _each(
            transform(torch.sin)(x), transform(product)(w, x),
            transform(product, argnums=(0, 1))(w, x),
            transform(lambda x: (x * 2, x.sum()), has_aux=True)(x),
            transform(lambda p: p["a"] * p["b"][0])({"a": x, "b": [x]}),
            transform(lambda x: x.sum())(x), raised(transform(lambda x: 3), x),
            raised(transform(lambda x: x, argnums=2), x),
        )  # fmt: skip
    chunked = _values(f.jacrev(torch.sin, chunk_size=2)(x))
    yield from [chunked, raised(f.jacrev, torch.sin, chunk_size=0)]


def products(torch: Any) -> Any:
    x, w = _points(torch)
    f = torch.func
    output, pull = f.vjp(lambda w, x: {"y": w @ x}, w, x)
    weights = {"y": torch.ones(2, dtype=torch.float64)}
    one, back = f.vjp(lambda x: (x * 2, x.sum()), x)
    return _each(
        output, pull(weights), pull({"y": weights["y"] * 2}),
        [one, back((x, x[0]))], f.vjp(lambda x: (x * 2, x), x, has_aux=True)[2],
        f.jvp(lambda w, x: [w @ x], (w, x), (w, x)),
        f.jvp(lambda x: (x * 2, x + 1), (x,), (x,), has_aux=True),
        f.jvp(lambda x: x.detach() * 2, (x,), (x,)), raised(back, x),
        raised(f.vjp, lambda x: 3, x), raised(f.vjp, lambda x: x.long(), x),
        raised(f.vjp, lambda x: x, x, has_aux=True), raised(f.jvp, torch.sin, x, x),
        raised(f.jvp, torch.sin, (x,), (x, x)).partition(" Got primals")[0],
        raised(f.jvp, torch.sin, (), ()), raised(f.jvp, torch.sin, (1.0,), (1.0,)),
    )  # fmt: skip


def batches(torch: Any) -> Any:
    x, y, vmap = torch.arange(12.0).reshape(3, 4), torch.arange(4.0), torch.vmap
    return _each(
        vmap(torch.dot)(x, x), vmap(torch.mul, in_dims=(0, None))(x, y),
        vmap(lambda r: r.sum(), in_dims=1)(x), vmap(lambda r: r.sum(), in_dims=-1)(x),
        vmap(lambda r: r * 2, out_dims=1)(x), vmap(lambda r: (r.sum(), r * 2), out_dims=(0, 1))(x),
        vmap(lambda r: {"a": r, "b": [r.sum()]})(x),
        vmap(lambda d, k: d["r"] * k, in_dims=({"r": 0}, None))({"r": x}, 2.0),
        vmap(vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(y, y),
        vmap(lambda r: torch.zeros(2))(x), vmap(lambda r: (r.sum(), 3.0), out_dims=(0, None))(x),
        vmap(torch.sin)(torch.zeros(0, 3)), vmap(lambda r, scale: r * scale)(x, scale=3),
        vmap(lambda r: r.sum(), chunk_size=2)(x), vmap(lambda r: r.max(0))(x),
        vmap(lambda r: r[:, None] * r)(x), vmap(lambda r: torch.stack([r, r]).reshape(-1))(x),
    )  # fmt: skip


def written_anew(torch: Any) -> Any:
    """What `new_zeros` and its kin make of a sample can be written to, by other samples, too."""
    x, vmap, grad = torch.arange(12.0).reshape(3, 4), torch.vmap, torch.func.grad

    def placed(r: Any) -> Any:
        out = r.new_zeros(2, 2)
        out[0], out[1, 1] = r[:2], r[3]
        return out

    def add(made: Any, r: Any) -> Any:
        return made.add_(r)

    return _each(
        vmap(placed)(x), vmap(lambda r: add(r.new_zeros(4), r))(x),
        vmap(lambda r: add(r.new_ones(size=(2, 4)), r), in_dims=1)(x.T),
        vmap(lambda r: add(r.new_full((4,), 2.5), r))(x),
        vmap(lambda r: add(r.new_empty(4).zero_(), r))(x),
        vmap(lambda r: r.new_ones(2, dtype=torch.int64))(x),
        vmap(lambda r: r.new_ones(2, requires_grad=True))(x), vmap(lambda r: r.new_zeros(2))(x[:0]),
        vmap(grad(lambda r: add(r.new_zeros(4), r * r).sum()))(x),
        vmap(lambda a: vmap(lambda b: add((a * b).new_zeros(4), a * b))(x))(x),
    )  # fmt: skip


def batches_refused(torch: Any) -> Any:
    x, vmap = torch.arange(12.0).reshape(3, 4), torch.vmap

    def f(*args: Any) -> Any:
        return args[0]

    return [
        raised(vmap(f)), raised(vmap(f), 3.0), raised(vmap(f, in_dims=2), x),
        raised(vmap(f, in_dims=-3), x), raised(vmap(f, in_dims=[0]), x),
        raised(vmap(f, in_dims=(0, 0)), x).partition(" in_dims has")[0],
        raised(vmap(f, in_dims=("a",)), x), raised(vmap(f, in_dims=None), x),
        raised(vmap(f, in_dims=(None,)), x), raised(vmap(f), x, torch.zeros(2)),
        raised(vmap(f, out_dims=(0, 1)), x).partition(" out_dims has")[0],
        raised(vmap(f, out_dims="a"), x), raised(vmap(lambda r: 3.0), x),
        raised(vmap(lambda r: (r, "a")), x), raised(vmap, f, randomness="no"),
        raised(vmap(lambda r: r + torch.rand(4)), x), raised(vmap(torch.nn.functional.dropout), x),
        raised(vmap, f, chunk_size=0),
    ]  # fmt: skip


def randomness(torch: Any) -> Any:
    x = torch.zeros(3, 4)
    same = torch.vmap(lambda r: r + torch.rand(4), randomness="same")(x)
    different = torch.vmap(lambda r: r + torch.rand(4), randomness="different")(x)
    rows = [torch.equal(t[0], t[1]) for t in (same, different)]
    return [rows, same.shape, different]


def samples(torch: Any) -> Any:
    """Gradients of every sample, and of ensembles."""
    torch.manual_seed(0)
    f = torch.func
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    ).double()
    params = {name: p.detach() for name, p in model.named_parameters()}
    x, target = torch.randn(5, 3, dtype=torch.float64), torch.tensor([0, 1, 1, 0, 1])

    def loss(params: Any, x: Any, target: Any) -> Any:
        out = f.functional_call(model, params, (x[None],))
        return torch.nn.functional.cross_entropy(out, target[None])

    each = f.vmap(f.grad(loss), in_dims=(None, 0, 0))(params, x, target)
    jacobians = f.vmap(f.jacrev(lambda v: f.functional_call(model, params, v)))(x)
    hessians = f.vmap(f.hessian(lambda v: f.functional_call(model, params, v).sum()))(x)
    models = [torch.nn.Linear(3, 2).double() for _ in range(3)]
    stacked, buffers = f.stack_module_state(models)
    ensemble = f.vmap(lambda p, b, v: f.functional_call(models[0], (p, b), (v,)), (0, 0, None))
    return _each(
        each, jacobians, hessians, stacked, buffers, ensemble(stacked, buffers, x),
        f.vmap(lambda m: f.grad(lambda v: (v**2).sum())(m))(x),
    )  # fmt: skip


def modules(torch: Any) -> Any:
    f = torch.func
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    before = {name: t.clone() for name, t in model.state_dict().items()}
    zeros = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    state = {"1.running_mean": torch.ones(2), "1.num_batches_tracked": torch.tensor(7)}
    out = f.functional_call(model, (zeros, state), x)
    single = f.functional_call(model[0], {"bias": torch.tensor([10.0, 20.0])}, (x,))
    inner = torch.nn.Linear(2, 2)
    tied = torch.nn.Sequential(inner, inner)
    ones = torch.ones(2, 2)
    first = f.functional_call(tied, {"0.weight": ones}, x) - inner.bias @ ones.T - inner.bias
    linear = torch.nn.Linear(2, 1)
    return [
        _values(out), told(state),
        all(torch.equal(t, before[name]) for name, t in model.state_dict().items()),
        (single - x @ model[0].weight.T).round(decimals=3).tolist(),
        first.round(decimals=3).tolist(),
        raised(f.functional_call, linear, {"bias": ones}, x, strict=True),
        raised(f.functional_call, linear, {"nope": ones}, x, strict=True),
        f.functional_call(linear, {"nope": ones}, x).shape,
        raised(f.functional_call, linear, ({"bias": ones}, {"bias": ones}), x),
        raised(f.functional_call, linear, 3, x), raised(f.functional_call, linear, [3], x),
        raised(f.stack_module_state, []),
        raised(f.stack_module_state, [linear, torch.nn.Linear(2, 1).eval()]),
        raised(f.stack_module_state, [linear, torch.nn.Tanh()]),
    ]  # fmt: skip


def nests(torch: Any) -> Any:
    x = torch.ones(2)
    tree = OrderedDict(p=(x, [x, {"q": x}]), r=Pair(x, x))
    found = torch.func.grad(lambda t: (t["p"][1][1]["q"] * t["r"].b).sum())(tree)
    back = raised(torch.func.vjp(lambda x: {"a": (x, [x])}, x)[1], {"a": (x, x)})
    return [type(found).__name__, type(found["r"]).__name__, _values(found), back]
