"""Brackets: `tensor[index]` and `tensor[index] = value`, put together from views and `index`."""

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_int
from nanotorch._core.batched import NoValues
from nanotorch._core.copying import address
from nanotorch._core.grad_mode import mode
from nanotorch._core.inference import refuse_write
from nanotorch._core.op import method
from nanotorch._core.origins import wrote
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.warned import warn
from nanotorch._core.watching import look, watch
from nanotorch.ops.advanced import Index, check_masks, index, put_into
from nanotorch.ops.arguments import number_in
from nanotorch.ops.expanding import expand_to
from nanotorch.ops.indexing import index_fill_
from nanotorch.ops.inplace import copy_, fill_
from nanotorch.ops.masking import masked_fill_
from nanotorch.ops.memory import alias
from nanotorch.ops.shape import reshape, unsqueeze, view
from nanotorch.ops.slicing import NO_SLICE, part, select, slice_along
from nanotorch.ops.values import array_of

NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {})"
)
NOT_A_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
    "pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as "
    "tensor index, x[torch.tensor(seq)], which will result either in an error or a different result"
)
NO_DIMENSIONS = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
    "to convert a 0-dim tensor to a number"
)
OUT_OF_BOUNDS = "index {} is out of bounds for dimension {} with size {}"
SEQUENCES = (tuple, list, range, str, bytes)

# Flags become indices into a new dimension of size 1.
FLAGS = {True: np.zeros(1, np.int64), False: np.zeros(0, np.int64)}


def items_of(given: Any) -> tuple[Any, ...]:
    """An index as a tuple of what there is for each dimension."""
    if type(given) is tuple:
        return given
    if not isinstance(given, (list, range)) or len(given) >= 32:
        return (given,)
    compound = (*SEQUENCES, Tensor, np.ndarray, slice, type(None), type(...))
    if not any(isinstance(item, compound) for item in given):
        return (given,)
    warn(NOT_A_TUPLE)
    return tuple(given)


def as_index_tensor(item: Any) -> Tensor:
    """A sequence or array as an index tensor: a mask of bools, else int64.

    Raises:
        TypeError, ValueError, RuntimeError: for strings, and what is no regular array of numbers.
        IndexError: for what is neither.
    """
    if isinstance(item, Tensor):
        return item
    if isinstance(item, np.ndarray):
        array = item
    elif isinstance(item, SEQUENCES):
        item = list(item) if isinstance(item, range) else item
        array = array_of(item, None)
    else:
        kind = type(item)
        name = (
            kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        )
        raise IndexError(NOT_AN_INDEX.format(name))
    return wrap(array if array.dtype in (np.bool_, np.uint8) else array.astype(np.int64))


def dimensions_of(items: Sequence[Any]) -> int:
    """How many dimensions of the tensor the items of its index take up."""
    count = len(items)
    for item in items:
        if item is None or item is ... or item is True or item is False:
            count -= 1
        elif isinstance(item, Tensor) and item._array.dtype.kind in "bu":
            count += item._array.ndim - 1
    return count


def bounds_of(given: slice, size: int) -> tuple[int, int, int]:
    """Start, stop and step of a slice of a dimension.

    Raises:
        ValueError: for a step that is not positive.
    """
    if given.step is not None and operator.index(given.step) < 0:
        raise ValueError("step must be greater than zero")
    return given.indices(size)


def slice_at(source: Tensor, dim: int, given: slice) -> Tensor:
    """A slice of a dimension; the source itself where the slice says the whole of it."""
    size = source._array.shape[dim]
    start, stop, step = bounds_of(given, size)
    # PyTorch does not look twice at bounds that are counted from the end.
    if step == 1 and not given.start and (given.stop is None or given.stop >= size):
        return source
    return slice_along(source, dim, start, stop, step)


def plain(items: tuple[Any, ...]) -> bool:
    """Whether NumPy understands an index just as PyTorch does: integers and slices alone."""
    for item in items:
        if type(item) is slice:
            step = item.step
            if step is not None and not (type(step) is int and step > 0):
                return False
        elif type(item) is not int:
            return False
    return True


