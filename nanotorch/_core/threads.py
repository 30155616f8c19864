"""How many threads the matrix products of NumPy's BLAS use.

Two threads that wait for each other cost small models more than they gain: below about 256 x 256
elements one is faster. NumPy has no switch for it; the package `threadpoolctl` has.
"""

import os
from typing import Any

from nanotorch._core.call_site import warn

MISSING = (
    "set_num_threads has no effect without the package threadpoolctl: install it, or set "
    "OPENBLAS_NUM_THREADS={count} in the environment before NumPy is imported"
)


def pools() -> Any:
    """What controls the threads of the loaded BLAS; None if it cannot be controlled."""
    try:
        from threadpoolctl import ThreadpoolController  # optional: an extra of the package
    except ModuleNotFoundError:
        return None
    return ThreadpoolController().select(user_api="blas")


def set_num_threads(num: int) -> None:
    """Let matrix products use this many threads; one is best for small models.

    Raises:
        RuntimeError: for anything else than a positive int.

    Warns:
        UserWarning: where it has no effect, as `threadpoolctl` is not installed.
    """
    if type(num) is not int:
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    held = pools()
    if held is not None:
        held.limit(limits=num)
    elif num != get_num_threads():
        warn(MISSING.format(count=num))


def get_num_threads() -> int:
    """How many threads matrix products use."""
    held = pools()
    if held is not None and held.info():
        return int(held.info()[0]["num_threads"])
    given = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    return int(given) if given.isdigit() and int(given) else os.cpu_count() or 1
