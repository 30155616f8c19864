"""The mapping of each operation to ONNX.

A row is the name of an ONNX operator with the same operands, or a function of the graph and of
those arguments of the operation that its parameters name; an absent one is None. ``out`` stands for
the first result, and ``outs`` for all: their dtypes and shapes.
"""

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.nn import functional as F
from nanotorch.nn import recurrent
from nanotorch.nn.functional import spatial
from nanotorch.onnx.graph import BOOL, SIZE, Both, Dim, Graph, Unmapped, Value
from nanotorch.ops import creation, products, reduction

END = np.iinfo(np.int64).max
V = Value
Maybe = Value | None

# The functions of several operations that have rows as a whole: their own arguments say more.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "detach": Tensor.detach, "data": vars(Tensor)["data"].fget, "item": Tensor.__getitem__,
    "convert": creation.convert, "argmax": reduction.argmax, "argmin": reduction.argmin,
    "all": reduction.all, "any": reduction.any, "einsum": products.einsum,
    "batch_norm": spatial.normalize_channels, "instance_norm": F.instance_norm,
    "layer_norm": F.layer_norm, "group_norm": F.group_norm,
    "attention": F.scaled_dot_product_attention, "RNN": recurrent.RNN._direction,
    "GRU": recurrent.GRU._direction, "LSTM": recurrent.LSTM._direction,
}  # fmt: skip


def require(fits: Any, what: str) -> None:
    """Raise `Unmapped` unless ``fits``."""
    if not fits:
        raise Unmapped(what)


def fixed(size: Any) -> int:
    """A size that must not depend on the inputs."""
    require(not isinstance(size, Dim), "it needs a size that is dynamic")
    return int(size)


# Elementwise operations and activations.


def of_bits(op_type: str) -> Any:
    """The row of a logical operation, or of a bitwise one."""

    def row(g: Graph, input: V, other: V, out: V) -> V:
        if out.dtype != BOOL:
            return g.add(f"Bitwise{op_type}", (input, other))
        return g.add(op_type, (g.cast(input, BOOL), g.cast(other, BOOL)))

    return row


def scaled(op_type: str) -> Any:
    """The row of a sum or difference with a factor ``alpha``."""
    return lambda g, input, other, alpha: g.add(
        op_type, (input, other if alpha == 1 else g.Mul(other, alpha))
    )


def clip(g: Graph, input: V, min: Any, max: Any, out: V) -> V:
    return g.Clip(g.cast(input, out.dtype), min, max)


def floor_divide(g: Graph, input: V, other: V) -> V:
    wide = input.dtype if input.dtype.kind == "f" else np.float64
    return g.Floor(g.Div(g.cast(input, wide), g.cast(other, wide)))


def remainder(g: Graph, input: V, other: V) -> V:
    if input.dtype.kind != "f":
        return g.Mod(input, other)
    return g.Sub(input, g.Mul(g.Floor(g.Div(input, other)), other))


def softplus(g: Graph, input: V, beta: float, threshold: float) -> V:
    times = g.Mul(input, beta)
    large = g.Greater(times, threshold, dtype=BOOL)
    return g.Where(large, input, g.Div(g.Softplus(times), beta))


def glu(g: Graph, input: V, dim: int) -> V:
    first, second = g.Split(input, outputs=2, axis=dim, num_outputs=2)
    return g.Mul(first, g.Sigmoid(second))


def safe_softmax(g: Graph, input: V) -> V:
    """The softmax along the last dimension; zeros if all elements are -inf."""
    made = g.Softmax(input, axis=-1)
    return g.Where(g.IsNaN(made, dtype=BOOL), 0, made)


# Reductions.


