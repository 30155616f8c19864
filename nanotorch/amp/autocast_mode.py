"""`autocast`: a block in which nothing is cast."""

import functools
from collections.abc import Callable
from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import device
from nanotorch._core.dtypes import dtype as DType

NO_GPU = "CUDA is not available or torch_xla is imported. Disabling autocast."
ON_CPU = (
    "nanotorch computes in the dtypes that tensors have. Disabling autocast; results are those of "
    "autocast(enabled=False)."
)


class autocast:  # noqa: N801 - PyTorch's name
    """A block, or a function so decorated, in which tensors keep their dtypes.

    Args:
        device_type: "cuda", "cpu", ...
        dtype, cache_enabled: accepted for PyTorch's sake.
        enabled: whether to cast; there is a warning that it is not done.

    Raises:
        RuntimeError: for a type of devices that PyTorch does not know.
        ValueError: if it is no text.

    Warns:
        UserWarning: if enabled.
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device(device_type).type
        self.fast_dtype = dtypes.float16 if dtype is None else dtype
        if enabled:
            warn(ON_CPU if self.device == "cpu" else NO_GPU)

    def __enter__(self) -> "autocast":
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function itself, as it runs in the block."""
        return func


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` has an effect for a type of devices: never."""
    device(device_type)
    return False


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Always False."""
    return False


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Callable[..., Any]:
    """The `forward` of an `autograd.Function`, as it is."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """The `backward` of an `autograd.Function`, as it is."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd
