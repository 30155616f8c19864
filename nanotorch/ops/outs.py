"""Which functions have the argument ``out=``, and how each treats it."""

from collections.abc import Iterator
from typing import Any

from nanotorch._core.op import OPS, PUBLIC
from nanotorch._core.out import CONVERTED, SAME, Out, with_out

# fmt: off
ELEMENTWISE = (
    "acos", "acosh", "add", "addcdiv", "addcmul", "asin", "asinh", "atan", "atan2", "atanh",
    "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "copysign", "cos", "cosh", "deg2rad", "digamma", "div", "eq", "erf", "erfc", "erfinv", "exp",
    "exp2", "expm1", "floor_divide", "fmax", "fmin", "fmod", "gcd", "ge", "gt", "hypot", "lcm",
    "le", "lerp", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "lt", "maximum", "minimum",
    "mul", "ne", "nextafter", "polygamma", "pow", "rad2deg", "reciprocal", "remainder", "rsqrt",
    "sigmoid", "sin", "sinc", "sinh", "sqrt", "square", "sub", "tan", "tanh", "true_divide",
    "xlogy",
)
OF_ONE_TYPE = (
    "abs", "bitwise_not", "ceil", "clamp", "clip", "floor", "frac", "neg", "round", "sign", "trunc",
)
# With an argument `dtype`.
OF_ANY_TYPE = ("cumprod", "cumsum", "nanmean", "nansum", "prod", "sum")
CREATING = (
    "arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn",
    "randperm", "zeros",
)
JOINING = (
    "cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack", "stack",
    "vstack",
)
CONVERTING = (
    "addr", "bernoulli", "diff", "ger", "kron", "max", "min", "normal", "outer", "std", "var",
)
# By the error for a dtype that the result cannot be converted to.
CONVERTING_ELSE = {
    "float_power": "the output given to float_power has dtype {out} but the operation's result "
    "requires dtype {result}",
    "ldexp": "ldexp can't be cast to the desired output type {out}",
    "logsumexp": "logsumexp(): Expected floating point type for result tensor, but got: {out}",
    "mean": "mean.dtype_out(): input types can't be cast to the desired output type {out}",
}
# By the error for another dtype than the result's.
STRICT = {
    SAME: (
        "addmm", "addmv", "aminmax", "argmax", "argmin", "baddbmm", "bmm", "cross",
        "diag", "gather", "index_add", "index_copy", "inverse", "isin", "log_softmax",
        "matrix_power", "mm", "msort", "renorm", "scatter", "scatter_add",
        "scatter_reduce", "slogdet", "softmax", "sort", "svd", "take_along_dim", "topk", "tril",
        "triu",
    ),
    "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} "
    "for out's dtype.": ("amax", "amin"),
    "addmv input tensors must have the same dtype, but got {out}, {result}, and {result}": ("mv",),
    "self and mat2 must have the same dtype, but got {out} and {result}": ("addbmm",),
    "all only supports bool tensor for result, got: {out}": ("all",),
    "any only supports bool tensor for result, got: {out}": ("any",),
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
    "expected scalar_type {result} but found {out}": ("cummax", "cummin", "logcumsumexp"),
    "output values must be of same type as input": ("kthvalue",),
    "expected scalar type '{result}' but got '{out}' for values output": ("mode",),
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
    "torch.{out}Tensor does not equal torch.{result}Tensor (while checking arguments for "
    "median_out_cpu)": ("median", "nanmedian"),
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64)"
    " depending on whether out_int32 flag is True, but we got output tensor's dtype {out} and "
    "out_int32 flag is False": ("bucketize", "searchsorted"),
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
    "{result_c} and hist {out_c}": ("histc",),
    "quantile() out tensor must be same dtype as the input tensor": ("nanquantile", "quantile"),
    "nan_to_num: dtype of out: {out} should be same as input: {result}": ("nan_to_num",),
    "signbit does not support non-boolean outputs.": ("signbit",),
    "heaviside is not yet implemented for tensors with different dtypes.": ("heaviside",),
    "multinomial expects {result} tensor out, got: {out}": ("multinomial",),
    "multi_dot(): expected out tensor to have dtype {result_c} but got {out_c}": ("chain_matmul",),
}
# fmt: on
KNOWN_AS = {
    "diff": "sub",
    "msort": "sort",
    "nanmean": "nansum",
    "clip": "clamp",
    "float_power": "pow",
    "ger": "mul",
    "kron": "mul",
    "matrix_power": "matmul",
    "outer": "mul",
    "slogdet": "_linalg_slogdet",
    "square": "pow",
    "take_along_dim": "gather",
    "true_divide": "div",
    "cross": "linalg_cross",
    "inverse": "linalg_inv_ex",
    "chain_matmul": "mm",
    **dict.fromkeys(JOINING, "cat"),
    "stack": "stack",
}  # fmt: skip
# What PyTorch computes without a derivative, or without a look at what requires grad.
UNRECORDED = (
    "all", "any", "argmax", "argmin", "bucketize", "diag", "eq", "ge", "gt", "histc", "inner",
    "isin", "le", "lt", "ne", "nanquantile", "nonzero", "quantile", "searchsorted", "signbit",
    "tensordot",
)  # fmt: skip


def rules() -> Iterator[tuple[str, Out]]:
    """The rule of every function that has the argument."""

    def rule(name: str, refusal: str = CONVERTED, **how: Any) -> tuple[str, Out]:
        how["recorded"] = name not in UNRECORDED
        return name, Out(KNOWN_AS.get(name, name), refusal, **how)

    for name in ELEMENTWISE:
        yield rule(name, elementwise=True)
    for name in OF_ONE_TYPE:
        yield rule(name, "Found dtype {out} but expected {result}", strict=True, elementwise=True)
    for name in OF_ANY_TYPE:
        yield rule(name, dtype=True)
    for name in CREATING:
        yield rule(name, dtype=True, creates=True)
    for name in JOINING:
        refusal = "torch.cat(): input types can't be cast to the desired output type {out}"
        yield rule(name, refusal, error=TypeError, elementwise=True)
    for name in CONVERTING:
        yield rule(name)
    for name, refusal in CONVERTING_ELSE.items():
        yield rule(name, refusal)
    for refusal, names in STRICT.items():
        for name in names:
            yield rule(name, refusal, strict=True)


def provide() -> None:
    """Give the functions the argument, once all are declared."""
    for name, rule in rules():
        o = OPS.get(name)
        if o is not None and PUBLIC[name] is o.functions.get(name):
            o.accept_out(rule)
        else:
            PUBLIC[name] = with_out(PUBLIC[name], rule)
