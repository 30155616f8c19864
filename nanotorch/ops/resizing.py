"""`resize_`: another shape in the same memory."""

import math
import sys
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_ints
from nanotorch._core.copying import address, owner_of, whole_memory
from nanotorch._core.grad_mode import mode
from nanotorch._core.heap import in_pytorchs_words
from nanotorch._core.inference import refuse_write
from nanotorch._core.op import method
from nanotorch._core.origins import wrote
from nanotorch._core.tensor import Tensor
from nanotorch._core.views import refuse_history
from nanotorch.ops.inplace import become, in_place_class
from nanotorch.ops.memory import layout_asked, layout_of, strided_view

NOT_RESIZABLE = (
    "Trying to resize storage that is not resizable: other tensors or arrays share it, and it "
    "cannot grow where it lies. Resize it before views of it are made, or resize a copy."
)


@method(public=False)
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape in its own memory, in the order of the dimensions.

    Views of it see what they saw. If the memory is too small, the tensor, and the one it is a view
    of, get new memory: what they had, followed by zeros.

    Raises:
        RuntimeError: for a tensor that requires grad, a negative size, an inference tensor outside
            inference mode, and for memory that is too small and shared with others.
    """
    if not size:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    shape = as_ints(size[0] if len(size) == 1 else size, ("resize_", "size", 1))
    if any(n < 0 for n in shape):
        raise RuntimeError("numel: integer multiplication overflow")
    if self.requires_grad and mode.enabled is not None:
        raise RuntimeError("cannot resize variables that require grad")
    return give_shape(self, shape)


@method(name="_give_shape", public=False)
def give_shape(self: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`resize_`, of tensors that require grad as well."""
    if shape == self._array.shape:
        return self
    refuse_write(self._cell)
    own, count = layout_of(self._array), math.prod(shape)
    strides = tuple([math.prod(shape[d + 1 :]) for d in range(len(shape))])
    there = (shape, strides, own[2])
    if own[2] + count > whole_memory(self._array).nbytes // self._array.itemsize:
        if is_shared(self):
            raise RuntimeError(NOT_RESIZABLE)
        lengthen(self, own[2] + count)
        if self._view is None:  # and nobody has to find a way back
            self._array = strided_view(self._array, there, own)
            wrote(self._cell, "resize_")
            return self
    return relaid_in_place(self, strided_view(self, there, own), own, there)


def is_shared(tensor: Tensor) -> bool:
    """Whether anybody but the tensor, and the one it is a view of, holds its memory."""
    view, of_base = tensor._view, 0
    # The tensor holds one reference, or its array does, and the call the other.
    if sys.getrefcount(tensor._array) > 2:
        return True
    if view is not None:
        part = tensor._array.base is view.base._array
        if sys.getrefcount(view.base._array) > 2 + part + (view.shaped is view.base._array):
            return True
        if part:
            return not view.base._array.flags.owndata
        of_base = 1
    if tensor._array.flags.owndata:
        return False
    whole = owner_of(tensor._array) is tensor._array.base
    return not whole or sys.getrefcount(tensor._array.base) > 2 + of_base


def lengthen(tensor: Tensor, count: int) -> None:
    """Give a tensor, and the one it is a view of, memory of ``count`` elements, zeros behind."""
    old, view = whole_memory(tensor._array), tensor._view
    try:
        memory = np.zeros(count, tensor._array.dtype)
    except (MemoryError, ValueError) as error:
        raise in_pytorchs_words(error) from None
    memory.view(np.uint8)[: old.size] = old
    for t in (tensor,) if view is None else (tensor, view.base):
        a, start = t._array, address(t._array) - address(old)
        t._array = np.ndarray(a.shape, a.dtype, memory, start, a.strides)
    if view is not None:
        view.shaped = view.base._array


@method
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    return resize_(self, the_template.shape)


@method
def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """In-place `as_strided`."""
    if mode.enabled:
        refuse_history(self)
    own = layout_of(self._array)
    there = layout_asked(own, size, stride, storage_offset)
    return relaid_in_place(self, strided_view(self, there, own), own, there)


def relaid_in_place(self: Tensor, view: Tensor, own: Any, there: Any) -> Tensor:
    """Make ``self`` what its ``view`` is, which lies as ``there``."""
    if view._edge is not None:
        node: Any = view._edge[0]
        kind: Any = type(node)
        node.__class__ = in_place_class(kind)
    return become(self, view, (strided_view, (own, there), None))
