"""`torch.nn.modules`: the layers in the files where PyTorch has them.

They are those of `nanotorch.nn`; programs import them, and some classes that they inherit from, by
these paths.
"""

from collections import defaultdict
from typing import TYPE_CHECKING

from nanotorch.names.lookup import on_demand, stand_in

# What stands in which file of PyTorch's, by the module of `nanotorch.nn` where it is at home.
FILES = {
    "activation": {
        "activation": (
            "ELU GELU GLU Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
            "LogSoftmax Mish PReLU ReLU ReLU6 SELU Sigmoid SiLU Softmax Softmin Softplus "
            "Softsign Tanh Tanhshrink"
        ),
        "transformer": "MultiheadAttention NonDynamicallyQuantizableLinear",
    },
    "batchnorm": {
        "normalization": "BatchNorm1d BatchNorm2d BatchNorm3d _BatchNorm",
        "synchronized": "SyncBatchNorm",
    },
    "container": {"container": "ModuleDict ModuleList ParameterDict ParameterList Sequential"},
    "conv": {
        "spatial": (
            "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d _ConvNd "
            "_ConvTransposeNd"
        )
    },
    "distance": {"loss": "CosineSimilarity PairwiseDistance"},
    "lazy": {
        "lazy": (
            "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d "
            "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d "
            "LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LazyModuleMixin "
            "UninitializedBuffer UninitializedParameter"
        )
    },
    "dropout": {"linear": "Dropout Dropout1d Dropout2d Dropout3d _DropoutNd"},
    "flatten": {"container": "Flatten Unflatten"},
    "fold": {"spatial": "Fold Unfold"},
    "instancenorm": {"normalization": "InstanceNorm1d InstanceNorm2d InstanceNorm3d _InstanceNorm"},
    "linear": {"linear": "Identity Linear", "transformer": "NonDynamicallyQuantizableLinear"},
    "loss": {
        "loss": (
            "BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
            "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MarginRankingLoss MSELoss "
            "NLLLoss PoissonNLLLoss SmoothL1Loss "
            "TripletMarginLoss _Loss _WeightedLoss"
        )
    },
    "module": {
        "module": "Module _IncompatibleKeys",
        "module_call": "register_module_forward_hook register_module_forward_pre_hook",
    },
    "normalization": {"normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm"},
    "padding": {
        "spatial": (
            "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
            "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
            "ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d _CircularPadNd _ConstantPadNd "
            "_ReflectionPadNd _ReplicationPadNd"
        )
    },
    "pixelshuffle": {"spatial": "PixelShuffle PixelUnshuffle"},
    "pooling": {
        "spatial": (
            "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
            "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d MaxPool1d "
            "MaxPool2d MaxPool3d _AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _AvgPoolNd _MaxPoolNd"
        )
    },
    "rnn": {"recurrent": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase"},
    "sparse": {"linear": "Embedding EmbeddingBag"},
    "transformer": {
        "transformer": (
            "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
            "TransformerEncoderLayer"
        )
    },
    "upsampling": {"spatial": "Upsample UpsamplingBilinear2d UpsamplingNearest2d"},
    "utils": {
        "layer": "_ntuple _pair _quadruple _reverse_repeat_tuple _single _triple",
        "module": "consume_prefix_in_state_dict_if_present",
    },
}
NO_LAYERS = ("LazyModuleMixin", "NonDynamicallyQuantizableLinear")
# The names of all layers, by the module that defines them.
LAYERS: dict[str, str] = defaultdict(str)

for _file, _homes in FILES.items():
    _origins = {f"nanotorch.nn.{_home}": _names for _home, _names in _homes.items()}
    globals()[_file] = stand_in(f"{__name__}.{_file}", _origins)
    for _origin, _names in _origins.items():
        for _name in _names.split():
            if _name[0].isupper() and _name not in NO_LAYERS:
                LAYERS[_origin] += f" {_name}"

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, LAYERS)
