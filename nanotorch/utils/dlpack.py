"""Tensors on memory that is shared with other libraries."""

from nanotorch.ops.memory import from_dlpack as from_dlpack
from nanotorch.ops.memory import to_dlpack as to_dlpack
