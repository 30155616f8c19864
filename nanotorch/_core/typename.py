"""How error messages name the type of an object."""

from typing import Any

from nanotorch._core.tensor import Tensor


def typename(obj: Any) -> str:
    """The name of an object's type (of a class or function, its own) with its module.

    A tensor's is made of its dtype, `torch.FloatTensor`; built-in types go without a module.
    """
    if isinstance(obj, Tensor):
        return f"torch.{obj.dtype.char}Tensor"
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    name: str = named.__qualname__
    return name if module in ("", "builtins", "__builtin__") else f"{module}.{name}"
