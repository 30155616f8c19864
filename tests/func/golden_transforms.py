"""Transforms of functions, alone, nested in each other, and inside and outside of recording."""

from collections import OrderedDict, namedtuple
from typing import Any

from tests.answers import numbers, sessions, told

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


def _names(torch: Any) -> dict[str, Any]:
    names = ("grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap")
    names += ("functional_call", "stack_module_state")
    return {name: getattr(torch.func, name) for name in names} | {
        "x": torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64),
        "w": torch.tensor([[0.5, 1.0, -0.2], [1.5, 0.1, 0.4]], dtype=torch.float64),
        "rows": torch.arange(12.0).reshape(3, 4), "y": torch.arange(4.0), "Pair": Pair,
        "OrderedDict": OrderedDict,
    }  # fmt: skip


session = sessions(_names, _values)

derivatives = session("""
gradients
    def loss(w, x, scale=1.0):
        return (torch.tanh(w @ x) ** 2).sum() * scale
    def both(w, x):
        y = w @ x
        return (y**2).sum(), {"y": y}
    grad(loss)(w, x), grad(loss, argnums=1)(w, x, scale=2.0), grad(loss, argnums=(1, 0))(w, x)
    grad(loss, argnums=-1)(w, x), grad_and_value(loss, argnums=(0,))(w, x)
    grad(both, has_aux=True)(w, x), grad_and_value(both, has_aux=True)(w, x)
    grad(lambda p: (p["w"] @ p["x"][0]).sum())({"w": w, "x": [x]})
    grad(lambda p: p.a.sum() * 2 + p.b)(Pair(x, x[0])), grad(lambda x: w.sum())(x)
    grad(lambda x: x.detach().sum())(x)
gradients that are refused
    grad(lambda x: x)(x), grad(lambda x: 3)(x), grad(lambda x: x.sum(), has_aux=True)(x)
    grad(lambda x: x.sum(), argnums=1)(x), grad(lambda x: x.sum(), argnums=(0, 0))(x)
    grad(lambda x: x.sum(), argnums=())(x), grad(lambda x: x.sum(), argnums="x")(x)
    grad(lambda x: x * 2)(3.0)
nested; the inner function sees the outer's variable
    cube, point = (lambda t: (t**3).sum()), torch.tensor(2.0)
    grad(grad(torch.sin))(point), grad(grad(grad(lambda t: t**4)))(point)
    grad(lambda t: grad(cube)(t).sum())(x), hessian(cube)(x)
    hessian(lambda w: (w.sum(0) * x).prod())(w), jacrev(jacrev(torch.sin))(x)
    jacfwd(jacfwd(torch.exp))(x), jvp(grad(cube), (x,), (torch.ones_like(x),))
    grad(lambda t: jvp(torch.sin, (t,), (torch.ones_like(t),))[1].sum())(x)
    vjp(grad(cube), x)[1](torch.ones_like(x)), grad(lambda t: grad(lambda s: s * t)(t) * t)(point)
jacobians
    def product(w, x):
        return {"y": w @ x, "z": (x.sum(), w[0])}
    for transform in (jacrev, jacfwd):
        transform(torch.sin)(x), transform(product)(w, x), transform(product, argnums=(0, 1))(w, x)
        transform(lambda x: (x * 2, x.sum()), has_aux=True)(x)
        transform(lambda p: p["a"] * p["b"][0])({"a": x, "b": [x]}), transform(lambda x: x.sum())(x)
        transform(lambda x: 3)(x), transform(lambda x: x, argnums=2)(x)
    jacrev(torch.sin, chunk_size=2)(x), jacrev(torch.sin, chunk_size=0)
products
    output, pull = vjp(lambda w, x: {"y": w @ x}, w, x)
    weights = {"y": torch.ones(2, dtype=torch.float64)}
    one, back = vjp(lambda x: (x * 2, x.sum()), x)
    output, pull(weights), pull({"y": weights["y"] * 2}), [one, back((x, x[0]))]
    vjp(lambda x: (x * 2, x), x, has_aux=True)[2], jvp(lambda w, x: [w @ x], (w, x), (w, x))
    jvp(lambda x: (x * 2, x + 1), (x,), (x,), has_aux=True)
    jvp(lambda x: x.detach() * 2, (x,), (x,)), back(x), vjp(lambda x: 3, x)
    vjp(lambda x: x.long(), x), vjp(lambda x: x, x, has_aux=True), jvp(torch.sin, x, x)
    raised(jvp, torch.sin, (x,), (x, x)).partition(" Got primals")[0], jvp(torch.sin, (), ())
    jvp(torch.sin, (1.0,), (1.0,))
trees
    x = torch.ones(2)
    tree = OrderedDict(p=(x, [x, {"q": x}]), r=Pair(x, x))
    found = grad(lambda t: (t["p"][1][1]["q"] * t["r"].b).sum())(tree)
    type(found).__name__, type(found["r"]).__name__, found
    vjp(lambda x: {"a": (x, [x])}, x)[1]({"a": (x, x)})
""")

