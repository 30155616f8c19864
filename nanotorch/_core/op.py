"""How an operation is declared, and the functions that its generated functions call."""

import linecache
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from heapq import heappush
from types import FunctionType
from typing import Any, TypeVar, overload

import numpy as np

from nanotorch._core import doors, dtypes, op_source
from nanotorch._core.arguments import (
    ABSENT,
    EMPTY,
    KINDS,
    METHOD,
    AbsentFlag,
    Argument,
    LazySignature,
    Place,
    arguments_of,
    as_pytorch_error,
    find_argument,
    kernel_parameters,
    merge_aliases,
    missing_args,
    named_tuple,
    parameter_names,
    rename,
    require_bool,
    too_many,
    unwrapped_kernel,
    wrong_type,
)
from nanotorch._core.bfloat16 import cast
from nanotorch._core.call_site import note_operands, ours
from nanotorch._core.doors import NoValues, Valueless, run_without_values
from nanotorch._core.dtypes import BFLOAT16, Number
from nanotorch._core.engine import fit, send, send_all
from nanotorch._core.grad_mode import InferenceCell, mode, of_inference
from nanotorch._core.graph import (
    ASK,
    CUT_OFF,
    DETACHED,
    LEAF,
    NO_EDGE,
    Node,
    Recorded,
    Unusual,
    check_memory,
    detached_since,
    edge_of,
    history_of,
    kept_history,
    make_view,
    modified_error,
    next_sequence,
    raise_unusual,
    rebase,
    refuse_history,
    refuse_rebase,
    version_of,
    write,
)
from nanotorch._core.layout import order_of, refuse_overlap
from nanotorch._core.op_source import OPTIONS, SCALES, Options, deprecated_order
from nanotorch._core.out import CONVERTED, Out
from nanotorch._core.sums import HALF, SINGLE
from nanotorch._core.tensor import Tensor, opened, wrap
from nanotorch.names.lookup import advised


def observe(node: Node, out: Any, arguments: tuple[Any, ...]) -> None:
    """Show a new node to the observers of nodes.

    Args:
        out: the tensor that the node belongs to, or several tensors.
        arguments: the operation's arguments.
    """
    node = node.materialize()
    if mode.observed:
        for observer in tuple(doors.nodes):
            observer.made(node, out, arguments)


# Functions that operations' generated functions call: promotion, saved values, errors.


Array = np.ndarray


def constant(value: Number, kind: np.dtype) -> Tensor:
    """A Python number as a cached 0-d tensor of dtype ``kind``."""
    key = (value or repr(value), kind.char)  # 0.0 == -0.0, but they divide differently
    found = CONSTANTS.get(key)
    if found is None:
        if len(CONSTANTS) > 2000:
            CONSTANTS.clear()
        held = SINGLE if kind == BFLOAT16 else kind  # the two have the same `char`
        found = CONSTANTS[key] = wrap(dtypes.array_of_number(value, held))
        found._is_number = True
    return found


def number(value: Number, kind: np.dtype) -> Array:
    """A Python number as a 0-d array, with which NumPy's functions take half the time."""
    return constant(value, kind)._array


CONSTANTS: dict[tuple[Number | str, str], Tensor] = {}


def as_number(value: Any, place: Place | str | None = None, wanted: str = "Number") -> Any:
    """The number that an argument holds: Python's, NumPy's, or that of a 0-d tensor without grad.

    Args:
        place: the function and the argument, or the argument's name, for the message.
        wanted: the name of the type in the message.
    """
    if value.__class__ is float:
        return value
    if isinstance(value, (bool, int, float)):
        if wanted == "Number":
            dtypes.check_integer_range(value)
        return value
    zero_d = isinstance(value, Tensor) and value._array.ndim == 0 and not value.requires_grad
    if zero_d or isinstance(value, np.generic):
        return value.item()
    place = find_argument(value, place) if isinstance(place, str) else place
    raise wrong_type(value, wanted, place)


# A cache of result dtypes. The key holds each tensor's dtype, and whether the tensor is 0-d.
COMMON: dict[frozenset[tuple[np.dtype, bool]], np.dtype] = {}


