"""Anomaly mode: finds the call that made a node, and the operation that made nan or infinity."""

import math
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core import doors
from nanotorch._core.bfloat16 import widen
from nanotorch._core.call_site import PACKAGE, CallSite, call_site_at, call_site_of, paragraph, warn
from nanotorch._core.graph import AccumulateGrad, CopySlices, Node, anomaly, write
from nanotorch._core.op import OPS, Op

# What is known about a value that is not finite: who made it, where, and from what.
#
# An array has a level: 0 if it is finite, 1 if it holds infinities, 2 if it holds nan. A result
# whose level is above those of its inputs is one in which something has gone wrong: infinity out of
# finite numbers, or nan out of numbers. A value that stays non-finite does not count.


FINITE, INFINITE, NAN = range(3)
NAMES = ("nan", "inf", "-inf")


class NonFiniteWarning(UserWarning):
    """In anomaly mode, an operation has made a value that is not finite."""


def nonfinite_level(value: Any) -> int:
    """The level of an array, a tensor, a number, or a sequence of them; 0 for anything else."""
    array = widen(getattr(value, "_array", value))
    if isinstance(array, (np.ndarray, np.floating)):
        if array.dtype.kind != "f" or np.logical_and.reduce(np.isfinite(array), None):
            return FINITE
        return NAN if np.isnan(array).any() else INFINITE
    if isinstance(value, (tuple, list)):
        return max([nonfinite_level(v) for v in value], default=FINITE)
    if isinstance(value, float) and not math.isfinite(value):
        return NAN if math.isnan(value) else INFINITE
    return FINITE


class Range(NamedTuple):
    """An array in short.

    Attributes:
        name: of the parameter it was passed as.
        dtype, shape: of the array; for a Python number the name of its type, and no dimensions.
        low, high: its least and its greatest finite element; None if there is none.
        count: how many elements are nan, infinity, and minus infinity.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    low: float | int | None
    high: float | int | None
    count: tuple[int, int, int]  # type: ignore[assignment]  # instead of tuples' own

    @classmethod
    def of(cls, name: str, value: Any) -> "Range":
        """Describe an array, a tensor or a number."""
        held = getattr(value, "_array", value)
        dtype = held.dtype.name if hasattr(value, "dtype") else type(value).__name__
        array = np.asarray(widen(held))
        count, finite = (0, 0, 0), array
        if nonfinite_level(array):
            nan, inf = np.count_nonzero(np.isnan(array)), np.count_nonzero(np.isposinf(array))
            finite = array[np.isfinite(array)]
            count = (int(nan), int(inf), int(array.size - finite.size - nan - inf))
        low, high = (finite.min().item(), finite.max().item()) if finite.size else (None, None)
        return cls(name, dtype, array.shape, low, high, count)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def values(self) -> dict[str, int]:
        """The kinds of elements that are not finite, with their counts."""
        return {name: n for name, n in zip(NAMES, self.count, strict=True) if n}

    def __str__(self) -> str:
        named = self.values
        if not self.shape:
            return f"{self.name}: {' and '.join(named) or summarize(self.low)}"
        parts = [f"{self.name}: {self.dtype} of shape {list(self.shape)}"]
        every = "all " if self.size > 1 else ""
        parts += [
            f"{every}{name}" if n == self.size else f"{name} in {n}" for name, n in named.items()
        ]
        if self.low is not None and self.dtype != "bool":
            one = self.low == self.high
            rest = "else " if named else every if one else ""
            parts.append(
                f"{rest}{'' if one else f'from {summarize(self.low)} to '}{summarize(self.high)}"
            )
        return ", ".join(parts)


def summarize(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class NonFinite(NamedTuple):
    """An operation that made a value that is not finite.

    `print` shows it as the messages do.

    Attributes:
        op: the operation as it is called, ``log`` or ``add_``; in a backward pass the node's name
            or, inside of a user's function or hook, again the operation.
        phase: "forward" or "backward".
        cause: the level of what it was made from, see above.
        result: the result that is not finite; of a node, the gradient.
        inputs: what it was made from; of a node, the gradients that arrived and what it had saved.
        call_site: where it was called; of a node, its forward call. None if that was not noted.
        made: False if nothing had made it: the operation was the first to be given it.
    """

    op: str
    phase: str
    cause: int
    result: Range
    inputs: tuple[Range, ...]
    call_site: CallSite | None
    of_node: bool = False
    made: bool = True

    @property
    def module(self) -> str | None:
        """The module whose forward called it, as ``MLP.net.0 (Linear)``."""
        return self.call_site and self.call_site.module

    @property
    def file(self) -> str | None:
        """The file of the user's call."""
        return self.call_site and self.call_site.file

    @property
    def line(self) -> int | None:
        """The line of the user's call."""
        return self.call_site and self.call_site.line

    @property
    def level(self) -> int:
        """The level of the result."""
        return NAN if self.result.count[0] else INFINITE

    def __str__(self) -> str:
        result = self.result
        values, bad, size = " and ".join(result.values), sum(result.count), result.size
        share = f" in {'all' if bad == size else f'{bad} of'} {size} elements" if size > 1 else ""
        if not self.made:
            lines = [
                f"{self.op} was given {values}{share + ' of' if share else ' as'} {result.name}"
            ]
        else:
            lines = [f"{self.op} gave {values}{share}"]
            if self.inputs:
                kind = "gradients" if self.of_node else "inputs"
                lines[0] += f", from {kind} without nan" if self.cause else f", from finite {kind}"
        if self.call_site is not None:
            lines.append(f"{'for the call at' if self.of_node else 'at'} {self.call_site}")
            if self.module is not None:
                lines.append(f"in module {self.module}")
        ranges = [*self.inputs, result] if self.made else self.inputs
        return "\n    ".join([*lines, *map(str, ranges)])


