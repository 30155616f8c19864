"""nanotorch: PyTorch's tensors, autograd and training on NumPy.

Use it as `import nanotorch as torch`.
"""

import sys as _sys
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from nanotorch import autograd as autograd
from nanotorch import ops as ops
from nanotorch._core.absent import *  # noqa: F403 - dtypes to compare with
from nanotorch._core.arguments import exported as _exported
from nanotorch._core.dtypes import Size as Size
from nanotorch._core.dtypes import bool_ as bool
from nanotorch._core.dtypes import device as device
from nanotorch._core.dtypes import double as double
from nanotorch._core.dtypes import dtype as dtype
from nanotorch._core.dtypes import finfo as finfo
from nanotorch._core.dtypes import float16 as float16
from nanotorch._core.dtypes import float32 as float32
from nanotorch._core.dtypes import float64 as float64
from nanotorch._core.dtypes import float_ as float
from nanotorch._core.dtypes import get_default_dtype as get_default_dtype
from nanotorch._core.dtypes import half as half
from nanotorch._core.dtypes import iinfo as iinfo
from nanotorch._core.dtypes import int8 as int8
from nanotorch._core.dtypes import int16 as int16
from nanotorch._core.dtypes import int32 as int32
from nanotorch._core.dtypes import int64 as int64
from nanotorch._core.dtypes import int_ as int
from nanotorch._core.dtypes import long as long
from nanotorch._core.dtypes import promote_types as promote_types
from nanotorch._core.dtypes import set_default_dtype as set_default_dtype
from nanotorch._core.dtypes import short as short
from nanotorch._core.dtypes import uint8 as uint8
from nanotorch._core.grad_mode import enable_grad as enable_grad
from nanotorch._core.grad_mode import inference_mode as inference_mode
from nanotorch._core.grad_mode import is_grad_enabled as is_grad_enabled
from nanotorch._core.grad_mode import is_inference as is_inference
from nanotorch._core.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from nanotorch._core.grad_mode import no_grad as no_grad
from nanotorch._core.grad_mode import set_grad_enabled as set_grad_enabled
from nanotorch._core.layout import get_printoptions as get_printoptions
from nanotorch._core.layout import printoptions as printoptions
from nanotorch._core.layout import set_printoptions as set_printoptions
from nanotorch._core.tensor import Tensor as Tensor
from nanotorch._core.tensor import typename as typename
from nanotorch._core.threads import get_num_threads as get_num_threads
from nanotorch._core.threads import set_num_threads as set_num_threads
from nanotorch.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
)
from nanotorch.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from nanotorch.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from nanotorch.compile import compile as compile
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.ops import *  # noqa: F403 - one name per operation, each declared in its family
from nanotorch.ops import generator as random
from nanotorch.ops.generator import Generator as Generator
from nanotorch.ops.generator import default_generator as default_generator
from nanotorch.torch_version import TorchVersion as _TorchVersion

_sys.modules["nanotorch.random"] = random  # PyTorch has a module of that name

__version__: str = _TorchVersion("0.1.0")
newaxis = None

if _TYPE_CHECKING:
    from nanotorch import accelerator as accelerator
    from nanotorch import backends as backends
    from nanotorch import cuda as cuda
    from nanotorch import linalg as linalg
    from nanotorch import nn as nn
    from nanotorch import optim as optim
    from nanotorch import return_types as return_types
    from nanotorch import utils as utils

    # Operations are registered by their declarations, which types cannot follow.
    def __getattr__(name: str) -> _Any: ...
else:  # what many programs do without is imported when it is used
    __getattr__, __dir__ = _on_demand(
        "nanotorch",
        {
            **ops.LATER,
            "nanotorch": (
                "accelerator amp backends compiler cuda distributed distributions func functional "
                "linalg multiprocessing nn onnx optim return_types serialization special "
                "testing types utils version xpu"
            ),
            "nanotorch.amp": "GradScaler autocast",
            "nanotorch.amp.autocast_mode": "is_autocast_enabled",
            "nanotorch.func": "vmap",
            "nanotorch.nn.functional": "rms_norm",
            "nanotorch.ops.creation": (
                "BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor "
                "IntTensor LongTensor ShortTensor"
            ),
            "nanotorch.program": "as_torch",
            "nanotorch.serialization": "load save",
            "nanotorch.settings": (
                "are_deterministic_algorithms_enabled get_default_device "
                "get_float32_matmul_precision "
                "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled "
                "set_default_device set_default_tensor_type "
                "set_float32_matmul_precision set_warn_always "
                "use_deterministic_algorithms"
            ),
        },
        _exported,
    )
