"""Losses and normalizations, each of which PyTorch records as one node."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core import doors, dtypes
from nanotorch._core.arguments import rename
from nanotorch._core.call_site import describe_range
from nanotorch._core.dtypes import INT64, PLACE
from nanotorch._core.grad_mode import mode
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import OPS, Array, hidden_op, new_node, number, wide
from nanotorch._core.sums import (
    HALF,
    OF_BLAS,
    SINGLE,
    select,
    sum_of_squares,
    sum_over,
    sum_products,
    sum_whole,
)
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import advised
from nanotorch.ops.activation import log_sigmoid, sigmoid
from nanotorch.ops.arguments import check_kind
from nanotorch.ops.binary import clamp, clamp_min
from nanotorch.ops.elementwise import log, rsqrt, tied
from nanotorch.ops.joining import expand_to
from nanotorch.ops.matrix import as_type_of
from nanotorch.ops.reduction import mean_along, sum_along, vector_norm
from nanotorch.ops.shape import reshape

# Losses that PyTorch records as one node each; the public functions are in `nn.functional`.
#
# ``reduction`` is "none", "mean" or "sum".


def reduce_loss(values: Array, reduction: str) -> Array:
    """The mean or the sum of the values, or the values themselves."""
    if reduction == "none":
        return values
    if values.dtype == HALF and reduction == "mean":  # the sum may overflow
        return reduce_loss(values.astype(SINGLE), reduction).astype(HALF)
    total = sum_whole(values)
    return total / values.dtype.type(values.size) if reduction == "mean" else total


def element_gradient(g: Any, shape: tuple[int, ...], reduction: str, weight: Any = None) -> Any:
    """The gradient of each element of a loss, from that of the reduced loss; it may broadcast."""
    if reduction == "mean":
        g = g / (math.prod(shape) or 1)
    return g if weight is None else g * weight


@hidden_op(input=lambda g, operand, other: g)
def kept(input: Array, operand: Array, other: Array) -> Array:
    """``input``, the slope of a loss, in a node with both operands: PyTorch saves them for the
    second derivative, so that writes to them raise an error."""
    return input


def squared_error_formula(g: Any, operand: Any, other: Any, reduction: str) -> Any:
    """The gradient of `squared_error` by ``operand``."""
    difference = operand - other
    share = element_gradient(g, difference.shape, reduction)
    return kept(share * (difference + difference), operand, other)


@hidden_op(
    input=lambda g, input, target, reduction: squared_error_formula(g, input, target, reduction),
    target=lambda g, input, target, reduction: squared_error_formula(g, target, input, reduction),
    cast="promote",
    node="MseLossBackward0",
    arithmetic=True,
)
def squared_error(input: Array, target: Array, reduction: str) -> Array:
    """``(input - target) ** 2``, for two tensors of one shape."""
    difference = input - target
    if reduction == "none" or difference.dtype == HALF:
        return reduce_loss(difference * difference, reduction)
    total = sum_of_squares(difference)
    return total / difference.dtype.type(difference.size) if reduction == "mean" else total


# Cross entropies of probabilities: the logarithm is at least -100, so that no loss is infinite. The
# target's formulas name the target only so that, as in PyTorch, a write to it raises an error.


@hidden_op(
    input=lambda g, input, target, weight, reduction: kept(
        element_gradient(g, input.shape, reduction, weight)
        * ((input - target) / clamp_min((1 - input) * input, 1e-12)),
        input,
        target,
    ),
    target=lambda g, input, target, weight, reduction: (
        element_gradient(g, input.shape, reduction, weight) * (log(1 - input) - log(input))
    ),
    node="BinaryCrossEntropyBackward0",
)
def bce(input: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    """``-weight * (target * log(input) + (1 - target) * log(1 - input))``.

    Raises:
        RuntimeError: for an ``input`` or a ``target`` outside [0, 1].
    """
    for name, values in (("input", input), ("target", target)):
        if not ((values >= 0) & (values <= 1)).all():
            error = RuntimeError(f"all elements of {name} should be between 0 and 1")
            raise advised(error, "no probabilities") if name == "input" else error
    floor = input.dtype.type(-100)
    yes, no = np.maximum(np.log(input), floor), np.maximum(np.log1p(-input), floor)
    values = (target - 1) * no - target * yes
    if weight is not None:
        values = (values * weight).astype(input.dtype, copy=False)
    return reduce_loss(values, reduction)


def bce_with_logits_formula(
    g: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: str
) -> Any:
    """The gradient by the logits: ``sigmoid(input) - target``, weighted."""
    share = element_gradient(g, input.shape, reduction, weight)
    if pos_weight is None:
        return share * (sigmoid(input) - target)
    positive = pos_weight * target
    return share * ((positive + 1 - target) * sigmoid(input) - positive)


@hidden_op(
    input=bce_with_logits_formula,
    target=lambda g, input, target, weight, pos_weight, reduction: (
        element_gradient(g, input.shape, reduction, weight)
        * (-input if pos_weight is None else log_sigmoid(-input) - pos_weight * log_sigmoid(input))
    ),
    node="BinaryCrossEntropyWithLogitsBackward0",
)
def bce_with_logits(
    input: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array:
    """`bce` of ``sigmoid(input)``, computed from the logits without overflow.

    With ``softplus(-x) = max(-x, 0) + log1p(exp(-|x|))``, a loss is
    ``(1 - target) * x + (1 + (pos_weight - 1) * target) * softplus(-x)``.
    """
    one, logits = number(1, input.dtype), wide(input)
    negated = np.negative(logits, out=...)
    softplus = np.minimum(logits, negated, out=...)  # -|input|
    np.exp(softplus, out=softplus)
    np.log1p(softplus, out=softplus)
    np.maximum(negated, number(0, logits.dtype), out=negated)
    softplus += negated
    softplus = softplus.astype(input.dtype, copy=False)
    if pos_weight is not None:
        softplus = (softplus * ((pos_weight - one) * target + one)).astype(input.dtype)
    values = np.subtract(one, target, out=...) * input + softplus
    return reduce_loss(values if weight is None else values * weight, reduction)


# Negative log likelihood


OF_CLASSES = frozenset((np.dtype(np.int64), np.dtype(np.uint8)))


def check_classes(target: Array) -> None:
    """Refuse targets of a dtype other than int64 and uint8."""
    if target.dtype not in OF_CLASSES:
        char = dtypes.dtype_of(target).char
        error = RuntimeError(f"expected target dtype to be Long or Byte, but got {char}")
        raise advised(error, "class dtype")


def class_weights(target: Array, weight: Array | None, ignore_index: int, kind: np.dtype) -> Array:
    """The weight of each sample's class; 0 for ignored samples."""
    counted = target != ignore_index
    if weight is None:
        return counted.astype(kind)
    return np.where(counted, weight[np.where(counted, target, 0)], kind.type(0))


