"""How much freed memory the process keeps for itself."""

import numpy as np

LARGEST = (1 << 25) - (1 << 16)  # bytes; of larger blocks glibc draws no conclusions


def keep_freed_memory() -> None:
    """Let the memory of large arrays be used again without asking the system for it.

    The C library of Linux gives memory back to the system as soon as more is free than twice the
    largest block that was ever freed, and to get it anew costs a page fault for every 4 kB: in a
    training step with arrays of megabytes as much time as the arithmetic. A large block, freed
    without having been touched, costs nothing and raises that limit to 64 MB. Elsewhere it does
    no harm.
    """
    np.empty(LARGEST, np.uint8)
