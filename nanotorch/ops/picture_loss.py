"""Negative log likelihood of every pixel, a node of its own."""

from nanotorch._core.op import OPS, Array, op
from nanotorch.ops.comparison import tied
from nanotorch.ops.loss import nll_spread

nll = OPS["nll"].kernel


@op(
    input=lambda g, input, target, weight, reduction, ignore_index: tied(
        nll_spread(g, target, weight, input.shape, reduction, ignore_index), input
    ),
    method=False,
    public=False,
    node="NllLoss2DBackward0",
    wide=True,
)
def picture_nll(
    input: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int
) -> Array:
    """`nanotorch.ops.loss.nll` of ``(N, C, H, W)``."""
    loss: Array = nll(input, target, weight, reduction, ignore_index)
    return loss
