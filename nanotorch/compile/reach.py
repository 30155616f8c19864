"""What Python objects a step can reach, and how to see that nothing of them has changed."""

import builtins
import enum
import functools
import hashlib
import operator
import weakref
from collections import deque, namedtuple
from collections.abc import Iterable
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.call_site import PACKAGE
from nanotorch._core.dtypes import device
from nanotorch._core.layout import Layout
from nanotorch._core.random import Generator
from nanotorch._core.tensor import Tensor
from nanotorch.compile.proxy import MISSING, Check, is_watched, namespace
from nanotorch.compile.tape import holders, shifts
from nanotorch.compile.tracing import (
    KNOWN_OPTIMIZERS,
    NUMPY_EFFECTS,
    OPTIONS,
    QUIET_MODULES,
    attribute_names,
    changes_its_owner,
    global_names,
    is_library,
    is_standard,
    may_have_effects,
)
from nanotorch.nn import module_call
from nanotorch.nn.module import Module
from nanotorch.optim import optimizer as optimizers
from nanotorch.optim.optimizer import Optimizer
from nanotorch.optim.rules import SGD

# What Python objects a step can reach, and how to see that nothing of them has changed.
#
# What counts is what the step's code can name: attributes that occur in it, globals and builtins,
# all entries of containers. Where it looks attributes up by computed names, all of them count.
# Numbers and texts are compared by value; other objects must be the same, and so must be what they
# hold.


VALUES = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)
NAMES_OF_THINGS = (
    BuiltinFunctionType, MethodWrapperType, WrapperDescriptorType, CodeType, np.dtype, np.ufunc,
    type(np.zeros_like), dtypes.dtype, device, Generator, enum.Enum, type(NotImplemented),
    MethodDescriptorType, GetSetDescriptorType, MemberDescriptorType, ClassMethodDescriptorType,
    type(vars(namedtuple("Named", "field"))["field"]),
)  # fmt: skip
CONTAINERS = (dict, list, tuple, set, frozenset)
LIMIT = 50_000
# Code with one of these names may ask for attributes, or find that there are none, unnamed.
DYNAMIC = {
    "getattr", "hasattr", "attrgetter", "methodcaller", "vars", "dir", "getmembers", "__dict__",
    "__getattribute__", "__getattr__", "AttributeError", "NameError",
}  # fmt: skip
LOOKING_UP = (getattr, hasattr, operator.attrgetter, operator.methodcaller)
BUILTINS = vars(builtins)
COMPILED = PACKAGE + "compile"  # where the functions that stand for compiled ones come from
OWN_CLASSES = ("builtins", "abc", "typing", "collections")


class Unguardable(Exception):  # noqa: N818 - not an error: the step then runs as it is
    """Something is in reach whose changes cannot be seen."""