@functools.lru_cache(maxsize=64)
def row_starts(rows: int, columns: int) -> Array:
    """The offset of each row of a matrix."""
    return np.arange(0, rows * columns, columns)


def class_offsets(
    shape: tuple[int, ...], target: Array, weight: Array | None, ignore_index: int
) -> Array | None:
    """The offset of each sample's class in a flat ``(N, C)``; None unless all have weight 1."""
    if len(shape) != 2 or weight is not None or 0 <= ignore_index < shape[1]:
        return None
    # Negative class numbers are large as unsigned integers.
    if target.dtype != INT64 or np.maximum.reduce(target.view(np.uint64), initial=0) >= shape[1]:
        return None
    return (target + row_starts(*shape)).astype(PLACE, copy=False)


def likelihood(name: str, node: str, **declared: Any) -> Any:
    """The negative log likelihood as an operation ``name`` with the node ``node``."""

    def kernel(
        input: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int
    ) -> Array:
        """``-weight[target] * input[target]`` for each sample; the mean is weighted.

        Args:
            input: log-probabilities, shape ``(N, C, ...)``.
            target: class numbers in [0, C) or ``ignore_index``, shape ``(N, ...)``.

        Raises:
            IndexError: for a class number out of range.
        """
        places = class_offsets(input.shape, target, weight, ignore_index)
        if places is not None:
            return reduce_loss(-input.take(places), reduction)
        check_classes(target)
        counted, classes = target != ignore_index, input.shape[1]
        wrong = counted & ((target < 0) | (target >= classes))
        if wrong.any():
            about = describe_range("input", "classes", classes, "target", target[counted])
            error = IndexError(f"Target {target[wrong].flat[0]} is out of bounds.{about}")
            if target[counted].min() >= 0:
                advised(error, "too few outputs", target[counted].max() + 1)
            raise error
        weights = class_weights(target, weight, ignore_index, input.dtype)
        at = np.where(counted, target, 0)[:, None]
        values = np.where(counted, -np.take_along_axis(input, at, 1)[:, 0] * weights, 0)
        if reduction == "none":
            return values
        total = sum_whole(values)
        return total / sum_whole(weights) if reduction == "mean" else total

    def slope(
        g: Any, input: Any, target: Any, weight: Any, reduction: str, ignore_index: int
    ) -> Any:
        return tied(nll_spread(g, target, weight, input.shape, reduction, ignore_index), input)

    return hidden_op(input=slope, node=node, wide=True, **declared)(rename(kernel, name))


