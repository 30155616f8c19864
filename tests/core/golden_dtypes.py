"""Dtypes: promotion of every pair, defaults, limits, names."""

import pickle
from typing import Any

from tests.answers import raised

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def operand(torch: Any, name: str, shape: tuple[int, ...]) -> Any:
    return torch.ones(shape, dtype=getattr(torch, name))


def what_a_dtype_is_taken_for(torch: Any) -> Any:
    """Programs tell arrays and tensors by their methods."""
    kinds = [getattr(torch, name) for name in NAMES]
    return [[hasattr(kind, name) for name in ("numpy", "itemsize", "shape")] for kind in kinds]


def short(dtype: Any) -> str:
    """`torch.float32` -> `float32`."""
    return str(dtype).removeprefix("torch.")


def sums_of_all_pairs(torch: Any) -> Any:
    """The dtype of a sum, for operands with dimensions and without, and Python numbers."""
    table = {}
    shapes: dict[str, tuple[int, ...]] = {"dim": (2,), "0-d": ()}
    for a in NAMES:
        for one, shape in shapes.items():
            left = operand(torch, a, shape)
            for other, second in shapes.items():
                kinds = [short((left + operand(torch, b, second)).dtype) for b in NAMES]
                table[f"{a} {one} + {other}"] = " ".join(kinds)
            numbers = [short((left + n).dtype) for n in (True, 1, 1.0)]
            reflected = [short((n + left).dtype) for n in (True, 1, 1.0)]
            table[f"{a} {one} + number"] = " ".join(numbers + reflected)
    return table


def three_operands(torch: Any) -> Any:
    """`where` and `cat` promote as well."""
    mask = torch.ones(2, dtype=torch.bool)
    table = {}
    for a in NAMES:
        left = operand(torch, a, (2,))
        kinds = [short(torch.where(mask, left, operand(torch, b, (2,))).dtype) for b in NAMES]
        joined = [short(torch.cat([left, operand(torch, b, (2,))]).dtype) for b in NAMES]
        table[a] = [" ".join(kinds), " ".join(joined)]
    return table


def by_operation(torch: Any) -> Any:
    """Division and means give floats, comparisons bools, sums of integers 64 bits."""
    table = {}
    for name in NAMES:
        x = operand(torch, name, (2,))
        row = [x / x, x / 2, 2 / x, x * 2.5, x == x, x.sum(), x.prod(), x.cumsum(0), x * x, x.exp()]
        row += [x.sqrt(), torch.sigmoid(x), x > 0, torch.maximum(x, x), x.max(), x // 1, x % 1]
        table[name] = " ".join(short(r.dtype) for r in row)
    return table


def other_default(torch: Any) -> Any:
    """With another default dtype, Python floats and divided integers follow it."""
    before = torch.get_default_dtype()
    for name in ("float64", "float16", "float32"):
        torch.set_default_dtype(getattr(torch, name))
        try:
            n, half = torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.float16)
            row = [torch.ones(1), torch.tensor(1.0), torch.tensor([1]), n / 2, n + 1.5, half + 1.5]
            row += [torch.zeros(1), torch.arange(3), torch.arange(3.0), torch.Tensor([1, 2])]
            yield [short(r.dtype) for r in row] + [repr(torch.ones(2)), repr(half)]
        finally:
            torch.set_default_dtype(before)


def refused_defaults(torch: Any) -> Any:
    yield from [
        raised(lambda: torch.set_default_dtype(torch.int64)),
        raised(lambda: torch.set_default_dtype("float32")),
    ]
    yield torch.get_default_dtype()


def promote_types(torch: Any) -> Any:
    return {
        a: " ".join(short(torch.promote_types(getattr(torch, a), getattr(torch, b))) for b in NAMES)
        for a in NAMES
    }


def casts(torch: Any) -> Any:
    kinds = [getattr(torch, name) for name in NAMES]
    return [
        [[torch.can_cast(a, b) for b in kinds] for a in kinds], torch.can_cast(float, int),
        torch.can_cast(from_=torch.int32, to=torch.bool),
        raised(torch.can_cast, torch.ones(1), torch.float32),
    ]  # fmt: skip


