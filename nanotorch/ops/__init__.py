"""The operations, by family; importing this package declares those that most programs use."""

from collections.abc import Iterator
from inspect import CO_VARKEYWORDS
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nanotorch._core.arguments import as_method, exported, named, other_names
from nanotorch._core.batched import follow
from nanotorch._core.dtypes import ALL
from nanotorch._core.op import OPS, PUBLIC
from nanotorch._core.out import Out, of_one_type, with_out
from nanotorch._core.overloads import OVERLOADS
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand
from nanotorch.ops import activation as activation
from nanotorch.ops import binary as binary
from nanotorch.ops import creation as creation
from nanotorch.ops import elementwise as elementwise
from nanotorch.ops import gathering as gathering
from nanotorch.ops import indexing as indexing
from nanotorch.ops import joining as joining
from nanotorch.ops import linalg as linalg
from nanotorch.ops import matrix as matrix
from nanotorch.ops import memory as memory
from nanotorch.ops import products as products
from nanotorch.ops import random as random
from nanotorch.ops import reduction as reduction
from nanotorch.ops import shape as shape
from nanotorch.ops import sorting as sorting
from nanotorch.ops import statistics as statistics
from nanotorch.ops.arguments import tensor_given

# Families whose first use imports them. None has methods, or functions of the table in `tables`.
FAMILIES = {"nanotorch.ops": ("convolution elementwise fused resampling sequences")}
# What the package has of them; the others are parts of layers.
LATER = {
    "nanotorch.ops.resampling": (
        "adaptive_avg_pool1d adaptive_max_pool1d affine_grid_generator avg_pool1d"
    ),
    "nanotorch.ops.convolution": (
        "constant_pad_nd conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
        "pixel_shuffle pixel_unshuffle"
    ),
}

# Further names by which functions know their arguments, such as NumPy's ``axis``.


# PyTorch has them in Python as well, by one name each. Of methods `unflatten` is another.
PLAIN = ("norm", "split", "unique", "unique_consecutive")


def provide_spellings() -> None:
    """Give functions and methods the names, once all are declared and have ``out=``.

    Those of operations have them in their source.
    """
    declared = (*OPS.values(), *OVERLOADS.values())
    generated = {function for o in declared for function in o.functions.values()}
    for name, function in PUBLIC.items():
        plain = isinstance(function, FunctionType) and function not in generated
        if plain and name not in PLAIN:
            PUBLIC[name] = exported("nanotorch", name, function)
    for name, function in list(vars(Tensor).items()):
        if isinstance(function, FunctionType) and function not in generated:
            code = function.__code__
            further = other_names(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])
            itself = code.co_flags & CO_VARKEYWORDS or name in (*PLAIN, "unflatten")
            if further and name[:2] != "__" and not itself:
                setattr(Tensor, name, exported(Tensor.__module__, f"Tensor.{name}", function))


# Second names of functions, which PyTorch has for NumPy's sake.


# By the first name. Functions, methods and the forms in place all have both.
ALIASES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin",
    "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh",
    "clamp": "clip", "div": "divide", "ge": "greater_equal", "gt": "greater",
    "le": "less_equal", "lt": "less", "mul": "multiply", "ne": "not_equal",
    "neg": "negative", "sub": "subtract", "trapezoid": "trapz", "trunc": "fix",
}  # fmt: skip


def provide_aliases() -> None:
    """Give the functions and methods their second names, once all are declared."""
    for first, second in ALIASES.items():
        for old, new in ((first, second), (f"{first}_", f"{second}_")):
            if old in PUBLIC and new != "absolute_":  # of PyTorch's a method only
                PUBLIC.setdefault(new, PUBLIC[old])
            if old in vars(Tensor) and new not in vars(Tensor):
                setattr(Tensor, new, vars(Tensor)[old])


# Functions of the package that write to their first argument: `torch.exp_(x)` for `x.exp_()`.


# fmt: off
NAMES = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "clamp",
    "clamp_max", "clamp_min", "cos", "cosh", "deg2rad", "detach", "erf", "erfc", "exp", "exp2",
    "expm1", "fill", "floor", "frac", "gcd", "index_put", "lcm", "log", "log10", "log1p",
    "log2", "logit", "nan_to_num", "neg", "rad2deg", "reciprocal", "relu", "round", "rsqrt",
    "sigmoid", "sin", "sinc", "sinh", "sqrt", "tan", "tanh", "trunc", "zero",
)
# fmt: on


def as_function(name: str) -> Any:
    """The method ``name`` as a function."""

    def function(input: Any, *rest: Any, **named: Any) -> Any:
        tensor_given(name, input)
        return getattr(Tensor, name)(input, *rest, **named)

    function.__doc__ = f"`Tensor.{name}` of the first argument, which it returns."
    return named(function, name)


PUBLIC.update({f"{name}_": as_function(f"{name}_") for name in NAMES})


# Which functions have the argument ``out=``, and how each treats it.


