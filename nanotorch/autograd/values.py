"""What is known of the values in a graph, as short texts; formulas with the numbers in them."""

import ast
import copy
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core.arguments import EMPTY
from nanotorch._core.bfloat16 import wide
from nanotorch._core.graph import AccumulateGrad, CopySlices, Edge, Node, take_steps, version_of
from nanotorch._core.op import Op, OpNode
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.function import BackwardCFunction

# Values and calls as short texts.


NUMBERS = (bool, int, float, str, np.generic)
SMALL = 8  # elements of a tensor that is written out
LONGEST_NAME = 8  # of an operation, beside the name of its node
SYMBOLS = {"add": "+", "sub": "\N{MINUS SIGN}", "mul": "\N{MULTIPLICATION SIGN}"}
SYMBOLS |= {"div": "\N{DIVISION SIGN}", "pow": "**"} | dict.fromkeys(("matmul", "mm", "bmm"), "@")


def shown(value: Any) -> str:
    """A number, a tensor or several: up to `SMALL` elements are written out."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(shown, value))})"
    held = wide(getattr(value, "_array", value))
    if isinstance(held, (float, np.floating)):
        return str(float(f"{held:.5g}"))
    if not isinstance(held, np.ndarray):
        return repr(held) if isinstance(held, str) else str(held)
    if held.size > SMALL:
        double = held.astype(float)
        return f"min {double.min():.3g} mean {double.mean():.3g} max {double.max():.3g}"
    rounded: Any = np.vectorize(lambda v: float(f"{v:.5g}"), otypes=[float])
    return str((rounded(held) if held.dtype.kind == "f" else held).tolist())


def is_short(value: Any) -> bool:
    """Whether a formula is to have the value in place of its name."""
    held = getattr(value, "_array", value)
    return held.size <= SMALL if isinstance(held, np.ndarray) else isinstance(held, NUMBERS)


def enclosed(text: str) -> str:
    """A text in parentheses, if it is an operation between two operands."""
    infix = any(f" {symbol} " in text for symbol in SYMBOLS.values()) and text[-1] != ")"
    return f"({text})" if infix else text


def operands_of(op: Op) -> list[str]:
    """The names of the inputs, and of numbers that stand for one, such as an exponent."""
    numbers = op.arithmetic and [n for n in op.statics if op.arguments[n].default is EMPTY]
    return [*op.inputs, *(numbers or ())]


def call_text(op: Any, name: str, operands: Sequence[str], given: Mapping[str, Any]) -> str:
    """A call of an operation, with its symbol between two operands.

    Args:
        given: its arguments; of those that are no inputs, the ones that are not the default count.
    """
    options = [
        f"{key}={shown(value)}"
        for key, value in given.items()
        if isinstance(value, NUMBERS) and key not in operands_of(op)
        if value != op.arguments[key].default
    ]
    if name in SYMBOLS and len(operands) == 2 and not options:
        return f" {SYMBOLS[name]} ".join(map(enclosed, operands))
    return f"{name}({', '.join([*operands, *options])})"


# What is known of a node.


class Seen(NamedTuple):
    """What is known of a node.

    Attributes:
        outputs, gradients: by output number, `shown`; "" if it is not known.
        names: of the user's variables, by output number.
        constants: the operands without history: name, shape and value.
        symbol: of the operation, or its name.
    """

    outputs: list[str]
    gradients: list[str]
    names: list[str]
    constants: list[tuple[str, tuple[int, ...], str]]
    symbol: str

    @classmethod
    def of(cls, node: Node) -> "Seen":
        """Nothing as yet."""
        name = getattr(op_of(node), "known_as", "")
        symbol = SYMBOLS.get(name, name if len(name) <= LONGEST_NAME else "")
        outputs, gradients, names = ([""] * len(node._outputs) for _ in range(3))
        return cls(outputs, gradients, names, [], symbol)

    def add_constant(self, parameter: str, value: Any, name: str = "") -> None:
        """Add an operand without history, by its parameter and by the user's name."""
        shape = tuple(getattr(value, "shape", ()))
        title = name or (parameter if shape else "constant")
        self.constants.append((title, shape, shown(value)))


def writer_of(node: Node) -> Any:
    """The node itself; for a write to a view, the node of what was written."""
    saved: Any = node._saved
    return saved[0] if isinstance(node, CopySlices) and type(saved) is tuple else node


