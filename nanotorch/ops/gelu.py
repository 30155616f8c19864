"""The unit of a Gaussian's distribution function: ``x Φ(x)``.

Reference:
    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
"""

import math
from typing import Any

import numpy as np

from nanotorch._core.batch_rules import elementwise
from nanotorch._core.op import Array, op
from nanotorch.ops.elementwise import exp
from nanotorch.ops.erf import erf
from nanotorch.ops.units import require_float

ROOT_1_2, ROOT_1_2PI = math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)
BLOCK = 1 << 14  # elements that stay in the cache for all steps


def distribution(x: Array) -> Array:
    """Φ(x)."""
    out: Array = erf(x * x.dtype.type(ROOT_1_2))
    out += 1
    out *= x.dtype.type(0.5)
    return out


def distribution_by_blocks(x: Array) -> Array:
    """Φ(x), many elements at a time."""
    # While a step is traced, which `type` alone sees, one call for all makes a shorter tape.
    if x.size <= BLOCK or type(x) is not np.ndarray or not x.flags.c_contiguous:
        return distribution(x)
    out = np.empty_like(x)
    flat, target = x.reshape(-1), out.reshape(-1)
    for start in range(0, x.size, BLOCK):
        target[start : start + BLOCK] = distribution(flat[start : start + BLOCK])
    return out


def density(x: Any) -> Any:
    """Φ'(x)."""
    return exp(x * x * -0.5) * ROOT_1_2PI


@op(
    input=lambda g, input, share: gelu_backward(g, input, share),
    aux=("share",),
    method=False,
    public=False,
    node="GeluBackward0",
    batch=elementwise,
    wide=True,
)
def gelu_exact(input: Array) -> tuple[Array, Array]:
    """``input`` times the normal distribution function at ``input``; and that alone."""
    require_float("GeluKernelImpl", input)
    share = distribution_by_blocks(input)
    return input * share, share


@op(
    grad=lambda g, input, share: gelu_backward(g, input, share),
    input=lambda g, grad, input: g * grad * density(input) * (2.0 - input * input),
    method=False,
    public=False,
    node="GeluBackwardBackward0",
    batch=elementwise,
    wide=True,
)
def gelu_backward(grad: Array, input: Array, share: Array) -> Array:
    """``grad * (Φ(input) + input * Φ'(input))``, of which ``share`` is the first: the gradient of
    `gelu_exact`."""
    kind = input.dtype.type
    out = np.multiply(input, input, out=...)
    np.multiply(out, kind(-0.5), out=out)
    np.exp(out, out=out)
    np.multiply(out, kind(ROOT_1_2PI), out=out)
    np.multiply(out, input, out=out)
    np.add(out, share, out=out)
    return np.multiply(out, grad, out=out)
