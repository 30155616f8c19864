"""Tracing a step: library code sees traced arrays, users' code sees nothing of it."""

import builtins
import dis
import functools
import gc
import inspect
import math
import operator
import os
import sys
import sysconfig
import threading
import warnings
from abc import ABCMeta
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import repeat
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np
import numpy.random  # a watched step must not be the first to load it

from nanotorch._core import random
from nanotorch._core.call_site import PACKAGE
from nanotorch._core.op import OPS, compiled, complete
from nanotorch._core.random import Twister
from nanotorch._core.tensor import Tensor
from nanotorch.compile.proxy import (
    MISSING,
    NOBODY,
    Conditions,
    Hyper,
    Leaf,
    Traced,
    Whole,
    current,
    inside,
    real,
)
from nanotorch.compile.tape import CONSTANT, OUTSIDE, TEMPORARY, Entry, Ref, Tape
from nanotorch.names import lookup
from nanotorch.optim.flat_buffer import owner
from nanotorch.optim.lbfgs import LBFGS
from nanotorch.optim.optimizer import Optimizer, evaluate
from nanotorch.optim.rules import SGD, AdamW, Rule

# Writing down what traced arrays go through.


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


# What Python code a step runs, and whether it does anything that a replay would not repeat.
#
# A step can be replayed if, besides calling the library, it only computes: with names and
# attributes that can be guarded, and with functions that have no effects. The watcher sees every
# call of a step; `reach` looks at what the called code can reach.


STANDARD = (sysconfig.get_paths()["stdlib"], "<frozen")
# Parts of the library with effects beyond tensors.
OUTWARD = tuple(
    PACKAGE + name for name in ("utils", "serialization", "train", "distributed", "ops/generator",
                                "optim/lr_scheduler")
)  # fmt: skip
PURE = {
    builtins.len, builtins.isinstance, builtins.issubclass, builtins.abs, builtins.min,
    builtins.max, builtins.sum, builtins.any, builtins.all, builtins.sorted, builtins.round,
    builtins.divmod, builtins.pow, builtins.iter, builtins.next, builtins.callable,
    builtins.getattr, builtins.hasattr, builtins.chr, builtins.ord, builtins.repr,
    builtins.format, builtins.__build_class__, builtins.hash,
    *(value for value in vars(math).values() if isinstance(value, BuiltinFunctionType)),
}  # fmt: skip
PLAIN = (str, bytes, int, float, bool, tuple, list, dict, set, frozenset, slice, range, type(None))
FUNCTIONS_OF_PURE_MODULES = {"math", "operator", "_operator", "itertools", "_functools"}
# Modules whose functions have no effects, or whose effects the watcher sees.
QUIET_MODULES = {
    "builtins", "math", "cmath", "operator", "itertools", "functools", "typing", "types",
    "collections", "contextlib", "dataclasses", "enum", "abc", "copy", "numbers", "fractions",
    "__future__", "warnings", "string", "re",
}  # fmt: skip
# What compiles operations, and what tells whether a class is of a kind: Python remembers that.
AT_FIRST = {
    compiled.__code__, complete.__code__,
    ABCMeta.__instancecheck__.__code__, ABCMeta.__subclasscheck__.__code__,
}  # fmt: skip
IMPORT = "_find_and_load"  # what looks for a module that is not there yet
NUMPY_EFFECTS = {"random", "load", "loadtxt", "fromfile", "memmap", "genfromtxt", "save", "empty"}


def is_library(code: CodeType) -> bool:
    """Whether code is nanotorch's own, or generated by it."""
    return code.co_filename.startswith((PACKAGE, "<nanotorch"))


def prepares(code: CodeType) -> bool:
    """Whether code makes ready what is used for the first time: later calls only look it up."""
    if code.co_name == IMPORT:
        return code.co_filename == "<frozen importlib._bootstrap>"
    return code.co_filename == lookup.__file__ or code in AT_FIRST


def is_standard(code: CodeType) -> bool:
    """Whether code is Python's own."""
    return code.co_filename.startswith((*STANDARD, NUMPY))


