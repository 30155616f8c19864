"""Arrays and numbers that record the operations on them."""

import functools
import operator
import os
import sys
import threading
from collections.abc import Callable, Sequence
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

# Arrays that record the operations on them.
#
# While a step is traced, library code sees `Traced` objects instead of ndarrays. They compute at
# once, with NumPy's own functions on the arrays inside them, and note every call on the tape. A
# read of their values ends the trace: the tape cannot follow the values in Python.


Array = np.ndarray


class Traced(NDArrayOperatorsMixin):
    """An ndarray whose calls are recorded; `isinstance` accepts it as an ndarray."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 500.0

    def __init__(self, value: Array) -> None:
        self.value = value

    @property
    def recorder(self) -> Any:
        """The active recorder of this thread; `NOBODY` after the trace and in other threads."""
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

    def __len__(self) -> int:
        return len(self.value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.recorder.effect(operator.setitem, (self, index, value), {}, self)

    def __pow__(self, other: Any) -> Any:
        # NumPy's operator computes some powers differently from its function.
        return self.recorder.function(operator.pow, (self, other), {})

    @property
    def __array_interface__(self) -> Any:
        # NumPy itself must not read the values past the recorder.
        caller = sys._getframe(1).f_code
        own = caller.co_filename.startswith(PACKAGE)
        if not own or "__array_interface__" not in caller.co_names:
            raise AttributeError("__array_interface__")
        if "data_ptr" in (caller.co_name, sys._getframe(2).f_code.co_name):
            # Only tensors from outside have the same address in replays.
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
    """A structure of arguments, with plain arrays instead of traced ones."""
    return map_parts(value, lambda part: part.value if type(part) is Traced else part)


# Attributes that depend on the layout, not on the values.
for _name in (
    "shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes", "flags",
):  # fmt: skip
    setattr(Traced, _name, property(operator.attrgetter(f"value.{_name}")))


def define_method(how: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A method of `Traced` that passes calls of ndarray's method ``name`` to ``how``."""
    function = getattr(np.ndarray, name)
    return lambda self, *args, **kwargs: how(self, function, args, kwargs)


