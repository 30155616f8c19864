"""The recorded graph as text: values, formulas, boxes and links, and the tree of `print_graph`."""

import ast
import copy
import functools
import re
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from types import CodeType
from typing import Any, Literal, NamedTuple

import numpy as np

from nanotorch._core.arguments import EMPTY
from nanotorch._core.bfloat16 import widen
from nanotorch._core.call_site import call_site_of, tensors_in
from nanotorch._core.graph import (
    MODIFIED,
    AccumulateGrad,
    CopySlices,
    Edge,
    FreedValues,
    Node,
    replay_steps,
    version_of,
)
from nanotorch._core.op import SAVED_AS, Op, OpNode
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.anomaly import TRACE
from nanotorch.autograd.function import BackwardCFunction

# Values and calls as short texts.


NUMBERS = (bool, int, float, str, np.generic)  # and words, such as "mean"
SMALL = 8  # the most elements of a tensor that is written out
DIGITS = 5  # of a number
UNKNOWN = "\N{HORIZONTAL ELLIPSIS}"  # an argument that the graph does not keep
OF_MEMORY = ("dtype", "memory_format")  # options that change no number, except by rounding
LONGEST_NAME = 8  # the longest name of an operation that precedes its node's name
SYMBOLS = {"add": "+", "sub": "\N{MINUS SIGN}", "mul": "\N{MULTIPLICATION SIGN}"}
SYMBOLS |= {"div": "\N{DIVISION SIGN}", "pow": "**"} | dict.fromkeys(("matmul", "mm", "bmm"), "@")


def short_value(value: Any) -> str:
    """A number, a tensor or several as text: all elements up to `SMALL`, else min, mean, max."""
    if isinstance(value, (tuple, list)):
        return tuple_text(map(short_value, value))
    held = widen(getattr(value, "_array", value))
    if not isinstance(held, (float, np.floating, np.ndarray)):
        return repr(held) if isinstance(held, str) else str(held)
    array = np.asarray(held)
    if array.size > SMALL:
        double = array.astype(float)
        return f"min {double.min():.3g} mean {double.mean():.3g} max {double.max():.3g}"
    rounded: Any = np.vectorize(lambda v: float(f"{v:.{DIGITS}g}"), otypes=[float])
    return str((rounded(array) if array.dtype.kind == "f" else array).tolist())


