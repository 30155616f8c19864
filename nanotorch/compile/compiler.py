"""The plan of a captured step, and the compiler: which plan a call of a function replays."""

import functools
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from sys import getrefcount
from types import CodeType
from typing import Any

import numpy as np

from nanotorch._core import doors, dtypes
from nanotorch._core.autocast import cache_of_its_own, substitutes
from nanotorch._core.autocast import state as autocast
from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import changes, next_change
from nanotorch._core.in_float32 import in_float32
from nanotorch._core.layout import address
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.compile.codegen import MISS, Bundler, Calls, Names, Rollback, specialize
from nanotorch.compile.guards import (
    BY_VALUE,
    KNOWN_OPTIMIZERS,
    PLACES,
    TESTS,
    Arguments,
    Guards,
    Refused,
    Used,
    Watcher,
    check_holds,
    profiler_in_the_way,
    same_value,
    share_memory,
    watch_library,
)
from nanotorch.compile.joint import Layouts, layouts_of
from nanotorch.compile.recorder import STEPWISE
from nanotorch.compile.tape import (
    SLOT,
    TEMPORARY,
    Entry,
    Gradient,
    Layout,
    Leaf,
    Ref,
    Result,
    Slot,
    expression_source,
    has_graph,
    holders,
    layout_only,
    leaves,
    parts,
)
from nanotorch.compile.tracing import (
    GUARD,
    Capture,
    State,
    bits_of,
    library_state,
    site_of,
    tracing,
    verify_plan,
)
from nanotorch.nn.module import Module
from nanotorch.optim.flat_buffer import align, aligned_zeros, array_in_block, move_together

# The report of a compiled function.


@dataclass(frozen=True)
class Figures:
    """One plan in numbers.

    Attributes:
        kernels: the number of NumPy calls in a replay.
        traced: the number of NumPy calls in the step itself.
        bytes: the size of the memory that the plan holds for its replays.
        fresh: the bytes that every replay allocates.
        eager_bytes: the bytes of all arrays that the step itself allocates.
        guards: the number of comparisons before a replay.
    """

    kernels: int
    traced: int
    bytes: int
    fresh: int
    eager_bytes: int
    guards: int


@dataclass(frozen=True)
class Report:
    """The outcome of the compilation of a function.

    Attributes:
        name: the function's name.
        problem: the reason why it runs uncompiled, in at least one grad mode, with file and line;
            None if there is none.
        plans: the figures of each captured variant of the step.
    """

    name: str
    problem: str | None
    plans: list[Figures]

    def __str__(self) -> str:
        problem = f"uncompiled. {self.problem}" if self.problem else "not captured yet"
        if not self.plans:
            return f"{self.name}: {problem}"
        lines = [
            f"{self.name}: {len(self.plans)} captured" + f"; also {problem}" * bool(self.problem)
        ]
        lines += [
            f"  {p.kernels} kernels of {p.traced} traced; {p.guards} guards; memory {p.bytes:,} "
            f"bytes and {p.fresh:,} a step, uncompiled {p.eager_bytes:,} a step"
            for p in self.plans
        ]
        return "\n".join(lines)


# The guards of a replay as source.


def changed_test(found: str, value: Any, names: Names) -> str:
    """The source of a test, true if ``found`` is not ``value``; numbers and texts may be equal."""
    name = names.of(value)
    if type(value) not in BY_VALUE:
        return f"{found} is not {name}"
    same = names.of(same_value, "f")
    return f"{found} is not {name} and not {same}({found}, {name})"


# The source of a replay: its guards, its calls, its effects.


# The errors of reading something that no longer exists, or of comparing other tensors.
ABSENT = (KeyError, IndexError, AttributeError, ValueError, TypeError, RuntimeError)
# A turn begins and ends without a call of a Python function: an interruption cannot come between.
HEAD = """\
def make({names}):
    def replay(args, kwargs):
        try:
            if turn.setdefault(0, kwargs) is not kwargs: return MISS
            try:
{guards}
            except absent: return MISS
            {copies}
            try:
"""
TAIL = """
            except Exception as error: plan.put_back(error)
            return function(*args, **kwargs)
        finally:
            try:
                if turn[0] is kwargs: del turn[0]
            except KeyError: pass

    def refresh():
{refresh}
        return True

    def counts(): return [*map(count, held)]
{second}
    return replay, refresh, counts, backward
"""
SECOND = """
    def backward(node, grads):
        saved = node._saved
        try:
            if turn.setdefault(0, saved) is not saved: return MISS
{lines}
        finally:
            try:
                if turn[0] is saved: del turn[0]
            except KeyError: pass
"""


