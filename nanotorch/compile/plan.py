"""A captured step as a function to be called in its place."""

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from sys import getrefcount
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import changes
from nanotorch._core.layout import address
from nanotorch._core.op import observers
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.compile.codegen import Calls, Names, Pieces, Undo, bundle, lower
from nanotorch.compile.guards import (
    BY_VALUE,
    PLACES,
    TESTS,
    Arguments,
    Check,
    Guards,
    Used,
    holds,
    same_value,
)
from nanotorch.compile.tape import (
    SLOT,
    TEMPORARY,
    Count,
    Entry,
    Gradient,
    Layout,
    Leaf,
    Ref,
    Result,
    Storage,
    holders,
    hollow,
    leaves,
    simplify,
    text,
)
from nanotorch.compile.tracing import Capture, Look, Same, Slot, State, fingerprint
from nanotorch.optim.flat_buffer import aligned, block_of, piece

# What a compiled function tells about itself.


@dataclass(frozen=True)
class Figures:
    """One plan in numbers.

    Attributes:
        kernels: calls of NumPy in a replay.
        traced: calls of NumPy in the step itself.
        bytes: of the memory that replays work in, for as long as the plan lives.
        fresh: bytes that every replay allocates.
        eager_bytes: of all arrays that the step itself allocates.
        guards: comparisons before a replay.
    """

    kernels: int
    traced: int
    bytes: int
    fresh: int
    eager_bytes: int
    guards: int


