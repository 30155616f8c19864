"""Products of matrices and vectors, sums with such products, linear layers, embeddings."""

import math
from typing import Any

import numpy as np

from nanotorch._core import doors, dtypes
from nanotorch._core.arguments import ABSENT
from nanotorch._core.call_site import count_write, describe_range
from nanotorch._core.dtypes import Number
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import Edge, make_view
from nanotorch._core.layout import existing_dim
from nanotorch._core.op import OPS, Array, hidden_op, method, new_node, op
from nanotorch._core.out import Out
from nanotorch._core.sums import OF_BLAS, sum_rows
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.names.lookup import advised
from nanotorch.ops.arguments import (
    check_first_tensors,
    check_same_dtype,
    check_tensors,
    number_as,
    unsupported_dtype,
)
from nanotorch.ops.creation import contiguous
from nanotorch.ops.gathering import CHUNK, add_rows, gather_backward
from nanotorch.ops.joining import common_shape, expand_error, expand_to
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import (
    call_by_own_names,
    reshape,
    squeeze_one,
    t,
    transpose,
    unsafe_view,
    unsqueeze,
    view_in,
)

# Products of matrices and vectors: `mm`, `mv`, `dot`, `bmm`; `matmul` chooses among them.


def product(a: Array, b: Array, name: str = "addmm_impl_cpu_") -> Array:
    """The matrix product of two arrays of one dtype."""
    kind = a.dtype
    # `dot` takes a third of the time of `matmul`, but computes 0 * nan as 0 if an operand has a
    # single element. Then the inner size is 1.
    if kind in OF_BLAS and a.ndim == 2 and a.shape[1] != 1:
        return a.dot(b)
    if kind.kind == "b":
        raise unsupported_dtype(name, a)
    if a.ndim > 2:
        return np.matmul(a, b)
    if a.ndim == 2 and a.shape[1] == 1:
        return np.multiply(a if b.ndim == 2 else a[:, 0], b)
    return a.dot(b)


# Matrices


def check_mm(name: str, a: Array, b: Array) -> None:
    """Raise PyTorch's error unless both arrays are matrices whose sizes fit."""
    for called, m in (("self", a), ("mat2", b)):
        if m.ndim != 2:
            raise RuntimeError(f"{name}: {called} must be a matrix, got {m.ndim}-D tensor")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"{name}: mat1 and mat2 shapes cannot be multiplied "
            f"({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )


def ordered_product(a: Any, b: Any, strides: tuple[int, ...]) -> Any:
    """``a @ b`` in the memory order of a matrix with these ``strides``."""
    return t(mm(t(b), t(a))) if strides[0] < strides[1] else mm(a, b)


@op(
    input=lambda g, mat2, input_strides: ordered_product(g, t(mat2), input_strides),
    mat2=lambda g, input, mat2_strides: ordered_product(t(input), g, mat2_strides),
    wide=True,
)
def mm(input: Array, mat2: Array) -> Array:
    """The product of two matrices, ``(n, m)`` and ``(m, p)``; the result is ``(n, p)``.

    Raises:
        RuntimeError: if an operand is not a matrix, the sizes do not fit, or the dtypes differ.
    """
    kind = input.dtype
    if input.ndim != 2 or mat2.ndim != 2 or input.shape[1] != len(mat2):
        check_mm("mm", input, mat2)
    if kind != mat2.dtype:
        names = [dtypes.C_NAMES[dtypes.OF_NUMPY[m.dtype].name] for m in (input, mat2)]
        message = "expected m1 and m2 to have the same dtype, but got: "
        raise RuntimeError(message + " != ".join(names))
    if kind in OF_BLAS and len(mat2) != 1:
        return input.dot(mat2)
    return product(input, mat2)


def check_mv(mat: Array, vec: Array) -> None:
    """Raise PyTorch's error unless the arrays are a matrix and a vector that fits it."""
    if mat.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {mat.ndim}, {vec.ndim}")
    n, m = mat.shape
    if m != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({n}), mat ({n}x{m}), vec ({vec.shape[0]})")
    message = "addmv input tensors must have the same dtype, but got {}, {}, and {}"
    check_same_dtype(vec, mat, vec, text=message)


