"""Connectionist temporal classification: the likelihood of a sequence of labels, whatever steps
they were said at.

Between the labels, and before and after them, there may be blanks: `S = 2 L + 1` places. With
`A[t, s]` for the likelihood of all ways to be at place s after the steps 0 ... t, and `B[t, s]`
for that of all ways on from there, `A B / y` is that of all ways through s at t. All are kept as
logarithms, for all samples at once.
"""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.op import Array, op


class Labels:
    """The labels of each sample, with blanks between them.

    Args:
        labels: (N, L), of which ``lengths`` count.
        lengths, steps: how many labels there are, and how many steps of the input, (N,).

    Attributes:
        places: the label at each place, (N, S).
        skips: whether a place may be reached past the blank before it, (N, S).
        last: the last place of each sample.
        alpha: the log-likelihood of the labels up to each place, once it is computed.
    """

    def __init__(self, labels: Array, lengths: Array, steps: Array, blank: int) -> None:
        n, most = labels.shape
        self.lengths, self.steps = lengths, steps
        self.places = np.full((n, 2 * most + 1), blank)
        self.places[:, 1::2] = labels
        self.skips = np.zeros(self.places.shape, bool)
        self.skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
        self.last = 2 * lengths
        beyond = np.arange(2 * most + 1) > self.last[:, None]
        self.places[beyond] = blank
        self.outside = np.where(beyond, -np.inf, 0.0)  # added to logarithms
        self.alpha: Any = None
        self.impossible: Any = False  # which samples are too short for their labels, if that is 0

    def emitted(self, log_probs: Array) -> Array:
        """The log-probability of the label at each place, (T, N, S)."""
        at = np.broadcast_to(self.places, (len(log_probs), *self.places.shape))
        taken = np.take_along_axis(log_probs, at, 2)
        return taken + self.outside.astype(log_probs.dtype)


def moved(before: Array, skips: Array, by: int) -> Array:
    """The ways into each place from itself, the one before it and, where allowed, that before.

    Args:
        by: 1, or -1 for the way back.
    """
    ways = before.copy()
    near, far = (slice(1, None), slice(2, None)) if by > 0 else (slice(None, -1), slice(None, -2))
    from_near = slice(None, -1) if by > 0 else slice(1, None)
    from_far = slice(None, -2) if by > 0 else slice(2, None)
    np.logaddexp(ways[:, near], before[:, from_near], out=ways[:, near])
    allowed = skips[:, 2:]  # of the way from a place to the one two further on
    jump = np.where(allowed, before[:, from_far], -np.inf).astype(before.dtype)
    np.logaddexp(ways[:, far], jump, out=ways[:, far])
    return ways


def forward(emitted: Array, labels: Labels) -> Array:
    """`A` of all steps."""
    alpha = np.empty_like(emitted)
    now = np.full(emitted.shape[1:], -np.inf, emitted.dtype)
    for t, out in enumerate(alpha):
        if t == 0:
            now[:, :2] = emitted[0, :, :2]
        else:
            now = moved(now, labels.skips, 1) + emitted[t]
        out[:] = now
    return alpha


def backward(emitted: Array, labels: Labels) -> Array:
    """`B` of all steps."""
    beta = np.empty_like(emitted)
    places = np.arange(emitted.shape[2])
    ends = (places == labels.last[:, None]) | (places == labels.last[:, None] - 1)
    now = np.full(emitted.shape[1:], -np.inf, emitted.dtype)
    for t in reversed(range(len(emitted))):
        last = (labels.steps == t + 1)[:, None]
        onward = moved(now, labels.skips, -1)
        now = np.where(last, np.where(ends, 0.0, -np.inf), onward).astype(now.dtype) + emitted[t]
        beta[t] = now
    return beta


def summed(alpha: Array, labels: Labels) -> Array:
    """The logarithm of the likelihood of each sample."""
    samples = np.arange(alpha.shape[1])
    ends = alpha[labels.steps - 1, samples, labels.last] if len(alpha) else 0.0
    before = np.maximum(labels.last - 1, 0)
    others = alpha[labels.steps - 1, samples, before] if len(alpha) else 0.0
    total = np.where(labels.lengths > 0, np.logaddexp(ends, others), ends)
    return np.where(labels.steps > 0, total, np.where(labels.lengths > 0, -np.inf, 0.0))


def no_derivative(*_: Any) -> Any:
    """What is asked for where PyTorch has none."""
    raise NotImplementedError("derivative for aten::_ctc_loss_backward is not implemented")


@op(
    grad=lambda g: no_derivative(g),
    log_probs=lambda g: no_derivative(g),
    method=False,
    public=False,
)
def ctc_backward(grad: Array, log_probs: Array, loss: Array, labels: Labels) -> Array:
    """The gradient of `ctc` by log-probabilities that stay such: `y - Σ A B / (y likelihood)`."""
    emitted = labels.emitted(log_probs)
    ways = labels.alpha + backward(emitted, labels)
    most = np.maximum.reduce(ways, 2, keepdims=True, initial=-np.inf)
    shifted = np.exp(ways - np.where(np.isfinite(most), most, 0))
    classes = np.arange(log_probs.shape[2])
    which = (labels.places[:, :, None] == classes).astype(log_probs.dtype)
    by_class = np.matmul(shifted.transpose(1, 0, 2), which).transpose(1, 0, 2)
    share = np.exp(np.log(by_class) + most + loss[:, None] - log_probs)
    slope = (np.exp(log_probs) - share) * grad[:, None]
    steps = np.arange(len(log_probs))[:, None] < labels.steps
    steps = steps & ~np.asarray(labels.impossible)
    return np.where(steps[:, :, None], slope, slope.dtype.type(0))


@op(
    log_probs=lambda g, log_probs, out, labels: ctc_backward(g, log_probs, out, labels),
    method=False,
    public=False,
    node="CtcLossBackward0",
)
def ctc(log_probs: Array, labels: Labels, zero_infinity: bool) -> Array:
    """Minus the log-likelihood of the labels of each sample, (N,).

    Args:
        log_probs: (T, N, C).
    """
    if log_probs.dtype.kind != "f" or log_probs.itemsize == 2:
        char = dtypes.of_array(log_probs).char
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{char}'")
    labels.alpha = forward(labels.emitted(log_probs), labels)
    loss = -summed(labels.alpha, labels)
    if zero_infinity:
        labels.impossible = np.isinf(loss)
        loss[labels.impossible] = 0
    return loss.astype(log_probs.dtype, copy=False)
