"""A traced model as the graph that TensorBoard draws: one box per module, one node per operation.

Edges carry the real shapes. Parameters stand in the box of the module that owns them. Besides the
graph there is a profile, by which TensorBoard colours it: the time and memory of each operation.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

from nanotorch._core.graph import AccumulateGrad, FreedValues, Node
from nanotorch._core.tensor import Tensor
from nanotorch._core.views import edge_of
from nanotorch.nn.module import Module
from nanotorch.utils.tensorboard.protos import protos
from nanotorch.utils.tensorboard.run_metadata import OpStats, run_metadata
from nanotorch.utils.tensorboard.trace import Trace, safe

TYPES = {"float16": "DT_HALF", "float32": "DT_FLOAT", "float64": "DT_DOUBLE"}


class GraphBuilder:
    """Turns a trace into TensorBoard's nodes."""

    def __init__(self, model: Module, trace: Trace) -> None:
        self.trace = trace
        self.nodes: list[Any] = []
        self.stats: list[OpStats] = []
        self._taken: set[str] = set()
        self._names: dict[Node, str] = {}
        # Tensors that no operation made: parameters, buffers, integer inputs.
        self._sources: dict[int, str] = {}
        self._buffers = {id(buffer): name for name, buffer in model.named_buffers()}
        self._paths = {dotted: trace.scopes.paths[m] for dotted, m in model.named_modules()}
        self._add_inputs()
        for name, parameter in model.named_parameters():
            self._add_source(self._owned(name), "Parameter", parameter)
        for node in self._recorded():
            self._add_operation(node)
        for name, tensor in trace.outputs.items():
            target, number = edge_of(tensor)
            inputs = [self._output(target, number)] if target is not None else []
            self._add(f"output/{name}", "Output", inputs, [_meta(tensor)])

    def graph_def(self) -> Any:
        """Return the graph."""
        return protos().GraphDef(node=self.nodes, versions=protos().VersionDef(producer=22))

    def profile(self) -> bytes:
        """Return the time and memory of the operations, as a serialised `RunMetadata`."""
        return run_metadata(self.stats)

    def _add_inputs(self) -> None:
        for name, (tensor, node) in self.trace.inputs.items():
            source = self._add_source(f"input/{safe(name)}", "Placeholder", tensor)
            if node is not None:
                self._names[node] = source

    def _recorded(self) -> list[Node]:
        """Return the nodes between inputs and outputs, oldest first."""
        found: dict[Node, None] = {}
        for tensor in self.trace.outputs.values():
            if (root := edge_of(tensor)[0]) is not None:
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
        measured = self.trace.measured.get(node)
        if measured is not None and measured.source:
            attributes["source"] = measured.source
        inputs = [
            self._output(target, number, scope)
            for target, number in node.next_functions
            if target is not None
        ]
        inputs += [self._name_of_source(tensor) for tensor in self._unrecorded(node)]
        self._names[node] = self._add(
            f"{scope}/{label(op)}",
            op,
            inputs,
            node._outputs,
            nanoseconds=0 if measured is None else measured.nanoseconds,
            shared=bool(getattr(getattr(node, "op", None), "view", False)),
            **attributes,
        )

    def _unrecorded(self, node: Node) -> Iterator[Tensor]:
        """Yield the buffers and integer inputs that an operation keeps for its formulas."""
        edges = {id(t.variable) for t, _ in node.next_functions if isinstance(t, AccumulateGrad)}
        for kept in () if isinstance(node._saved, FreedValues) else node._saved:
            tensor = kept[0] if isinstance(kept, tuple) and kept else None
            if isinstance(tensor, Tensor) and id(tensor) not in edges:
                known = id(tensor) in self._sources or id(tensor) in self._buffers
                if known and edge_of(tensor)[0] is None:
                    yield tensor

    def _output(self, node: Node, number: int, scope: str = "") -> str:
        """Return how output `number` of a node is named as an input of another."""
        if isinstance(node, AccumulateGrad):
            return self._name_of_source(node.variable, scope)
        return f"{self._names[node]}:{number}" if number else self._names[node]

    def _name_of_source(self, tensor: Tensor, scope: str = "") -> str:
        name = self._sources.get(id(tensor))
        if name is not None:
            return name
        if id(tensor) in self._buffers:
            return self._add_source(self._owned(self._buffers[id(tensor)]), "Buffer", tensor)
        return self._add_source(f"{scope or self.trace.scopes.root}/leaf", "Leaf", tensor)

    def _add_source(self, name: str, op: str, tensor: Tensor) -> str:
        added = self._add(name, op, [], [_meta(tensor)])
        self._sources[id(tensor)] = added
        return added

    def _owned(self, dotted: str) -> str:
        owner, _, attribute = dotted.rpartition(".")
        return f"{self._paths[owner]}/{safe(attribute)}"

    def _add(
        self,
        name: str,
        op: str,
        inputs: list[str],
        outputs: Any,
        nanoseconds: int = 0,
        shared: bool = False,
        **attributes: str,
    ) -> str:
        """Append a node under a name like `name`, which is returned.

        Args:
            outputs: shape and dtype of each.
            shared: whether the outputs are views and take no memory of their own.
            attributes: shown beside the graph when the node is selected.
        """
        p = protos()
        unique, count = name, 0
        while unique in self._taken:
            count += 1
            unique = f"{name}_{count}"
        self._taken.add(unique)
        shapes = [p.TensorShapeProto(dim=[_dim(size) for size in shape]) for shape, _ in outputs]
        attr = {
            "_output_shapes": p.AttrValue(list=p.AttrValue.ListValue(shape=shapes)),
            "T": p.AttrValue(type=_data_type(outputs[0][1])),
        }
        attr |= {key: p.AttrValue(s=value.encode()) for key, value in attributes.items()}
        self.nodes.append(p.NodeDef(name=unique, op=op, input=inputs, attr=attr))
        size = 0 if shared else sum(math.prod(shape) * dtype.itemsize for shape, dtype in outputs)
        self.stats.append(OpStats(unique, nanoseconds, size))
        return unique


def operation(node: Node) -> str:
    """Return the name of the operation that made a node: `AddmmBackward0` is from `Addmm`.

    TensorBoard draws whatever has `Const` in its name as a dot without inputs, so that padding
    with a constant loses the word.
    """
    name = re.sub(r"Backward\d*$", "", node.name())
    return re.sub(r"Const(ant)?", "", name) or "Op"


def label(op: str) -> str:
    """`LogSoftmax` -> `log_softmax`."""
    return safe(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", op).lower())


def _meta(tensor: Tensor) -> tuple[tuple[int, ...], Any]:
    return tuple(tensor.shape), tensor.dtype.numpy


def _dim(size: int) -> Any:
    return protos().TensorShapeProto.Dim(size=int(size))


def _data_type(dtype: Any) -> int:
    name = TYPES.get(dtype.name, f"DT_{dtype.name.upper()}")
    return int(protos().DataType.Value(name))
