"""The layers and losses as functions."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch._core.arguments import export as _exported
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.nn.functional.activation import *
from nanotorch.nn.functional.loss import *
from nanotorch.nn.functional.spatial import *
from nanotorch.ops.matrix import linear as linear
from nanotorch.ops.products import bilinear as bilinear
from nanotorch.ops.products import cosine_similarity as cosine_similarity
from nanotorch.ops.products import pairwise_distance as pairwise_distance

if not _TYPE_CHECKING:  # type checkers see the names above only
    __getattr__, __dir__ = _on_demand("nanotorch.nn.functional")

# PyTorch implements these outside Python; their arguments have further names.
# fmt: off
for _name in (
    "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "cosine_similarity", "gelu", "linear", "logsigmoid", "one_hot",
    "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_",
    "selu_", "softplus", "elu_", "hardtanh_",
    "leaky_relu_", "bilinear", "celu_", "hardshrink", "rrelu_", "softshrink", "threshold_",
):
    globals()[_name] = _exported(__name__, _name, globals()[_name])
# fmt: on
