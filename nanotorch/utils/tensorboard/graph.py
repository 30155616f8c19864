"""A traced model as the graphs that TensorBoard draws: a box per module, a node per operation.

Edges carry the real shapes. Parameters stand in the box of the module that owns them. Besides each
graph there is a profile, by which TensorBoard colours it: the time and memory of each operation.
"""

from collections.abc import Iterator

from nanotorch._core.graph import AccumulateGrad, Node
from nanotorch._core.tensor import Tensor
from nanotorch._core.views import edge_of
from nanotorch.nn.module import Module
from nanotorch.utils.tensorboard.nodes import Nodes, label, operation, visible
from nanotorch.utils.tensorboard.scopes import safe
from nanotorch.utils.tensorboard.trace import Trace, meta


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
            source = self._add_source(f"input/{safe(name)}", "Placeholder", tensor)
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
        """Return the nodes between inputs and outputs, oldest first."""
        found: dict[Node, None] = {}
        for (root, _), _ in self.trace.outputs.values():
            if root is not None:
                found[root] = None
        queue = list(found)
        for node in queue:  # the list grows while the loop runs
            if node in self._names:
                continue
            for target, _ in node.next_functions:
                if target is not None and target not in found:
                    found[target] = None
                    queue.append(target)
        inner = (n for n in found if n not in self._names and not isinstance(n, AccumulateGrad))
        return sorted(inner, key=lambda node: node._sequence)

    def _add_operation(self, node: Node) -> None:
        scope = self.trace.scopes.at(node._sequence)
        op = "Identity" if node in self.trace.scopes.identities else operation(node)
        attributes = {"backward": node.name()}
        measured = self.trace.measured.forward.get(node)
        if measured is not None and measured.source:
            attributes["source"] = measured.source
        inputs = [
            self._output(target, number, scope)
            for target, number in node.next_functions
            if target is not None
        ]
        inputs += [self.name_of_source(tensor) for tensor in self._unrecorded(node)]
        self._names[node] = self.add(
            f"{scope}/{label(op)}",
            op,
            inputs,
            node._outputs,
            nanoseconds=0 if measured is None else measured.nanoseconds,
            shared=is_view(node),
            **attributes,
        )

    def _unrecorded(self, node: Node) -> Iterator[Tensor]:
        """Yield the buffers and inputs without history that an operation keeps."""
        edges = {id(t.variable) for t, _ in node.next_functions if isinstance(t, AccumulateGrad)}
        measured = self.trace.measured.forward.get(node)
        for tensor in () if measured is None else measured.kept:
            known = id(tensor) in self._sources or id(tensor) in self._buffers
            if known and id(tensor) not in edges and edge_of(tensor)[0] is None:
                yield tensor

    def _output(self, node: Node, number: int, scope: str = "") -> str:
        """Return how output `number` of a node is named as an input of another."""
        if isinstance(node, AccumulateGrad):
            return self.name_of_source(node.variable, scope)
        return f"{self._names[node]}:{number}" if number else self._names[node]

    def name_of_source(self, tensor: Tensor, scope: str = "") -> str:
        """Return the name of a tensor that no operation made; it gets one if it has none."""
        name = self._sources.get(id(tensor))
        if name is not None:
            return name
        if id(tensor) in self._buffers:
            return self._add_source(self._owned(self._buffers[id(tensor)]), "Buffer", tensor)
        return self._add_source(f"{scope or self.trace.scopes.root}/leaf", "Leaf", tensor)

    def _add_source(self, name: str, op: str, tensor: Tensor) -> str:
        added = self.add(name, op, [], [meta(tensor)])
        self._sources[id(tensor)] = added
        return added

    def _owned(self, dotted: str) -> str:
        owner, _, attribute = dotted.rpartition(".")
        return f"{self._paths[owner]}/{safe(attribute)}"


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
        op, forward = visible(node.name()), operation(node)
        scope = self._trace.scopes.at(node._sequence)
        own = label(forward) if op == forward else f"{label(forward)}_backward"
        edges = node.next_functions
        nothing = ((0,), node._outputs[0][1])  # the gradient of what has none
        name = self.add(
            f"{scope}/{own}",
            op,
            self._arriving[node],
            [nothing if target is None else target._outputs[k] for target, k in edges],
            nanoseconds,
            shared=is_view(node),
        )
        for position, (target, _) in enumerate(edges):
            if target is not None:
                output = f"{name}:{position}" if position else name
                self._arriving.setdefault(target, []).append(output)

    def _add_end(self, node: Node, inputs: list[str]) -> None:
        """Add a leaf's gradient, or an input's."""
        measured = self._trace.measured
        nanoseconds = measured.backward.get(node, 0)
        if isinstance(node, AccumulateGrad):
            leaf = node.variable
            name = self._forward.name_of_source(leaf)
            nanoseconds = nanoseconds or measured.leaves.get(id(leaf), 0)
            self.add(f"{name}.grad", "AccumulateGrad", inputs, [meta(leaf)], nanoseconds)
        elif node in self._forward.inputs:
            name = self._forward.inputs[node]
            self.add(f"{name}.grad", "Gradient", inputs, node._outputs[:1])


def is_view(node: Node) -> bool:
    """Whether an operation gives a view, which takes no memory of its own."""
    return bool(getattr(getattr(node, "op", None), "view", False))