def tuple_text(parts: Iterable[str]) -> str:
    """A tuple of these texts, as Python writes it."""
    listed = list(parts)
    return f"({', '.join(listed)}{',' * (len(listed) == 1)})"


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a word, or a tuple of these, such as a shape."""
    return all(map(is_plain, value)) if type(value) is tuple else isinstance(value, NUMBERS)


def is_short(value: Any) -> bool:
    """Whether a value is short enough to replace its name in a formula."""
    held = getattr(value, "_array", value)
    return held.size <= SMALL if isinstance(held, np.ndarray) else is_plain(held)


def parenthesize(text: str) -> str:
    """A text, in parentheses if it has a sign or a symbol between two operands."""
    depths = accumulate((c in "([") - (c in ")]") for c in text)
    outside = "".join(c for c, depth in zip(text, depths, strict=True) if not depth)
    infix = any(f" {symbol} " in outside for symbol in SYMBOLS.values())
    return f"({text})" if infix or text[:1] == "-" else text


def operands_of(op: Op) -> list[str]:
    """The names of the inputs, and of numbers in the place of one, such as an exponent."""
    required = [n for n in op.statics if op.arguments[n].default is EMPTY]
    before = list(op.arguments).index(op.inputs[0])
    numbers = required[: None if op.arithmetic else before]
    return [n for n in op.arguments if n in op.inputs or n in numbers]


def call_text(op: Any, name: str, operands: Mapping[str, str], given: Mapping[str, Any]) -> str:
    """The text of a call of an operation, with its symbol between two operands.

    Args:
        operands: the texts of the operands by parameter, without those that are None.
        given: the arguments that are known; options that differ from their defaults appear by name.
    """
    places = operands_of(op) if op else list(operands)
    listed = [n for n, place in zip(operands, places, strict=False) if n == place]
    texts = [operands[n] if n in listed else f"{n}={operands[n]}" for n in operands]
    options = []
    for key, argument in op.arguments.items() if op else ():
        if key in places or key in OF_MEMORY:
            continue
        value = given.get(key, argument.default)
        if key not in given or not (is_short(value) or value is argument.default):
            options.append(f"{key}={UNKNOWN}")
        elif value is not argument.default and not (is_plain(value) and value == argument.default):
            options.append(f"{key}={short_value(value)}")
    if name in SYMBOLS and len(listed) == len(texts) == 2 and not options:
        return f" {SYMBOLS[name]} ".join(map(parenthesize, texts))
    return f"{name}({', '.join([*texts, *options])})"


# The facts known of a node.


VALUE, GRADIENT = "value", "grad"


class Seen:
    """The facts known of a node.

    Attributes:
        symbol: the operation's symbol, or its name if this is short.
        outputs, gradients: by output number, the `short_value`; "" if it is unknown.
        names: by output number, the name of the user's variable.
        call: the call that made the node, if this is short.
        constants: the name, shape and value of each operand without history.
    """

    def __init__(self, node: Node) -> None:
        name = getattr(op_of(node), "known_as", "")
        self.symbol = SYMBOLS.get(name, name if len(name) <= LONGEST_NAME else "")
        self.outputs, self.gradients, self.names = ([""] * len(node._outputs) for _ in range(3))
        self.call = ""
        self.constants: list[tuple[str, tuple[int, ...], str]] = []

    def rows(self) -> Iterator[tuple[str, str]]:
        """The rows of values in a box, numbered if the node has several outputs."""
        for name, texts in ((VALUE, self.outputs), (GRADIENT, self.gradients)):
            for number, text in enumerate(texts):
                if text:
                    yield f"{name} {number}" if len(texts) > 1 else name, text

    def add_constant(self, parameter: str, value: Any, name: str = "") -> None:
        """Add an operand without history.

        Args:
            parameter: the name of the operation's parameter.
            name: the name of the user's variable; "" for none.
        """
        shape = tuple(getattr(value, "shape", ()))
        title = name or (parameter if shape else "constant")
        self.constants.append((title, shape, short_value(value)))


def node_that_wrote(node: Node) -> Any:
    """The node itself; for the `CopySlices` of a write to a view, the node of the write."""
    saved: Any = node._saved
    return saved[0] if isinstance(node, CopySlices) and type(saved) is tuple else node


def op_of(node: Node) -> Any:
    """The declared operation of a node; None if it has none."""
    return getattr(type(node_that_wrote(node)), "op", None)


def saved_by(node: Node) -> dict[str, Any]:
    """The saved values of a node, by name, if they can be read without unpack hooks."""
    writer, values = node_that_wrote(node), {}
    if type(writer._saved) is tuple and isinstance(writer, BackwardCFunction):
        values = {f"saved[{k}]": saved and saved[0] for k, saved in enumerate(writer._saved)}
    elif type(writer._saved) is tuple and isinstance(writer, OpNode):
        for name, _ in writer.op.recipe:
            with suppress(RuntimeError):  # it was written to
                values[name] = writer.op.saved_value(writer, name)
    return values


def saved_edge(node: OpNode, name: str) -> Edge | None:
    """The edge to the tensor that a node saves as ``name``; None if it is not known."""
    kind, formulas = dict(node.op.recipe)[name], list(node.op.formulas)
    if kind == "out":
        return node, node.op.number_of(name)
    return node._edges[formulas.index(name)] if name in formulas and not node.together else None


def graph_facts(nodes: Iterable[Node], outputs: Mapping[Any, Tensor]) -> dict[Node, Seen]:
    """The facts known of a graph's nodes: what `explain` saw. Without it, the values that the graph
    saves, and the results of elementwise operations on them.

    Args:
        outputs: the tensors that are already known, by their edges.
    """
    in_order = sorted(nodes, key=lambda node: node._sequence)
    tensors: dict[Any, Any] = dict(outputs)
    for node in in_order:
        if isinstance(node, AccumulateGrad):
            tensors[node, 0] = node.variable
        tensors |= {(node, number): tensor for number, tensor in retained_tensors(node)}
        if isinstance(node, OpNode):
            for name, value in saved_by(node).items():
                edge = saved_edge(node, name) if isinstance(value, Tensor) else None
                # An operand that was written to, perhaps without a record, is no longer the
                # result of its node; a result is saved right after its own.
                if edge and (edge[0] is node or not version_of(value)):
                    tensors.setdefault(edge, value)
    tensors |= {None: None, (None, 0): None}  # a value without history has no edge
    nodes_seen = {}
    for node in in_order:
        nodes_seen[node] = seen = vars(node).get("_seen") or Seen(node)
        if isinstance(node, OpNode) and "_seen" not in vars(node):
            for name, value in saved_by(node).items():
                constant = isinstance(value, (Tensor, int, float)) and name in operands_of(node.op)
                if constant and saved_edge(node, name) in ((None, 0), None):
                    seen.add_constant(name, value)
            compute(node, tensors)
        for number in range(len(node._outputs)):
            if (tensor := tensors.get((node, number))) is not None:
                seen.outputs[number] = seen.outputs[number] or short_value(tensor)
                if tensor._grad is not None:
                    seen.gradients[number] = seen.gradients[number] or short_value(tensor._grad)
    return nodes_seen


def retained_tensors(node: Node) -> list[tuple[int, Tensor]]:
    """The living tensors that retain their gradients, with their output numbers."""
    hooks: dict[int, Any] = {} if node._hooks is None else node._hooks.retain
    return [(k, tensor) for k, hook in hooks.items() if (tensor := hook.args[0]()) is not None]


def compute(node: OpNode, tensors: dict[Any, Any]) -> None:
    """Add the result of an elementwise operation to ``tensors`` if all its arguments are known."""
    op, edges = node.op, zip(node.op.formulas, node._edges, strict=False)
    found = {name: tensors.get(edge) for name, edge in edges}
    # A tensor that was written to may have had another value at the call.
    given = {n: t for n, t in found.items() if t is not None and not version_of(t)} | saved_by(node)
    if (op.cast or op.arithmetic) and not op.variadic and given.keys() >= op.arguments.keys():
        arguments = {n: given[n] for n in op.arguments}
        arguments |= {n: t.detach() for n, t in arguments.items() if isinstance(t, Tensor)}
        with suppress(RuntimeError, TypeError, ValueError):  # the arguments have changed since
            tensors.setdefault((node, 0), op.functions[op.name](**arguments))


# Formulas as they are declared, and with numbers.


WORD = re.compile(r"(?<![.\w])[a-z_]\w*(?:\.shape)?\b(?!=)")  # also the shape of a value


@functools.cache
def declaration(code: CodeType) -> ast.Lambda | ast.FunctionDef:
    """The syntax tree of a formula; raises LookupError if its file has none."""
    names = list(code.co_varnames[: code.co_argcount])
    for found in ast.walk(tree_of(code.co_filename)):
        if isinstance(found, (ast.Lambda, ast.FunctionDef)) and (
            found.lineno == code.co_firstlineno and [a.arg for a in found.args.args] == names
        ):
            return found
    raise LookupError(code)


@functools.cache
def tree_of(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text("utf-8"))


class Taken(ast.NodeTransformer):
    """Reduces a formula for given values: to the branch that is taken, without local variables."""

    def __init__(self, names: dict[str, Any], values: Mapping[str, Any]) -> None:
        self.names, self.values = names, dict(values)
        self.local: dict[str, ast.expr] = {}

    def value(self, expression: ast.expr) -> Any:
        """The value of an expression."""
        code = compile(ast.Expression(expression), "<formula>", "eval")
        return eval(code, self.names, self.values)

    def result(self, body: Sequence[ast.stmt]) -> ast.expr:
        """The expression that statements return; raises LookupError for other statements."""
        first, *rest = body
        match first:
            case ast.Return(ast.expr() as value):
                return self.visit(value)
            case ast.Assign([ast.Name(name)], value):
                self.values[name] = self.value(value)
                self.local[name] = self.visit(value)
            case ast.If(test, then, otherwise):
                rest = [*(then if self.value(test) else otherwise), *rest]
            case ast.Expr(ast.Constant()):
                pass
            case _:
                raise LookupError(first)
        return self.result(rest)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        with suppress(Exception):  # the condition may differ between elements
            return self.visit(node.body if self.value(node.test) else node.orelse)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.local.get(node.id, node))

    def visit_Call(self, node: ast.Call) -> Any:
        if ast.unparse(node.func) == "pow_number":
            return self.generic_visit(ast.BinOp(node.args[0], ast.Pow(), node.args[1]))
        return self.generic_visit(node)


def expression(op: Op, name: str, values: Mapping[str, Any]) -> str:
    """The formula of an input for given values: an expression, or a call of it if that fails."""
    formula = op.formulas[name]
    position = f"[{list(op.formulas).index(name)}]" if op.joint else ""
    with suppress(Exception):  # the formula may not be an expression, or may fail
        source = copy.deepcopy(declaration(formula.__code__))
        body = [ast.Return(source.body)] if isinstance(source, ast.Lambda) else source.body
        found = Taken(formula.__globals__, values).result(body)
        if op.joint and isinstance(found, ast.Tuple):
            return ast.unparse(found.elts[list(op.formulas).index(name)])
        return ast.unparse(found) + position
    return f"{formula.__name__}({', '.join(op.needs[name])}){position}"


def formulas(
    node: Node, arrived: Sequence[Any] | None, grads: Sequence[Any]
) -> list[tuple[str, ...]]:
    """For each edge of a node, the formula of its gradient: as declared, and with numbers.

    Both include the sum that the engine adds for an operand that was broadcast. The second text is
    "" if no number is short enough.

    Args:
        arrived: the gradients of the outputs; None before the backward pass.
        grads: the results of the formulas; None for one that is not known.
    """
    found, plain = [], plain_formulas(node, arrived)
    for texts, (target, number), g in zip(plain, node._edges, grads, strict=False):
        shape = None if target is None or g is None else target._outputs[number][0]
        name, *more = ("sum_to_size", short_value(shape)) if shape else ("sum",)
        if shape is not None and shape != g.shape:
            texts = [text and f"{name}({', '.join([text, *more])})" for text in texts]
        found.append(tuple(texts))
    return found


def trial_gradients(node: Node) -> Sequence[Any]:
    """Gradients with the shapes of those that a node will send: its formulas applied to zeros.

    Returns:
        None for each edge of a node without formulas; nothing if the formulas cannot run, for
        example because hooks of the user have packed the saved values.
    """
    if not isinstance(node_that_wrote(node), OpNode):
        return [None] * len(node._edges)
    if type(node_that_wrote(node)._saved) is tuple:
        with suppress(Exception), np.errstate(all="ignore"):
            return node.apply([np.zeros(*meta) for meta in node._outputs], False)
    return ()


def plain_formulas(node: Node, arrived: Sequence[Any] | None) -> list[Sequence[str]]:
    """The `formulas` of a node without sums."""
    if isinstance(node, BackwardCFunction):
        return [(f"{node._forward_cls.__name__}.backward(ctx, g)", "")] * len(node._edges)
    if isinstance(node, CopySlices):
        part = None if arrived is None else [replay_steps(node.steps, arrived[0])]
        of_write = plain_formulas(node_that_wrote(node), part)
        of_write[node.position] = ("g, where the view is not", "")
        return of_write
    if not isinstance(node, OpNode):
        return [("g, through the steps to the view", "")]
    found: list[Sequence[str]] = []
    values = saved_by(node)
    if arrived is not None:
        values["g"] = tuple(arrived) if node.multi else arrived[0]
    texts = {name: short_value(value) for name, value in values.items() if is_short(value)}
    numbers = {name: f"({text})" if text[0] == "-" else text for name, text in texts.items()}
    numbers |= {f"{n}.shape": str(tuple(v.shape)) for n, v in values.items() if hasattr(v, "shape")}
    by_edge = [(name, "") for name in node.op.formulas]
    if node.op.variadic:  # one formula returns the gradients for all edges
        by_edge = [(name, f"[{k}]") for name, _ in by_edge for k in range(len(node._edges))]
    if not any(isinstance(g, Tensor) for g in arrived or ()):
        values = {n: v._array if isinstance(v, Tensor) else v for n, v in values.items()}
    for name, position in by_edge:
        plain, times = expression(node.op, name, values) + position, ""
        replaced = [values[word] for word in WORD.findall(plain) if word in texts]
        if arrived is not None and any(hasattr(value, "ndim") for value in replaced):
            times = texts.get(plain) or WORD.sub(lambda word: numbers.get(word[0], word[0]), plain)
        times = times.replace(" * ", " \N{MULTIPLICATION SIGN} ")
        found.append((plain.replace(" * ", " \N{MIDDLE DOT} "), times))
    return found


# The recorded graph as plain data: boxes and the links between them.
#
# The boxes and their order follow torchviz: one box for each node of the graph, each leaf, each
# output, each base of an output that is a view and, on request, each saved tensor. Boxes hold only
# texts: so a picture keeps no tensor alive and stays right when the graph changes.


BoxKind = Literal["op", "leaf", "saved", "output", "base", "cut", "constant", "module"]
# "saved" and "kept" both lead from a saved tensor to the node that holds it. torchviz reverses
# "saved", the links of declared operations, but not "kept", those of users' functions.
LinkKind = Literal["flow", "saved", "kept", "view"]

WHOLE = 600  # the most boxes of a graph that is drawn whole
WHOLE_ROW = 32  # the most boxes in each of its levels
PART, PART_ROW = 80, 12  # the most boxes of the drawn part of a larger graph, and of its levels
LONGEST_DETAIL = 200  # characters
WORDS = {"saved": "saved tensor", "base": "base of a view"}


class Box(NamedTuple):
    """One node of the picture.

    Attributes:
        title: the class of a node, or the name of a tensor.
        shapes: the shape of the tensor, or those of the node's outputs.
        attributes: on request, the names and values that a node saves.
        details: the lines of the tooltip.
        values: the values and gradients of its tensors, as rows of `VALUE` and `GRADIENT`.
    """

    kind: BoxKind
    title: str
    shapes: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    details: str = ""
    values: tuple[tuple[str, str], ...] = ()


class Link(NamedTuple):
    """One edge of the picture, in the direction in which values flow.

    Attributes:
        label: the number of the output, if the source has several; or the name of a saved value, if
            its box does not have it.
    """

    source: str
    target: str
    kind: LinkKind = "flow"
    label: str = ""


class Graph:
    """A picture: its boxes by key, its links, and the keys of its outputs."""

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {}
        self.links: list[Link] = []
        self.outputs: list[str] = []

    def redrawn(self, boxes: dict[str, Box], into: Mapping[str, str]) -> "Graph":
        """The graph of some boxes, with their links and those of the boxes that they replace.

        Args:
            into: by the key of a replaced box, the key of the box that replaces it.
        """
        graph = Graph()
        graph.boxes = boxes
        for link in self.links:
            ends = into.get(link.source, link.source), into.get(link.target, link.target)
            if ends[0] != ends[1] and ends[0] in boxes and ends[1] in boxes:
                graph.links.append(link._replace(source=ends[0], target=ends[1]))
        used = {link.source for link in graph.links}
        graph.outputs = [key for key in boxes if key not in used]
        return graph

    def part(self, keys: set[str]) -> "Graph":
        """The graph of some boxes, with a "cut" box for each outside box linked to them."""
        around = Graph()
        around.links = [link for link in self.links if keys & {link.source, link.target}]
        ends = (end for link in around.links for end in (link.source, link.target))
        into = {end: f"outside {end}" for end in ends if end not in keys}
        boxes = {key: box for key, box in self.boxes.items() if key in keys}
        cut = {place: Box("cut", self.boxes[end].title) for end, place in into.items()}
        return around.redrawn(boxes | cut, into)

    def readable(self) -> tuple["Graph", str]:
        """The part of the graph that is small enough to read, and a note of the rest.

        Returns:
            The graph itself and "" if it is not too large. Otherwise the boxes nearest the outputs,
            with a "cut" box for inputs that are left out, and the note.
        """
        levels = self.levels()
        if len(self.boxes) <= WHOLE and max(map(len, levels), default=0) <= WHOLE_ROW:
            return self, ""
        drawn: set[str] = set()
        for level in levels:
            drawn.update(level[: max(min(PART_ROW, PART - len(drawn)), 0)])
        part = self.redrawn({key: box for key, box in self.boxes.items() if key in drawn}, {})
        entering = (link for link in self.links if link.target in drawn)
        left_out = Counter(link.target for link in entering if link.source not in drawn)
        for target, count in left_out.items():
            key = f"cut {target}"
            part.boxes[key] = Box(
                "cut", f"\N{HORIZONTAL ELLIPSIS} {count_noun(count, 'more input')}"
            )
            part.links.append(Link(key, target))
        note = f"{count_noun(len(drawn), 'node')} of {len(self.boxes):,} drawn, nearest the output"
        return part, f"{note}\nin all: {census(self.boxes.values())}"

    def levels(self) -> list[list[str]]:
        """The keys of the boxes by their distance, in links, from the nearest output."""
        sources: dict[str, list[str]] = {key: [] for key in self.boxes}
        for link in self.links:
            sources[link.target].append(link.source)
        level, levels = list(self.outputs), []
        seen = set(level)
        while level:
            levels.append(level)
            found = (source for key in level for source in sources[key] if source not in seen)
            level = list(dict.fromkeys(found))
            seen.update(level)
        return levels


def key_of(thing: object) -> str:
    """The key of a node's or tensor's box."""
    return str(id(thing))


def printable(text: str) -> str:
    """``text`` on one line, with escapes for characters that cannot be displayed."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shape_text(shape: Iterable[int]) -> str:
    """A shape as torchviz writes it: ``(3, 4)``, and ``(3)`` for one dimension."""
    return f"({', '.join(map(str, shape))})"


