"""The recorded graph as plain data: boxes and the links between them.

What is drawn and in which order is torchviz's convention: one box per node of the graph, one per
leaf, per output, per base of an output that is a view, and on request one per saved tensor. Boxes
hold texts only, so that a picture keeps no tensor alive and stays right when the graph changes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from nanotorch._core.anomaly import TRACE
from nanotorch._core.graph import MODIFIED, AccumulateGrad, FreedValues, Node
from nanotorch._core.op import SAVED_AS, OpNode
from nanotorch._core.tensor import Tensor

BoxKind = Literal["op", "leaf", "saved", "output", "base", "cut"]
# "saved" and "kept" are both from a saved tensor to the node that holds it; torchviz turns the
# links of declared operations around, but not those of a user's function.
LinkKind = Literal["flow", "saved", "kept", "view"]

# PyTorch's names for what our declarations call differently.
LONGEST_DETAIL = 200


class Box(NamedTuple):
    """One node of the picture.

    Attributes:
        title: the class of a node, or the name of a tensor.
        shapes: of the tensor, or of the node's outputs.
        attributes: what a node keeps, by name, where that was asked for.
        details: more about it, line by line.
    """

    kind: BoxKind
    title: str
    shapes: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    details: str = ""


class Link(NamedTuple):
    """One edge of the picture, in the direction in which values flow.

    Attributes:
        label: the output's number, where the source has several, or the name under which a value
            is saved, where its box does not say it.
    """

    source: str
    target: str
    kind: LinkKind = "flow"
    label: str = ""


class Graph:
    """A picture's boxes, by keys that are the same for the same object, its links and outputs."""

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {}
        self.links: list[Link] = []
        self.outputs: list[str] = []

    def arriving(self) -> dict[str, list[Link]]:
        """The links that lead to each box, in the order of the node's inputs."""
        found: dict[str, list[Link]] = {key: [] for key in self.boxes}
        for link in self.links:
            found[link.target].append(link)
        return found


def key_of(thing: object) -> str:
    """The key of a node's or tensor's box."""
    return str(id(thing))


def printable(text: str) -> str:
    """``text`` on one line, with whatever could disturb its display as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shape_text(shape: Iterable[int]) -> str:
    """``(3, 4)``; of one dimension ``(3)``, as torchviz has it."""
    return f"({', '.join(map(str, shape))})"


def value_text(value: Any) -> str:
    """A tensor by dtype and shape, anything else by its text."""
    array = value._array if isinstance(value, Tensor) else value
    if isinstance(array, np.ndarray):
        return f"{array.dtype.name} {shape_text(array.shape)}"
    return attribute_text(value)


def attribute_text(value: Any) -> str:
    """What stands for a saved value in a node's table."""
    if isinstance(value, (Tensor, np.ndarray)):
        return "[saved tensor]"
    if isinstance(value, (tuple, list)) and any(
        isinstance(part, (Tensor, np.ndarray)) for part in value
    ):
        return "[saved tensors]"
    return printable(str(value))


def shortened(text: str, longest: int) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def named_tensors(params: Any) -> dict[int, str]:
    """Names of tensors by `id`.

    Args:
        params: a mapping from names to tensors, pairs of them, a module, or None.

    Raises:
        TypeError: if what is named is no tensor.
    """
    if params is None:
        return {}
    if hasattr(params, "named_parameters"):
        params = [*params.named_buffers(), *params.named_parameters()]
    elif isinstance(params, Mapping):
        params = params.items()
    names = {}
    for name, tensor in params:
        if not isinstance(tensor, Tensor):
            kind = type(tensor).__name__
            raise TypeError(f"params: expected '{name}' to be a Tensor, got {kind}")
        names[id(tensor)] = printable(str(name))
    return names


class Freed:
    """Stands for a saved value that can no longer be read."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __str__(self) -> str:
        return f"[{self.why}]"


def saved_values(node: Node) -> list[tuple[str, Any]]:
    """What a declared operation's node keeps, under PyTorch's names where those differ.

    A value that has been freed, or written to since, is a `Freed`.
    """
    if not isinstance(node, OpNode):
        return []
    values = []
    for name, _ in node.op.recipe:
        known_as = SAVED_AS.get(name, name)
        if name == "input" and "weight" in node.op.formulas:
            known_as = name  # layers keep their `input` under that name in PyTorch, too
        values.append((known_as, saved_value(node, name)))
    return sorted(values, key=lambda pair: pair[0])


def saved_value(node: OpNode, name: str) -> Any:
    """One value of the node's recipe, or a `Freed`."""
    if isinstance(node._saved, FreedValues):
        return Freed("freed")
    try:
        return node.op.saved_value(node, name)
    except RuntimeError as error:
        # Anything else was raised by the user's own function that unpacks saved tensors.
        if not str(error).startswith(MODIFIED.partition("{")[0]):
            raise
        return Freed("modified in place")


