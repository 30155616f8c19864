"""From a list of samples to a batch."""

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.creation import as_tensor, tensor
from nanotorch.ops.joining import stack

CollateMap = dict[Any, Callable[..., Any]]
UNKNOWN = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch: Sequence[Any]) -> Any:
    """Put samples together: tensors, arrays and numbers become tensors with a new first dimension.

    Mappings, tuples and lists are collated entry by entry; tuples become lists, except named ones.
    Strings stay as they are. Python floats become float64.

    Raises:
        TypeError: for samples of another type.
        RuntimeError: for tensors or sequences of different sizes.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """`default_collate` with other functions for the types that are no containers.

    Args:
        collate_fn_map: functions ``f(batch, *, collate_fn_map)`` by type.
    """
    first = batch[0]
    functions = collate_fn_map or {}
    function = functions.get(type(first))
    if function is None:
        function = next((f for kind, f in functions.items() if isinstance(first, kind)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def together(parts: Sequence[Any]) -> Any:
        return collate(parts, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return like_mapping(first, {key: together([d[key] for d in batch]) for key in first})
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        named = hasattr(first, "_fields")
        if not named and any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return like_sequence(first, [together(parts) for parts in zip(*batch, strict=False)])
    raise TypeError(UNKNOWN.format(type(first)))


def default_convert(data: Any) -> Any:
    """Turn NumPy arrays and numbers, also inside containers, into tensors; the rest stays."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like_sequence(data, [default_convert(entry) for entry in data])
    return data


def like_mapping(first: Any, entries: dict[Any, Any]) -> Any:
    """A mapping of the type of ``first``; its copy, if it can be changed, to keep attributes."""
    try:
        if isinstance(first, MutableMapping):
            clone = copy.copy(first)
            clone.update(entries)
            return clone
        return type(first)(entries)
    except TypeError:
        return entries


def like_sequence(first: Any, entries: list[Any]) -> Any:
    """A sequence of the type of ``first``, but a list for a tuple that is not a named one."""
    if isinstance(first, tuple):
        return type(first)(*entries) if hasattr(first, "_fields") else entries
    try:
        if isinstance(first, MutableSequence):
            clone = copy.copy(first)
            for position, entry in enumerate(entries):
                clone[position] = entry
            return clone
        return type(first)(entries)
    except TypeError:
        return entries


def collate_tensors(batch: Sequence[Tensor], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Tensors of equal shapes, stacked."""
    arrays = [sample._array for sample in batch]
    shape, kind = arrays[0].shape, arrays[0].dtype
    if any(a.shape != shape or a.dtype != kind for a in arrays) or any(
        sample.requires_grad for sample in batch
    ):
        stacked: Tensor = stack(list(batch))
        return stacked
    return wrap(np.array(arrays))


def collate_arrays(batch: Sequence[np.ndarray], *, collate_fn_map: CollateMap | None = None) -> Any:
    """NumPy arrays, as tensors."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(UNKNOWN.format(batch[0].dtype))
    return collate([as_tensor(sample) for sample in batch], collate_fn_map=collate_fn_map)


def collate_scalars(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """NumPy numbers."""
    return as_tensor(batch)


def collate_floats(batch: Sequence[float], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Python floats."""
    return tensor(batch, dtype=dtypes.float64)


def collate_integers(batch: Sequence[int], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Python integers and bools."""
    return tensor(batch)


def collate_strings(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Strings, as they are."""
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensors,
    np.ndarray: collate_arrays,
    (np.bool_, np.number, np.object_): collate_scalars,
    float: collate_floats,
    int: collate_integers,
    str: collate_strings,
    bytes: collate_strings,
}
