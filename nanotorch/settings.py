"""Switches that scripts set. There is one way to compute here, so most are only remembered."""

import os
from typing import Any

import numpy as np

from nanotorch._core import call_site, dtypes
from nanotorch._core.arguments import wrong_type
from nanotorch._core.call_site import warn, warn_once
from nanotorch._core.dtypes import CPU, device, require_cpu
from nanotorch.ops.creation import dtype_of

PRECISIONS = ("highest", "high", "medium")
DEPRECATED = (
    "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
    "torch.set_default_dtype() and torch.set_default_device() as alternatives."
)


class _Switches:
    """What was set last.

    Attributes:
        deterministic: whether operations that are not deterministic are to be refused.
        warn_only: whether they are to be warned of instead.
        precision: how exact products of float32 matrices are.
    """

    deterministic = False
    warn_only = False
    precision = "highest"


switches = _Switches()


def set_float32_matmul_precision(precision: str) -> None:
    """Remember how exact products of float32 matrices need to be; they are computed in float32.

    Warns:
        UserWarning: for what is not "highest", "high" or "medium".
    """
    if not isinstance(precision, str):
        raise RuntimeError(
            f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}"
        )
    if precision not in PRECISIONS:
        warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the "
            "currentsetFloat32MatmulPrecision call has no effect."
        )
        return
    switches.precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was given last. Default: "highest"."""
    return switches.precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remember whether the same input must give the same bits; all operations do so anyway."""
    if not isinstance(mode, bool):
        raise wrong_type(mode, "bool", ("_set_deterministic_algorithms", "mode", 1))
    switches.deterministic, switches.warn_only = mode, bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` is on."""
    return switches.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was last given ``warn_only``."""
    return switches.warn_only


def set_default_device(device: Any) -> None:
    """Accept the CPU, where tensors are anyway; None stands for it.

    Raises:
        AssertionError, RuntimeError: for another device.
    """
    require_cpu(device)


def get_default_device() -> device:
    """The CPU."""
    return CPU


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype to that of a type such as ``torch.DoubleTensor``, or its name.

    Raises:
        TypeError: for a type that is not floating-point.
        ValueError: for the name of none.

    Warns:
        UserWarning: that PyTorch has deprecated it.
    """
    warn_once(DEPRECATED)
    dtypes.set_default_dtype(dtype_of(t))


def set_warn_always(b: bool) -> None:
    """Let what is said once be said each time; Python's filters still apply."""
    call_site.always[0] = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given last. Default: False."""
    return call_site.always[0]


# How many threads the matrix products of NumPy's BLAS use. Two threads that wait for each other
# cost small models more than they gain: below about 256 x 256 elements one is faster. NumPy cannot
# set their number; the package `threadpoolctl` can.


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


def built_with() -> str:
    """What computes, in a few lines: `torch.__config__.show`."""
    return f"nanotorch, in Python, on NumPy {np.__version__}\n  - CPU only, no CUDA\n"


def parallel_info() -> str:
    """How many threads matrix products use: `torch.__config__.parallel_info`."""
    return f"matrix products: {get_num_threads()} threads\n"


def get_num_threads() -> int:
    """How many threads matrix products use."""
    held = pools()
    if held is not None and held.info():
        return int(held.info()[0]["num_threads"])
    given = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    return int(given) if given.isdigit() and int(given) else os.cpu_count() or 1
