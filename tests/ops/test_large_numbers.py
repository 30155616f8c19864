"""Python's integers know no end, those of tensors do."""

from typing import Any

import pytest

import nanotorch as torch

ABOVE = "int too big to convert"
BELOW = "can't convert negative int to unsigned"
CALLS = [
    "x + n", "n + x", "x * n", "n - x", "x / n", "n / i", "n // i", "n // x", "x % n", "n ** x",
    "x > n", "i == n", "x.copy_(n)", "i.copy_(n)", "x.mul_(n)", "torch.isin(x, n)",
    "torch.isin(n, i)", "torch.searchsorted(x, n)", "torch.pow(n, i)", "torch.add(n, 1)",
    "torch.add(1.5, n)", "torch.mul(True, n)", "x.fill_(n)",
    "torch.copysign(x, n)", "torch.clamp(i, max=n)",
]  # fmt: skip


def given(call: str, n: Any) -> Any:
    x, i = torch.ones(2), torch.tensor([3])
    return eval(call, {"torch": torch, "x": x, "i": i, "n": n})


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("n", "told"), [(2**64, ABOVE), (10**400, ABOVE), (-(2**63) - 1, BELOW)])
def test_what_no_type_holds(call: str, n: int, told: str) -> None:
    with pytest.raises(OverflowError, match=told):
        given(call, n)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("torch.add(n, 1)", "UInt64 and Long"),
        ("torch.add(1, n)", "Long and UInt64"),
        ("torch.floor_divide(n, 2)", "UInt64 and Long"),
        ("torch.add(True, n)", "Bool and UInt64"),
    ],
)
def test_what_only_an_unsigned_type_holds(call: str, told: str) -> None:
    with pytest.raises(RuntimeError, match=f"attempted to promote {told}$"):
        given(call, 2**63)


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


@pytest.mark.parametrize(
    "call",
    [
        "torch.ones_like(wide, dtype=torch.float64)", "torch.empty_like(wide, dtype=torch.int64)",
        "torch.full_like(wide, 1, dtype=torch.float64)", "wide.new_zeros(n, dtype=torch.float64)",
        "wide.new_ones(n, dtype=torch.float64)", "wide.new_full((n,), 1.0, dtype=torch.float64)",
    ],
)  # fmt: skip
def test_more_bytes_than_can_be_counted(call: str) -> None:
    n = 2**61
    wide = torch.zeros(1, dtype=torch.uint8).expand(n)
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        eval(call, {"torch": torch, "wide": wide, "n": n})


UNFIT = "Overflow when unpacking long long"
SINGLE = [
    "x.sum(n)", "x.unsqueeze(n)", "x.topk(n)", "x.roll(n)", "x.select(0, n)", "x.narrow(0, n, 1)",
    "m.diagonal(n)", "m.triu(n)", "x.unfold(0, 1, n)", "x.split(n)", "x.tensor_split(n)", "x[n]",
    "x.__setitem__(0, n)", "x.__setitem__(slice(None), n)", "torch.randperm(n)", "torch.eye(n)",
    "torch.linspace(0, 1, n)", "torch.triu_indices(n, 3)",
    "torch.tril_indices(3, 3, n)", "F.max_pool2d(p, n)", "F.conv2d(p, p, stride=n)",
    "torch.bincount(i, minlength=n)",
]  # fmt: skip
SEVERAL = [
    ("torch.zeros(n)", "zeros", "size"), ("torch.ones((n,))", "ones", "size"),
    ("x.new_zeros(n)", "new_zeros", "size"), ("x.view(n)", "view", "size"),
    ("x.repeat(n)", "repeat", "repeats"), ("x.flip(n)", "flip", "dims"),
    ("F.max_pool2d(p, (n, 2))", "max_pool2d", "kernel_size"), ("m.sum((n, 0))", "sum", "dim"),
]  # fmt: skip


def sized(call: str, n: int) -> Any:
    names = {"torch": torch, "F": torch.nn.functional, "x": torch.ones(2), "m": torch.ones(2, 2)}
    return eval(call, names | {"p": torch.ones(1, 1, 4, 4), "i": torch.tensor([1]), "n": n})


@pytest.mark.parametrize("call", SINGLE)
def test_indices_that_64_bits_do_not_hold(call: str) -> None:
    with pytest.raises(ValueError, match=f"^{UNFIT}$"):
        sized(call, 2**63)


@pytest.mark.parametrize(("call", "name", "argument"), SEVERAL)
def test_sizes_that_64_bits_do_not_hold(call: str, name: str, argument: str) -> None:
    told = f"{name}(): argument '{argument}' failed to unpack the object at pos 1 with error"
    with pytest.raises(TypeError) as raised:
        sized(call, 2**63)
    assert str(raised.value) == f'{told} "{UNFIT}"'


def test_what_reaches_beyond_the_end() -> None:
    """Steps, diagonals and rows that are far away count as much as is there."""
    assert sized("x.unfold(0, 1, n)", 2**62).shape == (1, 1)
    assert sized("F.conv2d(p, p[:, :, :2, :2], stride=n)", 2**62).shape == (1, 1, 1, 1)
    assert sized("m.diagonal(n)", 2**62).shape == (0,)
    assert sized("m.tril(n)", -(2**63)).tolist() == [[0, 0]] * 2
    assert sized("m.triu(n)", -(2**63)).tolist() == [[1, 1]] * 2
    upper = [[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    assert sized("torch.triu_indices(n, 3)", 2**62).tolist() == upper
    assert sized("torch.tril_indices(3, n)", 2**62).tolist() == [
        [0, 1, 1, 2, 2, 2],
        [0, 0, 1, *range(3)],
    ]
    assert sized("torch.triu_indices(3, 3, n)", 2**62).shape == (2, 0)
    assert sized("x ** n", 1e39).tolist() == [1, 1]  # type: ignore[arg-type]


def test_windows_counted_in_32_bits() -> None:
    for call in ("F.max_pool2d(p, n)", "F.max_pool2d(p, 2, n)", "F.avg_pool2d(p, (2, n))"):
        with pytest.raises(RuntimeError, match=r"^value cannot be converted to type int without"):
            sized(call, 2**31)


def test_bools_beside_an_unsigned_number() -> None:
    for call in ("b + n", "b == n", "n // b", "b.clamp(max=n)"):
        with pytest.raises(RuntimeError, match=r"promote Bool and UInt64$"):
            eval(call, {"b": torch.tensor([True]), "n": 2**63})
    with pytest.raises(TypeError, match="masked_fill"):
        torch.tensor([True]).masked_fill(torch.tensor([True]), None)
