"""The operations by family; an import of this package declares those that most programs use."""

from collections.abc import Iterable, Sequence
from inspect import CO_VARKEYWORDS
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nanotorch._core import on_zeros as on_zeros
from nanotorch._core.arguments import ABSENT, argument_aliases, export, rename, wrong_type
from nanotorch._core.dtypes import ALL
from nanotorch._core.op import OPS, PUBLIC
from nanotorch._core.out import Out, with_out
from nanotorch._core.overloads import OVERLOADS
from nanotorch._core.random import InMemoryOrder
from nanotorch._core.substitutes import share_rule
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
from nanotorch.ops.arguments import check_input
from nanotorch.ops.memory import as_method

# Families that are imported on first use: none of their functions is a method.
FAMILIES = {"nanotorch.ops": "convolution fused resampling sequences"}
# The functions of these families that the package exports; only layers use the others.
LATER = {
    "nanotorch.ops.resampling": (
        "adaptive_avg_pool1d adaptive_max_pool1d affine_grid_generator avg_pool1d"
    ),
    "nanotorch.ops.convolution": (
        "constant_pad_nd conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
        "pixel_shuffle pixel_unshuffle"
    ),
}


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


# Functions that write to their first argument: `torch.exp_(x)` is `x.exp_()`.


NAMES = words(
    "abs acos acosh asin asinh atan atanh ceil clamp clamp_max clamp_min cos cosh deg2rad detach "
    "erf erfc exp exp2 expm1 fill floor frac gcd index_put lcm log log10 log1p log2 logit "
    "nan_to_num neg rad2deg reciprocal relu round rsqrt sigmoid sin sinc sinh sqrt tan tanh trunc "
    "zero"
)


def as_function(name: str) -> Any:
    """The method ``name`` as a function."""

    def function(input: Any, *rest: Any, **named: Any) -> Any:
        check_input(name, input)
        return getattr(Tensor, name)(input, *rest, **named)

    function.__doc__ = f"`Tensor.{name}` of the first argument, which it returns."
    return rename(function, name)


PUBLIC.update({f"{name}_": as_function(f"{name}_") for name in NAMES})


# The functions that have the argument ``out=``, and the rule of each.


ELEMENTWISE = {name for name, o in OPS.items() if o.public and o.cast and not o.dims} - {"dist"}
ELEMENTWISE |= {*words("copysign div fmod lerp logical_not pow remainder square true_divide")}
OF_ONE_TYPE = words(
    "abs bitwise_not ceil clamp clamp_max clamp_min floor frac hardshrink neg round sgn sign "
    "softplus softshrink trunc"
)
# Functions with an argument `dtype`.
OF_ANY_TYPE = words("cumprod cumsum nanmean prod sum")
CREATING = words(
    "arange empty eye full linspace logspace ones rand randint randn randperm range zeros"
)
JOINING = words("cat column_stack dstack hstack stack vstack")
CONVERTING = words("cholesky_solve diff kron logsumexp max mean min outer std var")
# Functions whose ``out`` must have the dtype of the result.
STRICT = words(
    "addmm amax amin aminmax argmax argmin argsort baddbmm bmm bucketize cross cummax cummin diag "
    "dot gather heaviside histc histogram index_add index_copy index_select inner inverse isin "
    "isneginf isposinf kthvalue log_sigmoid log_softmax logcumsumexp lu_unpack masked_select "
    "matmul matrix_power median mm multinomial mv nan_to_num nanmedian nanquantile nonzero norm "
    "quantile renorm scatter scatter_add scatter_reduce searchsorted signbit slogdet softmax sort "
    "svd take take_along_dim tensordot topk tril triu vdot where"
)
# Functions for which PyTorch has no derivative, or accepts ``out`` with inputs that require grad.
UNRECORDED = words(
    "all any argmax argmin bucketize diag eq ge gt histc inner isin isneginf isposinf le "
    "log_softmax logical_and logical_not logical_or logical_xor lt nanquantile ne nonzero quantile "
    "searchsorted signbit softmax tensordot"
)
# The functions that refuse inputs in the memory of ``out``, by `Out.overlap`.
OVERLAPPING = {
    "part": (
        *ELEMENTWISE,
        *OF_ONE_TYPE,
        *words("cumprod cumsum heaviside nan_to_num normal renorm sort topk where"),
    ),
    "part no": words("addmm baddbmm"),
    "part any": words("index_add index_copy scatter scatter_add scatter_reduce"),
    "any part": words("gather take_along_dim"),
    "any": (
        *JOINING,
        *words("aminmax cross diff index_select kron kthvalue masked_select max min nonzero"),
        *words("outer take"),
    ),
}
OVERLAP = {name: how for how, names in OVERLAPPING.items() for name in names}
# Functions that accept an ``out`` whose elements share memory.
EXPANDED = words("bmm empty eye full mv ones tril triu zeros")
ALONG = ("median", "nanmedian", "prod", "sum")
FILLING = ("arange", "linspace", "logspace")
DRAWN = ("bernoulli", "normal", "rand", "randint", "randn")
# Functions that do not warn of an ``out`` with another shape.
SILENT = {"bernoulli", "log_sigmoid", *CREATING} - {"arange"}