@op(
    input=lambda g, vec: reshape(g, (-1, 1)) * vec,
    vec=lambda g, input: mv(t(input), g),
    wide=True,
)
def mv(input: Array, vec: Array) -> Array:
    """The product of a matrix ``(n, m)`` and a vector ``(m,)``; the result is ``(n,)``."""
    check_mv(input, vec)
    return product(input, vec, "addmv_impl_cpu")


def check_vectors(a: Array, b: Array) -> None:
    """Raise PyTorch's error unless both arrays are vectors of the same length and dtype."""
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    check_same_dtype(
        a, b, text="dot : expected both vectors to have same dtype, but found {} and {}"
    )
    if a.size != b.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the "
            f"same number of elements, but got {a.size} and {b.size} elements respectively"
        )


@op(
    input=lambda g, tensor: g * tensor,
    tensor=lambda g, input: g * input,
    wide=True,
)
def dot(input: Array, tensor: Array) -> Array:
    """The sum of the products of the elements of two vectors."""
    check_vectors(input, tensor)
    return product(input, tensor, "dot")


def check_bmm(a: Array, b: Array, kernel: str = "bmm") -> None:
    """Raise PyTorch's error unless two batches of matrices fit; the error names ``kernel``."""
    for name, m in (("batch1", a), ("batch2", b)):
        if m.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    wanted = [a.shape[0], a.shape[2]]
    if list(b.shape[:2]) != wanted:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: "
            f"{list(b.shape[:2])}."
        )
    if a.dtype == b.dtype and a.dtype.kind != "b":
        return
    # PyTorch has one kernel for small matrices, and another for all others.
    small = a.shape[1] * a.shape[2] * b.shape[2] < 400
    if a.dtype.kind == "b" and (a.dtype == b.dtype or small):
        raise unsupported_dtype(kernel if small else "addmm_impl_cpu_", a)
    check_same_dtype(*((a, b) if small else (b, a)))


@op(
    input=lambda g, mat2: bmm(g, transpose(mat2, 1, 2)),
    mat2=lambda g, input: bmm(transpose(input, 1, 2), g),
    wide=True,
)
def bmm(input: Array, mat2: Array) -> Array:
    """The products of two batches of matrices, ``(b, n, m)`` and ``(b, m, p)``: ``(b, n, p)``."""
    check_bmm(input, mat2)
    return product(input, mat2)


# For the samples of a batch


def is_repeated(a: Array) -> bool:
    """Whether a batch repeats one matrix, by a stride of 0."""
    return len(a) > 1 and a.strides[0] == 0


@hidden_op(
    input=lambda g, mat2: products_of_samples(g, transpose(mat2, 1, 2)),
    mat2=lambda g, input: products_of_samples(transpose(input, 1, 2), g),
    node="BmmBackward0",
    wide=True,
)
def products_of_samples(input: Array, mat2: Array) -> Array:
    """`bmm`, fast for a batch that repeats one matrix and for products of a column and a row, as in
    the gradients of single samples."""
    (size, rows, inner), columns = input.shape, mat2.shape[2]
    if input.dtype.kind == "b":
        return product(input, mat2)
    if inner == 1:
        return np.multiply(input, mat2)
    if is_repeated(mat2):
        return input.reshape(size * rows, inner).dot(mat2[0]).reshape(size, rows, columns)
    if columns == 1 and is_repeated(input):
        return mat2.reshape(size, inner).dot(input[0].T).reshape(size, rows, 1)
    return np.matmul(input, mat2)


# `matmul`


@hidden_op(
    input=lambda g: unsqueeze(g, 0),
    node="SqueezeBackward4",
)
def squeeze_fresh(input: Array) -> Array:
    """The only row of a new matrix, as a vector; not a view, since the matrix is not shared."""
    return input[0]


def should_fold(larger: Tensor, smaller: Tensor, mirrored: bool) -> bool:
    """Whether to fold the batch ``larger`` into one large matrix before the product.

    Then the gradient of ``smaller`` needs no copy for each matrix of the batch. If ``smaller``
    requires no grad, fold only if this does not copy ``larger``.
    """
    if larger.ndim < 3 or smaller.ndim > 2:
        return False
    if smaller.requires_grad:
        return True
    if mirrored and smaller.ndim == 2:
        return False
    array = larger._array
    if not array.size:
        return True
    try:
        array.reshape((-1, array.shape[-1]), copy=False)
    except ValueError:
        return False
    return True


