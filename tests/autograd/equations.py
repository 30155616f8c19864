"""Evaluates the equations on a page of `explain` and compares them with the true values.

A page holds only texts. A `Checked` page also notes the operands, results and gradients of each
node, and `check` reads the texts again: a name is the tensor with this name, a list of numbers an
array, and ``…`` an operand of which the page says that it is not known.
"""

import ast
import builtins
import copy
import inspect
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch._core import doors
from nanotorch._core.doors import Observer
from nanotorch._core.engine import sum_to
from nanotorch._core.graph import Node
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.autograd import explain
from nanotorch.autograd.anomaly_mode import set_detect_anomaly
from nanotorch.autograd.graph_text import OF_MEMORY, op_of, operands_of, saved_by
from nanotorch.ops.fused import Moments
from tests.ops.checks import assert_close
from tests.tolerances import DOUBLE

UNKNOWN: Any = object()
MARKS = {"−": "-", "×": "*", "÷": "/", "·": "*", "…": "UNKNOWN"}  # noqa: RUF001
SIGNS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}
SIGNS |= {ast.MatMult: "matmul mm bmm"}


def bare(value: Any) -> Any:
    """A copy of a value, with arrays for its tensors."""
    if type(value) in (list, tuple):
        return type(value)(map(bare, value))
    held = getattr(value, "_array", value)
    return copy.deepcopy(held) if isinstance(held, (np.ndarray, Moments)) else held


@dataclass
class Run:
    """The true values at a node."""

    node: Node
    arguments: dict[str, Any]
    result: Any
    g: Any = None
    saved: dict[str, Any] = field(default_factory=dict)
    sent: list[Any] = field(default_factory=list)  # by edge, in the shape of the operand


class Recorder(Observer):
    """Notes the values of a forward pass, by node and by the names of the tensors."""

    def __init__(self) -> None:
        self.runs: dict[Node, Run] = {}
        self.tensors: list[Any] = []  # so that nothing else gets their `id`
        self.values: dict[int, Any] = {}

    def made(self, node: Node, out: Any, arguments: Sequence[Any]) -> None:
        op = op_of(node)
        names = op.arguments if op else map(str, range(len(arguments)))
        given = dict(zip(names, map(bare, arguments), strict=True))
        self.runs[node] = Run(node, given, bare(out))
        for tensor in (*arguments, *(out if isinstance(out, tuple) else (out,))):
            self.tensors.append(tensor)
            self.values.setdefault(id(tensor), bare(tensor))


class Checked(explain):
    """A page that keeps the true values beside its texts."""

    def __init__(self, loss: Any = None, recorder: Recorder | None = None) -> None:
        self.recorder = recorder or Recorder()
        self.values: dict[str, Any] = {}  # by the texts that stand for tensors
        self.nodes: list[Any] = []  # of the steps
        super().__init__(loss)

    def _begin(self, phase: str, node: Node) -> Any:
        self.nodes.append(node)
        return super()._begin(phase, node)

    def made(self, node: Node, out: Any, arguments: Sequence[Any]) -> None:
        self.recorder.made(node, out, arguments)
        super().made(node, out, arguments)

    def __exit__(self, *exc: object) -> None:
        for node, run in self.recorder.runs.items():
            seen = self._nodes.get(node)
            if seen is not None and seen.call:
                self.values[seen.call] = run.result
        super().__exit__(*exc)
        for number, name in self._names.items():
            if number in self.recorder.values:
                self.values[name] = self.recorder.values[number]

    def ran(self, sweep: Any, node: Node, grads: Sequence[Any], arrived: Sequence[Any]) -> None:
        run = self.recorder.runs.get(node)
        if run is not None:
            run.saved = {name: bare(value) for name, value in saved_by(node).items()}
            run.g = bare(arrived[0])
            if op_of(node) and node.multi:
                filled = op_of(node).multi
                zeros = [np.zeros(*meta) for meta in node._outputs]
                pairs = zip(arrived, zeros, strict=True)
                run.g = tuple(z if g is None and filled else bare(g) for g, z in pairs)
            run.sent = [
                None if edge[0] is None or g is None else sum_to(bare(g), shape_at(edge))
                for edge, g in zip(node._edges, grads, strict=True)
            ]
        super().ran(sweep, node, grads, arrived)


def shape_at(edge: Any) -> tuple[int, ...]:
    """The shape of the gradient that goes along an edge."""
    node, number = edge
    return node.variable.shape if hasattr(node, "variable") else node._outputs[number][0]


# Texts


