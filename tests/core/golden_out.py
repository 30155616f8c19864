"""`out=`: where results go, whose memory it may be, what is refused, and what is said."""

import warnings
from collections.abc import Callable
from typing import Any

from tests.answers import bits, expressions, given, numbers, raised, sessions, tables, warned
from tests.ops.samples import TABLE
from tests.ops.sampling import Call

ROUNDING: dict[str, int] = {}  # numbers agree up to it

NAMES = """
abs acos acosh add addcdiv addcmul addmm all amax amin aminmax angle any arange argmax argmin asin
asinh atan atan2 atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or
bitwise_right_shift bitwise_xor bmm bucketize cat ceil cholesky_solve clamp clamp_max clamp_min clip
column_stack concat concatenate copysign cos cosh cross cummax cummin cumprod cumsum deg2rad diag
diff digamma div dot dstack eq erf erfc erfinv exp exp2 expm1 eye floor floor_divide fmod frac full
gather gcd ge ger gt heaviside histc hstack hypot index_add index_copy index_select inner inverse
isin isneginf isposinf kron kthvalue lcm le lerp lgamma linspace log log10 log1p log2 log_softmax
logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit logspace logsumexp lt
masked_select matmul max maximum mean min minimum mm mul mv nan_to_num nanmean nanquantile nansum ne
neg nextafter nonzero norm ones outer pow quantile rad2deg reciprocal remainder renorm round
row_stack rsqrt scatter scatter_add scatter_reduce searchsorted sgn sigmoid sign signbit sin sinc
sinh slogdet softmax softplus sort sqrt square stack std sub take take_along_dim tan tanh tensordot
topk tril triu true_divide trunc var vdot vstack where zeros
"""


def results(torch: Any, name: str, out: Any = None) -> Any:
    """The results of an operation for its first sample, written to ``out`` if that is given."""
    sample = next(s for s in TABLE[name].samples if not s.fails)
    arrays = [i.draw(k, "float32") for k, i in enumerate(sample.inputs())]
    named = {} if out is None else {"out": out}
    function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    call = Call(torch, lambda *a, **k: function(*a, **k, **named), sample, arrays, torch.tensor)
    return call()