# The rules of the other functions: their names, and the fields of `Out`.
RULES: tuple[tuple[Iterable[str], dict[str, Any]], ...] = (
    (OF_ONE_TYPE, {"strict": True, "elementwise": True}),
    (ELEMENTWISE, {"elementwise": True}),
    (OF_ANY_TYPE, {"dtype": True}),
    (CREATING, {"dtype": True, "creates": True}),
    (JOINING, {"error": TypeError}),
    (CONVERTING, {}),
    (("all", "any"), {"strict": True, "also": ("bool", "uint8")}),
    (("bernoulli",), {"also": tuple(kind.name for kind in ALL)}),
    (("normal", "nansum"), {"error": NotImplementedError}),
    (STRICT, {"strict": True}),
)


for _name, _function in PUBLIC.items():
    if vars(Tensor).get(_name) is _function:
        setattr(Tensor, _name, share_rule(_function, as_method(_function)))

# As functions, these take one sequence of integers; as methods, also several integers.


def of_sequence(name: str, argument: str) -> Any:
    """The method ``name`` as a function, whose second argument has the name ``argument``."""
    method = getattr(Tensor, name)

    def function(input: Any, numbers: Sequence[int] = ABSENT) -> Any:  # type: ignore[assignment]
        if not isinstance(numbers, (tuple, list)):
            raise wrong_type(numbers, "tuple of ints", (name, argument, 2))
        return method(input, numbers)

    function.__code__ = function.__code__.replace(co_varnames=("input", argument))
    function.__annotations__[argument] = function.__annotations__.pop("numbers")
    function.__doc__ = method.__doc__
    return rename(function, name)


for _name, _argument in (
    ("flip", "dims"), ("permute", "dims"), ("tile", "dims"), ("reshape", "shape")
):  # fmt: skip
    PUBLIC[_name] = of_sequence(_name, _argument)

for _name, _how in [(name, how) for names, how in RULES for name in names]:
    _rule = Out(
        _name, **_how, recorded=_name not in UNRECORDED, overlap=OVERLAP.get(_name, "no"),
        warns=_name not in SILENT, expanded=_name in EXPANDED,
        drawn=InMemoryOrder if _name in DRAWN else None, early=_name == "index_select",
        along=_name in ALONG, fills=_name in FILLING,
    )  # fmt: skip
    _o = OPS.get(_name) or OVERLOADS.get(_name)
    if _o is not None and PUBLIC.get(_name, _o.functions[_name]) is _o.functions[_name]:
        _o.accept_out(_rule)
    else:
        _further = _name != "norm"  # PyTorch defines `norm` in Python
        PUBLIC[_name] = with_out("nanotorch", _name, PUBLIC[_name], _rule, further=_further)


# Further names of arguments, such as NumPy's ``axis``: added here, where all functions are declared
# and have ``out=``. Operations have these names in their source.


# PyTorch defines these in Python, with one name per argument, and the method `unflatten`, too.
PLAIN = ("norm", "split", "unique", "unique_consecutive")
_generated = {f for o in (*OPS.values(), *OVERLOADS.values()) for f in o.functions.values()}
for _name, _function in PUBLIC.items():
    if isinstance(_function, FunctionType) and _function not in _generated and _name not in PLAIN:
        PUBLIC[_name] = export("nanotorch", _name, _function)
for _name, _function in list(vars(Tensor).items()):
    if isinstance(_function, FunctionType) and _function not in _generated:
        _code = _function.__code__
        _own = _code.co_varnames[1 : _code.co_argcount + _code.co_kwonlyargcount]
        _itself = _code.co_flags & CO_VARKEYWORDS or _name in (*PLAIN, "unflatten")
        _flags = bool in _function.__annotations__.values() and _name.removesuffix("_") in PUBLIC
        if (argument_aliases(_own) or _flags) and _name[:2] != "__" and not _itself:
            setattr(Tensor, _name, export(Tensor.__module__, f"Tensor.{_name}", _function))


# Second names of functions, which PyTorch has for NumPy's sake, with the first names. Functions,
# methods and in-place forms have both.


ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
    "clip": "clamp", "concat": "cat", "concatenate": "cat", "divide": "div", "fix": "trunc",
    "ger": "outer", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le",
    "moveaxis": "movedim", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "row_stack": "vstack", "subtract": "sub", "trapz": "trapezoid",
}  # fmt: skip
for _second, _first in ALIASES.items():
    for _old, _new in ((_first, _second), (f"{_first}_", f"{_second}_")):
        if _old in PUBLIC and _new != "absolute_":  # in PyTorch a method only
            PUBLIC.setdefault(_new, PUBLIC[_old])
        if _old in vars(Tensor) and _new not in vars(Tensor):
            setattr(Tensor, _new, vars(Tensor)[_old])

globals().update(PUBLIC)
__all__ = sorted(PUBLIC)

if TYPE_CHECKING:  # operations are registered by their declarations, which types cannot follow

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = on_demand("nanotorch.ops", FAMILIES | LATER)
