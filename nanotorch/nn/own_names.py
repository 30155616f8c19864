"""Layers of one family share their code; PyTorch's have methods of their own, as messages tell."""

from types import FunctionType
from typing import Any

HERE = __name__.rpartition(".")[0]


class OwnNames:
    """The base of a family: its layers' methods bear the layer's name, though they inherit them.

    So it is ``Conv2d.__init__()`` that misses an argument, as in PyTorch, and not the ``__init__``
    of what convolutions share. Classes of users inherit as always.

    Attributes:
        own_names: of those methods.
    """

    own_names: tuple[str, ...] = ("__init__", "forward")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.__module__.startswith(HERE) or cls.__name__.startswith("_"):
            return
        for name in cls.own_names:
            if name not in vars(cls):
                setattr(cls, name, renamed(getattr(cls, name), f"{cls.__name__}.{name}"))


def renamed(function: Any, name: str) -> Any:
    """A copy of a function under another qualified name."""
    code = function.__code__.replace(co_qualname=name)
    copy = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__doc__ = function.__kwdefaults__, function.__doc__
    copy.__annotations__, copy.__module__ = function.__annotations__, function.__module__
    copy.__qualname__ = name
    return copy
