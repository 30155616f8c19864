"""The memory of tensors, byte by byte."""

import os
from typing import Any

import numpy as np

from nanotorch._core.dtypes import CPU
from nanotorch._core.dtypes import device as Device
from nanotorch._core.layout import address
from nanotorch._core.op import public
from nanotorch.ops.arguments import require


@public
class UntypedStorage:
    """The memory of a tensor and of its views, byte by byte."""

    def __init__(self, memory: np.ndarray, bfloat16: bool = False) -> None:
        self._memory = memory
        # A number in bfloat16 lies there as float32, of which two bytes count, the lower one first.
        self._bytes = memory.reshape(-1, 4)[:, 1::-1] if bfloat16 else memory

    device: Device = CPU

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> "UntypedStorage":
        """The first ``nbytes`` bytes of a file, which are read on use.

        Args:
            shared: whether writes go to the file.

        Raises:
            RuntimeError: if the file is shorter.
            OSError: if it cannot be read.
        """
        size = os.stat(filename).st_size  # noqa: PTH116 - it may be a text
        text = "file <{}> size <{}> is smaller than the required mapping size <{}>"
        require(size >= nbytes, text, filename, size, nbytes)
        mode: Any = "r+" if shared else "c"
        return cls(np.memmap(filename, mode=mode, shape=nbytes) if nbytes else np.empty(0, "u1"))

    def untyped(self) -> "UntypedStorage":
        """The storage itself."""
        return self

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return address(self._memory)

    def __len__(self) -> int:
        return self._bytes.size

    size = nbytes = __len__

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + len(self)

    def element_size(self) -> int:
        """The bytes of an element: always 1."""
        return 1

    def __getitem__(self, index: int | slice) -> Any:
        found = self._bytes.reshape(-1)[index]
        return UntypedStorage(found) if isinstance(index, slice) else int(found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())
