"""`torch.types`: names of types for annotations."""

from collections.abc import Sequence
from os import PathLike
from typing import IO

from nanotorch._core.dtypes import Size, device, dtype
from nanotorch._core.layout import layout
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand

__all__ = ["Device", "FileLike", "Number"]

Number = int | float | bool
Device = device | str | int | None
FileLike = str | PathLike[str] | IO[bytes]
_Number = Number
_bool, _bytes, _complex, _float, _int, _str = bool, bytes, complex, float, int, str
_device, _dtype, _layout = device, dtype, layout
_size = Size | list[int] | tuple[int, ...]
_TensorOrTensors = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors = Tensor | None | Sequence[Tensor | None]


on_demand(__name__)
