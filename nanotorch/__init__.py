"""nanotorch: PyTorch's tensors, autograd and training on NumPy.

Use it as `import nanotorch as torch`.
"""

import sys as _sys
from math import e, inf, nan, pi

# Ctrl-C ends a command without a traceback, also while modules load. Until `python -m` has found
# its module, "-m" stands in the place of the program.
if "".join(_sys.argv[:1]).endswith("/nanotorch") or (
    _sys.argv[:1] == ["-m"] and "nanotorch" in [word.split(".")[0] for word in _sys.orig_argv]
):
    _sys.excepthook = lambda *error: error[0] is KeyboardInterrupt or _sys.__excepthook__(*error)

from nanotorch import autograd, ops
from nanotorch._core import tensor as _tensor
from nanotorch._core.arguments import export as _exported
from nanotorch._core.dtypes import NAMED as _NAMED
from nanotorch._core.dtypes import (
    Size,
    device,
    double,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    set_default_dtype,
    short,
    uint8,
)
from nanotorch._core.dtypes import bool_ as bool
from nanotorch._core.dtypes import float_ as float
from nanotorch._core.dtypes import int_ as int
from nanotorch._core.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from nanotorch._core.layout import get_printoptions, printoptions, set_printoptions
from nanotorch._core.tensor import Tensor, typename
from nanotorch.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_anomaly_enabled,
)
from nanotorch.compile import compile
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.ops import *  # noqa: F403 - one name per operation, each declared in its family
from nanotorch.ops import random as random
from nanotorch.ops.random import Generator, default_generator
from nanotorch.version import TorchVersion as _TorchVersion

_sys.modules["nanotorch.random"] = random  # PyTorch has a module of that name
for _name in ("random", "version"):
    _on_demand(f"nanotorch.{_name}")


def _overrides() -> object:
    from nanotorch import overrides

    return overrides


_tensor.overrides = _overrides
__version__: str = _TorchVersion("0.2.0")
newaxis = None
globals().update(_NAMED)  # also dtypes that no tensor has here, for comparisons

# Modules and functions that many programs do not need are imported on first use.
__getattr__, __dir__ = _on_demand(
    "nanotorch",
    {
        **ops.LATER,
        "nanotorch": (
            "__config__ accelerator amp backends compiler cuda distributed distributions func "
            "functional hub linalg multiprocessing nn onnx optim overrides profiler quasirandom "
            "return_types serialization special testing torch_version types utils xpu"
        ),
        "nanotorch._lowrank": "pca_lowrank svd_lowrank",
        "nanotorch.amp": (
            "GradScaler autocast autocast_decrement_nesting autocast_increment_nesting "
            "clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype "
            "is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
            "set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled "
            "set_autocast_dtype set_autocast_enabled"
        ),
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
            "get_float32_matmul_precision get_num_threads "
            "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled "
            "set_default_device set_default_tensor_type "
            "set_float32_matmul_precision set_num_threads set_warn_always "
            "use_deterministic_algorithms"
        ),
    },
    _exported,
)
