"""For schedulers: whether an optimizer has stepped before them."""

import functools
import weakref
from typing import Any

from nanotorch.optim.optimizer import Optimizer


def watch_steps(optimizer: Optimizer) -> None:
    """Let an optimizer note in ``_opt_called`` that it steps."""
    method: Any = optimizer.step
    if hasattr(method, "_wrapped_by_lr_sched"):
        return
    own = method.__func__ if "step" in vars(optimizer) else None
    reference = weakref.ref(optimizer)  # else an optimizer would live until the next collection

    @functools.wraps(method.__func__)
    def step(*args: Any, **kwargs: Any) -> Any:
        self: Any = reference()
        self._opt_called = True
        return (own or type(self).step)(self, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]
