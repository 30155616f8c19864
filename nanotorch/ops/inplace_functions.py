"""Functions of the package that write to their first argument: `torch.exp_(x)` for `x.exp_()`."""

from typing import Any

from nanotorch._core.arguments import named
from nanotorch._core.op import PUBLIC
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import need_tensors

# fmt: off
NAMES = (
    "abs", "acos", "acosh", "addmv", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh",
    "deg2rad", "detach", "erf", "erfc", "exp", "exp2", "expm1", "fill", "floor", "frac", "gcd",
    "index_put", "lcm", "ldexp", "log", "log10", "log1p", "log2", "logit", "nan_to_num",
    "neg", "rad2deg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sin", "sinc", "sinh",
    "sqrt", "tan", "tanh", "trunc", "zero",
)
# fmt: on


def as_function(name: str) -> Any:
    """The method ``name`` as a function."""

    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        if name == "addmv_" and isinstance(input, (int, float)) and args:
            input, args = args[0], (input, *args[1:])  # the former order: its factor first
        need_tensors(input)
        return getattr(Tensor, name)(input, *args, **kwargs)

    function.__doc__ = f"`Tensor.{name}` of the first argument, which it returns."
    return named(function, name)


PUBLIC.update({f"{name}_": as_function(f"{name}_") for name in NAMES})
