"""The former place of `autocast` and `GradScaler`."""

from nanotorch import amp
from nanotorch._core import dtypes
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import dtype as DType

__path__: list[str] = []  # so that `torch.cuda.amp.grad_scaler` may be in it
FORMER = (
    "`torch.cuda.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}('cuda', args...)` "
    "instead."
)


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """See `nanotorch.amp.autocast`.

    Warns:
        FutureWarning: always.
    """

    def __init__(
        self, enabled: bool = True, dtype: DType = dtypes.float16, cache_enabled: bool = True
    ) -> None:
        warn(FORMER.format("autocast"), FutureWarning)
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """See `nanotorch.amp.GradScaler`.

    Warns:
        FutureWarning: always.
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn(FORMER.format("GradScaler"), FutureWarning)
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
