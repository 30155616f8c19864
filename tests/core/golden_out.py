"""`out=`: where results go, what is refused, and what is said."""

import warnings
from collections.abc import Callable
from typing import Any

from tests.answers import bits, numbers, raised, warned
from tests.ops.samples import TABLE
from tests.ops.sampling import Call

ROUNDING: dict[str, int] = {}  # numbers agree up to it

# fmt: off
NAMES = (
    "abs", "acos", "acosh", "add", "addcdiv", "addcmul", "addmm", "all",
    "amax", "amin", "aminmax", "angle", "any", "arange", "argmax", "argmin", "asin", "asinh",
    "atan", "atan2", "atanh", "baddbmm", "bitwise_and", "bitwise_left_shift", "bitwise_not",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bmm", "bucketize", "cat", "ceil",
    "cholesky_solve", "clamp", "clamp_max", "clamp_min", "clip",
    "column_stack", "concat", "concatenate", "copysign", "cos", "cosh", "cross", "cummax", "cummin",
    "cumprod", "cumsum", "deg2rad", "diag", "diff", "digamma", "div", "dot", "dstack", "eq", "erf",
    "erfc", "erfinv", "exp", "exp2", "expm1", "eye", "floor", "floor_divide",
    "fmod", "frac", "full", "gather", "gcd", "ge", "ger", "gt",
    "heaviside", "histc", "hstack", "hypot", "index_add", "index_copy",
    "index_select", "inner", "inverse", "isin", "isneginf", "isposinf", "kron",
    "kthvalue", "lcm", "le", "lerp", "lgamma", "linspace", "log", "log10", "log1p", "log2",
    "log_softmax", "logaddexp", "logaddexp2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logit", "logspace", "logsumexp", "lt",
    "masked_select", "matmul", "max", "maximum", "mean", "min", "minimum",
    "mm", "mul", "mv", "nan_to_num", "nanmean",
    "nanquantile", "nansum", "ne", "neg", "nextafter", "nonzero", "norm", "ones",
    "outer", "pow", "quantile", "rad2deg", "reciprocal", "remainder", "renorm",
    "round", "row_stack", "rsqrt", "scatter", "scatter_add", "scatter_reduce", "searchsorted",
    "sgn", "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "slogdet",
    "softmax", "softplus", "sort", "sqrt", "square", "stack", "std", "sub",
    "take", "take_along_dim", "tan", "tanh", "tensordot", "topk", "tril",
    "triu", "true_divide", "trunc", "var", "vdot", "vstack", "where", "zeros"
)
# fmt: on


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
    for name in NAMES:
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
    for name in NAMES:
        with torch.no_grad():
            out = like(torch, results(torch, name))
        answers[name] = raised(results, torch, name, out).partition(", but ")[0][:150]
    return answers


def memory(torch: Any) -> Any:
    base, a, b = torch.zeros(4, 6), torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)
    view = base[:2, :3]
    torch.add(a, b, out=view)
    yield from [base.tolist(), base._version, view._base is base]
    part = base[::2, :2]
    told = warned(lambda: torch.add(a, b, out=part))
    across = torch.zeros(3, 2).t()
    torch.exp(a, out=across)
    row = torch.zeros(12)
    torch.add(a, b, out=row[::2][:0])
    yield from [told, part, part.stride(), base.tolist(), across, across.stride(), row.tolist()]


def shared(torch: Any) -> Any:
    x = torch.arange(6.0)
    same = torch.add(x, 1, out=x) is x
    return [
        same, x.tolist(), raised(torch.add, x[:-1], 1, out=x[1:]),
        raised(torch.exp, x[:-1], out=x[1:]), torch.cumsum(x, 0, out=x),
        raised(torch.cat, [x[:2], x[2:4]], out=x[:4]), raised(torch.neg, x[1:], out=x[:-1]),
        raised(torch.add, x, 1, out=torch.zeros(1).expand(6)),
    ]  # fmt: skip


def of_no_tensor(torch: Any) -> Any:
    a = torch.ones(2, 2)
    return [
        raised(torch.exp, a, out=3), raised(torch.exp, a, out=[1]),
        raised(torch.matmul, a, a, out="x"), raised(torch.neg, a, out=[[1]]),
        raised(torch.max, a, 0, out=(torch.empty(0),)),
    ]  # fmt: skip


