"""What batch, group and layer normalization share.

Each standardizes groups of elements, `h = (x - mean) r` with `r = 1 / √(variance + eps)`, and
gives `h w + b`. With `m` for the mean over a group and `P v = v - m(v) - h m(v h)`, which takes out
of `v` what a shift and a stretch of `x` would undo, the gradients for that of the result, `g`, are

    r P(g w) of x,        Σ g h of w,        Σ g of b.

They are computed together, and once, though the node asks for them one by one.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core.op import Array, op
from nanotorch._core.sums import sum_over, sum_products
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.elementwise import rsqrt
from nanotorch.ops.expanding import expand_to
from nanotorch.ops.reduction import mean_along, sum_along
from nanotorch.ops.shape import reshape
from nanotorch.ops.standard_rows import slopes_of_rows

NONE = np.zeros(0, np.float32)


class Plan(NamedTuple):
    """Which elements are standardized together, of the input in another shape.

    Attributes:
        shape: that shape of the input.
        axes: along which the elements of a group lie.
        weight: the shape in which weight and bias broadcast with it.
        others: the dimensions along which they do.
        affine: the shape of weight and bias; None if there is neither.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    weight: tuple[int, ...]
    others: tuple[int, ...]
    affine: tuple[int, ...] | None

    @property
    def inner(self) -> tuple[int, ...]:
        """The dimensions of a group along which weight and bias are the same."""
        return tuple(d for d in self.axes if d in self.others)

    @property
    def size(self) -> int:
        """The number of elements of a group."""
        return math.prod(self.shape[d] for d in self.axes)


class Kept:
    """What a normalization keeps for its gradients.

    Attributes:
        mean, scale: mean and `r` of each group.
        fixed: they were given, and do not depend on the input.
        centred: `x - mean`; of rows, which have a weight for each element, times `r` already.
    """

    __slots__ = ("centred", "fixed", "mean", "scale")

    def __init__(self, mean: Any = None, scale: Any = None, fixed: bool = False) -> None:
        self.mean, self.scale, self.fixed = mean, scale, fixed
        self.centred: Any = None


# Sums and means; the dimensions are kept


def mean(values: Array, axes: tuple[int, ...]) -> Array:
    """The mean along some dimensions."""
    count = math.prod(values.shape[d] for d in axes)
    return sum_over(values, axes, True) / values.dtype.type(count)


def canonical(values: Array, plan: Plan) -> Array:
    """In the shape of the plan, and in single precision if it is in half."""
    if values.dtype.itemsize == 2:
        values = values.astype(np.float32)
    return np.ascontiguousarray(values).reshape(plan.shape)


def moments(input: Array, plan: Plan, kept: Kept) -> Array:
    """Set the mean of each group and what is left without it; returns the biased variance."""
    values = canonical(input, plan)
    kept.mean = mean(values, plan.axes)
    kept.centred = values - kept.mean
    squares = sum_products(kept.centred, kept.centred, plan.axes, True)
    return squares / values.dtype.type(plan.size)


def reciprocal_root(variance: Array, eps: float) -> Array:
    """`1 / √(variance + eps)`."""
    root = variance + variance.dtype.type(eps)
    np.sqrt(root, out=root)
    return np.divide(1, root, out=root)


def normalize(
    input: Array, weight: Array | None, bias: Array | None, plan: Plan, eps: float, kept: Kept
) -> Array:
    """`h w + b` of channels or groups of them; fills in what is to be kept and was not given."""
    if kept.scale is None:
        kept.scale = reciprocal_root(moments(input, plan, kept), eps)
    w = None if weight is None else weight.reshape(plan.weight)
    b = None if bias is None else bias.reshape(plan.weight)
    if kept.fixed:
        factor = kept.scale if w is None else kept.scale * w
        out = canonical(input, plan) * factor
        b = -kept.mean * factor if b is None else b - kept.mean * factor
    else:
        out = kept.centred * (kept.scale if w is None else kept.scale * w)
    if b is not None:
        out += b
    return out.reshape(input.shape).astype(input.dtype, copy=False)


# The gradients


def slopes(g: Any, input: Any, weight: Any, plan: Plan, eps: float, kept: Kept) -> Any:
    """The gradients of input, weight and bias; a formula."""
    return normalization_backward(g, input, weight, plan, eps, kept)


