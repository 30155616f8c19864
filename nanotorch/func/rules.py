"""The rules of operations under `vmap`, by the names of the operations.

A rule gets a `Call` and does the operation on tensors whose first dimension counts the samples.
"""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_ints
from nanotorch._core.op import OPS
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.func.batched import (
    RULES,
    Call,
    Rule,
    align_dims,
    all_values,
    batch_tensor,
    dimensions,
    elementwise,
    flat_samples,
    is_sample_of,
    joined,
    leading,
    merged,
    new_dimension,
    one_by_one,
    per_sample,
    shift_dim,
    split_samples,
)
from nanotorch.ops.arguments import require
from nanotorch.ops.creation import alias
from nanotorch.ops.elementwise import add, mul
from nanotorch.ops.fused import Moments, nll, normalize_last
from nanotorch.ops.gathering import scalar_value, where
from nanotorch.ops.indexing import WHOLE, Index, index, index_select
from nanotorch.ops.joining import expand_error, expand_to, repeat_by, roll
from nanotorch.ops.linalg import is_vector
from nanotorch.ops.matrix import (
    check_bmm,
    check_mm,
    check_mv,
    check_range,
    check_vectors,
    matmul,
    products_of_samples,
    scale_array,
)
from nanotorch.ops.memory import as_strided, copied_into, layout_of
from nanotorch.ops.reduction import mean_along, prod_along, sum_along
from nanotorch.ops.shape import (
    TOO_MANY,
    diagonal,
    part,
    part_backward,
    permute_to,
    reshape,
    select,
    squeeze_one,
    squeeze_several,
    t,
    transpose,
    unsqueeze,
)

INDEX_MASKS = "vmap over indices that are masks: each sample would have a shape of its own"

MASKS = "vmap over the mask of masked_select: each sample would have a shape of its own"

# Views and shapes


def t_batched(call: Call) -> Any:
    """`t` of each sample."""
    ndim, whole = call.ndim("input"), call.whole("input")
    require(ndim <= 2, TOO_MANY, ndim)
    return transpose(whole, 1, 2) if ndim == 2 else alias(whole)


# Reductions


def all_batched(call: Call, along: Any) -> Any:
    """`sum_all`, `mean_all` or `prod_all` for samples: ``along`` is the one along dimensions."""
    return along(flat_samples(call.whole("input")), (1,), False, call.args["dtype"])


# Joining


def aligned(call: Call, name: str) -> Tensor:
    """The tensor of all samples, whose ndim is the length of the argument ``name``."""
    array, wanted = call.args["input"]._array, call.args[name]
    if array.ndim > len(wanted):
        raise expand_error(array.shape, wanted, array.dtype)
    return align_dims(call.whole("input"), array.ndim, len(wanted))


def roll_batched(call: Call) -> Any:
    """The rule of `roll`."""
    whole, dims, shifts = call.whole("input"), call.args["dims"], call.args["shifts"]
    dims = () if dims is None else as_ints(dims)
    if not dims:
        return reshape(roll(flat_samples(whole), shifts, 1), whole.shape)
    return roll(whole, shifts, [shift_dim(d, call.ndim("input")) for d in dims])


# Memory


def strided_view_batched(call: Call) -> Any:
    """`strided_view` of each sample; an offset counts from the sample's first element."""
    whole, (sizes, strides, offset) = call.whole("input"), call.args["layout"]
    start = layout_of(all_values(whole))[2] + offset - call.args["source"][2]
    return as_strided(whole, (call.batch.size, *sizes), (whole.stride(0), *strides), start)


# Indexing


def index_select_batched(call: Call) -> Any:
    """The rule of `index_select`: the samples join dimension ``dim``, each at its own offset."""
    own, size = call.ndim("input"), call.batch.size
    if not own or call.args["index"].ndim != 1:
        return one_by_one(call)
    dim, index = shift_dim(call.args["dim"], own), call.whole("index")
    if not call.is_batched("index"):
        return index_select(call.whole("input"), dim, index)
    if not call.is_batched("input"):
        flat = index_select(call.args["input"], dim - 1, index.reshape(-1))
        return flat.unflatten(dim - 1, index.shape).movedim(dim - 1, 0)
    source = call.whole("input").movedim(dim, 1)
    rows = index + wrap(np.arange(size).reshape(-1, 1) * source.shape[1])
    flat = index_select(source.flatten(0, 1), 0, rows.reshape(-1))
    return flat.unflatten(0, index.shape).movedim(1, dim)


