"""How much freed memory the process keeps for itself; and what it says when there is none."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

# How NumPy's errors begin for more bytes, or elements, than can be counted.
TOO_LARGE = (
    "array is too big",
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
    "strides is incompatible with shape of requested array",
)
LARGEST = (1 << 25) - (1 << 16)  # bytes; of larger blocks glibc draws no conclusions


def keep_freed_memory() -> None:
    """Let the memory of large arrays be used again without asking the system for it.

    The C library of Linux gives memory back to the system as soon as more is free than twice the
    largest block that was ever freed, and to get it anew costs a page fault for every 4 kB: in a
    training step with arrays of megabytes as much time as the arithmetic. A large block, freed
    without having been touched, costs nothing and raises that limit to 64 MB. Elsewhere it does
    no harm.
    """
    np.empty(LARGEST, np.uint8)


def in_pytorchs_words(error: Exception) -> Exception:
    """The error for an array that is too large, if this is NumPy's; others as they are.

    Programs look for the name of PyTorch's allocator to try again with less.
    """
    if isinstance(error, MemoryError):
        size = "more" if len(error.args) != 2 else math.prod(error.args[0]) * error.args[1].itemsize
        return RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
            f"memory: you tried to allocate {size} bytes. Error code 12 (Cannot allocate memory)"
        )
    if isinstance(error, ValueError) and str(error).startswith(TOO_LARGE):
        return RuntimeError("Storage size calculation overflowed")
    return error


def refuse_size(error: Exception) -> None:
    """Raise the error in PyTorch's words, if it is NumPy's about too large an array."""
    if in_pytorchs_words(error) is not error:  # no name for it: its frame would hold it
        raise in_pytorchs_words(error) from None


def allocated(make: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What ``make`` makes; it refuses too large an array in PyTorch's words."""
    try:
        return make(*args, **named)
    except (MemoryError, ValueError) as error:
        refuse_size(error)
        raise


def within_memory(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose arrays are `allocated`."""

    @functools.wraps(function)
    def allocating(*args: Any, **named: Any) -> Any:
        return allocated(function, *args, **named)

    return allocating
