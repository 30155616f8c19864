"""Around training: data, TensorBoard, and memory."""

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.utils import checkpoint as checkpoint
from nanotorch.utils import data as data

_on_demand("nanotorch.utils", {"nanotorch.utils": "_pytree dlpack hooks"})