def index_batched(call: Call) -> Any:
    """The rule of `index`."""
    tensors = call.args["at"].tensors
    dims: list[int] = []
    dim = 0
    for at in tensors:
        mask = at is not None and at.dtype in (dtypes.bool_, dtypes.uint8)
        if mask and is_sample_of(at, call.batch):
            raise RuntimeError(INDEX_MASKS)
        taken = at.ndim if mask else 1
        dims += range(dim, dim + taken) if at is not None else ()
        dim += taken
    together = dims[-1] - dims[0] == len(dims) - 1
    count = max(
        1 if at.dtype in (dtypes.bool_, dtypes.uint8) else at.ndim
        for at in tensors
        if at is not None
    )
    if not any(is_sample_of(at, call.batch) for at in tensors):
        found = index(call.whole("input"), Index([None, *tensors]))
        return found if together else found.movedim(count, 0)
    wholes = [
        align_dims(at._whole, at.ndim, count) if is_sample_of(at, call.batch) else at
        for at in tensors
    ]
    place = dims[0] if together else 0
    if not call.is_batched("input"):
        return index(call.args["input"], Index(wholes)).movedim(place, 0)
    samples = wrap(np.arange(call.batch.size).reshape((-1,) + (1,) * count))
    found = index(call.whole("input"), Index([samples, *wholes]))
    return found.movedim(tuple(range(1, count + 1)), tuple(range(place + 1, place + count + 1)))


# Masks


def fill_batched(call: Call) -> Any:
    """The rule of `mask_by_tensor`: the values of samples may differ."""
    input, value = call.args["input"], call.args["value"]
    if value.ndim:
        scalar_value(value._array, input._array.dtype)
    out = where(call.args["mask"], value.to(input.dtype), input)
    return input.copy_(out) if call.inplace else batch_tensor(out, call.batch)


def masked_select_batched(call: Call) -> Any:
    """The rule of `masked_select`, for one mask of all samples."""
    if call.is_batched("mask"):
        raise RuntimeError(MASKS)
    return one_by_one(call)


# Matrices


def products_batched(call: Call, check: Any, *named: str) -> Any:
    """The product of two matrices, or of two batches of matrices, of each sample."""
    first, second = call.op.inputs[-2:]
    check(*named, call.args[first]._array, call.args[second]._array)
    a, b = call.whole(first), call.whole(second)
    each = a.ndim == b.ndim == 3 and call.is_batched(first) and call.is_batched(second)
    return products_of_samples(a, b) if each else matmul(a, b)


def mv_batched(call: Call) -> Any:
    """The product of a matrix and a vector of each sample."""
    matrix, vector = call.args["input"], call.args["vec"]
    check_mv(matrix._array, vector._array)
    if not call.is_batched("input"):
        return matmul(call.whole("vec"), t(matrix))
    if not call.is_batched("vec"):
        return matmul(call.whole("input"), vector)
    return squeeze_one(matmul(call.whole("input"), unsqueeze(call.whole("vec"), -1)), -1)


def dot_batched(call: Call) -> Any:
    """The product of two vectors of each sample."""
    first, second = call.op.inputs
    check_vectors(call.args[first]._array, call.args[second]._array)
    if not call.is_batched(first):
        first, second = second, first
    if not call.is_batched(second):
        return matmul(call.whole(first), call.args[second])
    row, column = unsqueeze(call.whole(first), 1), unsqueeze(call.whole(second), 2)
    return reshape(matmul(row, column), (call.batch.size,))


