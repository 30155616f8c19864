"""Sums in single precision are as exact as sums in pairs, whatever the shape and the layout."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core import sums
from nanotorch._core.sums import SMALL, can_select_bits, select
from nanotorch.nn import functional as F

HALF_UNIT = 2.0**-24  # the error of one rounding of a number in single precision
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((100_000, 2, 3), (0, 1)), ((100_000, 2, 3), (0, 2)), ((50_021, 7), (0,)), ((7, 50_021), (1,)),
    ((256, 10), (0,)), ((257, 10), (0,)), ((2, 30_011, 3), (1,)), ((40, 500, 1, 20), (0, 1)),
    ((17,) * 4, (0, 2)), ((2,) * 16, tuple(range(0, 16, 2))), ((6,) * 6, (1, 2, 4, 5)),
    ((1, 20_000, 1, 3), (0, 1)), ((3, 60_000), (0,)), ((4, 5, 6), (0, 2)), ((), ()),
]  # fmt: skip


def bound(count: int) -> float:
    """Of the relative error of a sum of positive numbers.

    Of a height of so many numbers, each may be rounded as it is added, and again among the sums of
    such; three further roundings are those of a function around.
    """
    levels = 1 + math.log(max(count, 1), sums.HEIGHT)
    return (levels * sums.HEIGHT + 3) * HALF_UNIT


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    if layout == "turned":
        return np.ascontiguousarray(values.T).T
    if layout == "strided":
        return np.repeat(values[..., None], 2, -1)[..., 0]
    return values


def along(name: str) -> Callable[[Any, tuple[int, ...]], Any]:
    return lambda x, dims: getattr(torch, name)(x, dims)


def bias_gradient(x: Any, dims: tuple[int, ...]) -> Any:
    shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
    bias = torch.zeros(shape, dtype=x.dtype, requires_grad=True)
    (bias + torch.zeros_like(x)).backward(x)
    return bias.grad


FUNCTIONS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    **{name: along(name) for name in ("sum", "mean", "nansum", "logsumexp")},
    "norm": lambda x, dims: torch.linalg.vector_norm(x, 2, dims),
    "norm 1": lambda x, dims: torch.linalg.vector_norm(x, 1, dims),
    "norm 3": lambda x, dims: torch.linalg.vector_norm(x, 3, dims),
    "bias": bias_gradient,
}


@pytest.mark.parametrize(
    ("name", "layout"),
    [*((name, "in order") for name in FUNCTIONS), ("sum", "turned"), ("sum", "strided")],
)
def test_sums_along_dimensions(name: str, layout: str) -> None:
    rng = np.random.default_rng(0)
    for shape, dims in SHAPES:
        count = math.prod(shape[d] for d in dims)
        for values in (np.full(shape, 0.1), rng.random(shape)):
            x = torch.from_numpy(laid_out(values.astype(np.float32), layout))
            found, exact = FUNCTIONS[name](x, dims), FUNCTIONS[name](x.double(), dims)
            assert found.dtype == torch.float32
            error = (found.double() - exact).abs() / exact.abs().clamp(min=1e-3)
            assert error.max().item() <= bound(count), (shape, dims)


@pytest.mark.parametrize("name", ["var", "std"])
def test_variances_are_rounded_once(name: str) -> None:
    rng = np.random.default_rng(0)
    for shape, dims in SHAPES[:-1]:
        x = torch.from_numpy(rng.normal(100, 1, shape).astype(np.float32))
        found, exact = along(name)(x, dims), along(name)(x.double(), dims)
        assert ((found.double() - exact).abs() / exact).max().item() <= 1.01 * HALF_UNIT, shape


def test_variances_beside_a_great_mean() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(1e5, 1, 20_000).astype(np.float32))
    assert abs(x.var() / x.double().var() - 1) <= 1.01 * HALF_UNIT
    assert torch.full((20_000,), 0.1).var() <= 1e-30
    columns = x.reshape(-1, 5).repeat(40, 1)
    assert ((columns.var(0) / columns.double().var(0) - 1).abs() <= 1.01 * HALF_UNIT).all()


def test_deviations_beyond_the_squares_of_single_precision() -> None:
    assert torch.tensor([1, -1e30, -1e30]).std().item() == pytest.approx(5.7735e29, rel=1e-4)
    assert torch.tensor([1e-30, 2e-30]).std().item() == pytest.approx(7.0711e-31, rel=1e-4)
    assert torch.tensor([1, -1e30, -1e30]).var().item() == math.inf


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        *[((60_000, 2), 0), ((3, 20_000), 1), ((5, 70, 300), 1), ((90, 400), 1)],
        *[((70_001,), 0), ((4_001, 20), 0), ((20_000, 3), 1), ((2, 7_003, 3), 1), ((2, 40_000), 0)],
    ],
)
def test_running_sums_are_added_in_double(name: str, shape: tuple[int, ...], dim: int) -> None:
    x = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    x = 1 + x / 2**13 if name == "cumprod" else x + 0.1
    found, exact = getattr(x, name)(dim), getattr(x.double(), name)(dim)
    assert ((found.double() - exact).abs() / exact).max().item() <= 1.01 * HALF_UNIT
    leaf = x.clone().requires_grad_()
    leaf.cumsum(dim).backward(x)
    expected = x.double().flip(dim).cumsum(dim).flip(dim)
    assert ((leaf.grad.double() - expected).abs() / expected).max().item() <= 1.01 * HALF_UNIT


def test_running_values_that_are_not_finite_reach_what_follows() -> None:
    x = torch.ones(40_000)
    x[20_001], x[30_002] = math.inf, -math.inf
    found = x.cumsum(0)
    assert torch.equal(found[:20_001], torch.arange(1.0, 20_002))
    assert (found[20_001:30_002] == math.inf).all()
    assert found[30_002:].isnan().all()
    x[0], x[1:] = 0, 1e38  # parts of these products overflow in double
    assert (x.cumprod(0) == 0).all()


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.binary_cross_entropy])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses(loss: Any, reduction: str) -> None:
    x, y = torch.full((1_000_001,), 0.3), torch.full((1_000_001,), 0.4)
    found, exact = (
        loss(x, y, reduction=reduction),
        loss(x.double(), y.double(), reduction=reduction),
    )
    # The differences are rounded too, whose own rounding is relative to numbers four times theirs.
    assert abs(found.item() / exact.item() - 1) <= bound(x.numel())


def test_statistics_of_a_batch() -> None:
    x = torch.rand(5000, 3, 7)
    for kind in (torch.nn.BatchNorm1d(3), torch.nn.GroupNorm(1, 3), torch.nn.LayerNorm([3, 7])):
        x.requires_grad_()
        out = kind(x)
        out.backward(torch.full(out.shape, 0.1))
        exact = kind.double()(x.double())
        np.testing.assert_allclose(out.detach(), exact.detach(), atol=bound(35_000))
        share = kind.bias.grad.double() / (0.1 * out.numel() / kind.bias.numel())
        assert (share - 1).abs().max().item() <= bound(35_000) + HALF_UNIT


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32])
def test_it_gives_the_bits_of_where(kind: type) -> None:
    rng = np.random.default_rng(0)
    shape = (4, SMALL // 2)
    a, b = (rng.integers(-100, 100, shape).astype(kind) for _ in range(2))
    if kind is not np.int32:
        a[0, :4] = [np.nan, -0.0, np.inf, -np.inf]
    masks = rng.random(shape) < 0.5, np.zeros(shape, bool), np.ones(shape, bool)
    for mask in masks:
        pairs = [(a, b), (b, a), (a.T.copy().T, b), (a, kind(0)), (kind(3), b), (a, 0.0), (3.0, b)]
        for x, y in pairs:
            expected = np.where(mask, x, y)
            got = select(mask, x, y)
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            assert got.tobytes() == expected.tobytes()
    assert a.size >= SMALL


def test_what_broadcasts_or_differs_in_dtype_is_left_to_where() -> None:
    mask = np.arange(2 * SMALL).reshape(2, -1) % 3 == 0
    a, row = np.ones(mask.shape, np.float32), np.zeros(SMALL, np.float32)
    assert not can_select_bits(a, row, mask.shape)
    assert not can_select_bits(a, np.float64(0), mask.shape)
    assert can_select_bits(a, np.float32(0), mask.shape)
    assert np.array_equal(select(mask, a, row), np.where(mask, a, row))
    assert select(mask, a, np.float64(2)).dtype == np.float64
    assert select(mask[0], a, a).shape == mask.shape
