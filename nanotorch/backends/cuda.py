"""What CUDA was built with, which is not there; its flags can be read and set."""

from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False)


def is_built() -> bool:
    """Always False."""
    return False
