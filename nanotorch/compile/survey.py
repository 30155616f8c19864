"""What a step can reach from the code it runs, and how to see that nothing of it has changed.

The survey starts at the step's closure, globals and arguments and follows what the step's code can
name: attributes that occur in it, and all entries of containers. Numbers and texts are compared by
value; tensors, modules and other objects must be the same, and so must be what they hold.
"""

import enum
import functools
import weakref
from collections import deque
from collections.abc import Iterable
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.device import device
from nanotorch._core.random import Generator
from nanotorch._core.tensor import Tensor
from nanotorch.compile.tracing import KNOWN_OPTIMIZERS, MISSING, OPTIONS
from nanotorch.compile.watch import (
    NUMPY_EFFECTS,
    QUIET_MODULES,
    attribute_names,
    changes_its_owner,
    global_names,
    is_library,
    may_have_effects,
)
from nanotorch.nn.module import Module
from nanotorch.optim.optimizer import Optimizer
from nanotorch.optim.sgd import SGD

VALUES = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)
NAMES_OF_THINGS = (
    BuiltinFunctionType, MethodWrapperType, WrapperDescriptorType, CodeType, np.dtype, np.ufunc,
    type(np.zeros_like), dtypes.dtype, device, Generator, enum.Enum, type(NotImplemented),
)  # fmt: skip
LIMIT = 50_000
# Attributes of a module that it looks up by text, whatever its forward names.
OF_MODULES = {"_parameters", "_buffers", "_modules", "training"}
# What of a tensor must be as it was.
FLAGS = ("_requires_grad", "_edge", "_view", "_leaf_hooks", "_post_accumulate_hooks")


class Unguardable(Exception):  # noqa: N818 - not an error: the step then runs as it is
    """Something is in reach whose changes cannot be seen."""


class Check:
    """One comparison that a replay makes: ``container[key] is value`` and the like.

    Attributes:
        counted: whether `changes` tells when to look again.
    """

    __slots__ = ("container", "counted", "key", "kind", "value")

    def __init__(
        self, kind: str, container: Any, key: Any, value: Any, counted: bool = False
    ) -> None:
        self.kind, self.container, self.key, self.value = kind, container, key, value
        self.counted = counted


