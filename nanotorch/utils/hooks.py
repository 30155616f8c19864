"""`torch.utils.hooks`: what the registering of a hook returns."""

from nanotorch._core.graph import RemovableHandle

__all__ = ["RemovableHandle"]
