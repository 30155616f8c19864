"""Global settings of PyTorch. Most are only remembered, as nanotorch computes in one way."""

import os
from typing import Any

import numpy as np

from nanotorch._core import call_site, dtypes
from nanotorch._core.arguments import wrong_type
from nanotorch._core.call_site import warn, warn_once
from nanotorch._core.dtypes import CPU, META, device, here, on_meta
from nanotorch.ops.creation import dtype_of

PRECISIONS = ("highest", "high", "medium")
DEPRECATED = (
    "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
    "torch.set_default_dtype() and torch.set_default_device() as alternatives."
)


class _Switches:
    """The settings that were set last.

    Attributes:
        deterministic: whether to refuse operations that are not deterministic.
        warn_only: whether to warn of them instead.
        precision: the precision of products of float32 matrices.
    """

    deterministic = False
    warn_only = False
    precision = "highest"


switches = _Switches()


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of products of float32 matrices; without effect: it is always float32.

    Args:
        precision: "highest", "high" or "medium".

    Raises:
        RuntimeError: if ``precision`` is not a string.

    Warns:
        UserWarning: for another string, which is ignored.
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
    """The precision that `set_float32_matmul_precision` has set. Default: "highest"."""
    return switches.precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Require the same bits for the same input; without effect: all operations do so anyway."""
    if not isinstance(mode, bool):
        raise wrong_type(mode, "bool", ("_set_deterministic_algorithms", "mode", 1))
    switches.deterministic, switches.warn_only = mode, bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` is on."""
    return switches.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether the last call of `use_deterministic_algorithms` had ``warn_only``."""
    return switches.warn_only


def set_default_device(device: Any) -> None:
    """Set the default device: the CPU, "meta", or None for the CPU.

    Raises:
        AssertionError, RuntimeError: for another device.
    """
    here.places[0] = META if device is not None and on_meta(device) else CPU


def get_default_device() -> device:
    """The device that new tensors get: see `set_default_device`."""
    return here.places[-1]


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype to that of a type such as ``torch.DoubleTensor``, or of its name.

    Raises:
        TypeError: for a type that is not floating-point.
        ValueError: for an unknown name.

    Warns:
        UserWarning: the function is deprecated in PyTorch.
    """
    warn_once(DEPRECATED)
    dtypes.set_default_dtype(dtype_of(t))


def set_warn_always(b: bool) -> None:
    """Repeat each time the warnings that are given once by default; Python's filters apply."""
    call_site.always[0] = bool(b)


def is_warn_always_enabled() -> bool:
    """The value that `set_warn_always` has set. Default: False."""
    return call_site.always[0]


# The number of threads for the matrix products of NumPy's BLAS. For small models the waiting of two
# threads for each other costs more than they gain: below about 256 x 256 elements one is faster.
# NumPy cannot set the number; the package `threadpoolctl` can.


MISSING = (
    "set_num_threads has no effect without the package threadpoolctl: install it, or set "
    "OPENBLAS_NUM_THREADS={count} in the environment before NumPy is imported"
)


def pools() -> Any:
    """The control of the loaded BLAS's threads; None without the package `threadpoolctl`."""
    try:
        from threadpoolctl import ThreadpoolController  # optional: an extra of the package
    except ModuleNotFoundError:
        return None
    return ThreadpoolController().select(user_api="blas")


def set_num_threads(num: int) -> None:
    """Set the number of threads for matrix products; 1 is best for small models.

    Raises:
        RuntimeError: unless ``num`` is a positive int.

    Warns:
        UserWarning: if it has no effect because `threadpoolctl` is not installed.
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
    """`torch.__config__.show`: the version of NumPy, and that there is no GPU."""
    return f"nanotorch, in Python, on NumPy {np.__version__}\n  - CPU only, no CUDA\n"


def parallel_info() -> str:
    """`torch.__config__.parallel_info`: the number of threads, as text."""
    return f"matrix products: {get_num_threads()} threads\n"


def get_num_threads() -> int:
    """The number of threads for matrix products."""
    held = pools()
    if held is not None and held.info():
        return int(held.info()[0]["num_threads"])
    given = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    return int(given) if given.isdigit() and int(given) else os.cpu_count() or 1