# fmt: off
ELEMENTWISE = {name for name, o in OPS.items() if o.public and o.cast and not o.dims} - {"dist"} | {
    "copysign", "div", "fmod", "lerp", "logical_not", "pow", "remainder", "square",
    "true_divide",
}
OF_ONE_TYPE = (
    "abs", "bitwise_not", "ceil", "clamp", "clamp_max", "clamp_min",
    "floor", "frac", "neg", "round", "sgn", "sign", "softplus", "trunc",
)
# With an argument `dtype`.
OF_ANY_TYPE = ("cumprod", "cumsum", "nanmean", "prod", "sum")
CREATING = (
    "arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn",
    "randperm", "range", "zeros",
)
JOINING = (
    "cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack", "stack",
    "vstack",
)
CONVERTING = (
    "cholesky_solve", "diff", "ger", "kron", "logsumexp", "max", "mean", "min",
    "outer", "std", "var",
)
# What takes no other dtype than the result's.
STRICT = (
    "addmm", "amax", "amin", "aminmax", "argmax", "argmin", "argsort", "baddbmm",
    "bmm", "bucketize", "cross", "cummax", "cummin", "diag", "dot",
    "gather", "heaviside", "histc", "histogram", "index_add", "index_copy", "index_select", "inner",
    "inverse", "isin", "isneginf", "isposinf", "kthvalue", "log_sigmoid", "log_softmax",
    "lu_unpack", "masked_select", "matmul", "median", "mm", "multinomial", "mv",
    "nan_to_num", "nanquantile", "nonzero", "norm", "quantile", "renorm", "scatter",
    "scatter_add", "scatter_reduce", "searchsorted", "signbit", "slogdet", "softmax", "sort", "svd",
    "take", "take_along_dim", "tensordot", "topk", "tril", "triu", "vdot", "where",
)
# fmt: on
# What PyTorch computes without a derivative, or without a look at what requires grad.
UNRECORDED = (
    "all",
    "any",
    "argmax",
    "argmin",
    "bucketize",
    "diag",
    "eq",
    "ge",
    "gt",
    "histc",
    "inner",
    "isin",
    "isneginf",
    "isposinf",
    "le",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "nanquantile",
    "ne",
    "nonzero",
    "quantile",
    "searchsorted",
    "signbit",
    "softmax",
    "tensordot",
)  # fmt: skip
# By `Out.overlap`: the functions that refuse inputs in the memory of `out`.
OVERLAPPING = {
    "part": (
        *ELEMENTWISE, "cumprod", "cumsum", "heaviside",
        "nan_to_num", "normal", "renorm", "sort", "topk", "where",
    ),
    "part no": ("addmm", "baddbmm"),
    "part any": ("index_add", "index_copy", "scatter", "scatter_add", "scatter_reduce"),
    "any part": ("gather", "take_along_dim"),
    "any": (
        *JOINING, "aminmax", "cross", "diff", "ger", "index_select", "kron", "kthvalue",
        "masked_select", "max", "min", "nonzero", "outer", "take",
    ),
}  # fmt: skip
OVERLAP = {name: how for how, names in OVERLAPPING.items() for name in names}
# What writes to memory that several elements share.
EXPANDED = ("empty", "eye", "full", "ones", "zeros")
ALONG = ("median", "prod", "sum")
DRAWN = ("bernoulli", "normal", "rand", "randint", "randn")
# What does not warn of another shape.
SILENT = {"bernoulli", "log_sigmoid", *CREATING} - {"arange"}


def rules() -> Iterator[tuple[str, Out]]:
    """The rule of every function that has the argument."""

    def rule(name: str, **how: Any) -> tuple[str, Out]:
        how |= {"recorded": name not in UNRECORDED, "overlap": OVERLAP.get(name, "no")}
        how |= {"warns": name not in SILENT, "expanded": name in EXPANDED}
        return name, Out(name, **how, drawn=name in DRAWN, along=name in ALONG)

    for name in ELEMENTWISE:
        yield rule(name, elementwise=True)
    for name in OF_ONE_TYPE:
        yield name, of_one_type(name)._replace(recorded=name not in UNRECORDED)
    for name in OF_ANY_TYPE:
        yield rule(name, dtype=True)
    for name in CREATING:
        fills = name in ("arange", "linspace", "logspace")
        yield rule(name, dtype=True, creates=True, fills=fills)
    for name in JOINING:
        yield rule(name, error=TypeError)
    for name in CONVERTING:
        yield rule(name)
    for name in ("all", "any"):
        yield rule(name, strict=True, also=("bool", "uint8"))
    yield rule("bernoulli", also=tuple(kind.name for kind in ALL))
    for name in ("normal", "nansum"):
        yield rule(name, error=NotImplementedError)
    for name in STRICT:
        yield rule(name, strict=True)


def provide_outs() -> None:
    """Give the functions the argument, once all are declared."""
    for name, rule in rules():
        o = OPS.get(name) or OVERLOADS.get(name)
        if o is not None and PUBLIC.get(name, o.functions[name]) is o.functions[name]:
            o.accept_out(rule)
        else:
            further = name != "norm"  # which PyTorch has in Python, too
            PUBLIC[name] = with_out("nanotorch", name, PUBLIC[name], rule, further=further)


for _name, _function in PUBLIC.items():
    if vars(Tensor).get(_name) is _function:
        setattr(Tensor, _name, follow(as_method(_function)))

provide_outs()
provide_spellings()
provide_aliases()
globals().update(PUBLIC)
__all__ = sorted(PUBLIC)

if TYPE_CHECKING:  # operations are registered by their declarations, which types cannot follow

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = on_demand("nanotorch.ops", FAMILIES | LATER)