nll = likelihood("nll", "NllLossBackward0")
picture_nll = likelihood("picture_nll", "NllLoss2DBackward0")  # of (N, C, H, W)


@hidden_op(
    input=lambda g, target, weight, reduction, ignore_index: nll(
        g, target, weight, reduction, ignore_index
    ),
    wide=True,
)
def nll_spread(
    input: Array,
    target: Array,
    weight: Array | None,
    shape: tuple[int, ...],
    reduction: str,
    ignore_index: int,
) -> Array:
    """The gradient of `nll`: minus each sample's share, at its class. `nll` is its adjoint."""
    out, places = np.zeros(shape, input.dtype), class_offsets(shape, target, weight, ignore_index)
    if places is not None:
        out.put(places, -input / shape[0] if reduction == "mean" else -input)
        return out
    weights = class_weights(target, weight, ignore_index, input.dtype)
    if reduction == "mean":
        shares = weights / sum_whole(weights)
        # If all samples are ignored, the mean is 0 / 0, but its gradient is 0.
        weights = np.where(target == ignore_index, weights, shares)
    ignored = target == ignore_index
    shares = np.where(ignored, input.dtype.type(0), -(input * weights))
    np.put_along_axis(out, np.where(ignored, 0, target)[:, None], shares[:, None], 1)
    return out


def fusable_classes(input: Tensor, target: Tensor, ignore_index: int) -> Array | None:
    """The `class_offsets` of the operands if `class_cross_entropy` can compute them, else None."""
    scores, classes = input._array, target._array
    if (
        type(scores) is np.ndarray  # no tracing of `compile`: `class_offsets` depends on values
        and scores.ndim == 2
        and classes.ndim == 1
        and len(scores) == len(classes)
        and scores.dtype in OF_BLAS
        and scores.flags.c_contiguous
        and not doors.nodes
        and not mode.transforms
    ):
        return class_offsets(scores.shape, classes, None, ignore_index)
    return None


def split_cross_entropy(node: Any) -> None:
    """Turn the node of a cross entropy into the node of `nll`, with an edge to `log_softmax`'s."""
    after, before = new_node("nll", node), new_node("log_softmax_along", node)
    (source, number), edge = node._edges[0], (before, 0)
    before._edges, before._sequence = node._edges, node._sequence - 0.5
    before._saved = node._saved
    before._outputs = ((source or node)._outputs[number],)
    if isinstance(node._saved, tuple):
        ignored, _, reduction, target, (logs, version) = node._saved
        before._outputs = ((logs._array.shape, logs._array.dtype),)  # the edge may be cut off
        before._saved = (1, (logs._array, logs._cell, version))
        logs._come_from(edge)
        node._saved = (ignored, reduction, (logs, version), target, None)
    node._edges, node.__class__ = (edge,), type(after)


