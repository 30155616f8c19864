"""How long operations take, forward and backward, and which lines called them.

Python's profiling hook sees the functions of operations and the methods of nodes without any
provision, and cost, in them. A profiler that is at work goes on; beside one that Python code
cannot call, nothing is measured.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from nanotorch._core.graph import Node
from nanotorch._core.saving import one_node_each
from nanotorch._core.tensor import Tensor
from nanotorch._core.views import edge_of

PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"
GENERATED = "<nanotorch op "
FORMULAS = ("apply_bare", "apply_recorded")
# Of a node, `apply` and its kin; of a leaf without hooks, the function that adds to its gradient.
LEAF = "accumulate_into"
BACKWARD = ("apply", "accumulate", "accumulate_tensor", LEAF, *FORMULAS)


@dataclass
class Measured:
    """What was seen of the operation that made a node.

    Attributes:
        nanoseconds: how long it took.
        source: the line of the caller's code, as `file:line`; empty if all is in this package.
        kept: the tensors that it keeps for its formulas.
    """

    nanoseconds: int
    source: str
    kept: tuple[Tensor, ...]


@dataclass
class Measurements:
    """What was measured.

    Attributes:
        forward: by node, of the operation that made it.
        backward: by node, how many nanoseconds its formulas took.
        leaves: by identity of the leaf, how many it took to add to its gradient.
    """

    forward: dict[Node, Measured] = field(default_factory=dict)
    backward: dict[Node, int] = field(default_factory=dict)
    leaves: dict[int, int] = field(default_factory=dict)


def role(code: CodeType) -> str:
    """What a function is here: "forward", "backward", or nothing."""
    if code.co_filename.startswith(GENERATED):
        return "backward" if code.co_name in FORMULAS else "forward"
    if not code.co_filename.startswith(PACKAGE) or code.co_name not in BACKWARD:
        return ""
    # A user's function is applied by a method of its class, a node by one of its own.
    first = code.co_varnames[:1]
    return "forward" if first == ("cls",) else "backward"


@contextmanager
def measuring(into: Measurements, outermost: CodeType | None) -> Iterator[None]:
    """Measure the operations of the block.

    Args:
        outermost: lines are looked for between it and the operations; None if it does not matter.
    """
    before: Any = sys.getprofile()
    if before is not None and not callable(before):  # `cProfile` until Python 3.11
        yield
        return
    roles: dict[CodeType, str] = {}
    starts: list[tuple[FrameType, int]] = []
    lost = 0  # what the hook itself has taken, of which no operation is to blame

    def profile(frame: FrameType, event: str, result: Any) -> None:
        nonlocal lost
        if before is not None:
            before(frame, event, result)
        if event not in ("call", "return"):
            return
        now = time.perf_counter_ns()
        code = frame.f_code
        what = roles.get(code)
        if what is None:
            what = roles[code] = role(code)
        if what and event == "return" and starts and starts[-1][0] is frame:
            elapsed = now - lost - starts.pop()[1]
            note = note_forward if what == "forward" else note_backward
            note(into, frame, result, elapsed, outermost)
        end = time.perf_counter_ns()
        lost += end - now
        if what and event == "call":
            starts.append((frame, end - lost))

    sys.setprofile(profile)
    try:
        with one_node_each():
            yield
    finally:
        sys.setprofile(before)


def note_forward(
    into: Measurements, frame: FrameType, result: Any, nanoseconds: int, outermost: CodeType | None
) -> None:
    """Note an operation under the node that it has made, if it has made one."""
    first = result[0] if isinstance(result, list | tuple) and result else result
    node = edge_of(first)[0] if isinstance(first, Tensor) and first.requires_grad else None
    if node is not None:
        kept = tuple(saved_tensors(node))
        into.forward[node] = Measured(nanoseconds, caller(frame, outermost), kept)


def note_backward(
    into: Measurements, frame: FrameType, result: Any, nanoseconds: int, outermost: CodeType | None
) -> None:
    """Note the formulas of a node, or what is added to the gradient of a leaf."""
    owner = frame.f_locals[frame.f_code.co_varnames[0]]
    if isinstance(owner, Node):
        into.backward[owner] = nanoseconds  # of calls within each other, the outer one comes last
    elif frame.f_code.co_name == LEAF:
        into.leaves[id(owner)] = into.leaves.get(id(owner), 0) + nanoseconds


def saved_tensors(node: Node) -> Iterator[Tensor]:
    """The inputs that an operation keeps for its formulas."""
    saved: Any = node._saved
    for kept in saved if isinstance(saved, tuple) else ():
        if isinstance(kept, tuple) and kept and isinstance(kept[0], Tensor):
            yield kept[0]


def caller(frame: FrameType, outermost: CodeType | None) -> str:
    """The innermost line outside this package, between an operation and the outermost code."""
    place = frame.f_back
    while place is not None and place.f_code is not outermost:
        path = place.f_code.co_filename
        if not path.startswith((PACKAGE, "<")):
            return f"{Path(path).name}:{place.f_lineno}"
        place = place.f_back
    return ""
