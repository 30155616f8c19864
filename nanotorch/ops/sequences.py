"""Recurrent layers over all steps, alignments, attention and GELU, each as one operation."""

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np

from nanotorch._core.op import Array, hidden_op, in_half
from nanotorch._core.sums import DOUBLE, HALF, SINGLE, ones
from nanotorch.ops.activation import (
    R,
    erf,
    rational_tanh,
    relu_backward,
    sigmoid,
    tanh,
    tanh_backward,
)
from nanotorch.ops.arguments import check_kind, require, unsupported_dtype
from nanotorch.ops.binary import NO_DERIVATIVE, no_derivative
from nanotorch.ops.elementwise import exp, vanishing
from nanotorch.ops.gathering import add_along
from nanotorch.ops.joining import cat_along
from nanotorch.ops.linalg import tr
from nanotorch.ops.matrix import matmul, mm
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import reshape, t

# Batches of sequences of different lengths: padded to the longest, or packed without padding.


Sizes = tuple[int, ...]


def packed_positions(sizes: Sizes) -> tuple[Array, Array]:
    """The step and the sequence of each packed row."""
    steps = np.repeat(np.arange(len(sizes)), sizes)
    return steps, np.concatenate([np.arange(n) for n in sizes])


@hidden_op(
    input=lambda g, input_shape, sizes: pad_rows(g, sizes, input_shape[0], 0.0),
    node="PackPaddedSequenceBackward0",
)
def pack_rows(input: Array, sizes: Sizes) -> Array:
    """The packed rows (sum of sizes, ...) of padded sequences (T, N, ...)."""
    return input[packed_positions(sizes)]


@hidden_op(data=lambda g, sizes: pack_rows(g, sizes), node="CopySlices")
def pad_rows(data: Array, sizes: Sizes, length: int, value: Any) -> Array:
    """Padded sequences (length, N, ...) of packed rows; ``value`` fills the padding."""
    out = np.full((length, sizes[0], *data.shape[1:]), value, data.dtype)
    out[packed_positions(sizes)] = data
    return out


# The states of a recurrent layer from step to step, over packed sequences.
#
# A layer works on packed rows: first the rows of step 0 of all sequences, then those of step 1 of
# the sequences that reach it, and so on. Sequences are sorted by descending length. ``sizes`` is
# the number of rows of each step. The functions accept arrays and Tensors.


def step_bounds(sizes: Sizes, reverse: bool) -> list[tuple[int, int]]:
    """The first row and the end of each step, in the order in which the layer takes the steps."""
    rows, stop = [], 0
    for size in sizes:
        start, stop = stop, stop + size
        rows.append((start, stop))
    return rows[::-1] if reverse else rows


def carried_state(state: Any, count: int, initial: Any) -> Any:
    """The state before a step of ``count`` rows.

    Sequences that have ended are dropped. Sequences that begin at this step, in a reversed layer,
    are added with their ``initial`` state.
    """
    held = len(state)
    if held == count:
        return state
    return state[:count] if held > count else cat_along((state, initial[held:count]), 0)


def states_before(states: Any, initial: Any, sizes: Sizes, reverse: bool) -> Any:
    """For each row of ``states``, the state before its step."""
    parts, last = [], initial[:0]
    for start, stop in step_bounds(sizes, reverse):
        parts.append(carried_state(last, stop - start, initial))
        last = states[start:stop]
    return cat_along(parts[::-1] if reverse else parts, 0)


def in_step_order(steps: list[Any], reverse: bool) -> Any:
    """The rows of ``steps``, which were collected in the backward pass, from the first step on."""
    return cat_along(steps if reverse else steps[::-1], 0)


class StateGradient:
    """The gradient of a state, step by step in the backward pass, and of the initial state."""

    def __init__(self) -> None:
        self.held: Any = None
        self.ended: list[Any] = []

    def added_to(self, own: Any) -> Any:
        """The gradient of the state after a step: ``own``, plus the one from the next step."""
        held, count = self.held, len(own)
        if held is None:
            return own
        if len(held) > count:  # in a reversed layer, the other sequences began at the next step
            self.ended.append(held[count:])
            held = held[:count]
        if len(held) == count:
            return own + held
        return cat_along((own[: len(held)] + held, own[len(held) :]), 0)

    def initial(self) -> Any:
        """The gradient of the initial state."""
        parts = [self.held, *self.ended[::-1]]
        return parts[0] if len(parts) == 1 else cat_along(parts, 0)