class Reach:
    """Everything in reach of a step, as far as it is plain Python; the base of `Survey`.

    Args:
        codes: the users' code that the step runs.
        library: the library's code that it runs.

    Attributes:
        checks: what to compare.
        signature: equal for two states that make the step do the same.
        names: the attributes that the step may ask for.
        users_names: those of them that stand in users' code, not in Python's own or NumPy's.
        dynamic: whether it may ask for others too.
    """

    def __init__(self, codes: Iterable[CodeType], library: Iterable[CodeType]) -> None:
        self.codes, self.library = set(codes), set(library)
        self.names: set[str] = set()
        self.users_names: set[str] = set()
        for code in self.codes:
            self.names |= attribute_names(code)
            if not is_standard(code):
                self.users_names |= attribute_names(code)
        self.dynamic = bool(self.names & DYNAMIC)
        self.checks: list[Check] = []
        self.signature: list[Any] = []
        self.kept: list[Any] = []  # what is in reach, lest an `id` be used again
        self.seen: set[int] = set()
        self.queue: deque[tuple[Any, str]] = deque()
        # By `id` of the globals of a module: these, and which builtins they must not hide.
        self.hidden: dict[int, tuple[dict[str, Any], set[str]]] = {}

    def reach(self, value: Any, path: str) -> None:
        """Follow everything from ``value``."""
        self.hold(value, path)
        while self.queue:
            self.visit(*self.queue.popleft())
            if len(self.seen) > LIMIT:
                raise Unguardable(f"`{path}` leads to more than {LIMIT} objects")

    def conclude(self) -> None:
        """Add the checks that are made of what was found everywhere."""
        for space, names in self.hidden.values():
            self.checks.append(Check("absent", space, None, frozenset(names)))
        for name in sorted(set().union(*(names for _, names in self.hidden.values()))):
            self.checks.append(Check("item", BUILTINS, name, BUILTINS[name]))
            self.signature.append((name, id(BUILTINS[name])))

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

    def size(self, container: Any, counted: bool = False) -> None:
        """How many entries a container has."""
        self.checks.append(Check("len", container, None, len(container), counted))
        self.signature.append(len(container))

    def keys(self, container: dict[str, Any]) -> None:
        """Which entries a dict of attributes has."""
        self.checks.append(Check("keys", container, None, tuple(container)))
        self.signature.append(tuple(container))

    def asked(self, names: Iterable[str]) -> list[str]:
        """Which of these attributes the step may ask for, in order."""
        return sorted(names if self.dynamic else self.names.intersection(names))

    def visit(self, value: Any, path: str) -> None:
        """Follow one object."""
        if any(value is function for function in LOOKING_UP):
            raise Unguardable(f"`{path}` looks up attributes by names that the code does not show")
        if isinstance(value, NAMES_OF_THINGS) or value is MISSING:
            if changes_its_owner(value):
                name = getattr(value, "__name__", "")
                raise Unguardable(f"`{path}` is `{name}` of an object that it may change")
        elif isinstance(value, CONTAINERS):
            self.visit_container(value, path)
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
        elif isinstance(value, (property, staticmethod, classmethod, functools.cached_property)):
            for name in ("fget", "__func__", "func"):
                self.hold(getattr(value, name, None), path)
        elif isinstance(value, ModuleType):
            self.visit_python_module(value, path)
        elif isinstance(value, type):
            self.visit_class(value, path)
        else:
            self.visit_object(value, path)

    def users_attributes(self, own: dict[str, Any], path: str) -> None:
        """What users have put on a tensor, a function or an optimizer, and the step may name."""
        for name in self.asked(own):
            if not name.startswith("_") and name not in ("param_groups", "state", "defaults"):
                self.entry("item", own, name, own[name], f"{path}.{name}")

    def visit_container(self, value: Any, path: str) -> None:
        """What is in it, and what a class of users' adds."""
        if isinstance(value, dict):
            self.visit_dict(value, path)
        elif isinstance(value, (list, tuple)):
            self.visit_sequence(value, path)
        else:
            self.visit_set(value, path)
        if type(value) not in CONTAINERS:
            self.users_kind(value, path)

    def visit_dict(self, value: dict[Any, Any], path: str) -> None:
        """All entries, with the order of their keys."""
        self.size(value)
        for key, part in value.items():
            name = repr(key) if isinstance(key, VALUES) else type(key).__name__
            self.hold(key, path)
            self.entry("item", value, key, part, f"{path}[{name}]")

    def visit_sequence(self, value: Any, path: str) -> None:
        """All entries."""
        if isinstance(value, list):
            self.size(value)
        else:
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
        """Its closure, and what a user's function reads of its globals and of Python."""
        code = function.__code__
        self.signature.append(id(code))
        if hasattr(function, "__wrapped__") and code.co_filename.startswith(COMPILED):
            self.hold(function.__wrapped__, path)  # which runs as it is, inside another
            return
        self.users_attributes(vars(function), path)
        if self.dynamic:
            self.size(vars(function))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                value = MISSING
            if isinstance(value, weakref.ref) and is_library(code):
                continue  # to the optimizer whose steps a schedule counts
            self.entry("cell", cell, None, value, name)
        if code not in self.codes:
            return
        self.checks.append(Check("attr", function, "__code__", code))
        if code.co_argcount:
            self.entry("attr", function, "__defaults__", function.__defaults__, path)
        if code.co_kwonlyargcount:
            self.entry("attr", function, "__kwdefaults__", function.__kwdefaults__, path)
        space = function.__globals__
        for name in sorted(global_names(code)):
            if name in space:
                self.entry("item", space, name, space[name], name)
            elif name in BUILTINS:
                self.hidden.setdefault(id(space), (space, set()))[1].add(name)

    def visit_python_module(self, module: ModuleType, path: str) -> None:
        """What the step's code may ask of a module."""
        root, space = module.__name__.partition(".")[0], vars(module)
        if root in QUIET_MODULES or root in ("nanotorch", "numpy"):
            if root == "numpy" and self.names & NUMPY_EFFECTS:
                raise Unguardable(f"`{path}` is used for {min(self.names & NUMPY_EFFECTS)}")
            watched = is_watched(module)
            for name in sorted(self.names & set(space)):
                self.checks.append(Check("item", space, name, space[name], watched))
                self.signature.append(id(space[name]))
                if isinstance(space[name], ModuleType):
                    self.hold(space[name], f"{path}.{name}")
            return
        if getattr(module, "__file__", None) is None:
            raise Unguardable(f"`{path}` is a module whose state cannot be seen")
        if self.dynamic:
            self.size(space)
        for name in self.asked(space):
            self.entry("item", space, name, space[name], f"{path}.{name}")

    def visit_class(self, kind: type, path: str) -> None:
        """What the step's code may ask of a class and of those above it."""
        classes = [b for b in kind.__mro__ if b.__module__.partition(".")[0] not in OWN_CLASSES]
        for base in classes:
            space = namespace(base)
            if base.__module__.partition(".")[0] == "nanotorch":
                if base is not classes[-1] and not issubclass(base, Layout):
                    # It could come to hide what those above it have.
                    self.size(space)
                for name in sorted((self.users_names | {"forward"}) & set(space)):
                    self.checks.append(Check("item", space, name, space[name]))
                    self.signature.append(id(space[name]))
                continue
            self.keys(space)
            named = (self.names | SPECIAL) & set(space)
            if self.dynamic:
                named |= {name for name in space if not name.startswith(("__", "_abc_"))}
            for name in sorted(named - UNSEEN):
                self.entry("item", space, name, space[name], f"{path}.{name}")

    def users_kind(self, value: Any, path: str) -> None:
        """What a container has that is of a class of users'."""
        kind = type(value)
        if kind.__module__.partition(".")[0] not in (*OWN_CLASSES, "nanotorch"):
            self.hold(kind, path)
            own = getattr(value, "__dict__", None)
            if own is not None:
                self.keys(own)
                for name in self.asked(own):
                    self.entry("item", own, name, own[name], f"{path}.{name}")

    def visit_object(self, value: Any, path: str) -> None:
        """What the step's code may ask of an object of a user's class."""
        kind = type(value)
        own = getattr(value, "__dict__", None)
        slots = [n for base in kind.__mro__ for n in getattr(base, "__slots__", ())]
        if made_of(kind) not in (object, SimpleNamespace) or (own is None and not slots):
            raise Unguardable(f"`{path}` is a {kind.__name__}, whose changes cannot be seen")
        self.entry("attr", value, "__class__", kind, path)
        if own is not None:
            self.keys(own)
            for name in self.asked(own):
                self.entry("item", own, name, own[name], f"{path}.{name}")
        for name in self.asked(slots):
            if not hasattr(value, name):
                raise Unguardable(f"`{path}.{name}` is not set yet")
            self.entry("attr", value, name, getattr(value, name), f"{path}.{name}")


