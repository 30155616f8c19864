"""Dtypes and numbers: promotion of every pair, names and limits, and what lies beyond these."""

import copy
import io
import math
import pickle
from typing import Any

import numpy as np

from tests.answers import bits, expressions, raised, sessions, told

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
# Of numbers that NumPy has not, as far as a program without them asks.
FOREIGN = """
bfloat16|bcomplex32|cdouble|cfloat|chalf|complex32|complex64|complex128|float4_e2m1fn_x2
float8_e4m3fn|float8_e4m3fnuz|float8_e5m2|float8_e5m2fnuz|float8_e8m0fnu|qint8|qint32|quint2x4
quint4x2|quint8|uint16|uint32|uint64
"""


def _names(torch: Any) -> dict[str, Any]:
    kinds = [getattr(torch, name) for name in NAMES]
    return {
        "copy": copy, "io": io, "math": math, "pickle": pickle, "kind": torch.bfloat16,
        "NAMES": NAMES, "FOREIGN": expressions(FOREIGN),
        "kinds": kinds, "vectors": [torch.ones(2).to(kind) for kind in kinds],
        "short": lambda results: [str(r.dtype).removeprefix("torch.") for r in results],
        "table": lambda calls: _table(torch, calls), "f": torch.nn.functional,
    }  # fmt: skip


session = sessions(_names)
dtypes = session("""
what a dtype is taken for
    [[hasattr(kind, name) for name in ("numpy", "itemsize", "shape")] for kind in kinds]
sums of all pairs
    scalars = [x[0] for x in vectors]
    for left in (*vectors, *scalars):
        short(left + right for right in (*vectors, *scalars))
        short(left + n for n in (True, 1, 1.0)), short(n + left for n in (True, 1, 1.0))
three operands
    mask = torch.ones(2, dtype=torch.bool)
    for x in vectors:
        short(torch.where(mask, x, y) for y in vectors), short(torch.cat([x, y]) for y in vectors)
by operation
    for x in vectors:
        short([x / x, x / 2, 2 / x, x * 2.5, x == x, x.sum(), x.prod(), x.cumsum(0), x * x])
        short([x.exp(), x.sqrt(), torch.sigmoid(x), x > 0, torch.maximum(x, x), x.max(), x // 1])
        short([x % 1])
other default
    before = torch.get_default_dtype()
    for kind in (torch.float64, torch.float16, torch.float32):
        _ = torch.set_default_dtype(kind)
        n, half = torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.float16)
        short([torch.ones(1), torch.tensor(1.0), torch.tensor([1]), n / 2, n + 1.5, half + 1.5])
        short([torch.zeros(1), torch.arange(3), torch.arange(3.0), torch.Tensor([1, 2])])
        torch.ones(2), half
    torch.set_default_dtype(before)
refused defaults
    torch.set_default_dtype(torch.int64), torch.set_default_dtype("float32")
    torch.get_default_dtype()
promote types
    [[torch.promote_types(a, b) for b in kinds] for a in kinds]
casts
    [[torch.can_cast(a, b) for b in kinds] for a in kinds], torch.can_cast(float, int)
    torch.can_cast(from_=torch.int32, to=torch.bool), torch.can_cast(torch.ones(1), torch.float32)
names
    [[repr(d), d.itemsize, d.is_floating_point, d.is_complex, d.is_signed] for d in kinds]
    torch.float is torch.float32, torch.double is torch.float64, torch.half is torch.float16
    torch.int is torch.int32, torch.long is torch.int64, torch.short is torch.int16
    pickle.loads(pickle.dumps(torch.float32)) is torch.float32, {torch.float32: 1}[torch.float32]
    torch.float32 == torch.float64
limits
    for i in map(torch.iinfo, kinds[1:6]):
        repr(i), i.bits, i.min, i.max, i.dtype
    for f in (*map(torch.finfo, kinds[6:]), torch.finfo()):
        repr(f), f.bits, f.eps, f.min, f.max, f.tiny, f.smallest_normal, f.resolution, f.dtype
limits are values
    one, other = torch.iinfo(torch.int8), torch.finfo(torch.float32)
    one == torch.iinfo(torch.int8), one == torch.iinfo(torch.int16), one == other
    hash(one) == hash(torch.iinfo(torch.int8)), other != torch.finfo(torch.float64)
    torch.iinfo(torch.float32), torch.iinfo(torch.bool), torch.iinfo(3), torch.finfo(torch.int32)
    torch.finfo(torch.bool), torch.finfo(None), setattr(one, "max", 3), setattr(other, "eps", 3)
inference
    values = [1, 1.0, True, [1, 2], [1, 2.0], [True, 1], [True, 2.5], [[]], [], [[1], [2]]]
    short(map(torch.tensor, values)), [list(torch.tensor(v).shape) for v in values]
conversions
    x, n = torch.tensor([2.7, -2.7, 0.0, 300.0]), torch.tensor([300, -1, 0, 127])
    x.to(torch.int64), x.int(), x.bool(), x.half(), x.double(), n.to(torch.uint8), n.to(torch.int8)
    n.bool(), n.float(), torch.tensor(1e30, dtype=torch.float64).float()
    torch.tensor(1e300, dtype=torch.float64).float(), torch.tensor([1.5], dtype=torch.float16) * 2
types of python
    torch.zeros(2, dtype=float).dtype, torch.tensor([1, 0], dtype=bool).dtype
    torch.full((2,), 1.5, dtype=int).dtype, torch.ones(2).to(int).dtype
    torch.zeros_like(torch.ones(2), dtype=float).dtype, torch.zeros(2, dtype="float32")
that programs compare with
    x = torch.ones(2)
    for name in FOREIGN:
        kind = getattr(torch, name)
        kind, isinstance(kind, torch.dtype), kind.itemsize, kind.is_floating_point, kind.is_complex
        name.startswith("q") or kind.is_signed, x.dtype == kind, x.dtype in (torch.float16, kind)
        kind == kind, hash(kind) == hash(kind), pickle.loads(pickle.dumps(kind)) is kind
""")
NUMBERS: list[Any] = [-1, -1.5, 200, 300, -300, 2**33, 1e39]


