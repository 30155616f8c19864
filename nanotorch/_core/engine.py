"""The backward sweep: from the roots to the leaves, each node once, with its summed gradient."""

import math
import sys
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from heapq import heappop, heappush, heappushpop
from operator import attrgetter
from typing import Any

import numpy as np

from nanotorch._core import doors
from nanotorch._core.bfloat16 import cast
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import (
    CUT_OFF,
    LEAF,
    NO_EDGE,
    AccumulateGrad,
    Edge,
    FreedValues,
    Node,
    NodeHooks,
    Unusual,
    accumulate_into,
    accumulating,
    accumulator_edge,
    copy_like,
)
from nanotorch._core.ownership import IN_VARIABLE, can_take, references
from nanotorch._core.sums import sum_over, sum_rows
from nanotorch._core.tensor import Tensor, wrap

# How a sweep calls the hooks of a node: it passes them Tensors and checks the results.


def lift(g: Any) -> Any:
    """A gradient as hooks see it: a Tensor."""
    return g if g is None or isinstance(g, Tensor) else Tensor._lift(g)


def lower(g: Any, graph: bool) -> Any:
    """A hook's result as the sweep carries it: an ndarray, or a Tensor if ``graph``."""
    return g if g is None or graph else g._array


def hook_arguments(node: Node, arrived: Sequence[Any]) -> tuple[Any, ...]:
    """The gradients of a node's outputs as its hooks get them."""
    count = node._visible_outputs or len(arrived)
    return tuple(lift(g) for g in (*arrived, *(None,) * count)[:count])


def call_tensor_hooks(hooks: NodeHooks, arrived: list[Any], graph: bool) -> list[Any]:
    """Call the hooks of each output's tensor in order, then its `retain_grad`."""
    # A hook may register others, which are not called in this pass.
    listed = [(number, list(by_id.values())) for number, by_id in list(hooks.tensor.items())]
    for number, functions in listed:
        for hook in functions:
            result = hook(lift(arrived[number]))
            if result is not None:
                check_replacement(hook, result, lift(arrived[number]))
                arrived[number] = lower(result, graph)
    for number, retain in list(hooks.retain.items()):
        if arrived[number] is not None:
            retain(lift(arrived[number]))
    return arrived


def call_before_hooks(node: Node, arrived: list[Any], graph: bool) -> list[Any]:
    """Call the node's prehooks; each may replace all the gradients that arrived."""
    for hook in list(node.own_hooks().before.values()):
        given = hook_arguments(node, arrived)
        result = hook(given)
        if result is not None:
            check_replacements(hook, result, given)
            arrived[: len(result)] = [lower(g, graph) for g in result[: len(arrived)]]
    return arrived


def call_after_hooks(
    node: Node, grads: Sequence[Any], arrived: list[Any], graph: bool
) -> Sequence[Any]:
    """Call the node's hooks after it ran; each may replace all the gradients it made."""
    outputs = hook_arguments(node, arrived)
    for hook in list(node.own_hooks().after.values()):
        given = tuple(lift(g) for g in grads)
        result = hook(given, outputs)
        if result is not None:
            check_replacements(hook, result, given)
            grads = [lower(g, graph) for g in result]
    return grads


def hook_name(hook: Any) -> str:
    """The name of a hook in messages."""
    return str(getattr(hook, "__name__", type(hook).__name__))


def check_replacements(hook: Any, result: Any, before: Sequence[Any]) -> None:
    """Refuse a node's hook that does not return a gradient or None for each that it got."""
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(before):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values (got "
            f"{len(result)}, but expected {len(before)})"
        )
    for g, given in zip(result, before, strict=True):
        if g is not None:
            check_replacement(hook, g, given)


def check_replacement(hook: Any, result: Any, before: Tensor | None) -> None:
    """Refuse a hook's result whose shape or dtype is not that of the gradient it replaces."""
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if result.shape != before.shape:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value")
    if result.dtype != before.dtype:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value (was "
            f"torch.{before.dtype.char}Tensor got torch.{result.dtype.char}Tensor)"
        )


# The sweep for all cases: hooks, `create_graph`, `inputs=`.
#
# The consumers of a node are the nodes whose edges lead to it. A node is ready once all of its
# consumers have run. Of the ready nodes, accumulators run first, then the node with the highest
# sequence number, as in PyTorch. The sweep is a loop: a deep graph needs no deep recursion.


