"""Tensors on memory that is shared with other libraries."""

from nanotorch.ops.buffers import from_dlpack as from_dlpack
from nanotorch.ops.buffers import to_dlpack as to_dlpack
