"""The operations, by family; importing this package declares them all."""

from nanotorch._core.op import PUBLIC
from nanotorch.ops import (
    activation,
    comparison,
    conversion,
    creation,
    elementwise,
    extremum,
    loss,
    reduction,
    rounding,
)

__all__ = sorted(PUBLIC)  # pyright: ignore

globals().update(PUBLIC)
