"""Tools for training: data loading, TensorBoard and checkpoints that save memory."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.utils import checkpoint as checkpoint
from nanotorch.utils import data as data

if _TYPE_CHECKING:
    from nanotorch.utils import dlpack as dlpack
    from nanotorch.utils import hooks as hooks

_on_demand("nanotorch.utils", {"nanotorch.utils": "_pytree dlpack hooks"})
