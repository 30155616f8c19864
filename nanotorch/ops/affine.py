"""A product added to a tensor: `addmm` and its kin, and `linear`."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_functions import under_vmap
from nanotorch._core.batch_rules import Call, in_line, one_by_one
from nanotorch._core.batched import Batch
from nanotorch._core.dtypes import Number
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import NO_EDGE, Edge
from nanotorch._core.layout import own_dim
from nanotorch._core.op import Array, new_node, op
from nanotorch._core.out import SAME, Out
from nanotorch._core.saving import observers
from nanotorch._core.sums import OF_BLAS, sum_over
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import make_view
from nanotorch.ops.arguments import need_tensors, number_in
from nanotorch.ops.elementwise import check_factor
from nanotorch.ops.expanding import cannot_expand, expand_to
from nanotorch.ops.matrix import (
    across,
    bmm,
    check_bmm,
    check_mm,
    matmul,
    matrices_by_vectors,
    mv,
    product,
    products_of_all,
)
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import reshape, t, transpose, unsafe_view, unsqueeze


def scaled(value: Any, factor: Number) -> Any:
    """``value * factor`` in the dtype of ``value``; of half precision by any number."""
    if factor == 1:
        return value
    if isinstance(value, np.ndarray) and value.dtype != np.float16:
        factor = number_in(factor, value.dtype)
    return value * factor


def share(product: Array, alpha: Number) -> Array:
    """``alpha * product``; as BLAS has it, 0 times anything is 0."""
    return np.zeros_like(product) if alpha == 0 else scaled(product, alpha)


def added(out: Array, input: Array, beta: Number) -> Array:
    """``out + beta * input``, in the memory of ``out``; 0 times anything is 0 here.

    Raises:
        RuntimeError: if ``input`` does not broadcast to the shape of ``out``.
    """
    try:
        if beta == 1:
            return np.add(out, input, out)
        if beta == 0:
            np.broadcast_to(input, out.shape)
        else:
            np.add(out, scaled(input, beta), out)
    except ValueError:
        raise cannot_expand(input.shape, out.shape, input.dtype) from None
    return out


def added_of_all(call: Call, product: Any) -> Any:
    """``beta * input + alpha * product`` of each sample; in place if that was asked for.

    Raises:
        RuntimeError: if ``input`` does not broadcast to the shape of the product.
    """
    alpha, beta = call.args["alpha"], call.args["beta"]
    out, own = scaled(product, alpha), call.args["input"]._array
    if not any(call.is_batched(name) for name in call.op.inputs[1:]):
        out = unsqueeze(out, 0)
    wanted = out._array.shape[1:]
    if own.ndim > len(wanted) or any(
        n not in (1, m) for n, m in zip(reversed(own.shape), reversed(wanted), strict=False)
    ):
        raise cannot_expand(own.shape, wanted, own.dtype)
    if beta != 0:
        input = call.whole("input")
        if call.is_batched("input"):
            input = in_line(input, own.ndim, len(wanted))
        out = out + scaled(input, beta)
    out = expand_to(out, (call.batch.size, *wanted))
    return call.whole("input").copy_(out) if call.inplace else out


def sum_of_products(call: Call) -> Any:
    """The sum of the products of two batches of each sample."""
    products = products_of_all(call, check_bmm)
    return sum_along(products, (products.ndim - 3,), False)


def check_dtypes(input: Array, mat1: Array, mat2: Array) -> None:
    """Refuse operands of different dtypes."""
    names = [dtypes.of_array(a).char for a in (input, mat1, mat2)]
    if names[0] != names[2]:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {names[0]} and {names[2]}"
        )
    if names[1] != names[2]:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {names[1]} and {names[2]}"
        )


@op(
    input=lambda g, beta: g if beta == 1 else scaled(g, beta),
    mat1=lambda g, mat2, mat1_strides, alpha: scaled(across(g, t(mat2), mat1_strides), alpha),
    mat2=lambda g, mat1, mat2_strides, alpha: scaled(across(t(mat1), g, mat2_strides), alpha),
    inplace=True,
    overlap=True,
    batch=lambda call: added_of_all(call, products_of_all(call, check_mm, "addmm")),
    wide=True,
)
def addmm(input: Array, mat1: Array, mat2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * mat1 @ mat2``; ``input`` broadcasts.

    Raises:
        RuntimeError: if the matrices do not fit, or dtypes differ.
    """
    if input.dtype != mat2.dtype or mat1.dtype != mat2.dtype:
        check_dtypes(input, mat1, mat2)
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        check_mm("addmm", mat1, mat2)
    out = product(mat1, mat2)
    if alpha != 1:
        out = share(out, alpha)
    return added(out, input, beta)


