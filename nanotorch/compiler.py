"""`torch.compiler`: `compile`, and predicates, which return False as Python runs unchanged."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from nanotorch.compile import compile as compile
from nanotorch.names.lookup import on_demand as _on_demand

__path__: list[str] = []  # an import of PyTorch's submodules raises an error with the reason
if not _TYPE_CHECKING:  # so that type checkers report missing names
    __getattr__, __dir__ = _on_demand(__name__)


def is_compiling() -> bool:
    """Always False: `compile` calls the program itself."""
    return False


def disable(fn: _Any = None, recursive: bool = True, *, reason: str | None = None) -> _Any:
    """The function ``fn`` unchanged; without it, a decorator that changes nothing."""
    return fn if fn is not None else lambda function: function


def is_dynamo_compiling() -> bool:
    """Always False."""
    return False


def is_exporting() -> bool:
    """Always False."""
    return False
