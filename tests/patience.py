"""Waiting for other processes, however busy the machine is."""

import time
from collections.abc import Callable

# Seconds after which a test fails: nothing that works comes near.
LONG = 120.0


def wait_until(holds: Callable[[], object]) -> None:
    """Look again and again, until it holds."""
    due = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < due, "waited in vain"
        time.sleep(0.01)