def promote(
    o: "Op", operands: Sequence[Any], to_float: bool, inplace: bool
) -> tuple[list[Tensor], list[Array]]:
    """Operands as tensors, and their arrays in the dtype of the result.

    Args:
        to_float: whether integers become the default floating-point dtype.

    Raises:
        TypeError: for an operand that is neither a tensor nor a number.
    """
    arrays = [x._array for x in operands if isinstance(x, Tensor)]
    if len(arrays) == len(operands) and not o.refuse_bool:
        key = frozenset([(a.dtype, not a.ndim) for a in arrays])
        wanted = COMMON.get(key)
        if wanted is None:
            wanted = COMMON[key] = dtypes.result_type(arrays)._numpy
        if to_float and wanted.kind != "f":
            wanted = dtypes.default.numpy
        if wanted != HALF or not o.unrounded:
            return list(operands), [convert_dtype(a, wanted) for a in arrays]
    held: list[Any] = []
    for x in operands:
        if isinstance(x, Tensor):
            held.append(x._array)
        elif isinstance(x, np.generic):
            held.append(x.item())
        elif isinstance(x, (bool, int, float)):
            held.append(x)
        else:
            raise not_a_tensor(x)
    if o.refuse_bool:
        bools = [np.asarray(h).dtype.kind == "b" for h in held]
        if any(bools) and not all(bools):
            raise NotImplementedError(o.refuse_bool)
    kind = dtypes.result_type(held)
    if to_float and not kind.is_floating_point:
        kind = dtypes.default.dtype
    kinds = [kind._numpy] * len(held)
    if o.unrounded and kind._numpy == HALF:
        for k, (name, h) in enumerate(zip(o.inputs, held, strict=True)):
            # A 0-d tensor keeps single precision only if it is the last operand.
            if name in o.unrounded and (
                not isinstance(h, np.ndarray)
                or (not h.ndim and h.dtype != HALF and k == len(held) - 1)
            ):
                kinds[k] = SINGLE
    tensors = [
        x if isinstance(x, Tensor) else constant(h, one)
        for x, h, one in zip(operands, held, kinds, strict=True)
    ]
    return tensors, [convert_dtype(t._array, one) for t, one in zip(tensors, kinds, strict=True)]


def convert_dtype(array: Array, wanted: np.dtype) -> Array:
    """The array in a dtype; unlike `astype`, keeps the order of dimensions of expanded arrays."""
    return array if array.dtype == wanted else cast(array, wanted, order=order_of(array))


def not_a_tensor(value: Any, name: str = "") -> TypeError:
    """The error for an argument that should be a tensor, with its name if it is known."""
    return wrong_type(value, "Tensor", find_argument(value, name))


# Functions that PyTorch accepts with two Python numbers: the first becomes a tensor.
OF_NUMBERS = ("add", "floor_divide", "mul", "sub", "true_divide")


def dtype_of_numbers(a: Number, b: Number) -> np.dtype:
    """The dtype of the tensor that the first of two Python numbers becomes.

    Raises:
        OverflowError: for an integer that no dtype can hold.
        RuntimeError: for an integer that only an unsigned dtype can hold, with another integer.
    """
    if not (a >= 2**63 or b >= 2**63):
        return dtypes.dtype_of_number(a)._numpy
    for value in (a, b):
        dtypes.check_integer_range(value)
    large = [isinstance(value, int) and value >= 2**63 for value in (a, b)]
    if any(large) and not isinstance(a, float) and not isinstance(b, float):
        raise dtypes.promotion_error(
            *(
                "UInt64" if unsigned else dtypes.dtype_of_number(value).char
                for value, unsigned in zip((a, b), large, strict=True)
            )
        )
    return dtypes.dtype_of_number(b if large[0] else a)._numpy


def bare(o: "Op", *arguments: Any, **named: Any) -> Any:
    """The result of the kernel on bare arrays, for formulas in a pass that is not recorded."""
    within = arguments[0] if o.variadic else arguments
    for x in within:
        if isinstance(x, (np.ndarray, np.generic)):
            break
    else:
        if any(isinstance(x, Valueless) for x in within):
            raise NoValues
        if o.name in OF_NUMBERS and all(isinstance(x, (bool, int, float)) for x in within[:2]):
            first = dtypes.array_of_number(within[0], dtype_of_numbers(*within[:2]))
            return o.functions[o.name](wrap(first), *within[1:], **named)
        if len(within):
            raise not_a_tensor(arguments[0])
    return o.namespace["kernel"](*arguments, **named)


