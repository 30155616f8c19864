"""Second names of functions, which PyTorch has for NumPy's sake."""

from nanotorch._core.op import PUBLIC
from nanotorch._core.tensor import Tensor

# By the first name. Functions, methods and the forms in place all have both.
SECOND = {
    "abs": ("absolute",),
    "acos": ("arccos",),
    "acosh": ("arccosh",),
    "asin": ("arcsin",),
    "asinh": ("arcsinh",),
    "atan": ("arctan",),
    "atan2": ("arctan2",),
    "atanh": ("arctanh",),
    "div": ("divide",),
    "ge": ("greater_equal",),
    "gt": ("greater",),
    "le": ("less_equal",),
    "lt": ("less",),
    "mul": ("multiply",),
    "ne": ("not_equal",),
    "neg": ("negative",),
    "sub": ("subtract",),
    "trunc": ("fix",),
}


def provide() -> None:
    """Give the functions and methods their second names, once all are declared."""
    for first, names in SECOND.items():
        for name in names:
            for old, new in ((first, name), (f"{first}_", f"{name}_")):
                if old in PUBLIC and new != "absolute_":  # of PyTorch's a method only
                    PUBLIC.setdefault(new, PUBLIC[old])
                if old in vars(Tensor) and new not in vars(Tensor):
                    setattr(Tensor, new, vars(Tensor)[old])
