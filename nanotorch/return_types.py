"""`torch.return_types`: the types of named tuples that operations return."""

from nanotorch._core.arguments import KINDS
from nanotorch.names.lookup import on_demand

globals().update(KINDS)
__all__ = sorted(KINDS)


on_demand(__name__)