def again(
    o: Any,
    called: str,
    more: Sequence[Any],
    others: Mapping[str, str],
    named: Mapping[str, Any],
    out: Any,
    **given: Any,
) -> Any:
    """Sort the arguments of an unusual call of an operation, then call the function again.

    Such a call has ``out``, arguments by further names or in their former order, or too few or too
    many arguments.

    Args:
        called: the name of the function among the functions of the operation.
        more: positional arguments beyond the operation's own.
        others: the further names of the operation's arguments.
        named: keyword arguments whose names are not the operation's own.
        given: the operation's own arguments; `ABSENT` for a required one that is missing.
    """
    name, method = called.removeprefix(METHOD), called.startswith(METHOD)
    found = {
        key: value
        for key, value in given.items()
        if value is not ABSENT and value is not o.arguments[key].default
    }
    if more:
        places = [key for key, argument in o.arguments.items() if not argument.keyword_only]
        values = [*(given[key] for key in places), *more]
        if o.name not in SCALES:
            least = [o.arguments[key].default for key in places].count(EMPTY)
            raise too_many(name, least - method, len(places) - method, len(values) - method)
        scaled = any(given[key] is not o.arguments[key].default for key in o.statics)
        out_too = not method and o.out is not None
        found |= deprecated_order(name, places, values, scaled, method=method, out=out_too)
    if named:
        defaults = {key: argument.default for key, argument in o.arguments.items()}
        found = merge_aliases(name, others, named, found, defaults)
    if missing := [key for key in given if key not in found and o.arguments[key].default is EMPTY]:
        raise missing_args(name, *missing)
    function = o.functions[called]
    if o.out is None or out is None:
        return function(**found)
    return o.out.fill(function, out, (), found)


def explain(o: "Op", operands: Sequence[Any], error: Exception, inplace: bool) -> Exception:
    """A kernel's error in PyTorch's words, with the origins of tensors that do not fit."""
    if isinstance(error.__cause__, NoValues):  # NumPy has wrapped it in an error of its own
        return error.__cause__
    told = translate_error(o, operands, as_pytorch_error(error), inplace)
    named = list(zip(o.inputs, operands, strict=False))
    if o.variadic:
        named = [(f"{o.variadic}[{k}]", x) for k, x in enumerate(operands[0])]
    tensors = {n: x for n, x in named if isinstance(x, Tensor)}
    if isinstance(told, RuntimeError) and len(tensors) > 1:
        note_operands(told, **tensors)
    return told


def translate_error(o: "Op", operands: Sequence[Any], error: Exception, inplace: bool) -> Exception:
    """A kernel's error in PyTorch's words, or the error itself if these are the same."""
    if inplace and isinstance(error, NotImplementedError) and o.cast and not o.variadic:
        into = operands[0].dtype
        kind = dtypes.result_type([x._array if isinstance(x, Tensor) else x for x in operands])
        if not dtypes.can_cast(kind, into):  # PyTorch checks this first
            return RuntimeError(CONVERTED.format(result=kind.char, out=into.char))
    for name, x in zip(o.inputs, operands, strict=True):
        absent = name == o.variadic or (x is None and name in o.optional)
        if not absent and not isinstance(x, Tensor):
            return not_a_tensor(x, name)
    if isinstance(error, ValueError) and o.cast and not o.variadic:
        shapes = [x._array.shape for x in operands]
        for i in range(1, max(map(len, shapes)) + 1):
            sizes = [(s[-i] if i <= len(s) else 1) for s in shapes]
            known = [s for s in sizes if s != 1]
            if len(set(known)) > 1:
                a, b = known[0], next(s for s in known if s != known[0])
                error = RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                    f"non-singleton dimension {max(map(len, shapes)) - i}"
                )
                for name, shape, other in zip(o.inputs, shapes, shapes[::-1], strict=True):
                    if shape == other[:1] and len(other) == len(shapes) == 2:
                        advised(error, "broadcast", name)
                return error
    return error


def unpack_input(kept: tuple[Tensor, int], node: Node, graph: bool) -> Any:
    """A saved input; raises RuntimeError if it was written to or detached in place since."""
    tensor, version = kept
    now = version_of(tensor)
    if now == version:
        return tensor if graph else tensor._array
    if detached_since(now, version) and hasattr(node, "op"):  # allowed in users' functions
        raise RuntimeError(DETACHED)
    if int(now) != int(version):
        edge = tensor._edge if tensor._view is None else edge_of(tensor)
        name = name_of(kept, node)
        raise modified_error(tensor._array, edge or NO_EDGE, tensor._cell, version, node, name)
    return tensor if graph else tensor._array


