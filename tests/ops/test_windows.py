"""Convolution in all its ways of computing: against plain loops, and each against its adjoints."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanotorch.ops import convolution as module
from nanotorch.ops.convolution import Windows, convolved, convolved_back, correlated
from nanotorch.ops.resampling import Taps

small = st.integers(1, 3)


@st.composite
def situations(draw: Any) -> dict[str, Any]:
    """Sizes of a convolution that has windows."""
    dims = draw(st.integers(1, 3))
    kernel = [draw(small) for _ in range(dims)]
    dilation = [draw(st.integers(1, 2)) for _ in range(dims)]
    padding = [draw(st.integers(0, 2)) for _ in range(dims)]
    size = [
        max(d * (k - 1) + 1 - 2 * p, 1) + draw(st.integers(0, 3))
        for k, d, p in zip(kernel, dilation, padding, strict=True)
    ]
    stride = [draw(st.integers(1, 3)) for _ in range(dims)] if draw(st.booleans()) else [1] * dims
    found = {"size": size, "kernel": kernel, "stride": stride, "padding": padding}
    return {
        **{name: tuple(numbers) for name, numbers in found.items()},
        "dilation": tuple(dilation),
        "samples": draw(st.integers(0, 3)),
        "groups": draw(st.integers(1, 2)),
        "each": (draw(small), draw(small)),
    }


def drawn(s: dict[str, Any]) -> tuple[Windows, np.ndarray, np.ndarray, np.ndarray]:
    """The windows, an input, a weight, and a gradient of the result."""
    at = Windows(s["size"], s["kernel"], s["stride"], s["padding"], s["dilation"])
    rng = np.random.default_rng(0)
    channels, outputs = (s["groups"] * n for n in s["each"])
    x = rng.normal(size=(s["samples"], channels, *s["size"]))
    w = rng.normal(size=(outputs, s["each"][0], *s["kernel"]))
    return at, x, w, rng.normal(size=(s["samples"], outputs, *at.out))


def by_loops(s: dict[str, Any], out: tuple[int, ...], x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The definition, one number after the other."""
    around = [(0, 0), (0, 0), *[(p, p) for p in s["padding"]]]
    x = np.pad(x, around)
    result = np.zeros((len(x), len(w), *out))
    each = s["each"]
    for n, o, *at in np.ndindex(*result.shape):
        first = o // each[1] * each[0]
        for c, *k in np.ndindex(*w.shape[1:]):
            numbers = zip(at, s["stride"], k, s["dilation"], strict=True)
            place = tuple([a * t + j * d for a, t, j, d in numbers])
            result[(n, o, *at)] += w[(o, c, *k)] * x[(n, first + c, *place)]
    return result


@settings(max_examples=60, derandomize=True)
@given(situations())
def test_convolution_is_what_it_says(s: dict[str, Any]) -> None:
    at, x, w, _ = drawn(s)
    out = convolved(x, w, None, at, s["groups"])
    np.testing.assert_allclose(out, by_loops(s, at.out, x, w), rtol=1e-12, atol=1e-12)
    assert out.flags.c_contiguous


@settings(max_examples=200, derandomize=True)
@given(situations())
def test_adjoints(s: dict[str, Any]) -> None:
    """Channels by themselves have ways of their own: a turned kernel, inner products."""
    check_adjoints(s)
    check_adjoints({**s, "each": (1, 1)})


def check_adjoints(s: dict[str, Any]) -> None:
    """``⟨conv(x, w), g⟩ = ⟨x, back(g, w)⟩ = ⟨w, correlated(g, x)⟩``."""
    at, x, w, g = drawn(s)
    product = (convolved(x, w, None, at, s["groups"]) * g).sum()
    to_input = convolved_back(g, w, None, at, s["groups"])
    to_weight = correlated(g, x, at, s["groups"])
    assert to_input.shape == x.shape
    assert to_weight.shape == w.shape
    assert abs(product - (x * to_input).sum()) < 1e-9
    assert abs(product - (w * to_weight).sum()) < 1e-9


