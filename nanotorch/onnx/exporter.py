"""Two runs of a model at different sizes, and the ONNX file that describes both."""

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
from nanotorch.onnx.graph import Graph, Symbol, Value, onnx_dtype
from nanotorch.onnx.table import FUNCTIONS, TABLE
from nanotorch.onnx.trace import Call, Ref, Trace
from nanotorch.ops.random import get_rng_state, set_rng_state
from nanotorch.testing import assert_close


class Export:
    """The inputs of a model, its two runs, and the graph.

    Args: see `nanotorch.onnx.export`.
    """

    def __init__(
        self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str],
        dynamic_shapes: Any, dynamic_axes: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.model, self.args, self.kwargs = model, args, kwargs
        self.state: dict[str, Tensor] = {}
        if isinstance(model, Module):
            self.state |= dict(model.named_parameters()) | dict(model.named_buffers())
        signature = inspect.signature(model.forward if isinstance(model, Module) else model)
        bound = signature.bind(*args, **kwargs).arguments
        if isinstance(dynamic_shapes, (tuple, list)):
            dynamic_shapes = dict(zip(bound, dynamic_shapes, strict=False))
        found = [leaf for n, x in bound.items() for leaf in leaves(n, x, (dynamic_shapes or {}).get(n))]
        self.inputs: dict[str, Tensor] = {}
        self.axes: dict[str, dict[int, str]] = {}  # the names of the dynamic sizes
        for name, (own, tensor, spec) in itertools.zip_longest(names[: len(found)], found):
            name = name or (f"{own}_input" if own in self.state else own)
            self.inputs[name] = tensor
            self.axes[name] = named_axes(name, dynamic_axes.get(name, spec), tensor.ndim)
        self.dynamic_axes = dynamic_axes
        self.symbols = self._symbols()
        random = get_rng_state()
        (self.first, self.results), (self.second, self.others) = self._run(0), self._run(1)
        set_rng_state(random)

    def _symbols(self) -> dict[str, Symbol]:
        """The dynamic sizes; no two of them change by the same ratio."""
        symbols: dict[str, Symbol] = {}
        ratios = {Fraction(1)}
        for name, tensor in self.inputs.items():
            for axis, symbol in self.axes[name].items():
                if symbol in symbols:
                    continue
                size = max(tensor.shape[axis], 2)  # one element may mean something else
                smaller = (n for n in range(size - 1, 1, -1))
                others = itertools.chain(smaller, itertools.count(size + 1))
                other = next(n for n in others if Fraction(n, size) not in ratios)
                ratios.add(Fraction(other, size))
                symbols[symbol] = Symbol(symbol, (size, other), name, axis)
        return symbols

    def _input(self, name: str, run: int) -> Tensor:
        """An input of a run: samples repeated or left out; in the second run, other numbers."""
        array = self.inputs[name].detach().numpy()
        for axis, symbol in self.axes[name].items():
            count = self.symbols[symbol].sizes[run]
            numbers = np.arange(count) if not run else np.arange(count)[::-1]
            array = array.take(numbers % array.shape[axis], axis)
        if run and array.dtype.kind == "f":
            array = array * array.dtype.type(0.875)
        return wrap(np.array(array))

    def _run(self, run: int) -> tuple[list[Call], list[Any]]:
        """The calls and the results of a run."""
        trace, fresh = Trace(FUNCTIONS), {}
        for name, tensor in self.state.items():
            trace.learn(tensor, name)
        for name, tensor in self.inputs.items():
            fresh[id(tensor)] = made = self._input(name, run)
            trace.learn(made, f"{INPUT}{name}")
        args, kwargs = tree_map(lambda leaf: fresh.get(id(leaf), leaf), (self.args, self.kwargs))
        try:
            with no_grad():
                results = trace.run(self.model, args, kwargs)
        except Exception as error:
            sizes = ", ".join(
                f"{s.name} = {s.sizes[run]}"
                for s in self.symbols.values()
                if s.sizes[run] != self.inputs[s.input].shape[s.axis]
            )
            if not sizes:
                raise
            message = f"the model fails with {sizes}; equal sizes need one name: {error}"
            raise OnnxExporterError(message) from error
        return trace.calls, results

    def add_calls(self, opset: int, output_names: Sequence[str]) -> None:
        """Make the graph of the calls on which the results depend."""
        first, second = self.first, self.second
        for a, b in itertools.zip_longest(first, second):
            if a is None or b is None or a.name != b.name:
                call = a or b
                raise OnnxExporterError(
                    f"which operations run depends on the inputs: {call.shown} ({call.where}) runs "
                    "only with some of their values or sizes"
                )
        count = len(self.results)
        defaults = ["output"] if count == 1 else [f"output_{k}" for k in range(count)]
        self.outputs = [*output_names, *defaults[len(output_names) :]][:count]
        inputs = {
            f"{INPUT}{name}": Value.of(name, tensor._array.dtype)
            for name, tensor in self.inputs.items()
        }
        state = {name: tensor._array for name, tensor in self.state.items()}
        self.graph = Graph(inputs, state, [*self.symbols.values()], opset, self.outputs)
        needed = needed_calls(first, self.results)
        for number in sorted(needed):
            self.graph.add_call(number, first[number], second[number], TABLE)
        self.made = [self.graph.result(*pair) for pair in zip(self.results, self.others, strict=True)]

    def model_proto(self, with_weights: bool, weights_as_inputs: bool) -> Any:
        """The model as a message of the library `onnx`, checked.

        Args:
            with_weights: whether it has the parameters.
            weights_as_inputs: whether they are inputs, too.
        """
        import onnx
        from onnx import helper, numpy_helper

        graph, label = self.graph, self.graph.label
        nodes = [
            helper.make_node("Identity", [value], [name], name)
            for value, name in zip(self.made, self.outputs, strict=True)
        ]

        def info(name: str, value: Any, axes: Any = ()) -> Any:
            named = axes if isinstance(axes, Mapping) else {}
            shape = [label(n) or named.get(k) for k, n in enumerate(value.shape)]
            return helper.make_tensor_value_info(name, onnx_dtype(value.dtype), shape)

        inputs = []
        for name, tensor in self.inputs.items():
            shape = [self.axes[name].get(k, n) for k, n in enumerate(tensor.shape)]
            kind = onnx_dtype(tensor._array.dtype)
            inputs.append(helper.make_tensor_value_info(name, kind, shape))
        weights = {name: a for name, a in graph.initializers.items() if name in self.state}
        if weights_as_inputs:
            inputs += [info(name, array) for name, array in weights.items()]
        held = [
            numpy_helper.from_array(np.asarray(array), name)
            for name, array in graph.initializers.items()
            if with_weights or name not in weights
        ]
        pairs = zip(self.outputs, self.made, strict=True)
        outputs = [info(name, value, self.dynamic_axes.get(name)) for name, value in pairs]
        name = type(self.model).__name__
        made = helper.make_graph([*graph.nodes, *nodes], name, inputs, outputs, held)
        opset = helper.make_opsetid("", graph.opset)
        proto = helper.make_model(
            made, producer_name="nanotorch", ir_version=IR_VERSION, opset_imports=[opset]
        )
        onnx.checker.check_model(proto, full_check=True)
        return proto

    def compare(self, program: Any) -> None:
        """Compare the results of `onnxruntime` with the model's; raises AssertionError."""
        with no_grad():
            results = tree_leaves(self.model(*self.args, **self.kwargs))
        ours = [part for part in results if isinstance(part, Tensor)]
        assert_close(program(*self.inputs.values()), ours)


INPUT = "input: "  # before the key of an input; a parameter may have the same name
IR_VERSION = 10


def leaves(name: str, value: Any, spec: Any) -> Iterator[tuple[str, Tensor, Any]]:
    """The tensors in an argument, each with a name and the dynamic sizes."""
    if isinstance(value, Tensor):
        yield name, value, spec
    elif isinstance(value, (tuple, list, Mapping)):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, part in items:
            yield from leaves(f"{name}_{key}", part, spec[key] if spec else None)


def named_axes(name: str, spec: Any, ndim: int) -> dict[int, str]:
    """The names of the dynamic sizes of an input, by dimension."""
    if isinstance(spec, Mapping):
        given = dict(spec)
    elif spec and all(isinstance(axis, int) for axis in spec):
        given = {axis: f"{name}_{axis}" for axis in spec}
    else:
        given = dict(enumerate(spec or ()))
    return {
        axis % ndim: symbol if isinstance(symbol, str) else symbol.__name__
        for axis, symbol in given.items()
        if symbol is not None and not isinstance(symbol, int)
    }


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