def name_of(kept: Any, node: Node) -> str:
    """The name of a node's saved value in messages."""
    recipe = getattr(getattr(type(node), "op", None), "recipe", ())
    saved = node._saved if isinstance(node._saved, tuple) else ()
    names = [name for (name, _), value in zip(recipe, saved, strict=False) if value is kept]
    return f"`{names[0]}`" if names else "a value"


def unpack_out(kept: tuple[Array, list[int], int], node: Node, graph: bool, number: int = 0) -> Any:
    """A saved output, a new tensor of its array: to save the tensor would make a cycle."""
    array, cell, version = kept
    if cell[0] != version:
        of_view = None if node._view_node is None else node._view_node()
        origin = (of_view or node, number)
        raise modified_error(array, origin, cell, version, node, "its result")
    if not graph:
        return array
    out = wrap(array)
    out._writes = cell
    out._come_from((node, number))
    return out


def stand_in(tensor: Tensor) -> Tensor:
    """A copy with the same history, saved by a node whose in-place write overwrites the tensor."""
    out = wrap(tensor._array.copy())
    if tensor.requires_grad:
        out._come_from(edge_of(tensor))
    return out


def filled(grads: Sequence[Any], node: Node) -> tuple[Any, ...]:
    """The gradients of several outputs, with zeros for outputs that got none."""
    pairs = zip(grads, node._outputs, strict=True)
    return tuple([np.zeros(*meta) if g is None else g for g, meta in pairs])


# Half precision: kernels compute in single precision, then round the result once.


def widened(*values: Any) -> tuple[Any, ...]:
    """Arrays or tensors, converted from half precision to single."""
    return tuple([wide(value) for value in values])


def wide(value: Any) -> Any:
    """An array or a tensor, converted from half precision to single."""
    kind = getattr(value._array if isinstance(value, Tensor) else value, "dtype", None)
    if kind != HALF:
        return value
    return value._cast(SINGLE) if isinstance(value, Tensor) else value.astype(SINGLE)


def in_single(*arrays: Array | None) -> tuple[Any, ...]:
    """Whether all floats have half precision, followed by the arrays, then in single precision."""
    kinds = {a.dtype for a in arrays if a is not None and a.dtype.kind == "f"}
    return (True, *widened(*arrays)) if kinds == {HALF} else (False, *arrays)


def in_half(result: Any) -> Any:
    """The result of a kernel, with arrays of single precision rounded to half."""
    if isinstance(result, tuple | list):
        return tuple([in_half(part) for part in result])
    return result.astype(HALF) if getattr(result, "dtype", None) == SINGLE else result


CALLED: tuple[Any, ...] = (
    bare, NoValues, run_without_values, constant, explain, in_half, in_single, widened, again,
    promote, not_a_tensor, as_number, require_bool, unpack_input, unpack_out, stand_in,
    InferenceCell, observe, opened, kept_history, of_inference, make_view, check_memory,
    refuse_history, write, rebase, refuse_overlap, refuse_rebase, wrap, history_of, version_of,
    fit, send, send_all, heappush, filled, Recorded, Unusual,
)  # fmt: skip
RUNTIME: dict[str, Any] = {
    "ABSENT": ABSENT,
    "ndarray": np.ndarray,
    # Arrays, and NumPy's numbers, which 0-d gradients may be.
    "BARE": frozenset((np.ndarray, np.float16, np.float32, np.float64)),
    "asarray": np.asanyarray,
    "FLAGS": frozenset((bool, AbsentFlag)),
    "NUMBERS": frozenset((float, int)),
    "float32": SINGLE,
    "Tensor": Tensor,
    "new": object.__new__,
    "mode": mode,
    "default": dtypes.default,
    "NO_EDGE": NO_EDGE,
    "CUT_OFF": CUT_OFF,
    "LEAF": LEAF,
    "ASK": ASK,
    "next_sequence": next_sequence,
    "observers": doors.nodes,
    "ours": ours,
    "getframe": sys._getframe,
    **{f.__name__: f for f in CALLED},
}