def value_text(value: Any) -> str:
    """The dtype and shape of a tensor; the text of any other value."""
    array = value._array if isinstance(value, Tensor) else value
    if isinstance(array, np.ndarray):
        return f"{array.dtype.name} {shape_text(array.shape)}"
    return attribute_text(value)


def attribute_text(value: Any) -> str:
    """The text of a saved value in a node's table."""
    if isinstance(value, (Tensor, np.ndarray)):
        return "[saved tensor]"
    parts = value if isinstance(value, (tuple, list)) else ()
    if any(isinstance(part, (Tensor, np.ndarray)) for part in parts):
        return "[saved tensors]"
    return printable(str(value))


def shorten(text: str, longest: int) -> str:
    """A text cut to ``longest`` characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def named_tensors(params: Any) -> dict[int, tuple[str, Tensor]]:
    """The names and tensors of ``params``, by the tensors' `id`.

    Args:
        params: a mapping from names to tensors, pairs of both, or a module; None for the variables
            of the user's frame.
    """
    if params is None:
        return tensors_in(call_site_of(sys._getframe(1))[1])
    if hasattr(params, "named_parameters"):
        params = [*params.named_buffers(), *params.named_parameters()]
    elif isinstance(params, Mapping):
        params = params.items()
    found = {}
    for name, tensor in params:
        if not isinstance(tensor, Tensor):
            kind = type(tensor).__name__
            raise TypeError(f"params: expected '{name}' to be a Tensor, got {kind}")
        found[id(tensor)] = printable(str(name)), tensor
    return found


def saved_values(node: Node) -> list[tuple[str, Any]]:
    """The saved values of a declared operation's node, by PyTorch's names.

    A text replaces a value that was freed, or written to since.
    """
    if not isinstance(node, OpNode):
        return []
    values: list[tuple[str, Any]] = []
    for name, _ in node.op.recipe:
        # For layers, PyTorch's name of `input` is the same.
        own = name == "input" and "weight" in node.op.formulas
        value = "[freed]"
        if not isinstance(node._saved, FreedValues):
            try:
                value = node.op.saved_value(node, name)
            except RuntimeError as error:
                # Any other error comes from the user's function that unpacks saved tensors.
                if not str(error).startswith(MODIFIED.partition("{")[0]):
                    raise
                value = "[modified in place]"
        values.append((name if own else SAVED_AS.get(name, name), value))
    return sorted(values, key=itemgetter(0))


class Walk:
    """Collects the graph of some outputs.

    Args:
        named: names and tensors, by the tensors' `id`.
        show_attrs: whether boxes list the values that their nodes save.
        show_saved: whether saved tensors get boxes of their own.
        max_attr_chars: the largest number of characters for one value.
    """

    def __init__(
        self, named: Mapping[int, tuple[str, Tensor]], show_attrs: bool = False,
        show_saved: bool = False, max_attr_chars: int = 50,
    ) -> None:  # fmt: skip
        self.names = {number: name for number, (name, _) in named.items()}
        self.tensors = [tensor for _, tensor in named.values()]
        self.show_attrs, self.show_saved = show_attrs, show_saved
        self.longest = max(max_attr_chars, 3)
        self.graph = Graph()
        self.nodes: list[Node] = []
        self.outputs: list[Tensor] = []
        # The tensors made by reading saved values: while they live, no other gets their `id`.
        self.held: list[Tensor] = []

    def add_output(self, tensor: Tensor) -> None:
        """Add an output, its graph, and its base if it is a view."""
        key = key_of(tensor)
        if key not in self.graph.outputs:
            self.graph.outputs.append(key)
            self.outputs.append(tensor)
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
        """Add a tensor's box and its graph."""
        self.box_tensor(tensor, kind)
        node = tensor.grad_fn
        if node is not None:
            self.add_node(node)
            self.link(node, tensor, label=self.number(node, tensor.output_nr))

    def add_node(self, root: Node) -> None:
        """Add a node and all nodes that it leads to, in depth-first order."""
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
        """Add a node's own boxes; returns False if they exist already."""
        key = key_of(node)
        if key in self.graph.boxes:
            return False
        self.nodes.append(node)
        # Reading packed values calls the user's functions: do this only on request.
        readable = self.show_attrs or self.show_saved or type(node._saved) is tuple
        values = saved_values(node) if readable or isinstance(node._saved, FreedValues) else []
        for name, value in values if self.show_saved else ():
            parts = {name: value}
            if isinstance(value, tuple):
                parts = {f"{name}[{i}]": part for i, part in enumerate(value)}
            for label, part in parts.items():
                self.add_value(node, part, label, "saved")
        if isinstance(node, AccumulateGrad):
            self.box_tensor(node.variable, "leaf")
            self.link(node.variable, node)
        attributes = tuple(
            (name, shorten(attribute_text(value), self.longest))
            for name, value in values
            if self.show_attrs
        )
        shapes = tuple(shape_text(shape) for shape, _ in node._outputs)
        title = printable(type(node).__name__)
        details = [node.name()]
        for number, (shape, dtype) in enumerate(node._outputs):
            name = f"output {number}" if len(shapes) > 1 else "output"
            details.append(f"{name}: {dtype.name} {shape_text(shape)}")
        for name, value in values:
            details.append(shorten(f"saved {name}: {value_text(value)}", LONGEST_DETAIL))
        if trace := vars(node).get("_metadata", {}).get(TRACE):  # anomaly mode was on
            details += [printable(line.strip()) for line in trace[-1].splitlines()]
        self.graph.boxes[key] = Box("op", title, shapes, attributes, "\n".join(details))
        return True

    def add_kept(self, node: Node) -> None:
        """Add boxes for the tensors that the node of a user's function saves."""
        if isinstance(node, (OpNode, AccumulateGrad)) or not hasattr(type(node), "saved_tensors"):
            return
        with suppress(RuntimeError):  # the values were freed
            for tensor in node.saved_tensors or ():  # type: ignore[attr-defined]
                self.add_value(node, tensor, "", "kept")

    def add_value(self, node: Node, tensor: Any, name: str, kind: LinkKind) -> None:
        """Add the box of a saved tensor, unless it has one, and link it to its node."""
        if not isinstance(tensor, Tensor):
            return
        self.held.append(tensor)
        if key_of(tensor) not in self.graph.boxes:
            self.box_tensor(tensor, "saved", name)
        self.link(tensor, node, kind, name)

    def finished(self) -> Graph:
        """The graph, without labels of links that repeat the title of a box."""
        for position, link in enumerate(self.graph.links):
            titled = link.label == self.graph.boxes[link.source].title
            if link.kind in ("saved", "kept") and titled:
                self.graph.links[position] = link._replace(label="")
        return self.graph

    def made(self) -> dict[Any, Tensor]:
        """The outputs and the named tensors, by pairs of their node and output number."""
        made = {}
        for tensor in (*self.tensors, *self.outputs):
            with suppress(RuntimeError):  # a view may have lost its history
                made[tensor.grad_fn, tensor.output_nr] = tensor
        return made

    def with_values(self) -> Graph:
        """The graph with values, gradients and constants. A leaf shares a box with its accumulator,
        an output with its node."""
        boxes, made = self.graph.boxes, self.made()
        into = {key_of(t): key_of(t.grad_fn) for t in self.outputs if t.grad_fn is not None}
        for node, seen in graph_facts(self.nodes, made).items():
            key = key_of(node)
            if isinstance(node, AccumulateGrad):
                into[key] = key = key_of(node.variable)
            own = [self.names.get(id(t), "") for edge, t in made.items() if edge[0] is node]
            words = [f"{name}:" for name in filter(None, own or seen.names)]
            title = " ".join(filter(None, [*words, seen.symbol, boxes[key].title]))
            shapes = tuple(shape.replace("()", "") for shape in boxes[key].shapes)  # 0-d: no shape
            rows = tuple(seen.rows())
            boxes[key] = boxes[key]._replace(title=title, shapes=shapes, values=rows)
            for number, (name, shape, text) in enumerate(seen.constants):
                shown_shape, row = shape_text(shape) if shape else "", (VALUE, text)
                boxes[f"{key}0{number}"] = Box("constant", name, (shown_shape,), values=(row,))
                self.graph.links.append(Link(f"{key}0{number}", key))
        return self.graph.redrawn({k: b for k, b in boxes.items() if k not in into}, into)

    def box_tensor(self, tensor: Tensor, kind: BoxKind, name: str = "") -> None:
        """Add or replace a tensor's box; the name of a user's variable overrides ``name``."""
        title = self.names.get(id(tensor), "" if kind == "leaf" else name)
        shape = shape_text(tensor._array.shape)
        lines = [f"{WORDS.get(kind, kind)} {title}".rstrip()]
        lines += [f"{value_text(tensor)}, {tensor._array.size:,} elements"]
        if kind == "leaf":
            lines += [f"grad: {'none yet' if tensor._grad is None else value_text(tensor._grad)}"]
        self.graph.boxes[key_of(tensor)] = Box(kind, title, (shape,), (), "\n".join(lines))

    def link(self, source: Any, target: Any, kind: LinkKind = "flow", label: str = "") -> None:
        self.graph.links.append(Link(key_of(source), key_of(target), kind, label))

    def number(self, node: Node, number: int) -> str:
        """The label of a link from an output of a node: its number, or "" if it is the only one."""
        return str(number) if len(node._outputs) > 1 else ""