def like(torch: Any, found: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Zeros for results to be written to: their dtype and shape, if no other is given."""
    made = [torch.zeros(t.shape if shape is None else shape, dtype=dtype or t.dtype) for t in found]
    return made[0] if len(made) == 1 else tuple(made)


def each(torch: Any, ask: Callable[[str, Any], Any], but: tuple[str, ...] = ()) -> dict[str, Any]:
    """An answer for every operation, given its name and results.

    Args:
        but: operations that are left out.
    """
    answers = {}
    for name in NAMES.split():
        if name in but:
            continue
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            answers[name] = ask(name, results(torch, name))
    return answers


def written(torch: Any) -> Any:
    def ask(name: str, found: Any) -> Any:
        out = like(torch, found)
        got = results(torch, name, out)
        outs = [out] if len(found) == 1 else out
        same = all(a is b for a, b in zip(got, outs, strict=True))
        return [same, *([numbers(t), t._version > 0] for t in outs)]

    return each(torch, ask, but=("kron",))  # PyTorch does not count that write


def of_another_dtype(torch: Any) -> Any:
    def ask(name: str, found: Any) -> Any:
        answers = []
        for dtype in (torch.float64, torch.int32):
            out = like(torch, found, dtype=dtype)
            try:
                got = results(torch, name, out)
            except Exception as error:
                answers.append(f"{type(error).__name__}: {error}")
            else:
                answers.append([str(t.dtype) for t in got])
        return answers

    # PyTorch has several texts for these, or sums no integers in such.
    return each(torch, ask, but=("diag", "max", "min", "nanmean", "nansum"))


def of_another_shape(torch: Any) -> Any:
    def ask(name: str, found: Any) -> Any:
        out, empty = like(torch, found, shape=(7, 3)), like(torch, found, shape=(0,))
        told = warned(lambda: results(torch, name, out))
        silent = warned(lambda: results(torch, name, empty))
        first = out if len(found) == 1 else out[0]
        return [sorted(set(told)), silent, list(first.shape), bits(first).split()[0]]

    # The first two are deprecated, which is another warning; PyTorch looks at other shapes than
    # the result's in `kthvalue` and at numbers in `arange`.
    return each(torch, ask, but=("ger", "row_stack", "kthvalue", "arange"))


def of_what_requires_grad(torch: Any) -> Any:
    answers = {}
    for name in NAMES.split():
        with torch.no_grad():
            out = like(torch, results(torch, name))
        answers[name] = raised(results, torch, name, out).partition(", but ")[0][:150]
    return answers


# Each is given `base`, and `out` in its memory.
EMPTY = """
base[3:3]|base[12:]|base[14:20]|base[4:2]|base[1:5:2][3:]|base.narrow(0, 4, 0)
base.split([2, 0, 10])[1]|base.tensor_split(13)[12]|base.view(3, 4)[1:1]|base.view(3, 4)[:, 2:2]
base.view(3, 4)[1, 3:3]|base.view(3, 4)[1:1, 2:]|base.view(3, 4)[-2, 4:]|base[3:3].view(0, 2)
base.as_strided((0, 2), (1, 1), 5)|base.view(3, 4)[None, 2:2]|base[5:5].detach()|base[5:5].data
"""
SHARED = """
base.detach()|base.data|base.view(3, 4)|base[3:]|base[3:5]|base.view(3, 4).t()|base[2:6].view(2, 2)
base[3]
"""
# Of matrices that lie transposed.
ORDERED = """
torch.exp(m, out=out)|torch.add(m, 1, out=out)|torch.add(m, n, out=out)|torch.gt(m, n, out=out)
torch.where(m > 1, m, n, out=out)|torch.sum(m, 0, out=out)|torch.mm(m, n.t(), out=out)
torch.cat([m, m], out=out)|torch.stack([m, m], out=out)|torch.cumsum(m, 0, out=out)
torch.nonzero(m > 1, out=out.long())|torch.tril(m, out=out)|torch.gather(m, 0, i, out=out)
torch.clamp(m, 0, 2, out=out)|torch.lerp(m, n, 0.5, out=out)|torch.full((2, 3), 1.0, out=out)
"""


def _names(torch: Any) -> dict[str, Any]:
    def empty(*dtypes: str) -> tuple[Any, ...]:
        return tuple(torch.empty(0, dtype=getattr(torch, dtype)) for dtype in dtypes)

    lists = {"EMPTY": EMPTY, "SHARED": SHARED, "ORDERED": ORDERED}
    return given(torch, like, empty=empty, **{n: expressions(lists[n]) for n in lists})


session = sessions(_names)
out = session("""
memory
    base, a, b = torch.zeros(4, 6), torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)
    view = base[:2, :3]
    _ = torch.add(a, b, out=view)
    base.tolist(), base._version, view._base is base
    part, across, row = base[::2, :2], torch.zeros(3, 2).t(), torch.zeros(12)
    warned(lambda: torch.add(a, b, out=part))
    _ = torch.exp(a, out=across), torch.add(a, b, out=row[::2][:0])
    part, part.stride(), base.tolist(), across, across.stride(), row.tolist()
shared
    x = torch.arange(6.0)
    torch.add(x, 1, out=x) is x, x.tolist(), torch.add(x[:-1], 1, out=x[1:])
    torch.exp(x[:-1], out=x[1:]), torch.cumsum(x, 0, out=x), torch.cat([x[:2], x[2:4]], out=x[:4])
    torch.neg(x[1:], out=x[:-1]), torch.add(x, 1, out=torch.zeros(1).expand(6))
of no tensor
    a = torch.ones(2, 2)
    torch.exp(a, out=3), torch.exp(a, out=[1]), torch.matmul(a, a, out="x")
    torch.neg(a, out=[[1]]), torch.max(a, 0, out=(torch.empty(0),))
made
    for dtype in ("float32", "float64", "int64"):
        _ = torch.manual_seed(3)
        a, b, c, d, e, f, *outs = empty(*[dtype] * 9)
        torch.zeros(2, out=a), torch.full((2,), 1.5, out=b), torch.arange(3, out=c)
        torch.eye(2, out=d), torch.randperm(4, out=e), torch.randint(9, (3,), out=f)
        if dtype != "int64":
            numbers([torch.rand(3, out=outs[0]), torch.randn(3, out=outs[1])])
            numbers(torch.linspace(0, 1, 3, out=outs[2]))
    torch.zeros(2, dtype=torch.float64, out=torch.zeros(2))
