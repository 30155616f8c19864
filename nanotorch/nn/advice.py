"""What to do about an error from the call of a layer: see `nanotorch.names.advice`."""

import math
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import advised


def advise(error: Exception, module: Any, input: Any) -> None:
    """Add advice to an error from a module's `forward`, where the input or the module shows it."""
    if isinstance(getattr(module, "inplace", False), Tensor):  # `nn.ReLU(x)`
        error.__notes__ = []  # about the truth of a tensor
        advised(error, "input to a constructor", type(module).__name__)
    elif hasattr(error, "__notes__"):
        return
    elif input is None:
        advised(error, "nothing returned")
    elif isinstance(input, tuple):
        advised(error, "several results")
    elif isinstance(input, Tensor) and isinstance(getattr(module, "weight", None), Tensor):
        advise_input(error, module, input._array.shape, input.dtype)


def advise_input(error: Exception, module: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Add advice for an input whose dtype or shape does not suit the layer's weight."""
    weight = module.weight
    name = f"in_{'features' if hasattr(module, 'in_features') else 'channels'}"
    wanted = getattr(module, name, None)
    if wanted is None:
        return
    if dtype is not weight.dtype:
        advised(error, "input dtype", {"float32": "float"}.get(kind := str(weight.dtype)[6:], kind))
    elif name == "in_features" and shape and shape[-1] != wanted:
        if len(shape) > 2 and math.prod(shape[1:]) == wanted:
            advised(error, "flatten", shape[1:], wanted)
        else:
            advised(error, "in features", shape[-1], wanted, weight.shape[0])
    elif name == "in_channels" and wanted == 1 and len(shape) == weight.ndim - 1:
        advised(error, "no channels")
