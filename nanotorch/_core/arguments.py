"""Checks of arguments, with errors in PyTorch's words; the parameters that functions declare."""

import functools
import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from operator import itemgetter
from types import FrameType, FunctionType, MappingProxyType
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

# The machine. In WebAssembly, Python has neither processes nor threads.


WEBASSEMBLY = sys.platform in ("emscripten", "wasi")
NO_PROCESSES = "needs processes, which Python in WebAssembly cannot start"


def require_processes(name: str) -> None:
    """Raise RuntimeError in WebAssembly, where ``name`` cannot have the processes it needs."""
    if WEBASSEMBLY:
        raise RuntimeError(f"{name} {NO_PROCESSES}")


# Memory: how much freed memory the process keeps, and the errors when memory runs out.


# The beginnings of NumPy's errors for a count of bytes or elements that overflows.
TOO_LARGE = (
    "array is too big",
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
    "strides is incompatible with shape of requested array",
)
LARGEST = (1 << 25) - (1 << 16)  # bytes; glibc adapts its limits only to blocks below 32 MB


def keep_freed_memory() -> None:
    """Make the C library keep the memory of freed arrays, so that new arrays reuse it.

    The C library of Linux returns memory to the system when the free memory exceeds twice the
    largest block that was ever freed. New memory costs a page fault for every 4 kB. In a training
    step with arrays of megabytes, these faults take as much time as the arithmetic. So this
    function frees one large block, which raises the limit to 64 MB. The block is never touched and
    costs nothing. On other systems the call does no harm.
    """
    np.empty(LARGEST, np.uint8)


def as_pytorch_error(error: Exception) -> Exception:
    """NumPy's error for an array that is too large, as PyTorch's; other errors stay as they are.

    Programs search the text for the name of PyTorch's allocator, then retry with less memory.
    """
    if isinstance(error, MemoryError):
        size = "more" if len(error.args) != 2 else math.prod(error.args[0]) * error.args[1].itemsize
        return RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
            f"memory: you tried to allocate {size} bytes. Error code 12 (Cannot allocate memory)"
        )
    if isinstance(error, ValueError) and str(error).startswith(TOO_LARGE):
        return RuntimeError("Storage size calculation overflowed")
    return error


