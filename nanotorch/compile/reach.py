"""What Python objects a step can reach, and how to see that nothing of them has changed.

What counts is what the step's code can name: attributes that occur in it, globals and builtins, all
entries of containers. Where it looks attributes up by computed names, all of them count. Numbers
and texts are compared by value; other objects must be the same, and so must be what they hold.
"""

import builtins
import enum
import functools
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
from nanotorch._core.device import device
from nanotorch._core.layout import Layout
from nanotorch._core.origins import PACKAGE
from nanotorch._core.random import Generator
from nanotorch.compile.checks import MISSING, Check, namespace
from nanotorch.compile.patching import is_watched
from nanotorch.compile.watch import (
    NUMPY_EFFECTS,
    QUIET_MODULES,
    attribute_names,
    changes_its_owner,
    global_names,
    is_library,
    is_standard,
    may_have_effects,
)

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
