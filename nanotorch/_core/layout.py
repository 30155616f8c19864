"""What a tensor's array is like: shape, dtype, strides, where it lives."""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int
from nanotorch._core.device import CPU, device
from nanotorch._core.dtypes import Size, dtype


def normal_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; 0-d tensors count as having one.

    Raises:
        TypeError: if it is not an integer.
        IndexError: if it is out of range.
    """
    if dim.__class__ is not int:
        dim = as_int(dim)
    count = ndim or 1
    if not -count <= dim < count:
        as_int(dim)
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], "
            f"but got {dim})"
        )
    return dim % count


def own_dim(dim: int, ndim: int) -> int:
    """`normal_dim` of what must be there: 0-d tensors have none.

    Raises:
        TypeError, IndexError: see there; for any dimension of a 0-d tensor.
    """
    if not ndim:
        raise IndexError(f"Dimension specified as {as_int(dim)} but tensor has no dimensions")
    return normal_dim(dim, ndim)


def strides_of(array: np.ndarray) -> tuple[int, ...]:
    """The strides in elements, as PyTorch counts them where there is but one element or none."""
    if not array.size:  # NumPy gives zeros
        sizes = [max(n, 1) for n in array.shape]
        return tuple(math.prod(sizes[d + 1 :]) for d in range(array.ndim))
    strides = [s // array.itemsize for s in array.strides]
    if 0 in strides:
        for d in reversed(range(array.ndim)):
            if strides[d] == 0 and array.shape[d] == 1:  # a new dimension: as far as all behind it
                last = d + 1 == array.ndim
                strides[d] = 1 if last else array.shape[d + 1] * strides[d + 1]
    return tuple(strides)


class layout:  # noqa: N801 - PyTorch's name
    """How the elements of a tensor are stored: `strided` always."""

    __slots__ = ()

    def __new__(cls) -> "layout":
        raise TypeError("cannot create 'torch.layout' instances")

    def __repr__(self) -> str:
        return "torch.strided"

    def __reduce__(self) -> str:
        return "strided"


strided = object.__new__(layout)
# What other kinds of tensors and devices PyTorch's tensors can be of, asked as a property.
KINDS = (
    "is_cuda", "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested",
    "is_quantized", "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu",
)  # fmt: skip


class Layout:
    """The part of `Tensor` that describes its array."""

    _array: np.ndarray

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return dtypes.OF_NUMPY[self._array.dtype]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def device(self) -> "device":
        """Always the CPU."""
        return CPU

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._array.nbytes

    @property
    def is_cpu(self) -> bool:
        """Always True."""
        return True

    @property
    def layout(self) -> "layout":
        """Always `strided`."""
        return strided

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one of its sizes.

        Raises:
            IndexError: if there is no dimension ``dim``.
        """
        if dim is None:
            return self.shape
        return self._array.shape[own_dim(dim, self._array.ndim)]

    def stride(self, dim: int | None = None) -> Any:
        """The steps between neighbours along each dimension, in elements."""
        strides = strides_of(self._array)
        return strides if dim is None else strides[own_dim(dim, len(strides))]

    def dim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes per element."""
        return self._array.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._array.__array_interface__["data"][0])

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in the order of the dimensions."""
        return bool(self._array.flags.c_contiguous)

    def is_floating_point(self) -> bool:
        """Whether the dtype is one of the floating-point types."""
        return self._array.dtype.kind == "f"

    def is_signed(self) -> bool:
        """Whether the dtype has negative values."""
        return self.dtype.is_signed

    def dim_order(self) -> tuple[int, ...]:
        """The dimensions in the order in which they lie in memory, the slowest first."""
        strides = strides_of(self._array)
        return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))

    def get_device(self) -> int:
        """-1, the number of the CPU."""
        return -1


def never(self: Layout) -> bool:
    """Always False."""
    return False


for _name in KINDS:
    setattr(Layout, _name, property(never, doc=never.__doc__))
for _name in ("is_complex", "is_shared", "is_pinned"):
    setattr(Layout, _name, never)