def count_noun(count: int, noun: str) -> str:
    """``1 node``, ``1,000 nodes``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def census(boxes: Iterable[Box], most: int = 6) -> str:
    """The counts of the ``most`` frequent kinds of boxes, as text."""
    counts = Counter(box.title if box.kind == "op" else box.kind for box in boxes)
    listed = [f"{count:,} {name}" for name, count in counts.most_common(most)]
    rest = len(counts) - len(listed)
    return ", ".join(listed + ([f"{count_noun(rest, 'other kind')}"] if rest else []))


def collect(walk: Walk, var: Tensor | Iterable[Tensor]) -> Graph:
    """The graph of ``var``, one output or several; raises TypeError for other objects."""
    outputs = [var] if isinstance(var, Tensor) or not isinstance(var, Iterable) else list(var)
    for tensor in outputs:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected a Tensor to draw the graph of, got {type(tensor).__name__}")
        walk.add_output(tensor)
    return walk.finished()


MOST_LINES = 1000
DEEPEST = 14  # levels before a branch continues at the left margin


class Tree:
    """Writes the nodes of a graph, from its outputs to its leaves, each with its inputs once."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.boxes = graph, graph.boxes
        self.leaves: dict[str, str] = {}  # leaves by their accumulators, which are not written
        self.inputs: dict[str, list[tuple[str, str]]] = {key: [] for key in graph.boxes}
        self.uses: Counter[str] = Counter()
        for link in graph.links:
            if link.kind == "flow":
                self.inputs[link.target].append((link.source, link.label))
                self.uses[link.source] += 1
                if self.boxes[link.target].title == "AccumulateGrad":
                    self.leaves[link.target] = link.source
        self.marks: dict[str, int] = {}
        self.written: set[str] = set()
        self.postponed: deque[str] = deque()  # branches that continue at the left margin

    def lines(self, most: int) -> Iterator[str]:
        """At most ``most`` lines, and one about the rest."""
        for number, line in enumerate(self.all_lines()):
            if number == most:
                known = self.written | self.leaves.keys()
                others = [box for key, box in self.boxes.items() if key not in known]
                rest = [box for box in others if box.kind in ("op", "leaf")]
                yield f"… {count_noun(len(rest), 'more node')}: {census(rest)}"
                return
            yield line

    def all_lines(self) -> Iterator[str]:
        for position, key in enumerate(self.graph.outputs):
            box = self.boxes[key]
            if position:
                yield ""
            node, number, before = key, "", ""
            if box.kind == "leaf" or not self.inputs[key]:
                name = box.title or ("leaf" if box.kind == "leaf" else "tensor")
                yield f"{name} {box.shapes[0]}{values_text(box)}"
                continue
            if box.kind != "op":
                ((node, number),) = self.inputs[key]
                before = f"{box.title}: " if box.title else ""
            yield from self.branch(node, number, before)
            while self.postponed:
                node = self.postponed.popleft()
                if node not in self.written:
                    yield ""
                    yield from self.branch(node, "", "")

    def branch(self, root: str, number: str, before: str) -> Iterator[str]:
        """The lines of a node and of all nodes that it leads to, without those already written.

        Args:
            number: the output of the node; "" if it has only one.
            before: the beginning of the first line.
        """
        stack = [(root, number, before, "")]
        while stack:
            key, number, first, margin = stack.pop()
            inputs = [] if key in self.leaves else self.inputs[key]
            again = key in self.written
            far = bool(inputs) and len(margin) >= 3 * DEEPEST
            yield first + self.text(key, number, elsewhere=again or far)
            if again:
                continue
            if far:
                self.postponed.append(key)
                continue
            self.written.update((key, self.leaves.get(key, key)))
            for position, (key, number) in reversed(list(enumerate(inputs, 1))):
                first, below = ("└─ ", "   ") if position == len(inputs) else ("├─ ", "│  ")
                stack.append((key, number, margin + first, margin + below))

    def text(self, key: str, number: str, elsewhere: bool) -> str:
        """The text of a node's line.

        Args:
            elsewhere: whether the line only refers to the node's mark.
        """
        box = self.boxes[self.leaves.get(key, key)]
        shape = box.shapes[int(number or 0)] + values_text(box)
        words = [box.title or box.kind, *([shape.strip()] if shape else [])]
        if number:
            words.append(f"output {number} of {len(box.shapes)}")
        if elsewhere or key in self.marks or self.uses[key] > 1:
            mark = self.marks.setdefault(key, len(self.marks) + 1)
            words.append(f"→ [{mark}]" if elsewhere else f"[{mark}]")
        return " ".join(words)


