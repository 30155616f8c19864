"""Writing down what traced arrays go through."""

import functools
import operator
import os
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from nanotorch._core.origins import PACKAGE
from nanotorch.compile.holding import Whole, inside
from nanotorch.compile.hyper import Conditions, Hyper, Leaf
from nanotorch.compile.proxy import Traced, real
from nanotorch.compile.tape import CONSTANT, OUTSIDE, TEMPORARY, Entry, Ref, Tape
from nanotorch.optim.home import owner

Array = np.ndarray
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
WITH_OUT = {np.dot: np.dot, np.ndarray.dot: np.dot}
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
        self.counting: Conditions | None = None  # in an optimizer's step: its conditions
        self.conditions = Conditions()

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
        if self.tape.find(array) is None:
            if id(tensor) in self.known:
                self.tape.add_storage(owner(array), OUTSIDE)
            elif not (tensor._is_number or id(tensor) in self.made):
                self.refuse(UNKNOWN)
                return array
        elif not (id(tensor) in self.made or id(tensor) in self.known or tensor._is_number):
            self.refuse(UNKNOWN)
            return array
        return self.proxy(array)

    def proxy(self, array: Array) -> Any:
        """What stands for an array that tensors have, always the same for one array."""
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
        if type(value) is Traced:
            return self.tape.ref(value.value)
        if isinstance(value, Hyper):
            return self.number(value, kind or np.dtype(np.float64))
        if isinstance(value, np.ndarray):
            return self.tape.ref(value)
        if isinstance(value, np.generic):
            return self.tape.ref(np.asarray(value))
        if type(value) in (tuple, list):
            return type(value)([self.operand(part, kind) for part in value])
        if type(value) is dict:
            return {name: self.operand(part, kind) for name, part in value.items()}
        return value

    def number(self, value: Hyper, kind: np.dtype) -> Ref:
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
            return function(*real(inputs), **real(kwargs))
        if method == "at":
            return self.effect(function, inputs, kwargs, inputs[0])
        if method == "__call__" and ufunc not in TYPED:
            inputs = numbers_as_arrays(inputs)
        target = kwargs.pop("out", (None,))
        out = real(target)
        if len(out) > 1 or ufunc.nout > 1:
            return self.function(function, inputs, kwargs)
        given = {} if out[0] is None else {"out": out[0]}
        result = function(*real(inputs), **real(kwargs), **given)
        kinds = [a.dtype for a in real(inputs) if isinstance(a, np.ndarray)]
        args = self.operand(inputs, kinds[0] if kinds else None)
        noted = {name: self.operand(value) for name, value in kwargs.items()}
        kind = "ufunc" if method == "__call__" else "reduce"
        if given:
            self.writing(out[0])
            ref = self.tape.ref(out[0])
            self.note(Entry(kind, function, args, noted, [ref], False))
            return target[0]
        fresh = np.asarray(result)
        self.note(Entry(kind, function, args, noted, [self.tape.new(fresh)], True))
        return Traced(fresh)

    def note(self, entry: Entry) -> None:
        """Put an entry on the tape."""
        if any(out.array.dtype.hasobject for out in entry.outs):  # memory of plans holds numbers
            if self.depth:
                raise Untraceable
            self.refuse("an array of Python objects is made")
        self.tape.entries.append(entry)
        if len(self.tape.entries) > LONGEST:
            self.refuse(f"the step makes more than {LONGEST:,} calls")

    def writing(self, array: Array) -> None:
        """Memory is about to be written to, or has been; constants become temporaries."""
        storage = self.tape.find(array)
        if storage is None:
            self.tape.add_storage(owner(array), TEMPORARY)
        elif storage.kind == CONSTANT:
            self.refuse("a constant is written to in a way that is not followed")

    def function(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Any other function or method of NumPy."""
        if not self.live:
            return function(*real(tuple(args)), **real(kwargs))
        if function in WRITERS:
            return self.effect(function, args, kwargs, args[0])
        if function in DYNAMIC or picks(function, args):
            if self.depth:  # the kernel as a whole may give a fixed shape
                raise Untraceable
            self.refuse(f"`{function.__name__}` gives a shape that depends on values")
            return function(*real(tuple(args)), **real(kwargs))
        if function in LAYOUTS_OF:
            return self.blank(function(*real(tuple(args)), **real(kwargs)), LAYOUTS_OF[function])
        result = function(*real(tuple(args)), **real(kwargs))
        if function in LAYOUT:
            return result
        if function not in WITH_OUT or kwargs or not isinstance(result, np.ndarray):
            return self.results("call", function, args, kwargs, result)
        out = self.tape.new(result)
        noted = self.operand(tuple(args))
        self.note(Entry("ufunc", WITH_OUT[function], noted, {}, [out], True))
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
            named = {name: self.operand(value) for name, value in kwargs.items()}
            outs = [
                self.tape.new(a) if self.tape.find(a) is None else self.tape.ref(a) for a in arrays
            ]
            self.note(Entry(kind, function, held, named, outs, True, opaque))
        traced = [Traced(array) for array in arrays]
        return type(result)(traced) if several else traced[0]

    def effect(self, function: Any, args: Sequence[Any], kwargs: Any, target: Any) -> Any:
        """A function that writes to ``target``, one of its arguments."""
        result = function(*real(tuple(args)), **real(kwargs))
        if self.live:
            array = real(target)
            self.writing(array)
            held = tuple(self.operand(tuple(args), array.dtype))
            named = {name: self.operand(value) for name, value in kwargs.items()}
            self.note(Entry("effect", function, held, named, [self.tape.ref(array)], False))
        return result

    def blank(self, array: Array, value: Any) -> Any:
        """New memory filled with a value, or not at all."""
        if not self.live:
            return array
        out = self.tape.new(array)
        if value is not None:
            self.note(Entry("effect", np.copyto, (out, self.operand(value)), {}, [out], False))
        return Traced(array)

    def item(self, traced: Traced, *args: Any) -> Any:
        """The value of a 0-d array; in an optimizer's step, a number to be computed anew."""
        value = traced.value.item(*args)
        if self.counting is None or not self.live:
            self.read("item")
            return value
        ref = self.tape.ref(traced.value)
        if ref.storage.kind != OUTSIDE:
            self.made_state = self.problem is None
            self.refuse("the optimizer makes a number of its state")
            return value
        writes = [e for e in self.tape.entries if any(o.storage is ref.storage for o in e.outs)]
        if not writes:
            return Hyper.of(value, Leaf(traced.value), self.counting)
        expression = assigned(writes[-1], ref)
        if expression is None:
            expression = Leaf(traced.value, late=True)
        return Hyper.of(value, expression, self.counting)

    def located(self, array: Array) -> None:
        """Python is about to see where an array lies; only tensors from outside stay there."""
        storage = self.tape.find(array)
        if storage is None or storage.kind != OUTSIDE:
            self.read("data_ptr")

    # Kernels

    def kernel(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """An operation's kernel, to be called as a whole where it looks at values."""

        def traced(*args: Any, **kwargs: Any) -> Any:
            if not self.mine:
                return kernel(*real(args), **real(kwargs))
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
            self.tape.rollback(mark)
            return self.whole(kernel, args, kwargs)

        return traced

    def whole(self, kernel: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a kernel on plain arrays, as one entry."""
        function: Callable[..., Any] = kernel
        if next(inside((args, kwargs)), None) is not None:
            function = together = Whole(kernel, args, kwargs)
            args, kwargs = tuple(together.arrays), {}
        result = self.plainly(function, args, kwargs)
        by_mask = kernel.__name__ == "index" and any(a.dtype.kind in "bu" for a in args[1:])
        if kernel.__name__ in OF_NO_FIXED_SHAPE or by_mask:
            self.refuse(f"`{kernel.__name__}` gives a shape that depends on values")
        if self.live and args and result is real(args[0]):  # it writes to its first argument
            held, named = self.operand(args), self.operand(kwargs)
            self.writing(result)
            out = self.tape.ref(result)
            self.note(Entry("effect", function, held, named, [out], False, opaque=True))
            return args[0]
        return self.results("call", function, args, kwargs, result, opaque=True)

    def plainly(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function on plain arrays, noting nothing."""
        before, self.paused = self.paused, True
        try:
            return real(function(*real(args), **real(kwargs)))
        finally:
            self.paused = before

    def draw(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A generator's method that gives random numbers."""

        @functools.wraps(method)
        def drawn(generator: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.mine:
                return method(generator, *real(args), **real(kwargs))
            bound = method.__get__(generator)
            result = self.plainly(bound, args, kwargs)
            return self.results("draw", bound, args, kwargs, result, opaque=True)

        return drawn


def assigned(entry: Entry, ref: Ref) -> Any:
    """The expression of the number that an entry gives a 0-d array; None for anything else."""
    if entry.fn is not operator.setitem or ref.key != entry.outs[0].key:
        return None
    value = entry.args[2]
    if not isinstance(value, Ref) or value.storage.base.dtype != ref.array.dtype:
        return None
    return value.storage.expression


def numbers_as_arrays(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Python numbers beside floats as 0-d arrays of their dtype, which NumPy reads faster."""
    kinds = {real(x).dtype for x in inputs if isinstance(x, (np.ndarray, np.generic))}
    if len(kinds) != 1:
        return tuple(inputs)
    (kind,) = kinds
    if kind.kind != "f":
        return tuple(inputs)
    return tuple(np.array(x, kind) if type(x) is float or type(x) is int else x for x in inputs)


def picks(function: Any, args: Sequence[Any]) -> bool:
    """Whether this is an index that picks elements by a mask."""
    if function is not np.ndarray.__getitem__:
        return function is np.where and len(args) == 1
    items = args[1] if isinstance(args[1], tuple) else (args[1],)
    return any(isinstance(i, np.ndarray) and real(i).dtype.kind == "b" for i in items)