# Anomaly mode's eye on values: which operation was the first to make one that is not finite.
#
# While the mode is on, the ``kernel`` in the globals of every operation's functions checks its
# result. This covers every call, with and without grad mode, and costs nothing while the mode is
# off.


FORWARD, BACKWARD = "forward", "backward"
NUMBERS = (np.ndarray, np.generic, int, float)
Inputs = Iterable[tuple[str, Any]]  # with the names of their parameters


class _Thread(threading.local):
    """Per thread: whether a kernel runs, and what happens in a backward pass."""

    in_kernel = False
    in_backward: NonFinite | None = None
    running: Node | None = None  # in a backward pass with `create_graph`: the node that runs


thread = _Thread()


class Watch(doors.Observer):
    """The watcher of results and observer of nodes of anomaly mode, with its findings since it was
    last turned on, in all threads.

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

    def turn(self, on: bool) -> None:
        """Watch the results of all operations, or stop watching."""
        self.on = on
        if on:
            doors.kernels.append(self)
        else:
            doors.kernels.remove(self)
        for o in list(OPS.values()):
            self.declared(o)

    def declared(self, o: Op) -> None:
        """Give the functions of an operation the watching kernel if the mode is on."""
        # A view shows numbers that are there already.
        looking = self.on and not (o.view or o.multi)
        o.namespace["kernel"] = watching_kernel(o) if looking else o.called
        o.namespace["write"] = watching_write if looking else write

    def computed(self, name: str, result: Any, inputs: Inputs) -> None:
        """Check a result of a function that is no operation."""
        note_nonfinite(name, result, inputs, None, sys._getframe(1))

    def made(self, node: Node, out: Any, arguments: Sequence[Any]) -> None:
        """Keep the stack of the call that made a node, and the node whose backward pass made it."""
        frames = traceback.extract_stack()
        while frames and frames[-1].filename.startswith(OURS):
            frames.pop()
        node.metadata[TRACE] = frames.format()
        call_site, _ = call_site_of(sys._getframe(1))
        if thread.running is not None:
            node.metadata[PARENT] = thread.running
            call_site = call_site or call_note_of(thread.running)[0]
        node.__dict__["_noted"] = (call_site, self.times)

    def visit(self, sweep: Any, visit: Callable[..., None], node: Node, held: list[Any]) -> None:
        """Run a node; on an error, report the forward call that made it."""
        before, thread.running = thread.running, node if sweep.graph else None
        try:
            visit(node, held)
        except Exception:
            with suppress(Warning):  # if warnings are errors, the first error is still raised
                report(node)
            raise
        finally:
            thread.running = before

    def ran(self, sweep: Any, node: Node, grads: Sequence[Any], arrived: Sequence[Any]) -> None:
        """Raise an error if a node has made a gradient with nan."""
        if not anomaly.check_nan or isinstance(node, AccumulateGrad):
            return
        found = vars(sweep).get("anomalies")
        if found is None:
            found = sweep.anomalies = SweepAnomalies()
        found.look(node, grads, arrived)
        for position, g in enumerate(grads):
            if g is not None and np.isnan(getattr(g, "_array", g)).any():
                raise RuntimeError(
                    f"Function '{node.name()}' returned nan values in its {position}th output."
                    + found.text(node)
                )

    def begin(self) -> None:
        """Begin anew: the mode is turned on."""
        self.times += 1
        self.firsts: tuple[NonFinite, ...] = ()
        self.forward: tuple[NonFinite, ...] = ()
        self.given: NonFinite | None = None
        self.sweeps = self.sweeps_before = 0  # the latter is of the time of `forward`
        self.warned = FINITE

    def is_news(self, phase: str, level: int, made: bool) -> bool:
        """Whether to remember a finding."""
        if phase == BACKWARD:
            return all(f.phase != phase for f in self.firsts)
        if self.sweeps_before != self.sweeps:
            return True
        known = max([f.level for f in self.forward], default=FINITE)
        return level > known if made else known < NAN and self.given is None

    def note(self, found: NonFinite, user: FrameType | None = None) -> None:
        """Remember a finding; warn of the first infinity and of the first nan in forward."""
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


def watching_write(tensor: Any, values: Any, name: str, *how: Any) -> None:
    """`write`, of which the conversion to a smaller dtype may make infinities."""
    write(tensor, values, name, *how)
    if values.dtype != tensor._array.dtype and nonfinite_level(tensor):
        note_nonfinite(name, tensor, [("computed", values)], None, sys._getframe(1))


def watching_kernel(o: Op) -> Callable[..., Any]:
    """A kernel that checks its result. Checks of the kernels that it calls are off.

    It checks the inputs only if the result is not finite. A kernel that writes to its input checks
    them first: afterwards would be too late.
    """
    kernel = o.kernel
    overwrites = o.inplace and not o.method and not o.public

    def watching(*args: Any, **named: Any) -> Any:
        if thread.in_kernel:
            return kernel(*args, **named)
        thread.in_kernel = True
        try:
            cause = nonfinite_level([*args, *named.values()]) if overwrites else None
            result = kernel(*args, **named)
        finally:
            thread.in_kernel = False
        if nonfinite_level(result):
            caller = sys._getframe(1)
            name = o.known_as + ("_" if caller.f_code.co_name == o.inplace_name else "")
            passed = dict(zip(o.arguments, args, strict=False)) | named
            inputs = [  # without numbers that are the default
                (key, value)
                for key, value in passed.items()
                if type(value) not in (int, float) or value != o.arguments[key].default
            ]
            note_nonfinite(name, result, inputs, cause, caller)
        return result

    return watching


def note_nonfinite(
    name: str, result: Any, inputs: Inputs, cause: int | None, frame: FrameType
) -> None:
    """Note the operation ``name`` if its result is less finite than its inputs.

    Args:
        inputs: all arguments; only numbers and arrays count.
        cause: the level of the inputs, if they have been overwritten.
        frame: the frame that ran it.
    """
    worst = max(result if isinstance(result, tuple) else (result,), key=nonfinite_level)
    listed = [(n, v) for n, v in flatten_inputs(inputs) if v is not worst]
    if cause is None:
        cause = nonfinite_level([v for _, v in listed])
    level = nonfinite_level(worst)
    made = level > cause
    if not (made or cause == NAN):
        return
    call_site, user = call_site_of(frame)
    if call_site is None:
        return
    phase = BACKWARD if call_site.backward else FORWARD
    wanted = thread.in_backward is None if phase == BACKWARD else watch.is_news(phase, level, made)
    if not wanted:
        return
    ranges = tuple([Range.of(n, v) for n, v in listed])
    found = NonFinite(name, phase, cause, Range.of("result", worst), ranges, call_site)
    if made:
        watch.note(found, user)
        if phase == BACKWARD:
            thread.in_backward = found
    elif phase == FORWARD:
        for given in [r for r in ranges if r.count[0]][:1]:
            watch.note(found._replace(result=given, made=False))


def flatten_inputs(inputs: Inputs) -> Inputs:
    """The arrays, tensors and numbers among arguments; those in a list with their positions."""
    for name, value in inputs:
        if isinstance(value, (list, tuple)):
            for k, v in enumerate(value):
                if not isinstance(v, (int, float)):
                    yield from flatten_inputs([(f"{name}[{k}]", v)])
        elif isinstance(getattr(value, "_array", value), NUMBERS) and not isinstance(value, bool):
            yield name, value


# What one backward pass in anomaly mode came across, after what the forward pass had made.


NOTHING_BEFORE = "No operation of the forward pass had made such a value."
COMES_FROM = "It was passed to backward(), it came from a hook, or finite gradients added up to it."


class SweepAnomalies:
    """The first infinity and the first nan of a backward pass."""

    def __init__(self) -> None:
        with watch.lock:
            watch.sweeps += 1
            self.sweep = watch.sweeps
        self.found: tuple[NonFinite, ...] = ()

    def look(self, node: Node, grads: Sequence[Any], arrived: Sequence[Any]) -> None:
        """Note a node that has made or received the first infinity or nan.

        Args:
            grads: the gradients of its inputs, None for those that are not needed.
            arrived: the gradients of its outputs.
        """
        inside, thread.in_backward = thread.in_backward, None
        if not nonfinite_level(list(grads)):
            return
        for found in (inside, nonfinite_at(node, grads, arrived)):
            if found is not None and all(found.level > f.level for f in self.found):
                self.found += (found,)
                watch.note(found)

    def text(self, node: Node) -> str:
        """All findings in order of time, to follow the error for the ``node`` that made nan."""
        before = watch.forward if watch.given is None else (watch.given, *watch.forward)
        earlier = watch.sweeps_before != self.sweep - 1
        when = "before an earlier backward pass" if earlier else "in the forward pass"
        parts = [f"{when} {f}" for f in before] + [f"in the backward pass {f}" for f in self.found]
        parts[1:] = [f"then {part}" for part in parts[1:]]
        if not self.found[0].made:
            parts.append(COMES_FROM)
        elif call_note_of(node)[1] == watch.times and not before:
            parts.append(NOTHING_BEFORE)
        return paragraph(*(part.replace("\n", "\n  ") for part in parts))


def call_note_of(node: Node) -> tuple[CallSite | None, int]:
    """The stack of the call that made a node, and `Watch.times` then; 0 if the mode was off."""
    call_site, times = node_that_wrote(node).__dict__.get("_noted", (None, 0))
    if call_site is None and node._site is not None:
        call_site = call_site_at(node._site)  # without the module
    return call_site, times


def node_that_wrote(node: Node) -> Node:
    """The node itself; for a write to a view, the node of what was written."""
    if isinstance(node, CopySlices) and isinstance(node._saved, tuple):
        (node,) = node._saved
    return node


def nonfinite_at(node: Node, grads: Sequence[Any], arrived: Sequence[Any]) -> NonFinite:
    """The findings about gradients at a node that are not finite."""
    writer = node_that_wrote(node)
    op = getattr(type(writer), "op", None)
    given = list(with_names("grad_output", arrived, []))
    inputs = [] if op is None or op.variadic else list(op.formulas)
    cause = nonfinite_level([g for _, g in given])
    name, worst = max(
        with_names("gradient", grads, inputs), key=lambda pair: nonfinite_level(pair[1])
    )
    made = nonfinite_level(worst) > cause
    if not made:
        name, worst = max(given, key=lambda pair: nonfinite_level(pair[1]))
    saved: Any = writer._saved if type(writer._saved) is tuple else ()  # users' hooks pack others
    kept = [(f"saved[{k}]", "input") for k in range(len(saved))] if op is None else op.recipe
    for (key, kind), value in zip(kept, saved, strict=False):
        if value is not None and kind in ("input", "out", "aux") and hasattr(value[0], "dtype"):
            given.append(("result" if key == "out" else key, value[0]))
    return NonFinite(
        op=node.name(),
        phase=BACKWARD,
        cause=cause,
        result=Range.of(name, worst),
        inputs=tuple(Range.of(n, v) for n, v in given),
        call_site=call_note_of(node)[0],
        of_node=True,
        made=made,
    )


def with_names(name: str, values: Sequence[Any], names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The values that are not None, with their names; without names, ``name`` and a number."""
    for position, value in enumerate(values):
        if value is None:
            continue
        if position < len(names):
            yield f"{name} of {names[position]}", value
        else:
            yield name if len(values) == 1 else f"{name}[{position}]", value


# Anomaly mode: nodes note the call that made them, and the sweep looks for nan.
#
# The mode is one for all threads.


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


def report(node: Node | None) -> None:
    """Warn with the stack of the call that made a failed node, and of those before it."""
    heading = CAUSED
    thread.in_backward = None
    while node is not None:
        trace = node.metadata.get(TRACE)
        if trace is None:
            warn(UNKNOWN.format(node.name()))
            return
        warn(heading.format(node.name()) + "".join(trace))
        node, heading = node.metadata.get(PARENT), INDUCED