def select_at(source: Tensor, dim: int, at: int, position: int) -> Tensor:
    """One index of a dimension; `position` is that of the item, for the message."""
    size = source._array.shape[dim]
    if not -size <= at < size:
        raise IndexError(OUT_OF_BOUNDS.format(at, position, size))
    return select(source, dim, at)


def resolve(source: Tensor, items: Sequence[Any]) -> tuple[Tensor, dict[int, Tensor]]:
    """The view that the plain items of an index lead to, and the index tensors by dimension.

    Raises:
        IndexError: for too many items, or one out of range.
    """
    taken = dimensions_of(items)
    ndim = source._array.ndim
    if taken > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    dim, tensors = 0, {}
    for position, item in enumerate(items):
        kind = type(item)
        if kind is int or isinstance(item, np.integer):
            source = select_at(source, dim, int(item), position)
        elif kind is slice:
            source = slice_at(source, dim, item)
            dim += 1
        elif item is ...:
            dim += ndim - taken
        elif item is None:
            source = unsqueeze(source, dim)
            dim += 1
        else:
            flag = item if kind is bool else None
            tensor = as_index_tensor(item) if flag is None else None
            if tensor is not None and tensor._array.ndim == 0 and tensor._array.dtype.kind in "iub":
                try:
                    if tensor._array.dtype.kind == "i":
                        source = select_at(source, dim, int(tensor._array), position)
                        continue
                    flag = bool(tensor._array)
                except NoValues:
                    pass  # each sample has an index of its own
            if flag is not None:
                source, tensor = unsqueeze(source, dim), wrap(FLAGS[flag])
            assert tensor is not None
            tensors[dim] = tensor
            dim += max(dimensions_of((tensor,)), 1)
    return source, tensors


def index_of(tensors: dict[int, Tensor], ndim: int) -> Index:
    """Index tensors by dimension as an index.

    Raises:
        IndexError: for a dimension there is not: two `...` have shifted the indices.
    """
    entries: list[Tensor | None] = []
    dim = 0
    for at, tensor in tensors.items():
        entries += [None] * (at - dim)
        entries.append(tensor)
        dim = at + max(dimensions_of((tensor,)), 1)
    if len(entries) > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim} (got {len(entries)})")
    return Index(entries)


@method(name="__getitem__", public=False)
def read(self: Tensor, given: Any) -> Tensor:
    """A part of the tensor: a view for integers, slices, None and `...`, a copy for index tensors.

    Raises:
        IndexError: for an index out of range, too many of them, or what is no index.
        ValueError: for a slice with a step that is not positive.
    """
    kind, array = type(given), self._array
    recorded = mode.enabled and self.requires_grad
    if recorded and kind is int and array.ndim and -array.shape[0] <= given < array.shape[0]:
        return select(self, 0, given)
    if kind is Tensor and given._array.ndim and given._array.dtype == np.int64 and self._array.ndim:
        return index(self, Index((given,)))
    if not recorded:
        items = given if kind is tuple else (given,)
        if items and len(items) <= self._array.ndim and plain(items):
            try:
                return part(self, items)
            except (IndexError, TypeError):
                pass  # step by step it will be known why
    if kind is int:
        if not self._array.ndim:
            raise IndexError(OUT_OF_BOUNDS.format(given, 0, 0) if given else NO_DIMENSIONS)
        return select_at(self, 0, given, 0)
    if kind is slice:
        if not self._array.ndim:
            raise IndexError(NO_SLICE)
        return slice_along(self, 0, *bounds_of(given, self._array.shape[0]))
    source, tensors = resolve(self, items_of(given))
    if tensors:
        return index(source, index_of(tensors, source._array.ndim))
    return alias(source) if source is self else source


# Writing


def is_at(array: np.ndarray, given: Any, part: np.ndarray) -> bool:
    """Whether a part of an array is what is there, as `x[i] += 1` has it."""
    if isinstance(given, Tensor):
        return False
    try:
        there = array[(*(given if type(given) is tuple else (given,)), ...)]
    except (IndexError, NoValues):
        return False
    return (
        there.shape == part.shape
        and there.strides == part.strides
        and address(there) == address(part)
    )


