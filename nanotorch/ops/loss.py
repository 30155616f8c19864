"""Losses that PyTorch records as one node each."""

import functools
import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batched import Call, leading, one_by_one, per_sample
from nanotorch._core.call_site import about_range
from nanotorch._core.grad_mode import mode
from nanotorch._core.op import OPS, Array, hidden_op, new_node, number, wide
from nanotorch._core.sums import HALF, OF_BLAS, SINGLE, pick, sum_of_squares, sum_over, sum_whole
from nanotorch._core.tensor import Tensor, observers, wrap
from nanotorch.ops.activation import log_sigmoid, sigmoid
from nanotorch.ops.binary import clamp, clamp_min
from nanotorch.ops.elementwise import log, tied

# Losses that PyTorch records as one node each; `nn.functional` gives them their public faces.
#
# ``reduction`` is "none", "mean" or "sum".


def reduced(values: Array, reduction: str) -> Array:
    """The mean, the sum, or the values themselves."""
    if reduction == "none":
        return values
    if values.dtype == HALF and reduction == "mean":  # its sum may be too large for half precision
        return reduced(values.astype(SINGLE), reduction).astype(HALF)
    total = sum_whole(values)
    return total / values.dtype.type(values.size) if reduction == "mean" else total


def per_element(g: Any, shape: tuple[int, ...], reduction: str, weight: Any = None) -> Any:
    """The gradient of each element of a loss from that of the reduced loss; may broadcast."""
    if reduction == "mean":
        g = g / (math.prod(shape) or 1)
    return g if weight is None else g * weight


@hidden_op(input=lambda g, operand, other: g, batch=leading)
def kept(input: Array, operand: Array, other: Array) -> Array:
    """The slope of a loss, with the operands it is of: PyTorch saves them for its own slope, and so
    minds writes to them."""
    return input


def square_slope(g: Any, operand: Any, other: Any, reduction: str) -> Any:
    """The gradient of `squared_error` by one of its operands."""
    difference = operand - other
    share = per_element(g, difference.shape, reduction)
    return kept(share * (difference + difference), operand, other)


@hidden_op(
    input=lambda g, input, target, reduction: square_slope(g, input, target, reduction),
    target=lambda g, input, target, reduction: square_slope(g, target, input, reduction),
    cast="promote",
    node="MseLossBackward0",
    batch=per_sample,
    arithmetic=True,
)
def squared_error(input: Array, target: Array, reduction: str) -> Array:
    """``(input - target) ** 2``; both of one shape."""
    difference = input - target
    if reduction == "none" or difference.dtype == HALF:
        return reduced(difference * difference, reduction)
    total = sum_of_squares(difference)
    return total / difference.dtype.type(difference.size) if reduction == "mean" else total


# Cross entropies of probabilities: the logarithm is held above -100, so that no loss is infinite.
# The target's formulas name the target only to notice, as PyTorch does, that it was written to.


def cross_entropy_slope(g: Any, input: Any, target: Any, weight: Any, reduction: str) -> Any:
    """The gradient with respect to a probability; its denominator is held above 1e-12."""
    share = per_element(g, input.shape, reduction, weight)
    slope = share * ((input - target) / clamp_min((1 - input) * input, 1e-12))
    return kept(slope, input, target)


