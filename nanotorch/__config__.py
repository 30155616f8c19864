"""What computes here, where programs ask PyTorch how it was built."""

import numpy as np

from nanotorch.settings import get_num_threads


def show() -> str:
    """What computes, in a few lines."""
    return f"nanotorch, in Python, on NumPy {np.__version__}\n  - CPU only, no CUDA\n"


def parallel_info() -> str:
    """How many threads matrix products use."""
    return f"matrix products: {get_num_threads()} threads\n"
