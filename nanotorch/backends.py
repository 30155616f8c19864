"""`torch.backends`: no library that PyTorch can be built with is available.

Their flags can be read and set, as scripts do for reproducible results.
"""

import contextlib as _contextlib
from collections.abc import Iterator as _Iterator
from types import SimpleNamespace as _SimpleNamespace
from typing import Any as _Any

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in

__path__: list[str] = []  # so that `names/scope.py` can add submodules


def _no() -> bool:
    """Always False."""
    return False


@_contextlib.contextmanager
def _flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> _Iterator[None]:
    """A context that sets the flags of `cudnn`."""
    own, before = vars(cudnn), dict(vars(cudnn))
    own.update(enabled=enabled, benchmark=benchmark, deterministic=deterministic)
    own.update(allow_tf32=allow_tf32)
    try:
        yield
    finally:
        own.update(before)


def _module(name: str, **members: _Any) -> _Any:
    module = _stand_in(f"{__name__}.{name}", {})
    vars(module).update(members)
    return module


cuda = _module("cuda", is_built=_no, matmul=_SimpleNamespace(allow_tf32=False))
cudnn = _module(
    "cudnn", enabled=True, benchmark=False, deterministic=False, allow_tf32=True, flags=_flags,
    is_available=_no, version=lambda: None,
)  # fmt: skip
mps = _module("mps", is_available=_no, is_built=_no)

_on_demand(__name__)