def reduce(op_type: str) -> Any:
    """The row of a reduction, of all elements or along dimensions, in the dtype of the result."""

    def row(g: Graph, input: V, dim: Any, keepdim: Any, out: V) -> V:
        axes = [dim] if isinstance(dim, int) else dim
        if out.dtype == BOOL:
            input = g.cast(g.cast(input, BOOL), np.int32)
        else:
            input = g.cast(input, out.dtype)
        return g.add(op_type, (input, axes), keepdims=int(keepdim or False))

    return row


def position(op_type: str) -> Any:
    """The row of the index of an extremum."""

    def row(g: Graph, input: V, dim: int | None, keepdim: bool) -> V:
        input = g.Reshape(input, [-1]) if dim is None else input
        keepdims = int(keepdim and dim is not None)
        return g.add(op_type, (input,), dtype=SIZE, axis=dim or 0, keepdims=keepdims)

    return row


def extremum(op_type: str) -> Any:
    """The row of an extremum along a dimension, and its index."""
    return lambda g, input, dim, keepdim: [
        g.add(f"Reduce{op_type}", (input, [dim]), keepdims=int(keepdim)),
        position(f"Arg{op_type}")(g, input, dim, keepdim),
    ]


def variance(g: Graph, input: V, dim: Any, keepdim: bool, correction: float) -> V:
    count = math.prod(fixed(input.shape[d]) for d in dim) if correction else math.inf
    rest = g.Sub(input, g.ReduceMean(input, [*dim], keepdims=1))
    mean = g.ReduceMean(g.Mul(rest, rest), [*dim], keepdims=int(keepdim))
    return g.Mul(mean, count / (count - correction)) if correction else mean


def norm(g: Graph, input: V, ord: float, dim: Any, keepdim: bool) -> V:
    require(ord in (1, 2), f"no mapping to ONNX for order {ord:g}")
    return g.add(f"ReduceL{ord:g}", (input, [*dim]), keepdims=int(keepdim))


def ranked(g: Graph, input: V, count: Any, dim: int, largest: bool) -> list[V]:
    values, indices = g.TopK(input, [count], outputs=2, axis=dim, largest=int(largest))
    return [values, V.of(indices, SIZE)]


# Shapes and parts.


def transpose(g: Graph, input: V, dim0: int, dim1: int) -> V:
    perm = [*range(len(input.shape))]
    perm[dim0], perm[dim1] = perm[dim1], perm[dim0]
    return g.Transpose(input, perm=perm)


def part(g: Graph, input: V, dim: int, start: Any, stop: Any, step: Any) -> V:
    start, stop = 0 if start is None else start, END if stop is None else stop
    return g.Slice(input, [start], [stop], [dim], [1 if step is None else step])


def split(g: Graph, input: V, dim: int, outs: Sequence[V]) -> Any:
    return g.Split(input, [out.shape[dim] for out in outs], outputs=len(outs), axis=dim)


def item(g: Graph, self: V, given: Any, out: V) -> V:
    """The row of an index: of integers, slices, None, `...`, and tensors.

    There is one tensor of integers; or several, or one mask, which must be the first items.
    """
    items = list(given) if isinstance(given, tuple) else [given]
    items = [g.constant(np.array(i, SIZE)) if isinstance(i, list) else i for i in items]
    taken = [
        len(i.shape) if isinstance(i, V) and i.dtype == BOOL else 1 for i in items if _takes(i)
    ]
    at = next((k for k, i in enumerate(items) if i is ...), len(items))
    items[at : at + 1] = [slice(None)] * (len(self.shape) - sum(taken))
    tensors = [i for i in items if isinstance(i, V)]
    if len(tensors) > 1 or (tensors and tensors[0].dtype == BOOL):
        plain = items[: len(tensors)] == tensors and {*map(str, items[len(tensors) :])}
        require(plain in (set(), {str(slice(None))}), "index tensors must be the first items")
        return points(g, self, tensors)
    made, axis = self, 0
    for i in filter(_takes, items):
        if isinstance(i, V):
            made, axis = g.Gather(made, i, axis=axis), axis + len(i.shape) - 1
        elif isinstance(i, slice) and i != slice(None):
            made = part(g, made, axis, i.start, i.stop, i.step)
        elif not isinstance(i, slice):
            made, axis = g.Gather(made, g.Squeeze(g.sizes([i])), axis=axis), axis - 1
        axis += 1
    return g.reshape(made, out.shape) if None in items else g.Identity(made)