def made(torch: Any) -> Any:
    for dtype in (torch.float32, torch.float64, torch.int64):
        torch.manual_seed(3)
        outs = [torch.empty(0, dtype=dtype) for _ in range(6)]
        torch.zeros(2, out=outs[0])
        torch.full((2,), 1.5, out=outs[1])
        torch.arange(3, out=outs[2])
        torch.eye(2, out=outs[3])
        torch.randperm(4, out=outs[4])
        torch.randint(9, (3,), out=outs[5])
        yield from outs
        if dtype is not torch.int64:
            drawn = [torch.empty(0, dtype=dtype) for _ in range(3)]
            torch.rand(3, out=drawn[0])
            torch.randn(3, out=drawn[1])
            torch.linspace(0, 1, 3, out=drawn[2])
            yield from numbers(drawn)
    yield raised(torch.zeros, 2, dtype=torch.float64, out=torch.zeros(2))


def resizing(torch: Any) -> Any:
    x = torch.arange(6.0)
    same = x.resize_(2, 2) is x
    small = x.tolist()
    x.resize_((6,))
    m = torch.arange(6.0).reshape(2, 3)
    across = m.t()
    across.resize_(3, 2)
    row = m[1]
    row.resize_(2)
    row.add_(10)
    longer = torch.arange(3.0)
    longer.resize_(2, 2)
    leaf = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        inference = torch.zeros(3)
    version = x._version
    x.resize_(6)
    return [
        same, small, x, x._version == version, across, across.stride(), row, m, longer[0], leaf,
        longer.shape, raised(leaf.resize_, 3), raised((leaf * 2).resize_, 3),
        raised(x.resize_, "a"), raised(x.resize_, -1), raised(x.resize_, 2, -3),
        raised(inference.resize_, 2), x.resize_as_(torch.zeros(1, 2)), x.resize_(0),
    ]  # fmt: skip


def resized_beside_views(torch: Any) -> Any:
    """Views see what they saw, and what is written to them has its gradient."""
    for size in ((2, 2), (1, 4)):
        base = torch.arange(4.0)
        part = base[1:3]
        base.resize_(*size)
        x = torch.ones(2, requires_grad=True)
        part.mul_(x)
        (base * base).sum().backward()
        yield [x.grad, part, base]
    base = torch.arange(4.0)
    part = base[1:3]
    part.resize_(3)
    x = torch.ones(3, requires_grad=True)
    part.mul_(x)
    (base * base).sum().backward()
    wide = torch.zeros(8)
    few = wide[:6:2]
    with warnings.catch_warnings(action="ignore"):
        torch.ones(3, 2, out=wide)
    yield from [x.grad, base.grad_fn is not None, few, wide]


def refused_before_anything_is_written(torch: Any) -> Any:
    x, values, a = torch.tensor([[3.0, 1.0]]), torch.zeros(1), torch.ones(3)
    yield from [
        raised(torch.max, x, 1, out=(values, torch.zeros(1))),
        raised(torch.add, a, torch.ones(2, 3), out=a), raised(torch.add, a, 1, out=(a,)),
        *(raised(getattr(torch, name), a, 0, dtype=torch.float64, out=torch.zeros(()))
          for name in ("sum", "prod", "mean")),
    ]  # fmt: skip
    flagged = torch.zeros(2)
    torch.ones(2, requires_grad=True, out=flagged)
    yield from [values, values._version, a, flagged.requires_grad]


def places_in_order(torch: Any) -> Any:
    """`argsort` takes ``out`` only beside ``stable``."""
    x, floats = torch.tensor([[3.0, 1.0, 2.0]]), torch.empty(0)
    held = torch.empty(0, dtype=torch.int64)
    got = torch.argsort(x, stable=True, descending=True, out=held)
    leaf = x.clone().requires_grad_()
    return [
        held, got is held, raised(lambda: torch.argsort(x, stable=True, out=floats)),
        raised(lambda: torch.argsort(leaf, stable=True, out=held)),
    ]  # fmt: skip
