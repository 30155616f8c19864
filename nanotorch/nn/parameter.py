"""Parameters and buffers: the tensors that a module registers when they are assigned to it."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import require_bool
from nanotorch._core.grad_mode import REQUIRED, mode
from nanotorch._core.layout import attributes_of, compact_copy
from nanotorch._core.tensor import Tensor, call_plainly, require_float, wrap
from nanotorch.names.lookup import on_demand


class Parameter(Tensor):
    """A tensor that a module lists among its parameters once it is assigned as an attribute.

    Args:
        data: the values; the parameter shares their memory. Default: an empty tensor.
        requires_grad: whether operations on it are recorded. Default: True.

    Raises:
        RuntimeError: if ``requires_grad`` is set and ``data`` is not floating-point, or is an
            inference tensor outside inference mode.
    """

    _shown = "torch.nn.parameter.Parameter"

    __torch_function__ = staticmethod(call_plainly)

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> "Parameter":
        if data is None:
            data = wrap(np.empty(0, dtypes.default.numpy))
        elif not isinstance(data, Tensor):
            raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach'")
        require_bool(requires_grad, ("_make_subclass", "require_grad", 3))
        if requires_grad:
            require_float(data._array)
            if mode.enabled is not None and data.is_inference():
                raise RuntimeError(REQUIRED)
        self: Parameter = object.__new__(cls)
        self._array, self._writes = data._array, data._cell
        self._view = self._grad = None
        self._set_flag(requires_grad)
        return self

    def __repr__(self) -> str:
        tensor = super().__repr__()
        return (
            f"Parameter containing:\n{tensor}"
            if type(self) is Parameter
            else f"Parameter({tensor})"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "Parameter":
        """A parameter with a copy of the values, without the gradient and the attributes."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(wrap(compact_copy(self._array)), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        attributes = attributes_of(self) or None
        return rebuilt, (type(self), self.data, self.requires_grad), attributes


def rebuilt(kind: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    """A parameter from its parts in a pickle, on the memory of ``data``."""
    return kind(data, requires_grad)


class _BufferType(type):
    """The metaclass of `Buffer`: `isinstance(t, Buffer)` checks the mark on the tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(metaclass=_BufferType):
    """A tensor that a module lists among its buffers once it is assigned as an attribute.

    The result is an ordinary tensor with a mark on it.

    Args:
        data: the values; the buffer shares their memory. Default: an empty tensor.
        persistent: whether the buffer is part of the module's `state_dict`. Default: True.
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = wrap(np.empty(0, dtypes.default.numpy))
        buffer: Any = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


__getattr__, __dir__ = on_demand(
    "nanotorch.nn.parameter",
    {"nanotorch.nn.lazy": "UninitializedBuffer UninitializedParameter is_lazy"},
)
