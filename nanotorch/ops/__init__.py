"""The operations, by family; importing this package declares those that most programs use."""

from typing import TYPE_CHECKING, Any

from nanotorch._core.arguments import as_method
from nanotorch._core.batch_functions import follow
from nanotorch._core.op import PUBLIC
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand
from nanotorch.ops import activation as activation
from nanotorch.ops import advanced as advanced
from nanotorch.ops import affine as affine
from nanotorch.ops import aliases as aliases
from nanotorch.ops import blending as blending
from nanotorch.ops import buffers as buffers
from nanotorch.ops import by_function as by_function
from nanotorch.ops import combining as combining
from nanotorch.ops import comparing as comparing
from nanotorch.ops import comparison as comparison
from nanotorch.ops import constructor as constructor
from nanotorch.ops import conversion as conversion
from nanotorch.ops import creation as creation
from nanotorch.ops import determinants as determinants
from nanotorch.ops import elementwise as elementwise
from nanotorch.ops import erf as erf
from nanotorch.ops import expanding as expanding
from nanotorch.ops import extremum as extremum
from nanotorch.ops import factoring as factoring
from nanotorch.ops import gamma as gamma
from nanotorch.ops import gathering as gathering
from nanotorch.ops import generator as generator
from nanotorch.ops import histograms as histograms
from nanotorch.ops import indexing as indexing
from nanotorch.ops import inplace as inplace
from nanotorch.ops import inplace_functions as inplace_functions
from nanotorch.ops import joining as joining
from nanotorch.ops import least_squares as least_squares
from nanotorch.ops import limits as limits
from nanotorch.ops import linalg as linalg
from nanotorch.ops import masking as masking
from nanotorch.ops import matrix as matrix
from nanotorch.ops import matrix_functions as matrix_functions
from nanotorch.ops import memory as memory
from nanotorch.ops import one_limit as one_limit
from nanotorch.ops import operators as operators
from nanotorch.ops import order as order
from nanotorch.ops import outs as outs
from nanotorch.ops import overwriting as overwriting
from nanotorch.ops import pairs as pairs
from nanotorch.ops import placing as placing
from nanotorch.ops import power as power
from nanotorch.ops import products as products
from nanotorch.ops import quantiles as quantiles
from nanotorch.ops import random as random
from nanotorch.ops import random_fill as random_fill
from nanotorch.ops import ranges as ranges
from nanotorch.ops import real as real
from nanotorch.ops import reducing as reducing
from nanotorch.ops import reduction as reduction
from nanotorch.ops import resizing as resizing
from nanotorch.ops import rounding as rounding
from nanotorch.ops import running as running
from nanotorch.ops import searching as searching
from nanotorch.ops import shape as shape
from nanotorch.ops import shrinking as shrinking
from nanotorch.ops import signs as signs
from nanotorch.ops import slicing as slicing
from nanotorch.ops import solving as solving
from nanotorch.ops import sorting as sorting
from nanotorch.ops import special as special
from nanotorch.ops import spellings as spellings
from nanotorch.ops import statistics as statistics
from nanotorch.ops import subscript as subscript
from nanotorch.ops import triangular_factors as triangular_factors
from nanotorch.ops import units as units
from nanotorch.ops import variance as variance

# Families whose first use imports them. None has methods, or functions of the table in `outs`.
FAMILIES = {
    "nanotorch.ops": (
        "adaptive attention averaging blocks convolution convolving distance einstein "
        "elman embedding gelu grids gru layer_norm loss lstm neighbours "
        "normalization packing padding picture_loss pooling pooling_functions recurrence "
        "resampling robust_loss scalar special_functions standard_rows "
        "standardizing taps weight_norm windows"
    )
}
# What the package has of them; the others are parts of layers.
LATER = {
    "nanotorch.ops.adaptive": "adaptive_avg_pool1d adaptive_max_pool1d",
    "nanotorch.ops.blocks": "pixel_shuffle pixel_unshuffle",
    "nanotorch.ops.convolving": (
        "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"
    ),
    "nanotorch.ops.distance": "cosine_similarity pairwise_distance pdist",
    "nanotorch.ops.einstein": "einsum",
    "nanotorch.ops.grids": "affine_grid_generator grid_sampler grid_sampler_2d grid_sampler_3d",
    "nanotorch.ops.padding": "constant_pad_nd",
    "nanotorch.ops.pooling_functions": (
        "avg_pool1d max_pool1d max_pool1d_with_indices max_pool2d max_pool3d"
    ),
}

for _name, _function in PUBLIC.items():
    if vars(Tensor).get(_name) is _function:
        setattr(Tensor, _name, follow(as_method(_function)))

outs.provide()
spellings.provide()
aliases.provide()
globals().update(PUBLIC)
__all__ = sorted(PUBLIC)

if TYPE_CHECKING:  # operations are registered by their declarations, which types cannot follow

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = on_demand("nanotorch.ops", FAMILIES | LATER)
