"""Initial values of parameters, written in place."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch import ops
from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand
from nanotorch.ops.arguments import require_value
from nanotorch.ops.random import Generator, stream

GAINS: dict[str, float] = {
    **dict.fromkeys(("linear", "sigmoid"), 1),
    **{f"conv{transposed}{d}d": 1 for transposed in ("", "_transpose") for d in (1, 2, 3)},
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The scale of weights at which the variance survives a nonlinearity.

    Args:
        nonlinearity: "linear", "conv1d" and the like, "sigmoid": 1; "tanh": 5/3; "relu": √2;
            "leaky_relu": √(2 / (1 + slope²)); "selu": 3/4.
        param: the negative slope of "leaky_relu". Default: 0.01.

    Raises:
        ValueError: for another name, or a slope that is not a number.
    """
    if nonlinearity in GAINS:
        return GAINS[nonlinearity]
    require_value(nonlinearity == "leaky_relu", "Unsupported nonlinearity {}", nonlinearity)
    slope: Any = 0.01 if param is None else param
    number = isinstance(slope, (int, float)) and not isinstance(slope, bool)
    require_value(number, "negative_slope {} not a valid number", slope)
    return math.sqrt(2.0 / (1 + slope**2))


# Distributions


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill ``tensor`` with uniform numbers in [a, b); returns it."""
    with no_grad():
        tensor.uniform_(a, b, generator=generator)
    return tensor


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill ``tensor`` with normal numbers of this mean and standard deviation; returns it."""
    with no_grad():
        tensor.normal_(mean, std, generator=generator)
    return tensor


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill ``tensor`` with normal numbers, redrawn until they are in [a, b]; returns it.

    Raises:
        RuntimeError: if ``a`` is greater than ``b``.

    Warns:
        UserWarning: if ``mean`` is more than two ``std`` from [a, b].
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect."
        )
    below, above = (math.erf((end - mean) / std / math.sqrt(2.0)) / 2 for end in (a, b))
    with no_grad():
        if above - below > 0.3:  # most normal numbers are inside
            array = tensor.normal_(mean, std, generator=generator)._array
            low, high = array.dtype.type(a), array.dtype.type(b)
            while (outside := (array < low) | (array > high)).any():
                again = ops.empty_like(tensor).normal_(mean, std, generator=generator)._array
                np.copyto(array, again, where=outside)
            return tensor
        # Uniform numbers, each kept with its density relative to the greatest in [a, b].
        log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
        array = tensor.uniform_(a, b, generator=generator)._array
        candidates, pending = array, np.ones(array.shape, bool)
        while True:
            log_density = -0.5 * ((candidates - mean) / std) ** 2 - log_peak
            chance = ops.empty_like(tensor).uniform_(generator=generator)._array
            pending &= np.log(chance) > log_density
            if not pending.any():
                return tensor
            candidates = ops.empty_like(tensor).uniform_(a, b, generator=generator)._array
            np.copyto(array, candidates, where=pending)


# Constants


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill ``tensor`` with ``val``; returns it."""
    with no_grad():
        tensor.fill_(val)
    return tensor


def ones_(tensor: Tensor) -> Tensor:
    """Fill ``tensor`` with ones; returns it."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill ``tensor`` with zeros; returns it."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on its diagonal and zeros elsewhere; returns it.

    Raises:
        ValueError: unless ``tensor`` has two dimensions.
    """
    require_value(tensor.ndim == 2, "Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.copy_(ops.eye(*tensor.shape))
    return tensor


# By the number of connections


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The number of inputs per output, and of outputs per input, of a layer with this weight.

    Shape:
        ``tensor`` (outputs, inputs, *receptive field).

    Raises:
        ValueError: for fewer than two dimensions.
    """
    message = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
    require_value(tensor.ndim >= 2, message)
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill ``tensor`` with uniform numbers in [-a, a); returns it.

    Here ``a = gain * √(6 / (fan_in + fan_out))``.

    Raises:
        ValueError: for fewer than two dimensions.

    Reference:
        Glorot and Bengio, Understanding the difficulty of training deep feedforward neural
        networks, AISTATS 2010, equation 16.
    """
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill ``tensor`` with normal numbers; returns it.

    The standard deviation is ``gain * √(2 / (fan_in + fan_out))``; see also `xavier_uniform_`.
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill ``tensor`` with uniform numbers in [-c, c), ``c = gain * √(3 / fan)``; returns it.

    Args:
        a: the negative slope of "leaky_relu". Default: 0.
        mode: "fan_in" (default) keeps the variance of activations, "fan_out" that of gradients.
        nonlinearity: see `calculate_gain`. Default: "leaky_relu".
        generator: the random generator. Default: the default generator.

    Raises:
        ValueError: for fewer than two dimensions, another mode or nonlinearity.

    Warns:
        UserWarning: if ``tensor`` has no elements.

    Reference:
        He et al., Delving Deep into Rectifiers, ICCV 2015, equations 10 and 14.
    """
    std = kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill ``tensor`` with normal numbers of standard deviation ``gain / √fan``; returns it.

    The arguments are those of `kaiming_uniform_`.
    """
    std = kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The standard deviation ``gain / √fan``; None, with a warning, for an empty tensor."""
    if not tensor.numel():
        warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The number of connections that a mode names: "fan_in" or "fan_out"."""
    mode, modes = mode.lower(), ["fan_in", "fan_out"]
    require_value(mode in modes, "Mode {} not supported, please use one of {}", mode, modes)
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill ``tensor`` with ``gain`` times a random matrix of orthonormal rows or columns.

    Returns the tensor. The rows are orthonormal if there are at most as many as columns, else the
    columns. Dimensions after the second count as columns.

    Raises:
        ValueError: for fewer than two dimensions.

    Reference:
        Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning in deep
        linear neural networks, ICLR 2014; Mezzadri, How to generate random matrices from the
        classical compact groups, 2006 (the signs, which make the distribution uniform).
    """
    require_value(tensor.ndim >= 2, "Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows = tensor.size(0)
    shape = (rows, tensor.numel() // rows)
    normals = stream(generator).normal(shape, tensor._array.dtype)
    q, r = np.linalg.qr(normals.T if rows < shape[1] else normals)
    q = q * np.sign(np.diagonal(r))
    values = (q.T if rows < shape[1] else q).reshape(tensor.shape)
    with no_grad():
        tensor.copy_(ops.from_numpy(np.ascontiguousarray(values))).mul_(gain)
    return tensor


# Former names


def deprecated_alias(name: str) -> Any:
    """The initializer ``name_`` under its former name ``name``, which warns."""
    present = f"{name}_"
    function = globals()[present]

    def renamed(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{present}`.", FutureWarning)
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = name
    renamed.__doc__ = f"The former name of `{present}`.\n\nWarns:\n    FutureWarning: always.\n"
    return renamed


uniform, normal, constant, eye = map(deprecated_alias, ("uniform", "normal", "constant", "eye"))
xavier_uniform, xavier_normal = map(deprecated_alias, ("xavier_uniform", "xavier_normal"))
kaiming_uniform, kaiming_normal = map(deprecated_alias, ("kaiming_uniform", "kaiming_normal"))
orthogonal = deprecated_alias("orthogonal")

if not TYPE_CHECKING:  # errors about missing names give a reason
    __getattr__, __dir__ = on_demand(__name__)
