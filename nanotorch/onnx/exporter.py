"""Runs of a model at different sizes, and the ONNX file that describes them."""

import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.func.trees import tree_leaves, tree_map
from nanotorch.nn.module import Module
from nanotorch.onnx.errors import OnnxExporterError
from nanotorch.onnx.graph import HOW, Graph, Symbol, Value, onnx_dtype
from nanotorch.onnx.table import FUNCTIONS, TABLE
from nanotorch.onnx.trace import Call, Ref, Trace
from nanotorch.ops.random import get_rng_state, set_rng_state

IR_VERSION = 10
INPUT = "input: "  # before the key of an input: a parameter may have the same name


class Export:
    """The inputs of a model, its runs, and the graph.

    Args: see `nanotorch.onnx.export`.
    """

    def __init__(
        self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str],
        dynamic_shapes: Any, dynamic_axes: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.model, self.arguments, self.dynamic_axes = model, (args, kwargs), dynamic_axes
        self.state: dict[str, Tensor] = {}
        if isinstance(model, Module):
            self.state |= dict(model.named_parameters()) | dict(model.named_buffers())
        signature = inspect.signature(model.forward if isinstance(model, Module) else model)
        bound = signature.bind(*args, **kwargs).arguments
        if not isinstance(dynamic_shapes, Mapping):
            dynamic_shapes = dict(zip(bound, dynamic_shapes, strict=False))
        self.inputs: dict[str, Tensor] = {}
        self.axes: dict[str, dict[int, str]] = {}  # the names of the dynamic sizes
        found = [leaf for n, x in bound.items() for leaf in leaves(n, x, dynamic_shapes.get(n))]
        for name, (own, tensor, spec) in itertools.zip_longest(names[: len(found)], found):
            name = name or (f"{own}_input" if own in self.state else own)
            self.inputs[name] = tensor
            self.axes[name] = named_axes(name, dynamic_axes.get(name, spec), tensor.ndim)
        self.symbols = self._symbols()
        random = get_rng_state()
        self.runs, self.last = [self._run(0), self._run(1)], 1
        if self.symbols:
            self._run_last()
        set_rng_state(random)

    def _symbols(self) -> dict[str, Symbol]:
        """The dynamic sizes; no two of them change by the same ratio.

        Their sizes are those of the first run, of the second, of the last, and of the last for a
        model with a greatest size.
        """
        symbols: dict[str, Symbol] = {}
        ratios = {Fraction(1)}

        def other(size: int, candidates: Iterator[int]) -> int:
            found = next(n for n in candidates if Fraction(n, size) not in ratios)
            ratios.add(Fraction(found, size))
            return found

        for name, axis, symbol in ((n, a, s) for n in self.axes for a, s in self.axes[n].items()):
            if symbol not in symbols:
                size = max(self.inputs[name].shape[axis], 2)  # one may mean something else
                near = itertools.chain(range(size - 1, 1, -1), itertools.count(size + 1))
                sizes = size, other(size, near), other(size, itertools.count(2 * size + 3))
                symbols[symbol] = Symbol(symbol, (*sizes, other(size, near)), name, axis)
        return symbols

    def _input(self, name: str, run: int) -> Tensor:
        """An input of a run: samples repeated or left out; in the second run, other numbers."""
        array = self.inputs[name].detach().numpy()
        for axis, symbol in self.axes[name].items():
            numbers = np.arange(self.symbols[symbol].sizes[run])[:: -1 if run else 1]
            array = array.take(numbers % array.shape[axis], axis)
        return wrap(array * array.dtype.type(0.875 if run and array.dtype.kind == "f" else 1))

    def _run(self, run: int) -> tuple[list[Call], list[Any]]:
        """The calls and the results of a run."""
        trace, fresh = Trace(FUNCTIONS), {}
        for name, tensor in self.state.items():
            trace.learn(tensor, name)
        for name, tensor in self.inputs.items():
            fresh[id(tensor)] = made = self._input(name, run)
            trace.learn(made, f"{INPUT}{name}")
        args, kwargs = tree_map(lambda leaf: fresh.get(id(leaf), leaf), self.arguments)
        named = {s.name: s.sizes[run] for s in self.symbols.values()}
        try:
            with no_grad():
                return trace.calls, trace.run(self.model, args, kwargs)
        except Exception as error:
            if not named:
                raise
            message = f"the model fails at dynamic sizes, {named}; equal ones need one name"
            raise OnnxExporterError(f"{message}: {error}") from error

    def _run_last(self) -> None:
        """Add a run that shows which numbers are not linear in the dynamic sizes."""
        try:
            self.last = 2
            self.runs.append(self._run(2))
        except OnnxExporterError:
            self.last = 3
            self.runs.append(self._run(3))

    def make_graph(self, output_names: Sequence[str]) -> None:
        """Make the graph of the calls on which the results depend."""
        (first, results), (second, others) = self.runs[:2]
        third = self.runs[-1][0]
        for calls in itertools.zip_longest(first, second, third):
            if None in calls or len({call.name for call in calls}) > 1:
                site = next(call.site for call in calls if call is not None)
                message = f"whether {site} runs depends on values or sizes of the inputs"
                raise OnnxExporterError(message)
        count = len(results)
        defaults = ["output"] if count == 1 else [f"output_{k}" for k in range(count)]
        self.outputs = [*output_names, *defaults[len(output_names) :]][:count]
        values = {f"{INPUT}{n}": Value.of(n, x._array.dtype) for n, x in self.inputs.items()}
        state = {name: tensor._array for name, tensor in self.state.items()}
        graphs = [
            Graph(values, state, [s.between(run) for s in self.symbols.values()], self.outputs)
            for run in (1, self.last)
        ]
        self.graph = graphs[0]
        for number in sorted(needed_calls(first, results)):
            size = self.graph.size()
            for graph, run in zip(graphs, (second, third), strict=True):
                graph.add_call(number, first[number], run[number], TABLE)
            if not graphs[0].is_same_since(size, graphs[1]):
                message = f"cannot export {first[number].site}: it depends on a number, {HOW}"
                raise OnnxExporterError(message)
        self.results = [self.graph.merge(*pair) for pair in zip(results, others, strict=True)]

    def model_proto(self, opset: int, with_weights: bool, weights_as_inputs: bool) -> Any:
        """The model as a message of the library `onnx`, checked.

        Args:
            opset: the version of the operators.
            with_weights: whether it has the parameters.
            weights_as_inputs: whether they are inputs, too.
        """
        import onnx
        from onnx import helper, numpy_helper

        def info(name: str, dtype: Any, shape: Any, named: Any) -> Any:
            named = named if isinstance(named, Mapping) else {}
            sizes = [named.get(k, n if isinstance(n, int) else None) for k, n in enumerate(shape)]
            return helper.make_tensor_value_info(name, onnx_dtype(dtype), sizes)

        held = self.graph.initializers
        weights = [name for name in held if name in self.state]
        inputs = [info(n, x._array.dtype, x.shape, self.axes[n]) for n, x in self.inputs.items()]
        for name in weights if weights_as_inputs else ():
            inputs.append(info(name, held[name].dtype, held[name].shape, None))
        nodes, outputs = [*self.graph.nodes], []
        for name, value in zip(self.outputs, self.results, strict=True):
            nodes.append(helper.make_node("Identity", [value], [name], name))
            named = self.graph.labels(value.shape) | dict(self.dynamic_axes.get(name) or {})
            outputs.append(info(name, value.dtype, value.shape, named))
        kept = [name for name in held if with_weights or name not in weights]
        arrays = [numpy_helper.from_array(np.asarray(held[name]), name) for name in kept]
        title = type(self.model).__name__
        graph = helper.make_graph(nodes, title, inputs, outputs, arrays)
        proto = helper.make_model(
            graph, producer_name="nanotorch", ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", opset)],
        )  # fmt: skip
        onnx.checker.check_model(proto, full_check=True)
        return proto


