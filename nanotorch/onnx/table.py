"""The mapping of each operation to ONNX.

A row is the name of an ONNX operator with the same operands, or a function of the graph and of
those arguments of the operation that its parameters name. ``out`` stands for the first result, and
``outs`` for all: their dtypes and shapes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.nn import functional as F
from nanotorch.nn import recurrent
from nanotorch.nn.functional import spatial
from nanotorch.onnx.graph import SIZE, Both, Dim, Graph, Unmapped, Value
from nanotorch.ops import creation, products, reduction

BOOL = np.dtype(np.bool_)
END = np.iinfo(np.int64).max

# The functions of several operations that have rows as a whole: their own arguments say more.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "detach": Tensor.detach,
    "data": vars(Tensor)["data"].fget,
    "convert": creation.convert,
    "__getitem__": Tensor.__getitem__,
    "argmax": reduction.argmax,
    "argmin": reduction.argmin,
    "all": reduction.all,
    "any": reduction.any,
    "einsum": products.einsum,
    "batch_norm": spatial.normalize_channels,
    "instance_norm": F.instance_norm,
    "layer_norm": F.layer_norm,
    "group_norm": F.group_norm,
    "scaled_dot_product_attention": F.scaled_dot_product_attention,
    "RNN": recurrent.RNN._direction,
    "GRU": recurrent.GRU._direction,
    "LSTM": recurrent.LSTM._direction,
}


def axis(dim: int, ndim: int) -> int:
    """A dimension counted from the front."""
    return dim % max(ndim, 1)


def logical(op_type: str, bits: str | None = None) -> Any:
    """The row of an operator of bools; ``bits`` names that of integers, for bitwise operations."""

    def row(g: Graph, input: Value, other: Value, out: Value) -> Value:
        if bits is not None and out.dtype != BOOL:
            return g.add(bits, (input, other))
        return g.add(op_type, (g.cast(input, BOOL), g.cast(other, BOOL)))

    return row


def comparison(op_type: str) -> Any:
    """The row of a comparison; ONNX orders only numbers."""

    def row(g: Graph, input: Value, other: Value) -> Value:
        return g.add(op_type, (input, other), dtype=BOOL)

    return row


def scaled(op_type: str) -> Any:
    """The row of a sum or difference with a factor ``alpha``."""

    def row(g: Graph, input: Value, other: Value, alpha: Any) -> Value:
        return g.add(op_type, (input, other if alpha == 1 else g.Mul(other, alpha)))

    return row


def clip(g: Graph, input: Value, min: Any, max: Any, out: Value) -> Value:
    """The row of limits that are numbers."""
    return g.Clip(g.cast(input, out.dtype), min, max)


def softplus(g: Graph, input: Value, beta: float, threshold: float) -> Value:
    """``log(1 + exp(beta x)) / beta``, and ``x`` itself from the threshold on."""
    scaled = g.Mul(input, beta)
    smooth = g.Div(g.Softplus(scaled), beta)
    return g.Where(g.Greater(scaled, threshold, dtype=BOOL), input, smooth)


def floor_divide(g: Graph, input: Value, other: Value) -> Value:
    wide = np.float64 if input.dtype.kind in "iu" else input.dtype
    return g.cast(g.Floor(g.Div(g.cast(input, wide), g.cast(other, wide))), input.dtype)


def remainder(g: Graph, input: Value, other: Value) -> Value:
    if input.dtype.kind in "iu":
        return g.Mod(input, other)
    return g.Sub(input, g.Mul(g.Floor(g.Div(input, other)), other))


def elu(g: Graph, input: Value, alpha: float, scale: float) -> Value:
    made = g.Elu(input, alpha=alpha)
    return made if scale == 1 else g.Mul(made, scale)


def gelu(g: Graph, input: Value, approximate: str) -> Value:
    if g.opset >= 20:
        return g.Gelu(input, approximate=approximate)
    if approximate == "tanh":
        cubic = g.Mul(g.Add(input, g.Mul(g.Mul(g.Mul(input, input), input), 0.044715)), 2**0.5 * math.pi**-0.5)
        return g.Mul(g.Mul(input, 0.5), g.Add(g.Tanh(cubic), 1))
    return g.Mul(g.Mul(input, 0.5), g.Add(g.Erf(g.Mul(input, 0.5**0.5)), 1))


def glu(g: Graph, input: Value, dim: int) -> Value:
    first, second = g.Split(input, outputs=2, axis=dim, num_outputs=2)
    return g.Mul(first, g.Sigmoid(second))


def safe_softmax(g: Graph, input: Value) -> Value:
    """The softmax along the last dimension; zeros if all elements are -inf."""
    made = g.Softmax(input, axis=-1)
    return g.Where(g.IsNaN(made, dtype=BOOL), 0, made)


# Reductions.


def reduce(op_type: str) -> Any:
    """The row of a reduction along dimensions, in the dtype of the result."""

    def row(g: Graph, input: Value, dim: Any, keepdim: bool, out: Value) -> Value:
        axes = list(dim) if isinstance(dim, (tuple, list)) else [dim]
        return g.add(op_type, (g.cast(input, out.dtype), axes), keepdims=int(keepdim))

    return row


def reduce_all(op_type: str) -> Any:
    """The row of a reduction of all elements."""

    def row(g: Graph, input: Value, out: Value) -> Value:
        return g.add(op_type, (g.cast(input, out.dtype),), keepdims=0)

    return row


def truth(op_type: str) -> Any:
    """The row of `any` or `all`."""

    def row(g: Graph, input: Value, dim: Any, keepdim: bool) -> Value:
        axes = dim if dim is None or isinstance(dim, (tuple, list)) else [dim]
        numbers = g.cast(g.cast(input, BOOL), np.int32)
        return g.cast(g.add(op_type, (numbers, axes), keepdims=int(keepdim)), BOOL)

    return row


def position(op_type: str) -> Any:
    """The row of the index of an extremum."""

    def row(g: Graph, input: Value, dim: int | None, keepdim: bool) -> Value:
        if dim is None:
            input, keepdim = g.Reshape(input, [-1]), False
        return g.add(op_type, (input,), dtype=SIZE, axis=dim or 0, keepdims=int(keepdim))

    return row


def extremum(values: str, indices: str) -> Any:
    """The row of an extremum along a dimension, and its index."""

    def row(g: Graph, input: Value, dim: int, keepdim: bool) -> list[Value]:
        at = {"keepdims": int(keepdim)}
        return [
            g.add(values, (input, [dim]), **at),
            g.add(indices, (input,), dtype=SIZE, axis=dim, **at),
        ]

    return row


def variance(g: Graph, input: Value, dim: Any, keepdim: bool, correction: float) -> Value:
    axes, count = [*dim], math.prod(_static(input.shape[d]) for d in dim)
    rest = g.Sub(input, g.ReduceMean(input, axes, keepdims=1))
    mean = g.ReduceMean(g.Mul(rest, rest), axes, keepdims=int(keepdim))
    return g.Mul(mean, count / (count - correction)) if correction else mean


def _static(size: Any) -> int:
    """A size that must not depend on the inputs."""
    if isinstance(size, Dim):
        raise Unmapped("it needs a size that is dynamic")
    return int(size)


def norm(g: Graph, input: Value, ord: float, dim: Any, keepdim: bool) -> Value:
    axes, at = [*dim], {"keepdims": int(keepdim)}
    if ord in (1, 2):
        return g.add(f"ReduceL{ord:g}", (input, axes), **at)
    size = g.Abs(input)
    if math.isinf(ord):
        return g.add("ReduceMax" if ord > 0 else "ReduceMin", (size, axes), **at)
    return g.Pow(g.ReduceSum(g.Pow(size, ord), axes, **at), 1 / ord)


# Shapes and parts.


def squeeze(g: Graph, input: Value, dim: Any) -> Value:
    dims = dim if isinstance(dim, (tuple, list)) else [dim]
    axes = [d for d in (axis(d, input.ndim) for d in dims) if input.shape[d : d + 1] == (1,)]
    return g.Squeeze(input, axes) if axes else g.Identity(input)


def transpose(g: Graph, input: Value, dim0: int, dim1: int) -> Value:
    perm = [*range(input.ndim)]
    if perm:
        perm[dim0], perm[dim1] = perm[dim1], perm[dim0]
    return g.Transpose(input, perm=perm)


def part(g: Graph, input: Value, dim: int, start: Any, stop: Any, step: Any) -> Value:
    """The row of a slice."""
    start, stop = 0 if start is None else start, END if stop is None else stop
    return g.Slice(input, [start], [stop], [axis(dim, input.ndim)], [1 if step is None else step])


def split(g: Graph, input: Value, dim: int, outs: Sequence[Value]) -> Any:
    at = axis(dim, input.ndim)
    if len(outs) == 1:
        return g.Identity(input)
    return g.Split(input, [out.shape[at] for out in outs], outputs=len(outs), axis=at)


def unbind(g: Graph, input: Value, dim: int, outs: Sequence[Value]) -> list[Value]:
    return [g.Gather(input, np.array(k), axis=dim) for k in range(len(outs))]


def roll(g: Graph, input: Value, shifts: Any, dims: Any) -> Value:
    if not dims and dims != 0:
        raise Unmapped("it needs dims=")
    pairs = zip(*(n if isinstance(n, (tuple, list)) else [n] for n in (shifts, dims)), strict=True)
    for shift, dim in pairs:
        ends = part(g, input, dim, -shift, None, 1), part(g, input, dim, 0, -shift, 1)
        input = g.Concat(*ends, axis=dim) if shift else input
    return input


def item(g: Graph, self: Value, given: Any) -> Value:
    """The row of an index of integers, slices, None, `...`, one mask, or tensors of integers."""
    items = list(given) if isinstance(given, tuple) else [given]
    items = [g.constant(np.array(i, SIZE)) if isinstance(i, list) and i else i for i in items]
    used = sum(
        (i.ndim if i.dtype == BOOL else 1) if isinstance(i, Value) else i is not None and i is not ...
        for i in items
    )
    full = [slice(None)] * (self.ndim - used)
    places = [k for k, i in enumerate(items) if i is ...] or [len(items)]
    items[places[0] : places[0] + 1] = full
    tensors = [i for i in items if isinstance(i, Value)]
    if len(tensors) > 1 or (tensors and tensors[0].dtype == BOOL):
        if items[: len(tensors)] != tensors or any(i != slice(None) for i in items[len(tensors) :]):
            raise Unmapped("several index tensors, or a mask, must be the first items")
        return select_points(g, self, tensors)
    made, at = self, 0
    for i in items:
        if i is None:
            made = g.Unsqueeze(made, [at])
        elif isinstance(i, slice):
            if i != slice(None):
                made = _slice(g, made, at, i)
        elif isinstance(i, Value):
            made, at = g.Gather(made, i, axis=at), at + i.ndim - 1
        else:
            one = np.array(i) if isinstance(i, int) else g.Squeeze(g.sizes([i]))
            made, at = g.Gather(made, one, axis=at), at - 1
        at += 1
    return made if made is not self else g.Identity(self)


def _slice(g: Graph, value: Value, dim: int, at: slice) -> Value:
    start, stop = 0 if at.start is None else at.start, END if at.stop is None else at.stop
    return g.Slice(value, [start], [stop], [dim], [1 if at.step is None else at.step])


def select_points(g: Graph, input: Value, tensors: Sequence[Value]) -> Value:
    """The elements at an index of tensors for the first dimensions, or of one mask."""
    if tensors[0].dtype == BOOL:
        return g.GatherND(input, g.Transpose(g.NonZero(tensors[0], dtype=SIZE), perm=[1, 0]))
    whole = tensors[0]
    for tensor in tensors[1:]:
        whole = g.Add(whole, tensor)
    each = [g.Unsqueeze(g.Expand(t, g.Shape(whole)), [-1]) for t in tensors]
    sizes = g.Shape(Value.of(input, SIZE), start=0, end=len(tensors))
    at = g.Concat(*each, axis=-1)
    return g.GatherND(input, g.Where(g.Less(at, 0, dtype=BOOL), g.Add(at, sizes), at))


def pad(g: Graph, input: Value, pad: Sequence[int], value: float) -> Value:
    lead = input.ndim - len(pad) // 2
    before, after = ([0] * lead + list(pad[k::2])[::-1] for k in (0, 1))
    return g.Pad(input, before + after, float(value) if input.dtype.kind == "f" else int(value))


def resample(g: Graph, input: Value, maps: Sequence[Any]) -> Value:
    """The row of weighted sums along the last dimensions: resized, padded and averaged images.

    Each new element of a dimension is one old element, or a product with a matrix.
    """
    for number, taps in enumerate(maps):
        if taps is None:
            continue
        if isinstance(taps, Both) and not isinstance(taps.size, Dim):
            taps = taps.first
        if isinstance(taps, Both):
            raise Unmapped("it resamples a dimension of dynamic size")
        matrix, at = taps.apply(np.eye(taps.size, dtype=input.dtype), 0), number - len(maps)
        if ((matrix == 0) | (matrix == 1)).all() and (matrix.sum(1) == 1).all():
            moved = g.Gather(input, matrix.argmax(1), axis=at)
        else:
            ends = [*range(input.ndim)]
            ends[at], ends[-1] = ends[-1], ends[at]
            moved = g.MatMul(g.Transpose(input, perm=ends), g.constant(matrix.T.copy()))
            moved = g.Transpose(moved, perm=ends)
        input = Value.of(moved, input.dtype, input.shape)
    return input


# Layers.


def linear(g: Graph, bias: Value, input: Value, weight: Value) -> Value:
    if input.ndim == 2:
        return g.Gemm(input, weight, bias, transB=1)
    return g.Add(g.MatMul(input, g.Transpose(weight, perm=[1, 0])), bias)


def addmm(g: Graph, input: Value, mat1: Value, mat2: Value, beta: float, alpha: float) -> Value:
    return g.Gemm(mat1, mat2, input, alpha=float(alpha), beta=float(beta))


def baddbmm(g: Graph, input: Value, batch1: Value, batch2: Value, beta: float, alpha: float) -> Value:
    return g.Add(g.Mul(input, beta), g.Mul(g.MatMul(batch1, batch2), alpha))


def convolution(
    g: Graph, input: Value, weight: Value, bias: Value | None, stride: Any, padding: Any,
    dilation: Any, transposed: bool, output_padding: Any, groups: int,
) -> Value:  # fmt: skip
    options = {
        "strides": stride, "pads": [*padding, *padding], "dilations": dilation, "group": groups
    }  # fmt: skip
    if transposed:
        return g.ConvTranspose(input, weight, bias, output_padding=output_padding, **options)
    return g.Conv(input, weight, bias, **options)


def pooling(g: Graph, op_type: str, input: Value, at: Any, **options: Any) -> Value:
    """The windows of ``at``."""
    single = input.ndim == len(at.kernel) + 1
    made = g.add(
        op_type, (g.Unsqueeze(input, [0]) if single else input,), kernel_shape=at.kernel,
        strides=at.stride, pads=[*at.padding, *at.after], **options,
    )  # fmt: skip
    return g.Squeeze(made, [0]) if single else made


def max_pool(g: Graph, input: Value, parts: Any) -> Value:
    return pooling(g, "MaxPool", input, parts, dilations=parts.dilation)


def avg_pool(g: Graph, input: Value, at: Any, with_padding: bool, divisor: int | None) -> Value:
    if with_padding and divisor is None and any(a > p for a, p in zip(at.after, at.padding, strict=True)):
        raise Unmapped("windows beyond the padding, by ceil_mode with count_include_pad")
    made = pooling(g, "AveragePool", input, at, count_include_pad=int(with_padding or divisor is not None))
    return made if divisor is None else g.Mul(made, math.prod(at.kernel) / divisor)


def adaptive_max_pool(g: Graph, input: Value, parts: Sequence[int]) -> Value:
    dims = len(parts)
    sizes = [_static(n) for n in input.shape[-dims:]]
    if any(n % p for n, p in zip(sizes, parts, strict=True)):
        raise Unmapped("windows of different sizes; make the output a divisor of the input")
    step = [n // p for n, p in zip(sizes, parts, strict=True)]
    single = input.ndim == dims + 1
    made = g.MaxPool(g.Unsqueeze(input, [0]) if single else input, kernel_shape=step, strides=step)
    return g.Squeeze(made, [0]) if single else made


def mean_of_neighbours(g: Graph, input: Value, size: int, before: int) -> Value:
    """The row of `local_response_norm`: the mean of neighbouring channels."""
    rest = [0] * (input.ndim - 2)
    made = g.AveragePool(
        g.Unsqueeze(input, [1]), kernel_shape=[size, *(1 for _ in rest)],
        pads=[before, *rest, size - 1 - before, *rest], count_include_pad=1,
    )  # fmt: skip
    return g.Squeeze(made, [1])


def weight_norm(g: Graph, v: Value, length: Value, dim: int | None) -> Value:
    axes = [d for d in range(v.ndim) if dim is None or d != axis(dim, v.ndim)]
    return g.Mul(v, g.Div(length, g.ReduceL2(v, axes, keepdims=1)))


def batch_norm(
    g: Graph, input: Value, running_mean: Value | None, running_var: Value | None,
    weight: Value | None, bias: Value | None, training: bool, eps: float,
) -> Value:  # fmt: skip
    if training:
        raise Unmapped("it uses the statistics of the batch")
    w, b = _affine(g, weight, bias, input.shape[1:2], input.dtype)
    return g.BatchNormalization(input, w, b, running_mean, running_var, epsilon=eps)


def _affine(g: Graph, weight: Any, bias: Any, shape: Any, dtype: Any) -> tuple[Value, Value]:
    """Weight and bias; ones and zeros for those that are None."""
    sizes = [_static(n) for n in shape]
    return (
        g.constant(np.ones(sizes, dtype)) if weight is None else weight,
        g.constant(np.zeros(sizes, dtype)) if bias is None else bias,
    )


def instance_norm(
    g: Graph, input: Value, running_mean: Value | None, running_var: Value | None,
    weight: Value | None, bias: Value | None, use_input_stats: bool, eps: float,
) -> Value:  # fmt: skip
    if not use_input_stats:
        return batch_norm(g, input, running_mean, running_var, weight, bias, False, eps)
    w, b = _affine(g, weight, bias, input.shape[1:2], input.dtype)
    return g.InstanceNormalization(input, w, b, epsilon=eps)


def group_norm(
    g: Graph, input: Value, num_groups: int, weight: Value | None, bias: Value | None, eps: float
) -> Value:
    plain = _affine(g, None, None, [num_groups], input.dtype)
    made = g.InstanceNormalization(g.Reshape(input, [0, num_groups, -1]), *plain, epsilon=eps)
    made = g.Reshape(made, g.Shape(Value.of(input, SIZE)))
    own = [-1] + [1] * (input.ndim - 2)
    made = made if weight is None else g.Mul(made, g.Reshape(weight, own))
    return made if bias is None else g.Add(made, g.Reshape(bias, own))


def layer_norm(
    g: Graph, input: Value, normalized_shape: Any, weight: Value | None, bias: Value | None,
    eps: float,
) -> Value:  # fmt: skip
    w, _ = _affine(g, weight, bias, normalized_shape, input.dtype)
    return g.LayerNormalization(input, w, bias, axis=-len(normalized_shape), epsilon=eps)


def attention(
    g: Graph, query: Value, key: Value, value: Value, attn_mask: Value | None, dropout_p: float,
    is_causal: bool, scale: float | None, enable_gqa: bool,
) -> Value:  # fmt: skip
    if dropout_p or enable_gqa:
        raise Unmapped("it has dropout_p= or enable_gqa=")
    factor = 1 / math.sqrt(_static(query.shape[-1])) if scale is None else scale
    scores = g.MatMul(g.Mul(query, factor), transpose(g, key, -2, -1))
    if is_causal:
        every = g.Expand(np.array(-np.inf, query.dtype), [query.shape[-2], key.shape[-2]])
        scores = g.Add(scores, g.Trilu(every, np.array(1), upper=1))
    if attn_mask is None:
        return g.MatMul(g.Softmax(scores, axis=-1), value)
    if attn_mask.dtype == BOOL:
        scores = g.Where(attn_mask, scores, -np.inf)
    else:
        scores = g.Add(scores, attn_mask)
    return g.MatMul(safe_softmax(g, scores), value)


# Recurrent layers, one direction of one layer each. ONNX has the gates in another order.


def recurrence(op_type: str, order: Sequence[int], states: int) -> Any:
    """The row of a recurrent layer: the outputs, and the states after the last step.

    Args:
        order: the places of ONNX's gates among those of the layer.
        states: the number of states.
    """

    def row(g: Graph, self: Any, x: Value, initial: Any, weights: Any, way: Any) -> list[Value]:
        if x.ndim != 3 or len(weights) % 2:
            raise Unmapped("a packed sequence, or a projection")
        parts = [_gates(g, weight, order) for weight in weights]
        bias = g.Unsqueeze(g.Concat(*parts[2:], axis=0), [0]) if parts[2:] else None
        options = {"linear_before_reset": 1} if op_type == "GRU" else {}
        if op_type == "RNN":
            options = {"activations": [self.nonlinearity.title()]}
        made = g.add(
            op_type, (x, *(g.Unsqueeze(part, [0]) for part in parts[:2]), bias, None,
                      *(g.Unsqueeze(state, [0]) for state in initial)),
            outputs=1 + states, hidden_size=_static(initial[0].shape[-1]),
            direction="reverse" if way[1] else "forward", **options,
        )  # fmt: skip
        return [g.Squeeze(made[0], [1]), *(g.Squeeze(state, [0]) for state in made[1:])]

    return row


def _gates(g: Graph, weight: Value, order: Sequence[int]) -> Value:
    """The rows of a weight or bias, with the gates in another order."""
    if len(order) == 1:
        return weight
    parts = g.Split(weight, outputs=len(order), axis=0, num_outputs=len(order))
    return g.Concat(*(parts[k] for k in order), axis=0)


TABLE: Mapping[str, Any] = {
    # Elementwise.
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh",
    "atan": "Atan", "atanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf",
    "exp": "Exp", "floor": "Floor", "isinf": "IsInf", "isnan": "IsNaN", "log": "Log", "neg": "Neg",
    "reciprocal": "Reciprocal", "relu": "Relu", "round_whole": "Round", "sigmoid": "Sigmoid",
    "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
    "mish": "Mish", "mul": "Mul", "true_divide": "Div", "pow_tensor": "Pow", "maximum": "Max",
    "minimum": "Min", "clone": "Identity", "alias": "Identity", "detach": lambda g, self: g.Identity(self),
    "data": lambda g, self: g.Identity(self), "clamp_min_tensor": "Max", "clamp_max_tensor": "Min",
    "floor_divide": floor_divide, "remainder_number": remainder, "remainder_tensor": remainder,
    "add": scaled("Add"), "sub": scaled("Sub"),
    "rsub": lambda g, input, other: g.Sub(other, input),
    "plus_number": lambda g, input, other: g.Add(input, other),
    "times_number": lambda g, input, other: g.Mul(input, other),
    "over_number": lambda g, input, other: g.Div(input, other),
    "pow_number": lambda g, input, exponent, out: g.Pow(g.cast(input, out.dtype), exponent),
    "pow_base": lambda g, exponent, input: g.Pow(np.array(input, exponent.dtype), exponent),
    "rsqrt": lambda g, input: g.Reciprocal(g.Sqrt(input)),
    "expm1": lambda g, input: g.Sub(g.Exp(input), 1),
    "log1p": lambda g, input: g.Log(g.Add(input, 1)),
    "exp2": lambda g, input: g.Pow(np.array(2, input.dtype), input),
    "log2": lambda g, input: g.Div(g.Log(input), math.log(2)),
    "log10": lambda g, input: g.Div(g.Log(input), math.log(10)),
    "addcmul": lambda g, input, tensor1, tensor2, value: g.Add(input, g.Mul(g.Mul(tensor1, tensor2), value)),
    "addcdiv": lambda g, input, tensor1, tensor2, value: g.Add(input, g.Mul(g.Div(tensor1, tensor2), value)),
    "lerp_number": lambda g, input, end, weight: g.Add(input, g.Mul(g.Sub(end, input), weight)),
    "lerp_tensor": lambda g, input, end, weight: g.Add(input, g.Mul(g.Sub(end, input), weight)),
    "eq": comparison("Equal"), "gt": comparison("Greater"), "lt": comparison("Less"),
    "ge": comparison("GreaterOrEqual"), "le": comparison("LessOrEqual"),
    "ne": lambda g, input, other: g.Not(g.Equal(input, other, dtype=BOOL)),
    "logical_not": lambda g, input: g.Not(g.cast(input, BOOL)),
    "bitwise_not": lambda g, input: g.Not(input) if input.dtype == BOOL else g.BitwiseNot(input),
    "logical_and": logical("And"), "logical_or": logical("Or"), "logical_xor": logical("Xor"),
    "bitwise_and": logical("And", "BitwiseAnd"), "bitwise_or": logical("Or", "BitwiseOr"),
    "bitwise_xor": logical("Xor", "BitwiseXor"),
    "clamp_numbers": clip,
    "clamp_min_number": lambda g, input, min, out: clip(g, input, min, None, out),
    "clamp_max_number": lambda g, input, max, out: clip(g, input, None, max, out),
    "convert": lambda g, input, out: g.cast(input, out.dtype),
    "where_true": lambda g, condition, input, other, out: g.Where(
        condition, g.cast(input, out.dtype), g.cast(other, out.dtype)
    ),
    "mask_by_number": lambda g, input, mask, value: g.Where(mask, np.array(value, input.dtype), input),
    "mask_by_tensor": lambda g, input, mask, value: g.Where(mask, g.cast(value, input.dtype), input),
    # Activations.
    "leaky_relu": lambda g, input, negative_slope: g.LeakyRelu(input, alpha=float(negative_slope)),
    "celu": lambda g, input, alpha: g.Celu(input, alpha=float(alpha)),
    "hardtanh": lambda g, input, min_val, max_val: g.Clip(input, min_val, max_val),
    "hardsigmoid": lambda g, input: g.HardSigmoid(input, alpha=1 / 6, beta=0.5),
    "hardswish": lambda g, input: g.HardSwish(input),
    "silu": lambda g, input: g.Mul(input, g.Sigmoid(input)),
    "log_sigmoid": lambda g, input: g.Neg(g.Softplus(g.Neg(input))),
    "hardshrink": lambda g, input, lambd: g.Shrink(input, lambd=float(lambd), bias=0.0),
    "softshrink": lambda g, input, lambd: g.Shrink(input, lambd=float(lambd), bias=float(lambd)),
    "threshold": lambda g, input, threshold, value: g.Where(
        g.Greater(input, threshold, dtype=BOOL), input, value
    ),
    "prelu_kernel": lambda g, input, weight: g.PRelu(input, weight),
    "softplus": softplus, "elu": elu, "gelu_unit": gelu, "glu_along": glu,
    "softmax_along": lambda g, input, dim: g.Softmax(input, axis=dim),
    "log_softmax_along": lambda g, input, dim: g.LogSoftmax(input, axis=dim),
    "safe_softmax": safe_softmax,
    # Reductions.
    "sum_along": reduce("ReduceSum"), "sum_all": reduce_all("ReduceSum"),
    "mean_along": reduce("ReduceMean"), "mean_all": reduce_all("ReduceMean"),
    "prod_along": reduce("ReduceProd"), "prod_all": reduce_all("ReduceProd"),
    "amax_along": reduce("ReduceMax"), "max_all": reduce_all("ReduceMax"),
    "amin_along": reduce("ReduceMin"), "min_all": reduce_all("ReduceMin"),
    "logsumexp": reduce("ReduceLogSumExp"), "any": truth("ReduceMax"), "all": truth("ReduceMin"),
    "max_along": extremum("ReduceMax", "ArgMax"), "min_along": extremum("ReduceMin", "ArgMin"),
    "argmax": position("ArgMax"), "argmin": position("ArgMin"),
    "var_along": variance, "norm_along": norm,
    "std_along": lambda g, input, dim, keepdim, correction: g.Sqrt(
        variance(g, input, dim, keepdim, correction)
    ),
    "cumsum": lambda g, input, dim, out: g.CumSum(g.cast(input, out.dtype), np.array(dim)),
    "topk": lambda g, input, k, dim, largest: _ranked(g, input, [k], dim, largest),
    "sort_along": lambda g, input, dim, descending: _ranked(
        g, input, [input.shape[dim]], dim, descending
    ),
    # Shapes and parts.
    **dict.fromkeys(
        ("view_in", "reshape_alias", "unsafe_view"), lambda g, input, out: g.reshape(input, out.shape)
    ),
    "transpose": transpose, "t": lambda g, input: transpose(g, input, 0, -1),
    "permute_to": lambda g, input, dims: g.Transpose(input, perm=dims),
    "unsqueeze": lambda g, input, dim: g.Unsqueeze(input, [dim]),
    "squeeze_one": squeeze, "squeeze_several": squeeze,
    "squeeze_all": lambda g, input: squeeze(g, input, [*range(input.ndim)]),
    "expand_to": lambda g, input, out: g.Expand(input, out.shape),
    "repeat_by": lambda g, input, repeats: g.Tile(
        g.Unsqueeze(input, [*range(len(repeats) - input.ndim)]) if len(repeats) > input.ndim else input,
        repeats,
    ),
    "cat_along": lambda g, tensors, dim: g.Concat(*tensors, axis=dim),
    "stack_along": lambda g, tensors, dim, out: g.Concat(
        *(g.Unsqueeze(t, [axis(dim, len(out.shape))]) for t in tensors), axis=dim
    ),
    "select": lambda g, input, dim, index: g.Gather(input, np.array(index), axis=dim),
    "slice_along": part, "split_equally": split, "split_with_sizes": split, "unbind": unbind,
    "flip_along": lambda g, input, dims: g.Slice(
        input, [-1] * len(dims), [-END] * len(dims), dims, [-1] * len(dims)
    ),
    "roll": roll, "constant_pad_nd": pad, "__getitem__": item,
    "tril": lambda g, input, diagonal: g.Trilu(input, np.array(diagonal), upper=0),
    "triu": lambda g, input, diagonal: g.Trilu(input, np.array(diagonal), upper=1),
    "index_select": lambda g, input, dim, index: g.Gather(input, index, axis=dim),
    "gather": lambda g, input, dim, index: g.GatherElements(input, index, axis=dim),
    "embedding_rows": lambda g, weight, indices: g.Gather(weight, indices, axis=0),
    "one_hot_rows": lambda g, input, num_classes: g.OneHot(
        input, np.array(num_classes), np.array([0, 1]), axis=-1, dtype=SIZE
    ),
    # Matrices and layers.
    **dict.fromkeys(("mm", "bmm", "dot", "products_of_samples"), "MatMul"),
    "mv": "MatMul", "addmm": addmm, "baddbmm": baddbmm, "layer": linear, "layer_of_rows": linear,
    "einsum": lambda g, args: g.Einsum(
        *(args[1] if isinstance(args[1], (list, tuple)) else args[1:]),
        equation=args[0].replace(" ", ""),
    ),
    "trilinear": lambda g, a, b, c, equation: g.Einsum(a, b, c, equation=equation),
    "convolve": convolution, "mean_of_neighbours": mean_of_neighbours, "stretched": weight_norm,
    "max_pool2d_with_indices": max_pool, "max_pool3d_with_indices": max_pool,
    "avg_pool2d": avg_pool, "avg_pool3d": avg_pool,
    "adaptive_max_pool2d": adaptive_max_pool, "adaptive_max_pool3d": adaptive_max_pool,
    **dict.fromkeys((
        "adaptive_avg_pool2d", "adaptive_avg_pool3d", "circular_pad",
        *(f"{kind}_pad{n}d" for kind in ("reflection", "replication") for n in (1, 2, 3)),
        *(f"upsample_{kind}{n}d" for kind in ("nearest", "nearest_exact") for n in (1, 2, 3)),
        "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
        "upsample_bilinear2d_aa", "upsample_bicubic2d_aa",
    ), resample),
    "pixel_shuffle": lambda g, input, upscale_factor: g.DepthToSpace(
        input, blocksize=upscale_factor, mode="CRD"
    ),
    "batch_norm": batch_norm, "instance_norm": instance_norm, "layer_norm": layer_norm,
    "group_norm": group_norm, "scaled_dot_product_attention": attention,
    "RNN": recurrence("RNN", [0], 1), "GRU": recurrence("GRU", [1, 0, 2], 1),
    "LSTM": recurrence("LSTM", [0, 3, 1, 2], 2),
}  # fmt: skip


def _ranked(g: Graph, input: Value, count: Any, dim: int, largest: bool) -> list[Value]:
    values, indices = g.TopK(input, count, outputs=2, axis=dim, largest=int(largest))
    return [values, Value.of(indices, SIZE)]