def values_text(box: Box) -> str:
    """The values and gradients at the end of a line."""
    parts = [f" = {text}" if name == VALUE else f", {name} {text}" for name, text in box.values]
    return "".join(parts)


def graph_text(
    var: Tensor | Iterable[Tensor], params: Any = None, max_lines: int = MOST_LINES,
    values: bool = False,
) -> str:  # fmt: skip
    """The graph of one or several tensors as a tree of text, outputs first.

    The inputs of a node are listed below it, in order. ``[1]`` marks a node that is used more than
    once; ``→ [1]`` refers to it. The same marks connect a branch that is too far to the right with
    its continuation below. Accumulators are left out.

    Args:
        var: one output or several.
        params: names for tensors, as for `make_dot`.
        max_lines: the largest number of lines; one more line counts the rest.
        values: whether to write values and gradients, as `make_dot` does.

    Raises:
        TypeError: if an output or a value of ``params`` is not a tensor.
    """
    walk = Walk(named_tensors(params))
    graph = collect(walk, var)
    return "\n".join(Tree(walk.with_values() if values else graph).lines(max_lines))


def print_graph(var: Tensor | Iterable[Tensor], params: Any = None, values: bool = False) -> None:
    """Print the graph of one or several tensors as a tree: see `graph_text`.

    Args:
        var: one output or several.
        params: names for tensors, as for `make_dot`.
        values: whether to write values and gradients, as `make_dot` does.

    Raises:
        TypeError: if an output or a value of ``params`` is not a tensor.
    """
    print_text(graph_text(var, params, values=values))


ASCII = str.maketrans({"├": "+", "└": "+", "│": "|", "─": "-", "→": "->", "…": "..."})


def print_text(text: str) -> None:
    """Print a text, in ASCII where standard output cannot encode it: on Windows, a file or pipe."""
    try:
        print(text, flush=True)
    except UnicodeEncodeError:
        print(text.translate(ASCII).encode("ascii", "backslashreplace").decode(), flush=True)