def op_of(node: Node) -> Any:
    """The declared operation of a node, if it has one."""
    return getattr(type(writer_of(node)), "op", None)


def kept(node: Node) -> dict[str, Any]:
    """What a node keeps for its formulas, as far as it may be read without the user's functions."""
    writer, values = writer_of(node), {}
    if type(writer._saved) is tuple:
        for name, _ in writer.op.recipe if isinstance(writer, OpNode) else ():
            with suppress(RuntimeError):  # it was written to
                values[name] = writer.op.saved_value(writer, name)
        if isinstance(writer, BackwardCFunction):
            values = {f"saved[{k}]": saved and saved[0] for k, saved in enumerate(writer._saved)}
    return values


def place(node: Any, name: str) -> Edge | None:
    """The edge that leads to what a node keeps under a name; None if it keeps no such tensor."""
    kind, formulas = dict(node.op.recipe)[name], list(node.op.formulas)
    if kind == "out":
        return node, node.op.number_of(name)
    return node._edges[formulas.index(name)] if name in formulas and not node.together else None


def known(nodes: Iterable[Node], outputs: Mapping[Any, Tensor]) -> dict[Node, Seen]:
    """What is known of the nodes of a graph: what `explain` saw; else what the graph keeps, and
    what elementwise operations make of that.

    Args:
        outputs: tensors that are known beforehand, by their edges.
    """
    in_order = sorted(nodes, key=lambda node: node._sequence)
    tensors: dict[Any, Tensor] = dict(outputs)
    for node in in_order:
        if isinstance(node, AccumulateGrad):
            tensors[node, 0] = node.variable
        for number, retain in node._hooks.retain.items() if node._hooks is not None else ():
            if (tensor := retained(retain)) is not None:
                tensors[node, number] = tensor
        if isinstance(node, OpNode):
            for name, value in kept(node).items():
                if isinstance(value, Tensor):
                    tensors.setdefault(place(node, name), value)
    tensors = {edge: t for edge, t in tensors.items() if edge and edge[0] is not None}
    found = {}
    for node in in_order:
        found[node] = seen = vars(node).get("_seen") or Seen.of(node)
        if isinstance(node, OpNode) and "_seen" not in vars(node):
            for name, value in kept(node).items():
                constant = isinstance(value, (Tensor, int, float)) and name in operands_of(node.op)
                if constant and place(node, name) in ((None, 0), None):
                    seen.add_constant(name, value)
            compute(node, tensors)
        for number in range(len(node._outputs)):
            if (tensor := tensors.get((node, number))) is not None:
                seen.outputs[number] = seen.outputs[number] or shown(tensor)
                if tensor._grad is not None:
                    seen.gradients[number] = seen.gradients[number] or shown(tensor._grad)
    return found


def retained(retain: Any) -> Tensor | None:
    """The tensor that retains its gradient, as long as it lives."""
    return retain.args[0]()


def compute(node: OpNode, tensors: dict[Any, Tensor]) -> None:
    """Add the result of an elementwise operation of which all arguments are known."""
    op, edges = node.op, dict(zip(node.op.formulas, node._edges, strict=False))
    found = {n: tensors[edge] for n, edge in edges.items() if edge in tensors}
    # What was written to may have been something else then.
    given = {n: t for n, t in found.items() if not version_of(t)} | kept(node)
    if (op.cast or op.arithmetic) and not op.variadic and given.keys() >= op.arguments.keys():
        arguments = {n: given[n] for n in op.arguments}
        arguments |= {n: t.detach() for n, t in arguments.items() if isinstance(t, Tensor)}
        with suppress(RuntimeError, TypeError, ValueError):  # they have changed since
            tensors.setdefault((node, 0), op.functions[op.name](**arguments))


# Formulas, as they are declared, and with the numbers in them.


WORD = re.compile(r"(?<![.\w])[a-z_]\w*\b(?!=)")


class Unreadable(Exception):  # noqa: N818 - it is no error, but says which way to go
    """A formula is not one expression."""


@functools.cache
def tree_of(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text("utf-8"))


@functools.cache
def declaration(code: CodeType) -> ast.Lambda | ast.FunctionDef:
    """The source of a formula."""
    names = list(code.co_varnames[: code.co_argcount])
    for found in ast.walk(tree_of(code.co_filename)):
        if isinstance(found, (ast.Lambda, ast.FunctionDef)) and (
            found.lineno == code.co_firstlineno and [a.arg for a in found.args.args] == names
        ):
            return found
    raise Unreadable


