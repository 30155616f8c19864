"""What optimizers ask before they treat many tensors at once, which nanotorch does in `Rule`."""

from collections.abc import Sequence
from typing import Any

from nanotorch._core.tensor import Tensor


def _has_foreach_support(tensors: Sequence[Tensor], device: Any) -> bool:
    """Whether kernels of many tensors exist: never."""
    return False


_device_has_foreach_support = _has_foreach_support


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]]:
    """Columns of several lists, by the device and dtype of the tensors in the first list.

    Args:
        tensorlistlist: lists of the same length; an empty one stays empty.
        with_indices: whether the positions of the columns are returned, too.
    """
    groups: dict[Any, Any] = {}
    for index, tensor in enumerate(tensorlistlist[0]):
        key = None if tensor is None else (tensor.device, tensor.dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for found, values in zip(lists, tensorlistlist, strict=True):
            if values:
                found.append(values[index])
        if with_indices:
            indices.append(index)
    return groups
