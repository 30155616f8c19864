"""Python's integers know no end, those of tensors do."""

from typing import Any

import pytest

import nanotorch as torch
from tests.several import each

ABOVE = "int too big to convert"
BELOW = "can't convert negative int to unsigned"
UNFIT = "^Overflow when unpacking long long$"
UNPACK = r"{}\(\): argument '{}' failed to unpack the object at pos 1 with error \"{}\"$"
BEYOND_ANY_TYPE = [
    "x + n", "n + x", "x * n", "n - x", "x / n", "n / i", "n // i", "n // x", "x % n", "n ** x",
    "x > n", "i == n", "x.copy_(n)", "i.copy_(n)", "x.mul_(n)", "torch.isin(x, n)",
    "torch.isin(n, i)", "torch.searchsorted(x, n)", "torch.pow(n, i)", "torch.add(n, 1)",
    "torch.add(1.5, n)", "torch.mul(True, n)", "x.fill_(n)",
    "torch.copysign(x, n)", "torch.clamp(i, max=n)",
]  # fmt: skip
INDICES = [
    "x.sum(n)", "x.unsqueeze(n)", "x.topk(n)", "x.roll(n)", "x.select(0, n)", "x.narrow(0, n, 1)",
    "m.diagonal(n)", "m.triu(n)", "x.unfold(0, 1, n)", "x.split(n)", "x.tensor_split(n)", "x[n]",
    "x.__setitem__(0, n)", "x.__setitem__(slice(None), n)", "torch.randperm(n)", "torch.eye(n)",
    "torch.linspace(0, 1, n)", "torch.triu_indices(n, 3)",
    "torch.tril_indices(3, 3, n)", "F.max_pool2d(p, n)", "F.conv2d(p, p, stride=n)",
    "torch.bincount(i, minlength=n)",
]  # fmt: skip
SIZES = [
    ("torch.zeros(n)", "zeros", "size"), ("torch.ones((n,))", "ones", "size"),
    ("x.new_zeros(n)", "new_zeros", "size"), ("x.view(n)", "view", "size"),
    ("x.repeat(n)", "repeat", "repeats"), ("x.flip(n)", "flip", "dims"),
    ("F.max_pool2d(p, (n, 2))", "max_pool2d", "kernel_size"), ("m.sum((n, 0))", "sum", "dim"),
]  # fmt: skip
BYTES = [
    "torch.ones_like(wide, dtype=torch.float64)", "torch.empty_like(wide, dtype=torch.int64)",
    "torch.full_like(wide, 1, dtype=torch.float64)", "wide.new_zeros(n, dtype=torch.float64)",
    "wide.new_ones(n, dtype=torch.float64)", "wide.new_full((n,), 1.0, dtype=torch.float64)",
]  # fmt: skip
REFUSED: list[tuple[type[Exception], str, int, list[str]]] = [
    *[
        (OverflowError, told, n, BEYOND_ANY_TYPE)
        for n, told in ((2**64, ABOVE), (10**400, ABOVE), (-(2**63) - 1, BELOW))
    ],
    (
        RuntimeError, "promote UInt64 and Long$", 2**63,
        ["torch.add(n, 1)", "torch.floor_divide(n, 2)"],
    ),
    (RuntimeError, "promote Long and UInt64$", 2**63, ["torch.add(1, n)"]),
    (
        RuntimeError, "promote Bool and UInt64$", 2**63,
        ["torch.add(True, n)", "b + n", "b == n", "n // b", "b.clamp(max=n)"],
    ),
    (RuntimeError, "Storage size calculation overflowed", 2**61, BYTES),
    (ValueError, UNFIT, 2**63, INDICES),
    *[(TypeError, UNPACK.format(name, told, UNFIT[1:-1]), 2**63, [c]) for c, name, told in SIZES],
    (
        RuntimeError, "^value cannot be converted to type int without", 2**31,
        ["F.max_pool2d(p, n)", "F.max_pool2d(p, 2, n)", "F.avg_pool2d(p, (2, n))"],
    ),
]  # fmt: skip


def given(call: str, n: Any) -> Any:
    names = {"torch": torch, "F": torch.nn.functional, "x": torch.ones(2), "m": torch.ones(2, 2)}
    names |= {"p": torch.ones(1, 1, 4, 4), "i": torch.tensor([3]), "b": torch.tensor([True])}
    if "wide" in call:
        names["wide"] = torch.zeros(1, dtype=torch.uint8).expand(n)
    return eval(call, names | {"n": n})


@pytest.mark.parametrize(("kind", "told", "n", "calls"), REFUSED)
def test_what_does_not_fit(kind: type[Exception], told: str, n: int, calls: list[str]) -> None:
    def check(call: str) -> None:
        with pytest.raises(kind, match=told):
            given(call, n)

    each(calls, check)


def test_large_numbers_beside_floats() -> None:
    assert given("torch.add(n, 1.5)", 2**63).tolist() == 2.0**63
    assert given("x.copy_(n)", 2**63).tolist() == [2.0**63] * 2
    assert given("n + x", 2**64 - 1).tolist() == [2.0**64] * 2


def test_integers_around_integers() -> None:
    """They are not rounded to floats on their way, but by `pad`, whose argument is one."""
    i, large = torch.tensor([3]), 2**53 + 1
    pad: Any = torch.nn.functional.pad
    assert torch.constant_pad_nd(i, (1, 1), large).tolist() == [large, 3, large]
    assert torch.constant_pad_nd(i.to(torch.uint8), (1, 0), -1).tolist() == [255, 3]
    assert pad(i, (1, 1), value=large).tolist() == [2**53, 3, 2**53]
    with pytest.raises(RuntimeError, match="type uint8_t without overflow"):
        pad(i.to(torch.uint8), (1, 0), value=-1)
    with pytest.raises(OverflowError, match=ABOVE):
        torch.constant_pad_nd(i, (1, 1), 10**40)
    told = r"constant_pad_nd\(\): argument 'value' \(position 3\) must be Number, not NoneType"
    with pytest.raises(TypeError, match=told):
        torch.constant_pad_nd(i, (1, 1), None)
    told = r"pad\(\): argument 'value' \(position 4\) must be float, not str"
    with pytest.raises(TypeError, match=told):
        pad(i, (1, 1), value="a")


def test_what_reaches_beyond_the_end() -> None:
    """Steps, diagonals and rows that are far away count as much as is there."""
    assert given("x.unfold(0, 1, n)", 2**62).shape == (1, 1)
    assert given("F.conv2d(p, p[:, :, :2, :2], stride=n)", 2**62).shape == (1, 1, 1, 1)
    assert given("m.diagonal(n)", 2**62).shape == (0,)
    assert given("m.tril(n)", -(2**63)).tolist() == [[0, 0]] * 2
    assert given("m.triu(n)", -(2**63)).tolist() == [[1, 1]] * 2
    upper = [[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    assert given("torch.triu_indices(n, 3)", 2**62).tolist() == upper
    assert given("torch.tril_indices(3, n)", 2**62).tolist() == [
        [0, 1, 1, 2, 2, 2],
        [0, 0, 1, *range(3)],
    ]
    assert given("torch.triu_indices(3, 3, n)", 2**62).shape == (2, 0)
    assert given("x ** n", 1e39).tolist() == [1, 1]  # type: ignore[arg-type]


def test_nothing_is_no_value() -> None:
    with pytest.raises(TypeError, match="masked_fill"):
        torch.tensor([True]).masked_fill(torch.tensor([True]), None)
