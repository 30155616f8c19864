"""Questions about compiling that programs ask: `compile` runs Python as it is."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.compile import compile as compile
from nanotorch.names.lookup import on_demand as _on_demand

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand(__name__)


def is_compiling() -> bool:
    """Always False: what `compile` calls is the program itself."""
    return False


def is_dynamo_compiling() -> bool:
    """Always False."""
    return False


def is_exporting() -> bool:
    """Always False."""
    return False