resizing
    x, m, longer = torch.arange(6.0), torch.arange(6.0).reshape(2, 3), torch.arange(3.0)
    x.resize_(2, 2) is x, x.tolist(), x.resize_((6,))
    across, row, leaf = m.t(), m[1], torch.ones(2, requires_grad=True)
    _ = across.resize_(3, 2), row.resize_(2), row.add_(10), longer.resize_(2, 2)
    with torch.inference_mode():
        inference = torch.zeros(3)
    version = x._version
    x.resize_(6), x._version == version, across, across.stride(), row, m, longer[0], leaf
    longer.shape, leaf.resize_(3), (leaf * 2).resize_(3), x.resize_("a"), x.resize_(-1)
    x.resize_(2, -3), inference.resize_(2), x.resize_as_(torch.zeros(1, 2)), x.resize_(0)
resized beside views
    # Views see what they saw, and what is written to them has its gradient.
    for size in ((2, 2), (1, 4)):
        base, x = torch.arange(4.0), torch.ones(2, requires_grad=True)
        part = base[1:3]
        _ = base.resize_(*size), part.mul_(x)
        (base * base).sum().backward(), x.grad, part, base
    base, x, wide = torch.arange(4.0), torch.ones(3, requires_grad=True), torch.zeros(8)
    part, few = base[1:3], wide[:6:2]
    _ = part.resize_(3), part.mul_(x), torch.ones(3, 2, out=wide)
    (base * base).sum().backward(), x.grad, base.grad_fn is not None, few, wide
refused before anything is written
    x, values, a = torch.tensor([[3.0, 1.0]]), torch.zeros(1), torch.ones(3)
    torch.max(x, 1, out=(values, torch.zeros(1)))
    torch.add(a, torch.ones(2, 3), out=a), torch.add(a, 1, out=(a,))
    for function in (torch.sum, torch.prod, torch.mean):
        function(a, 0, dtype=torch.float64, out=torch.zeros(()))
    flagged = torch.zeros(2)
    _ = torch.ones(2, requires_grad=True, out=flagged)
    values, values._version, a, flagged.requires_grad
places in order
    # `argsort` takes ``out`` only beside ``stable``.
    x, floats, held = torch.tensor([[3.0, 1.0, 2.0]]), torch.empty(0), torch.empty(0).long()
    leaf = x.clone().requires_grad_()
    torch.argsort(x, stable=True, descending=True, out=held) is held, held
    torch.argsort(x, stable=True, out=floats), torch.argsort(leaf, stable=True, out=held)
drawn
    _ = torch.manual_seed(5)
    p, out = torch.full((4,), 0.5), torch.zeros(4)
    torch.bernoulli(p, out=out) is out, out.clone(), torch.normal(p, 1.0, out=out)
    torch.normal(0.0, 1.0, (4,), out=out), torch.normal(p, 1.0, out=torch.zeros(4).int())
    _ = torch.manual_seed(6)
    torch.multinomial(p, 2, out=torch.zeros(0).long()), torch.multinomial(p, 2, out=torch.zeros(2))
of several results
    m = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    for function in (torch.median, torch.max, torch.min, torch.cummax):
        function(m, 0, out=empty("float32", "int64")), function(m, 0, out=empty("float64", "int64"))
    for function in (torch.sum, torch.prod):
        [function(m, 1, out=out) for out in empty("float32", "float64")]
        function(m, 1, out=torch.empty(0).int())
    torch.svd(m * 0 + torch.eye(2), out=empty(*["float32"] * 3))
    torch.lu_unpack(*torch.linalg.lu_factor(m), out=empty(*["float32"] * 3))
    mixed = empty("float64", "float32", "int32", "float32")
    torch.linalg.lstsq(torch.eye(2), m, out=mixed)
    torch.linalg.lstsq(torch.eye(2), m, out=empty(*["int32"] * 4))
that required grad
    # What makes a tensor decides anew whether its `out` requires grad.
    for requires_grad in (False, True):
        out = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            _ = torch.full((3,), 2.0, out=out, requires_grad=requires_grad)
        out.requires_grad
