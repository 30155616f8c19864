"""A step whose results go backward outside it: their gradients are captured, too."""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nanotorch._core.call_site import current_site
from nanotorch._core.engine import current, run_materialized, send_all
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
# runs the first half. Its results share one node, whose backward runs the second half. Every replay
# allocates the values that the second half needs, and its node keeps them: so any number of graphs
# may exist at a time.
#
# Every gradient that reaches a leaf is an edge of the node. The edges are in the order in which the
# gradients arrive without the compiler: so sums with other gradients have the same bits.
#
# If the second half does not apply, for example to second derivatives, the step runs again in its
# former state and goes backward.


HAS_GRAPH = "it returns a tensor whose graph can still be used"
GOES_BACKWARD = f"it goes backward, and {HAS_GRAPH[3:]}"
MAKES_LEAF = "its result depends on a leaf that it makes itself"
RETAINS = "it returns a tensor that retains its gradient"
WRITES = f"it writes to an argument or to much memory, and {HAS_GRAPH[3:]}"
BOTH_HALVES = "gradients of its results write to what is there before, or draw random numbers"
LARGEST = 1 << 20  # bytes that every replay copies at most, so that the step can run again
MOVED = (
    "one of the variables needed for gradient computation has been given other memory since a "
    "compiled function has used it."
)


Layout = tuple[tuple[int, ...], tuple[int, ...]] | None  # shape and strides; None for no gradient
Layouts = tuple[Layout, ...]


def layouts_of(grads: Sequence[Any]) -> Layouts:
    """The layouts of gradients."""
    return tuple(None if g is None else (g.shape, tuple(map(abs, g.strides))) for g in grads)


def outputs_of(result: Any, arguments: Arguments) -> list[Tensor]:
    """The tensors with a graph among the results of a step, without its arguments."""
    given = {id(tensor) for _, tensor in arguments.free}
    ends = [tensor for _, tensor in arguments.free if tensor.requires_grad]
    outside = {edge_of(tensor)[0] for tensor in ends}
    with graph_ending_at(ends):
        made = [t for t in parts(Tensor, result) if id(t) not in given and has_graph(t, outside)]
    return list({id(t): t for t in made}.values())


@contextmanager
def graph_ending_at(ends: list[Tensor]) -> Iterator[None]:
    """Remove hooks and edges of the nodes of ``ends`` for the duration of the block.

    A pass to several of them would otherwise go through the graph of one to another.
    """
    found: Any = [edge_of(tensor)[0] for tensor in ends]
    nodes: list[Any] = list({node.materialize(): None for node in found})
    kept = [(node._hooks, node._edges) for node in nodes]
    try:
        for node in nodes:
            node._hooks, node._edges = None, ()
        yield
    finally:
        for node, (hooks, edges) in zip(nodes, kept, strict=True):
            node._hooks, node._edges = hooks, edges


def inner_nodes(outputs: list[Tensor], ends: Container[Any]) -> list[Node]:
    """The nodes of the graph of ``outputs``, up to the edges ``ends``."""
    found: list[Any] = list(dict.fromkeys(tensor.grad_fn for tensor in outputs))
    seen = set(found)
    for node in found:  # the list grows while the loop runs
        for edge in node.next_functions:
            if edge not in ends and edge[0] is not None and edge[0] not in seen:
                seen.add(edge[0])
                found.append(edge[0])
    return found


def joint_gradients(
    outputs: list[Tensor], grads: Sequence[Any], ends: list[Tensor], **modes: bool
) -> list[tuple[int, Tensor]]:
    """The gradients that arrive at leaves and arguments, in this order, with the numbers of both.

    Args:
        grads: for each output, its gradient or None.
        ends: the leaves and arguments.
        modes: further arguments of `grad`.
    """
    given = [g if g is None or isinstance(g, Tensor) else wrap(np.asarray(g)) for g in grads]
    pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if g is not None]
    numbers = {edge_of(tensor): number for number, tensor in enumerate(ends)}
    arrived: list[tuple[int, Tensor]] = []

    def take(places: list[tuple[int, int]], grads: Sequence[Any], _: Any) -> tuple[Any, ...]:
        rest = list(grads)  # without those that arrive, so that the pass does not add them up
        for position, end in places:
            if grads[position] is not None:
                arrived.append((end, grads[position]))
                rest[position] = None
        return tuple(rest)

    handles = []
    try:
        for node in inner_nodes(outputs, numbers):
            edges = enumerate(node.next_functions)
            places = [(position, numbers[edge]) for position, edge in edges if edge in numbers]
            if places:
                handles.append(node.register_hook(partial(take, places)))
        if pairs:
            roots, weights = zip(*pairs, strict=True)
            with graph_ending_at(ends):
                grad(roots, ends, weights, allow_unused=True, **modes)
    finally:
        for handle in handles:
            handle.remove()
    return arrived