@op(
    input=lambda g, beta: scaled(g, beta),
    mat=lambda g, vec, alpha: scaled(reshape(g, (-1, 1)) * vec, alpha),
    vec=lambda g, mat, alpha: scaled(mv(t(mat), g), alpha),
    inplace=True,
    overlap=True,
    batch=lambda call: added_of_all(call, matrices_by_vectors(call, "mat", "vec")),
    wide=True,
)
def addmv(input: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * mat @ vec``; ``input`` broadcasts."""
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}"
        )
    n, m = mat.shape
    if m != vec.shape[0] or input.size not in (1, n):
        raise RuntimeError(
            f"size mismatch, got input ({input.size}), mat ({n}x{m}), vec ({vec.shape[0]})"
        )
    if not input.dtype == mat.dtype == vec.dtype:
        names = [dtypes.of_array(a).char for a in (input, mat, vec)]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and "
            f"{names[2]}"
        )
    return added(share(product(mat, vec, "addmv_impl_cpu"), alpha), input, beta)


@op(
    input=lambda g, beta: scaled(g, beta),
    batch1=lambda g, batch2, alpha: scaled(bmm(g, transpose(batch2, 1, 2)), alpha),
    batch2=lambda g, batch1, alpha: scaled(bmm(transpose(batch1, 1, 2), g), alpha),
    inplace=True,
    overlap=True,
    batch=lambda call: added_of_all(call, products_of_all(call, check_bmm)),
    wide=True,
)
def baddbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1
) -> Array:
    """``beta * input + alpha * bmm(batch1, batch2)``; ``input`` broadcasts."""
    check_ndims((batch1, 0), (batch1, 1), (batch2, 2))
    if input.dtype != batch1.dtype:
        a, b, c = (dtypes.C_NAMES[x.dtype.name] for x in (input, batch1, batch2))
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {a}, batch1: {b}, batch2: {c}"
        )
    check_bmm(batch1, batch2, "baddbmm")
    return added(scaled(product(batch1, batch2), alpha), input, beta)


def check_ndims(*asked: tuple[Array, int]) -> None:
    """Refuse arrays that lack a dimension which is asked for before they are looked at."""
    for a, dim in asked:
        own_dim(dim, a.ndim)


def each(g: Any, count: int) -> Any:
    """``g`` for each matrix of a batch."""
    return expand_to(unsqueeze(g, 0), (count, *g.shape))


@op(
    input=lambda g, beta: scaled(g, beta),
    batch1=lambda g, batch2, alpha: scaled(
        bmm(each(g, batch2.shape[0]), transpose(batch2, 1, 2)), alpha
    ),
    batch2=lambda g, batch1, alpha: scaled(
        bmm(transpose(batch1, 1, 2), each(g, batch1.shape[0])), alpha
    ),
    inplace=True,
    overlap=True,
    batch=lambda call: added_of_all(call, sum_of_products(call)),
    wide=True,
)
def addbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1
) -> Array:
    """``beta * input + alpha *`` the sum of the products in a batch; ``input`` broadcasts."""
    check_ndims((batch1, 1), (batch2, 2))
    if batch1.ndim == batch2.ndim == 3 and len(batch1) != len(batch2):
        raise RuntimeError(
            "batch1 and batch2 must have same number of batches, got "
            f"{len(batch1)} and {len(batch2)}"
        )
    if not input.dtype == batch1.dtype == batch2.dtype:
        check_dtypes(input, batch1, batch2)
    if batch1.ndim == batch2.ndim == 3 and batch1.shape[2] != batch2.shape[1]:
        sizes = [f"{m.shape[1]}x{m.shape[2]}" for m in (batch1, batch2)]
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({sizes[0]} and {sizes[1]})")
    check_bmm(batch1, batch2, "addmm_impl_cpu_")
    total = sum_over(product(batch1, batch2), (0,)).astype(input.dtype, copy=False)
    return added(share(total, alpha), input, beta)


@op(
    input=lambda g, beta: scaled(g, beta),
    vec1=lambda g, vec2, alpha: scaled(mv(g, vec2), alpha),
    vec2=lambda g, vec1, alpha: scaled(mv(t(g), vec1), alpha),
    inplace=True,
    batch=one_by_one,
    wide=True,
)
def addr(input: Array, vec1: Array, vec2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha *`` the outer product of two vectors; ``input`` broadcasts."""
    for name, vec in (("vec1", vec1), ("vec2", vec2)):
        if vec.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vec.ndim}-D")
    # A number in place of a matrix counts as one.
    kind = dtypes.result_type([input if input.ndim else input[None], vec1, vec2])._numpy
    input, vec1, vec2 = (a.astype(kind, copy=False) for a in (input, vec1, vec2))
    for name, factor in (("beta", beta), ("alpha", alpha)):
        check_factor(name, factor, input.dtype)
    return added(scaled(np.multiply.outer(vec1, vec2), alpha), input, beta)


