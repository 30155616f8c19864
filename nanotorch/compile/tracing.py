"""Tracing a step: while it runs, library code sees traced arrays; users' code sees nothing of it.

What changes for the time of one call, and is put back: the attribute of a tensor that holds its
array hands out `Traced` ones to the thread that traces; `np` in the library's modules makes traced
arrays where it makes new ones; kernels may be called as a whole; generators note what they draw.
"""

import sys
import threading
from collections.abc import Callable
from functools import cache
from itertools import repeat
from types import ModuleType
from typing import Any

import numpy as np

from nanotorch._core import random
from nanotorch._core.op import OPS
from nanotorch._core.tensor import Tensor
from nanotorch._core.twister import Twister
from nanotorch.compile.checks import MISSING
from nanotorch.compile.hyper import Hyper, Leaf
from nanotorch.compile.proxy import NOBODY, Traced, current, real
from nanotorch.compile.recorder import Recorder
from nanotorch.optim.adam import AdamW
from nanotorch.optim.elementwise import Elementwise
from nanotorch.optim.lbfgs import LBFGS
from nanotorch.optim.optimizer import Optimizer, evaluate
from nanotorch.optim.sgd import SGD

tracing: dict[int, Any] = {}  # the `kwargs` of the call that traces: one at a time
# Optimizers whose numbers may change between steps, with the options that are numbers.
OPTIONS = (
    "lr", "momentum", "dampening", "weight_decay", "eps", "betas", "alpha", "rho", "lambd", "t0",
    "lr_decay", "momentum_decay", "etas", "step_sizes",
)  # fmt: skip
ELEMENTWISE = [k for k in Elementwise.__subclasses__() if k.__module__.startswith("nanotorch.")]
KNOWN_OPTIMIZERS: tuple[type, ...] = (SGD, AdamW, *ELEMENTWISE)
# Classes whose steps are looked at; those of others are, if they are users', Python like any other.
STEPS: tuple[type, ...] = (SGD, Elementwise, LBFGS)
UNTOUCHED = ("nanotorch.compile", "nanotorch._core.random", "nanotorch._core.twister",
             "nanotorch._core.box_muller")  # fmt: skip
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
                for name in set(OPTIONS) & set(group):
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
