"""Arguments of the wrong kind, refused in PyTorch's words."""

from collections.abc import Sequence
from typing import Any

from nanotorch._core.tensor import Tensor


def kind_of(value: Any) -> str:
    """The name of a value's type, with that of NumPy where it is one of NumPy's."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def refuse_combination(name: str, given: Sequence[Any], forms: Sequence[str]) -> TypeError:
    """The error for arguments that fit none of a function's forms, which it lists."""
    kinds = ", ".join(kind_of(value) for value in given)
    listed = "".join(f"\n * ({form})" for form in forms)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({kinds}), but expected one "
        f"of:{listed}\n"
    )


def hidden(name: str) -> Any:
    """Take a method off `Tensor`, where users would see it: PyTorch has none of this name."""
    method = vars(Tensor)[name]
    delattr(Tensor, name)
    return method