# All steps of a plain recurrent layer, as one operation: h' = φ(gates + h weightᵀ).
#
# Reference:
#     Elman, Finding structure in time, Cognitive Science 1990.


def elman_formula(
    g: Any, out: Any, hx: Any, weight: Any, nonlinearity: str, sizes: Sizes, reverse: bool
) -> tuple[Any, ...]:
    """The gradients of all inputs of `elman_steps`."""
    shape = out.shape
    hidden, g = reshape(out, (-1, shape[-1])), reshape(g, (-1, shape[-1]))
    slope = tanh_backward if nonlinearity == "tanh" else relu_backward
    back, steps = StateGradient(), []
    for start, stop in step_bounds(sizes, not reverse):
        d = slope(back.added_to(g[start:stop]), hidden[start:stop])
        steps.append(d)
        back.held = mm(d, weight)
    d_gates = in_step_order(steps, reverse)
    d_weight = mm(t(d_gates), states_before(hidden, hx, sizes, reverse))
    return reshape(d_gates, shape), back.initial(), d_weight


@hidden_op(
    **dict.fromkeys(("gates", "hx", "weight"), elman_formula),
    joint=True,
    node="StackBackward0",
    wide=True,
)
def elman_steps(
    gates: Array, hx: Array, weight: Array, nonlinearity: str, sizes: Sizes, reverse: bool
) -> Array:
    """The states after every step of one layer in one direction.

    Args:
        gates: the input's part of each step, (T, N, H), or packed (rows, H).
        hx: (N, H).
        weight: (H, H).
        nonlinearity: "tanh" or "relu".
        sizes: the number of rows of each step.
        reverse: start with the last step.

    Returns:
        Every h, in the shape of ``gates``.
    """
    hidden = gates.reshape(-1, gates.shape[-1]).copy()
    matrix = np.ascontiguousarray(weight.T)
    zero = hidden.dtype.type(0)
    h = hx
    for start, stop in step_bounds(sizes, reverse):
        h = carried_state(h, stop - start, hx)
        out = hidden[start:stop]
        out += h.dot(matrix)
        if nonlinearity == "tanh":
            np.tanh(out, out=out)
        else:
            np.maximum(out, zero, out=out)
        h = out
    return hidden.reshape(gates.shape)


# All steps of an LSTM layer, as one operation.
#
# For each step, with the gates' inputs (i, f, g, o) = gates + h weightᵀ:
#
#     c' = s(f) c + s(i) tanh(g)    h' = s(o) tanh(c')    or, projected, h' = ... projectionᵀ
#
# Here s is the sigmoid, computed as s(x) = (1 + tanh(x/2)) / 2, so that one call of tanh serves all
# four.
#
# Reference:
#     Hochreiter and Schmidhuber, Long short-term memory, Neural Computation 1997; with forget gates
#     of Gers et al., Learning to forget, 2000; with projections of Sak et al., 2014.


def split_gates(gates: Any) -> tuple[Any, Any, Any, Any]:
    """The columns in four equal groups, one for each gate."""
    n = gates.shape[1] // 4
    return gates[:, :n], gates[:, n : 2 * n], gates[:, 2 * n : 3 * n], gates[:, 3 * n :]


