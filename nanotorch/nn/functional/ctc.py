"""The loss of sequences of labels without their times."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core.batch_functions import separately, under_vmap
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.functional.reduction import checked_reduction
from nanotorch.nn.functional.reduction import reduce as reduced
from nanotorch.ops.ctc import Labels, ctc

Lengths = Tensor | Sequence[int]
WHILE = "(while checking arguments for ctc_loss_allocate_outputs)"


@under_vmap(separately)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: minus the log-likelihood of labels, at any times.

    Args:
        log_probs: log-probabilities of the classes at each step; as in PyTorch, the gradient is
            that by numbers before `log_softmax`.
        targets: class numbers, padded to (N, S), or one behind the other.
        input_lengths, target_lengths: how many steps and labels each sample has.
        blank: the class of no label. Default: 0.
        reduction: "mean" divides by the numbers of labels first.
        zero_infinity: 0 in place of infinite losses, of inputs too short for their labels.
            Default: False.

    Shape:
        ``log_probs`` (T, N, C), lengths (N,); or (T, C) and numbers.

    Raises:
        RuntimeError: for lengths that do not fit, or a ``blank`` that is no class.
        ValueError: for an unknown ``reduction``.

    Reference:
        Graves et al., Connectionist Temporal Classification, ICML 2006, section 4.
    """
    reduction = checked_reduction(reduction)
    single = log_probs.dim() == 2
    probs = log_probs.unsqueeze(1) if single else log_probs
    steps_most, samples, classes = probs._array.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    steps = lengths_of("input_lengths", input_lengths, samples)
    counts = lengths_of("target_lengths", target_lengths, samples)
    if (steps > steps_most).any():
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps_most}, but got value "
            f"{steps[steps > steps_most][0]} {WHILE}"
        )
    rows = padded(targets._array.astype(np.int64), counts, single)
    labels = Labels(rows, counts, steps, blank)
    loss: Tensor = ctc(probs, labels, zero_infinity)
    if zero_infinity:
        loss = ops.where(wrap(np.asarray(labels.impossible)), 0.0, loss)
    if single:
        loss = loss.squeeze(0)
    if reduction == "mean":
        shares = np.maximum(counts, 1).astype(loss._array.dtype).reshape(loss._array.shape)
        return (loss / wrap(shares)).mean()
    return reduced(loss, reduction)


def lengths_of(name: str, lengths: Any, samples: int) -> np.ndarray:
    """One number for each sample."""
    values = lengths._array if isinstance(lengths, Tensor) else np.array(lengths)
    if values.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    values = values.reshape(-1).astype(np.int64)
    if len(values) != samples:
        raise RuntimeError(f"{name} must be of size batch_size")
    if (values < 0).any():
        wrong = values[values < 0][0]
        raise RuntimeError(
            f"Expected {name} to have value at least 0, but got value {wrong} {WHILE}"
        )
    return values


def padded(targets: np.ndarray, counts: np.ndarray, single: bool) -> np.ndarray:
    """The labels as rows (N, L) of the greatest length."""
    most = int(counts.max(initial=0))
    if targets.ndim == 1 and not single:
        if len(targets) != counts.sum():
            raise RuntimeError(
                f"Expected tensor to have size {counts.sum()} at dimension 0, but got size "
                f"{len(targets)} for argument #2 'targets' {WHILE}"
            )
        rows = np.zeros((len(counts), most), np.int64)
        rows[np.arange(most) < counts[:, None]] = targets
        return rows
    rows = targets.reshape(1, -1) if targets.ndim == 1 else targets
    if len(rows) != len(counts):
        raise RuntimeError(
            f"Expected tensor to have size {len(counts)} at dimension 0, but got size {len(rows)} "
            f"for argument #2 'targets' {WHILE}"
        )
    if rows.shape[1] < most:
        raise RuntimeError(
            f"Expected tensor to have size at least {most} at dimension 1, but got size "
            f"{rows.shape[1]} for argument #2 'targets' {WHILE}"
        )
    return rows[:, :most]
