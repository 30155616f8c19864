"""Copies and pickles of tensors: what lies in the same memory stays together, strides are kept."""

import copy
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nanotorch._core.dtypes import entered
from nanotorch._core.inference import new_cell
from nanotorch._core.warned import warn

# What the engine keeps in a tensor; everything else is its user's.
OWN = frozenset(
    (
        "_array", "_cell", "_requires_grad", "_edge", "_grad", "_view", "_past", "_accumulator_ref",
        "_leaf_hooks", "_post_accumulate_hooks", "_retains_grad", "_is_number",
    )
)  # fmt: skip
LEAVES_ONLY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment.  If you were attempting to deepcopy a module, this may be because of a "
    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
)
HOOK_LOST = (
    "backward hook {!r} on tensor will not be serialized.  If this is expected, you can decorate "
    "the function with @torch.utils.hooks.unserializable_hook to suppress this warning"
)
MEMORY = "nanotorch memory"  # in a memo, with the identity of the array that owns it


def attributes_of(tensor: Any) -> dict[str, Any]:
    """What its user has set on a tensor."""
    return {name: value for name, value in vars(tensor).items() if name not in OWN}


def address(array: np.ndarray) -> int:
    """Where the first element lies."""
    return int(array.__array_interface__["data"][0])


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array whose memory ``array`` is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def reach(array: np.ndarray) -> int:
    """How many elements lie from the first to the last in memory, both counted; 0 for none."""
    steps = zip(array.shape, array.strides, strict=True)
    return (1 + sum((n - 1) * step // array.itemsize for n, step in steps)) if array.size else 0


def whole_memory(array: np.ndarray) -> np.ndarray:
    """All bytes of the memory that ``array`` is a view of."""
    owner = owner_of(array)
    if reach(owner) != owner.size:  # what NumPy's `as_strided` made: it has no array as its base
        owner = as_strided(owner, (reach(owner),), (owner.itemsize,))
    return owner.ravel("K").view(np.uint8)


def copied(array: np.ndarray, memo: dict[Any, Any]) -> np.ndarray:
    """A copy of an array together with all the memory it lies in, which is copied once."""
    owner = owner_of(array)
    if owner is not array and reach(owner) != owner.size:
        return like(array)  # no array owns this memory
    place = (MEMORY, id(owner))
    if place not in memo:
        memo[place] = (owner.copy("K"), owner)  # the owner lives as long as its identity is used
    memory: np.ndarray = memo[place][0]
    if owner is array:
        return memory
    start = address(array) - address(owner)
    return np.ndarray(array.shape, array.dtype, whole_memory(memory), start, array.strides)


def order_of(array: np.ndarray) -> Literal["C", "K"]:
    """In which order, for NumPy, something new like ``array`` lies: in its own, if none repeats."""
    strides = array.strides
    if 0 not in strides:
        return "K"
    repeats = any(s == 0 and n > 1 for s, n in zip(strides, array.shape, strict=True))
    return "C" if repeats else "K"


def like(array: np.ndarray) -> np.ndarray:
    """A copy without gaps, with the dimensions in the same order in memory."""
    return array.copy(order_of(array))


def deep_copy(tensor: Any, memo: dict[Any, Any]) -> Any:
    """A copy with a gradient and attributes of its own, and with those that share its memory.

    Raises:
        RuntimeError: for a tensor that an operation made.
    """
    if id(tensor) in memo:
        return memo[id(tensor)]
    if tensor.grad_fn is not None:
        raise RuntimeError(LEAVES_ONLY)
    out = memo[id(tensor)] = object.__new__(type(tensor))
    out._array, out._cell = copied(tensor._array, memo), new_cell(1)
    out._requires_grad = tensor.requires_grad
    if tensor._grad is not None:
        out._grad = copy.deepcopy(tensor._grad, memo)
    vars(out).update(copy.deepcopy(attributes_of(tensor), memo))
    return out


def reduced(tensor: Any) -> tuple[Any, ...]:
    """A tensor for `copy.copy`, which shares its memory, and for pickles, which hold that.

    Warns:
        UserWarning: of hooks, which are lost.
    """
    for hook in (tensor._leaf_hooks or {}).values():
        warn(HOOK_LOST.format(hook))
    array: np.ndarray = tensor._array
    memory = whole_memory(array)
    strides = array.strides if array.size and np.may_share_memory(memory, array) else None
    if strides is None:
        segment = array.reshape(-1)
    else:
        start = address(array) - address(memory)
        segment = np.ndarray((reach(array),), array.dtype, memory, start)
    args = (type(tensor), segment, array.shape, strides, tensor.requires_grad)
    return rebuilt, args, attributes_of(tensor) or None


def rebuilt(
    kind: type[Any],
    segment: np.ndarray,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    requires_grad: bool,
) -> Any:
    """The tensor that `reduced` describes."""
    out = object.__new__(kind)
    segment = entered(segment)
    if strides is None:
        out._array = segment.reshape(shape)
    else:
        out._array = np.ndarray(shape, segment.dtype, segment, 0, strides)
    out._cell = new_cell(1)  # PyTorch counts the filling
    out._requires_grad = requires_grad
    return out
