"""What is known of the values in a graph, as short texts; formulas with the numbers in them."""

import ast
import copy
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from nanotorch._core.arguments import EMPTY
from nanotorch._core.bfloat16 import wide
from nanotorch._core.graph import AccumulateGrad, CopySlices, Edge, Node, take_steps, version_of
from nanotorch._core.op import Op, OpNode
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.function import BackwardCFunction

# Values and calls as short texts.


NUMBERS = (bool, int, float, str, np.generic)  # and words, such as "mean"
SMALL = 8  # elements of a tensor that is written out
LONGEST_NAME = 8  # of an operation, beside the name of its node
SYMBOLS = {"add": "+", "sub": "\N{MINUS SIGN}", "mul": "\N{MULTIPLICATION SIGN}"}
SYMBOLS |= {"div": "\N{DIVISION SIGN}", "pow": "**"} | dict.fromkeys(("matmul", "mm", "bmm"), "@")


def shown(value: Any) -> str:
    """A number, a tensor or several: up to `SMALL` elements are written out."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(shown, value))})"
    held = wide(getattr(value, "_array", value))
    if not isinstance(held, (float, np.floating, np.ndarray)):
        return repr(held) if isinstance(held, str) else str(held)
    array = np.asarray(held)
    if array.size > SMALL:
        double = array.astype(float)
        return f"min {double.min():.3g} mean {double.mean():.3g} max {double.max():.3g}"
    rounded: Any = np.vectorize(lambda v: float(f"{v:.5g}"), otypes=[float])
    return str((rounded(array) if array.dtype.kind == "f" else array).tolist())


def is_plain(value: Any) -> bool:
    """Whether it is a number, a word or several, such as a shape."""
    return all(map(is_plain, value)) if type(value) is tuple else isinstance(value, NUMBERS)


def is_short(value: Any) -> bool:
    """Whether a formula is to have the value in place of its name."""
    held = getattr(value, "_array", value)
    return held.size <= SMALL if isinstance(held, np.ndarray) else is_plain(held)


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
        if is_plain(value) and key in op.arguments and key not in operands_of(op)
        if value != op.arguments[key].default
    ]
    if name in SYMBOLS and len(operands) == 2 and not options:
        return f" {SYMBOLS[name]} ".join(map(enclosed, operands))
    return f"{name}({', '.join([*operands, *options])})"


# What is known of a node.


VALUE, GRADIENT = "value", "grad"


class Seen:
    """What is known of a node.

    Attributes:
        symbol: of the operation, or its name.
        outputs, gradients: by output number, `shown`; "" if it is not known.
        names: of the user's variables, by output number.
        call: that made it, if that is short.
        constants: the operands without history: name, shape and value.
    """

    def __init__(self, node: Node) -> None:
        name = getattr(op_of(node), "known_as", "")
        self.symbol = SYMBOLS.get(name, name if len(name) <= LONGEST_NAME else "")
        self.outputs, self.gradients, self.names = ([""] * len(node._outputs) for _ in range(3))
        self.call = ""
        self.constants: list[tuple[str, tuple[int, ...], str]] = []

    def rows(self) -> Iterator[tuple[str, str]]:
        """What a box says of values, with the numbers of outputs where there are several."""
        for name, texts in ((VALUE, self.outputs), (GRADIENT, self.gradients)):
            for number, text in enumerate(texts):
                if text:
                    yield f"{name} {number}" if len(texts) > 1 else name, text

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
    if type(writer._saved) is tuple and isinstance(writer, BackwardCFunction):
        values = {f"saved[{k}]": saved and saved[0] for k, saved in enumerate(writer._saved)}
    elif type(writer._saved) is tuple and isinstance(writer, OpNode):
        for name, _ in writer.op.recipe:
            with suppress(RuntimeError):  # it was written to
                values[name] = writer.op.saved_value(writer, name)
    return values


def place(node: OpNode, name: str) -> Edge | None:
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
    tensors: dict[Any, Any] = dict(outputs)
    for node in in_order:
        if isinstance(node, AccumulateGrad):
            tensors[node, 0] = node.variable
        tensors |= {(node, number): tensor for number, tensor in retained(node)}
        if isinstance(node, OpNode):
            saved = {place(node, n): v for n, v in kept(node).items() if isinstance(v, Tensor)}
            for edge, value in saved.items():
                tensors.setdefault(edge, value)
    tensors |= {None: None, (None, 0): None}  # what has no history has no place
    nodes_seen = {}
    for node in in_order:
        nodes_seen[node] = seen = vars(node).get("_seen") or Seen(node)
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
    return nodes_seen


def retained(node: Node) -> list[tuple[int, Tensor]]:
    """The tensors that retain their gradients and live, by output number."""
    hooks: dict[int, Any] = {} if node._hooks is None else node._hooks.retain
    return [(k, tensor) for k, hook in hooks.items() if (tensor := hook.args[0]()) is not None]


def compute(node: OpNode, tensors: dict[Any, Any]) -> None:
    """Add the result of an elementwise operation of which all arguments are known."""
    op, edges = node.op, zip(node.op.formulas, node._edges, strict=False)
    found = {name: tensors.get(edge) for name, edge in edges}
    # What was written to may have been something else then.
    given = {n: t for n, t in found.items() if t is not None and not version_of(t)} | kept(node)
    if (op.cast or op.arithmetic) and not op.variadic and given.keys() >= op.arguments.keys():
        arguments = {n: given[n] for n in op.arguments}
        arguments |= {n: t.detach() for n, t in arguments.items() if isinstance(t, Tensor)}
        with suppress(RuntimeError, TypeError, ValueError):  # they have changed since
            tensors.setdefault((node, 0), op.functions[op.name](**arguments))


# Formulas, as they are declared, and with the numbers in them.


WORD = re.compile(r"(?<![.\w])[a-z_]\w*\b(?!=)")


@functools.cache
def declaration(code: CodeType) -> ast.Lambda | ast.FunctionDef:
    """The source of a formula."""
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
    """What is left of a formula for certain values: of branches, the one that is taken; of local
    variables, what was assigned to them."""

    def __init__(self, names: dict[str, Any], values: Mapping[str, Any]) -> None:
        self.names, self.values = names, dict(values)
        self.local: dict[str, ast.expr] = {}

    def value(self, expression: ast.expr) -> Any:
        """What an expression is."""
        code = compile(ast.Expression(expression), "<formula>", "eval")
        return eval(code, self.names, self.values)

    def result(self, body: Sequence[ast.stmt]) -> ast.expr:
        """What statements return."""
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
        with suppress(Exception):  # it is no condition for all elements
            return self.visit(node.body if self.value(node.test) else node.orelse)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.local.get(node.id, node))

    def visit_Call(self, node: ast.Call) -> Any:
        if ast.unparse(node.func) == "pow_number":
            return self.generic_visit(ast.BinOp(node.args[0], ast.Pow(), node.args[1]))
        return self.generic_visit(node)


def expression(op: Op, name: str, values: Mapping[str, Any]) -> str:
    """The formula of an input, for certain values: an expression, or else its name and what it
    needs."""
    formula = op.formulas[name]
    with suppress(Exception):  # of formulas that are no expression or not to be computed
        source = copy.deepcopy(declaration(formula.__code__))
        body = [ast.Return(source.body)] if isinstance(source, ast.Lambda) else source.body
        found = Taken(formula.__globals__, values).result(body)
        if op.joint and isinstance(found, ast.Tuple):
            found = found.elts[list(op.formulas).index(name)]
        return ast.unparse(found)
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
    numbers = {name: f"({text})" if text[0] == "-" else text for name, text in texts.items()}
    if not any(isinstance(g, Tensor) for g in arrived or ()):
        values = {n: v._array if isinstance(v, Tensor) else v for n, v in values.items()}
    for name in node.op.formulas:
        plain, times = expression(node.op, name, values), ""
        replaced = [values[word] for word in WORD.findall(plain) if word in texts]
        if arrived is not None and any(hasattr(value, "ndim") for value in replaced):
            times = texts.get(plain) or WORD.sub(lambda word: numbers.get(word[0], word[0]), plain)
        times = times.replace(" * ", " \N{MULTIPLICATION SIGN} ")
        found.append((plain.replace(" * ", " \N{MIDDLE DOT} "), times))
    return found * (len(node._edges) if node.op.variadic else 1)