class Plan:
    """The replay of one capture.

    Attributes:
        call: ``call(args, kwargs)`` replays the step and returns its result, or `MISS`.
        refresh: reads the options of optimizers and computes the numbers that depend on them.
        counts: returns the reference counts of the gradients and their arrays.
        backward: returns the gradients for the edges of a result's node, or `MISS`; None if no
            result has a graph.
        replan: called with the layouts of the gradients that came, if `backward` does not apply.
        source: the source of these functions.
        error: the last error in a replay.
        owned: whether gradients lie in memory that the next step uses again. Then only their leaves
            may hold them. Otherwise every replay copies them.
        turn: holds the `kwargs` of the call that runs now, which are unique.
        known: the `holders` of the memory of tensors that are not arguments.
    """

    def __init__(self, capture: Capture, name: str, replan: Callable[..., None]) -> None:
        self.capture, self.name, self.replan = capture, name, replan
        tape = self.tape = capture.tape
        self.eager_bytes = sum(s.base.nbytes for s in tape.storages if s.kind == TEMPORARY)
        self.traced = len(tape.entries)
        guards, self.arguments = capture.guards, capture.arguments
        self.key = (capture.surroundings, self.arguments.key, guards.grads)
        guards.let_go()  # before `known`: the `id` of an array that is freed may be used again
        self.checks = guards.checks
        self.known = holders(tensor._array for tensor in guards.tensors.values())
        self.gradients = [g for g in capture.gradients if g.ref is not None]
        self.joint = capture.joint
        if self.joint is not None:
            self.joint.part()
        escaping = [g.ref for g in self.gradients if g.ref is not None]
        escaping += [result.ref for result in capture.returned.values()]
        escaping += self.joint.refs if self.joint else []
        kept = {ref.storage.number for ref in escaping}
        tape.fold_constants(kept)
        tape.drop_repetitions(kept)
        if self.joint is None:
            Bundler(tape, self.gradients).join()
        specialize(tape)
        # The numbers of storages whose memory lasts until the next replay.
        self.lasting = {e.outs[0].storage.number for e in tape.entries if e.kind == "number"}
        self.lasting |= {ref.storage.number for ref in escaping[: len(self.gradients)]}
        crossing = [] if self.joint is None else self.joint.divide()
        local = {ref.storage.number for ref in (*escaping, *crossing)}
        escaping += crossing
        self.layout = Layout(tape.entries, self.lasting, escaping, local)
        self.first, self.second = self.layout.entries, list[Entry]()
        if self.joint is not None:
            self.first, self.second = self.joint.split(self.layout.entries)
        free_temporaries(self.layout.entries, escaping)
        tape.by_owner.clear()
        tape.storages.clear()
        used = {
            ref.storage.number
            for entry in (*self.first, *self.second)
            for ref in (*entry.inputs(), *entry.outs)
            if ref.storage.kind == SLOT
        }
        self.slots = [slot for slot in capture.slots if slot.storage.number in used]
        for slot in capture.slots:
            if slot not in (*self.slots, *[count.slot for count in capture.counts]):
                slot.forget()  # it holds the gradient of another step
        capture.known.clear()
        self.error: Exception | None = None
        self.rollback = Rollback(self.first, self.joint is not None)
        self.turn: dict[int, Any] = {}
        self.used = Used({**capture.library, **capture.later.library})
        self.owned, self.verified = True, False
        self.bind()
        if self.joint is not None:  # do not hold the graphs of arguments
            self.arguments.free.clear()
            for slot in capture.slots:
                slot.forget()

    def applies(self) -> bool:
        """Whether the state is still the one that the plan was made in."""
        return self.used.unchanged() and all(map(check_holds, self.checks)) and bool(self.refresh())

    def bind(self) -> None:
        """Allocate memory and write the source."""
        self.last: list[Any] = []  # the options of optimizers at the last call
        self.seen = [changes[0]]  # the count at the last check of the modules
        # The counts of gradients that their leaves hold, and of gradients that they do not hold.
        self.counted: list[list[int]] = []
        self.names = names = Names({
            "MISS": MISS, "mode": mode, "default": dtypes.default, "observers": doors.nodes,
            "autocast": autocast, "regions": substitutes, "tracing": tracing,
            "turn": self.turn, "last": self.last, "plan": self,
            "function": self.capture.function,
            "changes": changes, "next_change": next_change, "seen": self.seen, "absent": ABSENT,
            "rounded": lambda value: float(np.float32(value)),
            "ndarray": np.ndarray, "wrap": wrap, "Tensor": Tensor, "new": object.__new__,
            "asarray": np.asarray, "counted": self.counted, "count": getrefcount, "map": map,
        })  # fmt: skip
        places = self.lasting_places()
        self.block, array_of = self.layout.memory()

        def place(ref: Ref) -> np.ndarray:
            at = places.get(ref.storage.number)
            if at is None:
                return array_of(ref)
            return array_in_block(self.lasting_block, at + ref.offset, ref.array)

        self.calls = Calls(self.layout, names, place, {s.storage.number for s in self.slots})
        self.number_expressions()
        self.grad_names: list[tuple[str, str, str]] = []  # names: leaf, gradient, its array
        body = self.body()
        second = "    backward = None"
        if self.joint is not None:
            lines = indent(self.joint.backward(self.second), 12)
            second = SECOND.format(lines=lines)
        held = [name for _, *grads in self.grad_names for name in grads]
        names.objects["held"] = tuple([names.objects[name] for name in held])
        refresh, guards = self.refresh_lines(), self.guards()
        copies = self.rollback.line(self.calls)
        if not (self.rollback.saved or self.rollback.drawn or self.joint):
            copies = ""
        head = HEAD.format(guards=indent(guards, 16), copies=copies, names=", ".join(names.objects))
        self.first_line = head.count("\n") + 1
        self.source = (
            head + indent(body, 16) + TAIL.format(refresh=indent(refresh, 8), second=second)
        )
        filename = f"<nanotorch compiled {self.name} {id(self):#x}>"
        space: dict[str, Any] = {}
        exec(compile(self.source, filename, "exec"), space)
        linecache.cache[filename] = (
            len(self.source), None, self.source.splitlines(keepends=True), filename
        )  # fmt: skip
        made = space["make"](*names.objects.values())
        self.call, self.refresh, self.counts, self.backward = made
        if held:
            alone = self.counts()
            taken = [n + (position % 2 == 0) for position, n in enumerate(alone)]
            self.counted += [taken, alone]
        self.refresh()

    def lasting_places(self) -> dict[int, int]:
        """Allocate memory for numbers and gradients; returns its offsets by storage number."""
        places: dict[int, int] = {}
        size = 0
        for out in [out for entry in self.tape.entries for out in entry.outs]:
            number = out.storage.number
            if number in self.lasting - places.keys() and out.storage.kind == TEMPORARY:
                places[number] = size
                size += align(out.storage.base.nbytes)
        self.lasting_block = aligned_zeros(size)
        return places

    # Guards

    def guards(self) -> list[str]:
        """The lines that return `MISS` unless everything is as in the trace."""
        capture, names = self.capture, self.names
        enabled, kind, region = capture.surroundings
        outside = "" if region else "regions.running and "  # else no thread is in a region
        tests = [
            # Inside a module, `mode.enabled` is not True but the site of the module's call.
            "not mode.enabled" if enabled else f"mode.enabled is not {enabled}",
            f"default.numpy is not {names.of(kind)}",
            f"{outside}autocast.region is not {names.of(region)}",
            "observers or mode.transforms",  # for example anomaly mode, `vmap`
            "tracing and plan.verified",  # this step may be a part of another one's trace
            *self.argument_guards(),
        ]  # fmt: skip
        for check in self.checks:
            if check.counted or check.kind == "group":  # see `unchanged` and `option_guards`
                continue
            key = check.key
            plain = key is None or isinstance(key, (str, int))
            fields = {
                "c": names.of(check.container, "d"),
                "k": key if check.kind == "attr" else repr(key) if plain else names.of(key),
            }
            if check.kind in PLACES:
                test = changed_test(PLACES[check.kind].format(**fields), check.value, names)
            else:
                value = check.value if check.kind == "len" else names.of(check.value)
                test = TESTS[check.kind].format(**fields, v=value)
            tests.append(test)
        tests.append("changes[0] != seen[0] and not plan.unchanged()")
        lines = [f"if {test}: return MISS" for test in dict.fromkeys(tests)]
        return lines + self.option_guards() + self.slot_guards() + self.holder_guards()

    def argument_guards(self) -> list[str]:
        """The source of tests, each true if the arguments are unlike those of the trace."""
        arguments, names = self.arguments, self.names
        tests = []
        for path, kind, length in arguments.lengths:
            if path not in ("args", "kwargs"):
                tests.append(f"type({path}) is not {names.of(kind, 't')}")
            if kind is dict:
                if length or path != "kwargs":
                    tests.append(f"tuple({path}) != {names.of(length)}")
                else:
                    tests.append("kwargs")
            else:
                tests.append(f"len({path}) != {length}" if length else f"{path}")
        tests += [changed_test(path, value, names) for path, value in arguments.fixed]
        for path, tensor in arguments.free:
            tests.append(f"type({path}) is not {names.of(type(tensor))}")
            made = f"({path}._history is not None or {path}._view is not None)"
            plain = f"{made} and {path}.requires_grad or {path}._grad is not None"
            tests.append(f"not {path}.requires_grad" if tensor.requires_grad else plain)
        return tests + self.memory_guards()

    def memory_guards(self) -> list[str]:
        """The source of tests, each true if arguments share memory unlike in the trace."""
        arguments, names = self.arguments, self.names
        tests = [f"{path} is not {former}" for path, former in arguments.same]
        shifts = {(i, j): shift for i, j, shift in arguments.shifts}
        inside = names.of(self.known, "m")
        for j, (path, _) in enumerate(arguments.free):
            read = f"(b{j} := (a{j} := {path}._array).base)"
            tests.append(f"id(a{j} if {read} is None else b{j}) in {inside}")
            for i in range(j):
                one, other = arguments.free[i][0], path
                shift = shifts.get((i, j))
                if shift is not None:
                    between = f"{names.of(address)}(a{j}) - {names.of(address)}(a{i})"
                    tests.append(f"{one} is {other} or {between} != {shift}")
                else:
                    tests.append(
                        f"{one} is {other} or a{i} is a{j} or (b{i} is not None or "
                        f"b{j} is not None) and {names.of(np.may_share_memory)}(a{i}, a{j})"
                    )
        return tests

    def option_guards(self) -> list[str]:
        """The lines that compute the optimizers' numbers again if options have changed."""
        tests = [
            f"[*{self.names.of(check.container, 'd')}.values()] != {self.names.of(check.value)}"
            for check in self.checks if check.kind == "group"
        ]  # fmt: skip
        lines = [f"if ({' or '.join(tests)}) and not plan.refresh(): return MISS"] if tests else []
        lines += [f"{name} = {array}.item()" for name, array in self.counters.items()]
        asked = self.capture.recorder.asked
        tests = [f"({self.text(e)}) is not {answer}" for e, answer in asked if has_counter(e)]
        return lines + [f"if {test}: return MISS" for test in tests]

    def slot_guards(self) -> list[str]:
        """The lines that find and check the arrays of this call's arguments and gradients."""
        lines = []
        for slot in self.slots:
            array, a = f"x{slot.storage.number}", slot.array
            lines.append(f"{array} = {self.path(slot)}._array")
            lines.append(
                f"if {array}.shape != {a.shape} or {array}.dtype is not "
                f"{self.names.of(a.dtype, 't')} or {array}.strides != {a.strides}: return MISS"
            )
        return lines + self.calls.slot_lines

    def holder_guards(self) -> list[str]:
        """The lines that check that only leaves hold the last gradients, which are overwritten."""
        if not self.grad_names:
            return []
        # The counts alone are not enough: a leaf may have dropped its gradient while other code
        # holds it.
        theirs = " and ".join(f"{leaf}._grad is {grad}" for leaf, grad, _ in self.grad_names)
        return [
            f"if (found := [*map(count, held)]) != counted[0] or not ({theirs}):",
            "    if found != counted[1] and not plan.alone(): return plan.share()",
        ]

    # Numbers of optimizers

    def number_expressions(self) -> None:
        """Name the parts of symbolic numbers: options, and the values of 0-d arrays.

        An option gets a number and the source of its place; an array gets a local variable.
        """
        self.options: dict[tuple[int, Any], tuple[int, str]] = {}
        self.option_kinds: list[Any] = []
        self.counters: dict[str, str] = {}
        self.number_entries = [entry for entry in self.tape.entries if entry.kind == "number"]
        expressions = [expression for expression, _ in self.capture.recorder.asked]
        for expression in (*expressions, *[entry.args[0] for entry in self.number_entries]):
            for leaf in leaves(expression):
                key = (id(leaf.container), leaf.key)
                if leaf.key is not None and key not in self.options:
                    place = f"{self.names.of(leaf.container, 'd')}[{leaf.key!r}]"
                    self.options[key] = (len(self.options), place)
                    several = type(leaf.container[leaf.key]) is tuple
                    self.option_kinds.append((tuple,) if several else (int, float))
                elif leaf.key is None and not leaf.late:
                    array = self.names.of(leaf.container, "a")
                    self.counters[f"k{address(leaf.container)}"] = array
        for entry in self.number_entries:
            if has_counter(entry.args[0]):
                self.calls.numbers[entry.outs[0].storage.number] = self.text(entry.args[0])

    def text(self, expression: Any, options: str = "last") -> str:
        """The source of an expression of local variables.

        Args:
            options: the name of the list of options.
        """

        def name_of(part: Any) -> str:
            if not isinstance(part, Leaf):
                return repr(part)
            if part.key is not None:
                return f"{options}[{self.options[id(part.container), part.key][0]}]"
            if part.late:
                return f"{self.names.of(part.container, 'a')}.item()"
            return f"k{address(part.container)}"

        return expression_source(expression, name_of)

    def refresh_lines(self) -> list[str]:
        """The lines that read the options and compute the numbers that depend on them."""
        lines = [f"now = [{', '.join(place for _, place in self.options.values())}]"]
        for position, kinds in enumerate(self.option_kinds):
            kind = self.names.of(kinds, "t")
            lines.append(f"if type(now[{position}]) not in {kind}: return False")
        for expression, answer in self.capture.recorder.asked:
            if not has_counter(expression):
                lines.append(f"if ({self.text(expression, 'now')}) is not {answer}: return False")
        for entry in self.number_entries:
            if not has_counter(entry.args[0]):
                value = self.text(entry.args[0], "now")
                lines.append(f"{self.calls.operand(entry.outs[0])}[()] = {value}")
        return [*lines, "if not plan.same_groups(): return False", "last[:] = now"]

    # Calls and effects

    def body(self) -> list[str]:
        """The lines of the calls and the effects."""
        capture, joint = self.capture, self.joint
        lines = [] if joint is None else joint.begin(self)
        self.starts: list[int] = []  # for each entry, the number of lines before it
        for entry in self.first:
            self.starts.append(len(lines))
            lines += self.calls.all_lines(entry)
        self.kernels = len(lines)
        for count in capture.counts:
            cell = self.names.of(count.cell, "c")
            if count.slot is not None:
                cell = f"{self.path(count.slot)}._cell"
            lines.append(f"{cell}[0] += {count.times}")
            for position, value in enumerate(count.rest, 1):
                lines.append(f"{cell}[{position}] = {self.names.of(value)}")
        lines += [self.gradient_line(gradient) for gradient in capture.gradients]
        for own, training in capture.switched:
            lines.append(f"{self.names.of(own, 'd')}['training'] = {training!r}")
        if capture.switched:  # other code checks modules only when this count changes
            lines.append("changes[0] = next_change()")
        self.made: dict[int, str] = {}
        value = self.returned(capture.result, lines)
        if joint is not None:
            lines += joint.keep({r.edge: self.made[id(r)] for r in capture.returned.values()})
        return [*lines, f"return {value}"]

    def gradient_line(self, gradient: Gradient) -> str:
        """The line that gives a leaf its gradient."""
        leaf = self.names.of(gradient.leaf)
        if gradient.ref is None:
            return f"{leaf}._grad = None"
        array = self.calls.array(gradient.ref)
        name = self.names.of(array, "a")
        if not self.owned or gradient.ref.storage.kind != TEMPORARY:
            return f"{leaf}._grad = wrap({name}.copy('K'))"
        grad = self.names.of(wrap(array), "g")
        self.grad_names.append((leaf, grad, name))
        return f"{leaf}._grad = {grad}"

    def returned(self, result: Any, lines: list[str]) -> str:
        """The source of the step's result; appends the lines that make its tensors."""
        if isinstance(result, Slot):
            return self.path(result)
        if isinstance(result, Gradient):
            return f"{self.names.of(result.leaf)}._grad"
        if isinstance(result, Result):
            return self.result(result, lines)
        if type(result) is tuple:
            return "(" + "".join(self.returned(part, lines) + ", " for part in result) + ")"
        if type(result) is list:
            return "[" + ", ".join(self.returned(part, lines) for part in result) + "]"
        if type(result) is dict:
            parts = [f"{k!r}: {self.returned(v, lines)}" for k, v in result.items()]
            return "{" + ", ".join(parts) + "}"
        return self.names.of(result)

    def result(self, result: Result, lines: list[str]) -> str:
        """The name of a result's new tensor; appends the lines that make it."""
        name = self.made.get(id(result))
        if name is not None:
            return name
        name = self.made[id(result)] = f"r{len(self.made)}"
        value = self.calls.operand(result.ref)
        local = self.calls.is_local(result.ref)
        if local and self.joint is not None and result.ref.storage in self.joint.crossing:
            value = f"{value}.copy()"
        made = f"asarray({value})" if local else f"{value}.copy('K')"
        a = result.ref.array
        if not local and np.empty_like(a).strides != a.strides:  # along dimensions of one element
            kind = self.names.of(a.dtype, "t")
            made = f"ndarray({a.shape}, {kind}, {made}.ravel('K'), 0, {a.strides})"
        lines.append(f"{name} = wrap({made})")
        if result.cell is not list:
            lines.append(f"{name}._writes = {self.names.of(result.cell)}()")
        if type(result.edge) is int:
            only = self.joint is not None and len(self.joint.shapes) == 1
            lines.append(f"{name}._history = " + ("node" if only else f"(node, {result.edge})"))
        elif result.edge is not None:
            lines.append(f"{name}._come_from({self.names.of(result.edge)})")
        return name

    def path(self, slot: Slot) -> str:
        """The source of a slot's tensor."""
        return str(slot.path) if slot.leaf is None else f"{self.names.of(slot.leaf)}._grad"

    # Called by replays

    def alone(self) -> bool:
        """Whether only leaves hold the gradients; some leaves may have dropped theirs."""
        objects = self.names.objects
        expected = list(self.counted[1])
        for position, (leaf, grad, _) in enumerate(self.grad_names):
            expected[2 * position] += objects[leaf]._grad is objects[grad]
        return bool(self.counts() == expected)

    def share(self) -> Any:
        """Copy gradients from now on: other code holds one of the last step. Returns `MISS`."""
        self.owned = False
        self.bind()
        return MISS

    def put_back(self, error: Exception) -> None:
        """Restore the state after an error in the middle of a replay."""
        self.error = error
        self.rollback.put_back(error, self.first_line, self.starts)

    def again(self, node: Any, grads: Any, graph: bool) -> list[Any]:
        """The gradients of a call, from another run of the step itself."""
        assert self.joint is not None
        made = self.joint.again(node, grads, graph, self.state(*node._saved[:2]))
        layouts = None if graph else layouts_of(grads)
        if mode.enabled if graph else layouts != self.joint.layouts:
            self.replan(self, layouts)
        return made

    def state(self, args: Any, kwargs: Any) -> State:
        """The present state of everything that a call can change."""
        tensors = [*self.capture.guards.tensors.values(), *parts(Tensor, args, kwargs)]
        draws: Any = [entry.fn for entry in self.tape.entries if entry.kind == "draw"]
        drawn = {id(draw.__self__): draw.__self__ for draw in draws}
        unique = list({id(t): t for t in tensors}.values())
        state = State(unique, [*drawn.values()], self.capture.guards.modules)
        if not self.capture.uses_gradients:
            state.leave_gradients()
        return state

    def outcome(self, result: Any, args: Any, kwargs: Any) -> list[tuple[str, Any]]:
        """The bits of the result of the step or of a replay, and of its gradients."""
        seen = [("the result", bits_of(result))]
        if self.joint is not None:
            grads = self.joint.samples()
            found = self.joint.gradients(result, grads, args, kwargs, retain_graph=True)
            seen.append(("a gradient", bits_of(found)))
        return seen

    def same_groups(self) -> bool:
        """Whether only numbers in the optimizers' groups differ from those of the trace."""
        groups = [check for check in self.checks if check.kind == "group"]
        known = {id(check.container) for check in groups}
        if not all(check_holds(check) for check in self.checks if id(check.container) in known):
            return False
        for check in groups:
            check.value[:] = check.container.values()
        return True

    def unchanged(self) -> bool:
        """Whether the modules in reach are unchanged, though `changes` counted a change."""
        now = changes[0]
        same = self.used.unchanged() and all(
            check_holds(check) for check in self.checks if check.counted
        )
        self.seen[0] = now if same else -1
        return same

    def figures(self) -> Figures:
        """The plan in numbers."""
        refs = [out for e in self.layout.entries for out in e.outs]
        fresh = sum(r.array.nbytes for r in refs if r.storage.number in self.layout.rebound)
        fresh += sum(result.ref.array.nbytes for result in self.capture.returned.values())
        fresh += 0 if self.owned else self.lasting_block.nbytes
        held = self.block.nbytes + self.lasting_block.nbytes
        guards = self.source.partition("except absent")[0].count("return MISS")
        return Figures(self.kernels, self.traced, held, fresh, self.eager_bytes, guards)