@dataclass(frozen=True)
class Report:
    """What became of a function.

    Attributes:
        name: of the function.
        problem: why it runs uncompiled, with file and line, if only in one grad mode; else None.
        plans: one for each variant of the step that was captured.
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


def argument_guards(arguments: Arguments, known: frozenset[int], names: Names) -> list[str]:
    """Tests that are true where the arguments are not those of the trace."""
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
    tests += [differs(path, value, names) for path, value in arguments.fixed]
    for path, tensor in arguments.free:
        tests.append(f"type({path}) is not {names.of(type(tensor))}")
        tests.append(f"{path}.requires_grad or {path}._grad is not None")
    return tests + memory_guards(arguments, known, names)


def memory_guards(arguments: Arguments, known: frozenset[int], names: Names) -> list[str]:
    """Tests that are true where arguments share memory otherwise than in the trace."""
    tests = [f"{path} is not {former}" for path, former in arguments.same]
    shifts = {(i, j): shift for i, j, shift in arguments.shifts}
    inside = names.of(known, "m")
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


def check_guards(checks: list[Check], names: Names) -> list[str]:
    """Tests that are true where something in reach has changed."""
    tests: dict[str, None] = {}
    for check in checks:
        if check.kind == "group":  # see `option_guards`
            continue
        key = check.key
        plain = key is None or isinstance(key, (str, int))
        parts = {
            "c": names.of(check.container, "d"),
            "k": key if check.kind == "attr" else repr(key) if plain else names.of(key),
        }
        if check.kind in PLACES:
            test = differs(PLACES[check.kind].format(**parts), check.value, names)
        else:
            test = TESTS[check.kind].format(**parts, v=names.of(check.value))
        tests[test] = None
    return list(tests)


def differs(found: str, value: Any, names: Names) -> str:
    """A test whether something is another than before; numbers and texts may be equal ones."""
    name = names.of(value)
    if type(value) not in BY_VALUE:
        return f"{found} is not {name}"
    same = names.of(same_value, "f")
    return f"{found} is not {name} and not {same}({found}, {name})"


# The source of a plan's replay: its guards, its calls, its effects.


MISS: Any = object()  # what a replay returns when a guard does not hold
END = [
    "        finally:",
    "            try:",
    "                if turn[0] is kwargs: del turn[0]",
    "            except KeyError: pass",
    "",
]
# What reading something that is no more there raises.
ABSENT = (KeyError, IndexError, AttributeError, ValueError, TypeError)


class Source:
    """Writes the source; the base of `Plan`, which says what the attributes are."""

    capture: Capture
    arguments: Arguments
    checks: list[Check]
    known: frozenset[int]  # what holds the memory of tensors that are no arguments
    gradients: list[Gradient]
    layout: Layout
    names: Names
    calls: Calls
    turn: dict[int, Any]  # whose turn it is: the `kwargs` of that call, which no other has
    owned: bool
    last: list[Any]  # the options of optimizers at the last call
    seen: list[int]  # of `changes`, at the last look at the modules
    counted: list[list[int]]  # how many hold the gradients
    undo: Undo
    first_line: int  # of the source's calls
    starts: list[int]  # how many lines there are before those of each entry
    grad_names: list[tuple[str, str, str]]  # of each leaf, its gradient, and that one's array

    def assemble(self, body: list[str]) -> str:
        """The whole source."""
        guards = self.guards()
        # Nothing that an interruption could come between takes or ends a turn: no call does.
        parts = ["    def replay(args, kwargs):", "        try:",
                 "            if turn.setdefault(0, kwargs) is not kwargs: return MISS",
                 "            try:", *[f"                {line}" for line in guards],
                 "            except absent: return MISS",
                 *[f"            {line}" for line in self.copies()],
                 "            try:"]  # fmt: skip
        self.first_line = sum(part.count("\n") + 1 for part in parts) + 2
        parts += [f"                {line}" for line in body]
        parts += ["            except Exception as error: plan.put_back(error)",
                  "            return function(*args, **kwargs)",
                  *END]  # fmt: skip
        parts += [*self.refresh_source(), *self.count_source()]
        parts.append("    return replay, refresh, counts")
        names = ", ".join(self.names.objects)
        return f"def make({names}):\n" + "\n".join(parts) + "\n"

    def fixed(self, name: str, value: Any) -> str:
        """A name of its own for something."""
        self.names.objects[name] = value
        return name

    def guards(self) -> list[str]:
        """Return `MISS` unless everything is as in the trace."""
        capture, names = self.capture, self.names
        for name, value in (
            ("MISS", MISS), ("mode", mode), ("default", dtypes.default),
            ("observers", observers), ("turn", self.turn), ("last", self.last),
            ("plan", self), ("function", capture.function), ("changes", changes),
            ("seen", self.seen), ("absent", ABSENT), ("rounded", rounded),
        ):  # fmt: skip
            self.fixed(name, value)
        enabled, kind = capture.surroundings
        tests = [f"mode.enabled is not {enabled}", f"default.numpy is not {names.of(kind)}"]
        tests.append("observers")  # anomaly mode is one too
        tests += argument_guards(self.arguments, self.known, names)
        later = {id(check) for check in self.of_leaves()}
        seen = [c for c in self.checks if not (c.counted or id(c) in later)]
        tests += check_guards(seen, names)
        tests.append("changes[0] != seen[0] and not plan.unchanged()")
        lines = [f"if {test}: return MISS" for test in tests]
        return lines + self.option_guards() + self.slot_guards() + self.hold_guards()

    def option_guards(self) -> list[str]:
        """Compute the optimizers' numbers anew where options have changed."""
        groups = [check for check in self.checks if check.kind == "group"]
        known = {id(check.container) for check in groups}
        tests = [
            f"[*{self.names.of(check.container, 'd')}.values()] != {self.names.of(check.value)}"
            for check in groups
        ]
        tests += [
            f"{self.leaf(leaf)} is not last[{position}]"
            for position, leaf in enumerate(self.options())
            if id(leaf.container) not in known
        ]
        lines = [f"if ({' or '.join(tests)}) and not plan.refresh(): return MISS"] if tests else []
        for name, leaf in self.counters().items():
            lines.append(f"{name} = {self.names.of(leaf.container, 'a')}.item()")
        for expression, answer in self.capture.recorder.asked:
            if has_counter(expression):
                lines.append(f"if ({self.text(expression)}) is not {answer}: return MISS")
        return lines

    def slot_guards(self) -> list[str]:
        """Find the arrays of this call's arguments and gradients."""
        lines = []
        for slot in self.used_slots():
            array = f"x{slot.storage.number}"
            lines.append(f"{array} = {self.path(slot)}._array")
            a = slot.array
            kind = self.names.of(a.dtype, "t")
            lines.append(
                f"if {array}.shape != {a.shape} or {array}.dtype is not {kind} or "
                f"{array}.strides != {a.strides}: return MISS"
            )
        return lines + self.calls.slot_lines

    def hold_guards(self) -> list[str]:
        """See that nobody else holds the gradients of the last step, which are overwritten."""
        if not (self.owned and self.gradients):
            return []
        objects = self.names.objects
        held = [objects[name] for _, *names in self.grad_names for name in names]
        self.fixed("held", tuple(held))
        self.fixed("counted", self.counted)
        self.fixed("count", getrefcount)
        self.fixed("map", map)
        if len(self.grad_names) == 1:
            _, grad, array = self.grad_names[0]
            found = f"[count({grad}), count({array})]"
        else:
            found = "[*map(count, held)]"
        # A leaf that let go of its gradient and somebody who holds it count alike.
        theirs = " and ".join(f"{leaf}._grad is {grad}" for leaf, grad, _ in self.grad_names)
        return [
            f"if (found := {found}) != counted[0] or not ({theirs}):",
            *[f"    if {test}: return MISS" for test in check_guards(self.of_leaves(), self.names)],
            "    if found != counted[1] and not plan.alone(): return plan.share()",
        ]

    def of_leaves(self) -> list[Check]:
        """Checks that leaves have a gradient: known of those that have that of the last step."""
        if not self.owned:
            return []
        leaves = {id(vars(self.names.objects[leaf])) for leaf, *_ in self.grad_names}
        found = [c for c in self.checks if c.kind == "grad" and id(c.container) in leaves]
        return found if not any(check.value for check in found) else []

    def count_source(self) -> list[str]:
        """The function that counts who holds the gradients."""
        if not (self.owned and self.gradients):
            return ["    def counts(): return []"]
        return ["    def counts(): return [*map(count, held)]"]

    def refresh_source(self) -> list[str]:
        """The function that reads the options and computes the numbers that depend on them."""
        lines = ["    def refresh():"]
        options = self.options()
        for position, leaf in enumerate(options):
            name = f"h{position}"
            lines.append(f"        {name} = {self.leaf(leaf)}")
            kinds = "(tuple,)" if type(leaf.container[leaf.key]) is tuple else "(int, float)"
            lines.append(f"        if type({name}) not in {kinds}: return False")
        for expression, answer in self.capture.recorder.asked:
            if not has_counter(expression):
                lines.append(f"        if ({self.text(expression)}) is not {answer}: return False")
        for entry in self.capture.tape.entries:
            if entry.kind == "number" and not has_counter(entry.args[0]):
                lines.append(
                    f"        {self.calls.operand(entry.outs[0])}[()] = {self.text(entry.args[0])}"
                )
        lines.append("        if not plan.same_groups(): return False")
        lines.append(f"        last[:] = [{', '.join(f'h{i}' for i in range(len(options)))}]")
        return [*lines, "        return True"]

    def copies(self) -> list[str]:
        """Copy what an error in the middle would spoil."""

        def operand(storage: Storage) -> str:
            if storage.kind == SLOT:
                return self.calls.slot_names[storage.number]
            return self.names.of(storage.base, "a")

        return self.undo.lines(self.names.of, operand)

    def body(self) -> list[str]:
        """The calls and the effects."""
        tape = self.capture.tape
        for slot in self.used_slots():
            self.calls.slot_names[slot.storage.number] = f"x{slot.storage.number}"
        self.fixed("ndarray", np.ndarray)
        self.fixed("wrap", wrap)
        self.fixed("Tensor", Tensor)
        self.fixed("new", object.__new__)
        self.fixed("asarray", np.asarray)
        for entry in tape.entries:
            if entry.kind == "number" and has_counter(entry.args[0]):
                number = entry.outs[0].storage.number
                self.calls.numbers[number] = self.text(entry.args[0])
        lines: list[str] = []
        self.starts = []
        for entry in self.layout.entries:
            self.starts.append(len(lines))
            lines += self.calls.all_lines(entry)
        self.kernels = len(lines)
        for count in self.capture.counts:
            lines += self.count_lines(count)
        for gradient in self.capture.gradients:
            lines += self.gradient_lines(gradient)
        for own, training in self.capture.switched:
            lines.append(f"{self.names.of(own, 'd')}['training'] = {training!r}")
        if self.capture.switched:  # others look at modules only when something has been changed
            lines.append("changes[0] += 1")
        self.made: dict[int, str] = {}
        value = self.returned(self.capture.result, lines)
        return [*lines, f"return {value}"]

    def count_lines(self, count: Count) -> list[str]:
        """A version cell moves on."""
        if count.slot is None:
            cell = self.names.of(count.cell, "c")
        else:
            cell = f"{self.path(count.slot)}._cell"
        lines = [f"{cell}[0] += {count.times}"]
        return lines + [
            f"{cell}[{position}] = {self.names.of(value)}"
            for position, value in enumerate(count.rest, 1)
        ]

    def gradient_lines(self, gradient: Gradient) -> list[str]:
        """A leaf gets its gradient."""
        leaf = self.names.of(gradient.leaf)
        if gradient.ref is None:
            return [f"{leaf}._grad = None"]
        array = self.calls.array(gradient.ref)
        name = self.names.of(array, "a")
        if not self.owned or gradient.ref.storage.kind != TEMPORARY:
            return [f"{leaf}._grad = wrap({name}.copy('K'))"]
        grad = self.names.of(wrap(array), "g")
        self.grad_names.append((leaf, grad, name))
        return [f"{leaf}._grad = {grad}"]

    def returned(self, result: Any, lines: list[str]) -> str:
        """The source of what the step returns."""
        if isinstance(result, Slot):
            return self.path(result)
        if isinstance(result, Gradient):
            return f"{self.names.of(result.leaf)}._grad"
        if isinstance(result, Same):
            return self.names.of(result.tensor)
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
        """A new tensor of what was computed."""
        name = self.made.get(id(result))
        if name is not None:
            return name
        name = self.made[id(result)] = f"r{len(self.made)}"
        value = self.calls.operand(result.ref)
        local = self.calls.is_local(result.ref)
        made = f"asarray({value})" if local else f"{value}.copy('K')"
        cell = list(wrap(result.ref.array)._cell)
        kind = f"{self.names.of(result.cell)}()" if result.cell is not list else repr(cell)
        lines += [f"{name} = new(Tensor)", f"{name}._array = {made}", f"{name}._cell = {kind}"]
        if result.edge is not None:
            lines.append(f"{name}._requires_grad = True")
            lines.append(f"{name}._edge = {self.names.of(result.edge)}")
        return name

    # Names of things

    def path(self, slot: Slot) -> str:
        """How to find the tensor of a slot."""
        if slot.leaf is not None:
            return f"{self.names.of(slot.leaf)}._grad"
        return str(slot.path)

    def used_slots(self) -> list[Slot]:
        """Those whose memory the replay reads or writes."""
        used = {
            ref.storage.number
            for entry in self.capture.tape.entries
            for ref in (*entry.inputs(), *entry.outs)
            if ref.storage.kind == SLOT
        }
        return [slot for slot in self.capture.slots if slot.storage.number in used]

    def numbers(self) -> list[Any]:
        """All expressions that a replay computes or asks."""
        asked = [expression for expression, _ in self.capture.recorder.asked]
        made = [e.args[0] for e in self.capture.tape.entries if e.kind == "number"]
        return asked + made

    def options(self) -> list[Leaf]:
        """The options of optimizers that matter, each once."""
        found = {
            (id(leaf.container), leaf.key): leaf
            for expression in self.numbers()
            for leaf in leaves(expression)
            if leaf.key is not None
        }
        return list(found.values())

    def counters(self) -> dict[str, Leaf]:
        """The 0-d arrays whose values matter, by the local variable that has them."""
        found: dict[str, Leaf] = {}
        for expression in self.numbers():
            for leaf in leaves(expression):
                if leaf.key is None and not leaf.late:
                    found.setdefault(f"k{address(leaf.container)}", leaf)
        return found

    def leaf(self, leaf: Leaf) -> str:
        """An option as the source reads it."""
        return f"{self.names.of(leaf.container, 'd')}[{leaf.key!r}]"

    def text(self, expression: Any) -> str:
        """An expression in terms of local variables."""
        options = {(id(leaf.container), leaf.key): f"h{n}" for n, leaf in enumerate(self.options())}

        def name_of(part: Any) -> str:
            if not isinstance(part, Leaf):
                return repr(part)
            if part.late:
                return f"{self.names.of(part.container, 'a')}.item()"
            if part.key is None:
                return f"k{address(part.container)}"
            name = options[(id(part.container), part.key)]
            return name if not has_counter(expression) else f"last[{name[1:]}]"

        return text(expression, name_of)


