"""The graph of a model for TensorBoard, traced and measured."""

import inspect
import math
import os
import re
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

from nanotorch._core.grad_mode import enable_grad
from nanotorch._core.graph import AccumulateGrad, Edge, Node, edge_of, next_sequence
from nanotorch._core.tensor import Tensor, observe_every_node, wrap
from nanotorch.autograd.backward import grad
from nanotorch.autograd.graph import reachable_nodes
from nanotorch.nn.module import Module
from nanotorch.nn.module_call import register_module_forward_hook, register_module_forward_pre_hook
from nanotorch.utils.tensorboard.files import OpStats, protos, run_metadata, shape_proto

# The time of operations, forward and backward, and the lines that called them.
#
# Python's profiling hook sees the functions of operations and the methods of nodes; these need no
# code for it. A running profiler continues, but if Python code cannot call it, nothing is measured.


PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"
FUNCTIONAL = os.path.join(PACKAGE, "nn", "functional", "")  # noqa: PTH118 - Path drops the end
GENERATED = "<nanotorch op "
FORMULAS = ("apply_bare", "apply_recorded", "plain_back", "careful_back")
# The methods of a node that run it; for a leaf without hooks, the function that adds to its `grad`.
LEAF = "accumulate_into"
BACKWARD = ("apply", "accumulate", LEAF, *FORMULAS)


@dataclass
class Measured:
    """The measurement of the operation that made a node.

    Attributes:
        nanoseconds: its time.
        source: the line of the caller's code, as `file:line`; empty if all is in this package.
        function: the function of `nn.functional` that the caller called, or an empty string.
        kept: the tensors that it saves for its formulas.
    """

    nanoseconds: int
    source: str
    function: str
    kept: tuple[Tensor, ...]


@dataclass
class Measurements:
    """Measured times.

    Attributes:
        forward: by node, the measurement of its operation.
        backward: by node, the nanoseconds of its formulas.
        leaves: by identity of the leaf, the nanoseconds of adding to its gradient.
        lost: the nanoseconds of the measuring itself.
    """

    forward: dict[Node, Measured] = field(default_factory=dict)
    backward: dict[Node, int] = field(default_factory=dict)
    leaves: dict[int, int] = field(default_factory=dict)
    lost: int = 0


def role(code: CodeType) -> str:
    """The role of a function: "forward", "backward", or an empty string."""
    if code.co_filename.startswith(GENERATED):
        return "backward" if code.co_name in FORMULAS else "forward"
    if not code.co_filename.startswith(PACKAGE) or code.co_name not in BACKWARD:
        return ""
    # `apply` of a user's `Function` is a class method; `apply` of a node is not.
    first = code.co_varnames[:1]
    return "forward" if first == ("cls",) else "backward"


@contextmanager
def measure_operations(into: Measurements, outermost: CodeType | None) -> Iterator[None]:
    """A block whose operations are measured.

    Args:
        into: gets the measurements.
        outermost: the outermost code in which `caller` searches for lines; None for any.
    """
    before: Any = sys.getprofile()
    if before is not None and not callable(before):  # `cProfile` until Python 3.11
        yield
        return
    roles: dict[CodeType, str] = {}
    starts: list[tuple[FrameType, int]] = []
    lost = 0  # the hook's own time, subtracted from the operations'

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
            if what == "backward":
                owner = frame.f_locals[code.co_varnames[0]]
                if isinstance(owner, Node):
                    into.backward[owner] = elapsed  # of nested calls, the outer one is last
                elif code.co_name == LEAF:
                    into.leaves[id(owner)] = into.leaves.get(id(owner), 0) + elapsed
            else:
                first = result[0] if isinstance(result, list | tuple) and result else result
                recorded = isinstance(first, Tensor) and first.requires_grad
                if recorded and (node := edge_of(first)[0]) is not None:
                    kept = tuple(saved_tensors(node))
                    into.forward[node] = Measured(elapsed, *caller(frame, outermost), kept)
        end = time.perf_counter_ns()
        lost += end - now
        if what and event == "call":
            starts.append((frame, end - lost))

    sys.setprofile(profile)
    try:
        with observe_every_node():
            yield
    finally:
        sys.setprofile(before)
        into.lost += lost