UNSEEN = {"__dict__", "__weakref__", "__doc__", "__module__", "__slots__", "__annotations__"}
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


def made_of(kind: type) -> type:
    """The nearest class above that is not written in Python: what it keeps cannot be seen."""
    for base in kind.__mro__:
        new = base.__dict__.get("__new__")
        if not base.__flags__ & (1 << 9) or getattr(new, "__self__", None) is base:
            return base
    return object


# What a step can reach from the code it runs, and how to see that nothing of it has changed.
#
# The survey starts at the step's closure, globals and arguments and follows what the step's code
# can name. What is plain Python is the business of `Reach`; here is what the library gives.


# Attributes of a module that it looks up by text, whatever its forward names.
OF_MODULES = {"_parameters", "_buffers", "_modules", "training"}
# What of a tensor must be as it was.
FLAGS = ("_requires_grad", "_edge", "_view", "_leaf_hooks", "_post_accumulate_hooks")


class Survey(Reach):
    """Everything in reach of a step.

    Attributes:
        grads: which leaves have a gradient; beside `signature` it tells one state from another.
        tensors: by `id`; gradients among them are listed too.
        modules, optimizers: all of them.
    """

    def __init__(self, codes: Iterable[CodeType], library: Iterable[CodeType]) -> None:
        super().__init__(codes, library)
        self.library_names = {name for code in self.library for name in attribute_names(code)}
        # Who reads the options himself sees numbers, which are then guarded as such.
        self.ordinary = "param_groups" in self.names
        self.grads: list[tuple[int, bool]] = []
        self.tensors: dict[int, Tensor] = {}
        self.gradients: list[int] = []
        self.optimizers: list[Optimizer] = []
        self.modules: list[Module] = []

    def visit(self, value: Any, path: str) -> None:
        """Follow one object."""
        if isinstance(value, Tensor):
            self.visit_tensor(value, path)
        elif isinstance(value, Optimizer):
            self.visit_optimizer(value, path)
        elif isinstance(value, Module):
            self.visit_module(value, path)
        else:
            super().visit(value, path)

    def visit_tensor(self, tensor: Tensor, path: str) -> None:
        """Its array, flags and hooks; its gradient is the replay's own concern."""
        self.tensors[id(tensor)] = tensor
        self.hold(type(tensor), path)
        if tensor._edge is not None and tensor._requires_grad:
            raise Unguardable(f"`{path}` is a tensor with a history")
        own = vars(tensor)
        self.users_attributes(own, path)
        self.size(own)
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
            self.gradients.append(id(tensor._grad))
            self.tensors[id(tensor._grad)] = tensor._grad

    def let_go(self) -> None:
        """Hold no gradients any more, which are another step's."""
        for key in self.gradients:
            if key not in self.seen:
                self.tensors.pop(key, None)

    def visit_optimizer(self, optimizer: Optimizer, path: str) -> None:
        """Groups, state and hooks; options that are numbers are read at run time."""
        counted = type(optimizer).__setattr__ is Optimizer.__setattr__
        self.checks.append(Check("attr", optimizer, "__class__", type(optimizer), counted))
        self.hold(type(optimizer), path)
        self.optimizers.append(optimizer)
        own = vars(optimizer)
        self.size(own, counted)
        self.users_attributes(own, path)
        hooks = [name for name in own if name.endswith(("step_pre_hooks", "step_post_hooks"))]
        called = [hook for name in hooks for hook in own[name].values()]
        if optimizers.every_before or optimizers.every_after:
            raise Unguardable("there are hooks of the steps of all optimizers")
        for name in ("every_before", "every_after"):
            self.checks.append(Check("empty", vars(optimizers), name, None, True))
        if not all(str(getattr(h, "__module__", "")).startswith("nanotorch.") for h in called):
            raise Unguardable(f"`{path}` has hooks of its steps")
        options = [part for group in optimizer.param_groups for part in group.values()]
        if type(optimizer) is not SGD and any(isinstance(part, Tensor) for part in options):
            raise Unguardable(f"an option of `{path}` is a tensor, with a precision of its own")
        for name in ("param_groups", *hooks):
            self.attribute(own, name, own[name], f"{path}.{name}", counted)
        self.visit_state(optimizer, path, counted)
        free = type(optimizer) in KNOWN_OPTIMIZERS and not self.ordinary
        for group in optimizer.param_groups if free else ():
            self.seen.add(id(group))
            self.kept.append(group)
            plain = all(is_number(part) or isinstance(part, VALUES) or key == "params"
                        for key, part in group.items())  # fmt: skip
            if plain:
                self.checks.append(Check("group", group, None, list(group.values())))
            for key, part in group.items():
                if key in OPTIONS and is_number(part):
                    self.signature.append((key, type(part).__name__ == "tuple"))
                    continue
                place = f"{path}.param_groups[{key!r}]"
                self.checks.append(Check("item", group, key, part, counted=plain))
                self.hold(part, place)
        if type(optimizer) not in KNOWN_OPTIMIZERS:
            for name in [name for name in own if name != "_flats"]:
                self.entry("item", own, name, own[name], f"{path}.{name}")

    def visit_state(self, optimizer: Optimizer, path: str, counted: bool) -> None:
        """What an optimizer keeps for each parameter, which nobody else changes the flags of."""
        own = vars(optimizer)
        self.checks.append(Check("item", own, "state", optimizer.state, counted))
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
        self.modules.append(module)
        counted = type(module).__setattr__ is Module.__setattr__
        if module_call.calls:
            raise Unguardable("there are hooks of all modules")
        self.checks.append(Check("empty", vars(module_call), "calls", None, True))
        self.checks.append(Check("attr", module, "__class__", type(module), counted))
        self.hold(type(module), path)
        self.size(own, counted)
        for name, value in own.items():
            if self.dynamic or name in self.names | self.library_names | OF_MODULES:
                # What users set they may set in `vars` of the module too, which nobody counts.
                users = self.dynamic or name in self.names
                inner = name in OF_MODULES or name.startswith("_") or not users
                self.attribute(own, name, value, f"{path}.{name}", counted and inner)

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


