"""Tensors as Python and NumPy see them: numbers, lists, arrays, text, copies, pickles."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.copying import deep_copy, reduced
from nanotorch._core.grad_mode import mode
from nanotorch._core.printing import format_tensor
from nanotorch._core.warned import warn_once

SCALAR = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)


class Exchange:
    """The part of `Tensor` that speaks Python's and NumPy's protocols."""

    _array: np.ndarray
    _lift: Any
    _cell: list[Any]
    _grad: Any
    _requires_grad: bool
    requires_grad: Any
    grad_fn: Any

    def item(self) -> Any:
        """The only element, as a Python number.

        Raises:
            RuntimeError: if there is not exactly one element.
        """
        if self._array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
            )
        return self._array.item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; a number for a 0-d tensor."""
        return self._array.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The values as an ndarray on the same memory, with a shape and flags of its own.

        Args:
            force: detach first if need be.

        Raises:
            RuntimeError: with grad mode on, if the tensor requires grad and ``force`` is not set.
        """
        if self.requires_grad and mode.enabled and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        return self._array.view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(
        self, array: np.ndarray, context: Any = None, return_scalar: bool = False
    ) -> Any:
        """What NumPy's functions of a tensor give: a tensor, of uint8 in place of bool."""
        if array.dtype.kind == "b":
            array = array.astype(np.uint8)
        return self._lift(dtypes.entered(array))

    def cpu(self) -> Any:
        """The tensor itself: it is on the CPU."""
        return self

    def __bool__(self) -> bool:
        if self._array.size > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if self._array.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        return bool(self._array.item())

    def __float__(self) -> float:
        if self.requires_grad:
            warn_once(SCALAR)
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def _single(self) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self._array.item()

    def __index__(self) -> int:
        if self._array.dtype.kind == "f" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))  # type: ignore[attr-defined]

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Exchange, bool, int, float, np.generic)):
            return bool(self.eq(element)._array.any())  # type: ignore[attr-defined]
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )

    __hash__ = object.__hash__

    def __format__(self, spec: str) -> str:
        if self._array.ndim == 0 and type(self).__name__ == "Tensor":
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self) -> str:
        name = type(self).__name__
        prefix = "tensor(" if name in ("Tensor", "Parameter") else f"{name}("
        return format_tensor(self._array, dtypes.default.numpy, self._marks(), prefix)

    def _marks(self) -> list[str]:
        """What stands behind the values when printed."""
        try:
            node = self.grad_fn
        except RuntimeError:  # a view whose history a write elsewhere has made undefined
            return ["grad_fn=<Invalid>"]
        if node is not None:
            return [f"grad_fn=<{type(node).__name__}>"]
        return ["requires_grad=True"] if self.requires_grad else []

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        return deep_copy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced(self)