class Walk:
    """Collects the graph behind some outputs.

    Args:
        names: of tensors, by `id`.
        show_attrs: put what nodes keep into their boxes.
        show_saved: give saved tensors boxes of their own.
        max_attr_chars: the longest text for one value.
    """

    def __init__(
        self,
        names: Mapping[int, str],
        show_attrs: bool = False,
        show_saved: bool = False,
        max_attr_chars: int = 50,
    ) -> None:
        self.names, self.show_attrs, self.show_saved = names, show_attrs, show_saved
        self.longest = max(max_attr_chars, 3)
        self.graph = Graph()
        # Tensors made by reading saved values: while they live, no other gets their `id`.
        self.held: list[Tensor] = []

    def add_output(self, tensor: Tensor) -> None:
        """Add an output, everything behind it, and its base if it is a view."""
        key = key_of(tensor)
        if key not in self.graph.outputs:
            self.graph.outputs.append(key)
        known = self.graph.boxes.get(key)
        if known is not None and known.kind != "saved":
            return
        self.add_tensor(tensor, "output")
        base = tensor._base
        if base is not None:
            if key_of(base) not in self.graph.boxes:
                self.add_tensor(base, "base")
            self.link(base, tensor, "view")

    def add_tensor(self, tensor: Tensor, kind: BoxKind) -> None:
        """Add a tensor's box and everything behind it."""
        self.box_tensor(tensor, kind)
        node = tensor.grad_fn
        if node is not None:
            self.add_node(node)
            self.link(node, tensor, label=self.number(node, tensor.output_nr))

    def add_node(self, root: Node) -> None:
        """Add a node and everything behind it, each node after those it was reached from."""
        if not self.enter(root):
            return
        path = [(root, iter(root.next_functions))]
        while path:
            node, edges = path[-1]
            for target, number in edges:
                if target is None:
                    continue
                self.link(target, node, label=self.number(target, number))
                if self.enter(target):
                    path.append((target, iter(target.next_functions)))
                    break
            else:
                self.add_kept(node)
                path.pop()

    def enter(self, node: Node) -> bool:
        """Add a node's own boxes; False if they are there already."""
        key = key_of(node)
        if key in self.graph.boxes:
            return False
        # Reading packed values calls the user's functions, which is done only when asked for.
        readable = self.show_attrs or self.show_saved or type(node._saved) is tuple
        values = saved_values(node) if readable or isinstance(node._saved, FreedValues) else []
        if self.show_saved:
            self.add_saved(node, values)
        if isinstance(node, AccumulateGrad):
            self.box_tensor(node.variable, "leaf")
            self.link(node.variable, node)
        attributes = tuple(
            (name, shortened(attribute_text(value), self.longest))
            for name, value in values
            if self.show_attrs
        )
        shapes = tuple(shape_text(shape) for shape, _ in node._outputs)
        title = printable(type(node).__name__)
        details = "\n".join(node_details(node, values))
        self.graph.boxes[key] = Box("op", title, shapes, attributes, details)
        return True

    def add_saved(self, node: Node, values: Iterable[tuple[str, Any]]) -> None:
        """Add boxes for the tensors that an operation keeps."""
        for name, value in values:
            if isinstance(value, Tensor):
                self.add_value(node, value, name, "saved")
            elif isinstance(value, tuple):
                for i, part in enumerate(value):
                    if isinstance(part, Tensor):
                        self.add_value(node, part, f"{name}[{i}]", "saved")

    def add_kept(self, node: Node) -> None:
        """Add boxes for the tensors that a user's function keeps."""
        if isinstance(node, (OpNode, AccumulateGrad)) or not hasattr(type(node), "saved_tensors"):
            return
        try:
            kept: Any = node.saved_tensors  # type: ignore[attr-defined]
        except RuntimeError:  # freed, which is no reason not to draw the rest
            return
        for tensor in kept or ():
            if isinstance(tensor, Tensor):
                self.add_value(node, tensor, "", "kept")

    def add_value(self, node: Node, tensor: Tensor, name: str, kind: LinkKind) -> None:
        """Add the box of a saved tensor, unless it has one, and link it to its node."""
        self.held.append(tensor)
        if key_of(tensor) not in self.graph.boxes:
            self.box_tensor(tensor, "saved", name)
        self.link(tensor, node, kind, name)

    def finished(self) -> Graph:
        """The graph, without the labels of links that repeat what their box says."""
        boxes = self.graph.boxes
        self.graph.links = [
            link._replace(label="")
            if link.kind in ("saved", "kept") and link.label == boxes[link.source].title
            else link
            for link in self.graph.links
        ]
        return self.graph

    def box_tensor(self, tensor: Tensor, kind: BoxKind, name: str = "") -> None:
        """Add or replace a tensor's box; a name that the user has given goes before any other."""
        title = self.names.get(id(tensor), "" if kind == "leaf" else name)
        shape = shape_text(tensor._array.shape)
        details = "\n".join(tensor_details(tensor, kind, title))
        self.graph.boxes[key_of(tensor)] = Box(kind, title, (shape,), (), details)

    def link(self, source: Any, target: Any, kind: LinkKind = "flow", label: str = "") -> None:
        self.graph.links.append(Link(key_of(source), key_of(target), kind, label))

    def number(self, node: Node, number: int) -> str:
        """How a link says which output of a node it comes from: nothing if there is only one."""
        return str(number) if len(node._outputs) > 1 else ""


def node_details(node: Node, values: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Lines about a node."""
    yield node.name()
    several = len(node._outputs) > 1
    for number, (shape, dtype) in enumerate(node._outputs):
        yield f"output{f' {number}' if several else ''}: {dtype.name} {shape_text(shape)}"
    for name, value in values:
        yield shortened(f"saved {name}: {value_text(value)}", LONGEST_DETAIL)
    trace = vars(node).get("_metadata", {}).get(TRACE)
    if trace:  # anomaly mode was on
        yield from (printable(line.strip()) for line in trace[-1].splitlines())


def tensor_details(tensor: Tensor, kind: BoxKind, title: str) -> Iterator[str]:
    """Lines about a tensor."""
    words = {"leaf": "leaf", "saved": "saved tensor", "output": "output", "base": "base of a view"}
    yield f"{words[kind]} {title}".rstrip()
    yield f"{value_text(tensor)}, {tensor._array.size:,} elements"
    if kind == "leaf":
        yield f"grad: {'none yet' if tensor._grad is None else value_text(tensor._grad)}"
