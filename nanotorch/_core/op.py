"""How an operation is declared, once.

    @op(input=lambda g, out: g * (1.0 - out * out))
    def tanh(input: Array) -> Array:
        return np.tanh(input)

The function is the kernel: plain NumPy. A parameter annotated `Array` is an input; every other is
static. `op` takes one formula per differentiable input: the gradient of that input from `g`, the
gradient of the output. **The names of a formula's parameters say what is kept for it**: `out`, an
input, a static argument, `<input>_shape`, or an extra output named in `aux`. A formula runs on
ndarrays in an ordinary backward pass and on Tensors when the pass is itself recorded, because
operations called with bare arrays go straight to their kernel.

From a declaration come the function, the method, the operators, the in-place method `name_`, and
the node class, whose name is PyTorch's. Each is a small function whose source is put together in
`op_source`; `help`, tracebacks and debuggers show it.
"""

import linecache
import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar, overload

import numpy as np

from nanotorch._core import op_source
from nanotorch._core.arguments import METHOD, named
from nanotorch._core.bytecode import (
    Argument,
    LazySignature,
    arguments_of,
    parameters,
    without_wrapper,
)
from nanotorch._core.graph import Edge, Node, folding
from nanotorch._core.op_runtime import RUNTIME, unpack_input, unpack_out
from nanotorch._core.options import OPTIONS, Options
from nanotorch._core.out import Out
from nanotorch._core.saving import opened
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.watching import equip

Array = np.ndarray
Arrays = Sequence[np.ndarray]
Formula = Callable[..., Any]
F = TypeVar("F")

OPS: dict[str, "Op"] = {}  # every declared operation, by the name of its kernel
PUBLIC: dict[str, Callable[..., Any]] = {}  # what `nanotorch` exports of them
OUT = Argument(annotation=None, default=None, keyword_only=True)
OPTIONAL = Array | None
INPUTS = {Array, Arrays, OPTIONAL}  # annotations
SAVED_AS = {"input": "self", "out": "result"}  # where PyTorch has another name
SIZES = {"shape": "sym_sizes", "strides": "sym_strides"}
RESULTS = ("out", "aux")
OPERANDS = (Tensor, bool, int, float, np.generic)  # what operators accept beside a tensor


