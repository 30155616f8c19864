"""The operations, by family; importing this package declares those that most programs use."""

from typing import TYPE_CHECKING, Any

from nanotorch._core.arguments import as_method
from nanotorch._core.batched import follow
from nanotorch._core.op import PUBLIC
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand
from nanotorch.ops import activation as activation
from nanotorch.ops import binary as binary
from nanotorch.ops import creation as creation
from nanotorch.ops import elementwise as elementwise
from nanotorch.ops import factoring as factoring
from nanotorch.ops import gathering as gathering
from nanotorch.ops import indexing as indexing
from nanotorch.ops import inplace as inplace
from nanotorch.ops import joining as joining
from nanotorch.ops import linalg as linalg
from nanotorch.ops import matrix as matrix
from nanotorch.ops import memory as memory
from nanotorch.ops import products as products
from nanotorch.ops import random as random
from nanotorch.ops import reduction as reduction
from nanotorch.ops import shape as shape
from nanotorch.ops import sorting as sorting
from nanotorch.ops import statistics as statistics
from nanotorch.ops import tables as tables

# Families whose first use imports them. None has methods, or functions of the table in `tables`.
FAMILIES = {"nanotorch.ops": ("convolution elementwise fused resampling sequences")}
# What the package has of them; the others are parts of layers.
LATER = {
    "nanotorch.ops.resampling": (
        "adaptive_avg_pool1d adaptive_max_pool1d affine_grid_generator avg_pool1d"
    ),
    "nanotorch.ops.convolution": (
        "constant_pad_nd conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
        "pixel_shuffle pixel_unshuffle"
    ),
}

for _name, _function in PUBLIC.items():
    if vars(Tensor).get(_name) is _function:
        setattr(Tensor, _name, follow(as_method(_function)))

tables.provide_outs()
tables.provide_spellings()
tables.provide_aliases()
globals().update(PUBLIC)
__all__ = sorted(PUBLIC)

if TYPE_CHECKING:  # operations are registered by their declarations, which types cannot follow

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = on_demand("nanotorch.ops", FAMILIES | LATER)
