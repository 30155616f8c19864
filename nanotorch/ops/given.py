"""What is no tensor is refused in PyTorch's words, where operations would take it for an array."""

from typing import Any

from nanotorch._core.arguments import refused
from nanotorch._core.grad_mode import mode
from nanotorch._core.tensor import Tensor


def tensor_given(name: str, input: Any) -> None:
    """Refuse an input that is no tensor.

    Raises:
        TypeError: with its place.
    """
    if not isinstance(input, Tensor):
        raise refused(input, "Tensor", (name, "input", 1))


def constants_given(name: str, **given: Tensor | None) -> None:
    """Refuse tensors to which nothing is passed back, if a gradient might be expected.

    Raises:
        RuntimeError: with the argument's name.
    """
    for argument, value in given.items():
        if value is not None and value.requires_grad and mode.enabled:
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument "
                f"'{argument}'. This input cannot have requires_grad True."
            )


def tensors_given(name: str, **given: Any) -> None:
    """Refuse what is no tensor of a function's first arguments.

    Raises:
        TypeError: with the argument's name and place.
    """
    for position, (argument, value) in enumerate(given.items(), 1):
        if not isinstance(value, Tensor):
            raise refused(value, "Tensor", (name, argument, position))