def leaves(name: str, value: Any, spec: Any) -> Iterator[tuple[str, Tensor, Any]]:
    """The tensors in an argument, each with a name and the dynamic sizes."""
    if isinstance(value, Tensor):
        yield name, value, spec
    elif isinstance(value, (tuple, list, Mapping)):
        for key, part in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from leaves(f"{name}_{key}", part, spec[key] if spec else None)


def named_axes(name: str, spec: Any, ndim: int) -> dict[int, str]:
    """The names of the dynamic sizes of an input, by dimension."""
    if isinstance(spec, (tuple, list)) and all(isinstance(axis, int) for axis in spec):
        spec = {axis: f"{name}_{axis}" for axis in spec}
    pairs = spec.items() if isinstance(spec, Mapping) else enumerate(spec or ())
    named = {axis % ndim: getattr(symbol, "__name__", symbol) for axis, symbol in pairs}
    return {axis: symbol for axis, symbol in named.items() if isinstance(symbol, str)}


def needed_calls(calls: Sequence[Call], results: Sequence[Any]) -> set[int]:
    """The numbers of the calls on which the results depend."""
    needed: set[int] = set()
    todo = [*results]
    while todo:
        ref = todo.pop()
        if isinstance(ref, Ref) and isinstance(ref.key, tuple) and ref.key[0] not in needed:
            needed.add(ref.key[0])
            todo += tree_leaves(dict(calls[ref.key[0]].arguments))
    return needed
