"""An ONNX graph under construction, from two runs of a model at different sizes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from nanotorch.onnx.errors import OnnxExporterError, UnsupportedOperatorError
from nanotorch.onnx.trace import Call, Ref

SIZE = np.dtype(np.int64)


class Unmapped(Exception):  # noqa: N818 - caught at the call that it concerns
    """Raised for an operation, or a form of one, that has no mapping; says what."""


class Dim:
    """A number that differs between the two runs, so that it depends on the sizes of the inputs."""

    def __init__(self, first: int, second: int) -> None:
        self.first, self.second = first, second

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((self.first, self.second))

    def __repr__(self) -> str:
        return f"{self.first} or {self.second}"


class Both:
    """The same object in the two runs; its attributes are merged."""

    def __init__(self, graph: "Graph", first: Any, second: Any) -> None:
        self.graph, self.first, self.second = graph, first, second

    def __getattr__(self, name: str) -> Any:
        return self.graph.merge(getattr(self.first, name), getattr(self.second, name))


class Value(str):
    """The name of a tensor of the graph.

    Attributes:
        dtype: its dtype.
        shape: its shape, with a `Dim` for each size that depends on the inputs; known for arguments
            of operations.
    """

    dtype: Any
    shape: tuple[Any, ...]

    @classmethod
    def of(cls, name: str, dtype: Any, shape: Sequence[Any] = ()) -> "Value":
        """A value."""
        self = cls(name)
        self.dtype, self.shape = np.dtype(dtype), tuple(shape)
        return self

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True)
class Symbol:
    """A dynamic size: its name, its sizes in the two runs, and where the graph finds it."""

    name: str
    sizes: tuple[int, int]
    input: str
    axis: int


class Graph:
    """Nodes and initializers. Any ONNX operator is a method, which adds a node.

    Arguments of these methods are values; numbers, which get the dtype of the first value; lists of
    integers, or arrays; and None for an input that is left out.

    Args:
        inputs: the inputs, by name.
        state: parameters and buffers, by name; those that are used become initializers.
        symbols: the dynamic sizes.
        opset: the version of the operators.
        outputs: names that no other value may have.
    """

    def __init__(
        self, inputs: Mapping[str, Value], state: Mapping[str, Any], symbols: Sequence[Symbol],
        opset: int, outputs: Sequence[str],
    ) -> None:  # fmt: skip
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.opset = opset
        self._values: dict[Any, Value] = dict(inputs)
        self._state, self._symbols = state, symbols
        self._names = {*inputs.values(), *state, *outputs}
        self._sizes: dict[str, Value] = {}

    def __getattr__(self, op_type: str) -> Any:
        if not op_type[0].isupper():
            raise AttributeError(op_type)
        return lambda *inputs, **options: self.add(op_type, inputs, **options)

    def add(
        self, op_type: str, inputs: Sequence[Any], outputs: int = 1, dtype: Any = None,
        **attributes: Any,
    ) -> Any:  # fmt: skip
        """Add a node; returns its value, or a list of several.

        Args:
            outputs: the number of outputs.
            dtype: their dtype. Default: that of the first input.
            attributes: the node's attributes; those that are None are left out.
        """
        from onnx import helper

        given = {name: value for name, value in attributes.items() if value is not None}
        if any(isinstance(n, Dim) for v in given.values() for n in (v if type(v) in (tuple, list) else [v])):
            raise Unmapped(f"{op_type} with sizes that depend on the inputs")
        kinds = [v.dtype for v in inputs if isinstance(v, Value)] or [SIZE]
        like = next((kind for kind in kinds if kind.kind != "b"), kinds[0])
        names = [self._operand(value, like) for value in inputs]
        while names and not names[-1]:  # runtimes may crash on the name "" at the end
            names.pop()
        made = [Value.of(self._unique(op_type.lower()), dtype or like) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op_type, names, made, str(made[0]), **given))
        return made if outputs > 1 else made[0]

    def constant(self, array: Any, name: str = "constant") -> Value:
        """An array as an initializer."""
        array = np.asarray(array)
        value = Value.of(self._unique(name), array.dtype, array.shape)
        self.initializers[value] = array
        return value

    def cast(self, value: Value, dtype: Any) -> Value:
        """A value in a dtype."""
        dtype = np.dtype(dtype)
        if value.dtype == dtype:
            return value
        made: Value = self.Cast(value, to=onnx_dtype(dtype), dtype=dtype)
        return Value.of(made, dtype, value.shape)

    def sizes(self, numbers: Sequence[Any]) -> Value:
        """Whole numbers as a vector."""
        if not any(isinstance(n, Dim) for n in numbers):
            return self.constant(np.array(numbers, SIZE))
        parts = [self._size(n) if isinstance(n, Dim) else self.sizes([n]) for n in numbers]
        return Value.of(self.Concat(*parts, axis=0) if len(parts) > 1 else parts[0], SIZE)

    def reshape(self, value: Value, size: Sequence[Any]) -> Value:
        """A value in another shape."""
        dims = [k for k, n in enumerate(size) if isinstance(n, Dim)]
        if len(dims) == 1 and not any(n in (0, -1) for n in size if isinstance(n, int)):
            size = [-1 if k in dims else n for k, n in enumerate(size)]
        return self.Reshape(value, list(size))

    def term(self, dim: Dim) -> tuple[int, tuple[Symbol, ...], int]:
        """A number as a factor, the symbols that it multiplies, and a summand.

        Raises:
            OnnxExporterError: if it is no such expression.
        """
        for count in range(1, len(self._symbols) + 1):
            for some in combinations(self._symbols, count):
                first, second = (math.prod(s.sizes[k] for s in some) for k in (0, 1))
                if dim.first * second == dim.second * first and not dim.first % first:
                    return dim.first // first, some, 0
        for symbol in self._symbols:
            first, second = symbol.sizes
            factor, rest = divmod(dim.second - dim.first, second - first)
            if not rest and factor:
                return factor, (symbol,), dim.first - factor * first
        raise OnnxExporterError(
            f"a size is {dim.first} in one run and {dim.second} in another, which is no simple "
            f"expression of {', '.join(f'{s.name} ({s.sizes[0]}, {s.sizes[1]})' for s in self._symbols)}"
        )

    def label(self, size: Any) -> Any:
        """A size of an input or output for readers: a number or a name; None for neither."""
        if not isinstance(size, Dim):
            return size
        factor, symbols, summand = self.term(size)
        return symbols[0].name if (factor, len(symbols), summand) == (1, 1, 0) else None

    def merge(self, first: Any, second: Any) -> Any:
        """An argument of a call, from its values in the two runs.

        Raises:
            OnnxExporterError: if they differ in more than sizes.
        """
        if isinstance(first, Ref) and isinstance(second, Ref) and first.key == second.key:
            return self.value(first, second)
        kind = type(first)
        if kind is type(second):
            if kind in (tuple, list) and len(first) == len(second):
                return kind([self.merge(a, b) for a, b in zip(first, second, strict=True)])
            if kind is dict and first.keys() == second.keys():
                return {name: self.merge(first[name], second[name]) for name in first}
            if kind is slice:
                parts = ("start", "stop", "step")
                return slice(*(self.merge(getattr(first, n), getattr(second, n)) for n in parts))
            if isinstance(first, np.ndarray) and first.dtype == second.dtype:
                return self._merged_constant(first, second)
            if first is second or (isinstance(first, PLAIN) and first == second):
                return first
            if kind is int:
                return Dim(first, second)
            if not isinstance(first, (Ref, *PLAIN)):
                return Both(self, first, second)
        raise OnnxExporterError(
            "what it computes depends on the values of the inputs, or on chance: "
            f"{shown(first)} in one run and {shown(second)} in another"
        )

    def value(self, first: Ref, second: Ref) -> Value:
        """The value of a tensor."""
        key = first.key
        if isinstance(key, list):
            raise UnsupportedOperatorError(f"cannot export {key[0]}: it has no mapping to ONNX")
        if key not in self._values:
            if not isinstance(key, str):
                raise Unmapped("another result of an operation")
            self.initializers[key] = self._state[key]
            self._values[key] = Value.of(key, first.dtype)
        shape = self.merge(tuple(first.shape), tuple(second.shape))
        return Value.of(self._values[key], first.dtype, shape)

    def result(self, first: Any, second: Any) -> Value:
        """The value of a result of the model.

        Raises:
            OnnxExporterError: if the graph cannot compute it.
        """
        try:
            return self.merge(first, second)
        except Unmapped as reason:
            raise UnsupportedOperatorError(f"cannot export a result: {reason}") from None

    def add_call(self, number: int, first: Call, second: Call, table: Mapping[str, Any]) -> None:
        """Add the nodes of a call.

        Raises:
            UnsupportedOperatorError: if it has no mapping.
            OnnxExporterError: if it differs between the runs in more than sizes.
        """
        try:
            if first.name not in table:
                raise Unmapped("it has no mapping to ONNX")
            made = self._mapped(table[first.name], first, second)
        except Unmapped as reason:
            told = f"cannot export {first.shown}: {reason} ({first.where})"
            raise UnsupportedOperatorError(told) from None
        except UnsupportedOperatorError:
            raise
        except OnnxExporterError as error:
            raise OnnxExporterError(f"cannot export {first.shown}: {error} ({first.where})") from None
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        for place, (value, ref) in enumerate(zip(made, first.results, strict=False)):
            self._values[number, place] = self.cast(value, ref.dtype)

    def _mapped(self, row: Any, first: Call, second: Call) -> Any:
        """The values that a row of the table makes."""

        def argument(name: str) -> Any:
            value = self.merge(first.arguments[name], second.arguments[name])
            dtype = first.operands.get(name)
            if isinstance(value, list):  # the operands of a concatenation
                return [self.cast(v, first.results[0].dtype) if isinstance(v, Value) else v for v in value]
            return value if dtype is None else self.cast(value, dtype)

        if isinstance(row, str):
            dtype = first.results[0].dtype
            return self.add(row, [argument(name) for name in first.operands], dtype=dtype)
        names = row.__code__.co_varnames[1 : row.__code__.co_argcount]
        pairs = zip(first.results, second.results, strict=True)
        outs = [Value.of("", a.dtype, self.merge(a.shape, b.shape)) for a, b in pairs]
        given = {"out": outs[0], "outs": outs}
        return row(self, *(given[n] if n in given else argument(n) for n in names))

    def _operand(self, value: Any, like: Any) -> str:
        """The name of a node's input."""
        if value is None:
            return ""
        if isinstance(value, Value):
            return value
        if isinstance(value, (list, tuple)):
            return self.sizes(value)
        array = value if isinstance(value, np.ndarray) else np.array(value, like)
        return self.constant(array)

    def _unique(self, name: str) -> str:
        """A new name that begins with ``name``."""
        found, number = name, 0
        while found in self._names:
            number += 1
            found = f"{name}_{number}"
        self._names.add(found)
        return found

    def _size(self, dim: Dim) -> Value:
        """A number that depends on the inputs, as a vector of one element."""
        factor, symbols, summand = self.term(dim)
        for s in symbols:
            if s.name not in self._sizes:
                at = Value.of(s.input, SIZE)
                self._sizes[s.name] = self.Shape(at, start=s.axis, end=s.axis + 1)
        made = self._sizes[symbols[0].name]
        for s in symbols[1:]:
            made = self.Mul(made, self._sizes[s.name])
        made = made if factor == 1 else self.Mul(made, [factor])
        return made if not summand else self.Add(made, [summand])

    def _merged_constant(self, first: Any, second: Any) -> Value:
        """A constant that does not depend on values, but perhaps on sizes.

        Along a dimension of different sizes, its elements are equal or count up.
        """
        if not first.ndim and not second.ndim and first != second and first % 1 == second % 1 == 0:
            number = self.Squeeze(self.sizes([Dim(int(first), int(second))]))
            return self.cast(number, first.dtype)
        shape = self.merge(first.shape, second.shape)
        for axis, size in enumerate(shape if len(shape) == first.ndim else ()):
            if isinstance(size, Dim):
                alike = [a.take([0], axis) for a in (first, second) if a.size]
                if len(alike) == 2 and (first == alike[0]).all() and (second == alike[1]).all():
                    first, second = alike
        if first.shape == second.shape and np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
            made = self.constant(first)
            return made if first.shape == shape else Value.of(self.Expand(made, shape), first.dtype, shape)
        longer = [axis for axis, n in enumerate(first.shape) if n != second.shape[axis]]
        counts = [np.arange(a.size).reshape(a.shape).astype(a.dtype) for a in (first, second)]
        if len(longer) == 1 and all(np.array_equal(*p) for p in zip((first, second), counts, strict=True)):
            stop = self.Squeeze(self.sizes([shape[longer[0]]]))
            numbers = self.cast(self.Range(0, stop, 1), first.dtype)
            made = self.Reshape(numbers, [-1 if n == longer[0] else 1 for n in range(len(shape))])
            return Value.of(self.Expand(made, shape), first.dtype, shape)
        raise OnnxExporterError(
            f"a constant of shape {list(first.shape)}, and of {list(second.shape)} in another run, "
            "depends on the values of the inputs, on chance, or on a dynamic size; a part of a "
            "larger buffer may depend on a size"
        )


PLAIN = (int, float, str, bool, bytes, type(None), type(...), np.dtype, np.generic, type)


def shown(value: Any) -> str:
    """A value for a message."""
    return f"a tensor of shape {list(value.shape)}" if isinstance(value, Ref) else repr(value)


def onnx_dtype(dtype: Any) -> int:
    """ONNX's number of a dtype."""
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
