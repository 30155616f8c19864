"""`vmap` beside PyTorch: nested in derivatives, where it refuses, and what its tutorials do."""

from collections import namedtuple
from typing import Any

from tests.answers import numbers, raised, told

Pair = namedtuple("Pair", ["a", "b"])


def _told(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {str(key): _told(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_told(value) for value in tree]
    return numbers(tree) if hasattr(tree, "requires_grad") else told(tree)


def _points(torch: Any) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    kind = torch.float64
    return torch.randn(3, 4, dtype=kind), torch.randn(4, dtype=kind), torch.randn(3, 4, 4)


def _scalar(a: Any) -> Any:
    return (a.sin() * a.cos().sum()).sum()


def nested(torch: Any) -> Any:
    x, y, _ = _points(torch)
    f, vmap = torch.func, torch.vmap
    return _told([
        vmap(f.hessian(_scalar))(x), f.hessian(_scalar)(y), f.jacrev(f.jacfwd(_scalar))(y),
        f.jacrev(f.jacrev(_scalar))(y), f.jacfwd(f.jacfwd(_scalar))(y),
        f.grad(lambda a: vmap(_scalar)(a).prod())(x), f.jacrev(vmap(torch.sin))(x[:2]),
        f.jacfwd(vmap(torch.sin))(x[:2]), vmap(vmap(f.grad(lambda a: a**3)))(x),
        vmap(f.vjp(torch.sin, y)[1])(x), vmap(lambda v: f.jvp(torch.sin, (y,), (v,))[1])(x),
        vmap(f.grad_and_value(lambda a: (_scalar(a), a * 2), has_aux=True))(x),
        f.hessian(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(y, y * 2),
        f.hessian(lambda d: (d["a"] ** 2 * d["b"]).sum())({"a": y, "b": y + 1}),
        f.jacrev(torch.sin, chunk_size=3)(y),
    ])  # fmt: skip


def refused_values(torch: Any) -> Any:
    x, y, _ = _points(torch)
    vmap = torch.vmap
    asked = [
        lambda a: a if a > 0 else -a, lambda a: a.item(), float, lambda a: a.tolist(),
        lambda a: torch.zeros(int(a)), lambda a: 2 in a, lambda a: a.nonzero(),
        lambda a: torch.unique(a), lambda a: torch.allclose(a, a), lambda a: torch.equal(a, a),
        lambda a: a.sum().backward(), lambda a: a.requires_grad_(), lambda a: f"{a}",
        lambda a: a.select(0, 0),
    ]  # fmt: skip
    rows = [
        lambda a: a[a > 0],
        lambda a: torch.masked_select(a, a > 0),
        lambda a: [1 for _ in range(a)],
        lambda a: torch.nn.functional.batch_norm(a.view(2, 2), y[:2], y[2:], training=True),
        lambda a: torch.nn.functional.batch_norm(a[None], y, y, training=True),
        lambda a: a.as_strided((5,), (1,)),
    ]
    return [*[raised(vmap(f), y) for f in asked], *[raised(vmap(f), x) for f in rows]]


def in_place(torch: Any) -> Any:
    x, y, _ = _points(torch)
    vmap, at = torch.vmap, torch.tensor([0, 1])

    def blank(a: Any) -> Any:
        b = a.new_zeros(4)
        b[0] = a[0]
        return b

    def strided(a: Any) -> Any:
        b = a.clone()
        b.as_strided((2,), (3,)).fill_(9.0)
        return b

    def parts(a: Any) -> Any:
        b = a.clone()
        b[1:] = 0
        b[0] += 3
        return b

    written = x.clone()
    vmap(lambda a: a.mul_(2))(written)
    writes = [
        lambda b: torch.zeros(4).double().sub_(b),
        lambda b: torch.zeros(4).double().copy_(b),
        lambda b: torch.zeros(4).double().fill_(b[0]),
        lambda b: torch.zeros(4).double().lerp_(b, 0.5),
        lambda b: torch.zeros(4).double().index_add_(0, at, b[:2]),
        lambda b: torch.zeros(4).double().scatter_(0, at, b[:2]),
        lambda b: torch.zeros(4).double().masked_fill_(b > 0, 1.0),
        lambda b: torch.zeros(4).double().__setitem__(0, b[0]),
    ]
    return [
        numbers(written), [_told(vmap(f)(x)) for f in (blank, strided, parts)],
        _told(vmap(strided, in_dims=1)(x.repeat(2, 1))), [raised(vmap(f), x) for f in writes],
        _told(vmap(lambda a, b: a.copy_(b), in_dims=(0, None))(x.clone(), y)),
    ]  # fmt: skip


def indexed(torch: Any) -> Any:
    x, y, m = _points(torch)
    i, vmap = torch.tensor([[0, 2], [1, 1], [3, 0]]), torch.vmap
    return _told([
        vmap(lambda a, j: a[j])(x, i), vmap(lambda a, j: a[j], in_dims=(None, 0))(y, i),
        vmap(lambda a, j: a[:, j])(m, i), vmap(lambda a, j: a[j, j])(m, i),
        vmap(lambda a, j: a[j, :, None])(m, i), vmap(lambda a, j: a[j])(x, i[:, 0]),
        vmap(lambda a: a[..., 0])(m), vmap(lambda a: a[[0, 2]])(m),
        vmap(lambda a, j: a.scatter(0, j, 1.0))(x, i), vmap(lambda a, j: a.take(j))(x, i),
        raised(vmap(lambda a: a[5]), x), raised(vmap(lambda a: a[:, 0]), x),
        raised(vmap(lambda a: a.sum(1)), x), raised(vmap(lambda a: a[0]), x[0]),
    ])  # fmt: skip


def dims_refused(torch: Any) -> Any:
    x, _, _ = _points(torch)
    vmap = torch.vmap

    def f(*args: Any) -> Any:
        return args[0]

    return _told([
        vmap(lambda d: d["a"] * d["b"][0], in_dims=({"a": 0, "b": None},))({"a": x, "b": x}),
        vmap(lambda d: d["a"] * d["b"], in_dims=({"a": 0, "b": -1},))({"a": x, "b": x.T}),
        raised(vmap(f, in_dims=([0, (0,)],)), [x, [x]]),
        raised(vmap(f, in_dims=({"a": 0},)), {"b": x}),
        raised(vmap(f, in_dims=({"a": 0},)), {"a": x, "b": x}), raised(vmap(f, in_dims=(0,)), x, x),
        raised(vmap(f, in_dims=((0, 0),)), Pair(x, x)).partition("but inputs")[0],
        raised(vmap(lambda a: (a, a), out_dims=[0, 1]), x),
        raised(vmap(lambda a: [a, a], out_dims=(0, 1)), x),
        raised(vmap(lambda a: {"u": a, "v": 3}, out_dims={"u": 1}), x),
        raised(vmap(lambda a: a, out_dims=None), x),
        raised(vmap(lambda a: {"u": a, "v": 3}, out_dims={"u": 1, "v": 0}), x),
        vmap(lambda a: {"u": a, "v": (a, a)}, out_dims={"u": 1, "v": (0, -1)})(x),
        vmap(lambda a: a * 2, chunk_size=2, out_dims=-1)(x), raised(vmap, f, chunk_size=-1),
    ])  # fmt: skip


def derivatives_refused(torch: Any) -> Any:
    x, y, _ = _points(torch)
    f, whole = torch.func, torch.tensor([1])
    return _told([
        raised(f.jacrev(lambda a: a.long()), y), f.jacfwd(lambda a: a.long())(y),
        raised(f.jacfwd(torch.sin), whole), raised(f.jvp, torch.sin, (whole,), (whole,)),
        f.jvp(lambda a: a.argmax(), (y,), (y,)), raised(f.jvp, torch.sin, (y,), (x,)),
        raised(f.jvp, torch.sin, (y,), (y, y)),
        raised(f.jacfwd(lambda a: a * torch.rand(4)), y),
        torch.manual_seed(1) and _told(f.jacfwd(lambda a: a * torch.rand(4), randomness="same")(y)),
    ])  # fmt: skip


def per_sample_gradients(torch: Any) -> Any:
    """The tutorial of that name, of networks of several kinds."""
    torch.manual_seed(0)
    nn, f = torch.nn, torch.func
    shapes = ((3, 1, 6, 6), (3, 4), (3, 5, 4))
    pictures, rows, words = [torch.randn(shape).double() for shape in shapes]
    target = torch.tensor([0, 2, 1])
    cnn = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 3)
    )
    mlp = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 3))
    encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)

    def gradients(model: Any, data: Any, **options: Any) -> Any:
        params = {name: p.detach() for name, p in model.double().named_parameters()}

        def loss(params: Any, sample: Any, target: Any) -> Any:
            out = f.functional_call(model, params, (sample.unsqueeze(0),))
            out = out.mean(1)[:, :3] if out.ndim == 3 else out
            return nn.functional.cross_entropy(out, target.unsqueeze(0))

        return torch.vmap(f.grad(loss), in_dims=(None, 0, 0), **options)(params, data, target)

    return _told([
        gradients(cnn, pictures), gradients(cnn, pictures, chunk_size=2), gradients(mlp, rows),
        gradients(encoder, words),
        gradients(nn.Sequential(nn.Dropout(), mlp), rows, randomness="different"),
        gradients(nn.Sequential(nn.Dropout(), mlp), rows, randomness="same"),
        raised(gradients, nn.Sequential(nn.Dropout(), mlp), rows),
    ])  # fmt: skip