@op(
    grad=lambda g, input, weight, plan, eps, kept: slope_of_grad(
        Standard(input, weight, plan, eps, kept), g
    ),
    input=lambda g, grad, input, weight, plan, eps, kept: slope_of_input(
        Standard(input, weight, plan, eps, kept), g, grad
    ),
    weight=lambda g, grad, input, weight, plan, eps, kept: slope_of_weight(
        Standard(input, weight, plan, eps, kept), g, grad
    ),
    results=("of_input", "of_weight", "of_bias"),
    method=False,
    public=False,
)
def normalization_backward(
    grad: Array, input: Array, weight: Array | None, plan: Plan, eps: float, kept: Kept
) -> tuple[Array, ...]:
    """The gradients of input, weight and bias."""
    g = canonical(grad, plan)
    if plan.inner:
        w = None if weight is None else weight.reshape(plan.weight)
        hat = canonical(input, plan) - kept.mean if kept.centred is None else kept.centred
        results = by_channel(g, w, hat, plan, kept)
    else:
        w = None if weight is None else weight.reshape(-1)
        results = slopes_of_rows(g, w, kept.centred, kept.scale, plan.affine is not None)
    affine = (0,) if plan.affine is None else plan.affine
    kind = grad.dtype if weight is None else weight.dtype
    wanted = ((grad.shape, grad.dtype), (affine, kind), (affine, kind))
    return tuple(
        result.reshape(shape).astype(kind, copy=False)
        for result, (shape, kind) in zip(results, wanted, strict=True)
    )


def by_channel(g: Array, w: Array | None, centred: Array, plan: Plan, kept: Kept) -> Any:
    """The gradients of channels, of which a weight belongs to several elements, or of groups.

    Then all that is needed are the sums of `g` and `g h` over these.
    """
    sums = sum_over(g, plan.inner, True)
    alike = sum_products(g, centred, plan.inner, True) * kept.scale
    of_weight = of_bias = NONE
    if plan.affine is not None:
        of_weight, of_bias = (sum_over(v, plan.others, True) for v in (alike, sums))
    of_input = g * (kept.scale if w is None else kept.scale * w)
    if not kept.fixed:
        if w is not None:
            sums, alike = sums * w, alike * w
        rest = tuple(d for d in plan.axes if d not in plan.inner)
        share = kept.scale / g.dtype.type(plan.size)
        taken = centred * (sum_over(alike, rest, True) * (share * kept.scale))
        taken += sum_over(sums, rest, True) * share
        of_input -= taken
    return of_input, of_weight, of_bias


class Standard:
    """The parts of the gradients of gradients, made of operations that have gradients again."""

    def __init__(self, input: Any, weight: Any, plan: Plan, eps: float, kept: Kept) -> None:
        self.plan, self.fixed, self.shape = plan, kept.fixed, input.shape
        self.weight = None if weight is None else reshape(weight, plan.weight)
        x = reshape(input, plan.shape)
        if kept.fixed:
            self.scale = like(kept.scale, x)
            self.hat = (x - like(kept.mean, x)) * self.scale
        else:
            centred = x - self.m(x)
            self.scale = rsqrt(self.m(centred * centred) + eps)
            self.hat = centred * self.scale

    def m(self, v: Any) -> Any:
        """The mean over each group."""
        return mean_along(v, self.plan.axes, True)

    def weighted(self, v: Any) -> Any:
        """`v w`."""
        return v if self.weight is None else v * self.weight

    def p(self, v: Any) -> Any:
        """`r P(v)`; `r v` where the statistics are fixed."""
        if not self.fixed:
            v = v - self.m(v) - self.hat * self.m(v * self.hat)
        return v * self.scale

    def parts(self, g: Any) -> tuple[Any, ...]:
        """The gradients that arrive for those of input, weight and bias; 0 for none."""
        a, b, c = g
        of_input = 0.0 if a is None else reshape(a, self.plan.shape)
        return of_input, *(0.0 if v is None else reshape(v, self.plan.weight) for v in (b, c))


def like(values: Array, x: Any) -> Any:
    """An array as what ``x`` is: a Tensor or an ndarray."""
    return wrap(values) if isinstance(x, Tensor) else values


# They are those of `a · r P(g w) + b · Σ g h + c · Σ g` for the `a`, `b`, `c` that arrive.


def slope_of_grad(s: Standard, g: Any) -> Any:
    """By `g`: `w r P(a) + b h + c`."""
    a, b, c = s.parts(g)
    if g[1] is not None:
        c = b * s.hat + c
    if g[0] is not None:
        c = c + s.weighted(s.p(a))
    return reshape(expand_to(c, s.plan.shape), s.shape)


def slope_of_weight(s: Standard, g: Any, grad: Any) -> Any:
    """By `w`: `Σ g r P(a)`."""
    if g[0] is None or s.plan.affine is None:
        return None
    products = reshape(grad, s.plan.shape) * s.p(s.parts(g)[0])
    return reshape(sum_along(products, s.plan.others, False), s.plan.affine)


def slope_of_input(s: Standard, g: Any, grad: Any) -> Any:
    """By `x`: `r P(t) - r h m(a r P(g w))` with `t = g b - r (a m(g w h) + g w m(a h))`."""
    if g[0] is None and g[1] is None:  # the gradient of the bias does not depend on it
        return None
    a, b, _ = s.parts(g)
    grad = reshape(grad, s.plan.shape)
    if s.fixed:
        return reshape(grad * b * s.scale, s.shape)
    gw = s.weighted(grad)
    t = grad * b - s.scale * (a * s.m(gw * s.hat) + gw * s.m(a * s.hat))
    return reshape(s.p(t) - s.scale * s.hat * s.m(a * s.p(gw)), s.shape)
