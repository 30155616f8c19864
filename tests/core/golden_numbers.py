"""Numbers at and beyond the limits of a dtype, and what becomes of them."""

import math
from typing import Any

from tests.answers import raised, told

NUMBERS: list[Any] = [-1, -1.5, 200, 300, -300, 2**33, 1e39]
DTYPES = ["uint8", "int8", "int64", "float32"]


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
        for kind in DTYPES
    }


def held_between_numbers(torch: Any) -> Any:
    f = torch.nn.functional
    table = {
        "clamp": lambda x, n: x.clamp(n, n), "at least": lambda x, n: x.clamp(min=n),
        "at most": lambda x, n: x.clamp(max=n), "clamp_min": torch.clamp_min,
        "clamp_max": torch.clamp_max, "hardtanh": lambda x, n: f.hardtanh(x, -abs(n), abs(n)),
        "hardtanh_": lambda x, n: f.hardtanh_(x, -abs(n), abs(n)),
        "relu6": lambda x, n: f.relu6(x), "plain hardtanh": lambda x, n: f.hardtanh(x),
    }  # fmt: skip
    return _table(torch, table)


def held_between_bools(torch: Any) -> Any:
    x, f = torch.tensor([True, False]), torch.nn.functional
    return [
        raised(x.clamp, False, True), raised(x.clamp, min=True), raised(x.clamp, max=False),
        x.clamp(0, True), x.clamp(True, 1), x.clamp(max=1), x.clamp(0, 0.5), raised(f.hardtanh, x),
        raised(f.hardtanh_, x),
    ]  # fmt: skip


def written(torch: Any) -> Any:
    first = torch.tensor([0])
    table = {
        "fill_": lambda x, n: x.fill_(n), "masked_fill": lambda x, n: x.masked_fill(x == 5, n),
        "masked_fill of a tensor": lambda x, n: x.masked_fill(x == 5, torch.tensor(n)),
        "scatter": lambda x, n: x.scatter(0, first, n), "full_like": torch.full_like,
        "where": lambda x, n: torch.where(x == 5, x, n),
    }  # fmt: skip
    return _table(torch, table)


def scaled(torch: Any) -> Any:
    table = {
        "add": lambda x, n: torch.add(x, x, alpha=n), "sub": lambda x, n: torch.sub(x, x, alpha=n),
        "addmm": lambda x, n: torch.addmm(x, x[:1, None], x[None], alpha=n),
        "addcmul": lambda x, n: torch.addcmul(x, x, x, value=n),
        "addcdiv": lambda x, n: torch.addcdiv(x, x, x + 1, value=n),
        "index_add": lambda x, n: x.index_add(0, torch.tensor([0]), x[:1], alpha=n),
        "power": lambda x, n: n ** x[:2] if abs(n) < 1000 else x,
    }  # fmt: skip
    return _table(torch, table)


def factors_of_another_category(torch: Any) -> Any:
    whole, real, truth = torch.ones(2).long(), torch.ones(2), torch.ones(2).bool()
    for factor in (True, False, 2, 0, 1.5):
        for x in (whole, real, truth):
            for call in (torch.add, torch.sub):
                yield raised(call, x, x, alpha=factor)


def limits_of_a_half(torch: Any) -> Any:
    answers = [raised(torch.zeros(1, dtype=torch.int8).fill_, n) for n in (127.5, 128.0, -128.5)]
    answers += [raised(torch.zeros(1, dtype=torch.uint8).fill_, n) for n in (255.5, -0.5, -0.0)]
    answers += [raised(torch.zeros(1).long().fill_, n) for n in (2.0**63, -(2.0**63), 2**63)]
    half, mask = torch.ones(2).half(), torch.tensor([True, False])
    answers += [raised(call, 1e6) for call in (half.fill_, lambda n: half.clamp(max=n))]
    return [*answers, torch.where(mask, half, 1e6), torch.scalar_tensor(1e6, dtype=torch.half)]


def digits_of_integers(torch: Any) -> Any:
    for x in (torch.tensor([11, 25]), torch.tensor([True]), torch.tensor([11, 25]).to(torch.uint8)):
        for digits in (0, 1, -1):
            yield from [raised(torch.round, x, decimals=digits), raised(x.round_, decimals=digits)]
        yield raised(torch.round, x)
    y = torch.tensor([1.25, -0.5], requires_grad=True)
    yield from [y.round(decimals=0), y.round(), y.round(decimals=1)]


def remainders_of_bools(torch: Any) -> Any:
    x = torch.tensor([True, False])
    calls = [torch.fmod, torch.remainder, torch.floor_divide]
    modes = [lambda a, b, m=m: torch.div(a, b, rounding_mode=m) for m in ("trunc", "floor")]
    return [raised(call, x, n) for call in calls + modes for n in (True, False, x, 2)]


def weights_without_dimensions(torch: Any) -> Any:
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 5.0])
    for kind in (torch.half, torch.float64, torch.int64, torch.bool):
        weight = torch.tensor(0.25).to(kind)
        yield from [torch.lerp(x, y, weight), y.clone().lerp_(y + 1, weight)]
        yield raised(torch.lerp, y, y, torch.tensor([0.25]).to(kind))
    weight = torch.tensor(0.25, dtype=torch.half, requires_grad=True)
    torch.lerp(x, y, weight).sum().backward()
    yield from [x.grad, weight.grad]