def lstm_formula(
    g: Any, hidden: Any, cells: Any, activated: Any, hx: Any, cx: Any, weight: Any, projection: Any,
    sizes: Sizes, reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of all inputs of `lstm_steps`.

    The gradients of the gates' inputs are those of a step's h and c times factors. The factors of
    all steps are computed before the loop.
    """
    g_hidden, g_cells, g_activated = g
    shape, rows = hidden.shape, cells.shape[0]
    hidden = reshape(hidden, (rows, shape[-1]))
    g_hidden = vanishing(hidden) if g_hidden is None else reshape(g_hidden, (rows, shape[-1]))
    squashed, before = tanh(cells), states_before(cells, cx, sizes, reverse)
    i, f, m, o = split_gates(activated)
    to_cells = o * (1.0 - squashed * squashed)
    of_i, of_f = m * (i * (1.0 - i)), before * (f * (1.0 - f))
    of_m, of_o = i * (1.0 - m * m), squashed * (o * (1.0 - o))
    factors = cat_along((of_i, of_f, of_m, of_o), 1)
    own = None
    if g_activated is not None:  # in the derivative of a derivative
        bends = (i * (1.0 - i), f * (1.0 - f), 1.0 - m * m, o * (1.0 - o))
        own = g_activated * cat_along(bends, 1)
    back_h, back_c, steps, outputs = StateGradient(), StateGradient(), [], []
    for start, stop in step_bounds(sizes, not reverse):
        d_h = back_h.added_to(g_hidden[start:stop])
        outputs.append(d_h)
        if projection is not None:
            d_h = mm(d_h, projection)
        d_c = d_h * to_cells[start:stop]
        d_c = back_c.added_to(d_c if g_cells is None else d_c + g_cells[start:stop])
        d = factors[start:stop] * cat_along((d_c, d_c, d_c, d_h), 1)
        if own is not None:
            d = d + own[start:stop]
        steps.append(d)
        back_h.held, back_c.held = mm(d, weight), d_c * f[start:stop]
    d_gates, d_projection = in_step_order(steps, reverse), None
    if projection is not None:
        d_projection = mm(t(in_step_order(outputs, reverse)), o * squashed)
    d_weight = mm(t(d_gates), states_before(hidden, hx, sizes, reverse))
    d_gates = reshape(d_gates, (*shape[:-1], activated.shape[1]))
    return d_gates, back_h.initial(), back_c.initial(), d_weight, d_projection


@hidden_op(
    **dict.fromkeys(("gates", "hx", "cx", "weight", "projection"), lstm_formula),
    joint=True,
    results=("hidden", "cells", "activated"),
    node="MkldnnRnnLayerBackward0",
    wide=True,
)
def lstm_steps(
    gates: Array, hx: Array, cx: Array, weight: Array, projection: Array | None, sizes: Sizes,
    reverse: bool,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The states after every step of one layer in one direction.

    Args:
        gates: the input's part of the gates, (T, N, 4H), or packed (rows, 4H).
        hx: (N, P); without projection, P = H.
        cx: (N, H).
        weight: (4H, P).
        projection: (P, H), or None.
        sizes: the number of rows of each step.
        reverse: start with the last step.

    Returns:
        Every h, in the shape of ``gates`` with last size P; every c, (rows, H); and the activated
        gates, (rows, 4H).
    """
    shape, kind, width = gates.shape, gates.dtype, cx.shape[1]
    # The factor 1/2 in tanh(x/2), for all gates but g, is applied before the loop.
    half = np.full(4 * width, 0.5, kind)
    half[2 * width : 3 * width] = 1
    rest = kind.type(1) - half
    activated = gates.reshape(-1, 4 * width) * half
    matrix = np.ascontiguousarray(weight.T) * half
    rows = len(activated)
    cells = np.empty((rows, width), kind)
    hidden = np.empty((rows, len(weight[0])), kind)
    h, c = hx, cx
    for start, stop in step_bounds(sizes, reverse):
        h, c = carried_state(h, stop - start, hx), carried_state(c, stop - start, cx)
        at, out, cell = activated[start:stop], hidden[start:stop], cells[start:stop]
        at += h.dot(matrix)
        np.tanh(at, out=at)
        at *= half
        at += rest
        i, f, m, o = split_gates(at)
        np.multiply(f, c, out=cell)
        cell += i * m
        if projection is None:
            np.tanh(cell, out=out)
            out *= o
        else:
            np.matmul(o * np.tanh(cell), projection.T, out=out)
        h, c = out, cell
    return hidden.reshape((*shape[:-1], hidden.shape[1])), cells, activated


# All steps of a GRU layer, as one operation.
#
# For each step, with (r, z, n) the thirds of ``gates`` and of u = h weightᵀ + bias:
#
#     r = s(gates_r + u_r)   z = s(gates_z + u_z)   n = tanh(gates_n + r u_n)   h' = n + z (h - n)
#
# Here s is the sigmoid, computed as s(x) = (1 + tanh(x/2)) / 2.
#
# Reference:
#     Cho et al., Learning phrase representations using RNN encoder-decoder for statistical machine
#     translation, 2014.


def gru_formula(
    g: Any, hidden: Any, activated: Any, hx: Any, weight: Any, bias: Any, sizes: Sizes,
    reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of all inputs of `gru_steps`; see `lstm_formula`."""
    g_hidden, g_activated = g
    shape, rows = hidden.shape, activated.shape[0]
    width = shape[-1]
    hidden = reshape(hidden, (rows, width))
    g_hidden = vanishing(hidden) if g_hidden is None else reshape(g_hidden, (rows, width))
    r, z, n, u = split_gates(activated)
    before = states_before(hidden, hx, sizes, reverse)
    to_n = (1.0 - z) * (1.0 - n * n)
    factors = cat_along((to_n * u * (r * (1.0 - r)), (before - n) * (z * (1.0 - z)), to_n * r), 1)
    own = None
    if g_activated is not None:  # in the derivative of a derivative
        g_r, g_z, g_n, g_u = split_gates(g_activated)
        through = g_n * (1.0 - n * n)
        own_r = (g_r + through * u) * (r * (1.0 - r))
        own = cat_along((own_r, g_z * (z * (1.0 - z)), g_u + through * r), 1)
    back, steps, arrived = StateGradient(), [], []
    for start, stop in step_bounds(sizes, not reverse):
        d_h = back.added_to(g_hidden[start:stop])
        arrived.append(d_h)
        d = factors[start:stop] * cat_along((d_h, d_h, d_h), 1)
        if own is not None:
            d = d + own[start:stop]
        steps.append(d)
        back.held = d_h * z[start:stop] + mm(d, weight)
    of_u, of_n = in_step_order(steps, reverse), in_step_order(arrived, reverse) * to_n
    if g_activated is not None:
        of_n = of_n + through
    d_gates = cat_along((of_u[:, : 2 * width], of_n), 1)
    return (
        reshape(d_gates, (*shape[:-1], 3 * width)),
        back.initial(),
        mm(t(of_u), before),
        None if bias is None else sum_along(of_u, (0,), False),
    )


@hidden_op(
    **dict.fromkeys(("gates", "hx", "weight", "bias"), gru_formula),
    joint=True,
    results=("hidden", "activated"),
    visible_outputs=1,
    node="StackBackward0",
    wide=True,
)
def gru_steps(
    gates: Array, hx: Array, weight: Array, bias: Array | None, sizes: Sizes, reverse: bool
) -> tuple[Array, Array]:
    """The states after every step of one layer in one direction.

    Args:
        gates: the input's part of the gates, (T, N, 3H), or packed (rows, 3H).
        hx: (N, H).
        weight: (3H, H).
        bias: (3H,), or None.
        sizes: the number of rows of each step.
        reverse: start with the last step.

    Returns:
        Every h, in the shape of ``gates`` with last size H; and r, z, n and u_n, (rows, 4H).
    """
    shape, kind, width = gates.shape, gates.dtype, hx.shape[1]
    half = np.full(3 * width, 0.5, kind)
    half[2 * width :] = 1
    scaled = gates.reshape(-1, 3 * width) * half
    matrix = np.ascontiguousarray(weight.T) * half
    shift = None if bias is None else bias * half
    activated = np.empty((len(scaled), 4 * width), kind)
    hidden = np.empty((len(scaled), width), kind)
    h = hx
    for start, stop in step_bounds(sizes, reverse):
        h = carried_state(h, stop - start, hx)
        at, inputs, out = activated[start:stop], scaled[start:stop], hidden[start:stop]
        both, n = at[:, : 2 * width], at[:, 2 * width : 3 * width]
        u = h.dot(matrix)
        if shift is not None:
            u += shift
        np.add(u[:, : 2 * width], inputs[:, : 2 * width], out=both)
        np.tanh(both, out=both)
        both *= half[0]
        both += half[0]
        at[:, 3 * width :] = u[:, 2 * width :]
        np.multiply(at[:, :width], u[:, 2 * width :], out=n)
        n += inputs[:, 2 * width :]
        np.tanh(n, out=n)
        np.subtract(h, n, out=out)
        out *= at[:, width : 2 * width]
        out += n
        h = out
    return hidden.reshape((*shape[:-1], width)), activated


# Connectionist temporal classification: the probability of a sequence of labels, summed over all
# alignments with the steps of the input.
#
# An alignment names a place at each step. The places are the labels with a blank around each; the
# next step has the same place, the next one, or the one after that if their symbols differ.
# `forward` at a step and a place is the logarithm of the probability of all ways to get there,
# `backward` that of all ways from there to the end; both count the present step.
#
# Reference:
#     Graves et al., Connectionist Temporal Classification, ICML 2006, section 4.


NEVER = -np.inf  # the logarithm of the probability 0


def ctc_places(targets: Array, lengths: Array, blank: int) -> tuple[Array, Array]:
    """The symbol of each place, (N, S), and whether the place two before leads to it."""
    labels = np.full((len(lengths), lengths.max(initial=0)), blank)
    filled = np.arange(labels.shape[1]) < lengths[:, None]
    labels[filled] = targets if targets.ndim == 1 else targets[:, : labels.shape[1]][filled]
    places = np.full((len(labels), 2 * labels.shape[1] + 1), blank)
    places[:, 1::2] = labels
    leads = np.zeros(places.shape, bool)
    leads[:, 2:] = places[:, 2:] != places[:, :-2]
    return places, leads


def ctc_step(logs: Array, leads: Array) -> Array:
    """The logarithms of the sums over the ways to each place, from the place, one and two before.

    Args:
        logs: the logarithms at the step before, (N, S).
        leads: whether the place two before leads to a place, (N, S).
    """
    ways = np.full((3, *logs.shape), NEVER, logs.dtype)
    ways[0], ways[1, :, 1:] = logs, logs[:, :-1]
    np.copyto(ways[2, :, 2:], logs[:, :-2], where=leads[:, 2:])
    top = ways.max(0)
    shift = np.where(np.isfinite(top), top, top.dtype.type(0))
    return np.log(np.exp(ways - shift).sum(0)) + shift


def ctc_formula(
    g: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, out: Any,
    forward: Any, blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    """The gradient of `ctc`."""
    given = (log_probs, targets, input_lengths, target_lengths, out, forward)
    return ctc_backward(g, *given, blank, zero_infinity)


@hidden_op(log_probs=ctc_formula, aux=("forward",), node="CtcLossBackward0")
def ctc(
    log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, blank: int,
    zero_infinity: bool,
) -> tuple[Array, Array]:  # fmt: skip
    """The losses (N,), and `forward` of all steps and places, (T, N, S).

    Shape:
        ``log_probs`` (T, N, C); ``targets`` (N, U), or all labels in one vector; lengths (N,).
    """
    check_ctc(log_probs, targets, input_lengths, target_lengths, blank)
    places, leads = ctc_places(targets, target_lengths, blank)
    wrong = places[(places < 0) | (places >= log_probs.shape[2])]
    message = "ctc_loss: target {} is not in label range"
    require(not wrong.size, message, *wrong[:1], error=IndexError)
    samples = np.arange(len(places))
    forward = np.take_along_axis(log_probs, places[None], 2)
    forward[0, :, 2:] = NEVER
    for before, now in itertools.pairwise(forward):
        now += ctc_step(before, leads)
    last = forward[np.maximum(input_lengths - 1, 0), samples]
    ends = last[samples, 2 * target_lengths], last[samples, 2 * target_lengths - 1]
    total = np.where(target_lengths > 0, np.logaddexp(*ends), ends[0])
    without = np.where(target_lengths > 0, NEVER, 0.0)
    forward = np.maximum(forward, np.finfo(forward.dtype).min)  # finite for `detect_anomaly`
    return -np.where(input_lengths > 0, total, without).astype(log_probs.dtype), forward


def check_ctc(
    log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, blank: int
) -> None:
    """Refuse arguments of `ctc` that do not fit."""
    if log_probs.dtype not in (SINGLE, DOUBLE):
        raise unsupported_dtype("ctc_loss_cpu", log_probs)
    require(log_probs.size, "log_probs tensor must not be empty")
    steps, count, symbols = log_probs.shape
    require(0 <= blank < symbols, "blank must be in label range")
    require(input_lengths.size == count, "input_lengths must be of size batch_size")
    require(target_lengths.size == count, "target_lengths must be of size batch_size")
    checked = " (while checking arguments for ctc_loss_allocate_outputs)"
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        message = "Expected {} to have value at least 0, but got value {}" + checked
        require(lengths.min() >= 0, message, name, lengths.min())
    message = "Expected input_lengths to have value at most {}, but got value {}" + checked
    require(input_lengths.max() <= steps, message, steps, input_lengths.max())
    message = "Expected 1 to 2 dimensions, but got {}-dimensional tensor for argument #2 'targets'"
    require(targets.ndim in (1, 2), message + checked, targets.ndim)
    wanted = [target_lengths.sum()] if targets.ndim == 1 else [count, target_lengths.max()]
    for dim, (size, n) in enumerate(zip(targets.shape, wanted, strict=True)):
        message = (
            "Expected tensor to have size {}{} at dimension {}, but got size {} for argument #2 "
        )
        fits, least = (size >= n, "at least ") if dim else (size == n, "")
        require(fits, f"{message}'targets'{checked}", least, n, dim, size)


@hidden_op(
    g=lambda g: no_derivative("_ctc_loss_backward"),
    log_probs=lambda g: no_derivative("_ctc_loss_backward"),
    node=NO_DERIVATIVE,
)
def ctc_backward(
    g: Array, log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array,
    loss: Array, forward: Array, blank: int, zero_infinity: bool,
) -> Array:  # fmt: skip
    """The gradient of `ctc`, for ``log_probs`` that are logarithms of probabilities with sum 1.

    It is that of the inputs of their `log_softmax`, as in PyTorch.
    """
    places, leads = ctc_places(targets, target_lengths, blank)
    from_end = np.zeros_like(leads)  # of places counted from the last
    from_end[:, 2:] = leads[:, :1:-1]
    emitted = np.take_along_axis(log_probs, places[None], 2)
    numbers, ends = np.arange(places.shape[1]), 2 * target_lengths[:, None]
    start = np.where((numbers <= ends) & (numbers >= ends - 1), log_probs.dtype.type(0), NEVER)
    shares, backward = np.empty_like(forward), np.full_like(start, NEVER, log_probs.dtype)
    for step in reversed(range(len(forward))):
        ahead = ctc_step(backward[:, ::-1], from_end)[:, ::-1]
        is_last = (input_lengths == step + 1)[:, None]
        reached = np.where(is_last, start, ahead)
        shares[step] = np.exp(forward[step] + reached + loss[:, None])
        backward = (reached + emitted[step]).astype(log_probs.dtype)
    out, labels = np.exp(log_probs), np.broadcast_to(places, shares.shape)
    out -= add_along(np.zeros_like(out), 2, labels, shares)
    out[np.isneginf(log_probs)] = np.nan
    out[:, np.isinf(loss)] = 0 if zero_infinity else np.nan
    out[np.arange(len(out))[:, None] >= input_lengths] = 0
    return out * g[:, None]


# Attention as one operation: softmax(query keyᵀ · scale + mask) value.
#
# The scores are kept as (..., S, L), keys first: NumPy is fastest along the second last dimension.
# They are never divided by their sums; smaller arrays are divided instead.
#
# Reference:
#     Vaswani et al., Attention is all you need, NeurIPS 2017; the backward pass as in Dao et al.,
#     FlashAttention, NeurIPS 2022, appendix B.


@lru_cache(20)
def causal_mask(keys: int, queries: int, kind: np.dtype) -> Array:
    """A mask (S, L): ``-inf`` where a key comes after the query, else 0. Do not write to it."""
    found = np.zeros((keys, queries), kind)
    found[np.tril(np.ones((keys, queries), bool), -1)] = -math.inf
    return found


def attention_formula(
    g: Any, query: Any, key: Any, value: Any, out: Any, raised: Any, inverse: Any, scale: float
) -> tuple[Any, Any, Any]:
    """The gradients of query, key and value.

    The weights are P = e/Σe. The gradient of the scores is P (dP - Σ P dP), where Σ P dP equals
    Σ g out. The greatest score, which was subtracted, is a constant here: P does not depend on it.
    """
    g_out, g_raised, g_inverse = g
    share = vanishing(out) if g_out is None else g_out * tr(inverse)
    back = sum_along(share * out, (-1,), True)
    if g_inverse is not None:  # this one and the next in the derivative of a derivative
        back = back + tr(g_inverse * inverse * inverse)
    scores = matmul(value, tr(share)) - tr(back)
    if g_raised is not None:
        scores = scores + g_raised
    scores = scores * raised
    d_query = matmul(tr(scores), key) * scale
    return d_query, matmul(scores, query) * scale, matmul(raised, share)


@hidden_op(
    **dict.fromkeys(("query", "key", "value"), attention_formula),
    joint=True,
    results=("out", "raised", "inverse"),
    visible_outputs=1,
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    wide=True,
)
def attention(
    query: Array, key: Array, value: Array, mask: Any, causal: bool, scale: float
) -> tuple[Array, Array, Array]:
    """The means of the values, weighted by attention.

    Args:
        query: (B, H, L, E).
        key: (B, H, S, E).
        value: (B, H, S, E).
        mask: an array to add to the scores, which broadcasts to (B, H, S, L), or None.
        causal: whether a query ignores all later keys.
        scale: the factor of the scores.

    Returns:
        The means (B, H, L, E), in the memory order of ``query``, zeros for a query without keys;
        the exponentials (B, H, S, L), at most 1; the reciprocals (B, H, 1, L) of their sums.
    """
    kind = query.dtype
    raised = np.matmul(key, (query * kind.type(scale)).swapaxes(-2, -1))
    keys, queries = raised.shape[-2:]
    if causal:
        raised += causal_mask(keys, queries, kind)
    if mask is not None:
        raised += mask
    greatest = np.maximum.reduce(raised, -2, keepdims=True, initial=-math.inf)
    np.maximum(greatest, np.finfo(kind).min, out=greatest)  # finite for a query without keys
    raised -= greatest
    np.exp(raised, out=raised)
    inverse = np.matmul(ones(keys, kind)[None], raised)
    inverse += inverse == 0
    np.divide(kind.type(1), inverse, out=inverse)
    out = np.empty_like(query)
    np.matmul(raised.swapaxes(-2, -1), value, out=out)
    out *= inverse.swapaxes(-2, -1)
    return out, raised, inverse


@hidden_op(
    input=lambda g, out: out * (g - sum_along(g * out, (-1,), True)),
    node="SafeSoftmaxBackward0",
    in_order=True,
    wide=True,
)
def safe_softmax(input: Array) -> Array:
    """The softmax along the last dimension; zeros where all elements are ``-inf``."""
    greatest = np.maximum.reduce(input, -1, keepdims=True, initial=-math.inf)
    out = np.exp(input - np.maximum(greatest, np.finfo(input.dtype).min))
    total = np.add.reduce(out, -1, keepdims=True)
    out /= total + (total == 0)
    return out


# GELU: ``x Φ(x)``, where Φ is the distribution function of the standard normal distribution.
#
# Φ(x) is ``(1 + tanh(x P(x²))) / 2``; the approximation uses a P of first degree.
#
# Reference:
#     Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.


ROOT_1_2, ROOT_1_2PI = math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)
EXACT = tuple([factor * ROOT_1_2 ** (2 * k + 1) for k, factor in enumerate(R)])
ROUGH = (math.sqrt(2.0 / math.pi), math.sqrt(2.0 / math.pi) * 0.044715)
BLOCK = 1 << 20  # elements; temporaries of larger arrays would leave the caches


def blockwise(function: Any, *arrays: Array) -> Array:
    """An elementwise function of arrays of one shape, computed block by block."""
    # A traced array is of another `type`; then a single call makes a shorter tape.
    plain = all(type(a) is np.ndarray and a.flags.c_contiguous for a in arrays)
    if arrays[0].size <= BLOCK or not plain:
        out: Array = function(*arrays)
        return out
    out = np.empty_like(arrays[0])
    flat, target = [a.reshape(-1) for a in arrays], out.reshape(-1)
    for start in range(0, out.size, BLOCK):
        part = slice(start, start + BLOCK)
        target[part] = function(*[a[part] for a in flat])
    return out


def normal_cdf(x: Array, approximate: str) -> Array:
    """Φ(x), approximated if ``approximate`` is "tanh"."""
    tanh = approximate == "tanh"
    if tanh or x.dtype == np.float32:
        out = rational_tanh(x, ROUGH if tanh else EXACT)
    else:
        out = erf(x * x.dtype.type(ROOT_1_2))
    out *= x.dtype.type(0.5)
    out += x.dtype.type(0.5)
    return out


def gelu_derivative(x: Array, share: Array, approximate: str) -> Array:
    """``Φ(x) + x Φ'(x)``, the derivative of GELU, where ``share`` is Φ(x)."""
    kind = x.dtype.type
    out = np.multiply(x, x, out=...)
    if approximate == "tanh":
        out *= kind(6 * ROUGH[1])
        out += kind(2 * ROUGH[0])
        out *= share
        out *= kind(1) - share
    else:
        out *= kind(-0.5)
        np.exp(out, out=out)
        out *= kind(ROOT_1_2PI)
    out *= x
    out += share
    return out


def gelu_slope_formula(g: Any, grad: Any, input: Any, approximate: str) -> Any:
    """The gradient of `gelu_backward` by its input, from the second derivative of ``x Φ(x)``."""
    x, square = input, input * input
    if approximate == "none":
        return g * grad * (exp(square * -0.5) * ROOT_1_2PI * (2.0 - square))
    share = sigmoid(x * (square * (2 * ROUGH[1]) + 2 * ROUGH[0]))
    inner = square * (6 * ROUGH[1]) + 2 * ROUGH[0]
    bent = 2.0 * inner + x * (1.0 - 2.0 * share) * inner * inner + square * (12 * ROUGH[1])
    return g * grad * (share * (1.0 - share) * bent)


@hidden_op(
    input=lambda g, input, share, approximate: gelu_backward(g, input, share, approximate),
    aux=("share",),
    node="GeluBackward0",
    wide=True,
    one_step=True,
)
def gelu_unit(input: Array, approximate: str) -> tuple[Array, Array]:
    """GELU, ``x Φ(x)``, and Φ(x).

    Args:
        approximate: "tanh" or "none".
    """
    check_kind("GeluKernelImpl", input)
    share = blockwise(lambda x: normal_cdf(x, approximate), input)
    return input * share, share


@hidden_op(
    grad=lambda g, input, share, approximate: gelu_backward(g, input, share, approximate),
    input=gelu_slope_formula,
    node="GeluBackwardBackward0",
    wide=True,
)
def gelu_backward(grad: Array, input: Array, share: Array, approximate: str) -> Array:
    """The gradient of `gelu_unit`; in half precision ``share`` is inexact, so it is recomputed."""
    if share.dtype == HALF:
        x = input.astype(SINGLE)
        return in_half(
            gelu_backward(grad.astype(SINGLE), x, normal_cdf(x, approximate), approximate)
        )
    return blockwise(lambda g, x, s: gelu_derivative(x, s, approximate) * g, grad, input, share)
