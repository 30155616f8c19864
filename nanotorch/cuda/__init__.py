"""The functions of `torch.cuda` for a machine without a GPU.

Functions that need a GPU raise the error of PyTorch's CPU builds; those that only clean up do
nothing.
"""

from types import FunctionType as _FunctionType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any
from typing import NoReturn as _NoReturn

from nanotorch._core.arguments import copy_function as _copy_function
from nanotorch._core.dtypes import absent as _absent
from nanotorch.names.lookup import on_demand as _on_demand

if _TYPE_CHECKING:
    from nanotorch.cuda import amp as amp

_on_demand("nanotorch.cuda", {"nanotorch.cuda": "amp"})


def is_available(including_emulation: bool = True) -> bool:
    """Always False; so are `is_initialized` and `is_bf16_supported`."""
    return False


def device_count(device: _Any = None) -> int:
    """Always 0; so are `memory_allocated` and `max_memory_allocated`."""
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: `nanotorch.manual_seed` seeds the only generator."""


def empty_cache() -> None:
    """Do nothing."""


def current_device(device: _Any = None) -> _NoReturn:
    """Raise an error; so do `set_device`, `synchronize` and `get_device_name`.

    Raises:
        AssertionError: always, with PyTorch's message.
    """
    raise _absent("cuda")


is_initialized = is_bf16_supported = is_available
memory_allocated = max_memory_allocated = device_count
manual_seed_all = manual_seed
set_device = synchronize = get_device_name = current_device
for _name, _other in list(globals().items()):  # aliases become functions of their own names
    if isinstance(_other, _FunctionType) and _other.__name__ != _name and _name[0] != "_":
        globals()[_name] = _copy_function(_other, _name, _name)
