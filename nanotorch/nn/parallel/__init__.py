"""Wrappers of modules for several devices, of which there is one."""

from collections.abc import Sequence
from typing import Any

from nanotorch.nn.module import Module


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


class DistributedDataParallel(Module):
    """Always an error: nanotorch trains in one process.

    Raises:
        ValueError: PyTorch's, for a process that is none of a group.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group. (nanotorch trains in one process: use the module itself)"
        )
