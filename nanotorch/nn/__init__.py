"""Modules: layers, containers and losses; their functions and initializers."""

from collections import defaultdict as _defaultdict
from re import sub as _sub
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in
from nanotorch.nn import functional as functional
from nanotorch.nn import init as init
from nanotorch.nn import utils as utils
from nanotorch.nn.module import Module as Module
from nanotorch.nn.parameter import Buffer as Buffer
from nanotorch.nn.parameter import Parameter as Parameter

# The names in each file of `torch.nn.modules`, by the module here that defines them; `#d` means 1d,
# 2d and 3d.
_FILES = {
    "activation": {
        "activation": (
            "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
            "LogSoftmax Mish PReLU ReLU ReLU6 RReLU SELU Sigmoid SiLU Softmax Softmax2d Softmin "
            "Softplus Softshrink Softsign Tanh Tanhshrink Threshold"
        ),
        "transformer": "MultiheadAttention NonDynamicallyQuantizableLinear",
    },
    "batchnorm": {"normalization": "BatchNorm#d _BatchNorm", "parallel": "SyncBatchNorm"},
    "container": {"container": "ModuleDict ModuleList ParameterDict ParameterList Sequential"},
    "conv": {"spatial": "Conv#d ConvTranspose#d _ConvNd _ConvTransposeNd"},
    "distance": {"loss": "CosineSimilarity PairwiseDistance"},
    "lazy": {"lazy": "LazyModuleMixin UninitializedBuffer UninitializedParameter"},
    "dropout": {"linear": "AlphaDropout Dropout Dropout#d FeatureAlphaDropout _DropoutNd"},
    "flatten": {"container": "Flatten Unflatten"},
    "fold": {"spatial": "Fold Unfold"},
    "instancenorm": {"normalization": "InstanceNorm#d _InstanceNorm"},
    "linear": {
        "linear": "Bilinear Identity Linear",
        "transformer": "NonDynamicallyQuantizableLinear",
    },
    "loss": {
        "loss": (
            "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss "
            "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MarginRankingLoss "
            "MSELoss NLLLoss PoissonNLLLoss SmoothL1Loss TripletMarginLoss _Loss _WeightedLoss"
        ),
    },
    "module": {
        "module": "Module _EXTRA_STATE_KEY_SUFFIX _IncompatibleKeys",
        "module_call": "register_module_forward_hook register_module_forward_pre_hook",
    },
    "normalization": {"normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm"},
    "padding": {
        "spatial": (
            "CircularPad#d ConstantPad#d ReflectionPad#d ReplicationPad#d ZeroPad#d "
            "_CircularPadNd _ConstantPadNd _ReflectionPadNd _ReplicationPadNd"
        ),
    },
    "pixelshuffle": {"spatial": "PixelShuffle PixelUnshuffle"},
    "pooling": {
        "spatial": (
            "AdaptiveAvgPool#d AdaptiveMaxPool#d AvgPool#d MaxPool#d _AdaptiveAvgPoolNd "
            "_AdaptiveMaxPoolNd _AvgPoolNd _MaxPoolNd"
        ),
    },
    "rnn": {"recurrent": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase"},
    "sparse": {"linear": "Embedding EmbeddingBag"},
    "transformer": {
        "transformer": (
            "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
            "TransformerEncoderLayer"
        ),
    },
    "upsampling": {"spatial": "Upsample UpsamplingBilinear2d UpsamplingNearest2d"},
    "utils": {
        "layer": "_ntuple _pair _quadruple _reverse_repeat_tuple _single _triple",
        "module": "consume_prefix_in_state_dict_if_present",
    },
}
_LAZY = ("BatchNorm", "Conv", "ConvTranspose", "InstanceNorm", "Linear")  # layers with a lazy form
_NO_LAYERS = ("LazyModuleMixin", "NonDynamicallyQuantizableLinear")
_DIMS = (r"(\w+)#d", r"\g<1>1d \g<1>2d \g<1>3d")
# The names of all layers, by the module that defines them.
_LAYERS: dict[str, str] = _defaultdict(str, {"nanotorch.nn.parallel": "DataParallel"})
modules: _Any = _stand_in("nanotorch.nn.modules", {})
for _file, _homes in _FILES.items():
    _origins = {f"nanotorch.nn.{_home}": _sub(*_DIMS, _names) for _home, _names in _homes.items()}
    _forms = [n for n in " ".join(_origins.values()).split() if n.rstrip("123d") in _LAZY]
    if _forms:
        _origins["nanotorch.nn.lazy"] = " ".join(f"Lazy{_name}" for _name in _forms)
    setattr(modules, _file, _stand_in(f"nanotorch.nn.modules.{_file}", _origins))
    for _origin, _names in _origins.items():
        for _name in _names.split():
            if _name[0].isupper() and _name not in _NO_LAYERS:
                _LAYERS[_origin] += f" {_name}"
# Former modules of some names: files that hold whole objects refer to them.
for _file, _home, _names in (
    ("synchronized", "parallel", "SyncBatchNorm"),
    ("functional.linear", "functional", "embedding embedding_bag one_hot"),
    ("functional.attention", "functional", "scaled_dot_product_attention"),
):
    _stand_in(f"nanotorch.nn.{_file}", {f"nanotorch.nn.{_home}": _names})

if _TYPE_CHECKING:
    from nanotorch.nn import parallel as parallel
    from nanotorch.nn.activation import *
    from nanotorch.nn.container import *
    from nanotorch.nn.lazy import *
    from nanotorch.nn.linear import *
    from nanotorch.nn.loss import *
    from nanotorch.nn.normalization import *
    from nanotorch.nn.parallel import DataParallel as DataParallel
    from nanotorch.nn.parallel import SyncBatchNorm as SyncBatchNorm
    from nanotorch.nn.recurrent import *
    from nanotorch.nn.spatial import *
    from nanotorch.nn.transformer import *
else:  # a layer is imported on its first use
    modules.__getattr__, modules.__dir__ = _on_demand(modules.__name__, _LAYERS)
    attention = _stand_in("nanotorch.nn.attention", {})  # a module of PyTorch
    __getattr__, __dir__ = _on_demand("nanotorch.nn", {"nanotorch.nn": "parallel", **_LAYERS})