def addmm_batched(call: Call, product: Any) -> Any:
    """``beta * input + alpha * product`` of each sample; in place for an in-place call."""
    alpha, beta = call.args["alpha"], call.args["beta"]
    out, own = scale_array(product, alpha), call.args["input"]._array
    if not any(call.is_batched(name) for name in call.op.inputs[1:]):
        out = unsqueeze(out, 0)
    wanted = out._array.shape[1:]
    if own.ndim > len(wanted) or any(
        n not in (1, m) for n, m in zip(reversed(own.shape), reversed(wanted), strict=False)
    ):
        raise expand_error(own.shape, wanted, own.dtype)
    if beta != 0:
        input = call.whole("input")
        if call.is_batched("input"):
            input = align_dims(input, own.ndim, len(wanted))
        out = out + scale_array(input, beta)
    out = expand_to(out, (call.batch.size, *wanted))
    return call.whole("input").copy_(out) if call.inplace else out


def embedding_batched(call: Call) -> Any:
    """`embedding_rows` of each sample; the samples' own weights are joined to one table."""
    if not call.is_batched("weight"):
        return call.again(indices=call.whole("indices"))
    if call.args["padding_idx"] >= 0 or call.args["scale_grad_by_freq"]:
        return one_by_one(call)
    weight, indices = call.whole("weight"), call.repeated("indices")
    size, rows = weight.shape[:2]
    check_range(all_values(indices), rows)
    starts = np.arange(size).reshape((-1,) + (1,) * (indices.ndim - 1)) * rows
    return call.again(weight=weight.flatten(0, 1), indices=indices + wrap(starts))


# Linear algebra


def solve_batched(call: Call) -> Any:
    """`solve` of each sample; a vector becomes a matrix of one column."""
    A, B = call.args["A"], call.args["B"]
    if not is_vector(A.shape, B.shape):
        return elementwise(call)
    columns = {**call.args, "B": B.unsqueeze(-1)}
    return elementwise(Call(call.op, False, columns, call.batch)).squeeze(-1)


def qr_batched(call: Call) -> Any:
    """`qr` of each sample; with the form "r", Q is empty."""
    Q, R = leading(call)
    return (Q.expand(call.batch.size, 0) if call.args["form"] == "r" else Q), R


# Convolution


