"""What to do about an error from the call of a layer: see `nanotorch.names.advice`."""

import math
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import advised


def advise(error: Exception, module: Any, input: Any) -> None:
    """Add advice to an error from the call of a layer, where the input or the layer shows it."""
    if isinstance(getattr(module, "inplace", False), Tensor):  # `nn.ReLU(x)`
        advised(error, "input to a constructor", type(module).__name__)
    elif hasattr(error, "__notes__"):  # the function that raised the error knows more
        return
    elif isinstance(error, TypeError):
        if input is None:
            advised(error, "nothing returned")
        elif type(input) is tuple:
            advised(error, "several results")
    elif isinstance(input, Tensor) and isinstance(getattr(module, "weight", None), Tensor):
        advise_input(error, module, input._array.shape, input.dtype)


def advise_input(error: Exception, module: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Add advice for an input whose dtype or shape does not suit a linear layer or convolution."""
    weight, features = module.weight, getattr(module, "in_features", None)
    channels = getattr(module, "in_channels", None)
    if features is channels is None:
        return
    if dtype is not weight.dtype:
        advised(error, "input dtype", weight.dtype.char.lower())
    elif features and shape and shape[-1] != features:
        if len(shape) > 2 and math.prod(shape[1:]) == features:
            advised(error, "flatten", shape[1:], features)
        else:
            advised(error, "in features", shape[-1], features, weight.shape[0])
    elif channels == 1 and len(shape) == weight.ndim - 1:
        advised(error, "no channels")