# The outputs of a step that lead to a node, and the ends that it leads to.
Group = tuple[frozenset[int], frozenset[int]]


class CompiledFunctionBackward(Node):
    """The node of a replay's results; each plan has a subclass.

    A pass frees the values of those nodes of the step that it would run without the compiler.

    Attributes:
        joint: what the plan knows of the gradients.
        running: the numbers of the groups of nodes that the present pass runs.
        spent: the numbers of the groups whose values a pass has freed.
    """

    plain = True
    plan: Any
    joint: "Joint"
    running: frozenset[int] = frozenset()
    spent: frozenset[int] = frozenset()
    freed: FreedValues

    @property
    def _saved(self) -> Any:
        return self.__dict__["_saved"]

    @_saved.setter
    def _saved(self, values: Any) -> None:
        if values.__class__ is FreedValues:
            self.spent, self.freed = self.spent | self.running, values
            if self.joint.lasting or len(self.spent) < len(self.joint.groups):
                return
        self.__dict__["_saved"] = values

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        sweep = current.sweep
        every = [True] * len(self._edges)
        return self.run(grads, graph, every if sweep is None else sweep.used_inputs(self))

    def run(self, grads: Sequence[Any], graph: bool, used: list[bool]) -> Sequence[Any]:
        """The gradients for all edges; ``used`` says which of these the pass needs."""
        self.running = self.joint.groups_run(grads, used)
        if self._saved.__class__ is FreedValues or self.running & self.spent:
            raise self.freed.error(self)
        made: Any = MISS if graph else self.plan.backward(self, grads)
        return self.plan.again(self, grads, graph) if made is MISS else made

    @staticmethod
    def _back(node: Any, g: Any, *passing: Any) -> None:
        if not node.plain:
            run_materialized(node, g, *passing)
            return
        *where, freed = passing
        grads = node.run(g[0::2] if node.multi else (g,), False, [True] * len(node._edges))
        if freed is not None and node.keeps_values:
            node._saved = freed
        send_all(grads, node, *where)

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


def copy_containers(arguments: Any) -> Any:
    """A copy of all lists and dicts, with the same tensors."""
    return map_parts(arguments, lambda part: part)