def saved_tensors(node: Node) -> Iterator[Tensor]:
    """The inputs that an operation saves for its formulas."""
    saved: Any = node._saved
    for kept in saved if isinstance(saved, tuple) else ():
        if isinstance(kept, tuple) and kept and isinstance(kept[0], Tensor):
            yield kept[0]


def caller(frame: FrameType, outermost: CodeType | None) -> tuple[str, str]:
    """The line that called an operation, and the function of `nn.functional` that it called.

    It is the innermost line outside of this package, inside of the code ``outermost``.
    """
    place, function = frame.f_back, ""
    while place is not None and place.f_code is not outermost:
        path = place.f_code.co_filename
        if not path.startswith((PACKAGE, "<")):
            return f"{Path(path).name}:{place.f_lineno}", function
        if path.startswith(FUNCTIONAL):
            function = place.f_code.co_name
        place = place.f_back
    return "", function


# The running module at each sequence number, and the names of modules in the graph.


class Scopes:
    """The running module at each time, as a path like `Net/features_Sequential/0_Linear`.

    A module outside of the model, such as a loss, has the name of its class.

    Args:
        model: the outermost module.
        outside: the path for operations outside of all modules. Default: the model's path.
        complete: whether a module that returns its input unchanged gets a node of its own.
    """

    def __init__(self, model: Module, outside: str | None = None, complete: bool = True) -> None:
        # Each module is named by the attributes that lead to it, each with its class.
        self.paths: dict[Module, str] = {}
        named: dict[str, str] = {}
        for dotted, module in model.named_modules():
            parent, _, attribute = dotted.rpartition(".")
            kind = module._get_name()
            own = escape_name(f"{attribute}_{kind}" if dotted else kind)
            named[dotted] = self.paths[module] = f"{named[parent]}/{own}" if dotted else own
        self.outside = self.paths[model] if outside is None else outside
        self.identities: set[Node] = set()
        self._complete = complete
        self._stack = [self.outside]
        self._starts, self._scopes = [0], [self.outside]

    def at(self, sequence: int) -> str:
        """The path of the innermost module that was running at a sequence number."""
        return self._scopes[bisect_right(self._starts, sequence) - 1]

    @contextmanager
    def following(self) -> Iterator[None]:
        """A block in which the start and the end of each module's call are noted."""
        handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: Module, args: tuple[Any, ...]) -> None:
        own = join_names(self._stack[-1], module._get_name())
        self._stack.append(self.paths.setdefault(module, own))
        self._mark()

    def _leave(self, module: Module, args: tuple[Any, ...], output: Any) -> Any:
        passed_on = isinstance(output, Tensor) and any(output is arg for arg in args)
        if self._complete and passed_on and output.requires_grad:
            # A module that returns its input (dropout in evaluation) would have no node.
            output = output.clone()
            self.identities.add(output.grad_fn)
        self._stack.pop()
        self._mark()
        return output

    def _mark(self) -> None:
        self._starts.append(next_sequence())
        self._scopes.append(self._stack[-1])


def join_names(box: str, name: str) -> str:
    """The path of a name in a box; the name itself if there is no box."""
    return f"{box}/{escape_name(name)}" if box else escape_name(name)


def escape_name(name: str) -> str:
    """A name without the characters that have a meaning in TensorBoard's names of nodes."""
    return re.sub(r"[^A-Za-z0-9_.\-]", "_", name)


# Nodes of a graph as TensorBoard draws it, with the time and memory of each.


TYPES = {"float16": "DT_HALF", "float32": "DT_FLOAT", "float64": "DT_DOUBLE"}


# TensorBoard stacks 5 or more nodes of one box and kind whose names differ in the number at the
# end, and draws them outside of the flow: good for an unrolled loop, bad for an attention's views.
STACKED = 5
LOOP = 12