def rounded(value: float) -> float:
    """A number as one of float32."""
    return float(np.float32(value))


def has_counter(expression: Any) -> bool:
    """Whether an expression depends on the value of an array."""
    return any(leaf.key is None for leaf in leaves(expression))


class Plan(Source):
    """The replay of one capture.

    Attributes:
        call: ``call(args, kwargs)`` makes the step and returns its result, or `MISS`.
        source: of that function.
        error: the last one in a replay.
        owned: whether gradients are computed in memory that is used again at the next step, which
            nobody else may hold by then; otherwise they are copied.
    """

    def __init__(self, capture: Capture, name: str) -> None:
        self.capture, self.name = capture, name
        tape = capture.tape
        self.eager_bytes = sum(s.base.nbytes for s in tape.storages if s.kind == TEMPORARY)
        self.traced = len(tape.entries)
        guards, arguments = capture.guards, capture.arguments
        self.key = (capture.surroundings, arguments.key, guards.grads, guards.signature)
        self.checks, self.arguments = guards.checks, arguments
        self.known = memory_in_reach(guards)
        self.gradients = [g for g in capture.gradients if g.ref is not None]
        escaping = [g.ref for g in self.gradients if g.ref is not None]
        escaping += [result.ref for result in capture.returned.values()]
        simplify(tape, escaping)
        bundle(tape, self.gradients)
        lower(tape)
        escaping = [g.ref for g in self.gradients if g.ref is not None]
        escaping += [result.ref for result in capture.returned.values()]
        numbers = {e.outs[0].storage.number for e in tape.entries if e.kind == "number"}
        self.grad_storages = {ref.storage.number for ref in escaping[: len(self.gradients)]}
        self.layout = Layout(tape.entries, self.grad_storages | numbers, escaping)
        let_go(self.layout.entries, escaping)
        tape.by_owner.clear()
        tape.storages.clear()
        needed = [*self.used_slots(), *[count.slot for count in capture.counts]]
        for slot in capture.slots:
            if slot not in needed:  # the gradient of another step
                slot.forget()
        capture.known.clear()
        self.error: Exception | None = None
        self.undo = Undo(self.layout.entries)
        self.turn: dict[int, Any] = {}
        self.used = Used(capture.library)
        self.owned, self.verified = True, False
        self.bind()

    def applies(self) -> bool:
        """Whether the plan is still one for the state that it was made in."""
        return self.used.unchanged() and all(map(holds, self.checks)) and bool(self.refresh())

    def bind(self) -> bool:
        """Allocate memory and write the source anew."""
        self.names = Names()
        self.last = []
        self.seen = [changes[0]]
        self.counted = []
        self.own = self.own_memory()
        block, array_of = self.layout.memory()
        self.block = block

        def place(ref: Ref) -> np.ndarray:
            own = self.own.get(ref.storage.number)
            if own is None:
                return array_of(ref)
            if isinstance(own, np.ndarray):
                return own
            return piece(own[0], own[1] + ref.offset, ref.array)

        self.calls = Calls(self.layout, self.names, place, {})
        for number, value in self.layout.preset.items():
            ref = Ref(self.layout.storages[number], self.layout.storages[number].base)
            place(ref)[...] = value.array if isinstance(value, Ref) else value
        self.grad_names = []
        lines = self.body()
        self.source = self.assemble(lines)
        filename = f"<nanotorch compiled {self.name} {id(self):#x}>"
        space: dict[str, Any] = {}
        exec(compile(self.source, filename, "exec"), space)
        linecache.cache[filename] = (
            len(self.source), None, self.source.splitlines(keepends=True), filename
        )  # fmt: skip
        self.call, self.refresh, self.counts = space["make"](*self.names.objects.values())
        self.expect()
        return bool(self.refresh())

    def figures(self) -> Figures:
        """The plan in numbers."""
        entries = self.layout.entries
        fresh = sum(
            out.array.nbytes for e in entries for out in e.outs
            if out.storage.number in self.layout.rebound
        )  # fmt: skip
        fresh += sum(result.ref.array.nbytes for result in self.capture.returned.values())
        if not self.owned:
            fresh += self.grad_block.nbytes
        held = self.block.nbytes + self.grad_block.nbytes
        guards = self.source.partition("except absent")[0].count("return MISS")
        return Figures(self.kernels, self.traced, held, fresh, self.eager_bytes, guards)

    def own_memory(self) -> dict[int, Any]:
        """Memory that is not shared: arrays of numbers, places of gradients in one block."""
        tape = self.capture.tape
        own: dict[int, Any] = {}
        sizes = {}
        for entry in tape.entries:
            for out in entry.outs:
                number, base = out.storage.number, out.storage.base
                if entry.kind == "number":
                    own[number] = np.array(base)
                elif number in self.grad_storages and out.storage.kind == TEMPORARY:
                    sizes[number] = out.storage
        self.grad_block = block_of(sum(aligned(s.base.nbytes) for s in sizes.values()))
        at = 0
        for number, storage in sizes.items():
            own[number] = (self.grad_block, at)
            at += aligned(storage.base.nbytes)
        return own

    def expect(self) -> None:
        """Count who holds the gradients, before and after their leaves do."""
        self.counted.clear()
        if not (self.owned and self.gradients):
            return
        alone = self.counts()
        taken = [n + (position % 2 == 0) for position, n in enumerate(alone)]
        self.counted += [taken, alone]

    def alone(self) -> bool:
        """Whether nobody but their leaves holds the gradients, some of which may hold them."""
        objects = self.names.objects
        expected = list(self.counted[1])
        for position, (leaf, grad, _) in enumerate(self.grad_names):
            expected[2 * position] += objects[leaf]._grad is objects[grad]
        return bool(self.counts() == expected)

    def share(self) -> Any:
        """Somebody holds a gradient of the last step: from now on they are copies."""
        self.owned = False
        self.bind()
        return MISS

    def put_back(self, error: Exception) -> None:
        """An error has come in the middle of a replay: as it was before."""
        self.error = error
        self.undo.put_back(error, self.first_line, self.starts)

    def same_groups(self) -> bool:
        """Whether groups of optimizers differ from those of the trace in numbers only."""
        groups = {id(c.container): c.value for c in self.checks if c.kind == "group"}
        for check in self.checks:
            if id(check.container) in groups and not holds(check):
                return False
        for check in self.checks:
            if check.kind == "group":
                check.value[:] = check.container.values()
        return True

    def unchanged(self) -> bool:
        """Whether modules are as they were, though a module, a hook or a function has changed."""
        now = changes[0]
        same = self.used.unchanged() and all(holds(check) for check in self.checks if check.counted)
        self.seen[0] = now if same else -1
        return same