def _table(torch: Any, calls: dict[str, Any]) -> Any:
    """Each call with a vector of each dtype and each number: the result, or the error."""

    def answer(call: Any, kind: Any, number: Any) -> Any:
        try:
            return call(torch.tensor([0, 5, 7], dtype=kind), number).tolist()
        except Exception:
            return raised(call, torch.tensor([0, 5, 7], dtype=kind), number)

    return {
        f"{name} {kind}": [told(answer(call, getattr(torch, kind), n)) for n in NUMBERS]
        for name, call in calls.items()
        for kind in ("uint8", "int8", "int64", "float32")
    }


numbers = session("""
held between numbers
    calls = {
        "clamp": lambda x, n: x.clamp(n, n), "at least": lambda x, n: x.clamp(min=n),
        "at most": lambda x, n: x.clamp(max=n), "clamp_min": torch.clamp_min,
        "clamp_max": torch.clamp_max, "hardtanh": lambda x, n: f.hardtanh(x, -abs(n), abs(n)),
        "hardtanh_": lambda x, n: f.hardtanh_(x, -abs(n), abs(n)),
        "relu6": lambda x, n: f.relu6(x), "plain hardtanh": lambda x, n: f.hardtanh(x),
    }
    table(calls)
held between bools
    x = torch.tensor([True, False])
    x.clamp(False, True), x.clamp(min=True), x.clamp(max=False), x.clamp(0, True), x.clamp(True, 1)
    x.clamp(max=1), x.clamp(0, 0.5), f.hardtanh(x), f.hardtanh_(x)
written
    first = torch.tensor([0])
    calls = {
        "fill_": lambda x, n: x.fill_(n), "masked_fill": lambda x, n: x.masked_fill(x == 5, n),
        "masked_fill of a tensor": lambda x, n: x.masked_fill(x == 5, torch.tensor(n)),
        "scatter": lambda x, n: x.scatter(0, first, n), "full_like": torch.full_like,
        "where": lambda x, n: torch.where(x == 5, x, n),
    }
    table(calls)
scaled
    calls = {
        "add": lambda x, n: torch.add(x, x, alpha=n), "sub": lambda x, n: torch.sub(x, x, alpha=n),
        "addmm": lambda x, n: torch.addmm(x, x[:1, None], x[None], alpha=n),
        "addcmul": lambda x, n: torch.addcmul(x, x, x, value=n),
        "addcdiv": lambda x, n: torch.addcdiv(x, x, x + 1, value=n),
        "index_add": lambda x, n: x.index_add(0, torch.tensor([0]), x[:1], alpha=n),
        "power": lambda x, n: n ** x[:2] if abs(n) < 1000 else x,
    }
    table(calls)
factors of another category
    whole, real, truth = torch.ones(2).long(), torch.ones(2), torch.ones(2).bool()
    for factor in (True, False, 2, 0, 1.5):
        for x in (whole, real, truth):
            torch.add(x, x, alpha=factor), torch.sub(x, x, alpha=factor)
limits of a half
    half, mask = torch.ones(2).half(), torch.tensor([True, False])
    [raised(torch.zeros(1, dtype=torch.int8).fill_, n) for n in (127.5, 128.0, -128.5)]
    [raised(torch.zeros(1, dtype=torch.uint8).fill_, n) for n in (255.5, -0.5, -0.0)]
    [raised(torch.zeros(1).long().fill_, n) for n in (2.0**63, -(2.0**63), 2**63)]
    half.fill_(1e6), half.clamp(max=1e6), torch.where(mask, half, 1e6)
    torch.scalar_tensor(1e6, dtype=torch.half)
digits of integers
    for x in (torch.tensor([11, 25]), torch.tensor([True]), torch.tensor([11, 25]).to(torch.uint8)):
        for digits in (0, 1, -1):
            torch.round(x, decimals=digits), x.round_(decimals=digits)
        torch.round(x)
    y = torch.tensor([1.25, -0.5], requires_grad=True)
    y.round(decimals=0), y.round(), y.round(decimals=1)
remainders of bools
    x = torch.tensor([True, False])
    for n in (True, False, x, 2):
        torch.fmod(x, n), torch.remainder(x, n), torch.floor_divide(x, n)
        torch.div(x, n, rounding_mode="trunc"), torch.div(x, n, rounding_mode="floor")
weights without dimensions
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 5.0])
    for kind in (torch.half, torch.float64, torch.int64, torch.bool):
        weight = torch.tensor(0.25).to(kind)
        torch.lerp(x, y, weight), y.clone().lerp_(y + 1, weight), torch.lerp(y, y, weight[None])
    weight = torch.tensor(0.25, dtype=torch.half, requires_grad=True)
    torch.lerp(x, y, weight).sum().backward(), x.grad, weight.grad
one tensor in place of several
    joining = ["hstack", "vstack", "dstack", "row_stack", "column_stack", "cat", "stack", "concat"]
    nothing, two = torch.empty(0), torch.ones(2, 2)
    [raised(getattr(torch, name), two) for name in joining]
    [raised(getattr(torch, name), []) for name in joining[:5]]
    [raised(torch.cat, [nothing, nothing], dim=d) for d in (0, 1, -2, 5)]
    torch.cat([nothing, two], dim=1), torch.cat([nothing, two], dim=2)
lists that hold themselves
    for held in ([], [1], [[1, 2]]):
        _ = held.append(held)
        torch.tensor(held), torch.as_tensor(held)
gradients of products
    nan, inf, grad = math.nan, math.inf, torch.autograd.grad
    for values in ([1.0, nan, 2.0], [1.0, inf, 2.0], [2.0, 3.0, 4.0], [1.0, 0.0, nan], [2.0, 0.0]):
        for dim in ((), (0,)):
            x = torch.tensor(values, requires_grad=True)
            grad(x.prod(*dim), x)
            if 0.0 not in values and inf not in values:
                (slope,) = grad(x.prod(*dim), x, create_graph=True)
                slope, grad(slope.sum(), x)
gradients near zero
    x = torch.tensor([1e-30, 0.0, -1e-25, 1e-3, 2.0], requires_grad=True)
    torch.sinc(x).sum().backward(), x.grad
where windows lie
    base = torch.arange(24.0)
    views = [
        base.unfold(0, 3, 2), base[3:].unfold(0, 4, 1), base.view(4, 6).t().unfold(1, 2, 1),
        base.view(2, 3, 4).unfold(2, 2, 1).unfold(1, 2, 1), base.unfold(0, 3, 2)[2:],
        base.unfold(0, 3, 2).as_strided((2, 2), (3, 1), 1), torch.tensor(1.0).unfold(0, 1, 1),
    ]
    shared = [v.untyped_storage().data_ptr() == base.untyped_storage().data_ptr() for v in views]
    [[v.storage_offset(), v.stride(), v] for v in views], shared[:-1]
dtypes that functions take
    for kind in (torch.bool, torch.int32, torch.int64, torch.float32):
        square, row = torch.ones(1, 1, 4, 4, dtype=kind), torch.tensor([1, 2]).to(kind)
        matrix, part = square[0, 0], square[0, 0, :, :3]
        f.unfold(square, 3), f.fold(square[0].reshape(1, 4, 4), (3, 3), 2)
        f.avg_pool1d(square[0], 2), f.avg_pool2d(square, 2), f.avg_pool3d(square, 2)
        torch.repeat_interleave(row), torch.repeat_interleave(torch.arange(2), row)
        torch.cross(part, part, dim=1), torch.isin(row, row), torch.searchsorted(row, row)
        torch.tensordot(matrix, matrix[:1], dims=([0], [0]))
        torch.tensordot(matrix[:1].int(), matrix, dims=([0], [0]))
    [raised(torch.repeat_interleave, torch.tensor(n)) for n in (2, [[2]], [1, -2])]
    torch.repeat_interleave(torch.arange(2), torch.tensor([[1, 2]]))
numbers among elements
    x, small = torch.tensor([0.1, 0.7]), torch.tensor([1, 2], dtype=torch.uint8)
    zeros = torch.zeros(2, dtype=torch.uint8)
    torch.isin(x, 0.1), torch.isin(0.7, x), torch.isin(small, 257), torch.isin(small, True)
    torch.bucketize(0.1, x, right=True), torch.searchsorted(x, 0.7), torch.bucketize(257, small)
    [raised(zeros.scatter, 0, torch.tensor([0]), n, reduce="add") for n in (-1, -1.0, 300)]
powers of what times itself wraps around to one
    for kind in (torch.int8, torch.int16, torch.int32, torch.int64):
        exponents, largest = torch.tensor([1, 2, -3, -2, 0], dtype=kind), torch.iinfo(kind).max
        for base in (largest, -largest, -largest - 1, 1, -1, 0, 2):
            base**exponents, torch.full_like(exponents, base) ** exponents
bools beside what no integer holds
    flags = torch.tensor([True, False])
    for n in (2**63, 2**64 - 1, 2**64, 2**65, -(2**63) - 1):
        flags + n, n * flags, flags < n, flags.clamp(max=n), torch.where(flags, flags, n)
where losses bend
    x, ones = torch.tensor([[1.0, 0.0]], requires_grad=True), torch.ones(1, 2)
    losses = [
        f.margin_ranking_loss(x, torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, -1.0]])),
        f.hinge_embedding_loss(x, -ones), f.normalize(x * 0).sum(), f.smooth_l1_loss(x, ones * 0),
        f.triplet_margin_loss(x, ones * 4, torch.tensor([[7.0, 0.0]]), margin=1.0, eps=0.0),
        f.cosine_embedding_loss(x, torch.tensor([[1.0, 0.0]]), -ones[0, :1], margin=1.0),
        f.huber_loss(x, ones * 0),
    ]
    [torch.autograd.grad(loss, x)[0] for loss in losses]
targets of far logits
    x, target = torch.tensor([100.0, 200.0, -100.0, -200.0, 50.0]), torch.full((5,), 0.5)
    _ = target.requires_grad_()
    for weight in (None, torch.tensor(2.0)):
        loss = f.binary_cross_entropy_with_logits(x, target, reduction="sum", pos_weight=weight)
        _ = loss.backward()
    target.grad
""")
bfloat16 = session("""
limits
    for name in FOREIGN:
        if name.startswith(("bfloat", "float8", "complex")):
            info = torch.finfo(getattr(torch, name))
            repr(info), info.bits, info.eps, info.max, info.min, info.tiny
    repr(torch.iinfo(torch.uint16)), repr(torch.iinfo(torch.uint32))
    repr(torch.iinfo(torch.uint64)), torch.iinfo(torch.complex64), torch.finfo(torch.uint16)
made
    edges = [1.00390625, 1.01171875, 3e38, 3.4e38, float("inf"), -0.0, 1e-40, 9.2e-41]
    x = torch.tensor(edges, dtype=kind)
    torch.tensor([float("nan"), 1.0]).to(kind)
    x, x.tolist(), x.float(), x.double(), x.half(), x.type(), x.element_size(), x.nbytes
    torch.tensor(edges).to(kind), torch.tensor(edges).bfloat16(), x.to(kind) is x
    torch.tensor([257, 2**24 + 1]).to(kind), torch.tensor([True]).to(kind)
    torch.zeros(2, dtype=kind), torch.full((2,), 1.1, dtype=kind), torch.eye(2, dtype=kind)
    torch.arange(0, 2, 0.3, dtype=kind), torch.linspace(0, 1, 4, dtype=kind)
    torch.tensor([], dtype=kind), torch.tensor(2.7, dtype=kind), torch.zeros_like(x)
    x.numpy()
    x.view(torch.int16), torch.tensor([16256, 16403], dtype=torch.int16).view(kind)
    torch.frombuffer(bytearray(b"\\x80\\x3f\\x00\\x40"), dtype=kind)
drawn
    torch.rand(40, dtype=kind), torch.randn(20, dtype=kind), torch.randn(5, dtype=kind)
    torch.empty(33, dtype=kind).uniform_(-1, 1), torch.empty(20, dtype=kind).normal_()
    torch.nn.functional.dropout(torch.ones(6, dtype=kind))
    torch.nn.Linear(3, 2, dtype=kind).weight
promoted
    x = torch.tensor([1.1, 2.2], dtype=kind)
    names = ["bool", "uint8", "int64", "float16", "float32", "float64", "bfloat16"]
    for other in (torch.ones(2, dtype=getattr(torch, name)) for name in names):
        torch.promote_types(kind, other.dtype), torch.can_cast(kind, other.dtype), x + other
        other * x, x + other[0], x[0] + other, torch.result_type(x, other)
    x + 1, 1 - x, x / 3, x + 0.1, x**2, x > 1.1, x == 1.1, -x, x // 2, x % 1
    torch.ones(2, 2).mm(torch.ones(2, 2, dtype=kind))
numbers
    x, number = torch.arange(0.3, 5, 0.07).bfloat16(), torch.tensor(1.1001, dtype=torch.float64)
    for name in ["add", "sub", "mul", "div", "pow", "remainder", "floor_divide"]:
        function = getattr(torch, name)
        for other in (number.item(), number.float(), number):
            function(x, other), function(other, x), getattr(x.clone(), f"{name}_")(other)
    for name in ["atan2", "hypot", "eq", "ge", "gt", "le", "lt", "ne", "maximum", "fmod"]:
        function, other = getattr(torch, name), number.float()
        function(x, other), function(other, x)
computed
    x = torch.linspace(-2, 2, 12, dtype=kind).reshape(3, 4)
    x.exp(), x.tanh(), x.sum(), x.sum(0), x.mean(1), x.std(), x.softmax(1), x @ x.T
    x.max(), x.argmax(), x.sort(1), x.topk(2), x.cumsum(1), x.norm(), x.abs().sqrt()
    torch.cat([x, x]), torch.stack([x, x.float()]), torch.where(x > 0, x, 0)
    x[1:, ::2], x[torch.tensor([2, 0])], x.T.reshape(-1), x.expand(2, 3, 4)[1], x.clamp(-1, 1)
    y = x.clone()
    y[0] = 1.01
    _ = y[:, 1].mul_(1.01), y.add_(x, alpha=0.1)
    y, y.stride(), y[1:].storage_offset(), y.masked_fill(x > 0, 3.3), y._version
    torch.nn.functional.layer_norm(x, (4,)), torch.nn.functional.gelu(x)
differentiated
    x = torch.tensor([0.3, -1.7, 2.9], dtype=kind, requires_grad=True)
    y = (x * 3).exp() + x
    y, y.grad_fn.name(), x.is_leaf
    y.sum().backward(), x.grad, (x * x).sum().backward(), x.grad
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    g, torch.autograd.grad(g.sum(), x)
    seen = []
    _ = x.register_hook(lambda g: seen.append(g))
    (x.float() * 1.001).sum().backward(), x.grad, seen
kept
    t = torch.ones(2, dtype=kind) / 3
    again, p = pickle.loads(pickle.dumps(t)), torch.nn.Parameter(t)
    again, again * 3, copy.deepcopy(p), p
    file = io.BytesIO()
    _ = torch.save({"a": t, "b": t[1:], "kind": kind}, file)
    _ = file.seek(0)
    found = torch.load(file)
    found["a"].mul_(2), found
models
    nn = torch.nn
    m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2)).to(kind)
    {key: value.dtype for key, value in m.state_dict().items()}
    x = torch.linspace(-1, 1, 24).reshape(8, 3).to(kind)
    m(x).dtype, m(x).sum().grad_fn.name()
    _ = m.float()
    m[0].weight.dtype, m.bfloat16()[0].weight.dtype
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad):
        p = nn.Parameter(torch.full((3,), 1.0, dtype=kind))
        optimizer = make([p], lr=0.1)
        p.grad = torch.full((3,), 0.7, dtype=kind)
        _ = optimizer.step()
        p
    nn.Embedding(3, 2).to(kind)(torch.tensor([1])).dtype
    nn.LSTM(3, 4).to(kind)(torch.ones(1, 2, 3, dtype=kind))[0].dtype
    nn.TransformerEncoderLayer(4, 2, 8).to(kind)(torch.ones(2, 1, 4, dtype=kind)).dtype
    nn.Conv2d(1, 2, 3).to(kind)(torch.ones(1, 1, 5, 5, dtype=kind)).dtype
compared
    x, close = torch.ones(2, dtype=kind), torch.testing.assert_close
    close(x, x * 1.01), raised(lambda: close(x, x * 1.02)).splitlines()[:4]
neighbours
    # The next number of bfloat16, which is not that of float32.
    inf = math.inf
    x = torch.tensor([1.0, 0.0, -1.0, inf, 3e38, -0.0, 1.0], dtype=kind)
    y = torch.tensor([2.0, 1.0, -2.0, 0.0, inf, 0.0, 1.0], dtype=kind)
    x.nextafter(y).tolist(), y.nextafter(x).tolist(), x.nextafter(y).dtype
    x[0].nextafter(y[0]), x.clone().nextafter_(y[3]).tolist(), x.nextafter(y.float()).dtype
    torch.nextafter(x[1], x[2]).nextafter(x[0]), (x * float("nan")).nextafter(y).isnan()
""")
# Zeros of both signs, infinities, nan and huge numbers: what kind of number comes of them. It
# tells of each element only what every CPU agrees about: nan, an infinity, a zero and its sign, or
# the sign of another number. Where there is a gradient, its kinds follow; the sign of a zero in it
# depends on the way, and is left out.
INF, NAN = math.inf, math.nan
VALUES = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e-30, 1e30, -1e30, 0.5, 2.0, -2.5, 20.0, -3.0, 3.0]