# How an operation is declared.
#
#     @op(input=lambda g, out: g * (1.0 - out * out))
#     def tanh(input: Array) -> Array:
#         return np.tanh(input)
#
# The function is the kernel: plain NumPy. A parameter annotated `Array` is an input; every other is
# static. `op` gets one formula per differentiable input. The formula computes the gradient of that
# input from `g`, the gradient of the output. **The names of a formula's parameters are the values
# that a node saves for it**: `out`, an input, a static argument, `<input>_shape`, or another output
# named in `aux`. In an ordinary backward pass a formula runs on ndarrays: an operation called with
# bare arrays goes straight to its kernel. If the pass is itself recorded, it runs on Tensors.
#
# A declaration makes the function, the method, the operators, the in-place method `name_`, and the
# node class, which has PyTorch's name. `op_source` writes the source of each of these functions;
# `help`, tracebacks and debuggers show it.


Arrays = Sequence[np.ndarray]
Formula = Callable[..., Any]
F = TypeVar("F")

OPS: dict[str, "Op"] = {}  # every declared operation, by the name of its kernel
PUBLIC: dict[str, Callable[..., Any]] = {}  # the functions that `nanotorch` exports
OUT = Argument(annotation=None, default=None, keyword_only=True)
OPTIONAL = Array | None
INPUTS = {Array, Arrays, OPTIONAL}  # annotations
SAVED_AS = {"input": "self", "out": "result"}  # our name -> PyTorch's
SIZES = {"shape": "sym_sizes", "strides": "sym_strides"}
RESULTS = ("out", "aux")
OPERANDS = (Tensor, bool, int, float, np.generic)  # the types of an operator's other operand


