"""New tensors of one number, or with a layout in memory of one's choice."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_ints
from nanotorch._core.batch_functions import for_each, under_vmap
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.heap import within_memory
from nanotorch._core.op import method, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import as_number, number_or_infinity
from nanotorch.ops.creation import leaf, numpy_dtype, options_of


@public
def scalar_tensor(
    s: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor of a number, in the default dtype unless another is given."""
    kind = numpy_dtype(dtype)
    return leaf(
        np.array(number_or_infinity(as_number(s), kind), kind), requires_grad, device, layout
    )


@public
@within_memory
def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor with arbitrary values, of a given shape and strides, counted in elements.

    Raises:
        RuntimeError: unless there is a stride for each size, and none of either is negative.
    """
    sizes, strides = as_ints(size), as_ints(stride)
    kind = numpy_dtype(dtype)
    if len(sizes) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(sizes)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    for n in sizes:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(sizes)}"
            )
    if any(n < 0 for n in strides):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(sizes)} and "
            f"strides={list(strides)}"
        )
    pairs = zip(sizes, strides, strict=True)
    count = 0 if 0 in sizes else 1 + sum((n - 1) * step for n, step in pairs)
    memory = np.empty(count, kind)
    steps = tuple([step * kind.itemsize for step in strides])
    return leaf(np.ndarray(sizes, kind, memory, 0, steps), requires_grad, device, layout)


@public
def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor with arbitrary values, whose dimensions lie in memory in a given order.

    Args:
        physical_layout: the dimensions, from that of the widest stride.

    Raises:
        RuntimeError: unless each dimension is named once.
    """
    sizes, order = as_ints(size), as_ints(physical_layout)
    if len(sizes) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(sizes)} is not equal to len(physical_layout) = {len(order)}"
        )
    if len(set(order)) < len(order):
        raise RuntimeError("Duplicate dim not allowed")
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(sizes[d], 1)
    return empty_strided(
        sizes, strides, dtype=dtype, device=device, layout=layout, requires_grad=requires_grad
    )


@method(public=False)
@under_vmap(for_each)
def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`empty_strided` with the dtype of this tensor."""
    return empty_strided(size, stride, **options_of(self, dtype, device, layout, requires_grad))
