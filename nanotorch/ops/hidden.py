"""In-place forms that are parts of methods, but no methods themselves."""

from typing import Any

from nanotorch._core.tensor import Tensor


def inplace_form(name: str) -> Any:
    """The in-place form of an operation, taken off `Tensor`, whose users know no such method."""
    function = vars(Tensor)[f"{name}_"]
    delattr(Tensor, f"{name}_")
    return function