def indent(lines: list[str], by: int) -> str:
    """Lines as a block of source, indented by ``by`` spaces."""
    return "\n".join(" " * by + line for line in lines)


def has_counter(expression: Any) -> bool:
    """Whether an expression depends on the value of an array."""
    return any(leaf.key is None for leaf in leaves(expression))


def free_temporaries(entries: list[Entry], escaping: list[Ref]) -> None:
    """Free the trace's temporaries: replays need only their layout."""
    inner = [e for entry in entries for e in getattr(entry.fn, "entries", ())]  # in `Pieces`
    refs = [*escaping, *[r for e in (*entries, *inner) for r in (*e.outs, *e.inputs())]]
    found = {id(ref): ref for ref in refs if ref.storage.kind == TEMPORARY}
    for ref in found.values():
        ref.array = layout_only(ref.array)
    for storage in {ref.storage for ref in found.values()}:
        storage.base = layout_only(storage.base)


LIMIT = 8  # plans of one function
OVERLAPS = 2  # calls whose arguments overlap tensors in reach, before overlaps are checked first
FALLBACK = "nanotorch.compile runs `{name}` as it is, uncompiled. {problem}"
REFUSED = "`{name}` cannot be compiled, and fullgraph=True allows nothing else. {problem}"
DOUBLE = "gradients of its gradients are asked for"
GRADIENTS = "the gradients of its results come in other layouts each time"
NOT_AGAIN = "it would have to be compiled anew at almost every call: {what}"


