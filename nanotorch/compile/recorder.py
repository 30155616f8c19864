"""Arrays and numbers that write down what is done with them."""

import functools
import operator
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from nanotorch._core.bfloat16 import Bfloat16Array
from nanotorch._core.call_site import PACKAGE
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.compile.tape import (
    CONSTANT,
    OUTSIDE,
    TEMPORARY,
    Entry,
    Expression,
    Leaf,
    Ref,
    Tape,
    map_parts,
)
from nanotorch.optim.flat_buffer import memory_owner

# Arrays that write down what is done with them.
#
# While a step is traced, library code sees `Traced` objects in place of ndarrays. They compute at
# once, with NumPy's own functions on the arrays behind them, and note every call on the tape. To
# reach into one for its values ends the trace, for the tape could not follow what is done with
# them.


Array = np.ndarray


class Traced(NDArrayOperatorsMixin):
    """Stands for an ndarray, also for `isinstance`; see the module."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 500.0

    def __init__(self, value: Array) -> None:
        self.value = value

    @property
    def recorder(self) -> Any:
        """Who notes what is done now; a `Traced` that has survived its trace is a constant."""
        return current[0] if threading.get_ident() == current[0].thread else NOBODY

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

    def __pow__(self, other: Any) -> Any:
        # NumPy's operator computes some powers in other ways than its function does.
        return self.recorder.function(operator.pow, (self, other), {})

    @property
    def __array_interface__(self) -> Any:
        # NumPy itself must not read the values past the recorder.
        caller = sys._getframe(1).f_code
        own = caller.co_filename.startswith(PACKAGE)
        if not own or "__array_interface__" not in caller.co_names:
            raise AttributeError("__array_interface__")
        if "data_ptr" in (caller.co_name, sys._getframe(2).f_code.co_name):
            # Only tensors from outside lie where they lie in the trace.
            storage = self.recorder.tape.find(self.value)
            if storage is None or storage.kind != OUTSIDE:
                self.recorder.read("data_ptr")
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


def unwrap_all(value: Any) -> Any:
    """A structure of arguments with the arrays behind those that are traced."""
    return map_parts(value, unwrap_array)


def unwrap_array(value: Any) -> Any:
    """The array behind a traced one; all else as it is."""
    return value.value if type(value) is Traced else value


# What does not depend on the values, but on where they lie.
for _name in (
    "shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes", "flags",
):  # fmt: skip
    setattr(Traced, _name, property(operator.attrgetter(f"value.{_name}")))


def define_method(how: Callable[..., Any], name: str) -> Callable[..., Any]:
    """An array's method, with what becomes of a call of it."""
    function = getattr(np.ndarray, name)
    return lambda self, *args, **kwargs: how(self, function, args, kwargs)


