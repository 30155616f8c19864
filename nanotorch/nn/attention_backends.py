"""Which of PyTorch's ways to compute attention may be taken; here there is one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

NONE_VIABLE = (
    "No viable backend for scaled_dot_product_attention was found. This is likely due to turning "
    "off both the math kernel and the fused kernels."
)


class SDPBackend(Enum):
    """PyTorch's ways to compute `scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[dict[Any, Any]]:
    """Accepted for PyTorch's sake: attention is computed in one way, within and without.

    Args:
        backends: one of them, or several.
        set_priority: without effect.

    Raises:
        AssertionError: for what is neither.
        RuntimeError: if none of them runs on the CPU; in PyTorch, when attention is asked for.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted = backends if isinstance(backends, list) else [backends]
    if SDPBackend.MATH not in wanted and SDPBackend.FLASH_ATTENTION not in wanted:
        raise RuntimeError(NONE_VIABLE)
    yield {}
