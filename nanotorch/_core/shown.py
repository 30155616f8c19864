"""Classes that print as PyTorch's, as scripts that print ``type(x)`` expect."""

from types import FunctionType
from typing import Any


class Shown(type):
    """The type of classes that are shown by what stands in ``_shown``; their subclasses are not."""

    def __repr__(cls) -> str:
        name = vars(cls).get("_shown")
        return type.__repr__(cls) if name is None else f"<class '{name}'>"


def whole(kind: Any) -> Any:
    """Let the methods that a class has from its parts show as its own, as in PyTorch they are."""
    for part in kind.__mro__[1:]:
        if part.__module__.startswith("nanotorch"):
            for name, function in vars(part).items():
                if isinstance(function, FunctionType):
                    function.__qualname__ = f"{kind.__name__}.{name}"
                    function.__module__ = kind.__module__  # where pickle finds it
    return kind