def cross_entropy_formula(
    g: Any, target: Any, logs: Any, places: Any, reduction: str, ignore_index: int
) -> Any:
    """The gradient of `class_cross_entropy`: each sample's probabilities, minus 1 at its class."""
    share = g / len(logs) if reduction == "mean" else g
    out = np.exp(logs)
    out *= share.reshape(-1, 1)
    out.put(places, out.take(places) - share)
    return out


log_softmax_kernel = OPS["log_softmax_along"].kernel


@hidden_op(
    input=cross_entropy_formula, node="NllLossBackward0", aux=("logs",), unfold=split_cross_entropy,
    one_step=True,
)  # fmt: skip
def class_cross_entropy(
    input: Array, target: Array, places: Any, reduction: str, ignore_index: int
) -> tuple[Array, Array]:
    """`nll` of the `log_softmax_along` of a matrix; the latter is the second result.

    Args:
        places: the `fusable_classes` of ``input`` and ``target``.
        ignore_index: only shown in the node; no sample is ignored.
    """
    logs = log_softmax_kernel(input, 1)
    return reduce_loss(-logs.take(places), reduction), logs


# Losses that are quadratic near zero and linear beyond, each recorded as one node.


def huber_formula(
    g: Any, operand: Any, other: Any, reduction: str, limit: float, unit: float = 1.0
) -> Any:
    """``g`` times the difference in units of ``unit``, clamped to [``-limit``, ``limit``]."""
    difference = operand - other if unit == 1 else (operand - other) / unit
    share = element_gradient(g, difference.shape, reduction)
    return kept(share * clamp(difference, -limit, limit), operand, other)


@hidden_op(
    input=lambda g, input, target, reduction, delta: huber_formula(
        g, input, target, reduction, delta
    ),
    target=lambda g, input, target, reduction, delta: huber_formula(
        g, target, input, reduction, delta
    ),
    cast="promote",
    node="HuberLossBackward0",
)
def huber(input: Array, target: Array, reduction: str, delta: float) -> Array:
    """For e = ``|input - target|``: ``e² / 2`` where e <= ``delta``, its tangent beyond."""
    e = np.abs(wide(input) - wide(target))
    kind = e.dtype.type
    half, limit = kind(0.5), kind(delta)
    values = select(e <= limit, half * e * e, limit * (e - half * limit))
    return reduce_loss(values.astype(input.dtype, copy=False), reduction)


@hidden_op(
    input=lambda g, input, target, reduction, beta: huber_formula(
        g, input, target, reduction, 1.0, beta
    ),
    target=lambda g, input, target, reduction, beta: huber_formula(
        g, target, input, reduction, 1.0, beta
    ),
    cast="promote",
    node="SmoothL1LossBackward0",
)
def smooth_l1(input: Array, target: Array, reduction: str, beta: float) -> Array:
    """For e = ``|input - target|``: ``e² / (2 beta)`` where e < ``beta``, else ``e - beta / 2``."""
    e = np.abs(input - target)
    kind = e.dtype.type
    half, limit = kind(0.5), kind(beta)
    return reduce_loss(select(e < limit, half * e * e / limit, e - half * limit), reduction)


# The common part of batch, group and layer normalization.
#
# Each standardizes groups of elements, `h = (x - mean) r` with `r = 1 / √(variance + eps)`, and
# returns `h w + b`. Let `m` be the mean over a group and `P v = v - m(v) - h m(v h)`: `P` removes
# from `v` the components that shift or stretch `x`. From the gradient `g` of the result follow
#
#     r P(g w) by x,        Σ g h by w,        Σ g by b.
#
# All three are computed at once, although the node asks for them one by one.


NONE = np.zeros(0, np.float32)


