"""A step as it really runs, for TensorBoard's page of graphs."""

import sys
from collections.abc import Callable

from .loop import Callback, Loop

TRACED = 2
"""Which step of a run is shown: the first one is not like the others."""


class TraceStep(Callback):
    """Tells when the next step is the one to show.

    Args:
        announce: is called before that step.
    """

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce
        self._before = 0
        """After how many steps."""

    def on_start(self, loop: Loop) -> None:
        self._before = min(TRACED, loop.steps) - 1
        self.on_step(loop)

    def on_step(self, loop: Loop) -> None:
        # Beside another profiler there may be nothing to see.
        if loop.step == self._before and sys.getprofile() is None:
            self._announce()