def own_functions(torch: Any) -> Any:
    """Functions of the user's own: by their own rule, one sample after the other, or not at all."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any, n: int = 2) -> Any:
            return x * y * n, x + 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs[:2])
            ctx.n = inputs[2]

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y * ctx.n * 3 + h, g * x * ctx.n, None

    class Ruled(Product):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any, n: int) -> Any:
            return Ruled.apply(x, y, n), (0, None if in_dims[0] is None else 0)

    class Each(Product):
        generate_vmap_rule = True

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    x, one = torch.arange(6.0).reshape(2, 3), torch.tensor(3.0)
    for kind in (Ruled, Each):
        a = x.clone().requires_grad_()
        product, more = torch.vmap(lambda row, f=kind: f.apply(row, row + 1))(a)
        (product.sum() + more.sum()).backward()
        yield product.tolist(), more.tolist(), a.grad
        yield torch.vmap(lambda row, f=kind: torch.vmap(lambda v: f.apply(v, one)[0])(row))(x)
        yield torch.vmap(torch.func.grad(lambda row, f=kind: f.apply(row, one, n=5)[0].sum()))(x)
        yield torch.vmap(lambda n, f=kind: f.apply(one, n)[0])(x[0])
        yield torch.func.grad(lambda t, f=kind: torch.vmap(f.apply)(t, x)[0].sum())(x)
    for refused in (lambda row: Product.apply(row, one), Old.apply):
        yield raised(torch.vmap(refused), x).partition(" For more")[0]