class OpNode(Node):
    """The node of a declared operation; each has a subclass with its name and formulas."""

    op: "Op"
    _name: str
    fresh_gradients = plain = True
    apply_bare: Any  # methods made from the formulas: `g -> gradients of the inputs`
    apply_recorded: Any

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        if all(g is None for g in grads):
            for name, kind in self.op.recipe:  # which must be as they were, used or not
                if self.op.is_freed(name, kind):
                    self.op.saved_value(self, name)
            return (None,) * len(self.next_functions)
        if self.op.multi:
            g: Any = self._materialize(grads, graph)
        else:
            g = tuple(grads) if self.op.results else grads[0]
        return self.apply_recorded(g) if graph else self.apply_bare(g)

    def _materialize(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        """The gradients of several outputs, zeros where none arrived."""
        zeros = (
            np.zeros(*meta) if g is None else g
            for g, meta in zip(grads, self._outputs, strict=True)
        )
        return tuple(wrap(g) if graph and isinstance(g, np.ndarray) else g for g in zeros)

    def name(self) -> str:
        """The node's class name, as PyTorch has it, with its namespace where that has one."""
        return self._name

    def __dir__(self) -> list[str]:
        names = super().__dir__()
        shown = [n for n in names if n[0] != "_" or n[:2] == "__" or n == "_sequence_nr"]
        return [*shown, *(f"_saved_{saved_as(name, kind)}" for name, kind in self.op.recipe)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return self.op.saved_value(self, name.removeprefix("_saved_"))
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class FoldedNode(OpNode):
    """A node that stands for several until somebody looks: then it turns into the last of them."""

    folded = True

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        return self.unfolded().next_functions

    def unfolded(self) -> Node:
        with folding:
            if self.folded:
                self.op.unfold(self)  # type: ignore[misc]
        return self


class Op(Options):
    """A declaration and what was read off it; what only some calls ask for, when they do.

    Attributes:
        called: what is called for the kernel.
        out: how the public function treats `out=`, if it has that argument.
        inputs: names of the differentiable and other array parameters, in order.
        formulas: by input name; the edges of the node are in this order.
        needs: by input name, the parameters of its formula.
        recipe: names of what the formulas need, in the order of `Node._saved`.
        namespace: the globals of the op's generated functions, `kernel` among them: what stands
            there is what is called.
        functions: the generated functions, by name; those of methods begin with `Tensor.`.
    """

    namespace: dict[str, Any]
    out: Out | None = None

    def __init__(
        self, kernel: Callable[..., Any], formulas: dict[str, Formula], **options: Any
    ) -> None:
        self.kernel, self.called = kernel, without_wrapper(kernel)
        self.name = kernel.__name__
        if options.keys() - OPTIONS:
            raise TypeError(f"op {self.name}: unknown options {sorted(options.keys() - OPTIONS)}")
        vars(self).update(options)
        kinds = kernel.__annotations__
        self.inputs = [n for n, kind in kinds.items() if kind in INPUTS and n != "return"]
        unknown = formulas.keys() - self.inputs
        if unknown or not self.inputs:
            raise TypeError(f"op {self.name}: formulas for {sorted(unknown)}, inputs {self.inputs}")
        self.formulas = {n: formulas[n] for n in self.inputs if n in formulas}
        self.needs = {n: parameters(f) for n, f in self.formulas.items()}
        self.recipe = self._read_recipe()
        self.functions: dict[str, Any] = {}

    @cached_property
    def arguments(self) -> dict[str, Argument]:
        """The arguments of the kernel, by name."""
        return arguments_of(self.kernel)

    @cached_property
    def statics(self) -> list[str]:
        """Names of the parameters that are no inputs."""
        return [n for n in self.arguments if n not in self.inputs]

    @cached_property
    def variadic(self) -> str | None:
        """The name of the input that is a sequence of arrays, if there is one."""
        return next((n for n in self.inputs if self.arguments[n].annotation == Arrays), None)

    @property
    def optional(self) -> set[str]:
        """Names of inputs that may be None."""
        return {n for n in self.inputs if self.arguments[n].annotation == OPTIONAL}

    @property
    def node_name(self) -> str:
        """The name of the node's class."""
        return self.node or default_node_name(self.name)

    @property
    def keeps_values(self) -> bool:
        """Whether a node has values to free."""
        return any(self.is_freed(name, kind) for name, kind in self.recipe)

    def is_freed(self, name: str, kind: str | None) -> bool:
        """Whether what formulas ask for by ``name``, of that kind, is freed once it is used."""
        annotated = self.kernel.__annotations__.get(name)
        return kind in ("input", "out", "aux") or getattr(annotated, "keeps_values", False)

    def accept_out(self, rule: Out) -> None:
        """Give the public function the argument ``out``; it must not have been called yet."""
        self.out = rule
        self.functions[self.name].__signature__ = LazySignature(self.kernel, {"out": OUT})

    @property
    def known_as(self) -> str:
        """The name by which users know it: that of a private part of an operation is its node's."""
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
        # As PyTorch keeps them, which hooks may see: results come last.
        return sorted(recipe.items(), key=lambda kept: (kept[1] in RESULTS, saved_as(*kept)))

    def _kind_of(self, name: str) -> str:
        """What a formula means by a name."""
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
        """Which of the outputs goes by this name."""
        return self.results.index(name) if self.results else 0

    def saved_value(self, node: OpNode, name: str) -> Any:
        """What the node keeps under ``name``, its own or PyTorch's."""
        for position, (kept, kind) in enumerate(self.recipe):
            if name in (kept, saved_as(kept, kind)):
                value = opened(node)[position]
                if value is None or kind in ("static", "shape", "strides"):
                    return value
                if kind == "out":
                    return unpack_out(value, node, True, self.number_of(kept))
                tensor = unpack_input(value, node, True)
                # A Python number is one tensor for all operations.
                return wrap(tensor._array.copy()) if tensor._is_number else tensor
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")


def saved_as(name: str, kind: str) -> str:
    """PyTorch's name, after `_saved_`, for what formulas ask for by ``name``."""
    if kind in SIZES:
        of = name.removesuffix(f"_{kind}")
        return f"{SAVED_AS.get(of, of)}_{SIZES[kind]}"
    return SAVED_AS.get(name, name)


def default_node_name(name: str) -> str:
    """`log_softmax` -> `LogSoftmaxBackward0`."""
    return "".join(part.title() for part in name.strip("_").split("_")) + "Backward0"


def op(**declared: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated kernel as an operation.

    Args:
        declared: a formula per differentiable input, by its name; and `Options`.
    """
    formulas = {n: f for n, f in declared.items() if callable(f) and n not in OPTIONS}
    options = {n: v for n, v in declared.items() if n not in formulas}

    def declare(kernel: Callable[..., Any]) -> Callable[..., Any]:
        if kernel.__name__ in OPS:
            raise TypeError(f"op {kernel.__name__} is declared twice")
        o = Op(kernel, formulas, **options)
        return build(o)

    return declare


@overload
def method(function: F, *, public: bool = True, name: str | None = None) -> F: ...


@overload
def method(*, public: bool = True, name: str | None = None) -> Callable[[F], F]: ...


def method(function: Any = None, *, public: bool = True, name: str | None = None) -> Any:
    """Register a function composed of operations as a Tensor method and an export.

    Args:
        public: False for a method only.
        name: the method's name, if it is not the function's.
    """

    def register(f: Any) -> Any:
        known_as = name or f.__name__
        own = getattr(f, "__name__", known_as)  # a property has none
        if own != known_as and vars(Tensor).get(own) is not f:  # what has two keeps its first
            named(f, known_as)
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
    """Make the op's functions and put them where they belong."""
    OPS[o.name] = o
    namespace = o.namespace = GLOBALS.copy()
    namespace["__name__"], namespace["this_op"] = o.kernel.__module__, o
    for name, formula in o.formulas.items():
        namespace[f"grad_{name}"] = formula
    equip(o)
    function = namespace["this_function"] = generated(o, o.name)
    if o.public:
        PUBLIC[o.name] = function
    if o.method:
        setattr(Tensor, o.name, generated(o, METHOD + o.name))
    if o.inplace:
        setattr(Tensor, f"{o.name}_", generated(o, f"{METHOD}{o.name}_"))
    if o.dunder:
        install_operators(o, function)
    return function


def new_node(name: str, like: Node) -> Any:
    """A node of the operation of that name, made at the place where ``like`` was."""
    o = OPS[name]
    with completing:
        if "NewNode" not in o.namespace:
            complete(o)
    node = o.namespace["NewNode"]()
    node._site = like._site
    return node


def complete(o: Op) -> None:
    """Make the op's node class, before its first call."""
    base = {"op": o, "together": bool(o.variadic), "multi": o.multi or bool(o.results)}
    base["_seen"] = o.seen
    of = FoldedNode if o.unfold else OpNode
    kind = inplace_kind = node_class(o.node_name, of, keeps_values=o.keeps_values, **base)
    if o.inplace_node is not None:
        inplace_kind = node_class(
            o.inplace_node, kind, apply=without_derivative, apply_bare=Node.apply_bare
        )
    if o.formulas:
        kind.apply_bare = generated(o, "apply_bare")
        kind.apply_recorded = generated(o, "apply_recorded")
    o.namespace.update({f"default_{n}": a.default for n, a in o.arguments.items()})
    o.namespace |= {"NewNode": kind, "NewNodeInPlace": inplace_kind}


def without_derivative(node: OpNode, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
    """What a node does whose operation cannot be differentiated in place."""
    name = node.op.name
    if node._name == node.op.node_name:  # nor out of place
        raise RuntimeError(f"derivative for aten::{name}_ is not implemented")
    raise NotImplementedError(f"the derivative for 'inplace version of {name}' is not implemented.")


def node_class(name: str, base: type, **attributes: Any) -> Any:
    """A class of nodes that goes by PyTorch's ``name``."""
    plain = name.rpartition("::")[2]
    return type(plain, (base,), {"_name": name, "__module__": "nanotorch.autograd", **attributes})


def generated(o: Op, name: str) -> Any:
    """A function of an op whose source is put together and compiled when it is first called.

    Most functions of most ops are never called, and compiling them all would take longer than the
    rest of the import. The function stays the same object: it is given its code by then.
    """
    plain, inplace = name.removeprefix(METHOD), name.endswith("_") and not name.startswith("__")
    known_as = o.inplace_name if inplace else plain
    function = FunctionType(uncompiled.__code__, o.namespace, known_as)
    function.__qualname__ = known_as
    function.__kwdefaults__ = {"which": (o, name)}
    function.__module__, function.__doc__ = o.kernel.__module__, o.kernel.__doc__
    function.__signature__ = LazySignature(o.kernel)  # type: ignore[attr-defined]
    if name.startswith(METHOD):
        function.__qualname__, function.__module__ = METHOD + known_as, Tensor.__module__
    if inplace:
        function.__doc__ = f"In-place `{o.name}`: writes its result into the tensor."
    o.functions[name] = function
    return function


def uncompiled(*args: Any, which: tuple[Op, str], **named: Any) -> Any:
    """What stands for the code of a function that has not been called yet."""
    return compiled(*which)(*args, **named)


def compiled(o: Op, name: str) -> Any:
    """Compile a function of an op; tracebacks and debuggers find its lines."""
    with completing:
        if "NewNode" not in o.namespace:
            complete(o)
    plain = name.removeprefix(METHOD)
    source = op_source.source(o, name)
    filename = f"<nanotorch op {o.name}: {name}>"
    held: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), o.namespace, held)
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    made, function = held[plain], o.functions[name]
    # In this order another thread may call it at any time.
    function.__defaults__ = made.__defaults__
    function.__kwdefaults__ = {**(made.__kwdefaults__ or {}), "which": (o, name)}
    function.__code__ = made.__code__.replace(
        co_name=function.__name__, co_qualname=function.__qualname__
    )
    function.__kwdefaults__ = made.__kwdefaults__
    return function


GLOBALS = {**RUNTIME, "compiled": compiled, "OPERANDS": OPERANDS}
completing = threading.RLock()  # a finalizer may come in between, and call an operation

# `2 * x` is `x * 2`, also in the order of its node's edges.
COMMUTATIVE = ("add", "mul", "and", "or", "xor")


def install_operators(o: Op, function: Any) -> None:
    """`__add__`, `__radd__`, `__iadd__` and the like."""
    if len(o.inputs) == 1:
        setattr(Tensor, f"__{o.dunder}__", function)
        return
    usual, reflected = f"__{o.dunder}__", f"__r{o.dunder}__"
    setattr(Tensor, usual, generated(o, usual))
    if reflected not in vars(Tensor):
        same = usual if o.dunder in COMMUTATIVE else reflected
        setattr(Tensor, reflected, o.functions[same] if same == usual else generated(o, same))
    if o.inplace:
        inplace = o.functions[f"{METHOD}{o.name}_"]

        def augmented(self: Any, other: Any) -> Any:
            return inplace(self, other) if isinstance(other, OPERANDS) else NotImplemented

        setattr(Tensor, f"__i{o.dunder}__", augmented)
