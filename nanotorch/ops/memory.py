"""A tensor's memory: strided views, writes in place, resizing, sharing by DLPack."""

import gc
import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial, update_wrapper
from types import SimpleNamespace
from typing import Any

import numpy as np

from nanotorch._core.arguments import (
    METHOD,
    arguments_of,
    as_int,
    as_ints,
    copy_function,
    rename,
    require_bool,
    with_memory_errors,
)
from nanotorch._core.call_site import count_write
from nanotorch._core.doors import NoValues
from nanotorch._core.dtypes import Number, bfloat16, check_integer_range, require_cpu
from nanotorch._core.grad_mode import mode, refuse_write
from nanotorch._core.graph import Step, View, check_memory, keep_accumulators, refuse_history
from nanotorch._core.layout import address, owner_of, whole_memory
from nanotorch._core.meta import NO_DATA, MetaArray
from nanotorch._core.op import (
    OPS,
    Array,
    as_number,
    default_node_name,
    hidden_op,
    method,
    node_class,
    op,
    public,
)
from nanotorch._core.ownership import is_alone, references
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import (
    check_ndim,
    inplace_form,
    number_as,
    require,
    view_memory,
)
from nanotorch.ops.joining import check_broadcast_into
from nanotorch.ops.reduction import sum_all
from nanotorch.ops.shape import (
    parse_ints,
    squeeze,
    swapaxes,
    swapdims,
    t,
    transpose,
    unsqueeze,
    view_in,
)
from nanotorch.ops.storage import UntypedStorage

# Views of the whole memory.


Layout = tuple[tuple[int, ...], tuple[int, ...], int]  # sizes, strides and offset, in elements


