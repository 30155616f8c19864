"""`torch.functional`: functions of `nanotorch` that old programs import from this module."""

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.ops import atleast_1d as atleast_1d
from nanotorch.ops import atleast_2d as atleast_2d
from nanotorch.ops import atleast_3d as atleast_3d
from nanotorch.ops import block_diag as block_diag
from nanotorch.ops import broadcast_shapes as broadcast_shapes
from nanotorch.ops import broadcast_tensors as broadcast_tensors
from nanotorch.ops import cartesian_prod as cartesian_prod
from nanotorch.ops import cdist as cdist
from nanotorch.ops import einsum as einsum
from nanotorch.ops import meshgrid as meshgrid
from nanotorch.ops import norm as norm
from nanotorch.ops import split as split
from nanotorch.ops import tensordot as tensordot
from nanotorch.ops import unique as unique
from nanotorch.ops import unique_consecutive as unique_consecutive

_on_demand(__name__, {"nanotorch._lowrank": "pca_lowrank svd_lowrank"})
