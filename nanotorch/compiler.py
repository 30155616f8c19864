"""Questions about compiling that programs ask: `compile` runs Python as it is."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from nanotorch.compile import compile as compile
from nanotorch.names.lookup import on_demand as _on_demand

__path__: list[str] = []  # PyTorch's has modules in it, of which the reason is told
if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand(__name__)


def is_compiling() -> bool:
    """Always False: what `compile` calls is the program itself."""
    return False


def disable(fn: _Any = None, recursive: bool = True, *, reason: str | None = None) -> _Any:
    """The function as it is, or a decorator that leaves functions so."""
    return fn if fn is not None else lambda function: function


def is_dynamo_compiling() -> bool:
    """Always False."""
    return False


def is_exporting() -> bool:
    """Always False."""
    return False