class Survey:
    """Everything in reach of a step.

    Args:
        codes: the users' code that the step runs.
        library: the library's code that it runs.

    Attributes:
        checks: what to compare.
        signature: equal for two states that make the step do the same, if ``grads`` are too.
        grads: which leaves have a gradient.
        tensors: by `id`.
    """

    def __init__(self, codes: Iterable[CodeType], library: Iterable[CodeType]) -> None:
        self.codes = set(codes)
        self.names: set[str] = set()
        self.library_names = {name for code in library for name in attribute_names(code)}
        for code in self.codes:
            self.names |= attribute_names(code)
        # Who reads the options himself sees numbers, which are then guarded as such.
        self.ordinary = "param_groups" in self.names
        self.all_names = "getattr" in self.names
        self.checks: list[Check] = []
        self.signature: list[Any] = []
        self.grads: list[tuple[int, bool]] = []
        self.tensors: dict[int, Tensor] = {}
        self.optimizers: list[Optimizer] = []
        self.kept: list[Any] = []  # what is in reach, lest an `id` be used again
        self.seen: set[int] = set()
        self.queue: deque[tuple[Any, str]] = deque()

    def reach(self, value: Any, path: str) -> None:
        """Follow everything from ``value``."""
        self.hold(value, path)
        while self.queue:
            self.visit(*self.queue.popleft())
            if len(self.seen) > LIMIT:
                raise Unguardable(f"`{path}` leads to more than {LIMIT} objects")

    def hold(self, value: Any, path: str) -> None:
        """Note a value in the signature, and follow it later."""
        if isinstance(value, VALUES) and not isinstance(value, enum.Enum):
            self.signature.append((type(value), repr(value)))
        elif isinstance(value, np.generic):
            self.signature.append((type(value), value.tobytes()))
        else:
            self.signature.append(id(value))
            if id(value) not in self.seen:
                self.seen.add(id(value))
                self.kept.append(value)
                self.queue.append((value, path))

    def entry(self, kind: str, container: Any, key: Any, value: Any, path: str) -> None:
        """A value at its place."""
        self.checks.append(Check(kind, container, key, value))
        self.hold(value, path)

    def visit(self, value: Any, path: str) -> None:
        """Follow one object."""
        if isinstance(value, Tensor):
            self.visit_tensor(value, path)
        elif isinstance(value, NAMES_OF_THINGS) or value is MISSING:
            if changes_its_owner(value):
                name = getattr(value, "__name__", "")
                raise Unguardable(f"`{path}` is `{name}` of an object that it may change")
        elif isinstance(value, dict):
            self.visit_dict(value, path)
        elif isinstance(value, (list, tuple)):
            self.visit_sequence(value, path)
        elif isinstance(value, (set, frozenset)):
            self.visit_set(value, path)
        elif isinstance(value, FunctionType):
            self.visit_function(value, path)
        elif isinstance(value, MethodType):
            self.hold(value.__self__, path)
            self.hold(value.__func__, path)
        elif isinstance(value, functools.partial):
            if may_have_effects(value.func):
                raise Unguardable(f"`{path}` calls `{value.func.__name__}`")
            for part in (value.func, value.args, value.keywords):
                self.hold(part, path)
        elif isinstance(value, (property, staticmethod, classmethod)):
            for name in ("fget", "__func__"):
                self.hold(getattr(value, name, None), path)
        elif isinstance(value, ModuleType):
            self.visit_python_module(value, path)
        elif isinstance(value, type):
            self.visit_class(value, path)
        elif isinstance(value, Optimizer):
            self.visit_optimizer(value, path)
        elif isinstance(value, Module):
            self.visit_module(value, path)
        else:
            self.visit_object(value, path)

    def visit_tensor(self, tensor: Tensor, path: str) -> None:
        """Its array, flags and hooks; its gradient is the replay's own concern."""
        self.tensors[id(tensor)] = tensor
        if tensor._edge is not None and tensor._requires_grad:
            raise Unguardable(f"`{path}` is a tensor with a history")
        own = vars(tensor)
        self.users_attributes(own, path)
        self.checks.append(Check("len", own, None, len(own)))
        for name in ("_array", *FLAGS):
            value = getattr(tensor, name)
            if name in own:
                self.checks.append(Check("item", own, name, value))
            if name.endswith("hooks") and value is not None:
                self.hold(value, path)
            else:
                self.signature.append(id(value))
        # An optimizer moves whatever has a gradient, even if it does not require one.
        if "_grad" in own:
            self.checks.append(Check("grad", own, None, tensor._grad is None))
        self.grads.append((id(tensor), tensor._grad is None))
        if tensor._view is not None:
            self.hold(tensor._view.base, path)
        if tensor._grad is not None:
            self.kept.append(tensor._grad)
            self.tensors[id(tensor._grad)] = tensor._grad

    def users_attributes(self, own: dict[str, Any], path: str) -> None:
        """What users have put on a tensor, a function or an optimizer, and the step may name."""
        for name in sorted(self.names & set(own) - {"param_groups", "state", "defaults"}):
            if not name.startswith("_"):
                self.entry("item", own, name, own[name], f"{path}.{name}")

    def visit_dict(self, value: dict[Any, Any], path: str) -> None:
        """All entries, with the order of their keys."""
        self.checks.append(Check("len", value, None, len(value)))
        self.signature.append(len(value))
        for key, part in value.items():
            name = repr(key) if isinstance(key, VALUES) else type(key).__name__
            self.hold(key, path)
            self.entry("item", value, key, part, f"{path}[{name}]")

    def visit_sequence(self, value: Any, path: str) -> None:
        """All entries."""
        if isinstance(value, list):
            self.checks.append(Check("len", value, None, len(value)))
        self.signature.append(len(value))
        for position, part in enumerate(value):
            if isinstance(value, list):
                self.entry("item", value, position, part, f"{path}[{position}]")
            else:
                self.hold(part, f"{path}[{position}]")

    def visit_set(self, value: Any, path: str) -> None:
        """Only values, which have no parts."""
        if not all(isinstance(part, (*VALUES, enum.Enum)) for part in value):
            raise Unguardable(f"`{path}` is a set of objects")
        copy = frozenset(value)
        self.checks.append(Check("set", value, None, copy))
        self.signature.append((len(copy), tuple(sorted(map(repr, copy)))))

    def visit_function(self, function: FunctionType, path: str) -> None:
        """Its closure, and what a user's function reads of its globals."""
        self.signature.append(id(function.__code__))
        self.users_attributes(vars(function), path)
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                value = MISSING
            if isinstance(value, weakref.ref) and is_library(function.__code__):
                continue  # to the optimizer whose steps a schedule counts
            self.entry("cell", cell, None, value, name)
        if function.__code__ not in self.codes:
            return
        for part in (function.__defaults__, function.__kwdefaults__):
            self.hold(part, path)
        space = function.__globals__
        for name in sorted(global_names(function.__code__)):
            if name in space:
                self.entry("item", space, name, space[name], name)

    def visit_python_module(self, module: ModuleType, path: str) -> None:
        """What the step's code may ask of a user's module; others are taken to stay."""
        root = module.__name__.partition(".")[0]
        if root in QUIET_MODULES or root == "nanotorch":
            return
        if root == "numpy":
            if self.names & NUMPY_EFFECTS:
                raise Unguardable(f"`{path}` is used for {min(self.names & NUMPY_EFFECTS)}")
            return
        if getattr(module, "__file__", None) is None:
            raise Unguardable(f"`{path}` is a module whose state cannot be seen")
        for name in sorted(self.names & set(vars(module))):
            self.entry("item", vars(module), name, vars(module)[name], f"{path}.{name}")

    def visit_class(self, kind: type, path: str) -> None:
        """What the step's code may ask of users' classes."""
        for base in kind.__mro__:
            if base.__module__.partition(".")[0] in ("nanotorch", "builtins", "abc", "typing"):
                continue
            for name in sorted((self.names | SPECIAL) & set(vars(base))):
                value = vars(base)[name]
                self.checks.append(Check("class", base, name, value))
                self.hold(value, f"{path}.{name}")

    def visit_optimizer(self, optimizer: Optimizer, path: str) -> None:
        """Groups, state and hooks; options that are numbers are read at run time."""
        self.hold(type(optimizer), path)
        self.optimizers.append(optimizer)
        own = vars(optimizer)
        self.users_attributes(own, path)
        hooks = [name for name in own if name.endswith(("step_pre_hooks", "step_post_hooks"))]
        called = [hook for name in hooks for hook in own[name].values()]
        if not all(str(getattr(h, "__module__", "")).startswith("nanotorch.") for h in called):
            raise Unguardable(f"`{path}` has hooks of its steps")
        options = [part for group in optimizer.param_groups for part in group.values()]
        if type(optimizer) is not SGD and any(isinstance(part, Tensor) for part in options):
            raise Unguardable(f"an option of `{path}` is a tensor, with a precision of its own")
        for name in ("param_groups", *hooks):
            self.attribute(own, name, own[name], f"{path}.{name}")
        self.visit_state(optimizer, path)
        free = type(optimizer) in KNOWN_OPTIMIZERS and not self.ordinary
        for group in optimizer.param_groups if free else ():
            self.seen.add(id(group))
            self.kept.append(group)
            plain = all(is_number(part) or isinstance(part, VALUES) or key == "params"
                        for key, part in group.items())  # fmt: skip
            if plain:
                self.checks.append(Check("group", group, None, dict(group)))
            for key, part in group.items():
                if key in OPTIONS and is_number(part):
                    self.signature.append((key, type(part).__name__ == "tuple"))
                    continue
                place = f"{path}.param_groups[{key!r}]"
                self.checks.append(Check("item", group, key, part, counted=plain))
                self.hold(part, place)
        if type(optimizer) not in KNOWN_OPTIMIZERS:
            for name in own:
                self.entry("item", own, name, own[name], f"{path}.{name}")

    def visit_state(self, optimizer: Optimizer, path: str) -> None:
        """What an optimizer keeps for each parameter, which nobody else changes the flags of."""
        own = vars(optimizer)
        self.checks.append(Check("item", own, "state", optimizer.state))
        self.kept.append(optimizer.state)
        self.checks.append(Check("len", optimizer.state, None, len(optimizer.state)))
        self.signature.append((id(optimizer.state), len(optimizer.state)))
        for key, entry in optimizer.state.items():
            self.hold(key, path)
            if not isinstance(entry, dict):
                self.hold(entry, f"{path}.state")
                continue
            for name, value in entry.items():
                self.checks.append(Check("state", optimizer.state, (key, name), value))
                if type(value) is Tensor and value._edge is None and not value.requires_grad:
                    self.tensors[id(value)] = value
                    self.kept.append(value)
                    self.checks.append(Check("item", vars(value), "_array", value._array))
                    self.signature += [id(value), id(value._array)]
                else:
                    self.hold(value, f"{path}.state[{name!r}]")
            self.signature.append(tuple(entry))

    def visit_module(self, module: Module, path: str) -> None:
        """Parameters, buffers, children, hooks, and attributes in reach."""
        own = vars(module)
        self.hold(type(module), path)
        counted = type(module).__setattr__ is Module.__setattr__
        self.checks.append(Check("len", own, None, len(own), counted))
        for name, value in own.items():
            if self.all_names or name in self.names | self.library_names | OF_MODULES:
                self.attribute(own, name, value, f"{path}.{name}", counted)

    def attribute(
        self, own: dict[str, Any], name: str, value: Any, path: str, counted: bool = False
    ) -> None:
        """An attribute of a module; of hooks it is enough to see that there are none."""
        if isinstance(value, (dict, set)) and not value and name.startswith("_"):
            self.checks.append(Check("empty", own, name, None, counted))
            self.signature.append((name, 0))
        else:
            self.checks.append(Check("item", own, name, value, counted))
            self.hold(value, path)

    def visit_object(self, value: Any, path: str) -> None:
        """What the step's code may ask of an object of a user's class."""
        kind = type(value)
        own = getattr(value, "__dict__", None)
        slots = [n for base in kind.__mro__ for n in getattr(base, "__slots__", ())]
        heap = kind.__flags__ & (1 << 9)
        if not heap or isinstance(value, np.ndarray) or (own is None and not slots):
            raise Unguardable(f"`{path}` is a {kind.__name__}, whose changes cannot be seen")
        self.hold(kind, path)
        if own is not None:
            self.checks.append(Check("len", own, None, len(own)))
            for name, part in own.items():
                if self.all_names or name in self.names:
                    self.entry("item", own, name, part, f"{path}.{name}")
        for name in slots:
            if name in self.names and hasattr(value, name):
                part = getattr(value, name)
                self.checks.append(Check("attr", value, name, part))
                self.hold(part, f"{path}.{name}")


# Methods that Python calls for users' objects without their names standing in the code.
SPECIAL = {
    f"__{name}__"
    for name in (
        "call", "getattr", "getattribute", "setattr", "getitem", "setitem", "len", "iter", "next",
        "contains", "bool", "enter", "exit", "eq", "lt", "le", "gt", "ge", "ne", "hash", "add",
        "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "matmul", "rmatmul", "pow",
        "neg", "abs", "init", "new", "float", "int", "index", "str", "repr", "format",
    )
} | {"forward"}  # fmt: skip


def is_number(value: Any) -> bool:
    """Whether an option is a number, or several."""
    if type(value) is tuple:
        return all(type(part) in (int, float) for part in value)
    return type(value) in (int, float)
