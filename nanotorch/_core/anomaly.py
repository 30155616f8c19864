"""Anomaly mode: nodes note the call that made them, and the sweep looks for nan.

The mode is one for all threads. While it is on, `observers` in `saving` holds it, so that
recording an operation looks at one list only, whatever there is to do.
"""

import sys
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.graph import Node, anomaly
from nanotorch._core.origins import PACKAGE
from nanotorch._core.place import place_of
from nanotorch._core.story import Story, place_of_node
from nanotorch._core.warned import warn
from nanotorch._core.watching import here, watch

ENABLED = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
    "enabled for debugging."
)
CAUSED = "Error detected in {}. Traceback of forward call that caused the error:\n"
INDUCED = (
    "\n\nPrevious calculation was induced by {}. Traceback of forward call that induced the "
    "previous calculation:\n"
)
UNKNOWN = (
    "Error detected in {}. No forward pass information available. Enable detect anomaly during "
    "forward pass for more information."
)
TRACE, PARENT = "traceback_", "parent_"  # PyTorch's keys in a node's metadata
# Files whose frames are not the user's; generated functions name themselves so.
OURS = (*(PACKAGE + part for part in ("_core", "ops", "autograd")), "<nanotorch")


def note_origin(node: Node) -> None:
    """Keep the stack of the call that makes ``node``, and the node in whose backward that is."""
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(OURS):
        frames.pop()
    node.metadata[TRACE] = frames.format()
    place, _ = place_of(sys._getframe(1))
    if anomaly.running is not None:
        node.metadata[PARENT] = anomaly.running
        place = place or place_of_node(anomaly.running)
    node.__dict__["_noted"] = (place, watch.times)


def check_gradients(sweep: Any, node: Node, grads: Sequence[Any], arrived: Sequence[Any]) -> None:
    """Refuse nan among the gradients that a node has made.

    Args:
        sweep: the backward pass, which keeps its story.
        arrived: the gradients of its outputs, from which it made them.

    Raises:
        RuntimeError: naming the node and the position, and where it all began.
    """
    if sweep.story is None:
        sweep.story = Story()
    sweep.story.look(node, grads, arrived)
    for position, g in enumerate(grads):
        if g is not None and np.isnan(getattr(g, "_array", g)).any():
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {position}th output."
                + sweep.story.tell(node)
            )


def report(node: Node | None) -> None:
    """Warn where the forward call of a node that has failed stood, and those it came from."""
    heading = CAUSED
    here.in_backward = None
    while node is not None:
        trace = node.metadata.get(TRACE)
        if trace is None:
            warn(UNKNOWN.format(node.name()))
            return
        warn(heading.format(node.name()) + "".join(trace))
        node, heading = node.metadata.get(PARENT), INDUCED