def is_layer(input: Tensor, weight: Tensor, bias: Any) -> bool:
    """Whether `linear` of a matrix can be one operation."""
    if not isinstance(bias, Tensor) or observers or mode.transforms:
        return False
    x, w, b = input._array, weight._array, bias._array
    kind = x.dtype
    return (
        kind in OF_BLAS
        and kind == w.dtype == b.dtype
        and w.ndim == 2
        and w.shape[1] == x.shape[1]
        and w.shape[:1] == b.shape
        and x.strides[0] >= x.strides[1]
        and w.strides[0] > w.strides[1]  # as PyTorch, `addmm` lays out gradients by their operands
    )


def unfold(node: Any) -> None:
    """Turn the node of a layer into that of `addmm`, behind which stands that of `t`."""
    bias, input, edge = node._edges
    after = new_node("addmm", node)
    if edge is not NO_EDGE:
        turned, (source, number) = new_node("t", node), edge
        shape, kind = node._outputs[0] if source is None else source._outputs[number]
        turned._sequence, turned._outputs = node._sequence - 1, ((shape[::-1], kind),)
        turned._edges, edge = (edge,), (turned, 0)
    if isinstance(node._saved, tuple):
        matrix, mat1, kept = node._saved
        mat2 = kept and (turned_weight(kept[0], kept[1], matrix, edge), kept[1])
        values = {"mat1": mat1, "mat2": mat2}
        values |= {"mat1_strides": (1, 0), "mat2_strides": (0, 1), "alpha": 1, "beta": 1}
        node._saved = tuple([values[name] for name, _ in after.op.recipe])
    node._edges, node.__class__ = (bias, input, edge), type(after)


def turned_weight(weight: Tensor, version: int, matrix: Array, edge: Edge) -> Tensor:
    """The weight as `addmm` had it, when its memory was at that version."""
    out = wrap(matrix.T)
    before, mode.enabled = mode.enabled, True
    try:
        make_view(out, weight, (t, (), None))
    finally:
        mode.enabled = before
    if out._view is not None:
        out._view.version = version
    if edge is not NO_EDGE:
        out._requires_grad, out._edge = True, edge
    return out


@op(
    bias=lambda g: g,
    # The version of the weight is asked for, but its values are those that it had.
    input=lambda g, weight, matrix: product(g, matrix),
    weight=lambda g, input: product(g.T, input),
    method=False,
    public=False,
    node="AddmmBackward0",
    unfold=unfold,
)
def layer(bias: Array, input: Array, weight: Array, matrix: Any) -> Array:
    """``input @ weight.T + bias`` of matrices that `is_layer` accepts.

    Args:
        matrix: the weight's array, which ``weight.data = ...`` may replace.
    """
    out = product(input, matrix.T)
    return np.add(out, bias, out)


LINEAR_OUT = Out("linear", SAME, strict=True)


def linear_of_all(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """`linear` of each sample: not in place, for the bias may differ where the product does not."""
    given = dict(zip(("input", "weight", "bias"), args, strict=False)) | kwargs
    bias = given.pop("bias", None)
    out = function(**given)
    return out if bias is None else out + bias


@under_vmap(linear_of_all)
def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    """``input @ weight.T + bias``.

    Shape:
        input ``(*, m)``, weight ``(n, m)`` or ``(m,)``, bias ``(n,)`` or a number -> ``(*, n)``
    """
    if out is not None:
        return LINEAR_OUT.fill(linear, out, (input, weight, bias), {})
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor)):
        need_tensors(input, weight)
    ndim = input.ndim
    if ndim == 2 and bias is not None:
        if is_layer(input, weight, bias):
            return layer(bias, input, weight, weight._array)
        return addmm(bias, input, t(weight))
    if not ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {ndim}D and "
            f"{weight.ndim}D"
        )
    if bias is None:
        return matmul(input, t(weight))
    row = bias.ndim == 1 or sum(n != 1 for n in bias._array.shape) == 1
    if row and input._array.flags.c_contiguous and bias._array.flags.c_contiguous:
        shape = input._array.shape
        rows = 1
        for n in shape[:-1]:
            rows *= n
        flat = addmm(bias, reshape(input, (rows, shape[-1])), t(weight))
        return unsafe_view(flat, (*shape[:-1], flat._array.shape[1]))
    return matmul(input, t(weight)).add_(bias)