class Taken(ast.NodeTransformer):
    """What is left of a formula for certain values: of branches, the one that is taken; of local
    variables, what was assigned to them."""

    def __init__(self, formula: Any, values: Mapping[str, Any]) -> None:
        self.globals, self.values = formula.__globals__, dict(values)
        self.local: dict[str, ast.expr] = {}

    def value(self, expression: ast.expr) -> Any:
        """What an expression is."""
        try:
            code = compile(ast.Expression(expression), "<formula>", "eval")
            return eval(code, self.globals, self.values)
        except Exception:
            raise Unreadable from None

    def truth(self, test: ast.expr) -> bool:
        """Whether a condition holds, if it is one for all elements."""
        found = self.value(test)
        if np.size(getattr(found, "_array", found)) != 1:
            raise Unreadable
        return bool(found)

    def result(self, body: Sequence[ast.stmt]) -> ast.expr | None:
        """What statements return."""
        for statement in body:
            match statement:
                case ast.Return(ast.expr() as value):
                    return self.visit(copy.deepcopy(value))
                case ast.Assign([ast.Name(name)], value):
                    self.local[name] = self.visit(copy.deepcopy(value))
                    self.values[name] = self.value(value)
                case ast.If(test, then, otherwise):
                    if found := self.result(then if self.truth(test) else otherwise):
                        return found
                case ast.Expr(ast.Constant()):
                    pass
                case _:
                    raise Unreadable
        return None

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        try:
            return self.visit(node.body if self.truth(node.test) else node.orelse)
        except Unreadable:
            return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.local.get(node.id, node))


def expression(op: Op, name: str, values: Mapping[str, Any]) -> str:
    """The formula of an input, for certain values."""
    formula = op.formulas[name]
    try:
        source, taken = declaration(formula.__code__), Taken(formula, values)
        body = [ast.Return(source.body)] if isinstance(source, ast.Lambda) else source.body
        if (found := taken.result(body)) is not None:
            if op.joint and isinstance(found, ast.Tuple):
                found = found.elts[list(op.formulas).index(name)]
            return ast.unparse(found)
    except (Unreadable, OSError, SyntaxError):
        pass
    return f"{formula.__name__}({', '.join(op.needs[name])})"


def formulas(node: Node, arrived: Sequence[Any] | None) -> list[tuple[str, str]]:
    """For each edge of a node, the formula of the gradient that goes there: as it is declared, and
    with numbers, "" if there are none to be written out.

    Args:
        arrived: the gradients of its outputs; None before the backward pass.
    """
    if isinstance(node, BackwardCFunction):
        return [(f"{node._forward_cls.__name__}.backward(ctx, g)", "")] * len(node._edges)
    if isinstance(node, CopySlices):
        part = None if arrived is None else [take_steps(node.steps, arrived[0])]
        of_write = formulas(writer_of(node), part)
        of_write[node.position] = ("g, where the view is not", "")
        return of_write
    if not isinstance(node, OpNode):
        return [("g, through the steps to the view", "")]
    values, found = kept(node), []
    if arrived is not None:
        values["g"] = tuple(arrived) if node.multi else arrived[0]
    texts = {name: shown(value) for name, value in values.items() if is_short(value)}
    texts = {name: f"({text})" if text[0] == "-" else text for name, text in texts.items()}
    if not any(isinstance(g, Tensor) for g in arrived or ()):
        values = {n: v._array if isinstance(v, Tensor) else v for n, v in values.items()}
    for name in node.op.formulas:
        plain = expression(node.op, name, values)
        numbers = WORD.sub(lambda word: texts.get(word[0], word[0]), plain)
        numbers = shown(values[plain]) if plain in texts else numbers  # without parentheses
        replaced = [values[word] for word in WORD.findall(plain) if word in texts]
        full = arrived is not None and any(hasattr(value, "ndim") for value in replaced)
        times = numbers.replace(" * ", " \N{MULTIPLICATION SIGN} ") if full else ""
        found.append((plain.replace(" * ", " \N{MIDDLE DOT} "), times))
    return found * (len(node._edges) if node.op.variadic else 1)