def allocate(make: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call ``make``; its error for an array that is too large becomes PyTorch's."""
    try:
        return make(*args, **named)
    except (MemoryError, ValueError) as error:
        if as_pytorch_error(error) is error:  # no variable: it would make a cycle with its frame
            raise
        raise as_pytorch_error(error) from None


P = ParamSpec("P")
R = TypeVar("R")


def with_memory_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function: its errors for arrays that are too large become PyTorch's."""

    @functools.wraps(function)
    def allocating(*args: P.args, **named: P.kwargs) -> R:
        return allocate(function, *args, **named)

    return allocating


# Tuples with names, which operations of several results return.


KINDS: dict[str, type] = {}  # all these types by name, for `torch.return_types`


class Named(tuple[Any, ...]):
    """A tuple with named elements, made from a sequence."""

    __slots__ = ()
    _names: tuple[str, ...] = ()
    _given: Any = None  # the type of the results if the caller gave `out`

    def __repr__(self) -> str:
        values = ",\n".join(f"{n}={v!r}" for n, v in zip(self._names, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{values})"


def named_tuple(name: str, *names: str, out: bool = True) -> Any:
    """The type of the named tuple that the operation ``name`` returns.

    Args:
        out: whether the operation has the argument ``out``. Such results have a type of their own.
    """
    fields: dict[str, Any] = {n: property(itemgetter(k)) for k, n in enumerate(names)}
    count = len(names)
    fields |= {"n_fields": count, "n_sequence_fields": count, "n_unnamed_fields": 0}
    fields |= {"_names": names, "__slots__": (), "__module__": "nanotorch.return_types"}
    if out:
        fields["_given"] = named_tuple(f"{name}_out", *names, out=False)
    KINDS[name] = type(name, (Named,), fields)
    return KINDS[name]


# Arguments of the wrong kind, refused in PyTorch's words.
#
# A check sees the value alone, not the function and the parameter that the user gave it to. Only
# when the check fails, `find_argument` finds these on the stack. So a valid argument costs one look
# at its class.


GENERATED = "<nanotorch op "  # the file name of an operation's own source
OPERATIONS = ("nanotorch._core.", "nanotorch.ops.", "nanotorch.nn.functional.")


def type_name(value: Any) -> str:
    """The name of a value's type; NumPy's types begin with ``numpy.``."""
    kind = type(value)
    if kind.__module__ == "numpy":
        return f"numpy.{kind.__name__}"
    return "torch.dtype" if kind.__name__ == "dtype" else kind.__name__


Place = tuple[str, str, int]  # a function's name, an argument's, its position or 0


def find_argument(value: Any, likely: str = "") -> Place | None:
    """Find the operation that received ``value``, and the argument's name and position there.

    If operations call each other, this is the outermost one. A method's position does not count
    ``self``.

    Args:
        likely: the name to try first: two arguments with equal numbers may be one object.
    """
    frame: FrameType | None = sys._getframe(1)
    outer: FrameType | None = None
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    while frame is not None and (
        frame.f_code.co_filename.startswith(GENERATED)
        or str(frame.f_globals.get("__name__")).startswith(OPERATIONS)
    ):
        code = frame.f_code
        if code.co_name == "again" and frame.f_back is not None:
            frame = frame.f_back  # it is called by what does not know the names yet
        elif not (code.co_flags & inspect.CO_VARKEYWORDS and "args" in code.co_varnames):
            outer = frame  # others pass the call on
        frame = frame.f_back
    if outer is None:
        return None
    code, held = outer.f_code, outer.f_locals
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    places = list(enumerate(code.co_varnames[:count]))  # `*args` comes last
    for position, name in sorted(places, key=lambda place: place[1] != likely):
        given = held.get(name)
        within = isinstance(given, (tuple, list)) and any(v is value for v in given)
        if given is value or within:
            method = code.co_varnames[0] == "self" or code.co_qualname.startswith(METHOD)
            caller = outer.f_back  # perhaps `accepting`, which knows the arguments given by name
            by_name = caller is not None and name in caller.f_locals.get("named", ())
            placed = position < code.co_argcount and not by_name
            return code.co_name, name, (position + (not method)) * placed
    if code.co_flags & inspect.CO_VARKEYWORDS:
        for name, given in held[code.co_varnames[count]].items():
            if given is value:
                return code.co_name, name, 0
    return None


def rename(function: Any, name: str) -> Any:
    """Rename a generated function; its frames and tracebacks show the new name, too."""
    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function


def copy_function(function: Any, qualname: str, name: str = "") -> Any:
    """A copy of a function under another qualified name, and another name if one is given."""
    code = function.__code__.replace(co_qualname=qualname)
    copy = FunctionType(
        code.replace(co_name=name) if name else code, function.__globals__,
        name or function.__name__, function.__defaults__, function.__closure__,
    )  # fmt: skip
    copy.__kwdefaults__, copy.__doc__ = function.__kwdefaults__, function.__doc__
    copy.__annotations__, copy.__module__ = function.__annotations__, function.__module__
    copy.__qualname__ = qualname
    return copy


# Further names that PyTorch knows arguments by: NumPy's, and those in other forms of a function.
OTHER_NAMES = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
    "indices": "indices_or_sections", "sections": "indices_or_sections",
    "tensor_indices_or_sections": "indices_or_sections", "element": "elements",
    "test_element": "test_elements",
}  # fmt: skip


class Absent:
    """The default of an argument that was not given; signatures show ``text`` in its place."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def __repr__(self) -> str:
        return self.shown


ABSENT = Absent("<required>")


class AbsentFlag(int):
    """The default of a flag that was not given: false, but not the same object as False."""

    def __repr__(self) -> str:
        return "False"


def argument_aliases(names: Sequence[str]) -> dict[str, str]:
    """The aliases, such as ``axis`` for ``dim``, that a function with these arguments accepts."""
    return {other: own for other, own in OTHER_NAMES.items() if own in names and other not in names}


def export(
    home: str, name: str, function: Callable[..., Any], rule: Any = None, *, further: bool = True
) -> Callable[..., Any]:
    """The function with aliases of its arguments, and with ``out`` if there is a rule.

    A function that needs neither is returned unchanged.

    Args:
        home: the public module of the function, where pickle finds it by its ``name``.
        rule: how the function treats ``out``, an `Out`; None if it has no such argument.
        further: whether it accepts aliases.
    """
    code = function.__code__
    names: Sequence[str] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if hasattr(function, "__signature__"):  # it is put together later
        names = list(inspect.signature(function).parameters)
    others = argument_aliases(names) if further else {}
    if rule is None and (not others or code.co_name == "accepting"):
        return function
    kinds = {n: getattr(function.__annotations__.get(n), "__name__", "") for n in names}
    kinds |= {n: "Tensor" for n in names[:1] if n == "input"}
    flags = [n for n in names if kinds[n] == "bool"]
    first = names.index(flags[0]) if flags else len(names)

    @functools.wraps(function)
    def accepting(*args: Any, **named: Any) -> Any:
        try:
            if not named and len(args) <= first:  # the usual case
                return function(*args)
            if named and not others.keys().isdisjoint(named):
                named = resolve_aliases(function.__name__, others, named)
            if len(args) > first or not named.keys().isdisjoint(flags):
                check_types(name, kinds, args, named, "bool")
            out = None if rule is None else named.pop("out", None)
            if rule is None or out is None:
                return function(*args, **named)
        except (AttributeError, TypeError, MemoryError, ValueError) as error:
            if as_pytorch_error(error) is not error:
                raise as_pytorch_error(error) from None
            if not str(error).startswith(function.__name__):
                check_types(name, kinds, args, named, *FITS)
            raise
        return rule.fill(function, out, args, named)

    accepting.__module__, accepting.__qualname__ = home, name
    return accepting


def resolve_aliases(
    name: str, others: Mapping[str, str], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Translate the names of arguments from aliases to a function's own names."""
    own = {others.get(key, key): value for key, value in named.items()}
    if len(own) < len(named):
        names = [others.get(key, key) for key in named]
        twice = next(key for key in named if key in others and names.count(others[key]) > 1)
        raise TypeError(f"{name}() got an unexpected keyword argument '{twice}'")
    return own


def merge_aliases(
    name: str,
    others: Mapping[str, str],
    named: Mapping[str, Any],
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> dict[str, Any]:
    """All arguments of a call, under the function's own names.

    Args:
        others: the aliases, each with the function's own name.
        named: the arguments given by aliases or unknown names.
        given: the arguments given by position or own name; a default counts as not given.
        defaults: the default of each argument.

    Raises:
        TypeError: for an unknown name, or a further name for an argument that was also given.
    """
    found = {key: value for key, value in given.items() if value is not defaults[key]}
    for key, value in resolve_aliases(name, others, named).items():
        if key not in defaults or key in found:
            unknown = next(n for n in named if others.get(n, n) == key)
            raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
        found[key] = value
    return found


def check_types(
    name: str, kinds: Mapping[str, str], args: Sequence[Any], named: Mapping[str, Any], *wanted: str
) -> None:
    """Refuse arguments that are not of their ``kinds``, if these are ``wanted`` of `FITS`."""
    for k, (n, kind) in enumerate(kinds.items()):
        value = args[k] if k < len(args) else named.get(n, ABSENT)
        if kind in wanted and value is not ABSENT and not FITS[kind](value):
            position = k + (not name.startswith(METHOD)) if k < len(args) else 0
            raise wrong_type(value, kind, (name.removeprefix(METHOD), n, position)) from None


METHOD = "Tensor."


def describe(place: Place) -> str:
    """The text for an argument in messages; a keyword-only argument has no position."""
    name, argument, position = place
    return f"{name}(): argument '{argument}'" + (f" (position {position})" if position else "")


def wrong_type(value: Any, wanted: str, place: Place | None = None) -> TypeError:
    """The error for an argument of a wrong type; ``wanted`` is a text such as ``tuple of ints``."""
    place, kind = place or find_argument(value), type_name(value)
    if place is None:
        return TypeError(f"expected {wanted}, not {kind}")
    if value is ABSENT:
        return missing_args(*place[:2])
    return TypeError(f"{describe(place)} must be {wanted}, not {kind}")


def missing_args(name: str, *arguments: str) -> TypeError:
    """The error for missing arguments, worded in the plural or the singular."""
    several = "" if len(arguments) > 1 else "s"
    message = ", ".join(f'"{argument}"' for argument in arguments)
    return TypeError(
        f"{name}() missing {len(arguments)} required positional argument{several}: {message}"
    )


def given_twice(name: str, argument: str) -> TypeError:
    """The error for an argument that was given twice, by position and by name."""
    return TypeError(f"{name}() got multiple values for argument '{argument}'")


def too_many(name: str, least: int, most: int, given: int) -> TypeError:
    """The error for too many positional arguments."""
    takes = f"{most}" if least == most else f"from {least} to {most}"
    several, were = "s" * (most != 1), "was" if given == 1 else "were"
    return TypeError(
        f"{name}() takes {takes} positional argument{several} but {given} {were} given"
    )


def require_bool(value: object, place: Place | str | None) -> None:
    """Raise `TypeError` unless ``value`` is True or False; ``place`` may be the argument's name."""
    if value is not True and value is not False:
        place = find_argument(value, place) if isinstance(place, str) else place
        raise wrong_type(value, "bool", place)


def wrong_element(values: Any, position: int, place: Place | None) -> TypeError:
    """The error for a sequence whose element at ``position`` is not an integer."""
    place, kind = place or find_argument(values), type_name(values[position])
    if place is None:
        return TypeError(f"expected tuple of ints, but found {kind} at pos {position}")
    if position:
        return unpack_error(values, position, place, f"type must be tuple of ints,but got {kind}")
    return TypeError(
        f"{describe(place)} must be tuple of ints, but found element of type {kind} at pos 0"
    )


def unpack_error(values: Any, position: int, place: Place | None, why: str) -> TypeError:
    """The error for an element of a sequence that is no valid integer."""
    place = place or find_argument(values)
    head = f"{describe((*place[:2], 0))} failed" if place else "failed"
    return TypeError(f'{head} to unpack the object at pos {position + 1} with error "{why}"')


def form_error(name: str, given: Sequence[Any], forms: Sequence[str], **named: Any) -> TypeError:
    """The error for arguments that fit none of a function's forms; it lists the forms."""
    told = [type_name(value) for value in given]
    kinds = ", ".join(told + [f"{key}={type_name(value)}" for key, value in named.items()])
    kinds += ", " * (not told and bool(named))  # as PyTorch writes it
    listed = "".join(f"\n * ({form})" for form in forms)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({kinds}), but expected one "
        f"of:{listed}\n"
    )


def to_integer(value: Any) -> int | None:
    """A number, 0-d array or tensor as an integer; None if the value is no integer."""
    if value.__class__ is int:
        return value
    if isinstance(value, bool) or type(value).__name__ == "bool":  # NumPy's as well
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


# Whether a value is of the type that an annotation names.
FITS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: value is True or value is False or value.__class__ is AbsentFlag,
    "Tensor": lambda value: hasattr(value, "_array"),
    "int": lambda value: to_integer(value) is not None,
    "float": lambda value: isinstance(value, (int, float)) or getattr(value, "ndim", 1) == 0,
}
LARGE = 2**63  # no index and no size reaches it
OVERFLOW = "Overflow when unpacking long long"


