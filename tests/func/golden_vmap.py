"""`vmap` beside PyTorch: nested in derivatives, where it refuses, and what its tutorials do."""

from typing import Any

from tests.answers import sessions
from tests.func.golden_transforms import _names as _of_transforms
from tests.func.golden_transforms import _values


def _names(torch: Any) -> dict[str, Any]:
    def gradients(model: Any, data: Any, **options: Any) -> Any:
        params = {name: p.detach() for name, p in model.double().named_parameters()}

        def loss(params: Any, sample: Any, target: Any) -> Any:
            out = torch.func.functional_call(model, params, (sample.unsqueeze(0),))
            out = out.mean(1)[:, :3] if out.ndim == 3 else out
            return torch.nn.functional.cross_entropy(out, target.unsqueeze(0))

        target = torch.tensor([0, 2, 1])
        grad = torch.func.grad(loss)
        return torch.vmap(grad, in_dims=(None, 0, 0), **options)(params, data, target)

    return _of_transforms(torch) | {
        "x": torch.randn(3, 4, dtype=torch.float64), "y": torch.randn(4, dtype=torch.float64),
        "m": torch.randn(3, 4, 4), "scalar": lambda a: (a.sin() * a.cos().sum()).sum(),
        "gradients": gradients,
    }  # fmt: skip


session = sessions(_names, _values)

