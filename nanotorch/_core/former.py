"""The order of arguments that PyTorch had before 2020, as in ``x.add_(-lr, gradient)``.

It still takes it, for `add`, `sub`, `addcmul` and `addcdiv`, and so do these here.
"""

import warnings
from typing import Any

from nanotorch._core.origins import users_level
from nanotorch._core.tensor import Tensor

DEPRECATED = (
    "This overload of {name} is deprecated:\n\t{name}(Number {scale}, {tensors})\nConsider using "
    "one of the following signatures instead:\n\t{name}({tensors}, *, Number {scale} = 1)"
)
said: set[str] = set()


def former_order(name: str, scale: str, number: Any, *tensors: Any) -> tuple[Any, ...]:
    """The tensors and then the number, for a call that gave the number first.

    Warns once, whichever function is called so.

    Args:
        scale: under which name the number is given nowadays.

    Raises:
        TypeError: if these are no such arguments, so that there is one too many.
    """
    if isinstance(number, Tensor) or not all(isinstance(t, Tensor) for t in tensors):
        count = len(tensors)
        raise TypeError(
            f"{name}() takes {count} positional argument{'s' * (count > 1)} but {count + 1} were "
            "given"
        )
    if not said:
        said.add(name)
        names = ("other",) if len(tensors) == 1 else ("tensor1", "tensor2")
        listed = ", ".join(f"Tensor {n}" for n in names)
        told = DEPRECATED.format(name=name, scale=scale, tensors=listed)
        warnings.warn(told, UserWarning, stacklevel=users_level())
    return (*tensors, number)
