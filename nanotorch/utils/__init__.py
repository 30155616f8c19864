"""Around training: data, TensorBoard, and memory."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.utils import checkpoint as checkpoint
from nanotorch.utils import data as data

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand(
        "nanotorch.utils", {"nanotorch.utils": "_pytree dlpack hooks"}
    )
