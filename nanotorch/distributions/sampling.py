"""Samples of the distributions of Gamma, Dirichlet and Poisson, as PyTorch draws them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor, wrap
from nanotorch.autograd.function import Function
from nanotorch.ops.activation import digamma
from nanotorch.ops.random import default_generator

THIRD = float(np.float32(1) / np.float32(3))
SQUEEZE = float(np.float32(0.0331))
LARGE = 1000.0  # from where the cube root of a sample of Gamma is normal


def uniform() -> float:
    """A number in [0, 1), of 53 bits."""
    return float(default_generator.uniform64(1)[0])


def one_gamma(alpha: float, kind: Any) -> float:
    """A sample of the standard distribution, by the rejection method of Marsaglia and Tsang."""
    alpha, scale = kind(alpha), 1.0
    if alpha < 1:
        if not alpha:
            return 0.0
        scale = (1.0 - uniform()) ** float(kind(1) / alpha)
        alpha = kind(alpha + kind(1))
    d = float(kind(alpha - kind(THIRD)))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = float(default_generator.normal(1, np.float64)[0])
        y = 1.0 + c * x
        if y <= 0:
            continue
        v, u, xx = y * y * y, 1.0 - uniform(), x * x
        if u < 1.0 - SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v


def one_poisson(rate: float) -> int:
    """A count: by products of uniform numbers for small rates, else by Hörmann's rejection."""
    if rate < 10:
        count, product, end = 0, 1.0, math.exp(-rate)
        while rate:
            product *= uniform()
            if product <= end:
                break
            count += 1
        return count
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse, border = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= border:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = math.log(v) + math.log(inverse) - math.log(a / (us * us) + b)
        if left <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k


def each(function: Callable[[float], float], values: Tensor) -> Tensor:
    """What a function gives for each number, in order."""
    array = values._array
    return wrap(
        np.array([function(v) for v in array.ravel().tolist()], array.dtype).reshape(array.shape)
    )


def psi(values: np.ndarray) -> Any:
    """The digamma function."""
    return digamma(wrap(np.asarray(values, np.float64)))._array


def series(log: Any, steps: Callable[[int], tuple[Any, Any]], first: Any) -> Any:
    """The sum of terms, each times the derivative of the logarithm of itself.

    Args:
        log: that derivative for the first term.
        steps: from a term's number what leads to the next: a factor, and what is added to the
            derivative.
        first: the first term.
    """
    term, total, k = first, first * log, 0
    while True:
        factor, more = steps(k)
        term, log, k = term * factor, log + more, k + 1
        total = total + term * log
        if k > 20 and (np.all(np.abs(term * log) <= 1e-17 * np.abs(total)) or k > 20_000):
            return total


def gamma_slope(alpha: np.ndarray, x: np.ndarray) -> Any:
    """How a sample of the standard distribution of Gamma moves with ``alpha``.

    That is -(dF / da) / f, with F the distribution function, as a power series, and f the density.
    """
    a, x = np.broadcast_arrays(alpha.astype(np.float64), x.astype(np.float64))
    small = np.minimum(a, LARGE)
    near = np.where(a > LARGE, small, x)
    with np.errstate(all="ignore"):
        found = -near * series(
            np.log(near) - psi(small + 1),
            lambda k: (near / (small + k + 1), -1 / (small + k + 1)),
            1 / small,
        )
        # x = a · (1 - 1 / (9 a) + n / (3 √a))³, by Wilson and Hilferty, with n fixed.
        root = np.cbrt(x / a)
        n = (root - 1 + 1 / (9 * a)) * 3 * np.sqrt(a)
        far = root**3 + 3 * a * root**2 * (1 / (9 * a * a) - n / (6 * a**1.5))
    return np.where(a > LARGE, far, found)


def dirichlet_slope(x: np.ndarray, alpha: np.ndarray, total: np.ndarray) -> Any:
    """The same for one of the numbers of a sample of Dirichlet's distribution, over ``1 - x``.

    Each number alone has a distribution of Beta, whose function is a hypergeometric series in x,
    or, where that is large, one less such a series in 1 - x.
    """
    x, a, total = np.broadcast_arrays(*(v.astype(np.float64) for v in (x, alpha, total)))
    b = total - a
    swapped = x > (a + 1) / (total + 2)
    y, own = np.where(swapped, 1 - x, x), np.where(swapped, b, a)
    with np.errstate(all="ignore"):
        log = np.log(x) + psi(total) - np.where(swapped, psi(a), psi(a + 1))

        def steps(k: int) -> tuple[Any, Any]:
            more = 1 / (total + k) - np.where(swapped, 0, 1 / (a + 1 + k))
            return (total + k) / (own + 1 + k) * y, more

        found = series(log, steps, 1 / own)
    return np.where(swapped, x, -x) * found


class _Gamma(Function):
    """Samples of the standard distribution of Gamma."""

    @staticmethod
    def forward(ctx: Any, alpha: Any) -> Any:
        array = alpha._array
        tiny = float(np.finfo(array.dtype).tiny)
        out = each(lambda a: max(tiny, one_gamma(a, array.dtype.type)), alpha)
        ctx.save_for_backward(alpha, out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        alpha, out = ctx.saved_tensors
        slope = gamma_slope(alpha._array, out._array)
        return grads[0] * wrap(slope.astype(out._array.dtype))


class _Dirichlet(Function):
    """Samples of Dirichlet's distribution."""

    @staticmethod
    def forward(ctx: Any, alpha: Any) -> Any:
        array = alpha._array
        drawn = each(lambda a: one_gamma(a, np.float64), alpha.double())._array
        kind = np.finfo(array.dtype)
        shares = (drawn / drawn.sum(-1, keepdims=True)).astype(array.dtype)
        out = wrap(np.clip(shares, kind.tiny, 1 - kind.epsneg))
        ctx.save_for_backward(alpha, out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        alpha, out = ctx.saved_tensors
        total = alpha._array.sum(-1, keepdims=True)
        slope = wrap(dirichlet_slope(out._array, alpha._array, total).astype(out._array.dtype))
        return slope * (grads[0] - (out * grads[0]).sum(-1, True))


# From the concentrations, of which those of Dirichlet's are along the last dimension.
gamma: Callable[[Tensor], Tensor] = _Gamma.apply
dirichlet: Callable[[Tensor], Tensor] = _Dirichlet.apply