def folded_product(larger: Tensor, smaller: Tensor, mirrored: bool) -> Tensor:
    """The product of a batch and a matrix or vector; the batch becomes one large matrix."""
    shape = larger._array.shape
    flat = reshape(larger, (math.prod(shape[:-1]), shape[-1]))
    if smaller.ndim == 1:
        return unsafe_view(mv(flat, smaller), shape[:-1])
    matrix = t(smaller) if mirrored else smaller
    out = unsafe_view(mm(flat, matrix), (*shape[:-1], matrix._array.shape[1]))
    return contiguous(transpose(out, -2, -1)) if mirrored else out


def broadcast_product(a: Tensor, b: Tensor) -> Tensor:
    """The product of two batches of matrices, which broadcast."""
    left, right = a._array.shape, b._array.shape
    rows, inner = (left[-2], left[-1]) if len(left) > 1 else (1, left[0])
    inner2, columns = (right[-2], right[-1]) if len(right) > 1 else (right[0], 1)
    batches = left[:-2], right[:-2]
    if len(left) == len(right) == 3 and left[0] != right[0]:
        if left[0] == 1 and a.requires_grad:
            return matmul(squeeze_one(a, 0), b)
        if right[0] == 1 and b.requires_grad:
            return matmul(a, squeeze_one(b, 0))
    batch = common_shape(*batches)
    count = math.prod(batch)
    first = reshape(expand_to(a, (*batch, rows, inner)), (count, rows, inner))
    second = unsqueeze(b, 1) if len(right) == 1 else b
    second = reshape(expand_to(second, (*batch, inner2, columns)), (count, inner2, columns))
    out = bmm(first, second)
    if len(right) == 1:
        out = squeeze_one(out, -1)
    shape = batch + ((rows,) if len(left) > 1 else ()) + ((columns,) if len(right) > 1 else ())
    return unsafe_view(out, shape)


@method
def matmul(input: Any, other: Any = ABSENT, **named: Any) -> Any:
    """The product of two vectors, matrices or batches of matrices; batches broadcast.

    Raises:
        RuntimeError: for 0-d tensors, sizes that do not fit, or different dtypes.
    """
    if named:
        return call_by_own_names(matmul, named, input=input, other=other)
    if isinstance(input, np.ndarray):  # a call by a formula
        return np.matmul(input, other)
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        check_first_tensors("matmul", input=input, other=other)
    a, b = input._array.ndim, other._array.ndim
    if a == 2:
        if b == 2:
            return mm(input, other)
        if b == 1:
            return mv(input, other)
    if not a or not b:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D"
        )
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 1 and b == 2:
        row = squeeze_fresh(mm(unsqueeze(input, 0), other))
        row._cell[0] += 1  # PyTorch drops the dimension in place, which counts as a write
        return row
    mirrored = b > a
    larger, smaller = (transpose(other, -2, -1), input) if mirrored else (input, other)
    if should_fold(larger, smaller, mirrored):
        return folded_product(larger, smaller, mirrored)
    return broadcast_product(input, other)


@method(public=False)
def __rmatmul__(self: Tensor, other: Any) -> Any:  # noqa: N807
    """``other @ self``."""
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


@method(name="__matmul__", public=False)
def matmul_operator(self: Tensor, other: Any) -> Any:
    """`matmul` as the operator `@`."""
    if not isinstance(other, Tensor):
        return NotImplemented
    matrices = self._array.ndim == other._array.ndim == 2  # saves the call of `matmul`
    return mm(self, other) if matrices else matmul(self, other)


# A product added to a tensor: `addmm`, functions like it, and `linear`.


def scale_array(value: Any, factor: Number) -> Any:
    """``value * factor`` in the dtype of ``value``; ``factor`` may exceed half precision."""
    if factor == 1:
        return value
    if isinstance(value, np.ndarray) and value.dtype != np.float16:
        factor = number_as(factor, value.dtype)
    return value * factor