class Joint:
    """The gradients of a step's results; on the tape they follow the step itself.

    Args:
        tape: the tape of the step.
        outputs: the results with a graph.
        known: the tensors in reach, by `id`.
        expected: the layouts of the gradients, if they are known.

    Attributes:
        tangents: for each output, the memory of its gradient; None if none is expected.
        ends: the leaves and arguments that get gradients.
        edges: for each edge of the node, the number of its end; edges without a gradient are last.
        refs: the gradients for the edges.
        read: the tensors in reach whose values the second half reads.
        others: the tensors that only the first half reads, and that it does not write to.
        changing: whether the arguments contain lists or dicts, which users may change.
        memory: the memory of each argument, by its path.
        read_outputs: the numbers of the outputs whose values the second half reads.
        groups: of the step's nodes with saved values, which a pass frees together.
        leads: for each output, the ends that its graph leads to.
        lasting: whether a pass may need no values that are freed, so that others can follow it.

    `ends`, `read` and `others` contain the paths of arguments instead of the tensors.
    """

    # The trace

    def __init__(
        self, tape: Tape, outputs: list[Tensor], arguments: Arguments, known: dict[int, Tensor],
        expected: Layouts | None,
    ) -> None:  # fmt: skip
        self.tape, self.mark, self.outputs = tape, len(tape.entries), outputs
        self.shapes = tuple((t._array.shape, t._array.dtype) for t in outputs)
        # If one result is a loss, the others most often get no gradient.
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
        self.differentiate(ends, known)
        read, others = self.reads(known)
        places: list[list[Any]] = [
            [paths.get(id(t), t) for t in tensors] for tensors in (ends, read, others)
        ]
        self.ends, self.read, self.others = places

    def samples(self) -> list[np.ndarray | None]:
        """Random gradients of the outputs, always the same; None where none is expected."""
        found: list[np.ndarray | None] = []
        for layout, (_, dtype) in zip(self.layouts, self.shapes, strict=True):
            if layout is None or 0 in layout[0]:
                found.append(layout and np.empty(layout[0], dtype))
                continue
            size = 1 + sum((n - 1) * stride for n, stride in zip(*layout, strict=True))
            numbers = np.random.default_rng(0).normal(size=size // dtype.itemsize + 1)
            found.append(as_strided(numbers.astype(dtype), *layout))
        return found

    def differentiate(self, ends: list[Tensor], known: dict[int, Tensor]) -> None:
        """Trace the gradients of the outputs with respect to arguments and leaves.

        Args:
            ends: the arguments; the leaves are appended.
        """
        tangents = self.samples()
        self.tangents = [None if t is None else self.tape.add_slot(t) for t in tangents]
        numbers: dict[Any, int] = {edge_of(tensor): number for number, tensor in enumerate(ends)}
        nodes: list[Any] = inner_nodes(self.outputs, numbers)
        leaves = [node.variable for node in nodes if isinstance(node, AccumulateGrad)]
        ends += leaves
        if not ends or not all(id(leaf) in known for leaf in leaves):
            raise Refused(MAKES_LEAF)
        numbers |= {edge_of(leaf): len(numbers) + number for number, leaf in enumerate(leaves)}
        self.find_groups([n for n in nodes if not isinstance(n, AccumulateGrad)], numbers)
        found = joint_gradients(self.outputs, tangents, ends, retain_graph=True)
        self.refs: list[Ref] = [self.tape.ref(vars(g)["_array"]) for _, g in found]
        arrived = [end for end, _ in found]
        every = [edge for node in nodes for edge in node.next_functions]
        places = Counter([numbers[edge] for edge in every if edge in numbers])
        self.edges = arrived + sorted((places - Counter(arrived)).elements())

    def find_groups(self, nodes: list[Node], numbers: dict[Any, int]) -> None:
        """Set `groups`, `leads` and `lasting` from the step's nodes and the numbers of its ends."""
        order = sorted(nodes, key=lambda node: node._sequence)  # edges lead to lower numbers
        before: dict[Any, set[int]] = {node: set() for node in order}
        behind: dict[Any, set[int]] = {node: set() for node in order}
        for number, tensor in enumerate(self.outputs):
            before[tensor.grad_fn].add(number)
        for node in order:
            for edge in node.next_functions:
                behind[node] |= {numbers[edge]} if edge in numbers else behind.get(edge[0], set())
        for node in reversed(order):
            for edge in node.next_functions:
                if edge not in numbers and edge[0] in before:
                    before[edge[0]] |= before[node]
        self.groups: list[Group] = list({
            (frozenset(before[node]), frozenset(behind[node]))
            for node in order if node.keeps_values
        })  # fmt: skip
        self.leads = [behind[tensor.grad_fn] for tensor in self.outputs]
        self.lasting = not all(
            any(output in outputs and end in behind for outputs, behind in self.groups)
            for output, leads in enumerate(self.leads)
            for end in leads
        )

    def reads(self, known: dict[int, Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The tensors that the second half reads, and those that only the first half reads."""
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
        """Insert an entry between the halves that writes to all memory outside.

        So no copy from the first half is replaced by its original, which the second half would read
        later, when it may have changed.
        """
        outside = [Ref(s, s.base) for s in self.tape.storages if s.kind in (OUTSIDE, SLOT)]
        self.middle = Entry("effect", self.part, (), {}, outside, False, True)
        self.tape.entries.insert(self.mark, self.middle)
        self.outputs.clear()  # do not hold their graphs

    def split(self, entries: list[Entry]) -> tuple[list[Entry], list[Entry]]:
        """The entries of each half."""
        middle = entries.index(self.middle)
        return entries[:middle], entries[middle + 1 :]

    def divide(self) -> list[Ref]:
        """The values that the first half makes and the second half needs."""
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
        """The lines at the beginning of a replay, which make the node."""
        of, self.plan = plan.names.of, plan
        self.kind: Any = type(
            CompiledFunctionBackward.__name__, (CompiledFunctionBackward,),
            {"plan": plan, "joint": self, "_outputs": self.shapes,
             "multi": len(self.shapes) > 1, "keeps_values": bool(self.groups),
             "leads": self.leads_to_edges() if len(self.shapes) > 1 else None},
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

    def leads_to_edges(self) -> list[set[int]]:
        """For each output, the positions of the edges that its graph leads to."""
        places = list(enumerate(self.edges))
        return [{position for position, end in places if end in ends} for ends in self.leads]

    def back(self) -> Any:
        """The function that `quick_sweep` calls for the node of a single result."""
        plan, every, lasting = self.plan, frozenset(range(len(self.groups))), self.lasting

        def run(node: Any, g: Any, *passing: Any) -> None:
            *where, freed = passing
            grads = MISS if "spent" in node.__dict__ else plan.backward(node, (g,))
            if grads is MISS:
                raise Unusual
            if freed is not None and every:
                node.spent, node.freed = every, freed
                if not lasting:
                    node._saved = freed
            send_all(grads, node, *where)

        run.kind = self.kind  # type: ignore[attr-defined]
        return run

    def versions(self, tensors: list[Any]) -> str:
        """The source of the versions of tensors."""
        cells = [
            f"({place}._writes or {place}._cell)"
            if type(place) is str
            else self.plan.names.of(place._cell, "c")
            for place in tensors
        ]
        return f"[{', '.join(f'{cell}[0]' for cell in cells)}]"

    def keep(self, results: dict[Any, str]) -> list[str]:
        """The lines that save the values for the second half in the node.

        Args:
            results: the names of the outputs, by their numbers.
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
        """The lines of the second half."""
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
        """The source of a gradient: in memory of its own, or in the layout of the trace.

        Args:
            made: whether the second half makes the gradient's memory.
        """
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

    # Called by nodes

    def groups_run(self, grads: Sequence[Any], used: list[bool]) -> frozenset[int]:
        """The numbers of the groups that a pass runs.

        Args:
            grads: the gradients of the outputs.
            used: for each edge, whether the pass needs its gradient.
        """
        given = {number for number, g in enumerate(grads) if g is not None}
        wanted = {end for end, needed in zip(self.edges, used, strict=True) if needed}
        return frozenset(
            number
            for number, (outputs, ends) in enumerate(self.groups)
            if outputs & given and ends & wanted
        )

    def tensors(self, places: list[Any], args: Any, kwargs: Any) -> list[Tensor]:
        """The tensors at ``places``; paths are replaced by the arguments of a call."""
        given = dict(Arguments(args, kwargs, True).free)
        return [given[place] if type(place) is str else place for place in places]

    def gradients(
        self, result: Any, grads: Sequence[Any], args: Any, kwargs: Any, **modes: bool
    ) -> list[tuple[int, Tensor]]:
        """The `joint_gradients` of a call, from the gradients of its results."""
        outputs = outputs_of(result, Arguments(args, kwargs, True))
        return joint_gradients(outputs, grads, self.tensors(self.ends, args, kwargs), **modes)

    def compare(self, node: Node, places: list[Any], versions: list[int]) -> None:
        """Refuse tensors that were written to since a call."""
        args, kwargs, *_ = node._saved  # type: ignore[misc]
        for tensor, version in zip(self.tensors(places, args, kwargs), versions, strict=True):
            unpack_input((tensor, version), node, True)

    def refuse(self, node: Node) -> None:
        """Raise RuntimeError about the tensor of the second half that was written to."""
        _, _, _, read, _, cells, *_ = node._saved  # type: ignore[misc]
        self.compare(node, self.read, read)
        for number, cell in zip(self.read_outputs, cells, strict=True):
            unpack_out((np.empty(*self.shapes[number]), cell, 0), node, True, number)
        raise RuntimeError(MOVED)

    def again(self, node: Node, grads: Sequence[Any], graph: bool, state: Any) -> list[Any]:
        """The gradients for the edges of a node, from another run of the step.

        Args:
            state: the present state of everything that the step can change.
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
        made: list[Any] = [None] * len(self.edges)
        for end, g in self.gradients(result, grads, args, kwargs, create_graph=recorded):
            place = next(k for k, n in enumerate(self.edges) if n == end and made[k] is None)
            made[place] = g
        return made if graph else [g if g is None else g._array for g in made]
