"""Anomaly mode's eye on values: which operation was the first to make one that is not finite.

While the mode is on, what stands as ``kernel`` in the globals of every operation's functions looks
at the result. So all is seen, with and without grad mode, and costs nothing while the mode is off.
"""

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.nonfinite import FINITE, NAN, NonFinite, NonFiniteWarning, Range, level_of
from nanotorch._core.place import place_of
from nanotorch._core.views import write
from nanotorch._core.warned import warn

if TYPE_CHECKING:
    from nanotorch._core.op import Op

FORWARD, BACKWARD = "forward", "backward"
NUMBERS = (np.ndarray, np.generic, int, float)
Inputs = Iterable[tuple[str, Any]]  # with the names of their parameters


class _Here(threading.local):
    """Per thread: whether a kernel runs, and what a user's function made in a backward pass."""

    in_kernel = False
    in_backward: NonFinite | None = None


here = _Here()


class Watch:
    """What has been found while the mode was last on, in all threads.

    Attributes:
        times: how often it has been on.
        firsts: the first of each phase, in order of time.
        forward: since the last backward pass that came before it: the first that made an infinity,
            if it came before the first that made nan, and that one.
        given: the first in that time that was given nan which nothing had made.
        sweeps: the number of backward passes that have begun.
    """

    def __init__(self) -> None:
        self.on = False
        self.lock = threading.Lock()
        self.times = 0
        self.begin()

    def begin(self) -> None:
        """The mode is turned on."""
        self.times += 1
        self.firsts: tuple[NonFinite, ...] = ()
        self.forward: tuple[NonFinite, ...] = ()
        self.given: NonFinite | None = None
        self.sweeps = self.sweeps_before = 0  # the latter is of the time of `forward`
        self.warned = FINITE

    def is_news(self, phase: str, level: int, made: bool) -> bool:
        """Whether what has been found is to be remembered."""
        if phase == BACKWARD:
            return all(f.phase != phase for f in self.firsts)
        if self.sweeps_before != self.sweeps:
            return True
        known = max([f.level for f in self.forward], default=FINITE)
        return level > known if made else known < NAN and self.given is None

    def note(self, found: NonFinite, user: FrameType | None = None) -> None:
        """Remember what was found; warn of the first infinity and of the first nan in forward."""
        with self.lock:
            if not self.is_news(found.phase, found.level, found.made):
                return
            if found.made and all(f.phase != found.phase for f in self.firsts):
                self.firsts += (found,)
            if found.phase == BACKWARD:
                return
            if self.sweeps_before != self.sweeps:
                self.forward, self.given, self.sweeps_before = (), None, self.sweeps
            if not found.made:
                self.given = found
                return
            self.forward += (found,)
            unheard = found.level > self.warned
            self.warned = max(self.warned, found.level)
        if unheard and user is not None:
            warn(str(found), NonFiniteWarning, user)


watch = Watch()


def switch(on: bool, ops: Iterable["Op"]) -> None:
    """Watch all operations, or none.

    Args:
        ops: those declared so far; see `equip` for others.
    """
    watch.on = on
    for o in ops:
        equip(o)


def equip(o: "Op") -> None:
    """Let the functions of an operation call what the mode asks for."""
    # A view shows numbers that are there already.
    looking = watch.on and not (o.view or o.multi)
    o.namespace["kernel"] = watched(o) if looking else o.called
    o.namespace["write"] = watched_write(o) if looking else write


def watched(o: "Op") -> Callable[..., Any]:
    """The kernel of an operation, looking at the result. Kernels that it calls are its own affair.

    What it was made from is looked at only if the result is not finite, but for kernels that write
    to their input: then it would be too late.
    """
    kernel = o.kernel
    overwrites = o.inplace and not o.method and not o.public

    def watching(*args: Any, **named: Any) -> Any:
        if here.in_kernel:
            return kernel(*args, **named)
        here.in_kernel = True
        try:
            cause = level_of([*args, *named.values()]) if overwrites else None
            result = kernel(*args, **named)
        finally:
            here.in_kernel = False
        if level_of(result):
            caller = sys._getframe(1)
            name = o.known_as + ("_" if caller.f_code.co_name == o.inplace_name else "")
            look(name, result, passed_to(o, args, named), cause, caller)
        return result

    return watching


def watched_write(o: "Op") -> Callable[..., Any]:
    """`write`, looking at the conversion to a smaller dtype."""

    def writing(tensor: Any, values: Any, name: str) -> None:
        write(tensor, values, name)
        if values.dtype != tensor._array.dtype and level_of(tensor):
            look(name, tensor, [("computed", values)], None, sys._getframe(1))

    return writing


def passed_to(o: "Op", args: Sequence[Any], named: dict[str, Any]) -> Inputs:
    """The arguments of a kernel with their names, without numbers that are the default."""
    arguments = dict(zip(o.arguments, args, strict=False)) | named
    for name, value in arguments.items():
        if type(value) not in (int, float) or value != o.arguments[name].default:
            yield name, value


def look(name: str, result: Any, inputs: Inputs, cause: int | None, frame: FrameType) -> None:
    """Note the operation ``name`` if its result is less finite than what it was made from.

    Args:
        inputs: all arguments; numbers and arrays among them count.
        cause: the level of the inputs, if they have been overwritten.
        frame: where it ran.
    """
    worst = max(result if isinstance(result, tuple) else (result,), key=level_of)
    listed = [(n, v) for n, v in flat(inputs) if v is not worst]
    if cause is None:
        cause = level_of([v for _, v in listed])
    level = level_of(worst)
    made = level > cause
    if not (made or cause == NAN):
        return
    place, user = place_of(frame)
    if place is None:
        return
    phase = BACKWARD if place.backward else FORWARD
    wanted = here.in_backward is None if phase == BACKWARD else watch.is_news(phase, level, made)
    if not wanted:
        return
    ranges = tuple([Range.of(n, v) for n, v in listed])
    found = NonFinite(name, phase, cause, Range.of("result", worst), ranges, place)
    if made:
        watch.note(found, user)
        if phase == BACKWARD:
            here.in_backward = found
    elif phase == FORWARD:
        for given in [r for r in ranges if r.count[0]][:1]:
            watch.note(found._replace(result=given, made=False))


def flat(inputs: Inputs) -> Inputs:
    """Arrays, tensors and numbers among arguments, those in a list each with its position."""
    for name, value in inputs:
        if isinstance(value, (list, tuple)):
            for k, v in enumerate(value):
                if not isinstance(v, (int, float)):
                    yield from flat([(f"{name}[{k}]", v)])
        elif isinstance(getattr(value, "_array", value), NUMBERS) and not isinstance(value, bool):
            yield name, value
