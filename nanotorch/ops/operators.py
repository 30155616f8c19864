"""Operators of tensors that PyTorch computes by other operations than their name says."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core.op import OPERANDS, method
from nanotorch._core.tensor import Tensor
from nanotorch.ops.elementwise import reciprocal, rsub, sub, true_divide
from nanotorch.ops.power import pow, pow_number
from nanotorch.ops.rounding import floor_divide, number_floor_divided, remainder

Binary = Callable[[Any, Any], Any]


def operator(
    function: Binary, name: str, also: tuple[type, ...] = (), by_number: Binary | None = None
) -> None:
    """Install ``__name__`` for tensors and numbers, and operands of further types.

    Args:
        by_number: what stands for ``function`` where the other operand is a Python number.
    """
    accepted = (*OPERANDS, *also)
    by_number = by_number or function

    def apply(self: Tensor, other: Any) -> Any:
        kind = other.__class__
        if kind is float or kind is int:
            return by_number(self, other)
        if kind is Tensor:
            return function(self, other)
        if not isinstance(other, accepted):
            return NotImplemented
        return function(self, other.item() if isinstance(other, np.generic) else other)

    method(apply, name=f"__{name}__", public=False)


operator(sub, "sub")
operator(lambda self, other: rsub(self, other), "rsub")
operator(lambda self, other: self.sub_(other), "isub")
operator(true_divide, "truediv")
# As in PyTorch, an array can be divided by a tensor, though it cannot be added to one.
operator(lambda self, other: reciprocal(self) * other, "rtruediv", also=(np.ndarray,))
operator(lambda self, other: self.div_(other), "itruediv")
operator(floor_divide, "floordiv")
operator(lambda self, other: number_floor_divided(self, other), "rfloordiv")
operator(lambda self, other: self.floor_divide_(other), "ifloordiv")
operator(remainder, "mod")
operator(lambda self, other: remainder(other, self), "rmod")
operator(lambda self, other: self.remainder_(other), "imod")
operator(pow, "pow", by_number=pow_number)
operator(lambda self, other: pow(other, self), "rpow")
operator(lambda self, other: self.pow_(other), "ipow")
