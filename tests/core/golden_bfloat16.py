"""Bfloat16: what rounds, what it is promoted to, models, and the limits of dtypes NumPy lacks."""

import copy
import io
import pickle
from typing import Any

from tests.answers import raised


def limits(torch: Any) -> Any:
    names = [
        "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
        "float8_e8m0fnu", "complex32", "complex64", "complex128",
    ]  # fmt: skip
    for name in names:
        info = torch.finfo(getattr(torch, name))
        yield repr(info), info.bits, info.eps, info.max, info.min, info.tiny
    for name in ("uint16", "uint32", "uint64"):
        yield repr(torch.iinfo(getattr(torch, name)))
    yield raised(lambda: torch.iinfo(torch.complex64)), raised(lambda: torch.finfo(torch.uint16))


def made(torch: Any) -> Any:
    kind = torch.bfloat16
    edges = [1.00390625, 1.01171875, 3e38, 3.4e38, float("inf"), -0.0, 1e-40, 9.2e-41]
    x = torch.tensor(edges, dtype=kind)
    yield torch.tensor([float("nan"), 1.0]).to(kind)
    yield x, x.tolist(), x.float(), x.double(), x.half(), x.type(), x.element_size(), x.nbytes
    yield torch.tensor(edges).to(kind), torch.tensor(edges).bfloat16(), x.to(kind) is x
    yield torch.tensor([257, 2**24 + 1]).to(kind), torch.tensor([True]).to(kind)
    yield torch.zeros(2, dtype=kind), torch.full((2,), 1.1, dtype=kind), torch.eye(2, dtype=kind)
    yield torch.arange(0, 2, 0.3, dtype=kind), torch.linspace(0, 1, 4, dtype=kind)
    yield torch.tensor([], dtype=kind), torch.tensor(2.7, dtype=kind), torch.zeros_like(x)
    yield raised(lambda: x.numpy())
    yield x.view(torch.int16), torch.tensor([16256, 16403], dtype=torch.int16).view(kind)
    yield torch.frombuffer(bytearray(b"\x80\x3f\x00\x40"), dtype=kind)


def drawn(torch: Any) -> Any:
    kind = torch.bfloat16
    yield torch.rand(40, dtype=kind), torch.randn(20, dtype=kind), torch.randn(5, dtype=kind)
    yield torch.empty(33, dtype=kind).uniform_(-1, 1), torch.empty(20, dtype=kind).normal_()
    yield torch.nn.functional.dropout(torch.ones(6, dtype=kind))
    yield torch.nn.Linear(3, 2, dtype=kind).weight


def promoted(torch: Any) -> Any:
    x, kinds = torch.tensor([1.1, 2.2], dtype=torch.bfloat16), torch.promote_types
    names = ["bool", "uint8", "int64", "float16", "float32", "float64", "bfloat16"]
    for name in names:
        other = torch.ones(2, dtype=getattr(torch, name))
        yield (
            kinds(torch.bfloat16, other.dtype),
            x + other,
            other * x,
            torch.can_cast(torch.bfloat16, other.dtype),
        )
        yield x + other[0], x[0] + other, torch.result_type(x, other)
    yield x + 1, 1 - x, x / 3, x + 0.1, x**2, x > 1.1, x == 1.1, -x, x // 2, x % 1
    yield raised(lambda: torch.ones(2, 2).mm(torch.ones(2, 2, dtype=torch.bfloat16)))


def numbers(torch: Any) -> Any:
    x, number = torch.arange(0.3, 5, 0.07).bfloat16(), 1.1001
    for name in ["add", "sub", "mul", "div", "pow", "remainder", "floor_divide"]:
        function = getattr(torch, name)
        for other in (number, torch.tensor(number), torch.tensor(number, dtype=torch.float64)):
            yield function(x, other), function(other, x)
            yield getattr(x.clone(), f"{name}_")(other)
    for name in ["atan2", "hypot", "eq", "ge", "gt", "le", "lt", "ne", "maximum", "fmod"]:
        function, other = getattr(torch, name), torch.tensor(number)
        yield function(x, other), function(other, x)