def _takes(item: Any) -> bool:
    """Whether an item of an index takes a dimension."""
    return item is not None and item is not ...


def points(g: Graph, input: V, tensors: Sequence[V]) -> V:
    """The elements at tensors of indices of the first dimensions, or at one mask."""
    if tensors[0].dtype == BOOL:
        return g.GatherND(input, g.Transpose(g.NonZero(tensors[0], dtype=SIZE), perm=[1, 0]))
    whole = g.Shape(functools.reduce(g.Add, tensors))
    at = g.Concat(*(g.Unsqueeze(g.Expand(t, whole), [-1]) for t in tensors), axis=-1)
    sizes = g.Shape(V.of(input, SIZE), start=0, end=len(tensors))
    return g.GatherND(input, g.Where(g.Less(at, 0, dtype=BOOL), g.Add(at, sizes), at))


def pad(g: Graph, input: V, pad: Sequence[int], value: float) -> V:
    rest = [0] * (len(input.shape) - len(pad) // 2)
    before, after = ([*rest, *pad[k::2][::-1]] for k in (0, 1))
    return g.Pad(input, before + after, value)


def resample(g: Graph, input: V, maps: Sequence[Any]) -> V:
    """The row of weighted sums along the last dimensions: resized, padded and averaged images.

    Each new element of a dimension is one old element, or a row of a product with a matrix.
    """
    for at, taps in zip(range(-len(maps), 0), maps, strict=True):
        if taps is None:
            continue
        matrix = (taps.first if isinstance(taps, Both) else taps).apply(
            np.eye(fixed(taps.size), dtype=input.dtype), 0
        )
        if ((matrix == 0) | (matrix == 1)).all() and (matrix.sum(1) == 1).all():
            made = g.Gather(input, matrix.argmax(1), axis=at)
        else:
            turned = transpose(g, input, at, -1)
            made = g.MatMul(turned, g.constant(np.ascontiguousarray(matrix.T)))
            made = transpose(g, V.of(made, input.dtype, input.shape), at, -1)
        input = V.of(made, input.dtype, input.shape)
    return input


# Layers.


def linear(g: Graph, bias: V, input: V, weight: V) -> V:
    if len(input.shape) == 2:
        return g.Gemm(input, weight, bias, transB=1)
    return g.Add(g.MatMul(input, g.Transpose(weight, perm=[1, 0])), bias)


def convolution(
    g: Graph, input: V, weight: V, bias: Maybe, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> V:  # fmt: skip
    return g.add(
        "ConvTranspose" if transposed else "Conv", (input, weight, bias), strides=stride,
        pads=[*padding, *padding], dilations=dilation, group=groups,
        output_padding=output_padding if transposed else None,
    )  # fmt: skip


def pooling(g: Graph, op_type: str, input: V, at: Any, **options: Any) -> V:
    """The windows of ``at``."""
    require(len(input.shape) == len(at.kernel) + 2, "it needs a dimension for the samples")
    pads = [*at.padding, *at.after]
    shape = {"kernel_shape": at.kernel, "strides": at.stride, "pads": pads}
    return g.add(op_type, (input,), **shape, **options)


def max_pool(g: Graph, input: V, parts: Any) -> V:
    return pooling(g, "MaxPool", input, parts, dilations=parts.dilation)


def avg_pool(g: Graph, input: V, at: Any, with_padding: bool, divisor: int | None) -> V:
    beyond = any(a > p for a, p in zip(at.after, at.padding, strict=True))
    counted = with_padding or divisor is not None
    require(divisor or not (beyond and with_padding), "windows that end beyond the padding")
    made = pooling(g, "AveragePool", input, at, count_include_pad=int(counted))
    return made if divisor is None else g.Mul(made, math.prod(at.kernel) / divisor)


def adaptive_max_pool(g: Graph, input: V, parts: Sequence[int]) -> V:
    sizes = [fixed(n) for n in input.shape[-len(parts) :]]
    require(not any(map(operator.mod, sizes, parts)), "windows of different sizes")
    require(len(input.shape) == len(parts) + 2, "it needs a dimension for the samples")
    step = [*map(operator.floordiv, sizes, parts)]
    return g.MaxPool(input, kernel_shape=step, strides=step)


def neighbours(g: Graph, input: V, size: int, before: int) -> V:
    """The row of `local_response_norm`: the mean of neighbouring channels."""
    rest = [0] * (len(input.shape) - 2)
    at = {"kernel_shape": [size, *(1 for _ in rest)], "count_include_pad": 1}
    at["pads"] = [before, *rest, size - 1 - before, *rest]
    return g.Squeeze(g.AveragePool(g.Unsqueeze(input, [1]), **at), [1])


def affine(g: Graph, weight: Maybe, bias: Maybe, shape: Any, like: V) -> tuple[V, V]:
    """Weight and bias; ones and zeros for those that are None."""
    given, sizes = zip((weight, bias), (np.ones, np.zeros), strict=True), [*map(fixed, shape)]
    w, b = (g.constant(make(sizes, like.dtype)) if v is None else v for v, make in given)
    return w, b


def batch_norm(
    g: Graph, input: V, running_mean: Maybe, running_var: Maybe, weight: Maybe, bias: Maybe,
    training: bool, eps: float,
) -> V:  # fmt: skip
    require(not training, "it uses the statistics of the batch")
    own = affine(g, weight, bias, input.shape[1:2], input)
    return g.BatchNormalization(input, *own, running_mean, running_var, epsilon=eps)


def instance_norm(
    g: Graph, input: V, running_mean: Maybe, running_var: Maybe, weight: Maybe, bias: Maybe,
    use_input_stats: bool, eps: float,
) -> V:  # fmt: skip
    if not use_input_stats:
        return batch_norm(g, input, running_mean, running_var, weight, bias, False, eps)
    own = affine(g, weight, bias, input.shape[1:2], input)
    return g.InstanceNormalization(input, *own, epsilon=eps)


def group_norm(
    g: Graph, input: V, num_groups: int, weight: Maybe, bias: Maybe, eps: float, out: V
) -> V:
    rows = g.Reshape(input, [0, num_groups, -1])
    plain = affine(g, None, None, [num_groups], input)
    made = g.reshape(g.InstanceNormalization(rows, *plain, epsilon=eps), out.shape)
    each = [-1, *(1 for _ in input.shape[2:])]
    made = made if weight is None else g.Mul(made, g.Reshape(weight, each))
    return made if bias is None else g.Add(made, g.Reshape(bias, each))


def layer_norm(
    g: Graph, input: V, normalized_shape: Any, weight: Maybe, bias: Maybe, eps: float
) -> V:
    own = affine(g, weight, bias, normalized_shape, input)
    return g.LayerNormalization(input, *own, axis=-len(normalized_shape), epsilon=eps)


def attention(
    g: Graph, query: V, key: V, value: V, attn_mask: Maybe, dropout_p: float, is_causal: bool,
    scale: float | None, enable_gqa: bool,
) -> V:  # fmt: skip
    require(not (dropout_p or enable_gqa), "no mapping of dropout_p and enable_gqa")
    factor = fixed(query.shape[-1]) ** -0.5 if scale is None else scale
    scores = g.MatMul(g.Mul(query, factor), transpose(g, key, -2, -1))
    if is_causal:
        every = g.Expand(np.array(-np.inf, query.dtype), [query.shape[-2], key.shape[-2]])
        scores = g.Add(scores, g.Trilu(every, np.array(1), upper=1))
    if attn_mask is not None and attn_mask.dtype == BOOL:
        scores = g.Where(attn_mask, scores, -np.inf)
    elif attn_mask is not None:
        scores = g.Add(scores, attn_mask)
    return g.MatMul(safe_softmax(g, scores), value)


def recurrence(op_type: str, order: Sequence[int], states: int, **options: Any) -> Any:
    """The row of a direction of a recurrent layer: the outputs, and the states after the last step.

    Args:
        order: the places of ONNX's gates among those of the layer.
        states: the number of states.
    """

    def turned(g: Graph, weight: V) -> V:
        if len(order) == 1:
            return weight
        parts = g.Split(weight, outputs=len(order), axis=0, num_outputs=len(order))
        return g.Concat(*(parts[k] for k in order), axis=0)

    def row(g: Graph, self: Any, x: V, initial: Any, weights: Any, way: Any) -> list[V]:
        require(len(x.shape) == 3 and not len(weights) % 2, "a packed sequence, or a projection")
        w, r, *biases = (turned(g, weight) for weight in weights)
        bias = g.Unsqueeze(g.Concat(*biases, axis=0), [0]) if biases else None
        given = [w, r, bias, None, *initial]
        given = [v if v is bias or v is None else g.Unsqueeze(v, [0]) for v in given]
        activations = [self.nonlinearity.title()] if op_type == "RNN" else None
        made = g.add(
            op_type, (x, *given), outputs=1 + states, hidden_size=fixed(initial[0].shape[-1]),
            direction="reverse" if way[1] else "forward", activations=activations, **options,
        )  # fmt: skip
        return [g.Squeeze(made[0], [1]), *(g.Squeeze(state, [0]) for state in made[1:])]

    return row


def rows(row: Any, names: str) -> dict[str, Any]:
    """The same row for several operations; None: an operator of the operation's name."""
    return {name: row or name.title() for name in names.split()}


TABLE: Mapping[str, Any] = {
    # Elementwise operations and activations.
    **rows(None, "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log"),
    **rows(None, "mish mul neg reciprocal relu sigmoid sign sin sinh sqrt tan tanh"),
    **rows("Identity", "alias clone"),
    **rows(lambda g, self: g.Identity(self), "detach data"),
    **rows("Max", "maximum clamp_min_tensor"), **rows("Min", "minimum clamp_max_tensor"),
    **rows(clip, "clamp_numbers clamp_min_number clamp_max_number"),
    "isinf": "IsInf", "isnan": "IsNaN", "round_whole": "Round", "true_divide": "Div",
    "eq": "Equal", "gt": "Greater", "lt": "Less", "ge": "GreaterOrEqual", "le": "LessOrEqual",
    "ne": lambda g, input, other: g.Not(g.Equal(input, other, dtype=BOOL)),
    "add": scaled("Add"), "sub": scaled("Sub"), "floor_divide": floor_divide,
    "rsub": lambda g, input, other: g.Sub(other, input),
    "plus_number": lambda g, input, other: g.Add(input, other),
    "times_number": lambda g, input, other: g.Mul(input, other),
    "over_number": lambda g, input, other: g.Div(input, other),
    **rows(remainder, "remainder_number remainder_tensor"), "pow_tensor": "Pow",
    "pow_number": lambda g, input, exponent, out: g.Pow(g.cast(input, out.dtype), exponent),
    "pow_base": lambda g, exponent, input: g.Pow(np.array(input, exponent.dtype), exponent),
    "rsqrt": lambda g, input: g.Reciprocal(g.Sqrt(input)),
    "expm1": lambda g, input: g.Sub(g.Exp(input), 1),
    "log1p": lambda g, input: g.Log(g.Add(input, 1)),
    "log2": lambda g, input: g.Div(g.Log(input), math.log(2)),
    "log10": lambda g, input: g.Div(g.Log(input), math.log(10)),
    "logical_not": lambda g, input: g.Not(g.cast(input, BOOL)),
    "bitwise_not": lambda g, input: g.Not(input) if input.dtype == BOOL else g.BitwiseNot(input),
    **rows(of_bits("And"), "logical_and bitwise_and"),
    **rows(of_bits("Or"), "logical_or bitwise_or"),
    **rows(of_bits("Xor"), "logical_xor bitwise_xor"),
    "convert": lambda g, input, out: g.cast(input, out.dtype),
    "where_true": lambda g, condition, input, other, out: g.Where(
        condition, g.cast(input, out.dtype), g.cast(other, out.dtype)
    ),
    "mask_by_number": lambda g, input, mask, value: g.Where(mask, value, input),
    "mask_by_tensor": lambda g, input, mask, value: g.Where(
        mask, g.cast(value, input.dtype), input
    ),
    "leaky_relu": lambda g, input, negative_slope: g.LeakyRelu(input, alpha=float(negative_slope)),
    "elu": lambda g, input, alpha, scale: g.Mul(g.Elu(input, alpha=float(alpha)), scale),
    "celu": lambda g, input, alpha: g.Celu(input, alpha=float(alpha)),
    "gelu_unit": lambda g, input, approximate: g.Gelu(input, approximate=approximate),
    "glu_along": glu, "softplus": softplus, "hardswish": "HardSwish", "prelu_kernel": "PRelu",
    "silu": lambda g, input: g.Mul(input, g.Sigmoid(input)),
    "hardtanh": lambda g, input, min_val, max_val: g.Clip(input, min_val, max_val),
    "hardsigmoid": lambda g, input: g.HardSigmoid(input, alpha=1 / 6, beta=0.5),
    "log_sigmoid": lambda g, input: g.Neg(g.Softplus(g.Neg(input))),
    "hardshrink": lambda g, input, lambd: g.Shrink(input, lambd=float(lambd), bias=0.0),
    "softshrink": lambda g, input, lambd: g.Shrink(input, lambd=float(lambd), bias=float(lambd)),
    "threshold": lambda g, input, threshold, value: g.Where(
        g.Greater(input, threshold, dtype=BOOL), input, value
    ),
    "softmax_along": lambda g, input, dim: g.Softmax(input, axis=dim),
    "log_softmax_along": lambda g, input, dim: g.LogSoftmax(input, axis=dim),
    "safe_softmax": safe_softmax,
    # Reductions.
    **rows(reduce("ReduceSum"), "sum_along sum_all"),
    **rows(reduce("ReduceMean"), "mean_along mean_all"),
    **rows(reduce("ReduceProd"), "prod_along prod_all"),
    **rows(reduce("ReduceMax"), "amax_along max_all any"),
    **rows(reduce("ReduceMin"), "amin_along min_all all"),
    "logsumexp": reduce("ReduceLogSumExp"), "var_along": variance, "norm_along": norm,
    "max_along": extremum("Max"), "min_along": extremum("Min"),
    "argmax": position("ArgMax"), "argmin": position("ArgMin"),
    "std_along": lambda g, input, dim, keepdim, correction: g.Sqrt(
        variance(g, input, dim, keepdim, correction)
    ),
    "cumsum": lambda g, input, dim, out: g.CumSum(g.cast(input, out.dtype), np.array(dim)),
    "topk": lambda g, input, k, dim, largest: ranked(g, input, k, dim, largest),
    "sort_along": lambda g, input, dim, descending: ranked(
        g, input, input.shape[dim], dim, descending
    ),
    # Shapes and parts.
    **rows(
        lambda g, input, out: g.reshape(input, out.shape),
        "view_in reshape_alias unsafe_view unsqueeze squeeze_one squeeze_several squeeze_all",
    ),
    "transpose": transpose, "t": lambda g, input: transpose(g, input, 0, -1),
    "permute_to": lambda g, input, dims: g.Transpose(input, perm=dims),
    "expand_to": lambda g, input, out: g.Expand(input, out.shape),
    "repeat_by": lambda g, input, repeats: g.Tile(
        g.reshape(input, [1] * (len(repeats) - len(input.shape)) + [*input.shape]), repeats
    ),
    "cat_along": lambda g, tensors, dim: g.Concat(*tensors, axis=dim),
    "stack_along": lambda g, tensors, dim: g.Concat(
        *(g.Unsqueeze(tensor, [dim]) for tensor in tensors), axis=dim
    ),
    "select": lambda g, input, dim, index: g.Gather(input, g.Squeeze(g.sizes([index])), axis=dim),
    "slice_along": part, **rows(split, "split_equally split_with_sizes"), "item": item,
    "unbind": lambda g, input, dim, outs: [
        g.Gather(input, np.array(k), axis=dim) for k in range(len(outs))
    ],
    "flip_along": lambda g, input, dims: g.Slice(
        input, [-1] * len(dims), [-END] * len(dims), dims, [-1] * len(dims)
    ),
    "constant_pad_nd": pad,
    "tril": lambda g, input, diagonal: g.Trilu(input, np.array(diagonal), upper=0),
    "triu": lambda g, input, diagonal: g.Trilu(input, np.array(diagonal), upper=1),
    "index_select": lambda g, input, dim, index: g.Gather(input, index, axis=dim),
    "gather": lambda g, input, dim, index: g.GatherElements(input, index, axis=dim),
    "embedding_rows": lambda g, weight, indices: g.Gather(weight, indices, axis=0),
    "one_hot_rows": lambda g, input, num_classes: g.OneHot(
        input, np.array(num_classes), np.array([0, 1])
    ),
    # Matrices and layers.
    **rows("MatMul", "mm bmm mv dot products_of_samples"), **rows(linear, "layer layer_of_rows"),
    "addmm": lambda g, input, mat1, mat2, beta, alpha: g.Gemm(
        mat1, mat2, input, alpha=float(alpha), beta=float(beta)
    ),
    "baddbmm": lambda g, input, batch1, batch2, beta, alpha: g.Add(
        g.Mul(input, beta), g.Mul(g.MatMul(batch1, batch2), alpha)
    ),
    "einsum": lambda g, args: g.Einsum(*args[1:], equation=args[0]),
    "trilinear": lambda g, a, b, c, equation: g.Einsum(a, b, c, equation=equation),
    "convolve": convolution, "mean_of_neighbours": neighbours,
    **rows(max_pool, "max_pool2d_with_indices max_pool3d_with_indices"),
    **rows(avg_pool, "avg_pool2d avg_pool3d"),
    **rows(adaptive_max_pool, "adaptive_max_pool2d adaptive_max_pool3d"),
    **rows(
        resample, "adaptive_avg_pool2d adaptive_avg_pool3d circular_pad reflection_pad1d "
        "reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d "
        "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_nearest_exact1d "
        "upsample_nearest_exact2d upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d "
        "upsample_trilinear3d upsample_bicubic2d upsample_bilinear2d_aa upsample_bicubic2d_aa",
    ),
    "pixel_shuffle": lambda g, input, upscale_factor: g.DepthToSpace(
        input, blocksize=upscale_factor, mode="CRD"
    ),
    "batch_norm": batch_norm, "instance_norm": instance_norm, "layer_norm": layer_norm,
    "group_norm": group_norm, "attention": attention, "RNN": recurrence("RNN", [0], 1),
    "GRU": recurrence("GRU", [1, 0, 2], 1, linear_before_reset=1),
    "LSTM": recurrence("LSTM", [0, 3, 1, 2], 2),
}  # fmt: skip
