"""Wrappers of modules for several devices, of which there is one, and for several processes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.nn.module import Module

if _TYPE_CHECKING:
    from nanotorch.nn.parallel.distributed import (
        DistributedDataParallel as DistributedDataParallel,
    )
else:
    __getattr__, __dir__ = _on_demand(
        "nanotorch.nn.parallel",
        {
            "nanotorch.nn.parallel": "distributed",
            "nanotorch.nn.parallel.distributed": "DistributedDataParallel",
        },
    )


class DataParallel(Module):
    """Calls its module, as PyTorch's does where there are no GPUs.

    Args:
        module: what is called; the names of its state begin with ``module.``.
        device_ids, output_device, dim: accepted for PyTorch's sake.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None,
        dim: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module makes of the arguments."""
        return self.module(*inputs, **kwargs)