def computed(torch: Any) -> Any:
    x = torch.linspace(-2, 2, 12, dtype=torch.bfloat16).reshape(3, 4)
    yield x.exp(), x.tanh(), x.sum(), x.sum(0), x.mean(1), x.std(), x.softmax(1), x @ x.T
    yield x.max(), x.argmax(), x.sort(1), x.topk(2), x.cumsum(1), x.norm(), x.abs().sqrt()
    yield torch.cat([x, x]), torch.stack([x, x.float()]), torch.where(x > 0, x, 0)
    yield x[1:, ::2], x[torch.tensor([2, 0])], x.T.reshape(-1), x.expand(2, 3, 4)[1], x.clamp(-1, 1)
    y = x.clone()
    y[0] = 1.01
    y[:, 1].mul_(1.01)
    y.add_(x, alpha=0.1)
    yield y, y.stride(), y[1:].storage_offset(), y.masked_fill(x > 0, 3.3), y._version
    yield torch.nn.functional.layer_norm(x, (4,)), torch.nn.functional.gelu(x)


def differentiated(torch: Any) -> Any:
    x = torch.tensor([0.3, -1.7, 2.9], dtype=torch.bfloat16, requires_grad=True)
    y = (x * 3).exp() + x
    yield y, y.grad_fn.name(), x.is_leaf
    y.sum().backward()
    yield x.grad
    (x * x).sum().backward()
    yield x.grad
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    yield g
    (h,) = torch.autograd.grad(g.sum(), x)
    yield h
    seen = []
    x.register_hook(lambda g: seen.append(g))
    (x.float() * 1.001).sum().backward()
    yield x.grad, seen


def kept(torch: Any) -> Any:
    t = torch.ones(2, dtype=torch.bfloat16) / 3
    again, p = pickle.loads(pickle.dumps(t)), torch.nn.Parameter(t)
    yield again, again * 3, copy.deepcopy(p), p
    file = io.BytesIO()
    torch.save({"a": t, "b": t[1:], "kind": torch.bfloat16}, file)
    file.seek(0)
    found = torch.load(file)
    found["a"].mul_(2)
    yield found


def models(torch: Any) -> Any:
    nn, kind = torch.nn, torch.bfloat16
    m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2)).to(kind)
    yield {key: value.dtype for key, value in m.state_dict().items()}
    x = torch.linspace(-1, 1, 24).reshape(8, 3).to(kind)
    yield m(x).dtype, m(x).sum().grad_fn.name()
    m.float()
    yield m[0].weight.dtype, m.bfloat16()[0].weight.dtype
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad):
        p = nn.Parameter(torch.full((3,), 1.0, dtype=kind))
        optimizer = make([p], lr=0.1)
        p.grad = torch.full((3,), 0.7, dtype=kind)
        optimizer.step()
        yield p
    yield nn.Embedding(3, 2).to(kind)(torch.tensor([1])).dtype
    yield nn.LSTM(3, 4).to(kind)(torch.ones(1, 2, 3, dtype=kind))[0].dtype
    yield nn.TransformerEncoderLayer(4, 2, 8).to(kind)(torch.ones(2, 1, 4, dtype=kind)).dtype
    yield nn.Conv2d(1, 2, 3).to(kind)(torch.ones(1, 1, 5, 5, dtype=kind)).dtype


def compared(torch: Any) -> Any:
    x, close = torch.ones(2, dtype=torch.bfloat16), torch.testing.assert_close
    yield close(x, x * 1.01), raised(lambda: close(x, x * 1.02)).split("\n")[:4]


def neighbours(torch: Any) -> Any:
    """The next number of bfloat16, which is not that of float32."""
    kind, inf = torch.bfloat16, float("inf")
    x = torch.tensor([1.0, 0.0, -1.0, inf, 3e38, -0.0, 1.0], dtype=kind)
    y = torch.tensor([2.0, 1.0, -2.0, 0.0, inf, 0.0, 1.0], dtype=kind)
    yield x.nextafter(y).tolist(), y.nextafter(x).tolist(), x.nextafter(y).dtype
    yield x[0].nextafter(y[0]), x.clone().nextafter_(y[3]).tolist(), x.nextafter(y.float()).dtype
    yield torch.nextafter(x[1], x[2]).nextafter(x[0]), (x * float("nan")).nextafter(y).isnan()