def as_int(value: Any, name: str = "") -> int:
    """An integer argument as an ``int``: Python's, NumPy's, or a 0-d tensor's.

    Args:
        name: the argument's, for the message.

    Raises:
        TypeError: for anything else, bools included.
        ValueError: for an integer that exceeds 64 bits.
    """
    number = value
    if value.__class__ is not int:
        number = None if getattr(value, "ndim", 0) else to_integer(value)
        if number is None:
            raise wrong_type(value, "int", find_argument(value, name))
    if -LARGE <= number < LARGE:
        return number
    raise ValueError(OVERFLOW)


def as_ints(value: Any, place: Place | None = None, single: bool = True) -> tuple[int, ...]:
    """An argument that is a sequence of integers, or one integer, as a tuple.

    Args:
        place: the function and the argument, for errors; default: what `find_argument` finds.
        single: whether one integer is accepted.

    Raises:
        TypeError: for anything else, and for an element of a sequence that exceeds 64 bits. As in
            PyTorch, elements after the first may be bools.
        ValueError: for a single integer that exceeds 64 bits.
    """
    if value.__class__ is int and single and -LARGE <= value < LARGE:
        return (value,)
    if not isinstance(value, (tuple, list)):
        number = to_integer(value) if single else None
        if number is None:
            raise wrong_type(value, "tuple of ints", place)
        if place is None or -LARGE <= number < LARGE:
            return (as_int(number),)
        value = (number,)
    numbers = []
    for position, n in enumerate(value):
        number = n if n.__class__ is int or (n.__class__ is bool and position) else to_integer(n)
        if number is None:
            raise wrong_element(value, position, place)
        if not -LARGE <= number < LARGE:
            raise unpack_error(value, position, place, OVERFLOW)
        numbers.append(int(number))
    return tuple(numbers)