samples = session("""
nested
    vmap(hessian(scalar))(x), hessian(scalar)(y), jacrev(jacfwd(scalar))(y)
    jacrev(jacrev(scalar))(y), jacfwd(jacfwd(scalar))(y), grad(lambda a: vmap(scalar)(a).prod())(x)
    jacrev(vmap(torch.sin))(x[:2]), jacfwd(vmap(torch.sin))(x[:2])
    vmap(vmap(grad(lambda a: a**3)))(x), vmap(vjp(torch.sin, y)[1])(x)
    vmap(lambda v: jvp(torch.sin, (y,), (v,))[1])(x)
    vmap(grad_and_value(lambda a: (scalar(a), a * 2), has_aux=True))(x)
    hessian(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(y, y * 2)
    hessian(lambda d: (d["a"] ** 2 * d["b"]).sum())({"a": y, "b": y + 1})
    jacrev(torch.sin, chunk_size=3)(y)
    several = torch.sin, lambda a: a.cumsum(0), lambda a: a.outer(a)
    [[vmap(of(f))(x).stride() for f in several] for of in (jacrev, jacfwd)]
values that are asked for
    asked = [lambda a: a if a > 0 else -a, lambda a: a.item(), float, lambda a: a.tolist()]
    asked += [lambda a: torch.zeros(int(a)), lambda a: 2 in a, lambda a: a.nonzero(), torch.unique]
    asked += [lambda a: torch.allclose(a, a), lambda a: torch.equal(a, a)]
    asked += [lambda a: a.sum().backward(), lambda a: a.requires_grad_(), lambda a: f"{a}"]
    for f in (*asked, lambda a: a.select(0, 0)):
        vmap(f)(y)
    asked = [lambda a: a[a > 0], lambda a: torch.masked_select(a, a > 0)]
    asked += [lambda a: [1 for _ in range(a)], lambda a: a.as_strided((5,), (1,))]
    asked += [lambda a: F.batch_norm(a.view(2, 2), y[:2], y[2:], training=True)]
    for f in (*asked, lambda a: F.batch_norm(a[None], y, y, training=True)):
        vmap(f)(x)
in place
    def blank(a):
        b = a.new_zeros(4)
        b[0] = a[0]
        return b
    def strided(a):
        b = a.clone()
        b.as_strided((2,), (3,)).fill_(9.0)
        return b
    def parts(a):
        b = a.clone()
        b[1:] = 0
        b[0] += 3
        return b
    written, at = x.clone(), torch.tensor([0, 1])
    _ = vmap(lambda a: a.mul_(2))(written)
    zeros = lambda: torch.zeros(4).double()
    written, vmap(blank)(x), vmap(strided)(x), vmap(parts)(x)
    vmap(strided, in_dims=1)(x.repeat(2, 1)), vmap(lambda b: zeros().sub_(b))(x)
    vmap(lambda b: zeros().copy_(b))(x), vmap(lambda b: zeros().fill_(b[0]))(x)
    vmap(lambda b: zeros().lerp_(b, 0.5))(x), vmap(lambda b: zeros().index_add_(0, at, b[:2]))(x)
    vmap(lambda b: zeros().scatter_(0, at, b[:2]))(x)
    vmap(lambda b: zeros().masked_fill_(b > 0, 1.0))(x)
    vmap(lambda b: zeros().__setitem__(0, b[0]))(x)
    vmap(lambda a, b: a.copy_(b), in_dims=(0, None))(x.clone(), y)
indices
    i = torch.tensor([[0, 2], [1, 1], [3, 0]])
    vmap(lambda a, j: a[j])(x, i), vmap(lambda a, j: a[j], in_dims=(None, 0))(y, i)
    vmap(lambda a, j: a[:, j])(m, i), vmap(lambda a, j: a[j, j])(m, i)
    vmap(lambda a, j: a[j, :, None])(m, i), vmap(lambda a, j: a[j])(x, i[:, 0])
    vmap(lambda a: a[..., 0])(m), vmap(lambda a: a[[0, 2]])(m)
    vmap(lambda a, j: a.scatter(0, j, 1.0))(x, i), vmap(lambda a, j: a.take(j))(x, i)
    vmap(lambda a: a[5])(x), vmap(lambda a: a[:, 0])(x), vmap(lambda a: a.sum(1))(x)
    vmap(lambda a: a[0])(x[0])
dimensions
    def f(*args):
        return args[0]
    vmap(lambda d: d["a"] * d["b"][0], in_dims=({"a": 0, "b": None},))({"a": x, "b": x})
    vmap(lambda d: d["a"] * d["b"], in_dims=({"a": 0, "b": -1},))({"a": x, "b": x.T})
    vmap(f, in_dims=([0, (0,)],))([x, [x]]), vmap(f, in_dims=({"a": 0},))({"b": x})
    vmap(f, in_dims=({"a": 0},))({"a": x, "b": x}), vmap(f, in_dims=(0,))(x, x)
    raised(vmap(f, in_dims=((0, 0),)), Pair(x, x)).partition("but inputs")[0]
    vmap(lambda a: (a, a), out_dims=[0, 1])(x), vmap(lambda a: [a, a], out_dims=(0, 1))(x)
    vmap(lambda a: {"u": a, "v": 3}, out_dims={"u": 1})(x), vmap(lambda a: a, out_dims=None)(x)
    vmap(lambda a: {"u": a, "v": 3}, out_dims={"u": 1, "v": 0})(x)
    vmap(lambda a: {"u": a, "v": (a, a)}, out_dims={"u": 1, "v": (0, -1)})(x)
    vmap(lambda a: a * 2, chunk_size=2, out_dims=-1)(x), vmap(f, chunk_size=-1)
derivatives
    whole = torch.tensor([1])
    jacrev(lambda a: a.long())(y), jacfwd(lambda a: a.long())(y), jacfwd(torch.sin)(whole)
    jvp(torch.sin, (whole,), (whole,)), jvp(lambda a: a.argmax(), (y,), (y,))
    jvp(torch.sin, (y,), (x,)), jvp(torch.sin, (y,), (y, y))
    jacfwd(lambda a: a * torch.rand(4))(y)
    _ = torch.manual_seed(1)
    jacfwd(lambda a: a * torch.rand(4), randomness="same")(y)
gradients of every sample: the tutorial of that name, of networks of several kinds
    _ = torch.manual_seed(0)
    pictures, rows, words = [torch.randn(s).double() for s in ((3, 1, 6, 6), (3, 4), (3, 5, 4))]
    convolved = nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    cnn = nn.Sequential(*convolved, nn.Linear(12, 3))
    mlp = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 3))
    encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    gradients(cnn, pictures), gradients(cnn, pictures, chunk_size=2), gradients(mlp, rows)
    gradients(encoder, words)
    gradients(nn.Sequential(nn.Dropout(), mlp), rows, randomness="different")
    gradients(nn.Sequential(nn.Dropout(), mlp), rows, randomness="same")
    gradients(nn.Sequential(nn.Dropout(), mlp), rows)
functions of the user's own: by their own rule, one sample after the other, or not at all
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, y, n=2):
            return x * y * n, x + 1
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs[:2])
            ctx.n = inputs[2]
        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * y * ctx.n * 3 + h, g * x * ctx.n, None
    class Ruled(Product):
        @staticmethod
        def vmap(info, in_dims, x, y, n):
            return Ruled.apply(x, y, n), (0, None if in_dims[0] is None else 0)
    class Each(Product):
        generate_vmap_rule = True
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2
    x, one = torch.arange(6.0).reshape(2, 3), torch.tensor(3.0)
    for kind in (Ruled, Each):
        a = x.clone().requires_grad_()
        product, more = vmap(lambda row: kind.apply(row, row + 1))(a)
        _ = (product.sum() + more.sum()).backward()
        product.detach(), more.detach(), a.grad
        vmap(lambda row: vmap(lambda v: kind.apply(v, one)[0])(row))(x)
        vmap(grad(lambda row: kind.apply(row, one, n=5)[0].sum()))(x)
        vmap(lambda n: kind.apply(one, n)[0])(x[0])
        grad(lambda t: vmap(kind.apply)(t, x)[0].sum())(x)
    raised(vmap(lambda row: Product.apply(row, one)), x).partition(" For more")[0]
    raised(vmap(Old.apply), x).partition(" For more")[0]
""")
