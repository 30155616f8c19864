"""Elements replaced, one by one, by what a Python function makes of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core.batch_functions import in_place, under_vmap
from nanotorch._core.op import method
from nanotorch._core.origins import wrote
from nanotorch._core.tensor import Tensor


def check_leaf(name: str, tensor: Tensor) -> None:
    """Refuse a tensor that requires grad: a Python function has no derivative."""
    if tensor.requires_grad:
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )


@under_vmap(in_place)
def replaced(name: str, self: Tensor, others: tuple[Tensor, ...], function: Any) -> Tensor:
    """Write the function of each element, and those of the others beside it, into ``self``."""
    check_leaf(name, self)
    arrays = [self._array]
    for other in others:
        if other.dtype != self.dtype:
            own, given = (f"torch.{t.dtype.char}Tensor" for t in (self, other))
            raise TypeError(f"{name}: expected {own} for 'other' (got {given})")
        arrays.append(other.expand(self.shape)._array)
    values = [function(*each) for each in zip(*(a.ravel().tolist() for a in arrays), strict=True)]
    self._array[...] = np.array(values).astype(self._array.dtype).reshape(self._array.shape)
    wrote(self._cell, name)
    return self


@method(public=False)
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by the function of it: slow, and without a gradient.

    Raises:
        RuntimeError: for a tensor that requires grad.
    """
    return replaced("apply_", self, (), callable)


@method(public=False)
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by the function of it and that of ``tensor``, which broadcasts.

    Raises:
        RuntimeError: for a tensor that requires grad.
        TypeError: for a tensor of another dtype.
    """
    return replaced("map_", self, (tensor,), callable)