def replay_nothing(args: Any, kwargs: Any) -> Any:
    """The replay of a function without a plan: always `MISS`."""
    return MISS


class Compiler:
    """The compiler of one function.

    Args:
        fullgraph: whether to raise an error if the function cannot be compiled.
        limit: the largest number of plans, for calls that differ.

    Attributes:
        plan: the plan of the last call.
        replay: the replay of this plan, in a list, for quick access.
        uncompiled: for each grad mode and default dtype in which the function runs uncompiled, the
            reason, and the function to call in place of a plan.
        watched: for each of these states in which the function was watched, whether its results
            have a graph.
        layouts: the layouts of the gradients that came, if they were not the expected ones.
        overlapping: the `holders` of memory in reach that arguments shared.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool, limit: int = LIMIT) -> None:
        watch_library()
        self.function, self.fullgraph, self.limit = function, fullgraph, limit
        self.name = getattr(function, "__name__", type(function).__name__)
        self.plans: list[Plan] = []
        self.plan: Plan | None = None
        self.replay: list[Callable[..., Any]] = [replay_nothing]
        self.codes: set[CodeType] = set()
        self.library: dict[CodeType, dict[str, Any]] = {}  # the library's code, with its globals
        self.uncompiled: dict[Any, tuple[str, Callable[..., Any]]] = {}
        self.watched: dict[Any, bool] = {}
        self.layouts: Layouts | None = None
        self.overlaps = 0
        self.overlapping: frozenset[int] = frozenset()
        self.attempts = 0
        self.missed = 0  # the number of plans that did not fit the next call

    def use(self, plan: Plan) -> None:
        """Try ``plan`` first at the next call."""
        self.plan, self.replay[0] = plan, plan.call

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call that the plan of the last call does not fit; returns the result.

        The function runs uncompiled while operations are observed, as in anomaly mode, or
        transformed, as under `vmap`.
        """
        if library_state() in self.uncompiled:
            _, uncompiled = self.uncompiled[library_state()]
            self.plan, self.replay[0] = None, uncompiled
            return uncompiled(args, kwargs)
        overlaps = self.overlapping and share_memory(parts(Tensor, args, kwargs), self.overlapping)
        if overlaps or doors.nodes or mode.transforms or profiler_in_the_way():
            return self.function(*args, **kwargs)
        for plan in self.plans if not tracing else ():
            if plan.verified and plan is not self.plan:
                result = plan.call(args, kwargs)
                if result is not MISS:
                    self.use(plan)
                    return result
        try:
            if tracing.setdefault(0, kwargs) is kwargs:
                # A replay cannot know which parameters were converted before it.
                with cache_of_its_own():
                    return self.step(args, kwargs)
        finally:  # no function call here: an interruption could come after it
            try:
                if tracing[0] is kwargs:
                    del tracing[0]
            except KeyError:
                pass
        return self.function(*args, **kwargs)

    def step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Watch the first call, trace the second, verify the third; returns the result."""
        if library_state() not in self.watched:
            return self.watch(args, kwargs)
        forward = self.watched[library_state()]
        try:
            arguments = Arguments(args, kwargs, forward)
            guards = Guards(self.function, arguments, self.codes, self.library, forward)
        except Refused as reason:
            return self.fall_back(str(reason), args, kwargs)
        in_reach = holders(tensor._array for tensor in guards.tensors.values())
        # The arguments of the next call may not share memory: do not capture this one.
        if share_memory([tensor for _, tensor in arguments.free], in_reach):
            self.overlaps += 1
            if self.overlaps >= OVERLAPS:
                self.overlapping |= in_reach
            return self.function(*args, **kwargs)
        key = (library_state(), arguments.key, guards.grads)
        for plan in self.plans:
            if plan.key != key or plan.turn or not plan.applies():
                continue
            if not plan.verified:
                return self.verify(plan, args, kwargs)
            self.use(plan)  # from the next call on
            return self.function(*args, **kwargs)
        if any(plan.turn for plan in self.plans):
            return self.function(*args, **kwargs)
        known = [o for o in guards.optimizers if type(o) in KNOWN_OPTIMIZERS]
        del guards, arguments, key  # these hold arrays that may move
        if not self.plans:
            move_together(known)
        return self.trace(args, kwargs)

    def watch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function uncompiled and note the code that it calls; returns the result."""
        watcher, where = Watcher(), library_state()
        with watcher.watching():
            result = self.function(*args, **kwargs)
        self.watched[where] = any(map(has_graph, parts(Tensor, result)))
        self.codes |= watcher.codes
        self.library |= watcher.library
        if in_float32.__code__ in watcher.library:  # not under trace, which could not undo the step
            watcher.problem = f"{site_of(self.function)}: {STEPWISE}"
        if watcher.problem is not None:
            self.give_up(watcher.problem)
        return result

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function under trace and make a plan; returns the result."""
        if len(self.plans) >= self.limit:
            what = "its arguments or variables differ each time"
            return self.fall_back(NOT_AGAIN.format(what=what), args, kwargs)
        try:
            capture = Capture(self, args, kwargs)
        except Refused as reason:
            return self.fall_back(str(reason), args, kwargs)
        result = capture.run(args, kwargs)
        if capture.has_graph:
            self.watched[capture.surroundings] = True
        if capture.problem is None:
            try:
                self.plans.append(Plan(capture, self.name, self.replan))
            except Refused as reason:
                self.give_up(f"{site_of(self.function)}: {reason}")
            except Exception as error:
                self.give_up(f"{site_of(self.function)}: making a replay failed: {error!r}")
            self.attempts = 0
        elif capture.grown or (capture.retry and self.attempts < 2):  # `grown` ends: code is finite
            self.attempts += not capture.grown
        else:
            self.give_up(capture.problem)
        return result

    def verify(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compare the first replay of a plan with the function itself; returns the result."""
        result, difference = verify_plan(plan, self.function, args, kwargs)
        if difference is None:
            plan.verified = True
            self.use(plan)
        elif difference == GUARD and self.missed < self.limit:
            self.missed += 1
            self.plans.remove(plan)
        else:
            self.give_up(f"{site_of(self.function)}: {difference} differs in a replay")
        return result

    def replan(self, plan: Plan, layouts: Layouts | None) -> None:
        """Drop a plan: its gradients came in other layouts, or are differentiated themselves.

        Args:
            layouts: the layouts that came; None for second derivatives, which end compilation.
        """
        self.layouts, where = layouts, plan.key[0]
        self.missed += 1
        if layouts is None:
            self.give_up(f"{site_of(self.function)}: {DOUBLE}", where)
        elif self.missed > self.limit:
            self.give_up(f"{site_of(self.function)}: {NOT_AGAIN.format(what=GRADIENTS)}", where)
        elif plan in self.plans:
            self.plans.remove(plan)
            if self.plan is plan:
                self.plan, self.replay[0] = None, replay_nothing

    def fall_back(self, problem: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Give up and call the function; returns its result."""
        self.give_up(f"{site_of(self.function)}: {problem}")
        return self.function(*args, **kwargs)

    def give_up(self, problem: str, where: Any = None) -> None:
        """Run the function uncompiled in this grad mode from now on; warns once.

        Args:
            problem: the reason, with file and line.
            where: the `library_state`; default: the present one.

        Raises:
            RuntimeError: with ``fullgraph``, now and at later calls.
        """
        where = where or library_state()
        function, fullgraph = self.function, self.fullgraph
        text = (REFUSED if fullgraph else FALLBACK).format(name=self.name, problem=problem)

        def uncompiled(args: Any, kwargs: Any) -> Any:
            if library_state() != where:
                return MISS
            if fullgraph:
                raise RuntimeError(text)
            return function(*args, **kwargs)

        self.uncompiled[where] = problem, uncompiled
        self.plans = [plan for plan in self.plans if plan.key[0] != where]
        self.plan, self.replay[0] = None, uncompiled
        if fullgraph:
            raise RuntimeError(text)
        warn(text)

    def report(self) -> Report:
        """The figures of each plan, and the reason if the function runs uncompiled."""
        problem = next((problem for problem, _ in self.uncompiled.values()), None)
        return Report(self.name, problem, [plan.figures() for plan in self.plans])

    def source(self) -> str:
        """The source of the replay of the last call; "" if there is none."""
        return "" if self.plan is None else self.plan.source


def compiled_function(compiler: Compiler) -> Callable[..., Any]:
    """The compiled function that users call instead of their own."""
    slow, replay = compiler.call, compiler.replay

    def compiled(*args: Any, **kwargs: Any) -> Any:
        result = replay[0](args, kwargs)
        return slow(args, kwargs) if result is MISS else result

    functools.update_wrapper(compiled, compiler.function)
    compiled.__wrapped__ = compiler.function  # type: ignore[attr-defined]
    compiled.report = compiler.report  # type: ignore[attr-defined]
    compiled.source = compiler.source  # type: ignore[attr-defined]
    return compiled


# Modules whose forward is compiled.


class OptimizedModule(Module):
    """A module whose forward is compiled; everything else is the original module's.

    Attributes:
        _orig_mod: the original module.
        report, source: the functions of a compiled function.
    """

    _orig_mod: Module

    def __init__(self, module: Module, compiler: Compiler) -> None:
        super().__init__()
        own = self.__dict__
        own["_compiler"], own["forward"] = compiler, compiled_function(compiler)
        own["report"], own["source"] = compiler.report, compiler.source
        own["_orig_mod"] = self._modules["_orig_mod"] = module
        del own["training"]

    def __reduce_ex__(self, protocol: Any) -> Any:
        compiler = self.__dict__["_compiler"]
        return compiled_module, (self._orig_mod, compiler.fullgraph, compiler.limit)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name == "_orig_mod" or "_orig_mod" not in own:
            return super().__getattr__(name)
        return getattr(own["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_orig_mod" in self.__dict__:
            setattr(self._orig_mod, name, value)
        else:
            super().__setattr__(name, value)


def compiled_module(module: Module, fullgraph: bool, limit: int) -> OptimizedModule:
    """The `OptimizedModule` of a module."""
    return OptimizedModule(module, Compiler(module, fullgraph, limit))