class Watcher:
    """The users' code that one call runs.

    Attributes:
        codes: the code objects of users' functions that were called.
        library: those of the library's, with the globals that they see.
        problem: why the call cannot be replayed, and where; None if it can.
        imported: whether it imported a module that was not there yet.
    """

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.library: dict[CodeType, dict[str, Any]] = {}
        self.problem: str | None = None
        self.loading: FrameType | None = None  # where something is prepared for its first use
        self.imported = False
        self.thread = threading.get_ident()

    def refuse(self, reason: str, frame: FrameType | None) -> None:
        """The call has an effect."""
        if self.problem is None:
            self.problem = f"{users_line(frame)}: {reason}"

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See the calls of this thread, but not those that the garbage collector would make.

        A profiler rests meanwhile.
        """
        before: Any = sys.getprofile()
        collecting = gc.isenabled()
        rests = before is not None and not callable(before)  # one that is written in C
        try:
            gc.disable()
            sys.setprofile(None)
            if rests:
                before.disable()
            sys.setprofile(self.see)
            yield
        finally:
            sys.setprofile(None if rests else before)
            if rests:
                before.enable()
            if collecting:
                gc.enable()

    def see(self, frame: FrameType, event: str, argument: Any) -> None:
        """Called by Python at every call and return."""
        if self.loading is not None:
            if event == "return" and frame is self.loading:
                self.loading = None
        elif event == "call":
            code = frame.f_code
            if prepares(code):
                self.loading = frame
                self.imported |= code.co_name == IMPORT
            elif is_library(code):
                self.library.setdefault(code, frame.f_globals)
                if code.co_filename.startswith(OUTWARD):
                    self.enter_outward(frame)
            elif code not in self.codes:
                self.codes.add(code)
                name = next(iter(passed_on(code) - set(frame.f_globals)), None)
                if name is not None:
                    self.refuse(f"`{name}` may have effects that a replay would not repeat", frame)
                if code.co_flags & (0x20 | 0x80 | 0x200) and code.co_name != "<genexpr>":
                    self.look_at_generator(frame)
        elif event == "c_call":
            self.see_builtin(frame, argument)

    def look_at_generator(self, frame: FrameType) -> None:
        """Generators keep a place in their code between steps; those of a step's own do not."""
        if frame.f_code.co_flags & (0x80 | 0x200):
            self.refuse("asynchronous code", frame)

    def enter_outward(self, frame: FrameType) -> None:
        """A function of the library that reaches beyond tensors."""
        caller = frame.f_back
        if caller is not None and not is_library(caller.f_code):
            self.refuse(f"`{frame.f_code.co_name}` has effects beyond tensors", frame)

    def see_builtin(self, frame: FrameType, function: Any) -> None:
        """A function of C is called: by the library for its own reasons, or by a user."""
        if function is warnings.warn or getattr(function, "__name__", "") == "warn":
            self.refuse("a warning is given", frame)
        if is_library(frame.f_code) or is_standard(frame.f_code):
            return
        owner = getattr(function, "__self__", None)
        if function in PURE or isinstance(owner, PLAIN) or function is sys.setprofile:
            return
        if isinstance(owner, type) and issubclass(owner, PLAIN):
            return
        if isinstance(owner, ModuleType) and owner.__name__ in FUNCTIONS_OF_PURE_MODULES:
            return
        if getattr(function, "__objclass__", None) in PLAIN:
            return
        self.refuse(f"`{function.__name__}` may have effects that a replay would not repeat", frame)


def cannot_watch() -> bool:
    """Whether there is a profiler that cannot be asked to rest."""
    profiler: Any = sys.getprofile()
    return not (profiler is None or callable(profiler) or hasattr(profiler, "disable"))


def may_have_effects(function: Any) -> bool:
    """Whether a function of C, of no object, may do more than compute."""
    if not isinstance(function, BuiltinFunctionType) or function in PURE:
        return False
    owner = function.__self__
    return isinstance(owner, ModuleType) and owner.__name__ not in FUNCTIONS_OF_PURE_MODULES


def changes_its_owner(function: Any) -> bool:
    """Whether a function of C belongs to an object that it may change: `append` of a list."""
    if not isinstance(function, (BuiltinFunctionType, MethodWrapperType)):
        return False
    owner = function.__self__
    fixed = (ModuleType, type, str, bytes, int, float, tuple, frozenset, type(None))
    return not isinstance(owner, fixed)


