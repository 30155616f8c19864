"""Modules without initial values."""

import inspect
from typing import Any

from nanotorch._core.device import require_cpu
from nanotorch.nn.module import Module
from nanotorch.ops.generator import fork_rng


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters and buffers have arbitrary values; no random number is drawn.

    Args:
        module_cls: takes ``args`` and ``kwargs``, and a ``device``.

    Raises:
        RuntimeError: if it is no module class, or takes no ``device``.
    """
    if not isinstance(module_cls, type) or not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    require_cpu(kwargs.get("device"))
    with fork_rng():
        module = module_cls(*args, **kwargs)
    return module.to_empty(device="cpu")