def names(torch: Any) -> Any:
    kinds = [getattr(torch, name) for name in NAMES]
    return [
        [repr(d), d.itemsize, d.is_floating_point, d.is_complex, d.is_signed] for d in kinds
    ] + [
        torch.float is torch.float32, torch.double is torch.float64, torch.half is torch.float16,
        torch.int is torch.int32, torch.long is torch.int64, torch.short is torch.int16,
        pickle.loads(pickle.dumps(torch.float32)) is torch.float32,
        {torch.float32: 1}[torch.float32], torch.float32 == torch.float64,
    ]  # fmt: skip


def limits(torch: Any) -> Any:
    integers = [
        torch.iinfo(getattr(torch, n)) for n in ("uint8", "int8", "int16", "int32", "int64")
    ]
    floats = [torch.finfo(getattr(torch, n)) for n in ("float16", "float32", "float64")]
    return [[repr(i), i.bits, i.min, i.max, i.dtype] for i in integers] + [
        [repr(f), f.bits, f.eps, f.min, f.max, f.tiny, f.smallest_normal, f.resolution, f.dtype]
        for f in [*floats, torch.finfo()]
    ]


def limits_are_values(torch: Any) -> Any:
    """Compared, hashed, not written to; of the right dtypes only."""
    one, other = torch.iinfo(torch.int8), torch.finfo(torch.float32)
    wrong = [
        lambda: torch.iinfo(torch.float32), lambda: torch.iinfo(torch.bool), lambda: torch.iinfo(3),
        lambda: torch.finfo(torch.int32), lambda: torch.finfo(torch.bool),
        lambda: torch.finfo(None), lambda: setattr(one, "max", 3), lambda: setattr(other, "eps", 3),
    ]  # fmt: skip
    return [
        one == torch.iinfo(torch.int8), one == torch.iinfo(torch.int16), one == other,
        hash(one) == hash(torch.iinfo(torch.int8)), other != torch.finfo(torch.float64),
        *map(raised, wrong),
    ]  # fmt: skip


def inference(torch: Any) -> Any:
    """The dtype that Python values and NumPy arrays bring."""
    values = [1, 1.0, True, [1, 2], [1, 2.0], [True, 1], [True, 2.5], [[]], [], [[1], [2]]]
    return [[short(torch.tensor(v).dtype), list(torch.tensor(v).shape)] for v in values]


def conversions(torch: Any) -> Any:
    """Values that lose something on the way."""
    x, n = torch.tensor([2.7, -2.7, 0.0, 300.0]), torch.tensor([300, -1, 0, 127])
    return [
        x.to(torch.int64), x.int(), x.bool(), x.half(), x.double(), n.to(torch.uint8),
        n.to(torch.int8), n.bool(), n.float(), torch.tensor(1e30, dtype=torch.float64).float(),
        torch.tensor(1e300, dtype=torch.float64).float(),
        torch.tensor([1.5], dtype=torch.float16) * 2,
    ]  # fmt: skip


def that_programs_compare_with(torch: Any) -> Any:
    """Dtypes of numbers that NumPy has not, as far as a program without them asks."""
    names = [
        "bfloat16", "bcomplex32", "cdouble", "cfloat", "chalf", "complex32", "complex64",
        "complex128", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
        "float8_e5m2fnuz", "float8_e8m0fnu", "qint8", "qint32", "quint2x4", "quint4x2", "quint8",
        "uint16", "uint32", "uint64",
    ]  # fmt: skip
    x, answers = torch.ones(2), {}
    for name in names:
        kind = getattr(torch, name)
        answers[name] = [
            str(kind), isinstance(kind, torch.dtype), kind.itemsize, kind.is_floating_point,
            kind.is_complex, name.startswith("q") or kind.is_signed,
            x.dtype == kind, x.dtype in (torch.float16, kind), kind == kind,
            hash(kind) == hash(kind), pickle.loads(pickle.dumps(kind)) is kind,
        ]  # fmt: skip
    return answers