def add_scaled(out: Array, input: Array, beta: Number) -> Array:
    """``out + beta * input``, in the memory of ``out``; as in BLAS, 0 times nan or inf is 0."""
    try:
        if beta == 1:
            return np.add(out, input, out)
        if beta == 0:
            np.broadcast_to(input, out.shape)
        else:
            np.add(out, scale_array(input, beta), out)
    except ValueError:
        raise expand_error(input.shape, out.shape, input.dtype) from None
    return out


ADDED: dict[str, Any] = {
    "input": lambda g, beta: scale_array(g, beta),
    "inplace": True, "overlap": True, "wide": True,
}  # fmt: skip


@op(
    **ADDED,
    mat1=lambda g, mat2, mat1_strides, alpha: scale_array(
        ordered_product(g, t(mat2), mat1_strides), alpha
    ),
    mat2=lambda g, mat1, mat2_strides, alpha: scale_array(
        ordered_product(t(mat1), g, mat2_strides), alpha
    ),
)
def addmm(input: Array, mat1: Array, mat2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * (mat1 @ mat2)``; ``input`` broadcasts.

    Raises:
        RuntimeError: if the sizes do not fit, or the dtypes differ.
    """
    if input.dtype != mat2.dtype or mat1.dtype != mat2.dtype:
        text = "{} and mat2 must have the same dtype, but got {{}} and {{}}"
        check_same_dtype(input, mat2, text=text.format("self"))
        check_same_dtype(mat1, mat2, text=text.format("mat1"))
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        check_mm("addmm", mat1, mat2)
    out = product(mat1, mat2)
    if alpha.__class__ is not int or alpha != 1:  # as in BLAS, 0 times nan or inf is 0
        out = scale_array(out, alpha) if alpha else np.zeros_like(out)
    return add_scaled(out, input, beta)


@op(
    **ADDED,
    batch1=lambda g, batch2, alpha: scale_array(bmm(g, transpose(batch2, 1, 2)), alpha),
    batch2=lambda g, batch1, alpha: scale_array(bmm(transpose(batch1, 1, 2), g), alpha),
)
def baddbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1
) -> Array:
    """``beta * input + alpha * bmm(batch1, batch2)``; ``input`` broadcasts."""
    for a, dim in ((batch1, 0), (batch1, 1), (batch2, 2)):
        existing_dim(dim, a.ndim)
    check_same_dtype(input, batch1)
    check_bmm(batch1, batch2, "baddbmm")
    return add_scaled(scale_array(product(batch1, batch2), alpha), input, beta)


def unfold_layer(node: Any) -> None:
    """Turn the node of `layer` into PyTorch's nodes: `addmm`, and `t` for the weight.

    An input that is not a matrix needs two more nodes: a `view` of the input as a matrix before
    `addmm`, and an `unsafe_view` back to its dimensions after it. The sequence numbers of the new
    nodes are fractions between the node's own number and the next lower integer.
    """
    bias, input, edge = node._edges
    shape, kind = node._outputs[0]
    matrices = len(shape) == 2
    after = new_node("addmm", node)
    # `NO_EDGE` and `CUT_OFF` stay as they are: the node saved nothing for this gradient.
    if edge[0] is not None:
        turned, size = new_node("t", node), edge[0]._outputs[edge[1]][0]
        turned._sequence, turned._outputs = node._sequence - 0.5, ((size[::-1], kind),)
        turned._edges, edge = (edge,), (turned, 0)
    if not matrices and input[0] is not None:
        seen, whole = new_node("view_in", node), input[0]._outputs[input[1]][0]
        seen._edges, seen._saved, input = (input,), (whole,), (seen, 0)
        seen._outputs = (((math.prod(shape[:-1]), whole[-1]), kind),)
        seen._sequence = node._sequence - 0.75
    held = node._saved
    if isinstance(held, tuple):
        matrix, *values, mat1, kept = held
        mat2 = kept and (saved_view(kept, matrix.T, (t, (), None), edge), kept[1])
        if mat1 and not matrices:
            rows = as_rows(values[0])
            mat1 = saved_view(mat1, rows, (view_in, (rows.shape,), None), input), mat1[1]
        named = {"mat1": mat1, "mat2": mat2}
        named |= {"mat1_strides": (1, 0), "mat2_strides": (0, 1), "alpha": 1, "beta": 1}
        held = tuple([named[name] for name, _ in after.op.recipe])
    if matrices:
        node._edges, node._saved, node.__class__ = (bias, input, edge), held, type(after)
        return
    after._edges, after._saved, after.keeps_values = (bias, input, edge), held, node.keeps_values
    after._sequence = node._sequence - 0.25
    flat = math.prod(shape[:-1]), shape[-1]
    after._outputs, node._saved = ((flat, kind),), (flat,)
    node.keeps_values = False
    node._edges, node.__class__ = ((after, 0),), type(new_node("unsafe_view", node))


def saved_view(saved: tuple[Tensor, int], array: Array, step: Any, edge: Edge) -> Tensor:
    """The view of a saved tensor, at its saved version, that `addmm` would have saved."""
    source, version = saved
    out = wrap(array)
    before, mode.enabled = mode.enabled, True
    try:
        make_view(out, source, step, mode.enabled)
    finally:
        mode.enabled = before
    if out._view is not None:
        out._view.version = version
    if edge[0] is not None:
        out._come_from(edge)
    return out


@op(
    bias=lambda g: sum_rows(g),
    # The parameter `weight` makes the node check the weight's version. The values come from
    # `matrix`, the weight's array at the forward pass.
    input=lambda g, weight, matrix: product(g, matrix),
    weight=lambda g, input: product(g.T, input),
    method=False, public=False, node="AddmmBackward0", unfold=unfold_layer, one_step=True,
)  # fmt: skip
def layer(bias: Array, input: Array, weight: Array, matrix: Any) -> Array:
    """``input @ weight.T + bias``, for matrices whose sizes fit.

    Args:
        matrix: the weight's array; the node keeps it, since ``weight.data = ...`` may replace it.
    """
    out = input.dot(matrix.T) if input.shape[1] != 1 else np.multiply(input, matrix.T)
    return np.add(out, bias, out)


layer_kernel = OPS["layer"].kernel


def as_rows(x: Array) -> Array:
    """An array as a matrix, whose rows run along the array's last dimension."""
    return x.reshape(-1, x.shape[-1])


def from_rows(x: Array, like: Array) -> Array:
    """A matrix with its rows in the leading dimensions of ``like``: undoes `as_rows`."""
    return x.reshape(*like.shape[:-1], x.shape[1])


@op(
    bias=lambda g: sum_rows(as_rows(g)),
    input=lambda g, weight, matrix: from_rows(product(as_rows(g), matrix), g),
    weight=lambda g, input, rows: product(as_rows(g).T, as_rows(rows)),
    method=False, public=False, node="UnsafeViewBackward0", unfold=unfold_layer, one_step=True,
)  # fmt: skip
def layer_of_rows(bias: Array, input: Array, weight: Array, matrix: Any, rows: Any) -> Array:
    """`layer` for a contiguous input of any number of dimensions.

    Args:
        rows: the input's array, for the weight's gradient. PyTorch saves a view of the input here,
            so a later ``input.data = ...`` has no effect on the gradient.
    """
    return from_rows(layer_kernel(bias, as_rows(input), weight, matrix), input)


def add_product(bias: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
    """`addmm`, whose errors call the ``input`` "bias", as `linear` does."""
    try:
        return addmm(bias, mat1, mat2)
    except RuntimeError as error:
        error.args = (str(error).replace("\n  input ", "\n  bias ", 1),)
        raise


LINEAR_OUT = Out("linear", strict=True)


def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Tensor:
    """``input @ weight.T + bias``.

    Shape:
        input ``(*, m)``, weight ``(n, m)`` or ``(m,)``, bias ``(n,)`` or a number -> ``(*, n)``
    """
    if out is not None:
        return LINEAR_OUT.fill(linear, out, (input, weight, bias), {})
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor)):
        check_tensors(input, weight)
    x, matrix = input._array, weight._array
    if (
        isinstance(bias, Tensor)
        and bias._array.dtype == matrix.dtype == x.dtype
        and x.dtype in OF_BLAS
        and x.ndim >= 2 == matrix.ndim
        and x.shape[-1] == matrix.shape[1]
        and bias._array.shape == matrix.shape[:1]
        and matrix.strides[0] > matrix.strides[1]  # `addmm` lays out gradients like its operands
        and not doors.nodes
        and not mode.transforms
    ):
        if x.ndim == 2 and x.strides[0] >= x.strides[1]:
            return layer(bias, input, weight, matrix)
        if x.ndim > 2 and x.size and x.flags.c_contiguous and bias._array.flags.c_contiguous:
            rows = None if weight._history is None else x
            return layer_of_rows(bias, input, weight, matrix, rows)
    ndim = input.ndim
    if ndim == 2 and bias is not None:
        return add_product(bias, input, t(weight))
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
        flat = add_product(bias, reshape(input, (math.prod(shape[:-1]), shape[-1])), t(weight))
        return unsafe_view(flat, (*shape[:-1], flat._array.shape[1]))
    return matmul(input, t(weight)).add_(bias)


