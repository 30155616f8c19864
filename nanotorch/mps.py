"""Metal: there is none. See `nanotorch.cuda`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any
from typing import NoReturn as _NoReturn

from nanotorch._core.device import absent as _absent
from nanotorch.names.lookup import on_demand as _on_demand

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand("nanotorch.mps")


def is_available() -> bool:
    """Always False."""
    return False


def device_count() -> int:
    """Always 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to do: `nanotorch.manual_seed` starts the only stream."""


def empty_cache() -> None:
    """Nothing to do."""


def synchronize(device: _Any = None) -> _NoReturn:
    """Always an error.

    Raises:
        AssertionError, RuntimeError: PyTorch's.
    """
    raise _absent("mps")