class Arrays(ast.NodeTransformer):
    """Makes arrays of lists of numbers, and known values of the texts that stand for them."""

    def __init__(self, values: Mapping[str, Any], kinds: tuple[type, ...]) -> None:
        self.kinds = kinds  # of the numbers that are arrays
        self.environment = {f"VALUE{k}": value for k, value in enumerate(values.values())}
        self.named = {ast.dump(parsed(name)): f"VALUE{k}" for k, name in enumerate(values)}

    def visit(self, node: ast.AST) -> Any:
        number = self.named.get(ast.dump(node)) if self.named else None
        return ast.Name(number, ast.Load()) if number else super().visit(node)

    def visit_List(self, node: ast.List) -> Any:
        return ast.Call(ast.Name("ARRAY", ast.Load()), [node], [])

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return ast.Subscript(self.visit(node.value), node.slice, node.ctx)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Invert):  # in Python, ``~True`` is -2
            operand = ast.Call(ast.Name("ARRAY", ast.Load()), [operand], [])
        return ast.UnaryOp(node.op, operand)

    def visit_Constant(self, node: ast.Constant) -> Any:
        listed = isinstance(node.value, self.kinds)
        return ast.Call(ast.Name("ARRAY", ast.Load()), [node], []) if listed else node


def parsed(text: str) -> ast.expr:
    """The tree of an expression; raises AssertionError if the text is none."""
    for mark, sign in MARKS.items():
        text = text.replace(mark, sign)
    try:
        return ast.parse(text.replace("<lambda>", "FORMULA"), mode="eval").body
    except SyntaxError:
        raise AssertionError(f"not an expression: {text}") from None


def array_of(value: Any) -> np.ndarray:
    """An array of the value; of integers, as of PyTorch's, one of int64 on every machine."""
    made = np.array(value)
    return made.astype(np.int64) if made.dtype.kind == "i" else made