that requires grad
    # Outside grad mode it is written to, and given another shape.
    leaf, held = torch.zeros(2, requires_grad=True), torch.zeros(1, 2)
    with torch.no_grad():
        few = held.t()
        _ = torch.add(torch.ones(2, 3), 1, out=leaf), torch.ones(2, 3, out=few)
        few[0, 0] = 7
    leaf, leaf._version, held, few, few._base is held, leaf.resize_(3)
of functions for layers
    x = torch.linspace(-2, 2, 16).reshape(4, 4)
    asked = {
        F.gelu: (x,), F.softplus: (x,), F.logsigmoid: (x,), F.linear: (x, x), F.normalize: (x,),
        F.avg_pool2d: (x[None], 2), F.avg_pool3d: (x[None, None], (1, 2, 2)),
    }
    for function, args in asked.items():
        found, leaf = function(*args), x.clone().requires_grad_()
        out = torch.zeros(found.shape)
        function(*args, out=out) is out, bool((out == found).all()), out._version
        function(*args, out=out.int()), "no error" in raised(function, *args, out=out.double())
        raised(function, leaf, *args[1:], out=out) if args[0] is x else None
of linear algebra
    m, v = torch.tensor([[4.0, 1.0], [1.0, 3.0]]), torch.tensor([1.0, 2.0])
    names = "cholesky cholesky_ex det eigh eigvalsh inv lu_factor matrix_norm matrix_rank norm "
    names += "pinv qr slogdet svd svdvals vector_norm"
    asked = dict.fromkeys(names.split(), (m,)) | {"matmul": (m, m), "solve": (m, v)}
    asked |= {"cross": (torch.ones(3), torch.arange(3.0)), "lstsq": (torch.eye(2), m)}
    for name, args in asked.items():
        function, leaves = getattr(torch.linalg, name), [a.clone().requires_grad_() for a in args]
        found = function(*args)
        outs = found if isinstance(found, tuple) else (found,)
        _ = function(*args, out=like(outs))
        raised(function, *args, out=like(outs, dtype=torch.float64))[:90]
        refused = raised(function, *leaves, out=like(outs)).partition(", but")[0]
        refused if "no error" not in refused else "none"
without elements
    # A slice of none has its place, where something larger is written.
    for text in EMPTY:
        base = torch.zeros(12)
        out = eval(text, {"base": base})
        first = out.storage_offset()
        _ = torch.add(torch.ones(2), 1, out=out)
        first, base.tolist(), out, out.storage_offset()
beyond shared memory
    # All tensors in the memory that becomes too small are in the larger one.
    for text in SHARED:
        for grows in ("base", "out"):
            base = torch.arange(12.0)
            out = eval(text, {"base": base})
            _ = warned(lambda: torch.add(torch.ones(14), 1, out=out if grows == "out" else base))
            base.tolist(), out.tolist()
            base[3:5] = 7
            _ = out.mul_(2)
            base.tolist(), out.tolist(), out.stride()
    held, row, leaf = torch.zeros(3), torch.arange(4.0), nn.Parameter(torch.ones(3))
    array, parts, words = held.numpy(), [row[k:] for k in range(3)], row.view(torch.int32)
    row.resize_(8)[4:] = 1
    words[1] = 0
    _ = leaf.data.resize_(5).fill_(2)
    raised(held.resize_, 5), array.tolist(), parts, words.tolist(), leaf.detach()
in the order of the inputs
    for text in ORDERED:
        for size in (0, 7):
            m, n, got = torch.arange(6.0).view(3, 2).t(), torch.ones(3, 2).t(), []
            i, out = torch.zeros(2, 3).long(), torch.zeros(size)
            out = out.bool() if ".gt" in text else out
            _ = warned(lambda: got.append(eval(text, globals())))
            got[0].stride(), got[0].tolist()