def write_plainly(self: Tensor, given: Any, value: Any) -> bool:
    """Write a value where no graph is involved and NumPy does as PyTorch; whether it was done."""
    array, place = self._array, given
    if 0 in array.strides:
        return False
    if isinstance(given, Tensor):
        place = given._array
        if place.dtype not in (np.int64, np.bool_) or not place.ndim:
            return False
        # NumPy takes an empty mask of any shape.
        if place.dtype.kind == "b" and place.shape != array.shape[: place.ndim]:
            return False
    elif given is not ... and not plain(given if type(given) is tuple else (given,)):
        return False
    if isinstance(value, Tensor):
        new: Any = value._array
        if value._cell is self._cell and not is_at(array, given, new):
            return False
        if place is not given and new.dtype != array.dtype:
            return False
        if mode.enabled and (self.requires_grad or value.requires_grad):
            return False
    elif isinstance(value, (bool, int, float)):
        if value.__class__ is int:
            as_int(value)
        new = number_in(value, array.dtype)
        if mode.enabled and self.requires_grad:
            return False
    else:
        return False
    refuse_write(self._cell)
    try:
        array[place] = new
    except (IndexError, ValueError, TypeError, OverflowError, NoValues):
        return False
    wrote(self._cell, "index assignment")
    if watch.on:
        look("index assignment", array[place], [("value", new)], None, sys._getframe(1))
    return True


def without_leading_ones(value: Tensor) -> Tensor:
    """``value`` without leading dimensions of size 1."""
    shape = value._array.shape
    ones = next((d for d, n in enumerate(shape) if n != 1), len(shape))
    return view(value, shape[ones:])


def assign(target: Tensor, value: Any) -> None:
    """Write a number or tensor into a view."""
    if not isinstance(value, Tensor):
        fill_(target, value)
    elif value._array.shape == target._array.shape:
        copy_(target, value)
    elif value._array.ndim == 0:
        fill_(target, value)
    else:
        value, shape = without_leading_ones(value), target._array.shape
        copy_(target, value if value._array.shape == shape else expand_to(value, shape))


def assign_at(target: Tensor, tensors: dict[int, Tensor], value: Any) -> None:
    """Write a number or tensor into a view at index tensors."""
    at = index_of(tensors, target._array.ndim)
    if isinstance(value, Tensor):
        leading = value._array.ndim and value._array.shape[0] == 1
        put_into(target, at, without_leading_ones(value) if leading else value)
        return
    if len(tensors) == 1:
        ((dim, tensor),) = tensors.items()
        kind = tensor._array.dtype
        if kind == np.int64:
            index_fill_(target, dim, reshape(tensor, (-1,)), value)
            return
        if kind.kind in "bu":
            check_masks(target._array.shape, at.key)
            rest = (1,) * (target.ndim - dim - tensor.ndim)
            masked_fill_(target, reshape(tensor, tensor._array.shape + rest), value)
            return
    put_into(target, at, wrap(np.array(number_in(value, target._array.dtype))))


@method(name="__setitem__", public=False)
def write(self: Tensor, given: Any, value: Any) -> None:
    """Write a number or tensor to a part of the tensor, broadcasting and converting.

    Raises:
        IndexError: as for reading.
        TypeError: for a value that is neither.
        RuntimeError: for a value that does not fit, or a tensor that must not be written to.
    """
    if write_plainly(self, given, value):
        return
    if not isinstance(value, (Tensor, bool, int, float)):
        kind = type(value)
        name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
        raise TypeError(f"can't assign a {name} to a torch.{self.dtype.char}Tensor")
    if given is False:
        return
    if type(given) is int:
        assign(read(self, given), value)
    elif type(given) is slice and not self._array.ndim:
        raise IndexError(NO_SLICE)
    elif given is True:
        assign(unsqueeze(self, 0), value)
    else:
        target, tensors = resolve(self, items_of(given))
        if tensors:
            assign_at(target, tensors, value)
        else:
            assign(target, value)
