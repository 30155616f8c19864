"""Questions about training in several processes that scripts ask: there is none.

As in PyTorch's builds without it, everything else is missing.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand("nanotorch.distributed")


def is_available() -> bool:
    """Always False."""
    return False


def is_initialized() -> bool:
    """Always False."""
    return False


def is_torchelastic_launched() -> bool:
    """Always False."""
    return False
