"""Questions about GPUs that scripts ask: there is none.

What would use one raises as PyTorch's builds for the CPU do; what would only tidy up after one
does nothing.
"""

from types import FunctionType as _FunctionType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any
from typing import NoReturn as _NoReturn

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
    """Nothing to do: `nanotorch.manual_seed` starts the only stream."""


def empty_cache() -> None:
    """Nothing to do."""


def current_device(device: _Any = None) -> _NoReturn:
    """Always an error, as of `set_device`, `synchronize` and `get_device_name`.

    Raises:
        AssertionError: PyTorch's.
    """
    raise _absent("cuda")


is_initialized = is_bf16_supported = is_available
memory_allocated = max_memory_allocated = device_count
manual_seed_all = manual_seed
set_device = synchronize = get_device_name = current_device
for _name, _other in list(globals().items()):  # each is a function of its own name
    if isinstance(_other, _FunctionType) and _other.__name__ != _name and _name[0] != "_":
        _code = _other.__code__.replace(co_name=_name, co_qualname=_name)
        globals()[_name] = _FunctionType(_code, globals(), None, _other.__defaults__)