class Nodes:
    """A graph to which nodes are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.stats: list[OpStats] = []
        self._taken: set[str] = set()
        # By name: the numbers that were appended to make repeated names unique.
        self._numbers: dict[str, list[int]] = {}

    def graph_def(self) -> Any:
        """The graph as a message."""
        p, names = protos(), self._apart()

        def settled(node: Any) -> Any:
            inputs = []
            for source in node.input:
                name, colon, number = source.partition(":")
                inputs.append(names.get(name, name) + colon + number)
            name = names.get(node.name, node.name)
            return p.NodeDef(name=name, op=node.op, input=inputs, attr=node.attr)

        nodes = [settled(node) for node in self.nodes] if names else self.nodes
        return p.GraphDef(node=nodes, versions=p.VersionDef(producer=22))

    def profile(self) -> bytes:
        """The graph with the time and memory of its nodes, as a serialised `RunMetadata`."""
        names = self._apart()
        stats = [replace(one, name=names.get(one.name, one.name)) for one in self.stats]
        return run_metadata(stats, self.graph_def().SerializeToString())

    def _apart(self) -> dict[str, str]:
        """New names of nodes that must not be stacked, by their present ones."""
        return {
            f"{name}_{number}": f"{name}[{number}]"
            for name, numbers in self._numbers.items()
            if STACKED <= len(numbers) < LOOP
            for number in numbers
        }

    def add(
        self, name: str, op: str, inputs: list[str], outputs: Any, nanoseconds: int = 0,
        shared: bool = False, **attributes: str,
    ) -> str:  # fmt: skip
        """Append a node; returns its unique name, which is `name` or begins with it.

        Args:
            outputs: the shape and dtype of each output.
            shared: whether the outputs are views, without memory of their own.
            attributes: shown next to the graph when the node is selected.
        """
        p = protos()
        unique = name
        while unique in self._taken:
            numbers = self._numbers.setdefault(name, [])
            numbers.append(numbers[-1] + 1 if numbers else 1)
            unique = f"{name}_{numbers[-1]}"
        self._taken.add(unique)
        shapes = [shape_proto(shape) for shape, _ in outputs]
        attr = {"_output_shapes": p.AttrValue(list=p.AttrValue.ListValue(shape=shapes))}
        if outputs:
            name = outputs[0][1].name
            attr["T"] = p.AttrValue(type=TYPES.get(name, f"DT_{name.upper()}"))
        attr |= {key: p.AttrValue(s=value.encode()) for key, value in attributes.items()}
        self.nodes.append(p.NodeDef(name=unique, op=op, input=inputs, attr=attr))
        size = 0 if shared else sum(math.prod(shape) * dtype.itemsize for shape, dtype in outputs)
        self.stats.append(OpStats(unique, nanoseconds, size))
        return unique


def operation(node: Node) -> str:
    """The name of the operation that made a node: `Addmm` for `AddmmBackward0`."""
    return visible_name(re.sub(r"Backward\d*$", "", node.name()))


def visible_name(op: str) -> str:
    """The name of an operation without `Const`.

    TensorBoard draws each node with `Const` in its name, such as a padding with a constant, as a
    dot without inputs.
    """
    return re.sub(r"Const(ant)?", "", op.rpartition("::")[2]) or "Op"


def label(op: str) -> str:
    """`LogSoftmax` -> `log_softmax`, `MaxPool2DWithIndices` -> `max_pool2d_with_indices`."""
    return escape_name(re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", op).lower())


# Traces of a model's run or of a training step: its operations, their places and times.


Meta = tuple[tuple[int, ...], Any]
"""A shape and a NumPy dtype."""


@dataclass
class Trace:
    """A model's forward pass, and the backward pass that followed.

    Attributes:
        scopes: the running module at each time.
        inputs: the model's input tensors by argument name, each with its node; an integer tensor
            has None.
        outputs: the outputs by name: the edge, and the shape and dtype.
        measured: time and place of the operations.
        trouble: the error of the backward pass, if it failed.
    """

    scopes: Scopes
    inputs: dict[str, tuple[Tensor, Node | None]]
    outputs: dict[str, tuple[Edge, Meta]] = field(default_factory=dict)
    measured: Measurements = field(default_factory=Measurements)
    trouble: Exception | None = None


def trace(model: Module, arguments: Sequence[Any]) -> Trace:
    """Run `model(*arguments)` twice in evaluation mode, and then its backward pass.

    The model is left unchanged. All is recorded, whatever the grad mode: for the duration of the
    call, frozen parameters and the arguments require grad too.
    """
    scopes = Scopes(model)
    with enable_grad(), evaluation(model):
        bound, _ = _bind(model, arguments)
        model(*bound.args, **bound.kwargs)  # a first run, so that the timed one is not the slow one
        bound, inputs = _bind(model, arguments)
        result = Trace(scopes, inputs)
        with scopes.following(), measure_operations(result.measured, trace.__code__):
            output = model(*bound.args, **bound.kwargs)
        found: dict[str, Tensor] = {}
        map_tensors(found.setdefault, output, "output")
        result.outputs = {name: (edge_of(t), shape_and_dtype(t)) for name, t in found.items()}
        leaves = [*model.parameters(), *(tensor for tensor, _ in inputs.values())]
        try:
            with measure_operations(result.measured, trace.__code__):
                roots = [tensor for tensor in found.values() if tensor.requires_grad]
                wanted = [tensor for tensor in leaves if tensor.requires_grad]
                if roots and wanted:
                    ones = [wrap(np.ones(tensor.shape, tensor.dtype._numpy)) for tensor in roots]
                    grad(roots, wanted, ones, allow_unused=True)
        except Exception as error:  # a user's function may have no derivative
            result.trouble = error
            result.measured.backward.clear()
    return result


@contextmanager
def watched_step(model: Module) -> Iterator[Trace]:
    """A block that traces a training step, without a change to its results.

    The trace is complete after the block. The model's inputs have no nodes; they are found among
    the tensors that operations save.
    """
    result = Trace(Scopes(model, "", complete=False), {})

    def enter(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given: dict[str, Tensor] = {}
        named = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        map_tensors(given.setdefault, named, "")
        for name, tensor in given.items():
            result.inputs.setdefault(name.removeprefix("_"), (tensor, None))

    handle = model.register_forward_pre_hook(enter, prepend=True, with_kwargs=True)
    try:
        with result.scopes.following(), measure_operations(result.measured, None):
            yield result
    finally:
        handle.remove()
    roots = _last(result.measured)
    for number, node in enumerate(roots):
        name = "loss" if len(roots) == 1 else f"loss_{number}"
        result.outputs[name] = (node, 0), node._outputs[0]


def _last(measured: Measurements) -> list[Node]:
    """The roots of the backward passes; without any, the operations whose output no other used."""
    nodes = [n for n in measured.forward if n in measured.backward] or list(measured.forward)
    used = {target for node in nodes for target, _ in node.next_functions}
    return [node for node in nodes if node not in used]


def shape_and_dtype(tensor: Tensor) -> Meta:
    """The shape and the dtype of a tensor."""
    return tuple(tensor.shape), tensor.dtype._numpy


def _bind(
    model: Module, arguments: Sequence[Any]
) -> tuple[inspect.BoundArguments, dict[str, tuple[Tensor, Node | None]]]:
    """The arguments of `forward`, and their tensors by name, each with its node."""
    inputs: dict[str, tuple[Tensor, Node | None]] = {}

    def enter(name: str, tensor: Tensor) -> Tensor:
        # A copy: the model may write to its input, and a leaf would refuse that.
        tensor = tensor.detach().requires_grad_(tensor.is_floating_point()).clone()
        inputs[name] = tensor, tensor.grad_fn
        return tensor

    bound = inspect.signature(model.forward).bind(*arguments)
    for name, value in bound.arguments.items():
        bound.arguments[name] = map_tensors(enter, value, name)
    return bound, inputs


def map_tensors(function: Callable[[str, Tensor], Any], value: Any, name: str) -> Any:
    """``value`` with `function(name, tensor)` for each tensor in nested containers."""
    if isinstance(value, Tensor):
        return function(name, value)
    if isinstance(value, dict):
        return {
            key: map_tensors(function, item, f"{name}_{escape_name(str(key))}")
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        items = [map_tensors(function, item, f"{name}_{i}") for i, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


@contextmanager
def evaluation(model: Module) -> Iterator[None]:
    """A block in which the model is in evaluation mode and no parameter is frozen.

    In evaluation mode the pass neither updates running statistics nor draws random numbers.
    """
    before = [(module, module.training) for module in model.modules()]
    frozen = [p for p in model.parameters() if not p.requires_grad and p.is_floating_point()]
    try:
        for module, _ in before:
            module.training = False
        for parameter in frozen:
            parameter.requires_grad_(True)
        yield
    finally:
        for module, training in before:
            module.training = training
        for parameter in frozen:
            parameter.requires_grad_(False)


# The graphs of a trace that TensorBoard draws: a box per module, a node per operation.
#
# Edges have the real shapes. Parameters are in the box of the module that owns them. TensorBoard
# colours a graph by its profile: the time and memory of each operation.


class ForwardGraph(Nodes):
    """The forward pass of a trace."""

    def __init__(self, model: Module, trace: Trace) -> None:
        super().__init__()
        self.trace = trace
        self._names: dict[Node, str] = {}
        self.inputs: dict[Node, str] = {}
        # Tensors that no operation made: parameters, buffers, integer inputs.
        self._sources: dict[int, str] = {}
        self._buffers = {id(buffer): name for name, buffer in model.named_buffers()}
        self._paths = {dotted: trace.scopes.paths[m] for dotted, m in model.named_modules()}
        for name, (tensor, node) in trace.inputs.items():
            source = self._add_source(f"input/{escape_name(name)}", "Placeholder", tensor)
            if node is not None:
                self._names[node] = self.inputs[node] = source
        for name, parameter in model.named_parameters():
            self._add_source(self._owned(name), "Parameter", parameter)
        self.recorded = self._recorded()
        for node in self.recorded:
            self._add_operation(node)
        for name, ((target, number), shape) in trace.outputs.items():
            inputs = [self._output(target, number)] if target is not None else []
            self.add(f"output/{name}", "Output", inputs, [shape])

    def _recorded(self) -> list[Node]:
        """The nodes between inputs and outputs, oldest first."""
        nodes = reachable_nodes(root for (root, _), _ in self.trace.outputs.values())
        inner = (n for n in nodes if n not in self._names and not isinstance(n, AccumulateGrad))
        return sorted(inner, key=lambda node: node._sequence)

    def _add_operation(self, node: Node) -> None:
        scope = self.scope(node)
        op = "Identity" if node in self.trace.scopes.identities else operation(node)
        attributes = {"backward": node.name()}
        measured = self.trace.measured.forward.get(node)
        if measured is not None and measured.source:
            attributes["source"] = measured.source
        edges = [(target, number) for target, number in node.next_functions if target is not None]
        inputs = [self._output(target, number, scope) for target, number in edges]
        inputs += [self.name_of_source(tensor) for tensor in self._unrecorded(node)]
        nanoseconds = 0 if measured is None else measured.nanoseconds
        self._names[node] = self.add(
            join_names(scope, label(op)),
            op,
            inputs,
            node._outputs,
            nanoseconds,
            is_view(node),
            **attributes,
        )

    def scope(self, node: Node) -> str:
        """The box of an operation: a module's, or that of a function of several operations."""
        scope, seen = self.trace.scopes.at(node._sequence), self.trace.measured.forward.get(node)
        function = "" if scope or seen is None else seen.function
        return scope if function == label(operation(node)) else scope or function

    def _unrecorded(self, node: Node) -> Iterator[Tensor]:
        """The buffers, and inputs without history, that an operation saves."""
        edges = {id(t.variable) for t, _ in node.next_functions if isinstance(t, AccumulateGrad)}
        measured = self.trace.measured.forward.get(node)
        for tensor in () if measured is None else measured.kept:
            known = id(tensor) in self._sources or id(tensor) in self._buffers
            if known and id(tensor) not in edges and edge_of(tensor)[0] is None:
                yield tensor

    def _output(self, node: Node, number: int, scope: str = "") -> str:
        """The name of output `number` of a node, as an input of another."""
        if isinstance(node, AccumulateGrad):
            return self.name_of_source(node.variable, scope)
        return f"{self._names[node]}:{number}" if number else self._names[node]

    def name_of_source(self, tensor: Tensor, scope: str = "") -> str:
        """The name of a tensor that no operation made; adds a node for it if there is none."""
        name = self._sources.get(id(tensor))
        if name is not None:
            return name
        if id(tensor) in self._buffers:
            return self._add_source(self._owned(self._buffers[id(tensor)]), "Buffer", tensor)
        return self._add_source(
            join_names(scope or self.trace.scopes.outside, "leaf"), "Leaf", tensor
        )

    def _add_source(self, name: str, op: str, tensor: Tensor) -> str:
        added = self.add(name, op, [], [shape_and_dtype(tensor)])
        self._sources[id(tensor)] = added
        return added

    def _owned(self, dotted: str) -> str:
        owner, _, attribute = dotted.rpartition(".")
        return join_names(self._paths[owner], attribute)