@functools.lru_cache(maxsize=4096)
def passed_on(code: CodeType) -> frozenset[str]:
    """Builtins with effects that code does not call itself, but hands to somebody else."""
    return frozenset(
        i.argval
        for i in dis.get_instructions(code)
        if i.opname == "LOAD_GLOBAL"
        and not (i.arg or 0) & 1  # which says that a call follows
        and may_have_effects(getattr(builtins, i.argval, None))
    )


@functools.lru_cache(maxsize=4096)
def global_names(code: CodeType) -> frozenset[str]:
    """The globals that code reads or assigns to, with the functions inside it."""
    kinds = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")
    names = {i.argval for i in dis.get_instructions(code) if i.opname in kinds}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= global_names(constant)
    return frozenset(names)


@functools.lru_cache(maxsize=4096)
def attribute_names(code: CodeType) -> frozenset[str]:
    """The attributes that code may ask for, with the functions inside it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= attribute_names(constant)
    return frozenset(names)


def function_behind(target: Any) -> FunctionType | None:
    """The Python function that a call of ``target`` runs first, if it is one."""
    if isinstance(target, functools.partial):
        return function_behind(target.func)
    if isinstance(target, MethodType):
        return function_behind(target.__func__)
    if isinstance(target, FunctionType):
        return target
    return None


# Tracing a step: while it runs, library code sees traced arrays; users' code sees nothing of it.
#
# What changes for the time of one call, and is put back: the attribute of a tensor that holds its
# array hands out `Traced` ones to the thread that traces; `np` in the library's modules makes
# traced arrays where it makes new ones; kernels may be called as a whole; generators note what they
# draw.


tracing: dict[int, Any] = {}  # the `kwargs` of the call that traces: one at a time
# Optimizers whose numbers may change between steps, with the options that are numbers.
KNOWN_OPTIMIZERS: tuple[type, ...] = (
    AdamW, *(kind for kind in Rule.__subclasses__() if kind.__module__ == Rule.__module__)
)  # fmt: skip
OPTIONS = {
    name
    for kind in KNOWN_OPTIMIZERS
    for name, option in inspect.signature(kind).parameters.items()
    if type(option.default) in (int, float, tuple)
}
# Classes whose steps are looked at; those of others are, if they are users', Python like any other.
STEPS: tuple[type, ...] = (SGD, Rule, LBFGS)
UNTOUCHED = ("nanotorch.compile", "nanotorch._core.random", "nanotorch._core.random",
             "nanotorch._core.random")  # fmt: skip
DRAWS = (
    "uniform", "normal", "integers", "naturals", "permutation", "bernoulli", "exponential",
    "geometric", "cauchy", "log_normal", "multinomial",
)  # fmt: skip


NOT_KNOWN = "the step of `{}` depends on the values of tensors, or may do so"


class ArrayAttribute:
    """`Tensor._array` during a trace."""

    def __init__(self, inner: Any, recorder: Recorder) -> None:
        self.inner, self.recorder = inner, recorder

    def __get__(self, tensor: Any, kind: Any = None) -> Any:
        if tensor is None:
            return self
        if self.inner is None:
            array = tensor.__dict__.get("_array", MISSING)
            if array is MISSING:
                raise AttributeError("_array")
        else:
            array = self.inner.__get__(tensor, kind)
        if threading.get_ident() != self.recorder.thread:
            return array
        return self.recorder.seen(tensor, array)

    def __set__(self, tensor: Any, value: Any) -> None:
        if threading.get_ident() == self.recorder.thread:
            value = self.recorder.given(tensor, value)
        if self.inner is None:
            tensor.__dict__["_array"] = value
        else:
            self.inner.__set__(tensor, value)


class Numpy:
    """NumPy during a trace: new arrays are traced from the beginning."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        for name, value in (("zeros", 0), ("ones", 1), ("empty", None)):
            for made in (name, f"{name}_like"):
                setattr(self, made, maker(getattr(np, made), value, recorder))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def full(self, shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
        array = np.full(shape, real(fill_value), dtype, **kwargs)
        return self.recorder.blank(array, fill_value) if self.recorder.mine else array

    def full_like(self, a: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
        array = np.full_like(real(a), real(fill_value), dtype, **kwargs)
        return self.recorder.blank(array, fill_value) if self.recorder.mine else array

    def array(self, object: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if type(object) is Traced and self.recorder.mine:
            kwargs |= {} if dtype is None else {"dtype": dtype}
            return self.recorder.function(np.array, (object,), kwargs)
        if isinstance(object, Hyper) and self.recorder.mine:
            ref = self.recorder.number(object, np.dtype(dtype or np.float64))
            return Traced(ref.array)
        return np.array(object, dtype, **kwargs)

    def asarray(self, a: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if type(a) is Traced and self.recorder.mine:
            same = dtype is None or np.dtype(dtype) == a.dtype
            return a if same else a.astype(dtype)
        return self.array(a, dtype) if isinstance(a, Hyper) else np.asarray(a, dtype, **kwargs)

    def ascontiguousarray(self, a: Any, dtype: Any = None) -> Any:
        if type(a) is Traced and self.recorder.mine:
            return self.recorder.function(np.ascontiguousarray, (a,), {})
        return np.ascontiguousarray(a, dtype)


def maker(function: Callable[..., Any], value: Any, recorder: Recorder) -> Callable[..., Any]:
    """`np.zeros` and its kin; a method would hold all of a trace for longer than it lasts."""

    def make(*args: Any, **kwargs: Any) -> Any:
        array = function(*real(args), **real(kwargs))
        return recorder.blank(array, value) if recorder.mine else array

    return make


class Changes:
    """Things replaced for a while."""

    def __init__(self) -> None:
        self.undo: list[tuple[Any, ...]] = []  # functions with their arguments

    def item(self, container: dict[Any, Any], key: Any, value: Any) -> None:
        """Replace an entry of a dict."""
        self.undo.append((container.__setitem__, key, container[key]))
        container[key] = value

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a class."""
        before = vars(owner).get(name, MISSING)
        if before is MISSING:
            self.undo.append((remove, owner, name))
        else:
            self.undo.append((setattr, owner, name, before))
        setattr(owner, name, value)

    def put_back(self) -> None:
        """As it was; an interruption waits until all is."""
        interruption = None
        while True:
            try:
                while self.undo:
                    function, *arguments = self.undo[-1]
                    function(*arguments)
                    del self.undo[-1]
                break
            except KeyboardInterrupt as error:
                interruption = error
        if interruption is not None:
            raise interruption


def remove(owner: Any, name: str) -> None:
    """Take an attribute from a class, if it is still there."""
    if name in vars(owner):
        delattr(owner, name)


def holder_of(name: str) -> tuple[Any, Any]:
    """The class that has a descriptor of this name among those of `Tensor`, and the descriptor."""
    for kind in Tensor.__mro__:
        if name in vars(kind):
            return kind, vars(kind)[name]
    return Tensor, None


def traced(recorder: Recorder, run: Callable[[], Any]) -> Any:
    """What ``run`` returns; meanwhile this thread's library code works on traced arrays."""
    changes = Changes()
    try:
        replace(changes, recorder)
        return run()
    finally:  # a generator's would not run at once where an interruption came on its way there
        try:
            current.recorder, current.thread = NOBODY, 0
            changes.put_back()
        except KeyboardInterrupt:  # perhaps before `put_back` could heed it
            changes.put_back()
            raise


def replace(changes: Changes, recorder: Recorder) -> None:
    """Replace what a trace replaces."""
    shim: Any = Numpy(recorder)
    changes.undo.append((forget_traced,))
    kind, inner = holder_of("_array")
    changes.attribute(kind, "_array", ArrayAttribute(inner, recorder))
    current.recorder, current.thread = recorder, recorder.thread
    for name, own in library():
        for key in dicts_of(name, len(own)):
            if holds_arrays(own[key]):  # whose own methods nobody could trace
                changes.item(own, key, {k: Traced(held) for k, held in own[key].copy().items()})
        if own.get("np") is np:
            changes.item(own, "np", shim)
        if name.startswith("nanotorch.optim.") and "scalar" in own:
            changes.item(own, "scalar", scalar_of(own["scalar"], shim))
    for o in OPS.copy().values():  # what the collector frees meanwhile may declare more
        space = o.namespace
        changes.item(space, "kernel", recorder.kernel(space["kernel"]))
        changes.item(space, "asarray", shim.asarray)
    for name in DRAWS:
        method = vars(random.Generator)[name]
        changes.attribute(random.Generator, name, recorder.draw(method))
    for known in STEPS:
        changes.attribute(known, "step", counted(vars(known)["step"], recorder))
    changes.attribute(Twister, "manual_seed", refusing(Twister.manual_seed, recorder))


def library() -> list[tuple[str, dict[str, Any]]]:
    """The library's modules, as far as they compute on tensors, by name."""
    # A copy is made at once. A list of pairs is not: what the collector frees meanwhile may import.
    return [
        (name, vars(module))
        for name, module in sys.modules.copy().items()
        if name.startswith("nanotorch.")
        and not name.startswith(UNTOUCHED)
        and isinstance(module, ModuleType)
    ]


@cache
def dicts_of(name: str, size: int) -> list[str]:
    """Which variables of a module are dicts, as long as it has so many variables."""
    own = vars(sys.modules[name])
    return [key for key, value in own.copy().items() if type(value) is dict and key[:2] != "__"]


@cache
def caches_of(name: str, size: int) -> list[Any]:
    """The functions of a module that keep their results, as long as it has so many variables."""
    values = vars(sys.modules[name]).copy().values()
    return [f for f in values if hasattr(f, "cache_clear") and f.__module__ == name]


def holds_arrays(value: dict[Any, Any]) -> bool:
    """Whether a dict holds arrays and nothing else."""
    # A copy is made at once, here as below: meanwhile another thread, or what the collector calls,
    # may add to the dict.
    return bool(value) and all(map(isinstance, value.copy().values(), repeat(np.ndarray)))


def forget_traced() -> None:
    """Take traced arrays out of the library's caches."""
    for name, own in library():
        for key in dicts_of(name, len(own)):
            value = own[key]
            if Traced in map(type, value.copy().values()):
                for k, held in value.copy().items():
                    value[k] = real(held)
        for function in caches_of(name, len(own)):
            function.cache_clear()


def refusing(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """A function that ends the trace."""

    def refused(*args: Any, **kwargs: Any) -> Any:
        if recorder.mine:
            recorder.refuse(f"`{function.__name__}` changes a generator")
        return function(*args, **kwargs)

    return refused


def scalar_of(scalar: Callable[..., Any], shim: Numpy) -> Callable[..., Any]:
    """The optimizers' numbers as arrays, of which those that may change are not kept."""

    def made(value: Any, dtype: np.dtype) -> Any:
        if type(value) is Traced or isinstance(value, Hyper):
            return shim.array(value, dtype)
        return scalar(value, dtype)

    return made


def counted(step: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """An optimizer's step on numbers that remember where they come from."""

    def stepped(self: Optimizer, closure: Any = None) -> Any:
        if not recorder.mine:
            return step(self, closure)
        if type(self) not in KNOWN_OPTIMIZERS:
            recorder.refuse(NOT_KNOWN.format(type(self).__name__))
            return step(self, closure)
        loss = evaluate(closure)
        changes = Changes()
        try:
            for group in self.param_groups:
                for name in OPTIONS & set(group):
                    changes.item(group, name, hyper(group, name, recorder))
            recorder.counting = recorder.conditions
            step(self)
            return loss
        finally:
            recorder.counting = None
            changes.put_back()

    return stepped


def hyper(group: dict[str, Any], name: str, recorder: Recorder) -> Any:
    """An option as a number that remembers where it comes from."""
    value = group[name]
    if type(value) in (int, float):
        return Hyper.of(value, Leaf(group, name), recorder.conditions)
    if type(value) is tuple and all(type(part) in (int, float) for part in value):
        return tuple(
            Hyper.of(part, (f"{{}}[{i}]", Leaf(group, name)), recorder.conditions)
            for i, part in enumerate(value)
        )
    return value
