"""A step whose results are still to go backward: their gradients are captured with it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nanotorch._core.call_site import current_site
from nanotorch._core.engine import send_all
from nanotorch._core.grad_mode import enable_grad, mode
from nanotorch._core.graph import (
    LEAF,
    AccumulateGrad,
    FreedValues,
    Node,
    Recorded,
    Unusual,
    edge_of,
    next_sequence,
)
from nanotorch._core.op import unpack_input, unpack_out
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.autograd.backward import grad
from nanotorch.compile.codegen import MISS
from nanotorch.compile.guards import Arguments, Refused
from nanotorch.compile.tape import (
    OUTSIDE,
    SLOT,
    TEMPORARY,
    Entry,
    Ref,
    Tape,
    has_graph,
    map_parts,
    parts,
)

# Such a step is traced in two halves: the step itself, and the gradients of its results. A replay
# makes the first half; its results have one node in common, whose backward makes the second. What
# the second half needs of the first is made anew by every replay and kept by its node, so that
# there may be any number of graphs at a time.
#
# Every gradient that reaches a leaf is an edge of the node, in the order in which they come without
# the compiler: sums with what comes from elsewhere are then the same to the bit.
#
# Where the second half does not apply, as for gradients that are to be differentiated themselves,
# the step is made once more, as it was then, and goes backward.


HAS_GRAPH = "it returns a tensor whose graph can still be used"
GOES_BACKWARD = f"it goes backward, and {HAS_GRAPH[3:]}"
MAKES_LEAF = "its result depends on a leaf that it makes itself"
RETAINS = "it returns a tensor that retains its gradient"
WRITES = f"it writes to an argument or to much memory, and {HAS_GRAPH[3:]}"
BOTH_HALVES = "gradients of its results write to what is there before, or draw random numbers"
LARGEST = 1 << 20  # bytes that every replay copies, for the step to be made once more
MOVED = (
    "one of the variables needed for gradient computation has been given other memory since a "
    "compiled function has used it."
)


Layout = tuple[tuple[int, ...], tuple[int, ...]] | None  # shape and strides; None for no gradient
Layouts = tuple[Layout, ...]


def layouts_of(grads: Sequence[Any]) -> Layouts:
    """In which layouts gradients have come."""
    return tuple(None if g is None else (g.shape, tuple(map(abs, g.strides))) for g in grads)


def example_gradient(layout: Layout, dtype: np.dtype) -> np.ndarray | None:
    """Some numbers in a layout."""
    if layout is None or 0 in layout[0]:
        return layout and np.empty(layout[0], dtype)
    size = 1 + sum((n - 1) * stride for n, stride in zip(*layout, strict=True))
    numbers = np.random.default_rng(0).normal(size=size // dtype.itemsize + 1)
    return as_strided(numbers.astype(dtype), *layout)


def outputs_of(result: Any, arguments: Arguments) -> list[Tensor]:
    """The tensors with a graph of its own that a step returns."""
    given = {id(tensor) for _, tensor in arguments.free}
    found = {id(t): t for t in parts(Tensor, result) if id(t) not in given and has_graph(t)}
    return list(found.values())


@contextmanager
def without_hooks(ends: list[Tensor]) -> Iterator[None]:
    """Let gradients be asked for without the hooks of those that they are for."""
    nodes: list[Any] = list({edge_of(tensor)[0]: None for tensor in ends})
    hooks = [node._hooks for node in nodes]
    try:
        for node in nodes:
            node._hooks = None
        yield
    finally:
        for node, own in zip(nodes, hooks, strict=True):
            node._hooks = own


def joint_gradients(
    outputs: list[Tensor], grads: Sequence[Any], ends: list[Tensor], **modes: bool
) -> list[Any]:
    """The gradients for some leaves and arguments from those of outputs."""
    given = [g if g is None or isinstance(g, Tensor) else wrap(np.asarray(g)) for g in grads]
    pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if g is not None]
    if not pairs:
        return [None] * len(ends)
    roots, weights = zip(*pairs, strict=True)
    with without_hooks(ends):
        return list(grad(roots, ends, weights, allow_unused=True, **modes))


class CompiledFunctionBackward(Node):
    """The node of the results of a replay; each plan has a subclass."""

    plain = True
    plan: Any

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        if self._saved.__class__ is FreedValues:
            raise self._saved.error(self)
        made: Any = MISS if graph else self.plan.backward(self, grads)
        return self.plan.again(self, grads, graph) if made is MISS else made

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


def copy_containers(arguments: Any) -> Any:
    """The same tensors in lists and dicts of their own."""
    return map_parts(arguments, lambda part: part)


class Joint:
    """The gradients of the results of a step, on the tape behind the step itself.

    Args:
        tape: of the step.
        outputs: the results with a graph.
        known: the tensors in reach, by `id`.
        expected: in which layouts gradients come, if that is known.

    Attributes:
        tangents: for each output, the memory of its gradient, if one is expected.
        ends: the leaves and arguments that gradients are for.
        edges: for each edge of the node, the number of its end; those without a gradient come last.
        refs: the gradients for the edges.
        read: the tensors in reach whose values the second half reads.
        others: those that the first half alone reads, and does not write to.
        changing: whether there are lists or dicts among the arguments, which users may change.
        memory: of arguments, by their paths.
        read_outputs: the numbers of the outputs whose values the second half reads.

    In place of arguments, `ends`, `read` and `others` have their paths.
    """

    # The trace

    def __init__(
        self, tape: Tape, outputs: list[Tensor], arguments: Arguments, known: dict[int, Tensor],
        expected: Layouts | None,
    ) -> None:  # fmt: skip
        self.tape, self.mark, self.outputs = tape, len(tape.entries), outputs
        self.shapes = tuple((t._array.shape, t._array.dtype) for t in outputs)
        # Beside a loss, other results most often get no gradient.
        only = len(outputs) > 1 and any(not t.ndim for t in outputs)
        made = [np.empty(*shape) for shape in self.shapes]
        self.layouts = layouts_of([None if only and array.ndim else array for array in made])
        if expected is not None and len(expected) == len(outputs):
            pairs = zip(expected, self.shapes, strict=True)
            if all(layout is None or layout[0] == shape for layout, (shape, _) in pairs):
                self.layouts = expected
        if any(t.retains_grad for t in outputs):
            raise Refused(RETAINS)
        kinds = [kind for path, kind, _ in arguments.lengths if path not in ("args", "kwargs")]
        self.changing = list in kinds or dict in kinds
        self.memory: dict[str, Any] = {
            path: tape.find(vars(t)["_array"]) for path, t in arguments.free
        }
        paths = {id(tensor): path for path, tensor in arguments.free}
        ends = [tensor for _, tensor in arguments.free if tensor.requires_grad]
        self.edges: list[int] = []
        self.refs: list[Ref] = []
        self.differentiate(ends, known)
        self.edges += sorted(set(range(len(ends))) - set(self.edges))
        read, others = self.reads(known)
        places: list[list[Any]] = [
            [paths.get(id(t), t) for t in tensors] for tensors in (ends, read, others)
        ]
        self.ends, self.read, self.others = places

    def samples(self) -> list[np.ndarray | None]:
        """Some gradients of the outputs."""
        return [example_gradient(layout, dtype) for layout, (_, dtype) in
                zip(self.layouts, self.shapes, strict=True)]  # fmt: skip

    def differentiate(self, ends: list[Tensor], known: dict[int, Tensor]) -> None:
        """Trace the gradients of the outputs for arguments, and for leaves, which join ``ends``."""
        tangents = self.samples()
        self.tangents = [None if t is None else self.tape.add_slot(t) for t in tangents]
        handles = self.listen(ends, known)
        try:
            if not ends:
                raise Refused(MAKES_LEAF)
            joint_gradients(self.outputs, tangents, ends, retain_graph=True)
        finally:
            for handle in handles:
                handle.remove()

    def listen(self, ends: list[Tensor], known: dict[int, Tensor]) -> list[Any]:
        """Let the nodes that lead to an end hand over what they would send there."""
        numbers: dict[Any, int] = {edge_of(tensor): number for number, tensor in enumerate(ends)}
        found: list[Any] = list(dict.fromkeys(t.grad_fn for t in self.outputs))
        seen, handles = set(found), []
        for node in found:  # the list grows while the loop runs
            places = []
            for position, edge in enumerate(node.next_functions):
                target = edge[0]
                if isinstance(target, AccumulateGrad) and edge not in numbers:
                    if id(target.variable) not in known:
                        raise Refused(MAKES_LEAF)
                    numbers[edge] = len(ends)
                    ends.append(target.variable)
                if edge in numbers:
                    places.append((position, numbers[edge]))
                elif target is not None and target not in seen:
                    seen.add(target)
                    found.append(target)
            if places:
                handles.append(node.register_hook(partial(self.take, places)))
        return handles

    def take(self, places: list[tuple[int, int]], grads: Sequence[Any], _: Any) -> tuple[Any, ...]:
        """Note the gradients for some ends, and send none."""
        rest = list(grads)
        for position, end in places:
            if grads[position] is not None:
                self.edges.append(end)
                self.refs.append(self.tape.ref(vars(grads[position])["_array"]))
                rest[position] = None
        return tuple(rest)

    def reads(self, known: dict[int, Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The tensors that the second half reads, and those that the first alone reads."""
        halves = self.tape.entries[: self.mark], self.tape.entries[self.mark :]
        first, second = ({ref.storage for e in half for ref in e.reads()} for half in halves)
        first -= {out.storage for entry in halves[0] for out in entry.outs}
        tensors = {id(t._cell): t for t in known.values()}.values()
        memory = [(t, self.tape.find(vars(t)["_array"])) for t in tensors]
        made = [self.tape.find(vars(t)["_array"]) for t in self.outputs]
        self.read_outputs = [n for n, storage in enumerate(made) if storage in second]
        read = [t for t, storage in memory if storage in second]
        return read, [t for t, storage in memory if storage in first - second]

    # The halves of a plan

    def part(self) -> None:
        """Let the second half read nothing later than the trace does, for it may have changed."""
        outside = [Ref(s, s.base) for s in self.tape.storages if s.kind in (OUTSIDE, SLOT)]
        self.middle = Entry("effect", self.part, (), {}, outside, False, True)
        self.tape.entries.insert(self.mark, self.middle)
        self.outputs.clear()  # whose graph is not to be held

    def split(self, entries: list[Entry]) -> tuple[list[Entry], list[Entry]]:
        """The entries of each half."""
        middle = entries.index(self.middle)
        return entries[:middle], entries[middle + 1 :]

    def divide(self) -> list[Ref]:
        """What the second half needs of what the first makes."""
        first, second = self.split(self.tape.entries)
        made = dict.fromkeys(out.storage for entry in first for out in entry.outs)
        written = [out.storage for entry in second for out in entry.outs]
        if any(s.base.size and (s in made or s.kind != TEMPORARY) for s in written) or any(
            entry.kind == "draw" for entry in second
        ):
            raise Refused(BOTH_HALVES)
        refs = [*self.refs, *[ref for entry in second for ref in entry.inputs()]]
        used = dict.fromkeys(ref.storage for ref in refs)
        self.crossing = [s for s in used if s in made and s.kind == TEMPORARY]
        self.given = [s for s in used if s.kind == SLOT and s not in self.tangents]
        lasting = [s for s in made if s.kind != TEMPORARY]
        size = sum(s.base.nbytes for s in lasting)
        if size > LARGEST or any(s.kind == SLOT for s in lasting):
            raise Refused(WRITES)
        return [Ref(storage, storage.base) for storage in self.crossing]

    def begin(self, plan: Any) -> list[str]:
        """The source at the beginning of a replay: a node."""
        of, self.plan = plan.names.of, plan
        self.kind: Any = type(
            CompiledFunctionBackward.__name__, (CompiledFunctionBackward,),
            # Results of which each goes backward by itself share what is kept.
            {"plan": plan, "_outputs": self.shapes, "multi": len(self.shapes) > 1,
             "keeps_values": len(self.shapes) == 1},
        )  # fmt: skip
        ends = [end if type(end) is str else of(end) for end in self.ends]
        edges = [f"{of(edge_of, 'f')}({end})" for end in ends]
        if len(self.shapes) > 1:
            made = [f"node = new({of(self.kind, 't')})"]
        else:
            shape, dtype = self.shapes[0]
            edges = [
                f"{end} if {end}._history is {of(LEAF)} else {edge}"
                for end, edge in zip(ends, edges, strict=True)
            ]
            made = [
                f"node = new({of(Recorded, 't')})", f"node._back = {of(self.back(), 'f')}",
                f"node._shape, node._dtype = {shape}, {of(dtype, 't')}",
            ]  # fmt: skip
        edges = [f"{edges[n]}, " for n in self.edges]
        return [
            *made, f"node._sequence = {of(next_sequence, 'f')}()",
            f"node._site = {of(current_site, 'f')}()", f"node._edges = ({''.join(edges)})",
        ]  # fmt: skip

    def back(self) -> Any:
        """What an ordinary pass calls for the node of the only result."""
        plan = self.plan

        def run(node: Node, g: Any, *passing: Any) -> None:
            *where, freed = passing
            grads = MISS if node._saved.__class__ is FreedValues else plan.backward(node, (g,))
            if grads is MISS:
                raise Unusual
            if freed is not None:
                node._saved = freed
            send_all(grads, node, *where)

        run.kind = self.kind  # type: ignore[attr-defined]
        return run

    def versions(self, tensors: list[Any]) -> str:
        """How often tensors have been written to, as source."""
        cells = [
            f"({place}._writes or {place}._cell)"
            if type(place) is str
            else self.plan.names.of(place._cell, "c")
            for place in tensors
        ]
        return f"[{', '.join(f'{cell}[0]' for cell in cells)}]"

    def keep(self, results: dict[Any, str]) -> list[str]:
        """The source that lets the node keep what the second half needs.

        Args:
            results: the names of the outputs.
        """
        calls, lines, self.copies = self.plan.calls, list[str](), dict[int, str]()
        own = self.plan.names.of(copy_containers, "f") if self.changing else ""
        cells = "".join(f"{results[number]}._cell, " for number in self.read_outputs)
        kept = {
            **{name: f"{own}({name})" for name in ("args", "kwargs")},
            "before": "before",
            "read": self.versions(self.read),
            "others": self.versions(self.others),
            "cells": f"({cells})",
        }
        for storage in self.crossing:
            name, ref = f"v{storage.number}", Ref(storage, storage.base)
            if not calls.is_local(ref):
                name = self.copies[storage.number] = f"y{storage.number}"
                lines.append(f"{name} = {calls.operand(ref)}.copy('K')")
            kept[name] = name
        kept |= {name: name for name in [f"x{s.number}" for s in self.given]}
        self.kept = ", ".join(kept)
        return [*lines, f"node._saved = ({', '.join(kept.values())})"]

    def backward(self, entries: list[Entry]) -> list[str]:
        """The source of the second half."""
        of, calls = self.plan.names.of, self.plan.calls
        tests = [f"{self.versions(self.read)} != read"] if self.read else []
        tests += ["any([cell[0] for cell in cells])"] if self.read_outputs else []
        for place in self.read:
            if type(place) is not str:
                tests.append(f"{of(place)}._array is not {of(place._array, 'a')}")
            elif self.memory[place] in self.given:
                tests.append(f"{place}._array is not x{self.memory[place].number}")
        lines = [f"{self.kept} = saved"]
        lines += [f"if {' or '.join(tests)}: plan.joint.refuse(node)"] if tests else []
        names = dict(self.copies)
        for number, storage in enumerate(self.tangents):
            given = f"grads[{number}]"
            if storage is None:
                lines.append(f"if {given} is not None: return MISS")
                continue
            x, array = f"x{storage.number}", storage.base
            names[storage.number] = x
            lines.append(f"{x} = {given}" if array.ndim else f"{x} = asarray({given})")
            lines.append(
                f"if {x} is None or {x}.dtype != {of(array.dtype, 't')} or "
                f"{x}.strides != {array.strides}: return MISS"
            )
        calls.begin_second(names)
        for entry in entries:
            lines += calls.all_lines(entry)
        made = {out.storage for entry in entries for out in entry.outs}
        self.kind.fresh_gradients = True
        grads = [self.gradient(ref, ref.storage in made) for ref in self.refs]
        grads += ["None"] * (len(self.edges) - len(grads))
        return [*lines, *calls.reads, f"return [{', '.join(grads)}]"]

    def gradient(self, ref: Ref, made: bool) -> str:
        """A gradient as source: in memory that nobody else holds, or in the layout of the trace."""
        calls, storage, a = self.plan.calls, ref.storage, ref.array
        value = calls.operand(ref)
        if storage.number in calls.layout.scalars:
            return f"asarray({value})"
        if calls.is_local(ref):
            alone = sum(other.storage is storage for other in self.refs) == 1
            return str(value) if made and alone else f"{value}.copy('K')"
        if ref.whole and storage.kind != SLOT:
            return f"{value}.copy('K')"
        self.kind.fresh_gradients = False
        if storage.kind == SLOT:
            return str(value)
        own = f"{calls.operand(Ref(storage, storage.base))}.copy('K').ravel('K')"
        kind = self.plan.names.of(a.dtype, "t")
        return f"ndarray({a.shape}, {kind}, {own}, {ref.offset}, {a.strides})"

    # What a node asks

    def tensors(self, places: list[Any], args: Any, kwargs: Any) -> list[Tensor]:
        """The tensors of a call, arguments in place of their paths."""
        given = dict(Arguments(args, kwargs, True).free)
        return [given[place] if type(place) is str else place for place in places]

    def gradients(
        self, result: Any, grads: Sequence[Any], args: Any, kwargs: Any, **modes: bool
    ) -> list[Any]:
        """The gradients for the ends from those of the results of a call."""
        outputs = outputs_of(result, Arguments(args, kwargs, True))
        return joint_gradients(outputs, grads, self.tensors(self.ends, args, kwargs), **modes)

    def compare(self, node: Node, places: list[Any], versions: list[int]) -> None:
        """Refuse tensors that have been written to since a call."""
        args, kwargs, *_ = node._saved  # type: ignore[misc]
        for tensor, version in zip(self.tensors(places, args, kwargs), versions, strict=True):
            unpack_input((tensor, version), node, True)

    def refuse(self, node: Node) -> None:
        """Say which of the tensors that the second half reads has been written to."""
        _, _, _, read, _, cells, *_ = node._saved  # type: ignore[misc]
        self.compare(node, self.read, read)
        for number, cell in zip(self.read_outputs, cells, strict=True):
            unpack_out((np.empty(*self.shapes[number]), cell, 0), node, True, number)
        raise RuntimeError(MOVED)

    def again(self, node: Node, grads: Sequence[Any], graph: bool, state: Any) -> list[Any]:
        """The gradients for the edges of a node without the second half.

        Args:
            state: all that the step can change, as it is now.
        """
        args, kwargs, before, read, others, *_ = node._saved  # type: ignore[misc]
        self.compare(node, [*self.read, *self.others], [*read, *others])
        recorded = graph and mode.enabled is not False
        try:
            self.plan.rollback.restore(before, {})
            with enable_grad():
                result = self.plan.capture.function(*args, **kwargs)
        finally:
            state.put_back()
        found = self.gradients(result, grads, args, kwargs, create_graph=recorded)
        made = [found[n] if n not in self.edges[:k] else None for k, n in enumerate(self.edges)]
        return made if graph else [g if g is None else g._array for g in made]
