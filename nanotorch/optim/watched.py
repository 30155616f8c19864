"""A step of an optimizer in anomaly mode, with a look at what becomes of the parameters."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nanotorch._core.nonfinite import level_of
from nanotorch._core.watching import look

if TYPE_CHECKING:
    from nanotorch.optim.optimizer import Optimizer


def watched_step(
    step: Callable[..., Any], optimizer: "Optimizer", *args: Any, **kwargs: Any
) -> Any:
    """Call ``step``; a parameter that it makes less finite than its gradient was is noted."""
    before = [(p, level_of(p)) for group in optimizer.param_groups for p in group["params"]]
    result = step(optimizer, *args, **kwargs)
    for position, (p, level) in enumerate(before):
        cause = max(level, level_of(p._grad))
        if level_of(p) > cause:
            inputs = [("parameter", position), ("its gradient", p._grad)]
            look(f"{type(optimizer).__name__}.step", p, inputs, cause, sys._getframe(1))
    return result