ndarray = np.ndarray
ACCUMULATOR = float("inf")  # the sequence number of an accumulator in the heap
FRAMES, DEEPEST = 8, 2_000


class Room:
    """Raises Python's recursion limit for nested passes: a hook may start a pass inside a pass.

    Each nested pass adds `FRAMES` to the limit: six for the pass and two for the user's code.
    Beyond `DEEPEST` nested passes the limit stays, so an endless recursion cannot overflow C's
    stack. The limit is restored only when no thread has a nested pass: Python aborts if a thread
    handles an error while its stack is far deeper than the limit.
    """

    def __init__(self) -> None:
        self.lock, self.passes, self.raised = threading.RLock(), 0, 0

    def enter(self, depth: int) -> None:
        with self.lock:
            self.set(max(self.raised, FRAMES * min(depth, DEEPEST)))
            self.passes += 1

    def leave(self) -> None:
        with self.lock:
            self.passes -= 1
            if not self.passes:
                self.set(0)

    def set(self, frames: int) -> None:
        if frames != self.raised:
            sys.setrecursionlimit(sys.getrecursionlimit() + frames - self.raised)
            self.raised = frames


room = Room()


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """The sum of ``g`` over the axes along which an input of ``shape`` was broadcast.

    Args:
        g: ndarray or Tensor, of a shape that ``shape`` broadcasts to.
    """
    added = g.ndim - len(shape)
    axes = tuple(range(added)) + tuple(
        added + i for i, size in enumerate(shape) if size == 1 and g.shape[added + i] != 1
    )
    if axes:
        g = g.sum(axes, keepdim=True) if isinstance(g, Tensor) else sum_over(g, axes, True)
    return g.reshape(shape) if added else g


def fit(g: Any, node: Node, position: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """The gradient for input ``position`` of ``node`` in the shape and dtype of that input."""
    if g.__class__ is ndarray and g.ndim == 2 and g.dtype is dtype and g.shape[1:] == shape:
        return sum_rows(g)  # the most frequent case: a bias
    if g.shape != shape:
        sizes = zip(reversed(shape), reversed(g.shape), strict=False)
        if len(shape) > g.ndim or any(s not in (1, n) for s, n in sizes):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {position} - got "
                f"{list(g.shape)} but expected shape compatible with {list(shape)}"
            )
        g = sum_to(g, shape)
    if isinstance(g, Tensor):
        return g if g._array.dtype is dtype else g._cast(dtype)
    return g if g.dtype is dtype else cast(g, dtype)


def add(held: list[Any], k: int, g: Any, owned: bool) -> None:
    """Add ``g`` to the gradient ``held[k]``; in place if only ``held`` refers to that array.

    Args:
        held: for each output, its gradient so far, and whether only this list refers to the array.
        owned: whether only the caller refers to ``g``.
    """
    before = held[k]
    if before is None:
        held[k], held[k + 1] = g, owned
    elif held[k + 1] and before.__class__ is ndarray and before.base is None:
        before += g
    else:
        held[k], held[k + 1] = before + g, True


def writable(g: Any) -> Any:
    """The gradient, copied if it is read-only: hooks may write to it."""
    return np.array(g) if g.__class__ is ndarray and not g.flags.writeable else g


def count_consumers(roots: Iterable[tuple[Any, int]]) -> tuple[dict[Any, int], dict[Any, set[int]]]:
    """How many edges lead to each node that the roots reach; 0 for the roots themselves.

    Also returns, for a node whose outputs lead to different edges, the positions of the others.
    """
    consumers: dict[Any, int] = {}
    found = []
    for edge in roots:
        if edge[0] not in consumers or edge[0].leads is not None:
            found.append(edge)
        consumers[edge[0]] = 0
    unreached: dict[Any, set[int]] = {}
    for node, output in found:  # the list grows while the loop runs
        edges = node.materialize()._edges
        if node.leads is not None:
            rest = unreached.setdefault(node, set(range(len(edges))))
            edges = [edges[position] for position in sorted(rest & node.leads[output])]
            rest -= node.leads[output]
        for edge in edges:
            target = edge[0]
            if target in consumers:
                consumers[target] += 1
                if target.leads is not None:
                    found.append(edge)
            elif target is not None:
                consumers[target] = 1
                found.append(edge)
    return consumers, unreached


