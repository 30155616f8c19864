"""Modules: layers, containers and losses, and the functions and initializers behind them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.nn import functional as functional
from nanotorch.nn import init as init
from nanotorch.nn import utils as utils
from nanotorch.nn.activation import ELU as ELU
from nanotorch.nn.activation import GELU as GELU
from nanotorch.nn.activation import SELU as SELU
from nanotorch.nn.activation import Hardtanh as Hardtanh
from nanotorch.nn.activation import LeakyReLU as LeakyReLU
from nanotorch.nn.activation import LogSigmoid as LogSigmoid
from nanotorch.nn.activation import LogSoftmax as LogSoftmax
from nanotorch.nn.activation import ReLU as ReLU
from nanotorch.nn.activation import ReLU6 as ReLU6
from nanotorch.nn.activation import Sigmoid as Sigmoid
from nanotorch.nn.activation import SiLU as SiLU
from nanotorch.nn.activation import Softmax as Softmax
from nanotorch.nn.activation import Softmin as Softmin
from nanotorch.nn.activation import Softplus as Softplus
from nanotorch.nn.activation import Softsign as Softsign
from nanotorch.nn.activation import Tanh as Tanh
from nanotorch.nn.activation import Tanhshrink as Tanhshrink
from nanotorch.nn.container import Flatten as Flatten
from nanotorch.nn.container import ModuleDict as ModuleDict
from nanotorch.nn.container import ModuleList as ModuleList
from nanotorch.nn.container import ParameterDict as ParameterDict
from nanotorch.nn.container import ParameterList as ParameterList
from nanotorch.nn.container import Sequential as Sequential
from nanotorch.nn.container import Unflatten as Unflatten
from nanotorch.nn.linear import Dropout as Dropout
from nanotorch.nn.linear import Dropout1d as Dropout1d
from nanotorch.nn.linear import Dropout2d as Dropout2d
from nanotorch.nn.linear import Dropout3d as Dropout3d
from nanotorch.nn.linear import Identity as Identity
from nanotorch.nn.linear import Linear as Linear
from nanotorch.nn.loss import BCELoss as BCELoss
from nanotorch.nn.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from nanotorch.nn.loss import CrossEntropyLoss as CrossEntropyLoss
from nanotorch.nn.loss import HuberLoss as HuberLoss
from nanotorch.nn.loss import L1Loss as L1Loss
from nanotorch.nn.loss import MSELoss as MSELoss
from nanotorch.nn.loss import NLLLoss as NLLLoss
from nanotorch.nn.loss import SmoothL1Loss as SmoothL1Loss
from nanotorch.nn.module import Module as Module
from nanotorch.nn.parameter import Buffer as Buffer
from nanotorch.nn.parameter import Parameter as Parameter

if _TYPE_CHECKING:  # the rest is imported when it is used
    from nanotorch.nn.activation import CELU as CELU
    from nanotorch.nn.activation import GLU as GLU
    from nanotorch.nn.activation import Hardshrink as Hardshrink
    from nanotorch.nn.activation import Hardsigmoid as Hardsigmoid
    from nanotorch.nn.activation import Hardswish as Hardswish
    from nanotorch.nn.activation import Mish as Mish
    from nanotorch.nn.activation import PReLU as PReLU
    from nanotorch.nn.activation import Softmax2d as Softmax2d
    from nanotorch.nn.activation import Softshrink as Softshrink
    from nanotorch.nn.activation import Threshold as Threshold
    from nanotorch.nn.attention import MultiheadAttention as MultiheadAttention
    from nanotorch.nn.conv import CircularPad1d as CircularPad1d
    from nanotorch.nn.conv import CircularPad2d as CircularPad2d
    from nanotorch.nn.conv import CircularPad3d as CircularPad3d
    from nanotorch.nn.conv import ConstantPad1d as ConstantPad1d
    from nanotorch.nn.conv import ConstantPad2d as ConstantPad2d
    from nanotorch.nn.conv import ConstantPad3d as ConstantPad3d
    from nanotorch.nn.conv import Conv1d as Conv1d
    from nanotorch.nn.conv import Conv2d as Conv2d
    from nanotorch.nn.conv import Conv3d as Conv3d
    from nanotorch.nn.conv import ConvTranspose1d as ConvTranspose1d
    from nanotorch.nn.conv import ConvTranspose2d as ConvTranspose2d
    from nanotorch.nn.conv import ConvTranspose3d as ConvTranspose3d
    from nanotorch.nn.conv import ReflectionPad1d as ReflectionPad1d
    from nanotorch.nn.conv import ReflectionPad2d as ReflectionPad2d
    from nanotorch.nn.conv import ReflectionPad3d as ReflectionPad3d
    from nanotorch.nn.conv import ReplicationPad1d as ReplicationPad1d
    from nanotorch.nn.conv import ReplicationPad2d as ReplicationPad2d
    from nanotorch.nn.conv import ReplicationPad3d as ReplicationPad3d
    from nanotorch.nn.conv import ZeroPad1d as ZeroPad1d
    from nanotorch.nn.conv import ZeroPad2d as ZeroPad2d
    from nanotorch.nn.conv import ZeroPad3d as ZeroPad3d
    from nanotorch.nn.linear import Embedding as Embedding
    from nanotorch.nn.linear import EmbeddingBag as EmbeddingBag
    from nanotorch.nn.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
    from nanotorch.nn.loss import CosineSimilarity as CosineSimilarity
    from nanotorch.nn.loss import GaussianNLLLoss as GaussianNLLLoss
    from nanotorch.nn.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
    from nanotorch.nn.loss import KLDivLoss as KLDivLoss
    from nanotorch.nn.loss import MarginRankingLoss as MarginRankingLoss
    from nanotorch.nn.loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
    from nanotorch.nn.loss import PairwiseDistance as PairwiseDistance
    from nanotorch.nn.loss import PoissonNLLLoss as PoissonNLLLoss
    from nanotorch.nn.loss import SoftMarginLoss as SoftMarginLoss
    from nanotorch.nn.loss import TripletMarginLoss as TripletMarginLoss
    from nanotorch.nn.loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
    from nanotorch.nn.normalization import BatchNorm1d as BatchNorm1d
    from nanotorch.nn.normalization import BatchNorm2d as BatchNorm2d
    from nanotorch.nn.normalization import BatchNorm3d as BatchNorm3d
    from nanotorch.nn.normalization import GroupNorm as GroupNorm
    from nanotorch.nn.normalization import InstanceNorm1d as InstanceNorm1d
    from nanotorch.nn.normalization import InstanceNorm2d as InstanceNorm2d
    from nanotorch.nn.normalization import InstanceNorm3d as InstanceNorm3d
    from nanotorch.nn.normalization import LayerNorm as LayerNorm
    from nanotorch.nn.normalization import LocalResponseNorm as LocalResponseNorm
    from nanotorch.nn.normalization import RMSNorm as RMSNorm
    from nanotorch.nn.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
    from nanotorch.nn.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
    from nanotorch.nn.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
    from nanotorch.nn.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
    from nanotorch.nn.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
    from nanotorch.nn.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
    from nanotorch.nn.pooling import AvgPool1d as AvgPool1d
    from nanotorch.nn.pooling import AvgPool2d as AvgPool2d
    from nanotorch.nn.pooling import AvgPool3d as AvgPool3d
    from nanotorch.nn.pooling import Fold as Fold
    from nanotorch.nn.pooling import MaxPool1d as MaxPool1d
    from nanotorch.nn.pooling import MaxPool2d as MaxPool2d
    from nanotorch.nn.pooling import MaxPool3d as MaxPool3d
    from nanotorch.nn.pooling import PixelShuffle as PixelShuffle
    from nanotorch.nn.pooling import PixelUnshuffle as PixelUnshuffle
    from nanotorch.nn.pooling import Unfold as Unfold
    from nanotorch.nn.pooling import Upsample as Upsample
    from nanotorch.nn.pooling import UpsamplingBilinear2d as UpsamplingBilinear2d
    from nanotorch.nn.pooling import UpsamplingNearest2d as UpsamplingNearest2d
    from nanotorch.nn.recurrent import GRU as GRU
    from nanotorch.nn.recurrent import LSTM as LSTM
    from nanotorch.nn.recurrent import RNN as RNN
    from nanotorch.nn.recurrent import GRUCell as GRUCell
    from nanotorch.nn.recurrent import LSTMCell as LSTMCell
    from nanotorch.nn.recurrent import RNNBase as RNNBase
    from nanotorch.nn.recurrent import RNNCell as RNNCell
    from nanotorch.nn.recurrent import RNNCellBase as RNNCellBase
    from nanotorch.nn.transformer import Transformer as Transformer
    from nanotorch.nn.transformer import TransformerDecoder as TransformerDecoder
    from nanotorch.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
    from nanotorch.nn.transformer import TransformerEncoder as TransformerEncoder
    from nanotorch.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer
else:
    __getattr__, __dir__ = _on_demand(
        "nanotorch.nn",
        {
            "nanotorch.nn": "modules parallel",
            "nanotorch.nn.attention": "MultiheadAttention",
            "nanotorch.nn.normalization": (
                "BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d "
                "InstanceNorm3d LayerNorm LocalResponseNorm RMSNorm"
            ),
            "nanotorch.nn.pooling": (
                "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
                "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d Fold "
                "MaxPool1d MaxPool2d MaxPool3d PixelShuffle PixelUnshuffle Unfold Upsample "
                "UpsamplingBilinear2d UpsamplingNearest2d"
            ),
            "nanotorch.nn.conv": (
                "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d "
                "ConstantPad3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d "
                "ConvTranspose3d ReflectionPad1d ReflectionPad2d ReflectionPad3d "
                "ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d "
                "ZeroPad3d"
            ),
            "nanotorch.nn.loss": (
                "CosineEmbeddingLoss CosineSimilarity GaussianNLLLoss HingeEmbeddingLoss "
                "KLDivLoss MarginRankingLoss MultiLabelSoftMarginLoss PairwiseDistance "
                "PoissonNLLLoss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss"
            ),
            "nanotorch.nn.linear": "Embedding EmbeddingBag",
            "nanotorch.nn.activation": (
                "CELU GLU Hardshrink Hardsigmoid Hardswish Mish PReLU Softmax2d "
                "Softshrink Threshold"
            ),
            "nanotorch.nn.parallel": "DataParallel",
            "nanotorch.nn.recurrent": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
            "nanotorch.nn.transformer": (
                "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
                "TransformerEncoderLayer"
            ),
        },
    )