def is_number(value: Any) -> bool:
    """Whether an option is a number, or several."""
    if type(value) is tuple:
        return all(type(part) in (int, float) for part in value)
    return type(value) in (int, float)


# The arguments of a call: which of them may be others next time, and what memory they share.


class Arguments:
    """The arguments of a call: their structure, and the tensors that may be others next time.

    Attributes:
        same: the paths of tensors that stand at another path already, with that one.
        shifts: which of the free tensors share memory.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.free: list[tuple[str, Tensor]] = []
        self.same: list[tuple[str, str]] = []
        self.fixed: list[tuple[str, Any]] = []
        self.lengths: list[tuple[str, Any, Any]] = []
        self.key: list[Any] = []
        self._take(args, "args")
        self._take(kwargs, "kwargs")
        self.shifts = shifts([tensor._array for _, tensor in self.free])
        self.key.append(self.shifts)

    def _take(self, value: Any, path: str) -> None:
        if type(value) in (tuple, list) or is_named(value):
            self.key.append((type(value), len(value)))
            self.lengths.append((path, type(value), len(value)))
            for position, part in enumerate(value):
                self._take(part, f"{path}[{position}]")
        elif type(value) is dict:
            self.key.append(tuple(value))
            self.lengths.append((path, dict, tuple(value)))
            for key, part in value.items():
                self._take(part, f"{path}[{key!r}]")
        elif isinstance(value, Tensor) and is_free(value):
            former = next((place for place, other in self.free if other is value), None)
            if former is not None:
                self.key.append(("same", former))
                self.same.append((path, former))
                return
            array = value._array
            self.key.append((array.shape, array.strides, array.dtype, type(value)))
            self.free.append((path, value))
        else:
            self.key.append((type(value), repr(value)) if isinstance(value, VALUES) else id(value))
            self.fixed.append((path, value))


def is_named(value: Any) -> bool:
    """Whether a value is a tuple with names for its parts."""
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def overlap(arguments: Arguments, survey: Survey) -> bool:
    """Whether an argument is in the memory of a tensor that is no argument."""
    inside = holders(tensor._array for tensor in survey.tensors.values())
    arrays = [tensor._array for _, tensor in arguments.free]
    return any(id(a if a.base is None else a.base) in inside for a in arrays)


def is_free(tensor: Tensor) -> bool:
    """Whether an argument can be replaced by another tensor of the same layout."""
    return not (tensor.requires_grad or tensor._edge is not None or tensor._grad is not None)


# The state that a step can change: to be put back, and to be compared.


class State:
    """The values of all that a step can change.

    Args:
        tensors: whose values, gradients and versions matter.
        generators: that it may draw from.
        modules: that it may switch between training and evaluation.
    """

    def __init__(self, tensors: list[Tensor], generators: list[Any], modules: list[Module]) -> None:
        self.tensors = tensors
        self.grads = [tensor._grad for tensor in tensors]
        held = [t for t in (*tensors, *self.grads) if t is not None]
        self.arrays = {id(t._array): t._array for t in held}
        self.values = {key: array.copy("K") for key, array in self.arrays.items()}
        self.cells = {id(t._cell): (t._cell, list(t._cell)) for t in held}
        self.generators = generators
        self.drawn = [generator.get_state() for generator in generators]
        self.modes = modes_of(modules)

    def switch_back(self) -> None:
        """Between training and evaluation."""
        for own, training in self.modes:
            own["training"] = training

    def put_back(self) -> None:
        """As it was."""
        for key, array in self.arrays.items():
            if array.flags.writeable:
                np.copyto(array, self.values[key])
        for cell, content in self.cells.values():
            list.__setitem__(cell, slice(None), content)
        for tensor, grad in zip(self.tensors, self.grads, strict=True):
            if tensor._grad is not grad:
                tensor._grad = grad
        for generator, state in zip(self.generators, self.drawn, strict=True):
            generator.set_state(state)
        self.switch_back()


def modes_of(modules: list[Module]) -> list[tuple[dict[str, Any], Any]]:
    """The attributes of modules, each with what `training` is."""
    return [(vars(m), vars(m)["training"]) for m in modules if "training" in vars(m)]


class Look:
    """The same state as fingerprints, which take no memory."""

    def __init__(self, tensors: list[Tensor], generators: list[Any], modules: list[Module]) -> None:
        self.modes = [training for _, training in modes_of(modules)]
        self.values = [fingerprint(tensor._array) for tensor in tensors]
        self.grads = [None if t._grad is None else fingerprint(t._grad._array) for t in tensors]
        self.counts = [tensor._cell[0] for tensor in tensors]
        self.drawn = [fingerprint(generator.get_state()._array) for generator in generators]

    def difference(self, other: "Look") -> str | None:
        """What differs from another look."""
        for a, b in zip(self.values, other.values, strict=True):
            if a != b:
                return f"a tensor of shape {list(a[0])}"
        for g, h in zip(self.grads, other.grads, strict=True):
            if g != h:
                shape = (g or h)[0]  # type: ignore[index]
                return f"a gradient of shape {list(shape)}"
        if self.counts != other.counts:
            return "how often a tensor was written to"
        if self.modes != other.modes:
            return "whether a module is in training mode"
        return None if self.drawn == other.drawn else "what was drawn from a generator"


def fingerprint(array: np.ndarray) -> tuple[Any, ...]:
    """Equal for arrays of the same bits in the same layout, and practically only for these."""
    if not array.flags.forc:
        array = array.copy("K")
    flat: Any = array.ravel("K").view(np.uint8)
    digest = hashlib.blake2b(flat).digest() if array.size else b""
    strides = array.strides if array.size > 1 else ()
    return array.shape, array.dtype.str, strides, digest