def _kinds(tensor: Any, signed: bool) -> str:
    """The elements, a word each."""
    words = []
    for value in tensor.detach().numpy().ravel().tolist():
        if value != value or math.isinf(value):
            words.append(str(value))
        else:
            sign = "-" if np.signbit(value) else "+"
            words.append(sign if value else "-0" if signed and sign == "-" else "0")
    return " ".join(words)


def _asked(torch: Any, call: Any, *columns: list[float]) -> list[str]:
    """The kinds of a function's result and of its gradients."""
    inputs = [torch.tensor(column, requires_grad=True) for column in columns]
    out = call(*inputs)
    answer = [_kinds(out, True)]
    if out.requires_grad:
        grads = torch.autograd.grad(out, inputs, torch.ones_like(out))
        answer += [_kinds(g, False) for g in grads]
    return answer


def of_one(torch: Any) -> Any:
    names = (
        "abs acos asin asinh atan atanh ceil cos deg2rad erf erfc exp expm1 floor frac log log10 "
        "log1p log2 logit nan_to_num neg reciprocal round rsqrt sigmoid sign sin sinc sqrt square "
        "tan tanh trunc isfinite isnan signbit"
    )
    activations = (
        "relu selu silu softplus hardswish hardsigmoid hardtanh relu6 leaky_relu elu "
        "logsigmoid softsign tanhshrink"
    )
    calls = {name: getattr(torch, name) for name in names.split()}
    calls |= {name: getattr(torch.nn.functional, name) for name in activations.split()}
    calls |= {f"** {n}": lambda x, n=n: x**n for n in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.5, INF)}
    calls |= {f"{n} **": lambda x, n=n: n**x for n in (0, 1, 2, -1, 0.5)}
    calls |= {f"** tensor {n}": lambda x, n=n: x ** torch.tensor(n) for n in (0.5, 2.0)}
    calls |= {f"{n} /": lambda x, n=n: n / x for n in (0, 1, INF)}
    calls |= {
        "at least 0": lambda x: x.clamp(min=0), "at most 0": lambda x: x.clamp(max=0),
        "0": lambda x: x.clamp(0, 0), "at least nan": lambda x: x.clamp(min=NAN),
        "norm": lambda x: x.unsqueeze(-1).norm(dim=-1),
        "sum of logs": lambda x: x.unsqueeze(-1).logsumexp(-1),
    }  # fmt: skip
    return {name: _asked(torch, call, VALUES) for name, call in calls.items()}