def memory_in_reach(guards: Guards) -> frozenset[int]:
    """What holds the tensors in reach, without gradients: when one has gone, its `id` returns."""
    guards.let_go()
    return holders(tensor._array for tensor in guards.tensors.values())


def let_go(entries: list[Entry], escaping: list[Ref]) -> None:
    """Free the trace's temporaries: replays need their layout only."""
    inner = [e for entry in entries if isinstance(entry.fn, Pieces) for e in entry.fn.entries]
    refs = [*escaping, *[r for e in (*entries, *inner) for r in (*e.outs, *e.inputs())]]
    found = {id(ref): ref for ref in refs if ref.storage.kind == TEMPORARY}
    for ref in found.values():
        ref.let_go()
    for storage in {id(ref.storage): ref.storage for ref in found.values()}.values():
        storage.base = hollow(storage.base)


# The first replay of a plan beside the step itself: every effect must be the same, bit for bit.


GUARD = "a guard"


def generators(plan: Plan) -> list[Any]:
    """The generators that the step draws from."""
    found = {
        id(entry.fn.__self__): entry.fn.__self__  # type: ignore[attr-defined]
        for entry in plan.capture.tape.entries
        if entry.kind == "draw"
    }
    return list(found.values())


def verified(
    plan: Plan, function: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Any, str | None]:
    """Make the step, and its replay on the same state.

    Returns:
        What the step returned, and what differs: `GUARD` if the plan is one for another state.
        The state is the step's own.
    """
    tensors = list(plan.capture.guards.tensors.values())
    tensors += [tensor for _, tensor in plan.capture.arguments.free]
    tensors += arguments_of(args, kwargs)
    held, drawn = list({id(t): t for t in tensors}.values()), generators(plan)
    modules = plan.capture.guards.modules
    before = State(held, drawn, modules)
    result = function(*args, **kwargs)
    expected = Look(held, drawn, modules)
    before.put_back()
    try:
        replayed = plan.call(args, kwargs)
    except Exception as error:
        plan.error = error
    if plan.error is not None:
        difference: str | None = f"an error, {plan.error!r},"
    elif replayed is MISS:
        difference = GUARD
    else:
        difference = expected.difference(Look(held, drawn, modules))
        difference = difference or compare_results(result, replayed)
    if difference is not None:
        before.put_back()
        result = function(*args, **kwargs)
    return result, difference


def arguments_of(*values: Any) -> list[Tensor]:
    """The tensors among arguments, or in a result."""
    found: list[Tensor] = []
    queue = list(values)
    for value in queue:  # the list grows while the loop runs
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            queue.extend(value)
        elif isinstance(value, dict):
            queue.extend(value.values())
    return found


def compare_results(a: Any, b: Any) -> str | None:
    """What differs between two results."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if fingerprint(a._array) != fingerprint(b._array):
            return "the result"
        if a.requires_grad != b.requires_grad:
            return "whether the result requires grad"
        return None
    if type(a) is not type(b):
        return "the kind of the result"
    if isinstance(a, (tuple, list)):
        parts = [compare_results(p, q) for p, q in zip(a, b, strict=False)]
        if len(a) != len(b):
            return "the length of the result"
    elif isinstance(a, dict):
        parts = [compare_results(a[key], b.get(key)) for key in a]
    else:
        return None if a is b or repr(a) == repr(b) else "the result"
    return next((part for part in parts if part is not None), None)