# Parameters of kernels and formulas, read from their code objects.


EMPTY: Any = Parameter.empty


def one(a: Any) -> Any:
    return np.function(a)  # type: ignore[attr-defined]


def two(a: Any, b: Any) -> Any:
    return np.function(a, b)  # type: ignore[attr-defined]


WRAPPERS = {f.__code__.co_code for f in (one, two)}


def unwrapped_kernel(kernel: Any) -> Any:
    """The NumPy function behind a kernel that only passes its arguments on; else the kernel."""
    code = kernel.__code__
    wraps = code.co_code in WRAPPERS and code.co_names[0] == "np" and not code.co_kwonlyargcount
    return getattr(np, code.co_names[1]) if wraps else kernel


def parameter_names(formula: Any) -> list[str]:
    """The names of a formula's parameters; `inspect` would take a tenth of the import time."""
    code = formula.__code__
    return list(code.co_varnames[: code.co_argcount])


class Argument(NamedTuple):
    """One argument of a kernel."""

    annotation: Any
    default: Any  # EMPTY if it has none
    keyword_only: bool


def arguments_of(kernel: Any) -> dict[str, Argument]:
    """The arguments of a kernel, by name."""
    code, annotations = kernel.__code__, kernel.__annotations__
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    by_place = kernel.__defaults__ or ()
    defaults = dict(zip(names[count - len(by_place) : count], by_place, strict=True))
    defaults |= kernel.__kwdefaults__ or {}
    return {
        name: Argument(annotations.get(name, EMPTY), defaults.get(name, EMPTY), place >= count)
        for place, name in enumerate(names)
    }


