"""The source of a plan's replay: its guards, its calls, its effects."""

from sys import getrefcount
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.copying import address
from nanotorch._core.grad_mode import mode
from nanotorch._core.hooks import changes
from nanotorch._core.saving import observers
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.compile.arguments import Arguments
from nanotorch.compile.capture import Capture, Same, Slot
from nanotorch.compile.checks import Check
from nanotorch.compile.effects import Count, Gradient, Result
from nanotorch.compile.emit import Calls, Names
from nanotorch.compile.guards import argument_guards, check_guards
from nanotorch.compile.hyper import Leaf, leaves, text
from nanotorch.compile.memory import Layout
from nanotorch.compile.tape import SLOT, TEMPORARY, Storage
from nanotorch.compile.undo import Undo

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
        for expression, answer in self.capture.conditions.asked:
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
        for expression, answer in self.capture.conditions.asked:
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
        asked = [expression for expression, _ in self.capture.conditions.asked]
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