class Plan(NamedTuple):
    """The groups of elements that are standardized together, for a reshaped input.

    Attributes:
        shape: the new shape of the input.
        axes: the dimensions of a group.
        weight: the shape in which weight and bias broadcast with ``shape``.
        others: the dimensions along which they broadcast.
        affine: the shape of weight and bias; None without both.
        inner: the dimensions of a group along which weight and bias broadcast.
        size: the number of elements of a group.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    weight: tuple[int, ...]
    others: tuple[int, ...]
    affine: tuple[int, ...] | None
    inner: tuple[int, ...]
    size: int


class Moments:
    """The values that a normalization saves for its gradients.

    Attributes:
        mean, scale: the mean and `r` of each group.
        fixed: whether both are given and do not depend on the input.
        centred: `x - mean`; for rows, which have a weight for each element, `h`.
    """

    __slots__ = ("centred", "fixed", "mean", "scale")

    def __init__(self, mean: Any = None, scale: Any = None, fixed: bool = False) -> None:
        self.mean, self.scale, self.fixed = mean, scale, fixed
        self.centred: Any = None


def in_plan_shape(values: Array, plan: Plan) -> Array:
    """``values`` in the shape of the plan; half precision becomes single."""
    if values.dtype.itemsize == 2:
        values = values.astype(np.float32)
    return np.ascontiguousarray(values).reshape(plan.shape)


def moments(input: Array, plan: Plan, kept: Moments) -> Array:
    """Set ``kept.mean`` and ``kept.centred`` of each group; returns the biased variance."""
    values = in_plan_shape(input, plan)
    kept.mean = sum_over(values, plan.axes, True) / values.dtype.type(plan.size)
    kept.centred = values - kept.mean
    squares = sum_products(kept.centred, kept.centred, plan.axes, True)
    return squares / values.dtype.type(plan.size)


def reciprocal_root(variance: Array, eps: float) -> Array:
    """`1 / √(variance + eps)`."""
    return np.asarray(1 / np.sqrt(variance + variance.dtype.type(eps)))


# The gradients


def normalization_formula(
    g: Any, input: Any, weight: Any, plan: Plan, eps: float, kept: Moments
) -> Any:
    """The gradients by input, weight and bias; a formula."""
    return normalization_backward(g, input, weight, plan, eps, kept)


SLOPES: dict[str, Any] = {
    **dict.fromkeys(("input", "weight", "bias"), normalization_formula),
    "joint": True,
}


def second_normalization_formula(
    g: Any, grad: Any, input: Any, weight: Any, plan: Plan, eps: float, kept: Moments
) -> tuple[Any, Any, Any]:
    """The gradients of `normalization_backward`, from the gradients `a`, `b`, `c` of its results.

    The derivatives of `a · r P(g w) + b · Σ g h + c · Σ g` are by `g` `w r P(a) + b h + c`, by `w`
    `Σ g r P(a)`, by `x` `r P(t) - r h m(a r P(g w))` with `t = g b - r (a m(g w h) + g w m(a h))`.
    """
    w = None if weight is None else reshape(weight, plan.weight)
    x, grad = reshape(input, plan.shape), reshape(grad, plan.shape)
    a, b, by_grad = (
        0.0 if v is None else reshape(v, shape)
        for v, shape in zip(g, (plan.shape, plan.weight, plan.weight), strict=True)
    )

    def m(v: Any) -> Any:
        return mean_along(v, plan.axes, True)

    if kept.fixed:
        scale = as_type_of(x, kept.scale)
        hat = (x - as_type_of(x, kept.mean)) * scale
    else:
        centred = x - m(x)
        scale = rsqrt(m(centred * centred) + eps)
        hat = centred * scale

    def p(v: Any) -> Any:  # r P(v)
        return (v if kept.fixed else v - m(v) - hat * m(v * hat)) * scale

    by_input = by_weight = None
    if g[1] is not None:
        by_grad = b * hat + by_grad
    if g[0] is not None:
        turned = p(a)
        by_grad = by_grad + (turned if w is None else turned * w)
        if plan.affine is not None:
            by_weight = reshape(sum_along(grad * turned, plan.others, False), plan.affine)
    if g[0] is not None or g[1] is not None:  # that by the bias does not depend on the input
        by_input = grad * b
        if kept.fixed:
            by_input = by_input * scale
        else:
            gw = grad if w is None else grad * w
            t = by_input - scale * (a * m(gw * hat) + gw * m(a * hat))
            by_input = p(t) - scale * hat * m(a * p(gw))
        by_input = reshape(by_input, input.shape)
    return reshape(expand_to(by_grad, plan.shape), input.shape), by_input, by_weight


@hidden_op(
    **dict.fromkeys(("grad", "input", "weight"), second_normalization_formula),
    joint=True,
    results=("of_input", "of_weight", "of_bias"),
)
def normalization_backward(
    grad: Array, input: Array, weight: Array | None, plan: Plan, eps: float, kept: Moments
) -> tuple[Array, ...]:
    """The gradients of a normalization by input, weight and bias."""
    g = in_plan_shape(grad, plan)
    of_weight = of_bias = NONE
    if plan.inner:  # several elements of a group share a weight
        w = None if weight is None else weight.reshape(plan.weight)
        centred = in_plan_shape(input, plan) - kept.mean if kept.centred is None else kept.centred
        # The sums of `g` and `g h` over these elements are enough.
        sums = sum_over(g, plan.inner, True)
        alike = sum_products(g, centred, plan.inner, True) * kept.scale
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
    else:
        hat, count = kept.centred, g.dtype.type(plan.size)
        taken = g * hat
        if plan.affine is not None:
            of_weight, of_bias = (sum_over(v, plan.others, True) for v in (taken, g))
        of_input = g if weight is None else g * weight.reshape(plan.weight)
        along = sum_products(of_input, hat, plan.axes, True) / count
        level = sum_over(of_input, plan.axes, True) / count
        np.multiply(hat, along, out=taken)
        taken += level
        of_input = np.subtract(of_input, taken, out=taken)
        of_input *= kept.scale
    affine = (0,) if plan.affine is None else plan.affine
    kind = grad.dtype if weight is None else weight.dtype
    wanted = ((grad.shape, grad.dtype), (affine, kind), (affine, kind))
    return tuple(
        result.reshape(shape).astype(kind, copy=False)
        for result, (shape, kind) in zip((of_input, of_weight, of_bias), wanted, strict=True)
    )


# Batch and group normalization, each recorded as one node.


@functools.lru_cache(1024)
def channel_plan(shape: tuple[int, ...], affine: bool) -> Plan:
    """The plan of a batch normalization of (N, C, ...): (N, C, L), each channel a group."""
    n, c = shape[:2]
    inner = math.prod(shape[2:])
    own = (c,) if affine else None
    return Plan((n, c, inner), (0, 2), (1, c, 1), (0, 2), own, (0, 2), n * inner)


def group_plan(shape: tuple[int, ...], count: int, affine: bool) -> Plan:
    """The plan of a group normalization of (N, C, ...): (N, count, C / count, L)."""
    n, c = shape[:2]
    each = c // count
    inner = math.prod(shape[2:])
    shape, weight, own = (n, count, each, inner), (1, count, each, 1), (c,) if affine else None
    return Plan(shape, (2, 3), weight, (0, 3), own, (3,), each * inner)


def normalization(name: str, kernel_name: str, **declared: Any) -> Any:
    """The operation ``name``; ``kernel_name`` is that of PyTorch's kernel, for messages."""

    def kernel(
        input: Array, weight: Array | None, bias: Array | None, plan: Any, eps: float, kept: Moments
    ) -> Array:
        """``(input - mean) * scale * weight + bias``, with mean and scale of each group.

        Args:
            plan: a `channel_plan`, `group_plan` or `layer_plan`.
            kept: receives the values for the gradients; holds mean and scale if they are fixed.
        """
        check_kind(kernel_name, input)
        if kept.scale is None:
            kept.scale = reciprocal_root(moments(input, plan, kept), eps)
        w = None if weight is None else weight.reshape(plan.weight)
        b = None if bias is None else bias.reshape(plan.weight)
        factor = kept.scale if w is None or not plan.inner else kept.scale * w
        if kept.fixed:
            out = in_plan_shape(input, plan) * factor
            b = -kept.mean * factor if b is None else b - kept.mean * factor
        elif plan.inner:
            out = kept.centred * factor
        else:
            kept.centred *= kept.scale
            out = kept.centred * (1 if w is None else w)
        if b is not None:
            out += b
        return out.reshape(input.shape).astype(input.dtype, copy=False)

    return hidden_op(**SLOPES, **declared)(rename(kernel, name))