class OpNode(Node):
    """The node of a declared operation; each operation has a subclass with its formulas."""

    op: "Op"
    _name: str
    fresh_gradients = plain = True
    apply_bare: Any  # methods made from the formulas: `g -> gradients of the inputs`
    apply_recorded: Any

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        if not self.multi and grads[0] is not None:
            return self.apply_recorded(grads[0]) if graph else self.apply_bare(grads[0])
        if all(g is None for g in grads):
            for name, kind in self.op.recipe:  # check versions even if not used
                if self.op.is_freed(name, kind):
                    self.op.saved_value(self, name)
            return (None,) * len(self.next_functions)
        g: Any = filled(grads, self) if self.op.multi else tuple(grads)
        if not graph:
            return self.apply_bare(g)
        return self.apply_recorded(tuple([wrap(a) if isinstance(a, np.ndarray) else a for a in g]))

    def name(self) -> str:
        """The name of the node's class in PyTorch, with its namespace if it has one."""
        return self._name

    def __dir__(self) -> list[str]:
        names = super().__dir__()
        shown = [n for n in names if n[0] != "_" or n[:2] == "__" or n == "_sequence_nr"]
        return [*shown, *(f"_saved_{saved_name(name, kind)}" for name, kind in self.op.recipe)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return self.op.saved_value(self, name.removeprefix("_saved_"))
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class Declared:
    """A source of generated functions: one operation, or a choice among several (`overloads`).

    Attributes:
        out: how the public function handles `out=`; None if it has no such argument.
        namespace: the globals of the functions. An operation's functions call the `kernel` there.
        functions: the functions by name; the names of methods begin with `Tensor.`.
    """

    namespace: dict[str, Any]
    out: Out | None = None

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel, self.name = kernel, kernel.__name__
        self.functions: dict[str, Any] = {}

    @cached_property
    def arguments(self) -> dict[str, Argument]:
        """The arguments of the kernel, by name."""
        return arguments_of(self.kernel)

    @property
    def inplace_name(self) -> str:
        """The name of the in-place form."""
        return f"{self.name}_"

    def source(self, called: str) -> str:
        """The source of the function with the name ``called`` in ``functions``."""
        raise NotImplementedError

    def accept_out(self, rule: Out) -> None:
        """Add the argument ``out`` to the public function, before its first call."""
        self.out = rule
        make = partial(kernel_parameters, self.kernel, out=OUT)
        self.functions[self.name].__signature__ = LazySignature(make)


class Op(Declared, Options):
    """A declaration, and the facts that are read from its signatures.

    Attributes:
        called: the kernel, or the NumPy function that it only passes its arguments to.
        inputs: the names of all array parameters, differentiable or not, in order.
        formulas: the formulas by input name; the node's edges are in this order.
        needs: by input name, the parameters of its formula.
        recipe: the names of the values that formulas need, each with its kind, in the order of
            `Node._saved`.
    """

    def __init__(
        self, kernel: Callable[..., Any], formulas: dict[str, Formula], **options: Any
    ) -> None:
        super().__init__(kernel)
        self.called = unwrapped_kernel(kernel)
        if options.keys() - OPTIONS:
            raise TypeError(f"op {self.name}: unknown options {sorted(options.keys() - OPTIONS)}")
        vars(self).update(options)
        kinds = kernel.__annotations__
        self.inputs = [n for n, kind in kinds.items() if kind in INPUTS and n != "return"]
        unknown = formulas.keys() - self.inputs
        if unknown or not self.inputs:
            raise TypeError(f"op {self.name}: formulas for {sorted(unknown)}, inputs {self.inputs}")
        self.formulas = {n: formulas[n] for n in self.inputs if n in formulas}
        self.needs = {n: parameter_names(f) for n, f in self.formulas.items()}
        self.recipe = self._read_recipe()

    def source(self, called: str) -> str:
        with completing:
            if "NewNode" not in self.namespace:
                make_node_class(self)
        return op_source.source(self, called)

    @cached_property
    def statics(self) -> list[str]:
        """The names of the parameters that are not inputs."""
        return [n for n in self.arguments if n not in self.inputs]

    @cached_property
    def variadic(self) -> str | None:
        """The name of the input that is a sequence of arrays; None if there is none."""
        return next((n for n in self.inputs if self.arguments[n].annotation == Arrays), None)

    @property
    def optional(self) -> set[str]:
        """The names of inputs that may be None."""
        return {n for n in self.inputs if self.arguments[n].annotation == OPTIONAL}

    @property
    def node_name(self) -> str:
        """The name of the node's class."""
        return self.node or default_node_name(self.name)

    @property
    def keeps_values(self) -> bool:
        """Whether a node saves values that a backward pass frees."""
        return any(self.is_freed(name, kind) for name, kind in self.recipe)

    def is_freed(self, name: str, kind: str | None) -> bool:
        """Whether a backward pass frees the saved value of this name and kind."""
        annotated = self.kernel.__annotations__.get(name)
        return kind in ("input", "out", "aux") or getattr(annotated, "keeps_values", False)

    @property
    def known_as(self) -> str:
        """The name that users see; that of a hidden operation comes from its node's class."""
        if self.public:
            return self.name
        plain = self.node_name.rpartition("::")[2].rpartition("Backward")[0]
        return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", plain).lower() or self.name

    @property
    def inplace_name(self) -> str:
        """The name of the in-place form."""
        return f"{self.name if self.method else self.known_as}_"

    def _read_recipe(self) -> list[tuple[str, str]]:
        recipe: dict[str, str] = {}
        for needs in self.needs.values():
            for name in needs:
                if name != "g" and name not in recipe:
                    recipe[name] = self._kind_of(name)
        # PyTorch's order, which hooks on saved tensors see: results come last.
        return sorted(recipe.items(), key=lambda kept: (kept[1] in RESULTS, saved_name(*kept)))

    def _kind_of(self, name: str) -> str:
        """The kind of the value that a formula's parameter names."""
        if name == "out" or name in self.results:
            return "out"
        if name in self.inputs:
            return "input"
        if name in self.aux:
            return "aux"
        if name in self.kernel.__annotations__:
            return "static"
        of, _, what = name.rpartition("_")
        if what in ("shape", "strides") and of in self.inputs:
            return what
        raise TypeError(f"op {self.name}: a formula asks for '{name}', which it has not")

    def number_of(self, name: str) -> int:
        """The number of the output with this name."""
        return self.results.index(name) if self.results else 0

    def saved_value(self, node: OpNode, name: str) -> Any:
        """The saved value of a node with the name ``name``, ours or PyTorch's."""
        for position, (kept, kind) in enumerate(self.recipe):
            if name in (kept, saved_name(kept, kind)):
                value = opened(node)[position]
                if value is None or kind in ("static", "shape", "strides"):
                    return value
                if kind == "out":
                    return unpack_out(value, node, True, self.number_of(kept))
                tensor = unpack_input(value, node, True)
                # All operations share the tensor of a Python number: give the user a copy.
                return wrap(tensor._array.copy()) if tensor._is_number else tensor
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")


def saved_name(name: str, kind: str) -> str:
    """PyTorch's name, without `_saved_`, of the value that formulas call ``name``."""
    if kind in SIZES:
        of = name.removesuffix(f"_{kind}")
        return f"{SAVED_AS.get(of, of)}_{SIZES[kind]}"
    return SAVED_AS.get(name, name)


def default_node_name(name: str) -> str:
    """The default name of a node's class: `LogSoftmaxBackward0` for `log_softmax`."""
    return "".join(part.title() for part in name.strip("_").split("_")) + "Backward0"


def op(**declared: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated kernel as an operation.

    Args:
        declared: by the name of each differentiable input, its formula; and `Options`.
    """
    formulas = {n: f for n, f in declared.items() if callable(f) and n not in OPTIONS}
    options = {n: v for n, v in declared.items() if n not in formulas}

    def declare(kernel: Callable[..., Any]) -> Callable[..., Any]:
        if kernel.__name__ in OPS:
            raise TypeError(f"op {kernel.__name__} is declared twice")
        o = Op(kernel, formulas, **options)
        return build(o)

    return declare


def hidden_op(**declared: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated kernel as an internal operation, neither a method nor exported."""
    return op(method=False, public=False, **declared)


@overload
def method(function: F, *, public: bool = True, name: str | None = None) -> F: ...


@overload
def method(*, public: bool = True, name: str | None = None) -> Callable[[F], F]: ...


def method(function: Any = None, *, public: bool = True, name: str | None = None) -> Any:
    """Register a function composed of operations as a Tensor method and an export.

    Args:
        public: whether the function is exported, in addition to the method.
        name: the method's name; default: the function's.
    """

    def register(f: Any) -> Any:
        known_as = name or f.__name__
        # A function registered under two names keeps the first; a property shows no name.
        own = known_as if isinstance(f, property) else f.__name__
        if own != known_as and vars(Tensor).get(own) is not f:
            rename(f, known_as)
        setattr(Tensor, known_as, f)
        if public:
            PUBLIC[known_as] = f
        return f

    return register if function is None else register(function)


def public(function: F) -> F:
    """Register a function as an export of the package, but not as a method."""
    PUBLIC[getattr(function, "__name__", "")] = function  # type: ignore[assignment]
    return function


def build(o: Op) -> Callable[..., Any]:
    """Make and register the op's functions, methods and operators; returns the function."""
    OPS[o.name] = o
    namespace = o.namespace = GLOBALS.copy()
    namespace["__name__"], namespace["this_op"] = o.kernel.__module__, o
    for name, formula in o.formulas.items():
        namespace[f"grad_{name}"] = formula
    if o.fields:
        namespace["named_result"] = KINDS.get(o.known_as) or named_tuple(o.known_as, *o.fields)
    namespace["kernel"] = o.called
    for watcher in doors.kernels:
        watcher.declared(o)
    function = namespace["this_function"] = lazy_function(o, o.name)
    if o.public:
        PUBLIC[o.name] = function
    if o.method:
        setattr(Tensor, o.name, lazy_function(o, METHOD + o.name))
    if o.inplace:
        inplace = lazy_function(o, f"{METHOD}{o.name}_")
        if o.method:
            setattr(Tensor, f"{o.name}_", inplace)
    if o.dunder:
        install_operators(o, function)
    return function


def new_node(name: str, like: Node) -> Any:
    """A new node of the named operation, with the call site of the node ``like``."""
    o = OPS[name]
    with completing:
        if "NewNode" not in o.namespace:
            make_node_class(o)
    node = o.namespace["NewNode"]()
    node._site = like._site
    return node


def make_node_class(o: Op) -> None:
    """Make the op's node class, before its first call."""
    base = {"op": o, "together": bool(o.variadic), "multi": o.multi or bool(o.results)}
    base["_visible_outputs"] = o.visible_outputs
    base["unfold"] = o.unfold and staticmethod(o.unfold)
    kind = inplace_kind = node_class(o.node_name, OpNode, keeps_values=o.keeps_values, **base)
    if o.inplace_node is not None:
        refusal = {"apply": without_derivative, "apply_bare": Node.apply_bare}
        inplace_kind = node_class(o.inplace_node, kind, keeps_values=False, **refusal)
    if o.formulas:
        kind.apply_bare = lazy_function(o, "apply_bare")
        kind.apply_recorded = lazy_function(o, "apply_recorded")
        kind.by_name = staticmethod(lazy_function(o, "by_name"))
        for name in ("plain_back", "careful_back"):
            back = o.namespace[name] = lazy_function(o, name)
            back.kind = kind
        # `quick_sweep` leaves two kinds of in-place nodes to `Sweep`: nodes without a derivative,
        # and nodes with a `CUT_OFF` edge.
        for name, of in (("refused_back", inplace_kind), ("cut_back", kind)):
            unusual = o.namespace[name] = FunctionType(raise_unusual.__code__, globals())
            unusual.kind = of  # type: ignore[attr-defined]
    o.namespace.update({f"default_{n}": a.default for n, a in o.arguments.items()})
    o.namespace["NewNode"] = kind
    o.namespace |= {"own_dims": o.dims, "check": o.check}


def without_derivative(node: OpNode, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
    """Raise the error of an in-place node whose operation has no derivative in place."""
    name = node.op.name
    if node._name == node.op.node_name:  # it has no derivative out of place, either
        raise RuntimeError(f"derivative for aten::{name}_ is not implemented")
    raise NotImplementedError(f"the derivative for 'inplace version of {name}' is not implemented.")


def node_class(name: str, base: type, **attributes: Any) -> Any:
    """A class of nodes with PyTorch's ``name``."""
    plain = name.rpartition("::")[2]
    return type(plain, (base,), {"_name": name, "__module__": "nanotorch.autograd", **attributes})


def lazy_function(o: Declared, name: str) -> Any:
    """A function of an op that is compiled at its first call.

    Most functions are never called, and to compile them all would take longer than the rest of the
    import. The first call sets the code of this function object, so references to it stay valid.
    """
    plain, inplace = name.removeprefix(METHOD), name.endswith("_") and not name.startswith("__")
    known_as = o.inplace_name if inplace else plain
    function = FunctionType(compile_and_call.__code__, o.namespace, known_as)
    function.__qualname__ = known_as
    function.__kwdefaults__ = {"which": (o, name)}
    function.__module__, function.__doc__ = o.kernel.__module__, o.kernel.__doc__
    make = partial(kernel_parameters, o.kernel)
    function.__signature__ = LazySignature(make)  # type: ignore[attr-defined]
    if name.startswith(METHOD):
        function.__qualname__, function.__module__ = METHOD + known_as, Tensor.__module__
    if inplace:
        function.__doc__ = f"In-place `{o.name}`: writes its result into the tensor."
    o.functions[name] = function
    return function


def compile_and_call(*args: Any, which: tuple[Declared, str], **named: Any) -> Any:
    """Compile the function and call it: the code of every generated function at its first call."""
    return compile_function(*which)(*args, **named)


def compile_function(o: Declared, name: str) -> Any:
    """Compile a function of an op, with lines for tracebacks; returns the function."""
    function = o.functions[name]
    with completing:
        if function.__code__ is not compile_and_call.__code__:  # another thread has compiled it
            return function
        plain, source = name.removeprefix(METHOD), o.source(name)
        filename = f"<nanotorch op {o.name}: {name}>"
        held: dict[str, Any] = {}
        exec(compile(source, filename, "exec"), o.namespace, held)
        lines = source.splitlines(keepends=True)
        linecache.cache[filename] = (len(source), None, lines, filename)
        made = held[plain]
        # In this order, another thread may call at any time: old and new code find their defaults.
        function.__defaults__ = made.__defaults__
        function.__kwdefaults__ = {**(made.__kwdefaults__ or {}), "which": (o, name)}
        function.__code__ = made.__code__.replace(
            co_name=function.__name__, co_qualname=function.__qualname__
        )
        function.__kwdefaults__ = made.__kwdefaults__
    return function


GLOBALS = {**RUNTIME, "compile_function": compile_function, "OPERANDS": OPERANDS}
completing = threading.RLock()  # reentrant: a finalizer may call an operation inside

# `2 * x` is `x * 2`, also in the order of its node's edges.
COMMUTATIVE = ("add", "mul", "and", "or", "xor")


def install_operators(o: Op, function: Any) -> None:
    """Set the operators of an op on `Tensor`: `__add__`, `__radd__`, `__iadd__` and the like."""
    if len(o.inputs) == 1:
        setattr(Tensor, f"__{o.dunder}__", function)
        return
    usual, reflected = f"__{o.dunder}__", f"__r{o.dunder}__"
    setattr(Tensor, usual, lazy_function(o, usual))
    if reflected not in vars(Tensor):
        same = usual if o.dunder in COMMUTATIVE else reflected
        setattr(Tensor, reflected, o.functions[same] if same == usual else lazy_function(o, same))
    if o.inplace:
        inplace = o.functions[f"{METHOD}{o.name}_"]

        def augmented(self: Any, other: Any) -> Any:
            return inplace(self, other) if isinstance(other, OPERANDS) else NotImplemented

        setattr(Tensor, f"__i{o.dunder}__", augmented)
