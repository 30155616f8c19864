"""`torch.return_types`: the types of named tuples that operations return."""

from nanotorch._core.arguments import KINDS

globals().update(KINDS)
__all__ = sorted(KINDS)