def kernel_parameters(kernel: Any, **further: Argument) -> list[Parameter]:
    """The parameters of a kernel, with additional ones."""
    kinds = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    arguments = {**arguments_of(kernel), **further}
    return [Parameter(n, kinds[a.keyword_only], default=a.default) for n, a in arguments.items()]


class LazySignature(Signature):
    """A signature that makes its parameters when they are first read.

    Args:
        make: returns the parameters.
        returns: the annotation of the result.
    """

    __slots__ = ("make", "returns")

    def __init__(self, make: Callable[[], list[Parameter]], returns: Any = EMPTY) -> None:
        self.make, self.returns = make, returns

    @property
    def _return_annotation(self) -> Any:
        return self.returns

    @property
    def _parameters(self) -> MappingProxyType[str, Parameter]:
        return MappingProxyType({parameter.name: parameter for parameter in self.make()})

    def replace(self, **changes: Any) -> Signature:  # type: ignore[override]
        """An ordinary signature with changes, as Python asks for it for a bound method."""
        return Signature(self.make(), return_annotation=self.returns).replace(**changes)


# Arguments in nested sequences and dicts.


def flat_args(tree: Any) -> Iterator[Any]:
    """The arguments, sequences flattened."""
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, (tuple, list, dict)):
            yield from flat_args(value)
        else:
            yield value


def map_args(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Apply ``change`` to every argument, in nested sequences too, and in an index."""
    if isinstance(tree, dict):
        return {name: map_args(value, change) for name, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)([map_args(value, change) for value in tree])
    return tree.replaced(change) if hasattr(tree, "replaced") else change(tree)
