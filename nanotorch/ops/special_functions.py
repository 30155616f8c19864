"""Functions of `torch.special` that stand nowhere else: entropies and the normal distribution."""

import math
from typing import Any

import numpy as np

from nanotorch._core.op import Array, hidden_op, op
from nanotorch.ops.arguments import refuse_half
from nanotorch.ops.comparison import zero_where
from nanotorch.ops.elementwise import exp, log, square
from nanotorch.ops.special import (
    BETWEEN_P,
    BETWEEN_Q,
    FAR_P,
    FAR_Q,
    MIDDLE_P,
    MIDDLE_Q,
    OUTER_P,
    OUTER_Q,
    TAIL_P,
    TAIL_Q,
    erf,
    ratio,
)

ROOT_HALF = math.sqrt(0.5)
HIDDEN: dict[str, Any] = {"method": False, "public": False, "cast": "float"}


@op(input=lambda g, input: -g * (1 + log(input)), node="SpecialEntrBackward0", **HIDDEN, wide=True)
def entr(input: Array) -> Array:
    """``-input * log(input)``: 0 at 0, minus infinity below."""
    positive = np.where(input > 0, input, input.dtype.type(1))
    values = np.where(input > 0, -input * np.log(positive), np.where(input == 0, 0, -math.inf))
    return np.where(np.isnan(input), input, values).astype(input.dtype)


def scaled_complement(x: Array) -> Array:
    """``exp(x²) erfc(x)`` in double precision."""
    size = np.abs(x)
    middle = np.clip(size, 0.46875, 4.0)
    far = np.maximum(size, 4.0)
    inverse = 1.0 / (far * far)
    tail = (1.0 / math.sqrt(math.pi) - inverse * ratio(inverse, FAR_P, FAR_Q)) / far
    values = np.where(size <= 4.0, ratio(middle, BETWEEN_P, BETWEEN_Q), tail)
    near = np.minimum(size, 0.46875)
    values = np.where(size < 0.46875, np.exp(near * near) * (1 - np.asarray(erf(near))), values)
    return np.where(np.isnan(x), x, np.where(x < 0, 2 * np.exp(x * x) - values, values))


@op(
    input=lambda g, input, out: g * (2 * input * out - 2 / math.sqrt(math.pi)),
    node="SpecialErfcxBackward0",
    **HIDDEN,
)
def erfcx(input: Array) -> Array:
    """``exp(input²) * erfc(input)``, which does not vanish where `erfc` does."""
    refuse_half("erfcx_cpu", input)
    return scaled_complement(input.astype(np.float64)).astype(input.dtype)


@op(
    # PyTorch saves the result as well, and so minds a write to it.
    input=lambda g, input, out: g * math.sqrt(2 / math.pi) / erfcx(input * -ROOT_HALF),
    node="SpecialLogNdtrBackward0",
    **HIDDEN,
)
def log_ndtr(input: Array) -> Array:
    """The logarithm of the area under the normal density up to ``input``."""
    refuse_half("log_ndtr_cpu", input)
    x = input.astype(np.float64) * ROOT_HALF
    low, high = np.minimum(x, -ROOT_HALF), np.maximum(x, -ROOT_HALF)
    left = np.log(0.5 * scaled_complement(-low)) - low * low
    right = np.log1p(-0.5 * scaled_complement(high) * np.exp(-high * high))
    return np.where(x < -ROOT_HALF, left, right).astype(input.dtype)


def ndtr(input: Any) -> Any:
    """The area under the normal density up to ``input``."""
    return (erf(input * ROOT_HALF) + 1) * 0.5


@op(
    input=lambda g, out: g * (exp(square(out) * 0.5) * math.sqrt(2 * math.pi)),
    node="SpecialNdtriBackward0",
    **HIDDEN,
)
def ndtri(input: Array) -> Array:
    """Up to where the area under the normal density is ``input``: nan outside [0, 1].

    Reference:
        Wichura, Algorithm AS 241: The Percentage Points of the Normal Distribution, Applied
        Statistics 37, 1988.
    """
    refuse_half("ndtri_cpu", input)
    p = input.astype(np.float64)
    q = p - 0.5
    inner = np.clip(q, -0.425, 0.425)
    middle = inner * ratio(0.180625 - inner * inner, MIDDLE_P, MIDDLE_Q)
    r = np.sqrt(-np.log(np.clip(np.minimum(p, 1 - p), 1e-320, 0.5)))
    far = np.where(
        r <= 5, ratio(r - 1.6, OUTER_P, OUTER_Q), ratio(np.maximum(r - 5, 0), TAIL_P, TAIL_Q)
    )
    values = np.where(np.abs(q) <= 0.425, middle, np.copysign(far, q))
    values = np.where((p == 0) | (p == 1), np.copysign(math.inf, q), values)
    return np.where((p >= 0) & (p <= 1), values, math.nan).astype(input.dtype)


@hidden_op(
    input=lambda g, input, other: zero_where(xlog1py(g, other), (input == 0) & (other <= -1)),
    other=lambda g, input, other: g * (input / (other + 1)),
    cast="float",
    node="SpecialXlog1PyBackward0",
    wide=True,
)
def xlog1py(input: Array, other: Array) -> Array:
    """``input * log1p(other)``; 0 where ``input`` is, unless ``other`` is not a number."""
    values = input * np.log1p(other)
    return np.where((input == 0) & ~np.isnan(other), input.dtype.type(0), values)
