"""Which functions have other names, in-place forms and the argument ``out=``."""

from collections.abc import Iterator
from inspect import CO_VARKEYWORDS
from types import FunctionType
from typing import Any

from nanotorch._core.arguments import exported, named, other_names
from nanotorch._core.op import OPS, PUBLIC
from nanotorch._core.out import CASTABLE, CONVERTED, SAME, Out, of_one_type, with_out
from nanotorch._core.out import RESIZED as OF_ANY_SHAPE
from nanotorch._core.overloads import OVERLOADS
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import need_tensors

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
    "abs", "acos", "acosh", "addmv", "asin", "asinh", "atan", "atanh", "ceil", "clamp",
    "clamp_max", "clamp_min", "cos", "cosh", "deg2rad", "detach", "erf", "erfc", "exp", "exp2",
    "expm1", "fill", "floor", "frac", "gcd", "index_put", "lcm", "ldexp", "log", "log10", "log1p",
    "log2", "logit", "nan_to_num", "neg", "rad2deg", "reciprocal", "relu", "round", "rsqrt",
    "sigmoid", "sin", "sinc", "sinh", "sqrt", "tan", "tanh", "trunc", "xlogy", "zero",
)
# fmt: on


def as_function(name: str) -> Any:
    """The method ``name`` as a function."""

    def function(input: Any, *rest: Any, **named: Any) -> Any:
        if name == "addmv_" and isinstance(input, (int, float)) and rest:
            input, rest = rest[0], (input, *rest[1:])  # the former order: its factor first
        need_tensors(input)
        return getattr(Tensor, name)(input, *rest, **named)

    function.__doc__ = f"`Tensor.{name}` of the first argument, which it returns."
    return named(function, name)


PUBLIC.update({f"{name}_": as_function(f"{name}_") for name in NAMES})


# Which functions have the argument ``out=``, and how each treats it.


# fmt: off
ELEMENTWISE = {name for name, o in OPS.items() if o.public and o.cast and not o.dims} - {"dist"} | {
    "copysign", "div", "fmod", "lerp", "logical_not", "pow", "remainder", "square",
    "true_divide", "xlogy",
}
OF_ONE_TYPE = (
    "abs", "bitwise_not", "ceil", "clamp", "clamp_max", "clamp_min",
    "floor", "frac", "hardshrink", "neg", "round", "sgn", "sign", "softplus", "softshrink", "trunc",
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
CONVERTING = ("addr", "diff", "ger", "kron", "max", "min", "outer", "std", "var")
# By the error for a dtype that the result cannot be converted to.
CONVERTING_ELSE = {
    "cholesky_solve": CASTABLE.format("cholesky_solve"),
    "ldexp": "ldexp can't be cast to the desired output type {out}",
    "logsumexp": "logsumexp(): Expected floating point type for result tensor, but got: {out}",
    "mean": "mean.dtype_out(): input types can't be cast to the desired output type {out}",
}
# By the error for another dtype than the result's.
STRICT = {
    SAME: (
        "addmm", "addmv", "aminmax", "argmax", "argmin", "argsort", "baddbmm", "bmm", "cross",
        "diag", "gather", "index_add", "index_copy", "inverse", "isin", "log_softmax", "lu_unpack",
        "mm", "msort", "norm", "renorm", "scatter", "scatter_add", "scatter_reduce", "slogdet",
        "softmax", "sort", "svd", "take_along_dim", "topk", "tril", "triu",
    ),
    "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} "
    "for out's dtype.": ("amax", "amin"),
    "addmv input tensors must have the same dtype, but got {out}, {result}, and {result}": ("mv",),
    "self and mat2 must have the same dtype, but got {out} and {result}": ("addbmm",),
    "the output given to float_power has dtype {out} but the operation's result requires dtype "
    "{result}": ("float_power",),
    "Expected out type to be {result} but got {out}": ("where",),
    "take(): self and out expected to have the same dtype, but got self.dtype = {result} and "
    "out.dtype = {out}": ("take",),
    "index_select(): self and result must have the same scalar type": ("index_select",),
    "masked_select(): self and result must have the same scalar type": ("masked_select",),
    "nonzero: Expected out tensor to have scalar type {result} but got scalar type{out}": (
        "nonzero",
    ),
    "result dtype {out} does not match input dtype {result}": ("dot", "matmul", "vdot"),
    "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with "
    "dtype {out}": ("inner", "tensordot"),
    "expected scalar type {result} but found {out}": ("log_sigmoid",),
    "expected scalar_type {result} but found {out}": ("cummax", "cummin"),
    "output values must be of same type as input": ("kthvalue",),
    "expected scalar type '{result}' but got '{out}' for values output": ("mode",),
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
    "torch.{out}Tensor does not equal torch.{result}Tensor (while checking arguments for "
    "median)": ("median", "nanmedian"),
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64)"
    " depending on whether out_int32 flag is True, but we got output tensor's dtype {out} and "
    "out_int32 flag is False": ("bucketize", "searchsorted"),
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
    "{result_c} and hist {out_c}": ("histc", "histogram"),
    "quantile() out tensor must be same dtype as the input tensor": ("nanquantile", "quantile"),
    "nan_to_num: dtype of out: {out} should be same as input: {result}": ("nan_to_num",),
    "torch.frexp() expects mantissa to have dtype {result_c} but got {out_c}": ("frexp",),
    "isneginf does not support non-boolean outputs.": ("isneginf",),
    "isposinf does not support non-boolean outputs.": ("isposinf",),
    "signbit does not support non-boolean outputs.": ("signbit",),
    "heaviside is not yet implemented for tensors with different dtypes.": ("heaviside",),
    "multinomial expects {result} tensor out, got: {out}": ("multinomial",),
}
# fmt: on
KNOWN_AS = {
    "diff": "sub",
    "msort": "sort",
    "argsort": "sort",
    "nanmean": "nansum",
    "float_power": "pow",
    "ger": "mul",
    "kron": "mul",
    "outer": "mul",
    "slogdet": "_linalg_slogdet",
    "square": "pow",
    "take_along_dim": "gather",
    "true_divide": "div",
    "cross": "linalg_cross",
    "inverse": "linalg_inv_ex",
    "log_sigmoid": "log_sigmoid_forward",
    "norm": "linalg_vector_norm",
    **dict.fromkeys(JOINING, "cat"),
    "stack": "stack",
}  # fmt: skip
# What PyTorch computes without a derivative, or without a look at what requires grad.
UNRECORDED = (
    "all", "any", "argmax", "argmin", "bucketize", "diag", "eq", "ge", "gt", "histc", "inner",
    "isin", "isneginf", "isposinf", "le", "log_softmax", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lt", "nanquantile", "ne", "nonzero", "quantile", "searchsorted", "signbit",
    "softmax", "tensordot",
)  # fmt: skip
# By `Out.overlap`: the functions that refuse inputs in the memory of `out`.
OVERLAPPING = {
    "part": (
        *ELEMENTWISE, "addr", "cumprod", "cumsum", "frexp", "heaviside", "msort",
        "nan_to_num", "normal", "renorm", "sort", "topk", "where",
    ),
    "part no": ("addbmm", "addmm", "addmv", "baddbmm", "ldexp"),
    "part any": ("index_add", "index_copy", "scatter", "scatter_add", "scatter_reduce"),
    "any part": ("gather", "take_along_dim"),
    "any": (
        *JOINING, "aminmax", "cross", "diff", "ger", "index_select", "kron", "kthvalue",
        "masked_select", "max", "min", "mode", "nonzero", "outer", "take",
    ),
}  # fmt: skip
OVERLAP = {name: how for how, names in OVERLAPPING.items() for name in names}
# What writes to memory that several elements share.
EXPANDED = ("empty", "eye", "full", "ones", "zeros")
ALONG = ("median", "nanmedian", "prod", "sum")
INDICES = (
    "Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.{out}Tensor "
    "instead (while checking arguments for median)"
)
# The errors for other dtypes of results after the first.
SECOND = {
    "frexp": "torch.frexp() expects exponent to have int dtype but got {out_c}",
    "histogram": "torch.histogram: input tensor and bin_edges tensor should have the same dtype, "
    "but got input {result_c} and bin_edges {out_c} for dimension 0",
    "kthvalue": "output indices must be of scalar type Long", "median": INDICES,
    "mode": "expected scalar type 'Long' but got '{out}' for indices output", "nanmedian": INDICES,
}  # fmt: skip
DRAWN = ("bernoulli", "normal", "rand", "randint", "randn")
# What says nothing, or something else, of another shape.
RESIZED = dict.fromkeys(("addbmm", "bernoulli", "log_sigmoid", *CREATING), "")
RESIZED["arange"] = (
    "The number of elements in the out tensor of shape {0} is {2} which does not match "
    "the computed number of elements {3}. Note that this may occur as a result of rounding "
    "error. The out tensor will be resized to a tensor of shape ({3},)."
)