def of_two(torch: Any) -> Any:
    f, values = torch.nn.functional, [0.0, -0.0, 1.0, INF, -INF, NAN, 2.0, -3.0]
    names = "add sub mul div pow atan2 maximum minimum logaddexp hypot copysign"
    losses = "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits"
    calls = {name: getattr(torch, name) for name in names.split()}
    calls |= {
        name: lambda x, y, name=name: getattr(f, name)(x, y, reduction="none")
        for name in losses.split()
    }
    for name in ["sum", "prod", "nansum", "nanmean", "logsumexp", "softmax", "log_softmax"]:
        calls[f"{name} of a row"] = lambda x, y, name=name: getattr(torch, name)(
            torch.stack([x, y], -1), -1
        )
    left = [x for x in values for _ in values]
    return {name: _asked(torch, call, left, values * len(values)) for name, call in calls.items()}


def quotients_in_half_precision(torch: Any) -> Any:
    """Rounded after each step by a tensor, at the end by a number or by one element."""
    n, answers = torch.arange(5000), {}

    def exact(found: Any) -> str:
        return bits(torch.where(found.isnan(), 7.0, found.double()))

    for dtype in (torch.float16, torch.bfloat16):
        x = ((n * 37 % 8191 - 4096) / 16).to(dtype)
        y = ((n * 101 % 997 - 498) / 64).to(dtype)
        x[:6] = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1.0])
        y[:12:2] = torch.tensor([0.0, 3.0, torch.inf, -torch.inf, torch.nan, -2.0])
        for other in (y, 2.7, torch.tensor(2.7), torch.tensor([2.7], dtype=dtype)):
            for mode in ("trunc", "floor"):
                key = f"{dtype} {mode} {getattr(other, 'shape', other)}"
                answers[key] = exact(torch.div(x, other, rounding_mode=mode))
                answers[key + "_"] = exact(x.clone().div_(other, rounding_mode=mode))
        answers[f"{dtype} of one"] = exact(torch.floor_divide(x[5], y))
        answers[f"{dtype} //"] = exact(x // y)
    answers["number //"] = exact(2.7 // (n / 64 + 1).half())
    return answers


def gradients_of_infinite_norms(torch: Any) -> dict[str, Any]:
    """Of greatest and smallest absolute values: shared by equal ones, with signs of zero."""
    answers, inf, nan = {}, torch.inf, torch.nan
    for dtype in (torch.float16, torch.float32, torch.float64):
        for values in ([3.0, -3.0, 1.0, -2.0, 0.0], [0.0, 0.0], [nan, 1.0], [inf, -inf, 1.0]):
            for ord in (inf, -inf):
                x = torch.tensor(values, dtype=dtype, requires_grad=True)
                grads = [
                    torch.autograd.grad(x.norm(ord), x, torch.tensor(g, dtype=dtype))[0]
                    for g in (1.0, -1.0, inf, nan, 0.0)
                ]
                answers[f"{dtype} {values} {ord}"] = str([g.tolist() for g in grads])
        for graph in (False, True):
            x = torch.tensor([[3.0, -3.0, 3.0, 1.0]] * 3, dtype=dtype, requires_grad=True)
            for dim in (0, 1):
                out = x.norm(inf, dim)
                g = torch.full_like(out, 0.7)
                shares = torch.autograd.grad(out, x, g, create_graph=graph)[0]
                answers[f"{dtype} shared along {dim}, {graph}"] = str(shares.tolist())
    return answers
