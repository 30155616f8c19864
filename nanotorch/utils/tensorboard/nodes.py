"""Nodes of a graph as TensorBoard draws it, with the time and memory of each."""

import math
import re
from dataclasses import replace
from typing import Any

from nanotorch._core.graph import Node
from nanotorch.utils.tensorboard.protos import protos
from nanotorch.utils.tensorboard.run_metadata import OpStats, run_metadata
from nanotorch.utils.tensorboard.scopes import safe

TYPES = {"float16": "DT_HALF", "float32": "DT_FLOAT", "float64": "DT_DOUBLE"}


# TensorBoard stacks nodes of one box and kind whose names differ in the number at their end, from 5
# on, and takes them out of the flow: good for an unrolled loop, bad for five views of an attention.
STACKED = 5
LOOP = 12


class Nodes:
    """A graph to which nodes are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.stats: list[OpStats] = []
        self._taken: set[str] = set()
        # By name: the numbers of those that have got one, as the name was taken.
        self._numbers: dict[str, list[int]] = {}

    def graph_def(self) -> Any:
        """Return the graph."""
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
        """Return the graph with the time and memory of its nodes, as a serialised `RunMetadata`."""
        names = self._apart()
        stats = [replace(one, name=names.get(one.name, one.name)) for one in self.stats]
        return run_metadata(stats, self.graph_def().SerializeToString())

    def _apart(self) -> dict[str, str]:
        """Names of nodes that are not to be stacked, by those they were added under."""
        return {
            f"{name}_{number}": f"{name}[{number}]"
            for name, numbers in self._numbers.items()
            if STACKED <= len(numbers) < LOOP
            for number in numbers
        }

    def add(
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
        unique = name
        while unique in self._taken:
            numbers = self._numbers.setdefault(name, [])
            numbers.append(numbers[-1] + 1 if numbers else 1)
            unique = f"{name}_{numbers[-1]}"
        self._taken.add(unique)
        shapes = [p.TensorShapeProto(dim=[_dim(size) for size in shape]) for shape, _ in outputs]
        attr = {"_output_shapes": p.AttrValue(list=p.AttrValue.ListValue(shape=shapes))}
        if outputs:
            attr["T"] = p.AttrValue(type=data_type(outputs[0][1]))
        attr |= {key: p.AttrValue(s=value.encode()) for key, value in attributes.items()}
        self.nodes.append(p.NodeDef(name=unique, op=op, input=inputs, attr=attr))
        size = 0 if shared else sum(math.prod(shape) * dtype.itemsize for shape, dtype in outputs)
        self.stats.append(OpStats(unique, nanoseconds, size))
        return unique


def operation(node: Node) -> str:
    """Return the name of the operation that made a node: `AddmmBackward0` is from `Addmm`."""
    return visible(re.sub(r"Backward\d*$", "", node.name()))


def visible(op: str) -> str:
    """The name of an operation without what TensorBoard would draw as a dot without inputs.

    It does so with whatever has `Const` in its name, padding with a constant among it.
    """
    return re.sub(r"Const(ant)?", "", op.rpartition("::")[2]) or "Op"


def label(op: str) -> str:
    """`LogSoftmax` -> `log_softmax`, `MaxPool2DWithIndices` -> `max_pool2d_with_indices`."""
    return safe(re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", op).lower())


def _dim(size: int) -> Any:
    return protos().TensorShapeProto.Dim(size=int(size))


def data_type(dtype: Any) -> int:
    """TensorFlow's number of a NumPy dtype."""
    name = TYPES.get(dtype.name, f"DT_{dtype.name.upper()}")
    return int(protos().DataType.Value(name))