def nodes_leading_to(
    targets: Iterable[Node], nodes: Iterable[Node], unreached: dict[Any, set[int]]
) -> set[Node]:
    """The nodes among ``nodes``, all materialized, with a path to one of ``targets``."""
    goals = set(targets)
    leading: set[Node] = set()
    for node in sorted(nodes, key=attrgetter("_sequence")):  # edges lead to lower numbers
        without = unreached.get(node, ()) if unreached else ()
        for position, (target, _) in enumerate(node._edges):
            if (target in goals or target in leading) and position not in without:
                leading.add(node)
                break
    return leading


class Ready:
    """The nodes that can run: the highest sequence number first, accumulators before all others.

    Accumulators compare equal, so the algorithm of the heap decides their order, and users see this
    order in hooks. So this is, step for step, the binary heap of C++'s standard library, which
    PyTorch's engine uses.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[float, Node]] = []

    def push(self, node: Node) -> None:
        heap = self.heap
        heap.append((node._sequence or ACCUMULATOR, node))
        if len(heap) > 1:
            self._rise(len(heap) - 1, heap[-1])

    def pop(self) -> Node:
        heap = self.heap
        last = heap.pop()
        if not heap:
            return last[1]
        top, hole, size = heap[0], 0, len(heap)
        while 2 * hole + 2 < size:  # two children: the greater moves up, of equals the right one
            child = 2 * hole + 2
            if heap[child][0] < heap[child - 1][0]:
                child -= 1
            heap[hole] = heap[child]
            hole = child
        if 2 * hole + 1 < size:
            heap[hole] = heap[2 * hole + 1]
            hole = 2 * hole + 1
        self._rise(hole, last)
        return top[1]

    def _rise(self, hole: int, item: tuple[float, Node]) -> None:
        heap = self.heap
        while hole and heap[(hole - 1) // 2][0] < item[0]:
            heap[hole] = heap[(hole - 1) // 2]
            hole = (hole - 1) // 2
        heap[hole] = item


class Sweep:
    """One backward pass.

    Args:
        roots: the edges where the pass begins, each with a gradient.
        freed: replaces the saved values after their use; None keeps them.
        create_graph: record the computation of gradients, so that the gradients have a graph, too.
        captures: the edges of ``inputs=``; only nodes that lead to them run. None: all nodes run.
        accumulate: whether the nodes of ``captures`` run as well, to add to ``grad``. Otherwise
            `run` returns the gradients that arrive at them.

    Attributes:
        graph: whether formulas run on Tensors.
        waiting: by node, a list as ``held`` of `add`.
        consumers: by node, how many of its consumers have not run.
        unreached: by node, the positions of the edges that the pass does not follow.
        needed: the nodes that run; None for all.
        goals: the nodes whose gradients are returned.
        done: a sequence number: all nodes with a higher one have run.
        depth: the number of passes around this one.
    """

    depth = 0

    def __init__(
        self,
        roots: Sequence[tuple[Edge, Any]],
        freed: FreedValues | None,
        create_graph: bool,
        captures: Sequence[Edge] | None = None,
        accumulate: bool = True,
    ) -> None:
        self.freed, self.create_graph = freed, create_graph
        # Under `vmap`, gradients are Tensors without arrays.
        self.graph = create_graph or any(isinstance(g, Tensor) for _, g in roots)
        self.waiting: dict[Node, list[Any]] = {}
        starts = [edge for edge, _ in roots if edge[0] is not None]
        self.consumers, self.unreached = count_consumers(starts)
        self.captures = None if captures is None else dict.fromkeys(captures)
        self.needed: set[Node] | None = None
        self.goals: set[Node] = set()
        if captures is not None:
            goals = {edge[0] for edge in captures if edge[0] is not None}
            self.needed = nodes_leading_to(goals, self.consumers, self.unreached)
            if accumulate:
                self.needed |= goals
            else:
                self.goals = goals
        self.done = ACCUMULATOR
        self.ready = Ready()
        self.roots = {edge[0] for edge, _ in roots}
        for (node, number), g in roots:
            if node is not None:
                if node not in self.waiting and not self.consumers[node]:
                    self.ready.push(node)
                self.deliver(node, number, writable(g), False)

    @classmethod
    def from_quick_sweep(
        cls,
        root: Edge,
        freed: FreedValues | None,
        waiting: dict[Node, Any],
        leaves: dict[Tensor, Any],
        done: float,
    ) -> "Sweep":
        """A sweep that continues what `quick_sweep` has begun.

        Args:
            waiting, leaves: the gradients that have arrived at nodes and at leaves; for a node that
                may have several outputs, a list as `start_slots` returns it.
            done: a sequence number: all nodes with a higher one have run.
        """
        self = cls([(root, None)], freed, False)
        found = dict(waiting)
        for leaf, g in leaves.items():
            node: Any = accumulator_edge(leaf)[0]
            found[node] = found[node] + g if node in found else g
        self.waiting = {n: held if n.multi else [held, False] for n, held in found.items()}
        for held in self.waiting.values():
            for k in range(0, len(held), 2):
                held[k] = writable(held[k])
        self.done = done
        return self

    def catch_up(self) -> None:
        """Pop the nodes that `quick_sweep` has run; run the accumulators that become ready."""
        heap, nothing = self.ready.heap, [None, False]
        while heap and heap[0][0] > self.done:
            node = self.ready.pop()
            if node._sequence:
                self.pass_on(node, None, None)
            elif node._hooks is not None:
                self.visit(node, self.waiting.pop(node, nothing))
            else:
                self.accumulate(node, *self.waiting.pop(node, nothing))

    def deliver(self, target: Node, number: int, g: Any, owned: bool) -> None:
        """Add ``g`` to what waits for output ``number`` of ``target``."""
        held = self.waiting.get(target)
        if held is None:
            held = self.waiting[target] = [None, False] * len(target._outputs)
        add(held, 2 * number, g, owned)

    def run(self) -> dict[Edge, Any]:
        """Run all nodes; returns the gradient of each captured edge, None if none arrived."""
        graph, freed = self.graph, self.freed
        visit, plain = self.visit, self.needed is None
        for observer in reversed(tuple(doors.nodes)):
            if observer.visit is not None:
                visit, plain = partial(observer.visit, self, visit), False
        ready, waiting = self.ready, self.waiting
        outer = current.sweep
        if outer is not None:
            self.depth = outer.depth + 1
            room.enter(self.depth)
        before, mode.enabled, current.sweep = mode.enabled, self.create_graph, self
        try:
            self.catch_up()
            while ready.heap:
                node = ready.pop()
                held = waiting.pop(node, None)
                if held is None and (node.runs_on_nothing or node.keeps_values):
                    held = [None, False] * len(node._outputs)
                if not plain or node._hooks is not None:
                    visit(node, held or [None, False] * len(node._outputs))
                elif not node._sequence:
                    self.accumulate(node, *(held or (None, False)))
                elif held is None:
                    self.pass_on(node, None, None)
                else:
                    grads = node.apply(held[0::2], graph)
                    if freed is not None and node.keeps_values:
                        node._saved = freed
                    self.pass_on(node, grads, held[0])
        finally:
            mode.enabled, current.sweep = before, outer
            if outer is not None:
                room.leave()
        return self.captures or {}

    def uses(self, node: Node) -> bool:
        """Whether this pass needs the gradient that arrives at a node."""
        return self.needed is None or node in self.needed or node in self.goals

    def computes(self, node: Node) -> bool:
        """Whether a node has to compute; a node with saved values must, to check their versions."""
        if self.needed is None or node.keeps_values or node.runs_on_nothing:
            return True
        return any(self.used_inputs(node))

    def used_inputs(self, node: Node) -> list[bool]:
        """For each input of a node, whether this pass needs its gradient."""
        return [target is not None and self.uses(target) for target, _ in node._edges]

    def used_gradients(self, node: Node, grads: Sequence[Any]) -> Sequence[Any]:
        """The gradients for a node's hooks, in the inputs' shapes; None where none is needed."""
        used = self.used_inputs(node)
        if node.together and any(used):
            used = [True] * len(used)
        fitting = []
        for position, (g, edge, wanted) in enumerate(zip(grads, node._edges, used, strict=False)):
            target, number = edge
            g = g if wanted else None
            if g is not None and target is not None:
                g = fit(g, node, position, *target._outputs[number])
            fitting.append(g)
        return fitting

    def pass_on(self, node: Node, grads: Sequence[Any] | None, arrived: Any) -> None:
        """Send a node's gradients along its edges, if it ran; push the nodes that become ready."""
        if grads is not None and len(grads) < len(node._edges):
            raise RuntimeError(
                f"Function {node.name()} returned an incorrect number of gradients (expected "
                f"{len(node._edges)}, got {len(grads)})"
            )
        fresh, consumers, position = node.fresh_gradients, self.consumers, -1
        unreached = self.unreached.get(node, ()) if self.unreached else ()
        for target, number in node._edges:
            position += 1
            if target is None or position in unreached:
                continue
            if grads is not None and (g := grads[position]) is not None:
                shape, dtype = target._outputs[number]
                passed_through = g is arrived
                if g.shape != shape or g.dtype is not dtype:
                    g = fit(g, node, position, shape, dtype)
                owned = fresh and not passed_through
                self.deliver(target, number, g, owned)
            left = consumers[target] = consumers[target] - 1
            if not left:
                self.ready.push(target)

    def visit(self, node: Node, held: list[Any]) -> None:
        """Run one node in a pass with ``inputs=``, or a node with hooks."""
        arrived, owned, hooks = held[0::2], held[1], node._hooks
        runs = self.needed is None or node in self.needed
        wanted = node in self.goals
        if wanted and runs:
            self.capture(node, arrived)  # before its hooks, which may replace it
        # As in PyTorch, call the hooks of a root even if its gradient is not needed.
        if hooks is not None and (wanted or runs or node in self.roots):
            owned = False  # a hook may hold the gradient
            arrived = call_tensor_hooks(hooks, arrived, self.graph)
        if wanted and not runs:
            self.capture(node, arrived)
        if not runs:
            self.pass_on(node, None, None)
            return
        if isinstance(node, AccumulateGrad):
            for observer in tuple(doors.nodes):
                observer.ran(self, node, (), arrived)
            self.accumulate(node, arrived[0], owned)
            return
        if hooks is not None and hooks.before:
            arrived = call_before_hooks(node, arrived, self.graph)
        computes = self.computes(node)
        grads = node.apply(arrived, self.graph) if computes else [None] * len(node._edges)
        if hooks is not None and hooks.after:
            grads = self.used_gradients(node, grads)
            grads = call_after_hooks(node, grads, arrived, self.graph)
        if computes:
            for observer in tuple(doors.nodes):
                observer.ran(self, node, grads, arrived)
        if self.freed is not None and node.keeps_values:
            node._saved = self.freed
        self.pass_on(node, grads, arrived[0])

    def accumulate(self, node: Any, g: Any, owned: bool) -> None:
        """Run an accumulator, with the node's own hooks around it."""
        hooks = node._hooks
        if hooks is not None and hooks.before:
            (g,) = call_before_hooks(node, [g], self.graph)
        node.accumulate(g, owned, self.graph)
        if hooks is not None and hooks.after:
            call_after_hooks(node, (), [g], self.graph)

    def capture(self, node: Node, arrived: list[Any]) -> None:
        captures = self.captures or {}
        captures.update({(node, k): g for k, g in enumerate(arrived) if (node, k) in captures})