def layout_of(array: Array) -> Layout:
    """The sizes, strides and offset of ``array`` in its memory, in elements."""
    start = address(array) - address(whole_memory(array))
    strides = tuple([s // array.itemsize for s in array.strides])
    return array.shape, strides, start // array.itemsize


@method(public=False)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The whole memory of the tensor, which it may share with other tensors."""
    return UntypedStorage(whole_memory(self._array), self.dtype is bfloat16)


@method(public=False)
def storage_offset(self: Tensor) -> int:
    """The position of the first element in the tensor's memory, in elements."""
    return layout_of(self._array)[2]


def element_positions(layout: Layout) -> np.ndarray:
    """The position in memory of each element."""
    sizes, strides, offset = layout
    at = np.full(sizes, offset)
    for d, (n, stride) in enumerate(zip(sizes, strides, strict=True)):
        at += (np.arange(n) * stride).reshape((n,) + (1,) * (len(sizes) - d - 1))
    return at


@hidden_op(
    input=lambda g, layout, source: relaid(g, layout, source, source),
    view=True, node="AsStridedBackward0",
)  # fmt: skip
def strided_view(input: Array, layout: Layout, source: Layout) -> Array:
    """A view, with ``layout``, of the memory of ``input``; its own layout is ``source``."""
    sizes, strides, offset = layout
    memory, item = whole_memory(input), input.itemsize
    reach = offset + memory_extent(sizes, strides)
    require(0 in sizes or reach * item <= memory.nbytes, "as_strided(): beyond the memory")
    start = min(offset * item, memory.nbytes)  # only an empty view may begin beyond the end
    return input.__class__(sizes, input.dtype, memory, start, tuple([s * item for s in strides]))


@hidden_op(g=lambda g, layout, source, over: relaid(g, source, layout, over))
def relaid(g: Array, layout: Layout, source: Layout, over: Layout) -> Array:
    """The sums of ``g``, added to blank memory with ``layout`` and read from it with ``source``.

    If several elements of the layout ``over`` share a position, the sum there is split equally.
    """
    to, from_, sharing = map(element_positions, (layout, source, over))
    memory = np.zeros(1 + max(p.max(initial=0) for p in (to, from_, sharing)), g.dtype)
    np.add.at(memory, to, g)
    owners = np.bincount(sharing.ravel(), minlength=memory.size)
    if owners.max() > 1:
        memory /= np.maximum(owners, 1).astype(g.dtype)
    return memory[from_]


def memory_extent(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """The number of elements from the first one of a layout to the last one in memory."""
    return 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


@method
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with the given sizes, strides and offset, in elements.

    Args:
        storage_offset: the position of the first element in the memory. Default: the tensor's own.

    Raises:
        RuntimeError: for a layout that is not valid or exceeds the memory.
    """
    own = layout_of(input._array)
    return strided_view(input, checked_layout(own, size, stride, storage_offset), own)


def checked_layout(own: Layout, size: Any, stride: Any, storage_offset: int | None) -> Layout:
    """The layout asked of `as_strided`, if it is valid; ``own`` is the layout of the tensor."""
    offset = own[2] if storage_offset is None else storage_offset
    layout = (as_ints(size, single=False), as_ints(stride, single=False), as_int(offset))
    require(len(layout[0]) == len(layout[1]), "mismatch in length of strides and shape")
    require(min(layout[1], default=0) >= 0, "as_strided(): negative strides {}", layout[1])
    require(offset >= 0, "Tensor: invalid storage offset {}", offset)
    return layout


# Writes into a tensor's own memory: `copy_`, `fill_`, `zero_`, and in-place views.
#
# A kernel declared with ``inplace=True`` usually computes a new array, which is then written to the
# tensor. The kernels below write to their argument and return it.


def inplace(**declared: Any) -> Callable[[Any], Any]:
    """Declare a kernel that writes to its first argument; returns the in-place operation."""

    def declare(kernel: Any) -> Any:
        op(inplace=True, method=False, public=False, **declared)(kernel)
        return inplace_form(kernel.__name__)

    return declare


def apply_to_copy(kernel: Any, copied: Callable[..., Array], of: int) -> Any:
    """The ``kernel``, which writes to its first argument, applied to a copy of this argument.

    The source is generated: any other way to pass the arguments is slower.

    Args:
        copied: the function that makes the copy.
        of: the number of arguments of ``copied``.
    """
    arguments = arguments_of(kernel)
    first, *others = [n for n, a in arguments.items() if not a.keyword_only]
    by_name = [n for n, a in arguments.items() if a.keyword_only]
    taken = ", ".join([first, *others, *(f"*, {n}" for n in by_name)])
    given = ", ".join([*others, *(f"{n}={n}" for n in by_name)])
    asked = ", ".join([first, *others][:of])
    source = f"lambda {taken}: kernel(copied({asked}), {given})"
    names = {"kernel": kernel, "copied": copied, "__name__": kernel.__module__}
    function = eval(source, names)
    function.__defaults__, function.__kwdefaults__ = kernel.__defaults__, kernel.__kwdefaults__
    return update_wrapper(function, kernel)


COPY = partial(np.array, subok=True)
IN_ORDER = partial(COPY, order="C")  # a contiguous copy


def with_inplace(
    copied: Callable[..., Array] = IN_ORDER, of: int = 1, *, method: bool = True, **declared: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare ``f_``, a kernel that writes to its first argument, and ``f``, the same on a copy.

    Args:
        copied, of: see `apply_to_copy`.
        method: make ``f`` public, and both methods. Default: True.
    """

    def declare(kernel: Any) -> Any:
        name, node = kernel.__name__, default_node_name(kernel.__name__)
        function = op(method=method, public=method, **declared)(apply_to_copy(kernel, copied, of))
        in_place = inplace(**{"node": node, **declared})(rename(kernel, f"{name}_in_place"))
        OPS[name].functions[f"{METHOD}{name}_"] = in_place
        if method:
            setattr(Tensor, f"{name}_", in_place)
        return function

    return declare


@hidden_op()
def blank(input: Array) -> Array:
    """Zeros like ``input``: the gradient of values that were overwritten."""
    return np.zeros(input.shape, input.dtype)


# Copies


@inplace(
    input=lambda g: blank(g),
    other=lambda g: g,
    node="torch::autograd::CopyBackwards",
)  # fmt: skip
def copied_into(input: Array, other: Array) -> Array:
    """Write ``other`` into ``input``; broadcasts and converts it."""
    if isinstance(other, MetaArray) and not isinstance(input, MetaArray):
        raise NotImplementedError(NO_DATA)
    if other.ndim > input.ndim:
        check_broadcast_into(input.shape, other.shape)
    try:
        np.copyto(input, other, casting="unsafe")
    except ValueError:
        check_broadcast_into(input.shape, other.shape)
        raise
    return input


@method(public=False)
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write the values of ``other``, broadcast and converted, into this tensor; returns it.

    Raises:
        RuntimeError: if the shapes do not fit, or the tensor must not be written to.
    """
    if not isinstance(other, Tensor) and isinstance(other, (bool, int, float)):
        check_integer_range(other)
        other = wrap(np.array(other))
    return copied_into(self, other)


# Numbers


@inplace(input=lambda g: blank(g), node="FillBackward2", expanded="")
def filled_with_number(input: Array, value: Number) -> Array:
    """Write a Python number to every element."""
    input.fill(number_as(value, input.dtype))
    return input


@inplace(
    input=lambda g: blank(g),
    value=lambda g: sum_all(g),
    node="FillBackward3", overlap=True, expanded="",
)  # fmt: skip
def filled_with_tensor(input: Array, value: Array) -> Array:
    """Write the value of a 0-d tensor to every element."""
    check_ndim("fill_", value, 0, 0)
    np.copyto(input, value, casting="unsafe")
    return input


@method(public=False)
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write a number, or the value of a 0-d tensor, to every element; returns the tensor.

    Raises:
        RuntimeError: if the value does not fit the dtype, or the tensor must not be written to.
    """
    if isinstance(value, Tensor):
        check_memory(self)  # as in PyTorch, overlapping elements accept a number, but no tensor
        return filled_with_tensor(self, value)
    return filled_with_number(self, as_number(value))


@inplace(input=lambda g: blank(g), expanded="")
def zero(input: Array) -> Array:
    """Fill the tensor with zeros; returns the tensor."""
    input.fill(0)
    return input


method(zero, name="zero_", public=False)


@method(public=False)
def fill_diagonal_(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Write a number to the main diagonal, where all indices are equal; returns the tensor.

    Args:
        wrap: in a matrix with more rows than columns, start another diagonal below the end of the
            first. Default: False.

    Raises:
        RuntimeError: unless the tensor has two dimensions, or more dimensions of equal size.
    """
    shape, ndim = self._array.shape, self.ndim
    check_ndim("fill_diagonal_", self, 2)
    require_bool(wrap, "wrap")
    fill_value = as_number(fill_value, "fill_value")
    require(ndim <= 2 or len(set(shape)) <= 1, "all dimensions of input must be of equal length")
    stride = sum(self.stride())
    as_strided(self, (min(shape),), (stride,)).fill_(fill_value)
    if wrap and ndim == 2 and shape[0] > shape[1] + 1:
        below = self[shape[1] + 1 :]
        fill_diagonal_(below, fill_value, wrap=True)
    return self


# In-place views: a tensor becomes a view of itself


def become_view(self: Tensor, view: Any, undo: Step) -> Tensor:
    """Give ``self`` the layout and history of its ``view``; the memory stays. Returns ``self``.

    Args:
        undo: the step back to the former layout, for other views of ``self``.

    Raises:
        RuntimeError: for an inference tensor outside inference mode.
    """
    if view._edge is not None:
        node: Any = view.grad_fn
        kind: Any = type(node)
        node.__class__ = inplace_node_class(kind)
    refuse_write(self._cell)
    keep_accumulators(self)
    if self._view is None:
        self._past = (*self._past, (self._array, undo))
    self._array = view._array
    count_write(self._cell, "an operation that reshapes in place")
    known = self._view
    if known is not None and view._view is not None:
        # A view that is not recorded here updates its history from its base at the next use.
        version = self._cell[0] if mode.enabled and self.requires_grad else known.version
        self._view = View(known.base, view._view.steps, version, known.origin, known.base_array)
        self._view.history = known.history
    if mode.enabled and view._edge is not None:
        self._come_from(view._edge)
    return self


# PyTorch numbers the nodes of the in-place forms after the others.
IN_PLACE = {
    "TBackward0": "TBackward1", "TransposeBackward0": "TransposeBackward1",
    "UnsqueezeBackward0": "UnsqueezeBackward1", "SqueezeBackward0": "SqueezeBackward3",
    "SqueezeBackward1": "SqueezeBackward4", "SqueezeBackward2": "SqueezeBackward5",
}  # fmt: skip


@cache
def inplace_node_class(kind: Any) -> Any:
    """The node class of an in-place view, from the class of the plain view."""
    return node_class(IN_PLACE[kind.__name__], kind)


def as_method(function: Any) -> Any:
    """A copy of a function whose frames show that it runs as a method of `Tensor`."""
    copy = copy_function(function, METHOD + function.__code__.co_name)
    update_wrapper(copy, function)
    copy.__qualname__, copy.__module__ = METHOD + function.__name__, "nanotorch._core.tensor"
    return copy


def inplace_view(function: Any) -> None:
    """Declare the in-place form of a view, `transpose_` for example, as a method."""
    name = function.__name__
    plain = getattr(Tensor, name)  # its errors count arguments as those of a method
    plain = as_method(plain) if plain is function else plain

    def replaced(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        try:
            if mode.enabled:
                refuse_history(self)
            undo: Step = (view_in, (self._array.shape,), None)
            if function not in (squeeze, unsqueeze):  # its own inverse
                undo = (function, (*args, *kwargs.values()), None)
            try:
                view = plain(self, *args, **kwargs)
            except (RuntimeError, TypeError) as error:
                raise type(error)(str(error).replace(f"{name}()", f"{name}_()", 1)) from None
            return become_view(self, view, undo)
        except NoValues:
            sample: Any = self
            return sample._become(function(self, *args, **kwargs))

    replaced.__doc__ = f"In-place `{name}`."
    method(replaced, name=f"{name}_", public=False)


for _function in (t, transpose, swapaxes, swapdims, squeeze, unsqueeze):
    inplace_view(_function)


# `resize_`: another shape in the same memory.


@method(public=False)
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape in its own memory, with contiguous strides; returns it.

    Views of the tensor do not change. If the memory is too small, all tensors in it move to new
    memory: a copy of the old one, followed by zeros.

    Raises:
        RuntimeError: for a tensor that requires grad, a negative size, an inference tensor outside
            inference mode, and for memory that is too small and shared with NumPy's arrays.
    """
    shape = parse_ints("resize_", "size", size)
    require(not any(n < 0 for n in shape), "numel: integer multiplication overflow")
    if self.requires_grad and mode.enabled is not None:
        raise RuntimeError("cannot resize variables that require grad")
    return give_shape(self, shape)


@method(name="_give_shape", public=False)
def give_shape(
    self: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> Tensor:
    """`resize_`, also for tensors that require grad, and with any ``strides`` without gaps."""
    if shape == self._array.shape:
        return self
    refuse_write(self._cell)
    own, count = layout_of(self._array), math.prod(shape)
    if strides is None:
        strides = tuple([math.prod(shape[d + 1 :]) for d in range(len(shape))])
    there = (shape, strides, own[2])
    if own[2] + count > whole_memory(self._array).nbytes // self._array.itemsize:
        together = tensors_sharing_memory(self)
        grow_memory(self, together, own[2] + count)
        if len(together) == 1:  # no view needs a step back
            self._array = strided_view(self._array, there, own)
            count_write(self._cell, "resize_")
            return self
    return become_view(self, strided_view(self, there, own), (strided_view, (own, there), None))


def arrays_of(tensor: Tensor) -> list[np.ndarray]:
    """All arrays through which a tensor holds its memory."""
    view = tensor._view
    earlier = [array for array, _ in tensor._past]
    return [tensor._array, *earlier, *([] if view is None else [view.base_array])]


def tensors_sharing_memory(tensor: Tensor) -> list[Tensor]:
    """All tensors that share the memory of ``tensor``; an error if another object shares it."""
    if is_alone(tensor) and tensor._array.flags.owndata:
        return [tensor]  # skips the search, which is slow
    array = tensor._array
    owner = owner_of(array)
    tensors = [
        t
        for t in gc.get_objects()
        if Tensor in type(t).__mro__ and "_array" in vars(t) and owner_of(t._array) is owner
    ]
    del array
    slots = Counter(id(a) for t in tensors for a in arrays_of(t))
    arrays = {id(a): a for a in (owner, *(a for t in tensors for a in arrays_of(t)))}
    slots[id(owner)] += 1 + sum(a.base is owner for a in arrays.values())
    # `arrays` and the call of `references` hold each array, too.
    if any(references(arrays[key]) > slots[key] + 2 for key in arrays):
        raise RuntimeError("Trying to resize storage that is not resizable")
    return tensors


@with_memory_errors
def grow_memory(tensor: Tensor, together: list[Tensor], count: int) -> None:
    """Move the tensors ``together`` to new memory of ``count`` elements; zeros follow the old."""
    old = whole_memory(tensor._array)
    memory = np.zeros(count, tensor._array.dtype)
    memory.view(np.uint8)[: old.size] = old
    moved = {
        id(a): a.__class__(a.shape, a.dtype, memory, address(a) - address(old), a.strides)
        for sharer in together
        for a in arrays_of(sharer)
    }
    for sharer in together:
        sharer._past = tuple([(moved[id(a)], step) for a, step in sharer._past])
        if sharer._view is not None:
            sharer._view.base_array = moved[id(sharer._view.base_array)]
        sharer._array = moved[id(sharer._array)]


@method
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of ``the_template``."""
    return resize_(self, the_template.shape)


@method
def square_(input: Tensor) -> Tensor:
    """In-place `square`."""
    return input.pow_(2)


# `apply_`: a Python function of each element.


@method(public=False)
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element ``x`` by ``callable(x)``; returns the tensor. Slow, no gradient.

    Raises:
        RuntimeError: for a tensor that requires grad.
    """
    require(
        not self.requires_grad,  # a Python function has no derivative
        "Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.",
    )
    values = np.array([callable(value) for value in self._array.ravel().tolist()])
    self._array[...] = values.astype(self._array.dtype).reshape(self._array.shape)
    count_write(self._cell, "apply_")
    return self


# Memory shared with other libraries by the DLPack protocol.


CAPSULE = "from_dlpack(): expected an array, or a capsule that has not been used yet"
DLPACK_CPU = (1, 0)  # DLPack's name of the only device


@method(public=False)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raise PyTorch's error: pinned memory needs an accelerator, and there is none.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("Cannot access accelerator device when none is available.")


@method(name="__dlpack__", public=False)
def dlpack(
    self: Tensor, *, stream: Any = -1, max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None, copy: bool | None = None, read_only: bool = False,
) -> Any:  # fmt: skip
    """A DLPack capsule of this tensor's memory, for `from_dlpack` of another library.

    Raises:
        BufferError: if the tensor requires grad.
        AssertionError: for a ``stream`` other than None and -1: only GPUs have streams.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    require(stream in (None, -1), "stream should be None on cpu.", error=AssertionError)
    return self._array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


@method(name="__dlpack_device__", public=False)
def dlpack_device(self: Tensor) -> tuple[int, int]:
    """DLPack's number of the tensor's device: the CPU, ``(1, 0)``."""
    return DLPACK_CPU


@public
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of another library's array.

    Args:
        ext_tensor: an object with the method ``__dlpack__``, or a capsule that this method
            returned; a capsule works once.
        device: the CPU is the only device.
        copy: True: copy the memory. Default: None.

    Raises:
        RuntimeError: for any other object, or a capsule that has been used.
        BufferError: for memory that cannot be shared: on another device, with elements of an
            unknown type, or of a tensor that requires grad.
    """
    require_cpu(device)
    if type(ext_tensor).__name__ == "PyCapsule":
        capsule = ext_tensor
        ext_tensor = SimpleNamespace(
            __dlpack__=lambda **options: capsule, __dlpack_device__=lambda: DLPACK_CPU
        )
    if not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(CAPSULE)
    try:
        array = np.from_dlpack(ext_tensor, copy=copy)
    except ValueError as error:
        raise RuntimeError(CAPSULE) from error
    return wrap(view_memory(array, writable=False))


@public
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of a tensor's memory, for another library; it works once.

    Raises:
        BufferError: if the tensor requires grad.
    """
    return dlpack(tensor, max_version=(1, 0))  # the first version that can mark memory writable