LIMITS = [
    {},
    {"PART": 1, "LEAST": 1},
    {"PART": 3000, "LEAST": 1},
    {"THIN": 1},
    {"THIN": 1, "FEW": 0},
    {"THIN": 99, "FEW": 99},
]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("each", [(2, 3), (3, 2), (1, 1), (3, 1)])
@pytest.mark.parametrize("limits", LIMITS)
def test_every_way_is_taken(
    limits: dict[str, int], each: tuple[int, int], groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of a batch, samples first and last in memory, rows gathered and scattered."""
    for name, limit in limits.items():
        monkeypatch.setattr(module, name, limit)
    size: Any
    for size in ({"stride": (1, 1)}, {"stride": (2, 1)}, {"stride": (2, 3)}, {"dilation": (2, 2)}):
        s = {"size": (7, 6), "kernel": (3, 2), "stride": (1, 1), "padding": (1, 0)}
        s |= {"dilation": (1, 1), "samples": 7, "each": each, "groups": groups, **size}
        at, x, w, g = drawn(s)
        bias = np.arange(1.0, 1 + len(w))
        out = by_loops(s, at.out, x, w)
        shift = bias[:, None, None]
        np.testing.assert_allclose(convolved(x, w, bias, at, groups), out + shift, atol=1e-12)
        check_adjoints(s)
        bias = np.arange(1.0, 1 + x.shape[1])
        back = convolved_back(g, w, bias, at, groups) - bias[:, None, None]
        np.testing.assert_allclose(back, convolved_back(g, w, None, at, groups), atol=1e-12)


@pytest.mark.parametrize("stride", [(1, 1), (2, 2)])
def test_no_channels(stride: tuple[int, int]) -> None:
    at = Windows((4, 4), (3, 3), stride, (1, 1), (1, 1))
    x, w, g = np.ones((2, 0, 4, 4)), np.ones((3, 0, 3, 3)), np.ones((2, 3, *at.out))
    bias = np.arange(3.0)
    out = convolved(x, w, bias, at, 1)
    np.testing.assert_array_equal(out, np.broadcast_to(bias[:, None, None], out.shape))
    assert convolved_back(g, w, None, at, 1).shape == x.shape
    assert correlated(g, x, at, 1).shape == w.shape


def test_infinite_weights() -> None:
    """They make no nan of what is not there."""
    at = Windows((4, 4), (3, 3), (1, 1), (1, 1), (1, 1))
    g = np.ones((2, 3, 4, 4))
    assert (convolved_back(g, np.full((3, 4, 3, 3), np.inf), None, at, 1) == np.inf).all()


@settings(max_examples=100, derandomize=True)
@given(
    st.integers(1, 5).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.lists(st.integers(0, n - 1), min_size=3, max_size=3), min_size=1,
                     max_size=3),
            st.booleans(),
        )
    )
)  # fmt: skip
def test_taps(drawn: tuple[int, list[list[int]], bool]) -> None:
    """Any elements with any weights, and back."""
    size, index, weighted = drawn
    rng = np.random.default_rng(0)
    weights = rng.integers(-1, 3, (len(index), 3)) * 1.0 if weighted else None
    taps = Taps(size, np.array(index), weights)
    matrix = np.zeros((3, size))
    for k, row in enumerate(index):
        for to, of in enumerate(row):
            matrix[to, of] += 1 if weights is None else weights[k, to]
    x, g = rng.normal(size=(2, size, 2)), rng.normal(size=(2, 3, 2))
    np.testing.assert_allclose(taps.apply(x, 1), np.einsum("os,nsk->nok", matrix, x), atol=1e-12)
    np.testing.assert_allclose(taps.back(g, 1), np.einsum("os,nok->nsk", matrix, g), atol=1e-12)
