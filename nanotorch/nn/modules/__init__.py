"""`torch.nn.modules`: the layers in the files where PyTorch has them.

They are those of `nanotorch.nn`; programs import them, and some classes that they inherit from, by
these paths.
"""

from typing import TYPE_CHECKING

from nanotorch.names.lookup import on_demand, stand_in

# What of `nanotorch.nn` stands in which file.
FILES = {
    "activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
        "LogSoftmax Mish MultiheadAttention PReLU ReLU ReLU6 SELU Sigmoid SiLU Softmax "
        "Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold"
    ),
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "Dropout Dropout1d Dropout2d Dropout3d",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    "linear": "Identity Linear",
    "loss": (
        "BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
        "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MarginRankingLoss MSELoss "
        "MultiLabelSoftMarginLoss NLLLoss PoissonNLLLoss "
        "SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss"
    ),
    "module": "Module",
    "normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": (
        "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
        "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
        "ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d"
    ),
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": (
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
        "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d MaxPool1d "
        "MaxPool2d MaxPool3d"
    ),
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": (
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
        "TransformerEncoderLayer"
    ),
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "utils": "",
}
# Further names of the files, by where they are here.
FURTHER = {
    "activation": {"nanotorch.nn.attention": "NonDynamicallyQuantizableLinear"},
    "batchnorm": {"nanotorch.nn.normalization": "_BatchNorm"},
    "conv": {"nanotorch.nn.conv": "_ConvNd _ConvTransposeNd"},
    "dropout": {"nanotorch.nn.linear": "_DropoutNd"},
    "instancenorm": {"nanotorch.nn.normalization": "_InstanceNorm"},
    "linear": {"nanotorch.nn.attention": "NonDynamicallyQuantizableLinear"},
    "loss": {"nanotorch.nn.loss": "_Loss _WeightedLoss"},
    "module": {
        "nanotorch.nn.module_call": (
            "register_module_backward_hook register_module_buffer_registration_hook "
            "register_module_forward_hook register_module_forward_pre_hook "
            "register_module_full_backward_hook register_module_full_backward_pre_hook "
            "register_module_module_registration_hook "
            "register_module_parameter_registration_hook"
        ),
        "nanotorch.nn.module": "_IncompatibleKeys",
    },
    "padding": {
        "nanotorch.nn.conv": ("_CircularPadNd _ConstantPadNd _ReflectionPadNd _ReplicationPadNd")
    },
    "pooling": {
        "nanotorch.nn.pooling": ("_AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _AvgPoolNd _MaxPoolNd")
    },
    "utils": {
        "nanotorch.nn.module": "consume_prefix_in_state_dict_if_present",
        "nanotorch.nn.layer": "_ntuple _pair _quadruple _reverse_repeat_tuple _single _triple",
    },
}

for _file, _names in FILES.items():
    _origins = {"nanotorch.nn": _names, **FURTHER.get(_file, {})}
    globals()[_file] = stand_in(f"{__name__}.{_file}", _origins)

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, {"nanotorch.nn": " ".join(FILES.values())})