""")


# `out` begins where `x` does, or three elements behind.
OVERLAPPING = """
torch.cumsum(x, 0, out=out)|torch.cumprod(x, 0, out=out)|torch.softmax(x, 0, out=out)
torch.std(x, 0, out=out[0])|torch.logsumexp(x, 0, out=out[0])|torch.tril(x, 0, out=out)
torch.exp(x, out=out)|torch.sgn(x, out=out)|torch.nan_to_num(x, out=out)|torch.abs(x, out=out)
torch.angle(x, out=out)|torch.inverse(x, out=out)|torch.clamp_min(x, 0.5, out=out)
torch.gather(x, 0, i, out=out)|torch.take(x, i, out=out)|torch.index_select(x, 0, i[1], out=out)
torch.index_add(x, 0, i[1], torch.ones(3, 3), out=out)|torch.scatter(x, 0, i[:1], 1.0, out=out)
torch.renorm(x, 2, 0, 1.0, out=out)|torch.where(x > 1, x, -x, out=out)
torch.cross(x, x.flip(0), dim=1, out=out)|torch.kron(x, x[:1, :1], out=out)
torch.take_along_dim(x, i, 0, out=out)|torch.cat([x], out=out)
torch.sort(x, out=(out, torch.empty(0).long()))
torch.max(x, 0, True, out=(out[:1], torch.empty(0).long()))
"""


def sharing_of_functions(torch: Any) -> Any:
    """Which inputs are refused whose memory lies in what is written to, all or in part."""
    answers = {}
    for call in expressions(OVERLAPPING):
        base, i = torch.rand(24) + 0.5, torch.tensor([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
        names = {"torch": torch, "x": base[:9].view(3, 3), "i": i}
        outs = [base[k : k + 9].view(3, 3) for k in (0, 3)]
        answers[call] = ["refer to a" in raised(eval, call, names | {"out": out}) for out in outs]
    return answers


of_dtypes = tables(lambda torch: {"x": torch.ones(3, 4)})("""
torch.any(x, 0, out=torch.zeros(4).byte())|torch.all(x, out=torch.zeros(()).byte())
torch.any(x.byte(), 0, out=torch.zeros(4).bool())|torch.any(x, out=torch.zeros(()).int())
torch.nansum(x, 0, out=torch.zeros(4).int())|torch.nansum(x.int(), 0, out=torch.zeros(4))
torch.nansum(x, 0, out=torch.zeros(4).double())|torch.cumsum(x, 0, dtype=torch.bool)
torch.cumprod(x, 0, out=x.bool())|torch.cumsum(x, 0, out=x.bool())|x.bool().cumprod_(0)
""")
# What is written to views, which lie as the names say; nothing else in their memory changes.
FILLING = """
torch.arange(6, out=out)|torch.arange(0, 3, 0.5, out=out)|torch.linspace(0, 10, 6, out=out)
torch.logspace(0, 5, 6, 2, out=out)|torch.randperm(6, out=out)|torch.zeros(6, out=out)
torch.full((3, 2), 2, out=out)|torch.eye(3, 2, out=out)|torch.add(m, 1, out=out)
torch.mul(m[0, 0], 3, out=out)|torch.cumsum(m, 0, out=out)|torch.sum(m, 0, out=out)
torch.gather(m, 0, m.long() % 3, out=out)|torch.cat([m, m], out=out)|torch.mm(m, m.t(), out=out)
torch.sort(m, out=(out, torch.zeros(0).long()))[0]|torch.rand(6, out=out)
torch.where(m > 2, m, -m, out=out)|torch.masked_select(m, m > 2, out=out)
"""
# Memory that is written to more than once, or read and written to.
SHARING = """
six.masked_fill_(mask, 0.5)
six.masked_fill_(mask[:1], torch.tensor(2.0))|mask[1:].masked_fill_(mask[:-1], False)
mask.masked_fill_(mask, False)|six.index_put_((i,), row[:3])|row.index_put_((i,), row[0])
i.index_put_((i,), i)|i.index_put_((i,), i[0])|row.index_put_((i,), row[:3])
i.index_put_((i,), i.clone())|i.index_put_((i.clone(),), i)|torch.gather(row, 0, i, out=six[:3])
torch.gather(row, 0, i, out=row)|torch.gather(i.clone(), 0, i[1:], out=i[:1])
torch.gather(i.clone(), 0, i, out=i)|torch.index_select(row, 0, i, out=six[:3])
torch.index_select(row, 0, i, out=row[:3])|torch.index_select(i.clone(), 0, i, out=i)
torch.take(i.clone(), i, out=i)|six.scatter_(0, i, 1.0)|row.scatter_(0, i, row)|i.scatter_(0, i, 1)
i.scatter_(0, i, i.clone())|row.scatter_reduce_(0, i, row, "sum")|i.index_add_(0, i, i.clone())
i.index_copy_(0, i.clone(), i)
six.masked_scatter_(mask, row)|row[:3].masked_scatter_(mask[:3], row[3:])
row[:3].masked_scatter_(mask[:3], row[1:4])
six.fill_(1)|six.fill_(torch.tensor(1.0))|six.zero_()
torch.zeros(6, out=six)|torch.full((6,), 2.0, out=six)|torch.eye(3, out=square)
torch.ones(6, out=six)|torch.rand(6, out=six)|torch.arange(6, out=six)
torch.linspace(0, 1, 6, out=six)|six.add_(1)
torch.addmm(row[:4].view(2, 2), flat, flat, out=row[1:5].view(2, 2))|torch.add(m[0], 1, out=m)
torch.add(m, 1, out=m[0])|torch.add(m, 1, out=m.t())|torch.add(m, 1, out=m.view(6))
torch.add(row[:3], 1, out=row)|torch.add(m[0], m, out=m[0])
torch.add(row[:2], 1, out=six[:1].expand(5))|torch.cumsum(row[:3], 0, out=row)
torch.linalg.cross(square, square, out=square)|torch.diff(row, out=row[1:])
six[i] = 1.0|six[mask] = 1.0|six[i] = row[:3]
"""
DTYPES = """
torch.bernoulli(p, out=p.int())|torch.bernoulli(p, out=p.bool())|torch.bernoulli(p, out=p.half())
torch.bernoulli(p, out=torch.zeros(5).long())
torch.logspace(0, 1, 3, dtype=torch.bool)|torch.arange(3, out=p.clone())
torch.arange(3, out=p.double())
"""


def _layouts(torch: Any) -> dict[str, tuple[Any, Any]]:
    """For each layout: all of the memory, and the view of it that is written to."""
    whole, rows, few, larger = torch.zeros(5, 5), torch.zeros(13), torch.zeros(2, 1), torch.zeros(9)
    single = torch.tensor(1.0)
    return {
        "inner": (whole, whole[1:4, 1:3]), "steps": (rows, rows[1::2]), "too small": (few, few.t()),
        "across": (larger, larger[:6].view(2, 3).t()), "empty": (few, few.new_zeros(0, 4)),
        "behind": (larger, larger[7:]), "of no dimensions": (single, single),
    }  # fmt: skip


def written_to_views(torch: Any) -> Any:
    answers = {}
    for call in expressions(FILLING):
        for layout in _layouts(torch):
            base, out = _layouts(torch)[layout]
            # Only the base of a view that grows is known.
            base = out if layout == "behind" else base
            names = {"torch": torch, "out": out, "m": torch.arange(6.0).view(3, 2)}
            torch.manual_seed(1)
            with warnings.catch_warnings(action="ignore"):
                found = raised(eval, call, names)
            answers[f"{call}, {layout}"] = [found, list(out.stride()), base.tolist()]
    return answers


def _shared(torch: Any) -> dict[str, Any]:
    torch.manual_seed(2)
    return {
        "torch": torch, "six": torch.arange(1.0).expand(6), "i": torch.tensor([2, 1, 0]),
        "mask": torch.tensor([True, False, True, True, False, False]), "row": torch.arange(6.0),
        "square": torch.ones(1).expand(3, 3), "m": torch.arange(6.0).view(3, 2),
        "flat": torch.ones(2, 2), "p": torch.tensor([0.2, 0.7]),
    }  # fmt: skip


def sharing(torch: Any) -> Any:
    """The warnings, and the first words of the error, if there is one; else what is there then."""
    answers = {}
    for call in expressions(SHARING):
        names, found = _shared(torch), []
        told = warned(lambda: found.append(raised(exec, call, names)))
        found = [text[:80] for text in found]
        if found == ["no error, but None"]:
            found = [names[n] for n in ("six", "i", "mask", "row", "square", "m", "flat")]
        answers[call] = [*found, sorted({text[:120] for text in told})]
    return answers


def of_drawn_dtypes(torch: Any) -> Any:
    answers = {}
    for call in expressions(DTYPES):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            answers[call] = raised(eval, call, _shared(torch)).partition(" (Triggered")[0]
    return answers
