"""`resize_`: another shape in the same memory."""

import gc
import math
import sys
from collections import Counter
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_ints
from nanotorch._core.copying import address, owner_of, whole_memory
from nanotorch._core.grad_mode import mode
from nanotorch._core.heap import within_memory
from nanotorch._core.inference import refuse_write
from nanotorch._core.op import method
from nanotorch._core.origins import wrote
from nanotorch._core.tensor import Tensor
from nanotorch._core.views import refuse_history
from nanotorch.ops.inplace import become, in_place_class
from nanotorch.ops.memory import layout_asked, layout_of, strided_view

NOT_RESIZABLE = "Trying to resize storage that is not resizable"


@method(public=False)
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape in its own memory, in the order of the dimensions.

    Views of it see what they saw. If the memory is too small, all tensors in it move to new memory:
    what they had, followed by zeros.

    Raises:
        RuntimeError: for a tensor that requires grad, a negative size, an inference tensor outside
            inference mode, and for memory that is too small and shared with NumPy's arrays.
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
def give_shape(
    self: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> Tensor:
    """`resize_`, of tensors that require grad as well, and to any strides without gaps."""
    if shape == self._array.shape:
        return self
    refuse_write(self._cell)
    own, count = layout_of(self._array), math.prod(shape)
    if strides is None:
        strides = tuple([math.prod(shape[d + 1 :]) for d in range(len(shape))])
    there = (shape, strides, own[2])
    if own[2] + count > whole_memory(self._array).nbytes // self._array.itemsize:
        together = sharers(self)
        lengthen(self, together, own[2] + count)
        if len(together) == 1:  # nobody has to find a way back
            self._array = strided_view(self._array, there, own)
            wrote(self._cell, "resize_")
            return self
    return relaid_in_place(self, strided_view(self, there, own), own, there)


def arrays_held(tensor: Tensor) -> list[np.ndarray]:
    """The arrays by which a tensor knows its memory."""
    view = tensor._view
    return [tensor._array, *(a for a, _ in tensor._past), *(() if view is None else (view.shaped,))]


def sharers(tensor: Tensor) -> list[Tensor]:
    """All tensors in the memory of ``tensor``.

    Raises:
        RuntimeError: if anything but tensors holds that memory.
    """
    array = tensor._array
    if array.flags.owndata and sys.getrefcount(tensor._array) == 3 and tensor._view is None:
        return [tensor]  # without the search, which takes long
    owner = owner_of(array)
    tensors = [
        t
        for t in gc.get_objects()
        if Tensor in type(t).__mro__ and owner_of(vars(t).get("_array", array[:0])) is owner
    ]
    del array
    slots = Counter(id(a) for t in tensors for a in arrays_held(t))
    arrays = {id(a): a for a in (owner, *(a for t in tensors for a in arrays_held(t)))}
    slots[id(owner)] += 1 + sum(a.base is owner for a in arrays.values())
    # Each is held by `arrays` and by the call, too.
    if any(sys.getrefcount(arrays[key]) > slots[key] + 2 for key in arrays):
        raise RuntimeError(NOT_RESIZABLE)
    return tensors


@within_memory
def lengthen(tensor: Tensor, together: list[Tensor], count: int) -> None:
    """Give a tensor and those in the same memory one of ``count`` of its elements, zeros behind."""
    old = whole_memory(tensor._array)
    memory = np.zeros(count, tensor._array.dtype)
    memory.view(np.uint8)[: old.size] = old
    moved = {
        id(a): np.ndarray(a.shape, a.dtype, memory, address(a) - address(old), a.strides)
        for t in together
        for a in arrays_held(t)
    }
    for t in together:
        t._past = tuple([(moved[id(a)], step) for a, step in t._past])
        if t._view is not None:
            t._view.shaped = moved[id(t._view.shaped)]
        t._array = moved[id(t._array)]


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
