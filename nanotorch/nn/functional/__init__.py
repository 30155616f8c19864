"""The layers and losses as functions."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch._core.arguments import exported as _exported
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.nn.functional.activation import celu as celu
from nanotorch.nn.functional.activation import celu_ as celu_
from nanotorch.nn.functional.activation import dropout as dropout
from nanotorch.nn.functional.activation import dropout1d as dropout1d
from nanotorch.nn.functional.activation import dropout2d as dropout2d
from nanotorch.nn.functional.activation import dropout3d as dropout3d
from nanotorch.nn.functional.activation import elu as elu
from nanotorch.nn.functional.activation import elu_ as elu_
from nanotorch.nn.functional.activation import gelu as gelu
from nanotorch.nn.functional.activation import glu as glu
from nanotorch.nn.functional.activation import gumbel_softmax as gumbel_softmax
from nanotorch.nn.functional.activation import hardshrink as hardshrink
from nanotorch.nn.functional.activation import hardsigmoid as hardsigmoid
from nanotorch.nn.functional.activation import hardswish as hardswish
from nanotorch.nn.functional.activation import hardtanh as hardtanh
from nanotorch.nn.functional.activation import hardtanh_ as hardtanh_
from nanotorch.nn.functional.activation import leaky_relu as leaky_relu
from nanotorch.nn.functional.activation import leaky_relu_ as leaky_relu_
from nanotorch.nn.functional.activation import log_softmax as log_softmax
from nanotorch.nn.functional.activation import logsigmoid as logsigmoid
from nanotorch.nn.functional.activation import mish as mish
from nanotorch.nn.functional.activation import prelu as prelu
from nanotorch.nn.functional.activation import relu as relu
from nanotorch.nn.functional.activation import relu6 as relu6
from nanotorch.nn.functional.activation import relu_ as relu_
from nanotorch.nn.functional.activation import selu as selu
from nanotorch.nn.functional.activation import selu_ as selu_
from nanotorch.nn.functional.activation import sigmoid as sigmoid
from nanotorch.nn.functional.activation import silu as silu
from nanotorch.nn.functional.activation import softmax as softmax
from nanotorch.nn.functional.activation import softmin as softmin
from nanotorch.nn.functional.activation import softplus as softplus
from nanotorch.nn.functional.activation import softshrink as softshrink
from nanotorch.nn.functional.activation import softsign as softsign
from nanotorch.nn.functional.activation import tanh as tanh
from nanotorch.nn.functional.activation import tanhshrink as tanhshrink
from nanotorch.nn.functional.activation import threshold as threshold
from nanotorch.nn.functional.activation import threshold_ as threshold_
from nanotorch.nn.functional.attention import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from nanotorch.nn.functional.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from nanotorch.nn.functional.linear import embedding as embedding
from nanotorch.nn.functional.linear import embedding_bag as embedding_bag
from nanotorch.nn.functional.linear import one_hot as one_hot
from nanotorch.nn.functional.loss import binary_cross_entropy as binary_cross_entropy
from nanotorch.nn.functional.loss import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from nanotorch.nn.functional.loss import cosine_embedding_loss as cosine_embedding_loss
from nanotorch.nn.functional.loss import cross_entropy as cross_entropy
from nanotorch.nn.functional.loss import gaussian_nll_loss as gaussian_nll_loss
from nanotorch.nn.functional.loss import hinge_embedding_loss as hinge_embedding_loss
from nanotorch.nn.functional.loss import huber_loss as huber_loss
from nanotorch.nn.functional.loss import kl_div as kl_div
from nanotorch.nn.functional.loss import l1_loss as l1_loss
from nanotorch.nn.functional.loss import margin_ranking_loss as margin_ranking_loss
from nanotorch.nn.functional.loss import mse_loss as mse_loss
from nanotorch.nn.functional.loss import (
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
)
from nanotorch.nn.functional.loss import nll_loss as nll_loss
from nanotorch.nn.functional.loss import poisson_nll_loss as poisson_nll_loss
from nanotorch.nn.functional.loss import smooth_l1_loss as smooth_l1_loss
from nanotorch.nn.functional.loss import soft_margin_loss as soft_margin_loss
from nanotorch.nn.functional.loss import triplet_margin_loss as triplet_margin_loss
from nanotorch.nn.functional.loss import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from nanotorch.nn.functional.normalization import batch_norm as batch_norm
from nanotorch.nn.functional.normalization import group_norm as group_norm
from nanotorch.nn.functional.normalization import instance_norm as instance_norm
from nanotorch.nn.functional.normalization import layer_norm as layer_norm
from nanotorch.nn.functional.normalization import local_response_norm as local_response_norm
from nanotorch.nn.functional.normalization import normalize as normalize
from nanotorch.nn.functional.normalization import rms_norm as rms_norm
from nanotorch.nn.functional.spatial import adaptive_avg_pool1d as adaptive_avg_pool1d
from nanotorch.nn.functional.spatial import adaptive_avg_pool2d as adaptive_avg_pool2d
from nanotorch.nn.functional.spatial import adaptive_avg_pool3d as adaptive_avg_pool3d
from nanotorch.nn.functional.spatial import adaptive_max_pool1d as adaptive_max_pool1d
from nanotorch.nn.functional.spatial import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
)
from nanotorch.nn.functional.spatial import adaptive_max_pool2d as adaptive_max_pool2d
from nanotorch.nn.functional.spatial import (
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
)
from nanotorch.nn.functional.spatial import adaptive_max_pool3d as adaptive_max_pool3d
from nanotorch.nn.functional.spatial import (
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
)
from nanotorch.nn.functional.spatial import avg_pool1d as avg_pool1d
from nanotorch.nn.functional.spatial import avg_pool2d as avg_pool2d
from nanotorch.nn.functional.spatial import avg_pool3d as avg_pool3d
from nanotorch.nn.functional.spatial import conv1d as conv1d
from nanotorch.nn.functional.spatial import conv2d as conv2d
from nanotorch.nn.functional.spatial import conv3d as conv3d
from nanotorch.nn.functional.spatial import conv_transpose1d as conv_transpose1d
from nanotorch.nn.functional.spatial import conv_transpose2d as conv_transpose2d
from nanotorch.nn.functional.spatial import conv_transpose3d as conv_transpose3d
from nanotorch.nn.functional.spatial import fold as fold
from nanotorch.nn.functional.spatial import interpolate as interpolate
from nanotorch.nn.functional.spatial import max_pool1d as max_pool1d
from nanotorch.nn.functional.spatial import max_pool1d_with_indices as max_pool1d_with_indices
from nanotorch.nn.functional.spatial import max_pool2d as max_pool2d
from nanotorch.nn.functional.spatial import max_pool2d_with_indices as max_pool2d_with_indices
from nanotorch.nn.functional.spatial import max_pool3d as max_pool3d
from nanotorch.nn.functional.spatial import max_pool3d_with_indices as max_pool3d_with_indices
from nanotorch.nn.functional.spatial import pad as pad
from nanotorch.nn.functional.spatial import pixel_shuffle as pixel_shuffle
from nanotorch.nn.functional.spatial import pixel_unshuffle as pixel_unshuffle
from nanotorch.nn.functional.spatial import unfold as unfold
from nanotorch.nn.functional.spatial import upsample as upsample
from nanotorch.nn.functional.spatial import upsample_bilinear as upsample_bilinear
from nanotorch.nn.functional.spatial import upsample_nearest as upsample_nearest
from nanotorch.ops.distance import cosine_similarity as cosine_similarity
from nanotorch.ops.distance import pairwise_distance as pairwise_distance
from nanotorch.ops.distance import pdist as pdist
from nanotorch.ops.matrix import linear as linear

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand("nanotorch.nn.functional")
from nanotorch.nn.functional.spatial import affine_grid as affine_grid
from nanotorch.nn.functional.spatial import grid_sample as grid_sample

# Those that PyTorch has not written in Python, whose arguments have further names.
# fmt: off
for _name in (
    "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "cosine_similarity", "gelu", "hardshrink", "linear", "logsigmoid", "one_hot",
    "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_",
    "selu_", "softplus", "softshrink", "threshold_", "celu_", "elu_", "hardtanh_",
    "leaky_relu_",
):
    globals()[_name] = _exported(__name__, _name, globals()[_name])
# fmt: on
