"""Arrays that write down what is done with them, and what a replay must compare."""

import gc
import operator
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.call_site import PACKAGE
from nanotorch._core.graph import changes
from nanotorch._core.tensor import Tensor, wrap

# Arrays that write down what is done with them.
#
# While a step is traced, library code sees `Traced` objects in place of ndarrays. They compute at
# once, with NumPy's own functions on the arrays behind them, and note every call on the tape. To
# reach into one for its values ends the trace, for the tape could not follow what is done with
# them.


Array = np.ndarray


class Nobody:
    """Notes nothing: what `Traced` objects ask while no trace is on."""

    def ufunc(self, ufunc: Any, method: str, inputs: Any, kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return function(*real(inputs), **real(kwargs))

    def function(self, function: Any, args: Any, kwargs: Any) -> Any:
        return function(*real(tuple(args)), **real(kwargs))

    def effect(self, function: Any, args: Any, kwargs: Any, target: Any) -> Any:
        return function(*real(tuple(args)), **real(kwargs))

    def read(self, what: str) -> None:
        pass

    def item(self, traced: Any, *args: Any) -> Any:
        return traced.value.item(*args)

    def proxy(self, array: Array) -> Array:
        return array

    def located(self, array: Array) -> None:
        pass


class Current:
    """Who notes what is done with traced arrays."""

    recorder: Any
    thread: int


NOBODY = Nobody()
current = Current()
current.recorder, current.thread = NOBODY, 0


class Traced:
    """Stands for an ndarray, also for `isinstance`; see the module."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 500.0

    def __init__(self, value: Array) -> None:
        self.value = value

    @property
    def recorder(self) -> Any:
        """Who notes what is done now; a `Traced` that has survived its trace is a constant."""
        return current.recorder if threading.get_ident() == current.thread else NOBODY

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.ndarray

    if TYPE_CHECKING:  # the attributes and methods set below

        def __getattr__(self, name: str) -> Any: ...

        def __getitem__(self, index: Any) -> Any: ...

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.recorder.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.recorder.function(function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self.recorder.read("np.asarray")
        return np.array(self.value, dtype, copy=copy)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.value)))

    def __len__(self) -> int:
        return len(self.value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.recorder.effect(operator.setitem, (self, index, value), {}, self)

    # NumPy's operator computes some powers in other ways than its function does.

    def __pow__(self, other: Any) -> Any:
        return self.recorder.function(operator.pow, (self, other), {})

    def __rpow__(self, other: Any) -> Any:
        return self.recorder.function(operator.pow, (other, self), {})

    def __ipow__(self, other: Any) -> Any:
        self.recorder.effect(operator.ipow, (self, other), {}, self)
        return self

    @property
    def __array_interface__(self) -> Any:
        # NumPy itself must not read the values past the recorder.
        caller = sys._getframe(1).f_code
        own = caller.co_filename.startswith(PACKAGE)
        if not own or "__array_interface__" not in caller.co_names:
            raise AttributeError("__array_interface__")
        if "data_ptr" in (caller.co_name, sys._getframe(2).f_code.co_name):
            self.recorder.located(self.value)
        return self.value.__array_interface__

    def item(self, *args: Any) -> Any:
        return self.recorder.item(self, *args)

    @property
    def base(self) -> Any:
        base = self.value.base
        return self.recorder.proxy(base) if isinstance(base, np.ndarray) else base

    @property
    def T(self) -> Any:
        return self.transpose()

    @property
    def flat(self) -> Any:
        self.recorder.read("flat")
        return self.value.flat

    def __repr__(self) -> str:
        return f"Traced({self.value!r})"


def real(value: Any) -> Any:
    """A structure of arguments with the arrays behind those that are traced."""
    kind = type(value)
    if kind is Traced:
        return value.value
    if kind is tuple or kind is list:
        return kind([real(part) for part in value])
    if kind is dict:
        return {name: real(part) for name, part in value.items()}
    return value


def layout_attribute(name: str) -> property:
    """What does not depend on the values, but on where they lie."""
    return property(lambda self: getattr(self.value, name))


for _name in (
    "shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes", "flags",
):  # fmt: skip
    setattr(Traced, _name, layout_attribute(_name))


def binary(ufunc: Any) -> tuple[Any, Any, Any]:
    """An operator, its reflected form and its augmented one."""

    def forward(self: Any, other: Any) -> Any:
        if getattr(type(other), "__array_ufunc__", True) is None:  # a Tensor's turn
            return NotImplemented
        return ufunc(self, other)

    def reflected(self: Any, other: Any) -> Any:
        return ufunc(other, self)

    def augmented(self: Any, other: Any) -> Any:
        return ufunc(self, other, out=self)

    return forward, reflected, augmented


OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "matmul": np.matmul,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
for _name, _ufunc in OPERATORS.items():
    for _prefix, _function in zip(("", "r", "i"), binary(_ufunc), strict=True):
        setattr(Traced, f"__{_prefix}{_name}__", _function)
COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal,
}  # fmt: skip
for _name, _ufunc in COMPARISONS.items():
    setattr(Traced, f"__{_name}__", binary(_ufunc)[0])
for _name, _ufunc in {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}.items():  # fmt: skip
    setattr(Traced, f"__{_name}__", lambda self, ufunc=_ufunc: ufunc(self))


def method(name: str) -> Callable[..., Any]:
    """A method that gives an array, new or a view."""
    function = getattr(np.ndarray, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.recorder.function(function, (self, *args), kwargs)

    return call


for _name in (
    "__getitem__", "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "copy",
    "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "prod", "ravel",
    "repeat", "reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take",
    "trace", "transpose", "var", "view",
):  # fmt: skip
    setattr(Traced, _name, method(_name))


def writer(name: str) -> Callable[..., Any]:
    """A method that writes to the array itself."""
    function = getattr(np.ndarray, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        self.recorder.effect(function, (self, *args), kwargs, self)

    return call


for _name in ("fill", "put", "sort", "partition"):
    setattr(Traced, _name, writer(_name))


def reader(name: str) -> Callable[..., Any]:
    """A method that gives values to Python."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.recorder.read(name.strip("_"))
        return getattr(self.value, name)(*args, **kwargs)

    return call


for _name in (
    "tolist", "tobytes", "nonzero", "__bool__", "__int__", "__float__", "__index__", "__complex__",
    "__contains__", "__format__", "__str__", "__reduce__", "__reduce_ex__", "__copy__",
    "__deepcopy__", "compress", "choose", "tofile", "dump",
):  # fmt: skip
    setattr(Traced, _name, reader(_name))


# Kernels whose arguments hold arrays inside objects: an index of tensors, for example.


PLAIN = (int, float, str, bool, bytes, type(None), slice, type(...), np.dtype, np.generic, type)


class Place:
    """Stands for array number ``number`` in a structure of arguments."""

    __slots__ = ("number", "version")

    def __init__(self, number: int, version: int | None = None) -> None:
        self.number, self.version = number, version


class Parts:
    """Stands for an object with arrays inside."""

    __slots__ = ("attributes", "kind")

    def __init__(self, kind: type, attributes: dict[str, Any]) -> None:
        self.kind, self.attributes = kind, attributes


def attributes_of(value: Any) -> dict[str, Any]:
    """What an object holds."""
    found = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        for name in getattr(base, "__slots__", ()):
            if hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def inside(value: Any) -> Iterator[Any]:
    """The arrays and tensors in the objects of a structure, not those in plain sight."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from inside(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from inside(part)
    elif not isinstance(value, (*PLAIN, np.ndarray)) and not callable(value):
        for part in attributes_of(value).values():
            arrays: list[Any] = []
            taken_apart(part, arrays)
            yield from arrays


def taken_apart(value: Any, arrays: list[Any]) -> Any:
    """A structure with a `Place` for each array, which goes to ``arrays``."""
    if isinstance(value, Tensor):
        arrays.append(value._array)
        return Place(len(arrays) - 1, int(value._cell[0]))
    if type(value) is Traced or isinstance(value, np.ndarray):
        arrays.append(value)
        return Place(len(arrays) - 1)
    if type(value) in (tuple, list):
        return type(value)([taken_apart(part, arrays) for part in value])
    if type(value) is dict:
        return {name: taken_apart(part, arrays) for name, part in value.items()}
    if isinstance(value, PLAIN) or callable(value) or not attributes_of(value):
        return value
    parts = {name: taken_apart(part, arrays) for name, part in attributes_of(value).items()}
    return Parts(type(value), parts)


def put_together(value: Any, arrays: tuple[Array, ...]) -> Any:
    """The structure again, with other arrays."""
    if isinstance(value, Place):
        if value.version is None:
            return arrays[value.number]
        tensor = wrap(arrays[value.number])
        tensor._cell[0] = value.version
        return tensor
    if type(value) in (tuple, list):
        return type(value)([put_together(part, arrays) for part in value])
    if type(value) is dict:
        return {name: put_together(part, arrays) for name, part in value.items()}
    if isinstance(value, Parts):
        made: Any = object.__new__(value.kind)
        for name, part in value.attributes.items():
            object.__setattr__(made, name, put_together(part, arrays))
        return made
    return value


class Whole:
    """A kernel as a function of all arrays that it gets, in plain sight or inside objects."""

    def __init__(self, kernel: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.kernel, self.__name__ = kernel, kernel.__name__
        self.arrays: list[Any] = []
        self.args = taken_apart(tuple(args), self.arrays)
        self.kwargs = taken_apart(dict(kwargs), self.arrays)

    def __call__(self, *arrays: Array) -> Any:
        return self.kernel(*put_together(self.args, arrays), **put_together(self.kwargs, arrays))


# Numbers of an optimizer that may change between steps: its options and its step counts.
#
# During a traced `step` of an optimizer these numbers are `Hyper` objects: floats that remember the
# expression they came from, so that a replay computes them anew. What the optimizer asks of one (is
# the weight decay zero?) becomes a condition that a replay checks.


class Leaf:
    """Where a number comes from: ``container[key]``, or the value of a 0-d array.

    Attributes:
        late: of an array: whether the step itself has written it before.
    """

    __slots__ = ("container", "key", "late")

    def __init__(self, container: Any, key: Any = None, late: bool = False) -> None:
        self.container, self.key, self.late = container, key, late


# An expression: a `Leaf`, a Python number, or `(format, operands...)`.
Expression = Any


class Conditions:
    """What was asked of numbers while tracing: ``(expression, answer)``."""

    def __init__(self) -> None:
        self.asked: list[tuple[Expression, Any]] = []


class Hyper(float):
    """A number with the expression it came from."""

    __slots__ = ("conditions", "expression")
    expression: Expression
    conditions: Conditions

    @classmethod
    def of(cls, value: float, expression: Expression, conditions: Conditions) -> "Hyper":
        """A number with its origin; always a float here, in replays what it is then."""
        self = cls(value)
        self.expression, self.conditions = expression, conditions
        return self

    def __bool__(self) -> bool:
        answer = float(self) != 0.0
        self.conditions.asked.append((("bool({})", self.expression), answer))
        return answer

    __hash__ = float.__hash__


def expression_of(value: Any) -> Expression:
    """The expression of an operand."""
    return value.expression if isinstance(value, Hyper) else value


def arithmetic(name: str, pattern: str) -> None:
    """Let an operator give a `Hyper`."""
    plain = getattr(float, f"__{name}__")

    def forward(self: Hyper, other: Any) -> Any:
        result = plain(self, other)
        if result is NotImplemented:
            return result
        expression = (pattern, self.expression, expression_of(other))
        return Hyper.of(result, expression, self.conditions)

    setattr(Hyper, f"__{name}__", forward)
    if hasattr(float, f"__r{name}__"):
        reverse = getattr(float, f"__r{name}__")

        def reflected(self: Hyper, other: Any) -> Any:
            result = reverse(self, other)
            if result is NotImplemented:
                return result
            expression = (pattern, expression_of(other), self.expression)
            return Hyper.of(result, expression, self.conditions)

        setattr(Hyper, f"__r{name}__", reflected)


def comparison(name: str, pattern: str) -> None:
    """Let a comparison become a condition."""
    plain = getattr(float, f"__{name}__")

    def compare(self: Hyper, other: Any) -> Any:
        answer = plain(self, other)
        if answer is not NotImplemented:
            expression = (pattern, self.expression, expression_of(other))
            self.conditions.asked.append((expression, answer))
        return answer

    setattr(Hyper, f"__{name}__", compare)


for _name, _pattern in {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "truediv": "({} / {})",
    "pow": "({} ** {})",
}.items():  # fmt: skip
    arithmetic(_name, _pattern)
for _name, _pattern in {
    "lt": "({} < {})", "le": "({} <= {})", "gt": "({} > {})", "ge": "({} >= {})",
    "eq": "({} == {})", "ne": "({} != {})",
}.items():  # fmt: skip
    comparison(_name, _pattern)


def negative(self: Hyper) -> Hyper:
    """``-x``."""
    return Hyper.of(-float(self), ("(-{})", self.expression), self.conditions)


Hyper.__neg__ = negative  # type: ignore[assignment,method-assign]


def leaves(expression: Expression) -> list[Leaf]:
    """The leaves of an expression, in order."""
    if isinstance(expression, Leaf):
        return [expression]
    if isinstance(expression, tuple):
        return [leaf for part in expression[1:] for leaf in leaves(part)]
    return []


def text(expression: Expression, name_of: Any) -> str:
    """An expression as Python source.

    Args:
        name_of: gives the name of a leaf, or of a Python number.
    """
    if isinstance(expression, tuple):
        return expression[0].format(*[text(part, name_of) for part in expression[1:]])
    return str(name_of(expression))


# The comparisons that tell whether what a step reads has changed.


MISSING: Any = object()
BY_VALUE = (int, float, complex, str, bytes, range, slice)


class Check:
    """One comparison that a replay makes: ``container[key] is value`` and the like.

    Attributes:
        kind: what is compared; see `holds`.
        counted: whether `changes` tells when to look again.
    """

    __slots__ = ("container", "counted", "key", "kind", "value")

    def __init__(
        self, kind: str, container: Any, key: Any, value: Any, counted: bool = False
    ) -> None:
        self.kind, self.container, self.key, self.value = kind, container, key, value
        self.counted = counted


def same_value(a: Any, b: Any) -> bool:
    """Whether two things are one, or equal numbers or texts down to the sign of a zero."""
    kind = type(a)
    return a is b or (kind is type(b) and kind in BY_VALUE and repr(a) == repr(b))


def holds(check: Check) -> bool:
    """Whether a check finds what it found before."""
    c, k, v = check.container, check.key, check.value
    try:
        if check.kind == "item":
            return same_value(c[k], v)
        if check.kind == "state":
            return same_value(c[k[0]][k[1]], v)
        if check.kind == "len":
            return len(c) == v
        if check.kind == "keys":
            return tuple(c) == v
        if check.kind == "absent":
            return bool(c.keys().isdisjoint(v))
        if check.kind == "cell":
            return v is MISSING or same_value(c.cell_contents, v)
        if check.kind == "set":
            return bool(c == v)
        if check.kind == "empty":
            return not c[k]
        if check.kind in ("grad", "group"):
            return True
        return same_value(getattr(c, k), v)
    except (KeyError, IndexError, AttributeError, ValueError):
        return False


def namespace(kind: type) -> dict[str, Any]:
    """The attributes of a class as the dict itself, which is read faster than ``kind.__dict__``."""
    return next(d for d in gc.get_referents(kind.__dict__) if type(d) is dict)


# Noticing that somebody replaces a function of the library, which a replay would not call.


# How often something in one of the library's modules was set or deleted.
patches = [0]


class WatchedModule(ModuleType):
    """A module of the library, once something is compiled: it counts what is set in it."""

    def __setattr__(self, name: str, value: Any) -> None:
        changes[0] += 1
        patches[0] += 1
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        changes[0] += 1
        patches[0] += 1
        super().__delattr__(name)


def watch_library() -> None:
    """Let the library's modules count what is set in them."""
    for name, module in sys.modules.copy().items():
        if name.partition(".")[0] == "nanotorch" and type(module) is ModuleType:
            module.__class__ = WatchedModule


def is_watched(module: ModuleType) -> bool:
    """Whether a module counts what is set in it."""
    return type(module) is WatchedModule


class Used:
    """What the library's code found in its modules: nothing of it may be another when replayed.

    Args:
        library: the code that ran, with the globals it saw.
    """

    def __init__(self, library: Mapping[CodeType, dict[str, Any]]) -> None:
        self.found: dict[tuple[int, str], tuple[dict[str, Any], Any]] = {}
        self.seen = patches[0]
        for code, space in library.items():
            for name in code.co_names:
                if name in space:
                    value = space[name]
                    self.found[id(space), name] = (space, value)
                    if isinstance(value, WatchedModule):
                        self.take_from(vars(value), code)

    def take_from(self, space: dict[str, Any], code: CodeType) -> None:
        """What code may ask of another module."""
        for name in code.co_names:
            if name in space:
                self.found[id(space), name] = (space, space[name])

    def unchanged(self) -> bool:
        """Whether all of it is what it was."""
        now = patches[0]
        if now != self.seen:
            items = self.found.items()
            if any(space.get(name) is not value for (_, name), (space, value) in items):
                return False
            self.seen = now
        return True
