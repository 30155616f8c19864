"""An ONNX graph under construction, from two runs of a model at different sizes."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from nanotorch.onnx.errors import OnnxExporterError, UnsupportedOperatorError
from nanotorch.onnx.trace import Call, Ref

SIZE, BOOL = np.dtype(np.int64), np.dtype(np.bool_)
PLAIN = (int, float, str, bool, bytes, type(None), type(...), np.dtype, np.generic, type)


class Unmapped(Exception):  # noqa: N818 - caught at the call that it concerns
    """Raised for an operation, or a form of one, that has no mapping; says what."""


@dataclass(frozen=True)
class Dim:
    """A number that differs between the two runs, so that it depends on the sizes of the inputs."""

    first: int
    second: int


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


class Symbol(NamedTuple):
    """A dynamic size: its name, its sizes in the runs, and where the graph finds it."""

    name: str
    sizes: tuple[int, ...]
    input: str
    axis: int

    def between(self, run: int) -> "Symbol":
        """The dynamic size in the first run and another."""
        return self._replace(sizes=(self.sizes[0], self.sizes[run]))


class Graph:
    """Nodes and initializers. Any ONNX operator is a method, which adds a node.

    Arguments of these methods are values; numbers, which get the dtype of the first value; lists of
    integers, or arrays; and None for an input that is left out. Keywords are attributes, and the
    arguments ``outputs`` and ``dtype`` of `add`.

    Args:
        values: the inputs, by key.
        state: parameters and buffers, by name; those that are used become initializers.
        symbols: the dynamic sizes.
        reserved: names that no other value may have.
    """

    def __init__(
        self, values: Mapping[Any, Value], state: Mapping[str, Any], symbols: Sequence[Symbol],
        reserved: Sequence[str],
    ) -> None:  # fmt: skip
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self._values, self._state, self._symbols = dict(values), state, symbols
        self._names = {*values.values(), *state, *reserved}

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
            dtype: their dtype. Default: that of the first input that is not bool.
            attributes: the node's attributes; those that are None are left out.
        """
        from onnx import helper

        given = {name: value for name, value in attributes.items() if value is not None}
        if "Dim(" in repr(given):
            raise Unmapped(f"{op_type} needs a size that is dynamic")
        kinds = [v.dtype for v in inputs if isinstance(v, Value)] or [SIZE]
        like = next((kind for kind in kinds if kind != BOOL), BOOL)
        names = [self._operand(value, like) for value in inputs]
        while not names[-1]:  # a name "" at the end makes a runtime crash
            names.pop()
        made = [Value.of(self._unique(op_type.lower()), dtype or like) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op_type, names, made, str(made[0]), **given))
        return made if outputs > 1 else made[0]

    def _operand(self, value: Any, like: Any) -> str:
        """The name of a node's input."""
        if value is None or isinstance(value, Value):
            return value or ""
        if isinstance(value, (list, tuple)):
            return self.sizes(value)
        return self.constant(value if isinstance(value, np.ndarray) else np.array(value, like))

    def _unique(self, name: str) -> str:
        """A new name that begins with ``name``."""
        count = 0
        while (found := f"{name}_{count}" if count else name) in self._names:
            count += 1
        self._names.add(found)
        return found

    def constant(self, array: Any) -> Value:
        """An array as an initializer."""
        value = Value.of(self._unique("constant"), array.dtype, array.shape)
        self.initializers[value] = array
        return value

    def cast(self, value: Value, dtype: Any) -> Value:
        """A value in a dtype."""
        if value.dtype == dtype:
            return value
        return Value.of(self.Cast(value, to=onnx_dtype(dtype)), dtype, value.shape)

    def sizes(self, numbers: Sequence[Any]) -> Value:
        """Whole numbers as a vector."""
        if not any(isinstance(n, Dim) for n in numbers):
            return self.constant(np.array(numbers, SIZE))
        parts = [self._size(n) if isinstance(n, Dim) else self.sizes([n]) for n in numbers]
        return Value.of(self.Concat(*parts, axis=0), SIZE)

    def _size(self, dim: Dim) -> Value:
        """A number that depends on the inputs, as a vector of one element."""
        summand, factor, symbols = self.term(dim)
        at = [(Value.of(s.input, SIZE), s.axis) for s in symbols]
        sizes = [self.Shape(value, start=axis, end=axis + 1) for value, axis in at]
        made = functools.reduce(self.Mul, [*sizes, *([[factor]] if factor != 1 else [])])
        return self.Add(made, [summand]) if summand else made

    def reshape(self, value: Value, size: Sequence[Any]) -> Value:
        """A value in another shape."""
        if [type(n) for n in size].count(Dim) == 1 and 0 not in size:
            size = [-1 if isinstance(n, Dim) else n for n in size]
        return self.Reshape(value, list(size))

    def term(self, dim: Dim) -> tuple[int, int, tuple[Symbol, ...]]:
        """A number as a summand, a factor and the symbols that it multiplies, as few as possible.

        Raises:
            OnnxExporterError: if it is no such expression.
        """
        found = []
        for count in range(1, len(self._symbols) + 1):
            for some in combinations(self._symbols, count):
                first, second = (math.prod(s.sizes[k] for s in some) for k in (0, 1))
                factor, rest = divmod(dim.second - dim.first, second - first or math.inf)
                if factor > 0 and not rest:
                    found.append((int(dim.first - factor * first), int(factor), some))
        if not found:
            raise OnnxExporterError(f"it depends on a number, {dim.first} or {dim.second}, {HOW}")
        return min(found, key=lambda term: (term[0] != 0, len(term[2]), term[1]))

    def labels(self, shape: Sequence[Any]) -> dict[int, str]:
        """The names of the sizes of a shape that are dynamic sizes themselves, by dimension."""
        terms = {k: self.term(n) for k, n in enumerate(shape) if isinstance(n, Dim)}
        alone = {k: some for k, (plus, times, some) in terms.items() if (plus, times) == (0, 1)}
        return {k: some[0].name for k, some in alone.items() if len(some) == 1}

    def size(self) -> tuple[int, int]:
        """The numbers of nodes and of initializers so far."""
        return len(self.nodes), len(self.initializers)

    def is_same_since(self, size: tuple[int, int], other: "Graph") -> bool:
        """Whether the same was added to another graph since both had this `size`."""
        nodes, arrays = size
        if self.nodes[nodes:] != other.nodes[nodes:] or self.size() != other.size():
            return False
        both = zip(self.initializers.items(), other.initializers.items(), strict=True)
        return all(
            name == named and (a is b or (a.shape == b.shape and a.tobytes() == b.tobytes()))
            for (name, a), (named, b) in islice(both, arrays, None)
        )

    def merge(self, first: Any, second: Any) -> Any:
        """An argument of a call, from its values in the two runs.

        Raises:
            OnnxExporterError: if they differ in more than sizes.
        """
        kind = type(first)
        if kind is Ref and isinstance(second, Ref) and first.key == second.key:
            return self._value(first, self.merge(first.shape, second.shape))
        if kind is type(second):
            if kind in (tuple, list) and len(first) == len(second):
                return kind([self.merge(a, b) for a, b in zip(first, second, strict=True)])
            if kind is slice:
                parts = ("start", "stop", "step")
                return slice(*(self.merge(getattr(first, n), getattr(second, n)) for n in parts))
            if isinstance(first, np.ndarray) and first.dtype == second.dtype:
                return self._merged_constant(first, second)
            if first is second or (isinstance(first, PLAIN) and first == second):
                return first
            if kind is int or not isinstance(first, (Ref, *PLAIN)):
                return Dim(first, second) if kind is int else Both(self, first, second)
        raise OnnxExporterError(f"it depends on {first!r} in one run, {second!r} in another, {HOW}")

    def _value(self, ref: Ref, shape: tuple[Any, ...]) -> Value:
        """The value of a tensor."""
        if isinstance(ref.key, list):
            raise UnsupportedOperatorError(f"cannot export {ref.key[0]}: no mapping to ONNX")
        if ref.key not in self._values:
            if not isinstance(ref.key, str):
                raise Unmapped("a further result of an operation has no mapping to ONNX")
            self.initializers[ref.key] = self._state[ref.key]
            self._values[ref.key] = Value(ref.key)
        return Value.of(self._values[ref.key], ref.dtype, shape)

    def _merged_constant(self, first: Any, second: Any) -> Value:
        """A constant that does not depend on values, but perhaps on sizes.

        Along a dimension of different sizes, its elements are equal or count up.
        """
        shape = self.merge(first.shape, second.shape)
        if not shape and first != second and first % 1 == second % 1 == 0:
            number = self.sizes([Dim(int(first), int(second))])
            return self.cast(self.Squeeze(number), first.dtype)
        for axis in (axis for axis, size in enumerate(shape) if isinstance(size, Dim)):
            a, b = first.take([0], axis), second.take([0], axis)
            if (first == a).all() and (second == b).all():
                first, second = a, b
        counts = [np.arange(a.size).reshape(a.shape).astype(a.dtype) for a in (first, second)]
        places = [-1 if a != b else 1 for a, b in zip(first.shape, second.shape, strict=True)]
        if np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
            made = self.constant(first)
        elif places.count(-1) == 1 and all(map(np.array_equal, (first, second), counts)):
            stop = self.Squeeze(self.sizes([shape[places.index(-1)]]))
            made = self.cast(self.Reshape(self.Range(0, stop, 1), places), first.dtype)
        else:
            raise OnnxExporterError(f"it depends on a tensor of shape {list(first.shape)}, {HOW}")
        fixed = Dim not in map(type, shape)
        return Value.of(made if fixed else self.Expand(made, shape), first.dtype, shape)

    def add_call(self, number: int, first: Call, second: Call, table: Mapping[str, Any]) -> None:
        """Add the nodes of a call, of which ``table`` has a row.

        Raises:
            UnsupportedOperatorError: if it has no mapping.
            OnnxExporterError: if it differs between the runs in more than sizes.
        """
        row, results = table.get(first.name), zip(first.results, second.results, strict=True)

        def argument(name: str) -> Any:
            value = self.merge(*(call.arguments.get(name) for call in (first, second)))
            if isinstance(value, list):  # the operands of a concatenation
                return [self.cast(v, outs[0].dtype) if isinstance(v, Value) else v for v in value]
            dtype = first.operands.get(name)
            return value if dtype is None else self.cast(value, dtype)

        try:
            if row is None:
                raise Unmapped("no mapping to ONNX")
            outs = [Value.of("", a.dtype, self.merge(a.shape, b.shape)) for a, b in results]
            if isinstance(row, str):
                made = self.add(row, [*map(argument, first.operands)], dtype=outs[0].dtype)
            else:
                names, given = row.__code__.co_varnames, {"out": outs[0], "outs": outs}
                names = names[1 : row.__code__.co_argcount]
                made = row(self, *(given[n] if n in given else argument(n) for n in names))
        except Unmapped as reason:
            raise UnsupportedOperatorError(f"cannot export {first.site}: {reason}") from None
        except OnnxExporterError as error:
            if isinstance(error, UnsupportedOperatorError):
                raise
            raise OnnxExporterError(f"cannot export {first.site}: {error}") from None
        for place, value in enumerate([made] if isinstance(made, Value) else made):
            self._values[number, place] = self.cast(value, first.results[place].dtype)


HOW = "which follows from values of the inputs, from chance, or in no simple way from dynamic sizes"


def onnx_dtype(dtype: Any) -> int:
    """ONNX's number of a dtype."""
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