def one_tensor_in_place_of_several(torch: Any) -> Any:
    joining = ["hstack", "vstack", "dstack", "row_stack", "column_stack", "cat", "stack", "concat"]
    nothing = torch.empty(0)
    return [
        *(raised(getattr(torch, name), torch.ones(2, 2)) for name in joining),
        *(raised(getattr(torch, name), []) for name in joining[:5]),
        *(raised(torch.cat, [nothing, nothing], dim=d) for d in (0, 1, -2, 5)),
        raised(torch.cat, [nothing, torch.ones(2, 2)], dim=1),
        raised(torch.cat, [nothing, torch.ones(2, 2)], dim=2),
    ]


def lists_that_hold_themselves(torch: Any) -> Any:
    first: list[Any] = []
    second: list[Any] = [1]
    third: list[Any] = [[1, 2]]
    for held in (first, second, third):
        held.append(held)
    return [
        raised(make, held)
        for held in (first, second, third)
        for make in (torch.tensor, torch.as_tensor)
    ]


def gradients_of_products(torch: Any) -> Any:
    nan, inf = math.nan, math.inf
    for values in ([1.0, nan, 2.0], [1.0, inf, 2.0], [2.0, 3.0, 4.0], [1.0, 0.0, nan], [2.0, 0.0]):
        for dim in ((), (0,)):
            x = torch.tensor(values, requires_grad=True)
            (slope,) = torch.autograd.grad(x.prod(*dim), x)
            yield slope
            if 0.0 not in values and inf not in values:
                (slope,) = torch.autograd.grad(x.prod(*dim), x, create_graph=True)
                yield from [slope, torch.autograd.grad(slope.sum(), x)]


def gradients_near_zero(torch: Any) -> Any:
    x = torch.tensor([1e-30, 0.0, -1e-25, 1e-3, 2.0], requires_grad=True)
    torch.sinc(x).sum().backward()
    return x.grad


def where_windows_lie(torch: Any) -> Any:
    base = torch.arange(24.0)
    views = [
        base.unfold(0, 3, 2), base[3:].unfold(0, 4, 1), base.view(4, 6).t().unfold(1, 2, 1),
        base.view(2, 3, 4).unfold(2, 2, 1).unfold(1, 2, 1), base.unfold(0, 3, 2)[2:],
        base.unfold(0, 3, 2).as_strided((2, 2), (3, 1), 1), torch.tensor(1.0).unfold(0, 1, 1),
    ]  # fmt: skip
    shared = [v.untyped_storage().data_ptr() == base.untyped_storage().data_ptr() for v in views]
    return [[v.storage_offset(), v.stride(), v] for v in views], shared[:-1]


def dtypes_that_functions_take(torch: Any) -> Any:
    f, kinds = torch.nn.functional, (torch.bool, torch.int32, torch.int64, torch.float32)
    for kind in kinds:
        square, row = torch.ones(1, 1, 4, 4, dtype=kind), torch.tensor([1, 2]).to(kind)
        yield from [
            raised(f.unfold, square, 3), raised(f.fold, square[0].reshape(1, 4, 4), (3, 3), 2),
            raised(f.avg_pool1d, square[0], 2), raised(f.avg_pool2d, square, 2),
            raised(f.avg_pool3d, square, 2), raised(torch.repeat_interleave, row),
            raised(torch.repeat_interleave, torch.arange(2), row),
            raised(torch.cross, square[0, 0, :, :3], square[0, 0, :, :3], dim=1),
            raised(torch.isin, row, row), raised(torch.searchsorted, row, row),
            raised(torch.tensordot, square[0, 0], square[0, 0, :1], dims=([0], [0])),
            raised(torch.tensordot, square[0, 0, :1].int(), square[0, 0], dims=([0], [0])),
        ]  # fmt: skip
    yield from [raised(torch.repeat_interleave, torch.tensor(n)) for n in (2, [[2]], [1, -2])]
    yield raised(torch.repeat_interleave, torch.arange(2), torch.tensor([[1, 2]]))


def numbers_among_elements(torch: Any) -> Any:
    x, small = torch.tensor([0.1, 0.7]), torch.tensor([1, 2], dtype=torch.uint8)
    zeros = torch.zeros(2, dtype=torch.uint8)
    return [
        torch.isin(x, 0.1), torch.isin(0.7, x), torch.isin(small, 257),
        raised(torch.isin, small, True), torch.bucketize(0.1, x, right=True),
        torch.searchsorted(x, 0.7), torch.bucketize(257, small),
        *(raised(zeros.scatter, 0, torch.tensor([0]), n, reduce="add") for n in (-1, -1.0, 300)),
    ]  # fmt: skip


def powers_of_what_times_itself_wraps_around_to_one(torch: Any) -> Any:
    table = {}
    for kind in ("int8", "int16", "int32", "int64"):
        exponents = torch.tensor([1, 2, -3, -2, 0], dtype=getattr(torch, kind))
        largest = torch.iinfo(exponents.dtype).max
        for base in (largest, -largest, -largest - 1, 1, -1, 0, 2):
            tensor = torch.full_like(exponents, base)
            table[f"{base} {kind}"] = [(base**exponents).tolist(), (tensor**exponents).tolist()]
    return table


def bools_beside_what_no_integer_holds(torch: Any) -> Any:
    flags, numbers = torch.tensor([True, False]), (2**63, 2**64 - 1, 2**64, 2**65, -(2**63) - 1)
    return [
        [
            raised(lambda n=number: flags + n),
            raised(lambda n=number: n * flags),
            raised(lambda n=number: flags < n),
            raised(lambda n=number: flags.clamp(max=n)),
            raised(lambda n=number: torch.where(flags, flags, n)),
        ]
        for number in numbers
    ]
