"""Means over neighbouring channels."""

from nanotorch._core.batch_rules import merged
from nanotorch._core.op import Array, op


@op(
    input=lambda g, size, before: mean_of_neighbours(g, size, size - 1 - before),
    method=False,
    public=False,
    node="AvgPool3DBackward0",
    batch=merged,
    wide=True,
)
def mean_of_neighbours(input: Array, size: int, before: int) -> Array:
    """For each channel of (N, C, ...) the mean over ``size`` channels, ``before`` of them before
    it; what is missing at the ends counts as 0.
    """
    count = input.shape[1]
    terms = input / input.dtype.type(size)
    out = terms.copy("K")
    for shift in range(-before, size - before):
        n = count - abs(shift)
        if shift == 0 or n <= 0:
            continue
        to, of = (
            (slice(-shift, None), slice(0, n)) if shift < 0 else (slice(0, n), slice(shift, None))
        )
        out[:, to] += terms[:, of]
    return out
