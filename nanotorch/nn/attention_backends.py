"""Which of PyTorch's ways to compute attention may be taken; here there is one."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any


class SDPBackend(Enum):
    """PyTorch's ways to compute `scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Accepted for PyTorch's sake; results are the same.

    Args:
        backends: one way, or a list of them.
        set_priority: that the order of the list counts.

    Raises:
        AssertionError: for anything else.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    yield