batches = session("""
dimensions
    vmap(torch.dot)(rows, rows), vmap(torch.mul, in_dims=(0, None))(rows, y)
    vmap(lambda r: r.sum(), in_dims=1)(rows), vmap(lambda r: r.sum(), in_dims=-1)(rows)
    vmap(lambda r: r * 2, out_dims=1)(rows), vmap(lambda r: (r.sum(), r * 2), out_dims=(0, 1))(rows)
    vmap(lambda r: {"a": r, "b": [r.sum()]})(rows)
    vmap(lambda d, k: d["r"] * k, in_dims=({"r": 0}, None))({"r": rows}, 2.0)
    vmap(vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(y, y)
    vmap(lambda r: torch.zeros(2))(rows)
    vmap(lambda r: (r.sum(), 3.0), out_dims=(0, None))(rows), vmap(torch.sin)(torch.zeros(0, 3))
    vmap(lambda r, scale: r * scale)(rows, scale=3), vmap(lambda r: r.sum(), chunk_size=2)(rows)
    vmap(lambda r: r.max(0))(rows), vmap(lambda r: r[:, None] * r)(rows)
    vmap(lambda r: torch.stack([r, r]).reshape(-1))(rows)
what `new_zeros` and its kin make of a sample can be written to, by other samples, too
    def placed(r):
        out = r.new_zeros(2, 2)
        out[0], out[1, 1] = r[:2], r[3]
        return out
    add = lambda made, r: made.add_(r)
    vmap(placed)(rows), vmap(lambda r: add(r.new_zeros(4), r))(rows)
    vmap(lambda r: add(r.new_ones(size=(2, 4)), r), in_dims=1)(rows.T)
    vmap(lambda r: add(r.new_full((4,), 2.5), r))(rows)
    vmap(lambda r: add(r.new_empty(4).zero_(), r))(rows)
    vmap(lambda r: r.new_ones(2, dtype=torch.int64))(rows)
    vmap(lambda r: r.new_ones(2, requires_grad=True))(rows)
    vmap(lambda r: r.new_zeros(2))(rows[:0])
    vmap(grad(lambda r: add(r.new_zeros(4), r * r).sum()))(rows)
    vmap(lambda a: vmap(lambda b: add((a * b).new_zeros(4), a * b))(rows))(rows)
refusals
    x = rows
    def f(*args):
        return args[0]
    vmap(f)(), vmap(f)(3.0), vmap(f, in_dims=2)(x), vmap(f, in_dims=-3)(x), vmap(f, in_dims=[0])(x)
    raised(vmap(f, in_dims=(0, 0)), x).partition(" in_dims has")[0], vmap(f, in_dims=("a",))(x)
    vmap(f, in_dims=None)(x), vmap(f, in_dims=(None,))(x), vmap(f)(x, torch.zeros(2))
    raised(vmap(f, out_dims=(0, 1)), x).partition(" out_dims has")[0], vmap(f, out_dims="a")(x)
    vmap(lambda r: 3.0)(x), vmap(lambda r: (r, "a"))(x), vmap(f, randomness="no")
    vmap(lambda r: r + torch.rand(4))(x), vmap(F.dropout)(x), vmap(f, chunk_size=0)
randomness
    zeros = torch.zeros(3, 4)
    same = vmap(lambda r: r + torch.rand(4), randomness="same")(zeros)
    different = vmap(lambda r: r + torch.rand(4), randomness="different")(zeros)
    torch.equal(same[0], same[1]), torch.equal(different[0], different[1]), same.shape, different
""")

models = session("""
gradients of every sample, and of ensembles
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    params = {name: p.detach() for name, p in model.named_parameters()}
    x, target = torch.randn(5, 3, dtype=torch.float64), torch.tensor([0, 1, 1, 0, 1])
    def loss(params, x, target):
        return F.cross_entropy(functional_call(model, params, (x[None],)), target[None])
    linears = [nn.Linear(3, 2).double() for _ in range(3)]
    stacked, buffers = stack_module_state(linears)
    ensemble = vmap(lambda p, b, v: functional_call(linears[0], (p, b), (v,)), (0, 0, None))
    vmap(grad(loss), in_dims=(None, 0, 0))(params, x, target)
    vmap(jacrev(lambda v: functional_call(model, params, v)))(x)
    vmap(hessian(lambda v: functional_call(model, params, v).sum()))(x)
    stacked, buffers, ensemble(stacked, buffers, x), vmap(grad(lambda v: (v**2).sum()))(x)
calls with other parameters
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    before = {name: t.clone() for name, t in model.state_dict().items()}
    zeros = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    x, ones = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), torch.ones(2, 2)
    state = {"1.running_mean": torch.ones(2), "1.num_batches_tracked": torch.tensor(7)}
    functional_call(model, (zeros, state), x), state
    all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    single = functional_call(model[0], {"bias": torch.tensor([10.0, 20.0])}, (x,))
    (single - x @ model[0].weight.T).round(decimals=3).tolist()
    inner, linear = nn.Linear(2, 2), nn.Linear(2, 1)
    first = functional_call(nn.Sequential(inner, inner), {"0.weight": ones}, x)
    (first - inner.bias @ ones.T - inner.bias).round(decimals=3).tolist()
    functional_call(linear, {"bias": ones}, x, strict=True)
    functional_call(linear, {"nope": ones}, x, strict=True)
    functional_call(linear, {"nope": ones}, x).shape
    functional_call(linear, ({"bias": ones}, {"bias": ones}), x), functional_call(linear, 3, x)
    functional_call(linear, [3], x), stack_module_state([])
    stack_module_state([linear, nn.Linear(2, 1).eval()]), stack_module_state([linear, nn.Tanh()])
""")