# Rows of a table by index: embeddings, sums of rows, one-hot vectors.


# Single rows


def check_indices(name: str, indices: Array) -> None:
    """Refuse indices of any dtype but int32 and int64."""
    if indices.dtype.kind != "i" or indices.itemsize < 4:
        char = dtypes.dtype_of(indices).char
        kind = "CPUBoolType" if char == "Bool" else f"torch.{char}Tensor"
        error = RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {kind} instead (while checking arguments for {name})"
        )
        raise advised(error, "index dtype")


def check_range(indices: Array, rows: int) -> None:
    """Raise IndexError for indices outside of a table of ``rows`` rows."""
    if indices.size and (indices.min() < 0 or indices.max() >= rows):
        about = describe_range("weight", "rows", rows, "input", indices)
        error = IndexError("index out of range in self" + about)
        if indices.min() >= 0:
            advised(error, "rows", indices.max() + 1, indices.max())
        raise error


@hidden_op(
    weight=lambda g, weight_shape, indices, padding_idx, scale_grad_by_freq: (
        embedding_dense_backward(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
    ),
    node="EmbeddingBackward0",
)  # fmt: skip
def embedding_rows(
    weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """``weight[indices]``."""
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_indices("embedding", indices)
    check_range(indices, len(weight))
    return weight.take(indices, 0)


def sum_rows_at(rows: Array, at: Array, count: int) -> Array:
    """The sums ``(count, D)`` of ``rows``, each added to row ``at[i]`` of zeros."""
    out = np.zeros((count, rows.shape[1]), rows.dtype)
    if not 0 < 8 * count <= len(rows) <= rows.size <= CHUNK:
        add_rows(out, [at.astype(np.intp, copy=False)], rows)
        return out
    # For many rows and few places, sort the rows by place. NumPy sorts 16-bit integers faster.
    order = np.argsort(at.astype(np.uint16) if count <= 1 << 16 else at, kind="stable")
    places = at[order]
    starts = np.flatnonzero(np.concatenate(([True], places[1:] != places[:-1])))
    out[places[starts]] = np.add.reduceat(rows[order], starts, 0)
    return out


@hidden_op(
    g=lambda g, indices, padding_idx, scale_grad_by_freq: embedding_taken(
        g, indices, padding_idx, scale_grad_by_freq
    ),
    node="EmbeddingDenseBackwardBackward0", wide=True,
)  # fmt: skip
def embedding_dense_backward(
    g: Array, indices: Array, count: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """The gradient of a table of ``count`` rows: the sums of ``g`` over the uses of each row.

    Args:
        padding_idx: a row whose gradient is zero; -1 for no such row.
        scale_grad_by_freq: divide the gradient of a row by how often the row was looked up.
    """
    rows, at = g.reshape(-1, g.shape[-1]), indices.reshape(-1)
    if padding_idx >= 0:
        kept = at != padding_idx
        rows, at = rows[kept], at[kept]
    out = sum_rows_at(rows, at, count)
    if scale_grad_by_freq:
        out /= np.maximum(np.bincount(at, minlength=count), 1)[:, None].astype(out.dtype)
    return out


@hidden_op(
    g=lambda g, g_shape, indices, padding_idx, scale_grad_by_freq: embedding_dense_backward(
        g, indices, g_shape[0], padding_idx, scale_grad_by_freq
    )
)
def embedding_taken(g: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool) -> Array:
    """The rows of ``g`` at the indices: the adjoint of `embedding_dense_backward`."""
    rows = g.take(indices, 0)
    if scale_grad_by_freq:
        often = np.bincount(indices.reshape(-1), minlength=len(g)).astype(g.dtype)
        rows /= often[indices][..., None]
    if padding_idx >= 0:
        rows[indices == padding_idx] = 0
    return rows


def renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows at ``indices`` down, in place, to a norm of at most ``max_norm``."""
    array, rows = weight._array, np.unique(indices._array)
    norms = np.linalg.norm(array[rows], norm_type, 1)
    long = norms > max_norm
    array[rows[long]] *= (max_norm / (norms[long] + 1e-7))[:, None].astype(array.dtype)
    count_write(weight._cell, "embedding_renorm_")


# Sums, means and maxima of rows


def as_type_of(g: Any, array: Array) -> Any:
    """``array``, as a Tensor if ``g`` is one."""
    return wrap(array) if isinstance(g, Tensor) else array


def bag_weight_formula(
    g: Any, weight_shape: Any, factors: Any, indices: Any, bags: Any, scale_grad_by_freq: bool
) -> Any:
    """The gradient of the table of `bag_sums`."""
    rows = weight_shape[0]
    shares = embedding_taken(g, as_type_of(g, bags), -1, False)
    if factors is not None:
        shares = shares * unsqueeze(factors, 1)
    return embedding_dense_backward(shares, as_type_of(g, indices), rows, -1, scale_grad_by_freq)


def bag_factor_formula(g: Any, weight: Any, indices: Array, bags: Array) -> Any:
    """The gradient of the factors of `bag_sums`."""
    shares = embedding_taken(g, as_type_of(g, bags), -1, False)
    taken = embedding_taken(weight, as_type_of(g, indices), -1, False)
    return sum_along(shares * taken, (1,), False)


@hidden_op(
    weight=bag_weight_formula, factors=bag_factor_formula, node="EmbeddingBagBackward0", wide=True,
)  # fmt: skip
def bag_sums(
    weight: Array, factors: Array | None, indices: Any, bags: Any, count: int,
    scale_grad_by_freq: bool,
) -> Array:  # fmt: skip
    """The sum of the rows of each bag, each row times its factor: (count, D).

    Args:
        weight: (K, D).
        factors: (N,), or None for ones.
        indices: an array (N,), the row of each sample.
        bags: an array (N,), the bag of each sample, in ascending order.
        count: the number of bags.
        scale_grad_by_freq: see `embedding_dense_backward`.
    """
    rows = weight.take(indices, 0)
    return sum_rows_at(rows if factors is None else rows * factors[:, None], bags, count)


@hidden_op(
    weight=lambda g, weight_shape, rows, filled: gather_backward(
        g * as_type_of(g, filled), weight_shape, 0, rows
    ),
    aux=("rows",), node="EmbeddingBagBackward0",
)  # fmt: skip
def bag_maxima(weight: Array, indices: Any, bags: Any, filled: Any) -> tuple[Array, Array]:
    """The maxima of each column over the rows of each bag, and the rows that attain them.

    Args:
        weight: (K, D).
        indices: an array (N,), the row of each sample.
        bags: an array (N,), the bag of each sample, in ascending order.
        filled: (number of bags, 1), whether a bag has a sample; the maxima of an empty bag are 0.
    """
    out = np.zeros((len(filled), weight.shape[1]), weight.dtype)
    where = np.zeros(out.shape, np.int64)
    starts = np.searchsorted(bags, np.arange(len(filled)))
    for bag in np.flatnonzero(filled):
        some = indices[starts[bag] : starts[bag + 1] if bag + 1 < len(filled) else None]
        rows = weight.take(some, 0)
        first = rows.argmax(0)
        where[bag] = some[first]
        out[bag] = rows.max(0)
    return out, where


# One-hot vectors


@hidden_op()
def one_hot_rows(input: Array, num_classes: int) -> Array:
    """One-hot rows ``(*input.shape, num_classes)``: 1 at the index of the class, 0 elsewhere."""
    if input.size and input.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    out = np.zeros((input.size, num_classes), np.int64)
    out[np.arange(input.size), input.reshape(-1)] = 1
    return out.reshape((*input.shape, num_classes))