normalize_batch = normalization("normalize_batch", "batch_norm", node="NativeBatchNormBackward0")
normalize_groups = normalization(
    "normalize_groups", "GroupNormKernelImpl", node="NativeGroupNormBackward0", visible_outputs=3
)


# Layer normalization, recorded as one node.


@functools.lru_cache(1024)
def layer_plan(shape: tuple[int, ...], normalized: tuple[int, ...], affine: bool) -> Plan:
    """The plan of a normalization over the last dimensions: (rows, columns), each row a group."""
    columns = math.prod(normalized)
    rows = math.prod(shape[: len(shape) - len(normalized)])
    own = normalized if affine else None
    return Plan((rows, columns), (1,), (1, columns), (0,), own, (), columns)


normalize_last = normalization(
    "normalize_last", "LayerNormKernelImpl", node="NativeLayerNormBackward0",
    wide=True,
)  # fmt: skip


# Weight normalization: a weight as length and direction.


def other_dims(ndim: int, dim: int | None) -> tuple[int, ...]:
    """All dimensions except ``dim``; all for None and, as in PyTorch, for -1."""
    if dim is None or dim == -1:
        return tuple(range(ndim))
    own = normal_dim(dim, ndim)
    return tuple(d for d in range(ndim) if d != own)


def sum_others(x: Any, dim: int | None) -> Any:
    """The sums over all dimensions except ``dim``, which are kept."""
    axes = other_dims(x.ndim, dim)
    return sum_along(x, axes, True) if axes else x


