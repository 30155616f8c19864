"""Questions about GPUs that scripts ask: there is none.

What would use one raises as PyTorch's builds for the CPU do; what would only tidy up after one
does nothing.
"""

from typing import Any as _Any
from typing import NoReturn as _NoReturn

from nanotorch._core.dtypes import absent as _absent
from nanotorch.names.lookup import on_demand as _on_demand

_on_demand("nanotorch.cuda", {"nanotorch.cuda": "amp"})


def is_available() -> bool:
    """Always False."""
    return False


def is_initialized() -> bool:
    """Always False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Always False."""
    return False


def device_count() -> int:
    """Always 0."""
    return 0


def memory_allocated(device: _Any = None) -> int:
    """Always 0."""
    return 0


def max_memory_allocated(device: _Any = None) -> int:
    """Always 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to do: `nanotorch.manual_seed` starts the only stream."""


def manual_seed_all(seed: int) -> None:
    """Nothing to do: `nanotorch.manual_seed` starts the only stream."""


def empty_cache() -> None:
    """Nothing to do."""


def current_device() -> _NoReturn:
    """Always an error.

    Raises:
        AssertionError: PyTorch's.
    """
    raise _absent("cuda")


def set_device(device: _Any) -> _NoReturn:
    """Always an error.

    Raises:
        AssertionError: PyTorch's.
    """
    raise _absent("cuda")


def synchronize(device: _Any = None) -> _NoReturn:
    """Always an error.

    Raises:
        AssertionError: PyTorch's.
    """
    raise _absent("cuda")


def get_device_name(device: _Any = None) -> _NoReturn:
    """Always an error.

    Raises:
        AssertionError: PyTorch's.
    """
    raise _absent("cuda")
