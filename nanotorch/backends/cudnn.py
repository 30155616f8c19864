"""cuDNN, which is not there; its flags can be read and set, as scripts do to be reproducible."""

import contextlib
from collections.abc import Iterator

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> Iterator[None]:
    """Set the flags inside `with`."""
    given = {
        "enabled": enabled,
        "benchmark": benchmark,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    before = {name: globals()[name] for name in given}
    globals().update(given)
    try:
        yield
    finally:
        globals().update(before)


def is_available() -> bool:
    """Always False."""
    return False


def version() -> None:
    """Always None."""
