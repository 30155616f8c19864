"""`Variable`, which tensors that require grad were wrapped in once."""

from typing import Any, NoReturn

from nanotorch._core.call_site import warn
from nanotorch._core.tensor import Tensor

VOLATILE = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."


class VariableMeta(type):
    """Makes every tensor an instance of `Variable`."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """A leaf tensor on the memory of another; kept for old scripts, `requires_grad_` does as well.

    Args:
        data: a tensor; none makes an empty one.
        requires_grad: whether operations on it are recorded.
        volatile: accepted with a warning, without effect.

    Raises:
        TypeError: if ``data`` is not a tensor.
        RuntimeError: if gradients are asked for a dtype that is not floating-point.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warn(VOLATILE)
        if data is None:
            return Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and data._array.dtype.kind != "f":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        return data.detach().requires_grad_(requires_grad)


def variable(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse what `torch.tensor` does now."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")