class _Current(threading.local):
    """Per thread: the innermost sweep that is running."""

    sweep: Sweep | None = None


current = _Current()


# The backward sweep of an ordinary training step.
#
# Without hooks and users' functions, users cannot see when a leaf gets its gradient. So this sweep
# counts no consumers. The node with the highest sequence number always runs next: its consumers
# have higher numbers, so they have run. Leaves get their sums at the end. When this sweep meets a
# hook, a user's function or an error, `Sweep` takes over, in the state that a `Sweep` from the
# start would have reached by then.


def quick_sweep(root: Any, number: int, first: Any, freed: FreedValues | None) -> None:
    """Run a backward pass that adds to the ``grad`` of leaves.

    Args:
        root, number: the node and the number of the output where the pass begins.
        first: the gradient of that output, an ndarray or NumPy scalar; it is not written to.
        freed: replaces the saved values after their use; None keeps them.
    """
    # The gradients that have arrived at nodes; a list for nodes that may have several outputs.
    waiting: dict[Node, Any] = {root: start_slots(root, number, first) if root.multi else first}
    todo: list[tuple[int, Any]] = []  # a heap of these nodes, except the one that runs next
    leaves: dict[Tensor, Any] = {}  # the gradients that have arrived at leaves
    watched: list[Any] = []  # nodes and leaves that `Sweep` has to serve
    node: Any = root
    g = None
    try:
        while node is not None:
            g = waiting.pop(node)
            back = node._back
            following = back(node, g, waiting, todo, leaves, watched, freed)
            if watched:
                break
            if not todo:
                node = following
            elif following is None:
                node = heappop(todo)[1]
            else:
                node = heappushpop(todo, (-following._sequence, following))[1]
    except BaseException as error:
        waiting[node] = g
        sweep = Sweep.from_quick_sweep((root, number), freed, waiting, leaves, node._sequence)
        if not isinstance(error, Unusual):
            sweep.catch_up()  # leaves that were ready before the error have their gradients
            raise
    else:
        if not watched:
            del g  # so that a leaf can take it over: `accumulate_leaves` counts references
            accumulate_leaves(leaves)
            return
        done = node._sequence
        if node not in waiting:
            # The node has run. A `Recorded` has then also done the work of the nodes that `unfold`
            # would make of it, whose numbers are less than one below its own. A node that had
            # materialized before runs alone: the nodes next to it run one by one.
            done = math.nextafter(done, 0) if back is run_materialized else done - 1
        sweep = Sweep.from_quick_sweep((root, number), freed, waiting, leaves, done)
    sweep.run()