def slice_norms(v: Tensor, dim: int | None) -> Tensor:
    """The norm of each slice along ``dim``, in a shape that broadcasts with ``v``; the 0-d norm of
    all of ``v`` for None and -1.
    """
    axes = other_dims(v.ndim, dim)
    return vector_norm(v, 2, axes, len(axes) < v.ndim) if axes else v.abs()


def weight_norm_formula(g: Any, v: Any, length: Any, dim: int | None) -> tuple[Any, Any]:
    """The gradients of `stretched` by direction and length."""
    norm = sum_others(v * v, dim) ** 0.5
    along = sum_others(g * v, dim) / norm
    return (g - v * (along / norm)) * (length / norm), along


@hidden_op(
    v=weight_norm_formula,
    length=weight_norm_formula,
    joint=True,
    node="WeightNormInterfaceBackward0",
    in_order=True,
    wide=True,
)
def stretched(v: Array, length: Array, dim: int | None) -> Array:
    """``length * v / ‖v‖``, with the norm of each slice along ``dim``."""
    return v * (length / np.sqrt(sum_others(v * v, dim)))


# Means over neighbouring channels.


@hidden_op(
    input=lambda g, size, before: mean_of_neighbours(g, size, size - 1 - before),
    node="AvgPool3DBackward0",
    wide=True,
)
def mean_of_neighbours(input: Array, size: int, before: int) -> Array:
    """The mean over ``size`` channels, ``before`` of them before it, for each channel of
    (N, C, ...); missing channels at the ends count as 0.
    """
    if input.dtype != np.int64:
        check_kind("avg_pool2d" if input.ndim == 3 else "avg_pool3d_out_frame", input)
    n, count, *rest = input.shape
    around = np.zeros((n, count + size - 1, *rest), input.dtype)
    whole = input.dtype == np.int64  # divided at the end, without a rest, as PyTorch's pooling does
    divisor = input.dtype.type(1 if whole else size)
    np.divide(input, divisor, out=around[:, before : before + count], casting="unsafe")
    out = np.zeros_like(input)
    for k in range(size):
        out += around[:, k : k + count]
    return out // size if whole else out