def evaluated(text: str, values: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    """The value of an expression; raises AssertionError if the text is none.

    Args:
        values: by text, the values of names and of whole calls.
        names: functions and others.
    """
    own = {"ARRAY": array_of, "UNKNOWN": UNKNOWN, "nan": np.array(np.nan), "inf": np.array(np.inf)}

    def value(*kinds: type) -> Any:
        arrays = Arrays(values, kinds)
        whole = ast.fix_missing_locations(ast.Expression(arrays.visit(parsed(text))))
        code = compile(whole, "<equation>", "eval")
        return eval(code, {**own, **names, **arrays.environment})

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with suppress(AttributeError, TypeError):  # a number may be an option, or an array
            return value(float)
        with suppress(AttributeError, TypeError):
            return value(int, float)
        return value()


def parts(text: str) -> list[str]:
    """The sides of an equation."""
    return text.split(" = ")


def same(actual: Any, expected: Any, what: str) -> None:
    """Fail if two values, or two tuples of values, differ; those without elements are the same."""
    if isinstance(expected, tuple):
        if not isinstance(actual, tuple) or len(actual) != len(expected):
            raise AssertionError(f"{what}: {actual!r} is not {expected!r}")
        for one, other in zip(actual, expected, strict=True):
            same(one, other, what)
        return
    expected, actual = np.asarray(expected), np.asarray(bare(actual))
    if expected.size or actual.size:
        assert_close(actual, expected, 16 * DOUBLE, what)


def call_of(op: Any, text: str, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The operands and options in the text of a call."""
    tree = parsed(text)
    if isinstance(tree, ast.BinOp) and op.known_as in SIGNS[type(tree.op)].split():
        found, options = [tree.left, tree.right], []
    elif isinstance(tree, ast.Call) and ast.unparse(tree.func) in (op.known_as, op.inplace_name):
        found, options = tree.args, tree.keywords
    else:
        raise AssertionError(f"not a call of {op.known_as}: {text}")
    return (
        [evaluated(ast.unparse(part), values, {}) for part in found],
        {str(part.arg): evaluated(ast.unparse(part.value), values, {}) for part in options},
    )


def single(value: Any) -> bool:
    """Whether a value is a number."""
    return isinstance(value, (bool, int, float, np.generic))


def vague(value: Any) -> bool:
    """Whether a value holds an array without elements or of halves, or infinity, which no text
    shows in full, or which NumPy's power treats in its own way."""
    if isinstance(value, (list, tuple)):
        return any(map(vague, value))
    return isinstance(value, np.ndarray) and (
        not value.size or value.dtype.itemsize == 2 or not np.isfinite(value).all()
    )


def outcome(node: Node, arguments: Mapping[str, Any]) -> Any:
    """The results of a node's operation that have a gradient."""
    op = op_of(node)

    def tensors(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
            return type(value)(map(tensors, value))
        return wrap(value.copy()) if isinstance(value, np.ndarray) else value

    given = {}
    for name, value in arguments.items():
        if name in op.inputs:
            given[name] = tensors(array_of(value) if single(value) else value)
        else:
            given[name] = (
                value.item() if isinstance(value, np.ndarray) and not value.ndim else value
            )
    torch.manual_seed(0)
    with torch.no_grad(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        out = op.functions[op.name](**given)
    outs = out if isinstance(out, tuple) else (out,)
    return tuple(map(bare, outs)) if node.multi else bare(outs[0])


def check_call(page: Checked, run: Run, text: str) -> None:
    """Compare the sides of the equation of a forward step with the result."""
    op = op_of(run.node)
    *calls, shown = parts(text)
    outputs = run.result if isinstance(run.result, tuple) else (run.result,)
    if shown.strip("?, "):
        results = evaluated(f"({shown.replace('?', 'UNKNOWN')},)", {}, {})
        for one, other in zip(results, outputs, strict=False):
            if one is not UNKNOWN:
                same(one, other, "the result")
    if op is None:
        return
    try:
        same(outcome(run.node, run.arguments), run.result, "")
    except AssertionError:
        return  # random, or in place: the operand holds the result
    for call in calls:
        operands, options = call_of(op, call, page.values)
        places = [n for n in op.arguments if n in operands_of(op)]
        assert len(operands) <= len(places), f"more than {places}: {call}"
        given = dict(zip(places, operands, strict=False)) | options
        for name, argument in op.arguments.items():
            if given.get(name, UNKNOWN) is UNKNOWN and (name in given or name in OF_MEMORY):
                given[name] = run.arguments[name]
            elif name not in given and name in places:
                assert run.arguments[name] is None, f"{name} is not in {call}"
                given[name] = None
            elif isinstance(given.get(name), tuple) and name in places:
                pairs = zip(given[name], run.arguments[name], strict=True)
                given[name] = tuple(true if one is UNKNOWN else one for one, true in pairs)
            given.setdefault(name, argument.default)
        same(outcome(run.node, given), run.result, call)


def floats(value: Any) -> Any:
    """An array of integers as one of floating-point numbers; anything else as it is."""
    whole = isinstance(value, np.ndarray) and value.dtype.kind in "iu"
    return value.astype(float) if whole else value


def check_gradients(run: Run, texts: Sequence[str], backward: bool) -> None:
    """Compare the sides of the equations of gradients with the gradients that were sent."""
    op = op_of(run.node)
    places = [k for k, edge in enumerate(run.node._edges) if edge[0] is not None]
    assert not backward or len(texts) == len(places), "an operand has no equation"
    if op is None or not texts:
        return
    names = list(op.formulas)
    for place, text in zip(places, texts, strict=True):
        true = run.sent[place]
        if true is None:
            continue
        _, formula, *more = parts(text)
        function = op.formulas[names[0 if op.variadic else place]]
        known = vars(builtins) | function.__globals__ | {"FORMULA": function}
        usual = known["sum"]

        def total(value: Any, *more: Any, usual: Any = usual, **named: Any) -> Any:
            return usual(value, *more, **named) if more or named else np.sum(value)

        known |= inspect.getclosurevars(function).nonlocals
        known |= {"sum": total, "sum_to_size": sum_to, function.__name__: function}
        known |= {"g": run.g, **run.saved}
        if op.cast:  # the engine brings them to the dtype of `g`
            known |= {"ARRAY": lambda value: floats(array_of(value))}
            known |= {n: floats(v) for n, v in run.saved.items()}
        assert not backward or more, f"no result: {text}"
        for side in [formula, *more]:
            same(evaluated(side, {}, known), true, text)


def check(page: Checked) -> int:
    """Check all equations of a page; returns their number."""
    count = 0
    for node, step in zip(page.nodes, page.steps, strict=True):
        run = page.recorder.runs.get(node)
        if run is None or any(map(vague, (*run.arguments.values(), run.result))):
            continue
        found = [text for kind, text in step.facts if kind == "formula"]
        backward = not step.phase.startswith("forward")
        if not backward:
            (text,) = (text for kind, text in step.facts if kind == "computes")
            check_call(page, run, text)
            count += 1
        if run.sent:
            check_gradients(run, found, backward)
            count += len(found)
    return count


def watched(call: Any, weights: Any) -> Checked:
    """The page of a call and its backward pass."""
    with Checked() as page:
        outs = [out for out in call() if isinstance(out, Tensor) and out.requires_grad]
        torch.autograd.backward(outs, weights(outs))
    return page


def looked_back(call: Any, weights: Any) -> Checked:
    """The page of a backward pass whose forward pass was not watched."""
    recorder = Recorder()
    with set_detect_anomaly(True, check_nan=False):
        doors.nodes.append(recorder)
        try:
            outs = [out for out in call() if isinstance(out, Tensor) and out.requires_grad]
            total: Any = sum((out * w).sum() for out, w in zip(outs, weights(outs), strict=True))
        finally:
            doors.nodes.remove(recorder)
    return Checked(total, recorder)