def send(
    g: Any, node: Node, position: int, history: Any, waiting: dict[Any, Any],
    todo: list[tuple[int, Any]], leaves: dict[Tensor, Any], watched: list[Any],
) -> None:  # fmt: skip
    """Add the gradient for input ``position`` of ``node`` to ``waiting`` or ``leaves``."""
    if isinstance(history, Tensor):
        target: Any = history
        shape, dtype, number = target._array.shape, target._array.dtype, 0
    else:
        target, number = history if history.__class__ is tuple else (history, 0)
        if target is None:
            return
        shape, dtype = target._outputs[number]
    if g.shape != shape or g.dtype is not dtype:
        g = fit(g, node, position, shape, dtype)
    if isinstance(target, AccumulateGrad):
        leaf = target.variable
        if leaf._history is LEAF and accumulator_edge(leaf)[0] is target:
            target = leaf
        else:  # the leaf has hooks, or another accumulator since `data` was set
            waiting[target] = waiting[target] + g if target in waiting else g
            watched.append(target)
            return
    if isinstance(target, Tensor):
        leaves[target] = leaves[target] + g if target in leaves else g
        if target._history is not LEAF and (target._is_watched() or not target.is_leaf):
            watched.append(target)
    elif target not in waiting:
        waiting[target] = start_slots(target, number, g) if target.multi else g
        heappush(todo, (-target._sequence, target))
    elif target.multi:
        add(waiting[target], 2 * number, g, False)
    else:
        waiting[target] = waiting[target] + g