def rules() -> Iterator[tuple[str, Out]]:
    """The rule of every function that has the argument."""

    def rule(name: str, refusal: str = CONVERTED, **how: Any) -> tuple[str, Out]:
        how |= {"recorded": name not in UNRECORDED, "overlap": OVERLAP.get(name, "no")}
        how |= {"resized": RESIZED.get(name, OF_ANY_SHAPE), "expanded": name in EXPANDED}
        how |= {"drawn": name in DRAWN, "along": name in ALONG, "second": SECOND.get(name, "")}
        return name, Out(KNOWN_AS.get(name, name), refusal, **how)

    for name in ELEMENTWISE:
        yield rule(name, elementwise=True)
    for name in OF_ONE_TYPE:
        yield name, of_one_type(KNOWN_AS.get(name, name))._replace(recorded=name not in UNRECORDED)
    for name in OF_ANY_TYPE:
        yield rule(name, dtype=True)
    for name in CREATING:
        fills = name in ("arange", "linspace", "logspace")
        yield rule(name, dtype=True, creates=True, fills=fills)
    for name in JOINING:
        refusal = "torch.cat(): input types can't be cast to the desired output type {out}"
        yield rule(name, refusal, error=TypeError)
    for name in CONVERTING:
        yield rule(name)
    for name in ("all", "any"):
        refusal = f"{name} only supports bool tensor for result, got: {{out}}"
        yield rule(name, refusal, strict=True, also=("bool", "uint8"))
    yield rule("bernoulli", "")
    for name, refused in (("normal", "normal_kernel_cpu"), ("nansum", "nansum_cpu")):
        refusal = f"\"{refused}\" not implemented for '{{out}}'"
        yield rule(name, refusal, error=NotImplementedError)
    for name, refusal in CONVERTING_ELSE.items():
        yield rule(name, refusal)
    for refusal, names in STRICT.items():
        for name in names:
            yield rule(name, refusal, strict=True)


def provide_outs() -> None:
    """Give the functions the argument, once all are declared."""
    for name, rule in rules():
        o = OPS.get(name) or OVERLOADS.get(name)
        if o is not None and PUBLIC.get(name, o.functions[name]) is o.functions[name]:
            o.accept_out(rule)
        else:
            further = name != "norm"  # which PyTorch has in Python, too
            PUBLIC[name] = with_out("nanotorch", name, PUBLIC[name], rule, further=further)