class BackwardGraph(Nodes):
    """The backward pass of a trace: gradients flow from the outputs to the leaves."""

    def __init__(self, forward: ForwardGraph) -> None:
        super().__init__()
        self._forward, self._trace = forward, forward.trace
        # By node: the names of the gradients that arrive there.
        self._arriving: dict[Node, list[str]] = {}
        ran = self._trace.measured.backward
        for name, ((root, _), shape) in self._trace.outputs.items():
            if root in ran:
                source = self.add(f"gradient/{name}", "Placeholder", [], [shape])
                self._arriving.setdefault(root, []).append(source)
        for node in reversed(forward.recorded):
            if node in ran and node in self._arriving:
                self._add_formulas(node, ran[node])
        recorded = set(forward.recorded)
        for node, inputs in self._arriving.items():
            if node not in recorded:
                self._add_end(node, inputs)

    def _add_formulas(self, node: Node, nanoseconds: int) -> None:
        op, forward = visible_name(node.name()), operation(node)
        own = label(forward) if op == forward else f"{label(forward)}_backward"
        edges = node.next_functions
        nothing = ((0,), node._outputs[0][1])  # the gradient of an input that needs none
        outputs = [nothing if target is None else target._outputs[k] for target, k in edges]
        arriving = self._arriving[node]
        path = join_names(self._forward.scope(node), own)
        name = self.add(path, op, arriving, outputs, nanoseconds, is_view(node))
        for position, (target, _) in enumerate(edges):
            if target is not None:
                output = f"{name}:{position}" if position else name
                self._arriving.setdefault(target, []).append(output)

    def _add_end(self, node: Node, inputs: list[str]) -> None:
        """Add the gradient of a leaf, or of an input."""
        measured = self._trace.measured
        nanoseconds = measured.backward.get(node, 0)
        if isinstance(node, AccumulateGrad):
            leaf = node.variable
            name = self._forward.name_of_source(leaf)
            nanoseconds = nanoseconds or measured.leaves.get(id(leaf), 0)
            self.add(f"{name}.grad", "AccumulateGrad", inputs, [shape_and_dtype(leaf)], nanoseconds)
        elif node in self._forward.inputs:
            name = self._forward.inputs[node]
            self.add(f"{name}.grad", "Gradient", inputs, node._outputs[:1])


def is_view(node: Node) -> bool:
    """Whether an operation returns a view, which has no memory of its own."""
    return bool(getattr(getattr(node, "op", None), "view", False))
