"""A captured step as a function to be called in its place."""

import linecache
from typing import Any

import numpy as np

from nanotorch._core.hooks import changes
from nanotorch.compile.arguments import Arguments
from nanotorch.compile.bundle import Pieces, bundle
from nanotorch.compile.capture import Capture
from nanotorch.compile.checks import holds
from nanotorch.compile.emit import Calls, Names
from nanotorch.compile.lower import lower
from nanotorch.compile.memory import Layout
from nanotorch.compile.passes import simplify
from nanotorch.compile.patching import Used
from nanotorch.compile.report import Figures
from nanotorch.compile.source import MISS, Source
from nanotorch.compile.survey import Survey
from nanotorch.compile.tape import TEMPORARY, Entry, Ref, holders, hollow
from nanotorch.compile.undo import Undo
from nanotorch.optim.home import aligned, block_of, piece


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
        survey, arguments = capture.survey, capture.arguments
        self.key = (capture.surroundings, arguments.key, survey.grads, survey.signature)
        self.checks, self.arguments = survey.checks, arguments
        self.known = memory_in_reach(survey)
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

    def renew(self, survey: Survey, arguments: Arguments) -> bool:
        """Look for equal things where they are now; whether the plan still applies."""
        if not self.used.unchanged():
            return False
        if all(holds(check) for check in self.checks):
            return bool(self.refresh())
        self.checks, self.arguments = survey.checks, arguments
        self.known = memory_in_reach(survey)
        return self.bind()

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


def memory_in_reach(survey: Survey) -> frozenset[int]:
    """What holds the tensors in reach, without gradients: when one has gone, its `id` returns."""
    survey.let_go()
    return holders(tensor._array for tensor in survey.tensors.values())


def let_go(entries: list[Entry], escaping: list[Ref]) -> None:
    """Free the trace's temporaries: replays need their layout only."""
    inner = [e for entry in entries if isinstance(entry.fn, Pieces) for e in entry.fn.entries]
    refs = [*escaping, *[r for e in (*entries, *inner) for r in (*e.outs, *e.inputs())]]
    found = {id(ref): ref for ref in refs if ref.storage.kind == TEMPORARY}
    for ref in found.values():
        ref.let_go()
    for storage in {id(ref.storage): ref.storage for ref in found.values()}.values():
        storage.base = hollow(storage.base)
