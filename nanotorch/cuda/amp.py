"""The former module of `autocast` and `GradScaler`, which `nanotorch.amp` replaces."""

from collections.abc import Callable
from typing import Any

from nanotorch import amp
from nanotorch._core import dtypes
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import dtype as DType
from nanotorch.names.lookup import on_demand

__path__: list[str] = []  # so that `torch.cuda.amp.grad_scaler` can be imported
FORMER = "`torch.cuda.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}({1})` instead."


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """See `nanotorch.amp.autocast`.

    Warns:
        FutureWarning: always.
    """

    def __init__(
        self, enabled: bool = True, dtype: DType = dtypes.float16, cache_enabled: bool = True
    ) -> None:
        warn(FORMER.format("autocast", "'cuda', args..."), FutureWarning)
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """See `nanotorch.amp.GradScaler`; the arguments are the same without ``device``.

    Warns:
        FutureWarning: always.
    """

    def __init__(
        self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        warn(FORMER.format("GradScaler", "'cuda', args..."), FutureWarning)
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: DType | None = None) -> Any:
    """See `nanotorch.amp.custom_fwd`.

    Warns:
        FutureWarning: always.
    """
    warn(FORMER.format("custom_fwd", "args..., device_type='cuda'"), FutureWarning)
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """See `nanotorch.amp.custom_bwd`.

    Warns:
        FutureWarning: always.
    """
    warn(FORMER.format("custom_bwd", "args..., device_type='cuda'"), FutureWarning)
    return amp.custom_bwd(bwd, device_type="cuda")


on_demand(__name__)