@hidden_op(
    input=cross_entropy_slope,
    target=lambda g, input, target, weight, reduction: (
        per_element(g, input.shape, reduction, weight) * (log(1 - input) - log(input))
    ),
    node="BinaryCrossEntropyBackward0",
    batch=per_sample,
)
def bce(input: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    """``-weight * (target * log(input) + (1 - target) * log(1 - input))``.

    Raises:
        RuntimeError: for an ``input`` or a ``target`` outside [0, 1].
    """
    shares = [(values >= 0) & (values <= 1) for values in (input, target)]
    if not (shares[0].all() and shares[1].all()):
        # PyTorch looks at them element by element, at the input first.
        first, second = ((*share.reshape(-1), False).index(False) for share in shares)
        name = "input" if first <= second else "target"
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    floor = input.dtype.type(-100)
    yes, no = np.maximum(np.log(input), floor), np.maximum(np.log1p(-input), floor)
    values = (target - 1) * no - target * yes
    if weight is not None:
        values = (values * weight).astype(input.dtype, copy=False)
    return reduced(values, reduction)


def logits_slope(
    g: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: str
) -> Any:
    """The gradient with respect to a logit: ``sigmoid(input) - target``, weighted."""
    share = per_element(g, input.shape, reduction, weight)
    if pos_weight is None:
        return share * (sigmoid(input) - target)
    positive = pos_weight * target
    return share * ((positive + 1 - target) * sigmoid(input) - positive)


def logits_target_slope(g: Any, input: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    """The gradient with respect to the target: ``-input``, weighted."""
    share = per_element(g, input.shape, reduction, weight)
    if pos_weight is None:
        return share * -input
    return share * (log_sigmoid(-input) - pos_weight * log_sigmoid(input))


@hidden_op(
    input=logits_slope,
    target=lambda g, input, target, weight, pos_weight, reduction: logits_target_slope(
        g, input, weight, pos_weight, reduction
    ),
    node="BinaryCrossEntropyWithLogitsBackward0",
    batch=per_sample,
)
def bce_with_logits(
    input: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array:
    """`bce` of ``sigmoid(input)``, computed from the logit and so stable for any.

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
    return reduced(values if weight is None else values * weight, reduction)


# Negative log likelihood


OF_CLASSES = frozenset((np.dtype(np.int64), np.dtype(np.uint8)))


def check_kind(target: Array) -> None:
    """Refuse targets of a dtype that class numbers do not have."""
    if target.dtype not in OF_CLASSES:
        raise RuntimeError(
            "expected target dtype to be Long or Byte, but got " + dtypes.of_array(target).char
        )


def check_classes(input: Array, target: Array, ignore_index: int) -> None:
    """Refuse targets that are no class numbers."""
    check_kind(target)
    wrong = (target != ignore_index) & ((target < 0) | (target >= input.shape[1]))
    if wrong.any():
        text = f"Target {target[wrong].flat[0]} is out of bounds."
        counted = target[target != ignore_index]
        raise IndexError(text + about_range("input", "classes", input.shape[1], "target", counted))


def class_weights(target: Array, weight: Array | None, ignore_index: int, kind: np.dtype) -> Array:
    """The weight of each sample's class; 0 for ignored samples."""
    counted = target != ignore_index
    if weight is None:
        return counted.astype(kind)
    return np.where(counted, weight[np.where(counted, target, 0)], kind.type(0))


@functools.lru_cache(maxsize=64)
def row_starts(rows: int, columns: int) -> Array:
    """Where the rows of a matrix begin."""
    return np.arange(0, rows * columns, columns)


def alike(
    shape: tuple[int, ...], target: Array, weight: Array | None, ignore_index: int
) -> Array | None:
    """Where each sample's class stands in a flat ``(N, C)``; None unless all count alike."""
    if len(shape) != 2 or weight is not None or 0 <= ignore_index < shape[1]:
        return None
    # As natural numbers, negative class numbers are large.
    if target.dtype != np.int64 or np.maximum.reduce(target.view(np.uint64), initial=0) >= shape[1]:
        return None
    return target + row_starts(*shape)


def put_shares(g: Any, places: Array, shape: tuple[int, ...], reduction: str) -> Array:
    """Minus each sample's share of a gradient, at its place in a matrix of zeros."""
    out = np.zeros(shape, g.dtype)
    out.put(places, -g / shape[0] if reduction == "mean" else -g)
    return out


def nll_of_all(call: Call) -> Any:
    """`nll` of each sample; the samples join the dimension that comes first."""
    if call.is_batched("weight"):
        return one_by_one(call)
    input, target, size = call.repeated("input"), call.repeated("target"), call.batch.size
    rows, classes = input.flatten(0, 1), target.flatten(0, 1)
    ignored, how = call.args["ignore_index"], call.args["reduction"]
    losses = nll(rows, classes, call.args["weight"], "none", ignored)
    if how == "none":
        return losses.unflatten(0, (size, target.shape[1]))
    total = losses.reshape(size, math.prod(target.shape[1:])).sum(1)
    if how == "sum":
        return total
    counted = classes.ne(ignored)
    shares = counted.to(rows.dtype)
    if call.args["weight"] is not None:
        known = classes.where(counted, 0).reshape(-1)
        shares = shares * call.args["weight"].index_select(0, known).reshape(shares.shape)
    return total / shares.reshape(size, math.prod(target.shape[1:])).sum(1)


def spread_of_all(call: Call) -> Any:
    """`nll_spread` of each sample: it is linear in its first argument."""
    reduction = call.args["reduction"]
    if reduction == "none" or call.is_batched("target") or call.is_batched("weight"):
        return one_by_one(call)
    g = call.whole("input")
    one = call.again(input=wrap(np.ones((), g._array.dtype)))
    return g.reshape((-1,) + (1,) * one.ndim) * one


@hidden_op(
    input=lambda g, input, target, weight, reduction, ignore_index: tied(
        nll_spread(g, target, weight, input.shape, reduction, ignore_index), input
    ),
    node="NllLossBackward0",
    batch=nll_of_all,
    wide=True,
)
def nll(
    input: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int
) -> Array:
    """``-weight[target] * input[target]`` per sample; the mean is over the weights.

    Args:
        input: log-probabilities ``(N, C, ...)``.
        target: class numbers ``(N, ...)`` in [0, C).

    Raises:
        IndexError: for a class number out of range.
    """
    places = alike(input.shape, target, weight, ignore_index)
    if places is not None:
        return reduced(-input.take(places), reduction)
    check_classes(input, target, ignore_index)
    weights = class_weights(target, weight, ignore_index, input.dtype)
    counted = target != ignore_index
    at = np.where(counted, target, 0)[:, None]
    values = np.where(counted, -np.take_along_axis(input, at, 1)[:, 0] * weights, 0)
    if reduction == "none":
        return values
    total = sum_whole(values)
    return total / sum_whole(weights) if reduction == "mean" else total


@hidden_op(
    input=lambda g, target, weight, reduction, ignore_index: nll(
        g, target, weight, reduction, ignore_index
    ),
    batch=spread_of_all,
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
    """The gradient of `nll`: minus each sample's share at its class; `nll` is its adjoint."""
    places = alike(shape, target, weight, ignore_index)
    if places is not None:
        return put_shares(input, places, shape, reduction)
    weights = class_weights(target, weight, ignore_index, input.dtype)
    if reduction == "mean":
        shares = weights / sum_whole(weights)
        # Where all samples are ignored, the mean is 0 / 0, but its gradient is 0.
        weights = np.where(target == ignore_index, weights, shares)
    out = np.zeros(shape, input.dtype)
    ignored = target == ignore_index
    shares = np.where(ignored, input.dtype.type(0), -(input * weights))
    np.put_along_axis(out, np.where(ignored, 0, target)[:, None], shares[:, None], 1)
    return out


def plain_classes(input: Tensor, target: Tensor, ignore_index: int) -> Array | None:
    """Where the classes stand, as `alike` has it, if `class_cross_entropy` takes these operands."""
    scores, classes = input._array, target._array
    if (
        type(scores) is np.ndarray  # not while `compile` traces, for `alike` looks at values
        and scores.ndim == 2
        and classes.ndim == 1
        and len(scores) == len(classes)
        and scores.dtype in OF_BLAS
        and scores.flags.c_contiguous
        and not observers
        and not mode.transforms
    ):
        return alike(scores.shape, classes, None, ignore_index)
    return None


def split_cross_entropy(node: Any) -> None:
    """Turn the node of a cross entropy into that of `nll`, behind which stands `log_softmax`'s."""
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


def class_slope(
    g: Any, target: Any, logs: Any, places: Any, reduction: str, ignore_index: int
) -> Any:
    """The gradient of `class_cross_entropy`: a sample's probabilities, minus one at its class."""
    spread = put_shares(g, places, logs.shape, reduction)
    return np.subtract(spread, np.exp(logs) * sum_over(spread, (1,), True), out=spread)


log_softmax_kernel = OPS["log_softmax_along"].kernel


@hidden_op(
    input=class_slope, node="NllLossBackward0", aux=("logs",), unfold=split_cross_entropy,
    one_step=True,
)  # fmt: skip
def class_cross_entropy(
    input: Array, target: Array, places: Any, reduction: str, ignore_index: int
) -> tuple[Array, Array]:
    """`nll` of the `log_softmax_along` of a matrix, which is the second result.

    Args:
        places: what `plain_classes` says of input and target.
        ignore_index: the node shows it; no class has it.
    """
    logs = log_softmax_kernel(input, 1)
    return reduced(-logs.take(places), reduction), logs


# Negative log likelihood of every pixel, a node of its own.


nll_kernel = OPS["nll"].kernel


@hidden_op(
    input=lambda g, input, target, weight, reduction, ignore_index: tied(
        nll_spread(g, target, weight, input.shape, reduction, ignore_index), input
    ),
    node="NllLoss2DBackward0",
    wide=True,
)
def picture_nll(
    input: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int
) -> Array:
    """`nanotorch.ops.loss.nll` of ``(N, C, H, W)``."""
    return nll_kernel(input, target, weight, reduction, ignore_index)


# Losses that are squared near zero and absolute beyond, each recorded as one node.


def held_slope(
    g: Any, operand: Any, other: Any, reduction: str, limit: float, unit: float = 1.0
) -> Any:
    """``g`` times the difference in units, held between ``-limit`` and ``limit``."""
    difference = operand - other if unit == 1 else (operand - other) / unit
    share = per_element(g, difference.shape, reduction)
    return kept(share * clamp(difference, -limit, limit), operand, other)


@hidden_op(
    input=lambda g, input, target, reduction, delta: held_slope(g, input, target, reduction, delta),
    target=lambda g, input, target, reduction, delta: held_slope(
        g, target, input, reduction, delta
    ),
    cast="promote",
    node="HuberLossBackward0",
    batch=per_sample,
)
def huber(input: Array, target: Array, reduction: str, delta: float) -> Array:
    """For e = ``|input - target|``: ``e² / 2`` where e <= ``delta``, else a straight line on."""
    e = np.abs(wide(input) - wide(target))
    kind = e.dtype.type
    half, limit = kind(0.5), kind(delta)
    values = pick(e <= limit, half * e * e, limit * (e - half * limit))
    return reduced(values.astype(input.dtype, copy=False), reduction)


@hidden_op(
    input=lambda g, input, target, reduction, beta: held_slope(
        g, input, target, reduction, 1.0, beta
    ),
    target=lambda g, input, target, reduction, beta: held_slope(
        g, target, input, reduction, 1.0, beta
    ),
    cast="promote",
    node="SmoothL1LossBackward0",
    batch=per_sample,
)
def smooth_l1(input: Array, target: Array, reduction: str, beta: float) -> Array:
    """For e = ``|input - target|``: ``e² / (2 beta)`` where e < ``beta``, else ``e - beta / 2``."""
    e = np.abs(input - target)
    kind = e.dtype.type
    half, limit = kind(0.5), kind(beta)
    return reduced(pick(e < limit, half * e * e / limit, e - half * limit), reduction)