def start_slots(target: Any, number: int, g: Any) -> list[Any]:
    """A node's list in ``waiting``, as ``held`` of `add`, with a gradient for one output."""
    held = [None, False] * len(target._outputs)
    held[2 * number] = g
    return held


def run_materialized(
    node: Node, g: Any, waiting: dict[Any, Any], todo: list[tuple[int, Any]],
    leaves: dict[Tensor, Any], watched: list[Any], freed: FreedValues | None,
) -> None:  # fmt: skip
    """The `_back` of every node that is not a `Recorded`."""
    if not node.plain or not node._sequence:
        waiting[node] = g
        watched.append(node)
        return
    grads = node.apply(g[0::2], False) if node.multi else node.apply_bare(g)
    if freed is not None and node.keeps_values:
        node._saved = freed
    send_all(grads, node, waiting, todo, leaves, watched)


def send_all(
    grads: Sequence[Any], node: Node, waiting: dict[Any, Any], todo: list[tuple[int, Any]],
    leaves: dict[Tensor, Any], watched: list[Any],
) -> None:  # fmt: skip
    """`send` the gradients for all inputs of a node."""
    for position, history in enumerate(node._edges):
        if history is None or history is NO_EDGE or history is CUT_OFF:
            continue
        if grads[position] is None:
            watched.append(node)  # `Sweep` decides whether the target runs without a gradient
        else:
            send(grads[position], node, position, history, waiting, todo, leaves, watched)


Node._back = staticmethod(run_materialized)


def accumulate_leaves(leaves: dict[Tensor, Any]) -> None:
    """Add the sums for the leaves to their gradients."""
    with accumulating:
        while leaves:
            leaf, g = leaves.popitem()
            if leaf._history is LEAF and leaf._grad is None:
                array = leaf._array
                if references(g) != IN_VARIABLE or not can_take(g, array):
                    g = copy_like(g, array)
                leaf._grad = wrap(g)
            elif leaf.requires_grad:  # the user may have turned it off since
                accumulate_into(leaf, g, False)