def calls(self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Call a method that returns an array, new or a view."""
    return self.recorder.function(function, (self, *args), kwargs)


def writes(self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Call a method that writes to the array itself."""
    return self.recorder.effect(function, (self, *args), kwargs, self)


def reads(self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Call a method that returns values to Python, which ends the trace."""
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


# Kernels with arrays inside other arguments, for example an index of tensors.


PLAIN = (int, float, str, bool, bytes, type(None), slice, type(...), np.dtype, np.generic, type)


class Place:
    """The place of array number ``number`` in a structure of arguments.

    Args:
        version: the version of the tensor that held the array; None for a bare array.
    """

    __slots__ = ("number", "version")

    def __init__(self, number: int, version: int | None = None) -> None:
        self.number, self.version = number, version


class Parts:
    """An object taken apart, to be made again with other arrays inside."""

    __slots__ = ("attributes", "kind")

    def __init__(self, kind: type, attributes: dict[str, Any]) -> None:
        self.kind, self.attributes = kind, attributes


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, slots included."""
    found = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        for name in getattr(base, "__slots__", ()):
            if hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def rebuild_structure(value: Any, arrays: tuple[Array, ...]) -> Any:
    """The structure of arguments with ``arrays`` at its places."""

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
    """A kernel as a function of all its arrays, including those inside objects.

    Attributes:
        arrays: the arrays.
        in_objects: whether some arrays are inside objects.
    """

    def __init__(self, kernel: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.kernel, self.__name__ = kernel, kernel.__name__
        self.arrays: list[Any] = []
        self.in_objects = False
        self.args = map_parts(tuple(args), self.taken_apart)
        self.kwargs = map_parts(dict(kwargs), self.taken_apart)

    def taken_apart(self, value: Any) -> Any:
        """A `Place` for an array, `Parts` for an object with attributes, else the value itself."""
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
# During a traced `step` of an optimizer, these numbers are symbolic: floats that remember the
# expression they came from. A replay computes the expression again. A test of such a number (is the
# weight decay zero?) becomes a condition that a replay checks.


class Symbolic(float):
    """A number with the expression it came from. Here it is a float; in replays it may be an int.

    Attributes:
        asked: the tests of numbers while tracing: pairs ``(expression, answer)``.
    """

    __slots__ = ("asked", "expression")
    expression: Expression
    asked: list[tuple[Expression, Any]]

    @classmethod
    def of(cls, value: float, expression: Expression, asked: list[Any]) -> "Symbolic":
        """A number with its expression."""
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
    """Define an operator of `Symbolic`: its result is symbolic, or a condition if it is a bool.

    Args:
        name: the operator's name without underscores.
        pattern: the source of the operation, with ``{}`` for each operand.
    """
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


# The recorder of traced arrays.


NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep  # noqa: PTH120,PTH100

# Functions that write to their first argument.
WRITERS = {np.copyto, np.put, np.put_along_axis, np.place, np.fill_diagonal, np.putmask}
# Functions whose result does not depend on values.
LAYOUT = {
    np.shape, np.ndim, np.size, np.may_share_memory, np.shares_memory, np.result_type,
    np.broadcast_shapes, np.can_cast, np.iscomplexobj, np.isrealobj, np.min_scalar_type,
}  # fmt: skip
LONGEST = 20_000  # entries of a tape
# Functions whose results have shapes that depend on values.
DYNAMIC = {
    np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.extract, np.bincount, np.compress,
    np.trim_zeros, np.intersect1d, np.union1d, np.setdiff1d, np.histogram,
}  # fmt: skip
# Functions whose second operand has another kind, or decides by its value how NumPy computes.
TYPED = {np.power, np.float_power, np.ldexp, np.left_shift, np.right_shift}
OF_NO_FIXED_SHAPE = {
    "nonzero", "argwhere", "masked_select", "unique_values", "unique_slices", "unique_runs",
    "bincount", "where", "repeat_interleave", "combinations", "masked",
}  # fmt: skip
# Functions that accept ``out`` as a further argument.
DOTS = (np.dot, np.ndarray.dot)  # the method is faster

STEPWISE = "bfloat16 is computed operation by operation"
UNKNOWN = "a tensor is used that is neither an argument nor a variable in reach"


class Untraceable(Exception):  # noqa: N818 - not an error: the kernel is then called as a whole
    """Raised when a kernel reads the values of its arguments."""


def users_line(frame: FrameType | None = None) -> str:
    """The file and line of the innermost call outside the library."""
    at: FrameType | None = frame or sys._getframe(1)
    while at is not None:
        name = at.f_code.co_filename
        if not (name.startswith((PACKAGE, NUMPY, "<"))):
            return f"{name}:{at.f_lineno}"
        at = at.f_back
    return "unknown line"


class Recorder:
    """Executes the calls on traced arrays and puts them on the tape.

    Args:
        known: the guarded tensors, by `id`; the step must not read other tensors from outside.
    """

    def __init__(self, known: dict[int, Any]) -> None:
        self.tape, self.known = Tape(), known
        self.made: set[int] = set()  # `id` of tensors that the step makes
        self.proxies: dict[int, Traced] = {}
        self.thread = threading.get_ident()
        self.problem: str | None = None  # why, and where, the trace failed
        self.made_state = False  # whether the problem occurs in an optimizer's first step only
        self.depth = 0  # the number of nested kernels that may give up
        self.paused = False
        self.counting = False  # whether an optimizer's step runs, with symbolic numbers
        self.asked: list[tuple[Expression, Any]] = []  # the tests of symbolic numbers

    @property
    def live(self) -> bool:
        """Whether calls are recorded."""
        return self.problem is None and not self.paused

    @property
    def mine(self) -> bool:
        """Whether calls of the present thread are recorded."""
        return threading.get_ident() == self.thread and self.live

    def refuse(self, reason: str, where: str | None = None) -> None:
        """End the trace; the step continues on plain arrays.

        Args:
            where: file and line; default: the user's line.
        """
        if self.problem is None:
            self.problem = f"{where or users_line(sys._getframe(1))}: {reason}"

    def read(self, what: str) -> None:
        """End the trace, because Python is about to see values; in a kernel, raise `Untraceable`.

        Args:
            what: the name of the function that reads the values.
        """
        if self.live:
            if self.depth:
                raise Untraceable
            self.refuse(f"`{what}` makes Python depend on the values of a tensor")

    # Tensors

    def seen(self, tensor: Any, array: Array) -> Any:
        """The array of a tensor as library code sees it: traced, unless the trace has ended."""
        if not self.live:
            return array
        if isinstance(array, Bfloat16Array):
            self.refuse(STEPWISE)
            return array
        known = id(tensor) in self.known
        if not (known or id(tensor) in self.made or tensor._is_number):
            self.refuse(UNKNOWN)
            return array
        if known and self.tape.find(array) is None:
            self.tape.add_storage(memory_owner(array), OUTSIDE)
        return self.proxy(array)

    def proxy(self, array: Array) -> Any:
        """The traced array for a tensor's array, always the same one."""
        if not self.live:
            return array
        found = self.proxies.get(id(array))
        if found is None:
            found = self.proxies[id(array)] = Traced(array)
        return found

    def given(self, tensor: Any, value: Any) -> Array:
        """The plain array to store in a tensor that the step makes."""
        self.made.add(id(tensor))
        return value.value if type(value) is Traced else value

    # Calls

    def operand(self, value: Any, kind: np.dtype | None = None) -> Any:
        """An argument as the tape keeps it: a `Ref` for each array and symbolic number."""

        def ref(part: Any) -> Any:
            if isinstance(part, Symbolic):
                return self.number(part, kind or np.dtype(np.float64))
            if isinstance(part, (np.ndarray, np.generic)):
                return self.tape.ref(np.asarray(unwrap_all(part)))
            return part

        return map_parts(value, ref)

    def number(self, value: Symbolic, kind: np.dtype) -> Ref:
        """Note a number that every replay computes; returns its 0-d array."""
        out = self.tape.new(np.array(float(value), kind))
        exact = kind.itemsize >= 8
        out.storage.expression = value.expression if exact else ("rounded({})", value.expression)
        self.tape.entries.append(Entry("number", float, (value.expression,), {}, [out], True))
        return out

    def ufunc(self, ufunc: Any, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
        """Call a universal function, or one of its methods, and record it."""
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        if not self.live:
            return function(*unwrap_all(inputs), **unwrap_all(kwargs))
        if method == "at":
            return self.effect(function, inputs, kwargs, inputs[0])
        kinds = {unwrap_all(x).dtype for x in inputs if isinstance(x, (np.ndarray, np.generic))}
        if method == "__call__" and ufunc not in TYPED and [k.kind for k in kinds] == ["f"]:
            # NumPy reads 0-d arrays of the operands' dtype faster than Python numbers.
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
        if any(out.array.dtype.hasobject for out in outs):  # a plan's memory holds only numbers
            if self.depth:
                raise Untraceable
            self.refuse("an array of Python objects is made")
        named = {name: self.operand(value) for name, value in kwargs.items()}
        self.tape.entries.append(Entry(kind, function, args, named, outs, fresh, opaque))
        if len(self.tape.entries) > LONGEST:
            self.refuse(f"the step makes more than {LONGEST:,} calls")

    def writing(self, array: Array) -> None:
        """Prepare memory for a write: unknown memory becomes a temporary, a constant is refused."""
        storage = self.tape.find(array)
        if storage is None:
            self.tape.add_storage(memory_owner(array), TEMPORARY)
        elif storage.kind == CONSTANT:
            self.refuse("a constant is written to in a way that the trace does not see")

    def function(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call any other function or method of NumPy, and record it."""
        if not self.live:
            return function(*unwrap_all(tuple(args)), **unwrap_all(kwargs))
        if function in WRITERS:
            return self.effect(function, args, kwargs, args[0])
        if function in DYNAMIC or is_mask_index(function, args):
            if self.depth:  # the result of the whole kernel may have a fixed shape
                raise Untraceable
            self.refuse(f"`{function.__name__}` gives a shape that depends on values")
            return function(*unwrap_all(tuple(args)), **unwrap_all(kwargs))
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
        """Note a call, unless it returned only views of known memory; returns traced results."""
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
        """Call a function that writes to ``target``, one of its arguments, and record it."""
        result = function(*unwrap_all(tuple(args)), **unwrap_all(kwargs))
        if self.live:
            array = unwrap_all(target)
            self.writing(array)
            held = tuple(self.operand(tuple(args), array.dtype))
            self.note("effect", function, held, kwargs, [self.tape.ref(array)], False)
        return result

    def blank(self, array: Array, value: Any) -> Any:
        """Record new memory; with ``value``, also that it is filled with this value."""
        out = self.tape.new(array)
        if value is not None:
            self.note("effect", np.copyto, (out, self.operand(value)), {}, [out], False)
        return Traced(array)

    def item(self, traced: Traced, *args: Any) -> Any:
        """The value of a 0-d array; in an optimizer's step, a symbolic number."""
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
        expression, last = Leaf(traced.value, late=True), writes[-1]
        if last.fn is operator.setitem and last.outs[0].key == ref.key:
            assigned = last.args[2]
            if isinstance(assigned, Ref) and assigned.storage.base.dtype == ref.array.dtype:
                expression = assigned.storage.expression or expression
        return Symbolic.of(value, expression, self.asked)

    # Kernels

    def kernel(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """An operation's kernel under trace; if it reads values, it becomes a single entry."""

        def traced(*args: Any, **kwargs: Any) -> Any:
            if not self.mine:
                return kernel(*unwrap_all(args), **unwrap_all(kwargs))
            mark, known = len(self.tape.entries), len(self.tape.storages)
            self.depth += 1
            try:
                return kernel(*args, **kwargs)
            except (Untraceable, TypeError):  # some functions accept only real arrays
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
        """Call a kernel on plain arrays, and record the call as one entry."""
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
        """Call a function on plain arrays, and record nothing."""
        before, self.paused = self.paused, True
        try:
            return unwrap_all(function(*unwrap_all(args), **unwrap_all(kwargs)))
        finally:
            self.paused = before

    def draw(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A generator's method that returns random numbers, with its calls recorded."""

        @functools.wraps(method)
        def drawn(generator: Any, *args: Any, **kwargs: Any) -> Any:
            kwargs.pop("copy", None)  # a plan may write to all of its arrays
            if not self.mine:
                return method(generator, *unwrap_all(args), **unwrap_all(kwargs))
            bound = method.__get__(generator)
            result = self.plainly(bound, args, kwargs)
            return self.results("draw", bound, args, kwargs, result, opaque=True)

        return drawn


NOBODY = Recorder({})  # records nothing
NOBODY.paused = True
current = [NOBODY]  # the active recorder


def is_mask_index(function: Any, args: Sequence[Any]) -> bool:
    """Whether a call selects elements by a mask."""
    if function is not np.ndarray.__getitem__:
        return function is np.where and len(args) == 1
    items = args[1] if isinstance(args[1], tuple) else (args[1],)
    return any(isinstance(i, np.ndarray) and unwrap_all(i).dtype.kind == "b" for i in items)