def convolve_batched(call: Call) -> Any:
    """The rule of `convolve`: samples join the batch, or the groups if their weights differ."""
    size, bias = call.batch.size, call.args["bias"]
    shift = None if bias is None else call.whole("bias")
    if not call.is_batched("weight"):
        input = call.whole("input")
        if call.is_batched("input"):
            out = call.again(input=input.flatten(0, 1), bias=None)
            out = out.unflatten(0, (size, input.shape[1]))
        else:
            out = call.again(bias=None).unsqueeze(0)
    else:
        input, weight = call.repeated("input"), call.whole("weight")
        groups = call.args["groups"]
        joined = input.transpose(0, 1).flatten(1, 2)
        out = call.again(input=joined, weight=weight.flatten(0, 1), bias=None, groups=size * groups)
        out = out.unflatten(1, (size, out.shape[1] // size)).transpose(0, 1)
    if shift is not None:
        each = shift.shape[0] if call.is_batched("bias") else 1
        out = out + shift.reshape((each, 1, -1) + (1,) * (out.ndim - 3))
    return out


# Resampling


def affine_grid_batched(call: Call, name: str) -> Any:
    """`affine_grid_generator` of each sample, or its adjoint, as one batch."""
    whole, (count, *sizes) = call.whole(name), call.args["size"]
    total = call.batch.size * count
    return split_samples(
        call.again(**{name: whole.flatten(0, 1), "size": (total, *sizes)}), call.batch.size
    )


# Losses and normalization


def nll_batched(call: Call) -> Any:
    """The rule of `nll`: the samples join the first dimension."""
    if call.is_batched("weight"):
        return one_by_one(call)
    input, target, size = call.repeated("input"), call.repeated("target"), call.batch.size
    rows, classes = input.flatten(0, 1), target.flatten(0, 1)
    ignored, how = call.args["ignore_index"], call.args["reduction"]
    losses = nll(rows, classes, call.args["weight"], "none", ignored)
    if how == "none":
        return losses.unflatten(0, (size, target.shape[1]))
    total = losses.reshape(size, math.prod(target.shape[1:])).sum(1)
    if how == "sum":
        return total
    counted = classes.ne(ignored)
    shares = counted.to(rows.dtype)
    if call.args["weight"] is not None:
        known = classes.where(counted, 0).reshape(-1)
        shares = shares * call.args["weight"].index_select(0, known).reshape(shares.shape)
    return total / shares.reshape(size, math.prod(target.shape[1:])).sum(1)


def nll_spread_batched(call: Call) -> Any:
    """The rule of `nll_spread`, which is linear in its first argument."""
    reduction = call.args["reduction"]
    if reduction == "none" or call.is_batched("target") or call.is_batched("weight"):
        return one_by_one(call)
    g = call.whole("input")
    one = call.again(input=wrap(np.ones((), g._array.dtype)))
    return g.reshape((-1,) + (1,) * one.ndim) * one


def normalize_batched(call: Call) -> Any:
    """The rule of `normalize_last`; a weight or bias for each sample is applied afterwards."""
    input, eps, plan = call.repeated("input"), call.args["eps"], call.args["plan"]
    plan = plan._replace(shape=(input.numel() // plan.shape[1], plan.shape[1]))
    weight, bias = call.args["weight"], call.args["bias"]
    if not call.is_batched("weight") and not call.is_batched("bias"):
        return normalize_last(input, weight, bias, plan, eps, Moments())
    out = normalize_last(input, None, None, plan._replace(affine=None), eps, Moments())
    for name, apply in (("weight", mul), ("bias", add)):
        if call.args[name] is not None:
            value = call.repeated(name)
            out = apply(out, align_dims(value, value.ndim - 1, input.ndim - 1))
    return out


# The operations of each rule.


# Operations without a rule for all samples at once, by the reason; they loop over the samples.
LOOPED = {
    "it reads or writes positions that differ between the samples": (
        "embedding_dense_backward embedding_taken fill_by_number fill_by_number_in_place "
        "fill_by_tensor fill_by_tensor_in_place index_add index_add_in_place index_backward "
        "index_cleared index_copy index_copy_in_place index_select_backward masked_scatter "
        "masked_scatter_backward masked_select_backward put put_at put_at_in_place put_in_place "
        "take take_backward wrapped_once"
    ),
    "its lengths, bags or strides are of one sample": (
        "bag_maxima bag_sums bincount ctc ctc_backward elman_steps gru_steps lstm_steps pack_rows "
        "pad_rows relaid"
    ),
    "its kernel has no place for one more dimension in front": (
        "block_diagonal constant_pad_nd convolution_weight dist least_squares median_all "
        "nanmedian_all normalization_backward normalize_batch normalize_groups others "
        "others_slope picture_nll renorm rows_without_one shares_summed stretched trilinear"
    ),
    "it is a fast form that is not used under `vmap`": "class_cross_entropy layer layer_of_rows",
    "it serves a derivative, or another operation, of which there is a rule": (
        "by_slopes_ draw_with_chance halved_where vanishing zero_where"
    ),
}


def extremum_rule(along: str) -> Rule:
    """The rule of an extremum of all elements: ``along`` names the operation along dimensions."""
    function = OPS[along].functions[along]
    return lambda call: function(flat_samples(call.whole("input")), (1,), False)


# An operation that is neither here nor above has a rule that follows from its declaration: see
# `derive_rule`.
GROUPS: dict[Rule, str] = {
    leading: (
        "attention cholesky_ex det eigh exchanges inverse_or_nan kept linalg_lu_factor "
        "linalg_matrix_exp linalg_slogdet linalg_svd one_hot_rows orientation pixel_shuffle "
        "pixel_unshuffle pseudoinverse safe_softmax tied tril triu unpacked without_diagonal"
    ),
    elementwise: (
        "alias blank by_slopes celu cholesky_solve clamp_max_tensor clamp_min_tensor clamp_tensors "
        "clone copied_into distances elu equal_slopes gelu_backward gelu_unit hardshrink "
        "hardsigmoid_backward hardswish_backward hardtanh_backward heaviside isfinite isinf isnan "
        "isneginf isposinf isreal leaky_relu leaky_relu_backward lerp_number lerp_tensor "
        "log_sigmoid mask_by_number mask_by_number_in_place number_floor_divided number_remainder "
        "over_number plus_number pow_base prelu_kernel relu_backward shrink_backward "
        "sigmoid_backward signbit softplus softshrink solve_triangular tanh_backward threshold "
        "threshold_backward times_number to_copy to_device where_true"
    ),
    dimensions: (
        "blank_in cross_along ends_along gather gather_backward put_along scatter_add "
        "scatter_add_in_place scatter_combined scatter_combined_in_place scatter_number "
        "scatter_number_in_place scatter_reduce scatter_tensor scatter_tensor_in_place spread "
        "take_along unsafe_view"
    ),
    new_dimension: "diag_embed unsqueeze",
    joined: "cat_along stack_along",
    merged: (
        "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d "
        "avg_pool2d avg_pool3d avg_pool_backward circular_pad col2im grid_sampler_2d "
        "grid_sampler_3d im2col max_pool2d_with_indices max_pool3d_with_indices mean_of_neighbours "
        "reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d "
        "replication_pad3d resample sample sample_spread upsample_bicubic2d upsample_bicubic2d_aa "
        "upsample_bilinear2d upsample_bilinear2d_aa upsample_linear1d upsample_nearest1d "
        "upsample_nearest2d upsample_nearest3d upsample_nearest_exact1d upsample_nearest_exact2d "
        "upsample_nearest_exact3d upsample_trilinear3d"
    ),
    per_sample: "bce bce_with_logits huber smooth_l1 squared_error",
    dot_batched: "dot vdot",
    fill_batched: "mask_by_tensor mask_by_tensor_in_place",
}
RULES.update({name: rule for rule, names in GROUPS.items() for name in names.split()})
RULES.update({name: one_by_one for names in LOOPED.values() for name in names.split()})
RULES.update(
    {
        "addmm": lambda call: addmm_batched(call, products_batched(call, check_mm, "addmm")),
        "affine_grid_backward": lambda call: affine_grid_batched(call, "g"),
        "affine_grid_generator": lambda call: affine_grid_batched(call, "theta"),
        "baddbmm": lambda call: addmm_batched(call, products_batched(call, check_bmm)),
        "bmm": lambda call: products_batched(call, check_bmm),
        "convolve": convolve_batched,
        "diagonal_copy": lambda call: diagonal(
            call.whole("input"), call.args["offset"], 1, 2
        ).clone(),
        "embedding_rows": embedding_batched,
        "expand_to": lambda call: expand_to(
            aligned(call, "size"), (call.batch.size, *call.args["size"])
        ),
        "filled_with_tensor": lambda call: copied_into(call.args["input"], call.args["value"]),
        "index": index_batched,
        "index_select": index_select_batched,
        "linalg_qr": qr_batched,
        "masked_select": masked_select_batched,
        "max_all": extremum_rule("amax_along"),
        "mean_all": lambda call: all_batched(call, mean_along),
        "min_all": extremum_rule("amin_along"),
        "mm": lambda call: products_batched(call, check_mm, "mm"),
        "mv": mv_batched,
        "nll": nll_batched,
        "nll_spread": nll_spread_batched,
        "normalize_last": normalize_batched,
        "part": lambda call: part(call.whole("input"), (WHOLE, *call.args["items"])),
        "part_backward": lambda call: part_backward(
            call.whole("g"), (call.batch.size, *call.args["shape"]), (WHOLE, *call.args["items"])
        ),
        "permute_to": lambda call: permute_to(
            call.whole("input"), (0, *[shift_dim(d, call.ndim("input")) for d in call.args["dims"]])
        ),
        "prod_all": lambda call: all_batched(call, prod_along),
        "products_of_samples": lambda call: products_batched(call, check_bmm),
        "repeat_by": lambda call: repeat_by(aligned(call, "repeats"), (1, *call.args["repeats"])),
        "roll": roll_batched,
        "select": lambda call: select(
            call.whole("input"), shift_dim(call.args["dim"], call.ndim("input")), call.args["index"]
        ),
        "solve": solve_batched,
        "squeeze_all": lambda call: squeeze_several(
            call.whole("input"),
            tuple([d for d, n in enumerate(call.args["input"].shape, 1) if n == 1]),
        ),
        "squeeze_fresh": lambda call: call.whole("input").select(1, 0),
        "strided_view": strided_view_batched,
        "sum_all": lambda call: all_batched(call, sum_along),
        "t": t_batched,
        "trace": lambda call: sum_along(diagonal(call.whole("input"), 0, 1, 2), (1,), False),
    }
)