def calls(self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """A method that gives an array, new or a view."""
    return self.recorder.function(function, (self, *args), kwargs)


def writes(self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """A method that writes to the array itself."""
    return self.recorder.effect(function, (self, *args), kwargs, self)


def reads(self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """A method that gives values to Python."""
    self.recorder.read(function.__name__.strip("_"))
    return function(self.value, *args, **kwargs)


METHODS: dict[Any, str] = {
    calls: """__getitem__ all any argmax argmin argsort astype clip conj copy cumprod cumsum
    diagonal dot flatten max mean min prod ravel repeat reshape round searchsorted squeeze std sum
    swapaxes take trace transpose var view""",
    writes: "fill put sort partition",
    reads: """tolist tobytes nonzero __bool__ __int__ __float__ __index__ __complex__ __contains__
    __format__ __str__ __reduce__ __reduce_ex__ __copy__ __deepcopy__ compress choose tofile
    dump""",
}
for _how, _names in METHODS.items():
    for _name in _names.split():
        setattr(Traced, _name, define_method(_how, _name))


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


def rebuild_structure(value: Any, arrays: tuple[Array, ...]) -> Any:
    """The structure again, with other arrays."""

    def part(held: Any) -> Any:
        if isinstance(held, Place):
            if held.version is None:
                return arrays[held.number]
            tensor = wrap(arrays[held.number])
            tensor._cell[0] = held.version
            return tensor
        if not isinstance(held, Parts):
            return held
        made: Any = object.__new__(held.kind)
        for name, attribute in held.attributes.items():
            object.__setattr__(made, name, map_parts(attribute, part))
        return made

    return map_parts(value, part)


class Whole:
    """A kernel as a function of all arrays that it gets, in plain sight or inside objects.

    Attributes:
        arrays: these.
        in_objects: whether some are inside objects.
    """

    def __init__(self, kernel: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.kernel, self.__name__ = kernel, kernel.__name__
        self.arrays: list[Any] = []
        self.in_objects = False
        self.args = map_parts(tuple(args), self.taken_apart)
        self.kwargs = map_parts(dict(kwargs), self.taken_apart)

    def taken_apart(self, value: Any) -> Any:
        """A `Place` for an array; `Parts` for an object with attributes."""
        if isinstance(value, (Tensor, np.ndarray)):
            version = int(value._cell[0]) if isinstance(value, Tensor) else None
            self.arrays.append(value._array if isinstance(value, Tensor) else value)
            return Place(len(self.arrays) - 1, version)
        attributes = {} if isinstance(value, PLAIN) or callable(value) else attributes_of(value)
        if not attributes:
            return value
        before = len(self.arrays)
        parts = Parts(type(value), map_parts(attributes, self.taken_apart))
        self.in_objects |= len(self.arrays) > before
        return parts

    def __call__(self, *arrays: Array) -> Any:
        return self.kernel(
            *rebuild_structure(self.args, arrays), **rebuild_structure(self.kwargs, arrays)
        )


# Numbers of an optimizer that may change between steps: its options and its step counts.
#
# During a traced `step` of an optimizer these numbers are symbolic: floats that remember the
# expression they came from, so that a replay computes them anew. What the optimizer asks of one (is
# the weight decay zero?) becomes a condition that a replay checks.


class Symbolic(float):
    """A number with the expression it came from; always a float here, in replays what it is then.

    Attributes:
        asked: what was asked of numbers while tracing: ``(expression, answer)``.
    """

    __slots__ = ("asked", "expression")
    expression: Expression
    asked: list[tuple[Expression, Any]]

    @classmethod
    def of(cls, value: float, expression: Expression, asked: list[Any]) -> "Symbolic":
        """A number with its origin."""
        self = cls(value)
        self.expression, self.asked = expression, asked
        return self

    def __bool__(self) -> bool:
        answer = float(self) != 0.0
        self.asked.append((("bool({})", self.expression), answer))
        return answer

    def __neg__(self) -> "Symbolic":
        return Symbolic.of(-float(self), ("(-{})", self.expression), self.asked)

    __hash__ = float.__hash__


def set_operator(name: str, pattern: str, reflected: bool = False) -> None:
    """Let an operator give a symbolic number, or a comparison become a condition."""
    name = f"__{'r' * reflected}{name}__"
    plain = getattr(float, name)

    def operate(self: Symbolic, other: Any) -> Any:
        answer = plain(self, other)
        if answer is NotImplemented:
            return answer
        operands = [self.expression, other.expression if isinstance(other, Symbolic) else other]
        expression = (pattern, *(reversed(operands) if reflected else operands))
        if not isinstance(answer, bool):
            return Symbolic.of(answer, expression, self.asked)
        self.asked.append((expression, answer))
        return answer

    setattr(Symbolic, name, operate)


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}.items():
    for _reflected in (False, True):
        set_operator(_name, f"({{}} {_sign} {{}})", _reflected)
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    set_operator(_name, f"({{}} {_sign} {{}})")


# Writing down what traced arrays go through.


NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep  # noqa: PTH120,PTH100

# Functions that write to their first argument.
WRITERS = {np.copyto, np.put, np.put_along_axis, np.place, np.fill_diagonal, np.putmask}
# Functions whose result does not depend on values.
LAYOUT = {
    np.shape, np.ndim, np.size, np.may_share_memory, np.shares_memory, np.result_type,
    np.broadcast_shapes, np.can_cast, np.iscomplexobj, np.isrealobj, np.min_scalar_type,
}  # fmt: skip
# Functions whose results have shapes that depend on values.
LONGEST = 20_000  # entries of a tape
DYNAMIC = {
    np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.extract, np.bincount, np.compress,
    np.trim_zeros, np.intersect1d, np.union1d, np.setdiff1d, np.histogram,
}  # fmt: skip
# Whose second operand is of another kind, or looked at.
TYPED = {np.power, np.float_power, np.ldexp, np.left_shift, np.right_shift}
OF_NO_FIXED_SHAPE = {
    "nonzero", "argwhere", "masked_select", "unique_values", "unique_slices", "unique_runs",
    "bincount", "where", "repeat_interleave", "combinations", "masked",
}  # fmt: skip
# Functions that take their result's place as a further argument.
DOTS = (np.dot, np.ndarray.dot)  # the method is faster
LAYOUTS_OF: dict[Any, Any] = {np.zeros_like: 0, np.ones_like: 1, np.empty_like: None}


UNKNOWN = "a tensor is used that is neither an argument nor a variable in reach"


class Untraceable(Exception):  # noqa: N818 - not an error: the kernel is then called as a whole
    """A kernel looks at the values of its arguments."""


def users_line(frame: FrameType | None = None) -> str:
    """File and line of the innermost call that is not the library's."""
    at: FrameType | None = frame or sys._getframe(1)
    while at is not None:
        name = at.f_code.co_filename
        if not (name.startswith((PACKAGE, NUMPY, "<"))):
            return f"{name}:{at.f_lineno}"
        at = at.f_back
    return "unknown line"


class Recorder:
    """Executes what traced arrays are asked to do, and puts it on the tape.

    Args:
        known: by `id`, the tensors that are guarded; others must not be read.
    """

    def __init__(self, known: dict[int, Any]) -> None:
        self.tape, self.known = Tape(), known
        self.made: set[int] = set()  # `id` of tensors that the step makes
        self.proxies: dict[int, Traced] = {}
        self.thread = threading.get_ident()
        self.problem: str | None = None  # why, and where, the trace is no use
        self.made_state = False  # whether that is what an optimizer does in its first step only
        self.depth = 0  # of kernels that may give up
        self.paused = False
        self.counting = False  # whether an optimizer's step goes on, with symbolic numbers
        self.asked: list[tuple[Expression, Any]] = []  # of these

    @property
    def live(self) -> bool:
        """Whether something is noted."""
        return self.problem is None and not self.paused

    @property
    def mine(self) -> bool:
        """Whether something is noted of what the thread that asks does."""
        return threading.get_ident() == self.thread and self.live

    def refuse(self, reason: str, where: str | None = None) -> None:
        """End the trace; the step goes on, on plain arrays."""
        if self.problem is None:
            self.problem = f"{where or users_line(sys._getframe(1))}: {reason}"

    def read(self, what: str) -> None:
        """Values are about to be seen by Python."""
        if self.live:
            if self.depth:
                raise Untraceable
            self.refuse(f"`{what}` makes Python depend on the values of a tensor")

    # Tensors

    def seen(self, tensor: Any, array: Array) -> Any:
        """The array of a tensor, to library code."""
        if not self.live:
            return array
        if isinstance(array, Bfloat16Array):
            self.refuse("bfloat16 is computed operation by operation")
            return array
        if self.tape.find(array) is None:
            if id(tensor) in self.known:
                self.tape.add_storage(memory_owner(array), OUTSIDE)
            elif not (tensor._is_number or id(tensor) in self.made):
                self.refuse(UNKNOWN)
                return array
        elif not (id(tensor) in self.made or id(tensor) in self.known or tensor._is_number):
            self.refuse(UNKNOWN)
            return array
        return self.proxy(array)

    def proxy(self, array: Array) -> Any:
        """What stands for an array that tensors have, always the same for one array."""
        if not self.live:
            return array
        found = self.proxies.get(id(array))
        if found is None:
            found = self.proxies[id(array)] = Traced(array)
        return found

    def given(self, tensor: Any, value: Any) -> Array:
        """A tensor is given an array: the real one."""
        self.made.add(id(tensor))
        return value.value if type(value) is Traced else value

    # Calls

    def operand(self, value: Any, kind: np.dtype | None = None) -> Any:
        """An argument for the tape."""

        def ref(part: Any) -> Any:
            if isinstance(part, Symbolic):
                return self.number(part, kind or np.dtype(np.float64))
            if isinstance(part, (np.ndarray, np.generic)):
                return self.tape.ref(np.asarray(unwrap_all(part)))
            return part

        return map_parts(value, ref)

    def number(self, value: Symbolic, kind: np.dtype) -> Ref:
        """A number that is computed at every replay, as a 0-d array."""
        out = self.tape.new(np.array(float(value), kind))
        exact = kind.itemsize >= 8
        out.storage.expression = value.expression if exact else ("rounded({})", value.expression)
        self.tape.entries.append(Entry("number", float, (value.expression,), {}, [out], True))
        return out

    def ufunc(self, ufunc: Any, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
        """A universal function, or one of its methods."""
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        if not self.live:
            return function(*unwrap_all(inputs), **unwrap_all(kwargs))
        if method == "at":
            return self.effect(function, inputs, kwargs, inputs[0])
        kinds = {unwrap_all(x).dtype for x in inputs if isinstance(x, (np.ndarray, np.generic))}
        if method == "__call__" and ufunc not in TYPED and [k.kind for k in kinds] == ["f"]:
            # Python numbers beside floats: NumPy reads 0-d arrays of their dtype faster.
            (kind,) = kinds
            inputs = tuple(np.array(x, kind) if type(x) in (float, int) else x for x in inputs)
        target = kwargs.pop("out", (None,))
        out = unwrap_all(target)
        if len(out) > 1 or ufunc.nout > 1:
            return self.function(function, inputs, kwargs)
        given = {} if out[0] is None else {"out": out[0]}
        result = function(*unwrap_all(inputs), **unwrap_all(kwargs), **given)
        first = next((a.dtype for a in unwrap_all(inputs) if isinstance(a, np.ndarray)), None)
        args = self.operand(inputs, first)
        kind = "ufunc" if method == "__call__" else "reduce"
        if given:
            self.writing(out[0])
            self.note(kind, function, args, kwargs, [self.tape.ref(out[0])], False)
            return target[0]
        fresh = np.asarray(result)
        self.note(kind, function, args, kwargs, [self.tape.new(fresh)], True)
        return Traced(fresh)

    def note(
        self, kind: str, function: Any, args: Any, kwargs: Any, outs: list[Ref], fresh: bool,
        opaque: bool = False,
    ) -> None:  # fmt: skip
        """Put an entry on the tape."""
        if any(out.array.dtype.hasobject for out in outs):  # memory of plans holds numbers
            if self.depth:
                raise Untraceable
            self.refuse("an array of Python objects is made")
        named = {name: self.operand(value) for name, value in kwargs.items()}
        self.tape.entries.append(Entry(kind, function, args, named, outs, fresh, opaque))
        if len(self.tape.entries) > LONGEST:
            self.refuse(f"the step makes more than {LONGEST:,} calls")

    def writing(self, array: Array) -> None:
        """Memory is about to be written to, or has been; constants become temporaries."""
        storage = self.tape.find(array)
        if storage is None:
            self.tape.add_storage(memory_owner(array), TEMPORARY)
        elif storage.kind == CONSTANT:
            self.refuse("a constant is written to in a way that is not followed")

    def function(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Any other function or method of NumPy."""
        if not self.live:
            return function(*unwrap_all(tuple(args)), **unwrap_all(kwargs))
        if function in WRITERS:
            return self.effect(function, args, kwargs, args[0])
        if function in DYNAMIC or is_mask_index(function, args):
            if self.depth:  # the kernel as a whole may give a fixed shape
                raise Untraceable
            self.refuse(f"`{function.__name__}` gives a shape that depends on values")
            return function(*unwrap_all(tuple(args)), **unwrap_all(kwargs))
        if function in LAYOUTS_OF:
            return self.blank(
                function(*unwrap_all(tuple(args)), **unwrap_all(kwargs)), LAYOUTS_OF[function]
            )
        result = function(*unwrap_all(tuple(args)), **unwrap_all(kwargs))
        if function in LAYOUT:
            return result
        plain = bool(args) and isinstance(args[0], np.ndarray) and isinstance(result, np.ndarray)
        if function not in DOTS or kwargs or not plain:
            return self.results("call", function, args, kwargs, result)
        out = self.tape.new(result)
        self.note("ufunc", np.ndarray.dot, self.operand(tuple(args)), {}, [out], True)
        return Traced(result)

    def results(
        self, kind: str, function: Any, args: Any, kwargs: Any, result: Any, opaque: bool = False
    ) -> Any:
        """Note a call, unless it gave nothing but views of what is known."""
        if not self.live:
            return result
        several = isinstance(result, (tuple, list))
        parts = list(result) if several else [result]
        if not all(isinstance(part, (np.ndarray, np.generic)) for part in parts):
            self.read(getattr(function, "__name__", "a function"))
            return result
        arrays = [np.asarray(part) for part in parts]
        if any(self.tape.find(array) is None for array in arrays):
            held = tuple(self.operand(tuple(args)))
            outs = [
                self.tape.new(a) if self.tape.find(a) is None else self.tape.ref(a) for a in arrays
            ]
            self.note(kind, function, held, kwargs, outs, True, opaque)
        traced = [Traced(array) for array in arrays]
        return type(result)(traced) if several else traced[0]

    def effect(self, function: Any, args: Sequence[Any], kwargs: Any, target: Any) -> Any:
        """A function that writes to ``target``, one of its arguments."""
        result = function(*unwrap_all(tuple(args)), **unwrap_all(kwargs))
        if self.live:
            array = unwrap_all(target)
            self.writing(array)
            held = tuple(self.operand(tuple(args), array.dtype))
            self.note("effect", function, held, kwargs, [self.tape.ref(array)], False)
        return result

    def blank(self, array: Array, value: Any) -> Any:
        """New memory filled with a value, or not at all."""
        if not self.live:
            return array
        out = self.tape.new(array)
        if value is not None:
            self.note("effect", np.copyto, (out, self.operand(value)), {}, [out], False)
        return Traced(array)

    def item(self, traced: Traced, *args: Any) -> Any:
        """The value of a 0-d array; in an optimizer's step, a number to be computed anew."""
        value = traced.value.item(*args)
        if not (self.counting and self.live):
            self.read("item")
            return value
        ref = self.tape.ref(traced.value)
        if ref.storage.kind != OUTSIDE:
            self.made_state = self.problem is None
            self.refuse("the optimizer makes a number of its state")
            return value
        writes = [e for e in self.tape.entries if any(o.storage is ref.storage for o in e.outs)]
        if not writes:
            return Symbolic.of(value, Leaf(traced.value), self.asked)
        expression = assigned_expression(writes[-1], ref)
        if expression is None:
            expression = Leaf(traced.value, late=True)
        return Symbolic.of(value, expression, self.asked)

    # Kernels

    def kernel(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """An operation's kernel, to be called as a whole where it looks at values."""

        def traced(*args: Any, **kwargs: Any) -> Any:
            if not self.mine:
                return kernel(*unwrap_all(args), **unwrap_all(kwargs))
            mark, known = len(self.tape.entries), len(self.tape.storages)
            self.depth += 1
            try:
                return kernel(*args, **kwargs)
            except (Untraceable, TypeError):  # some functions take nothing but real arrays
                if self.depth > 1:  # the outermost kernel is called as a whole
                    raise Untraceable from None
            finally:
                self.depth -= 1
            done = [out for entry in self.tape.entries[mark:] for out in entry.outs]
            if any(out.storage.number < known for out in done):
                self.refuse(f"`{kernel.__name__}` depends on values after it has written some")
            del self.tape.entries[mark:]
            return self.whole(kernel, args, kwargs)

        return traced

    def whole(self, kernel: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a kernel on plain arrays, as one entry."""
        function: Callable[..., Any] = kernel
        together = Whole(kernel, args, kwargs)
        if together.in_objects:
            function, args, kwargs = together, tuple(together.arrays), {}
        result = self.plainly(function, args, kwargs)
        by_mask = kernel.__name__ == "index" and any(a.dtype.kind in "bu" for a in args[1:])
        if kernel.__name__ in OF_NO_FIXED_SHAPE or by_mask:
            self.refuse(f"`{kernel.__name__}` gives a shape that depends on values")
        if self.live and args and result is unwrap_all(args[0]):  # it writes to its first argument
            held = self.operand(args)
            self.writing(result)
            self.note("effect", function, held, kwargs, [self.tape.ref(result)], False, opaque=True)
            return args[0]
        return self.results("call", function, args, kwargs, result, opaque=True)

    def plainly(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function on plain arrays, noting nothing."""
        before, self.paused = self.paused, True
        try:
            return unwrap_all(function(*unwrap_all(args), **unwrap_all(kwargs)))
        finally:
            self.paused = before

    def draw(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A generator's method that gives random numbers."""

        @functools.wraps(method)
        def drawn(generator: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.mine:
                return method(generator, *unwrap_all(args), **unwrap_all(kwargs))
            bound = method.__get__(generator)
            result = self.plainly(bound, args, kwargs)
            return self.results("draw", bound, args, kwargs, result, opaque=True)

        return drawn


NOBODY = Recorder({})  # notes nothing
NOBODY.paused = True
current = [NOBODY]  # who notes what is done with traced arrays


def assigned_expression(entry: Entry, ref: Ref) -> Any:
    """The expression of the number that an entry gives a 0-d array; None for anything else."""
    if entry.fn is not operator.setitem or ref.key != entry.outs[0].key:
        return None
    value = entry.args[2]
    if not isinstance(value, Ref) or value.storage.base.dtype != ref.array.dtype:
        return None
    return value.storage.expression


def is_mask_index(function: Any, args: Sequence[Any]) -> bool:
    """Whether this is an index that picks elements by a mask."""
    if function is not np.ndarray.__getitem__:
        return function is np.where and len(args) == 1
    items = args[1] if isinstance(args[1], tuple) else (args[1],)
    return any(isinstance(i, np.ndarray) and unwrap_all(i).dtype.kind == "b" for i in items)
