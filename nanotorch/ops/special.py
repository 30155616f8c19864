"""Further elementwise functions of one tensor."""

import math
from typing import Any

import numpy as np

from nanotorch._core.batch_rules import elementwise
from nanotorch._core.dtypes import Number
from nanotorch._core.op import Array, method, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import need_tensors
from nanotorch.ops.comparison import zero_where
from nanotorch.ops.elementwise import cos, exp, sin
from nanotorch.ops.erf import ratio
from nanotorch.ops.power import square

# Angles


@op(input=lambda g: g * (math.pi / 180), cast="float", inplace=True, wide=True)
def deg2rad(input: Array) -> Array:
    """Degrees in radians."""
    return input * input.dtype.type(math.pi / 180)


@op(input=lambda g: g * (180 / math.pi), cast="float", inplace=True, wide=True)
def rad2deg(input: Array) -> Array:
    """Radians in degrees."""
    return input * input.dtype.type(180 / math.pi)


# What is not finite


@op(input=lambda g, input: zero_where(g, input - input != 0), inplace=True)
def nan_to_num(
    input: Array,
    nan: Number | None = None,
    posinf: Number | None = None,
    neginf: Number | None = None,
) -> Array:
    """Numbers in place of nan and of infinities.

    Args:
        nan: default: 0.
        posinf, neginf: default: the greatest and the smallest number of the dtype.
    """
    if input.dtype.kind != "f":
        return input.copy()
    return np.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@op(batch=elementwise)
def signbit(input: Array) -> Array:
    """Whether the sign is negative, as that of -0.0 is."""
    return np.signbit(input) if input.dtype.kind == "f" else input < 0


# Functions


def beyond(input: Any, eps: float | None) -> Any:
    """Where `logit` does not follow its input."""
    if eps is None:
        return (input < 0) | (input > 1)
    return ~((input >= eps) & (input <= 1 - eps))


@op(
    input=lambda g, input, eps: logit_backward(g, input, eps),
    cast="float",
    inplace=True,
    wide=True,
)
def logit(input: Array, eps: float | None = None) -> Array:
    """``log(input / (1 - input))``, the inverse of the sigmoid; nan outside [0, 1].

    Args:
        eps: hold the input between this and ``1 - eps`` first.
    """
    if eps is not None:
        kind = input.dtype.type
        input = np.clip(input, kind(eps), kind(1 - eps))
    return np.log(input / (1 - input))


@op(
    g=lambda g, input, eps: logit_backward(g, input, eps),
    input=lambda g, out, input: g * out * (2 * input - 1) / (input * (1 - input)),
    method=False,
    public=False,
    batch=elementwise,
    wide=True,
)
def logit_backward(g: Array, input: Array, eps: float | None) -> Array:
    """The gradient of `logit`: 0 beyond its limits, or nan where it has none."""
    outside = g.dtype.type(math.nan if eps is None else 0.0)
    return np.where(beyond(input, eps), outside, g / (input * (1 - input)))


@op(
    input=lambda g, input: zero_where(
        g * ((input * math.pi * cos(input * math.pi) - sin(input * math.pi))
             / (input * input * math.pi)),
        input * input * math.pi == 0,  # also where the square of what is not 0 vanishes
    ),
    cast="float",
    inplace=True,
    wide=True,
)  # fmt: skip
def sinc(input: Array) -> Array:
    """``sin(π input) / (π input)``, 1 at 0."""
    wide = input.astype(np.result_type(input, np.float32), copy=False)
    angle = wide * wide.dtype.type(math.pi)
    out = np.where(wide == 0, wide.dtype.type(1), np.sin(angle) / angle)
    return out.astype(input.dtype, copy=False)


# Quotients of polynomials, highest power first: near the middle, further out, and in the tails.
MIDDLE_P = (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
            4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
            1.3314166789178437745e2, 3.3871328727963666080)  # fmt: skip
MIDDLE_Q = (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
            2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
            4.2313330701600911252e1, 1.0)  # fmt: skip
OUTER_P = (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
           1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550,
           4.63033784615654529590, 1.42343711074968357734)  # fmt: skip
OUTER_Q = (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
           1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940,
           2.05319162663775882187, 1.0)  # fmt: skip
TAIL_P = (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
          2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
          5.46378491116411436990, 6.65790464350110377720)  # fmt: skip
TAIL_Q = (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
          7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
          5.99832206555887937690e-1, 1.0)  # fmt: skip


@op(
    input=lambda g, input: g * (0.5 * math.sqrt(math.pi) * exp(square(erfinv(input)))),
    cast="float",
    inplace=True,
    wide=True,
)
def erfinv(input: Array) -> Array:
    """The inverse of `erf`: infinite at 1 and -1, nan beyond.

    Reference:
        Wichura, Algorithm AS 241: The Percentage Points of the Normal Distribution, Applied
        Statistics 37, 1988.
    """
    x = input.astype(np.float64)
    size = np.abs(x)
    middle = 0.5 * x * ratio(0.180625 - 0.25 * np.minimum(size, 0.85) ** 2, MIDDLE_P, MIDDLE_Q)
    r = np.sqrt(-np.log((1 - np.clip(size, 0.85, 1 - 1e-16)) / 2))
    far = np.where(
        r <= 5, ratio(r - 1.6, OUTER_P, OUTER_Q), ratio(np.maximum(r - 5, 0), TAIL_P, TAIL_Q)
    )
    values = np.where(size <= 0.85, middle, np.copysign(far, x)) / math.sqrt(2)
    values = np.where(size == 1, np.copysign(math.inf, x), values)
    return np.where((size > 1) | np.isnan(x), math.nan, values).astype(input.dtype)


# What a tensor is


@public
def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor is of a floating-point dtype."""
    need_tensors(input)
    return input.is_floating_point()


@public
def is_complex(input: Tensor) -> bool:
    """Whether a tensor is of a complex dtype, of which there is none."""
    need_tensors(input)
    return False


@public
def get_device(input: Tensor) -> int:
    """-1, the number of the CPU."""
    need_tensors(input)
    return input.get_device()


@method
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of a tensor is not zero.

    Raises:
        RuntimeError: for none or several.
    """
    need_tensors(input)
    return bool(input)
