"""`Tensor(...)`, PyTorch's first constructor: sizes, or values of the default dtype."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination, integer, kind_of
from nanotorch._core.device import require_cpu
from nanotorch._core.dtypes import Size
from nanotorch._core.heap import within_memory
from nanotorch._core.op import method
from nanotorch._core.tensor import Tensor
from nanotorch.ops.memory import alias
from nanotorch.ops.sizes import shape_of
from nanotorch.ops.values import array_of, is_sequence, shared

FORMS = (
    "*, torch.device device = None",
    "torch.Storage storage",
    "Tensor other",
    "tuple of ints size, *, torch.device device = None",
    "object data, *, torch.device device = None",
)


@method(name="__new__", public=False)
@within_memory
def constructed(cls: type[Tensor], *given: Any, device: Any = None) -> Any:
    """A tensor of the default dtype; a view of a tensor that is given in place of sizes.

    Args:
        given: the sizes of a tensor with arbitrary values, or one sequence of values, whose memory
            an array of the default dtype shares, or a tensor.

    Raises:
        TypeError, ValueError, RuntimeError: for what is neither.
    """
    require_cpu(device)
    if len(given) == 1 and isinstance(given[0], Tensor):
        out = alias(given[0])
        out.__class__ = cls
        return out
    out = object.__new__(cls)
    out._cell = [0, None]
    if len(given) == 1 and integer(given[0]) is None and not isinstance(given[0], Size):
        out._array = array_from(given[0])
    else:
        out._array = np.empty(sizes_from(given), dtypes.default.numpy)
    return out


def array_from(data: Any) -> np.ndarray:
    """The values of a sequence."""
    if not is_sequence(data):
        raise TypeError(f"new(): data must be a sequence (got {kind_of(data)})")
    if isinstance(data, np.ndarray) and data.dtype == dtypes.default.numpy:
        return shared(data)
    return array_of(data, dtypes.default.dtype)


def sizes_from(given: tuple[Any, ...]) -> tuple[int, ...]:
    """The sizes, given one by one or as a `Size`; without any, 0."""
    sizes = given[0] if len(given) == 1 and isinstance(given[0], Size) else given or (0,)
    numbers = []
    for position, size in enumerate(sizes):
        number = int(size) if position and isinstance(size, bool) else integer(size)
        if number is None and not position:
            raise combination("new", given, FORMS)
        if number is None:
            raise TypeError(
                f"new(): argument 'size' failed to unpack the object at pos {position + 1} with "
                f'error "type must be tuple of ints,but got {kind_of(size)}"'
            )
        numbers.append(number)
    return shape_of("new", (numbers,))
