"""Read a pickle of PyTorch without running code.

A pickle is a program for a stack machine. `Reader` executes the instructions that make data, and
no others. It calls what `MAKERS` lists, and what the program has allowed by `add_safe_globals`.
Everything that takes more memory than the instruction itself has bytes is counted.
"""

import importlib
import math
import pickle
import re
import struct
from _compat_pickle import IMPORT_MAPPING
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.bfloat16 import Bfloat16Array
from nanotorch._core.dtypes import AbsentDtype, bfloat16, device, dtype
from nanotorch._core.layout import OWN, strided
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.storage import UntypedStorage
from nanotorch.serialization.allowed import allowed_by_program, fill, named

BLOCKED = {"sys", "os", "posix", "nt"}  # PyTorch refuses these even if a program allows them
PARTS_OF_KEY = 1000  # a key is a tuple of at most so many parts, at all depths
DEPTH = 100  # of tuples in tuples
MOST_NUMBERS = 129  # sizes and strides of NumPy's 64 dimensions, and an offset
COPIES = 4  # of each byte of a pickle
OF_MODULE = 256  # elements that a module without attributes counts for
CALLED = (
    "the file runs code of {0}. If you trust it, use `torch.serialization.add_safe_globals([{0}])`"
)


# Messages show nothing of a file before its type is known: the text of nested lists that share
# their parts is longer than the file by orders of magnitude.


def whole_numbers(*values: Any) -> None:
    """Raise ValueError unless these can be the sizes, strides and offset of one array."""
    if len(values) > MOST_NUMBERS or not all(type(n) is int and 0 <= n < 2**63 for n in values):
        raise ValueError("an array whose sizes or strides are not a few whole numbers")


class Stored(UntypedStorage):
    """The memory of tensors in a file.

    Attributes:
        kind: the dtype of its numbers, unless a tensor says otherwise.
        halves: its numbers in bfloat16, which take twice the memory, as rows of two words of which
            the second is 0; None until a tensor has them.
    """

    def __init__(self, memory: np.ndarray, kind: dtype) -> None:
        super().__init__(memory)
        self.kind = kind
        self.halves: np.ndarray | None = None

    def fill_halves(self) -> None:
        """Bring `halves` up to date."""
        if self.halves is not None:
            self.halves[:, 0] = self._memory[: 2 * len(self.halves)].view(np.uint16)

    def array(self, kind: dtype, size: Any, offset: int, stride: Any) -> np.ndarray:
        """The array of a tensor in this memory.

        Raises:
            ValueError: if it reaches beyond the memory.
        """
        made: Any = np.ndarray
        memory, item = self._memory, kind._numpy.itemsize
        count = memory.size // kind.itemsize
        whole_numbers(offset, *size, *stride)
        reach = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        if reach > count and 0 not in size:
            place = f"size {size}, stride {stride} and offset {offset}"
            raise ValueError(f"a tensor of {place} in a memory of {count} elements")
        if kind is bfloat16:
            if self.halves is None:
                self.halves = np.zeros((count, 2), np.dtype(np.uint16).newbyteorder("S"))
                self.fill_halves()
            memory, made = self.halves.view(np.uint8).reshape(-1), Bfloat16Array
        start = min(offset * item, memory.size)  # only an empty tensor may begin beyond the end
        return made(size, kind._numpy, memory, start, [s * item for s in stride])


# The functions that a file may call, each with the reader and the arguments in the file.


def tensor(
    reader: Any, storage: Stored, offset: int, size: Any, stride: Any,
    requires_grad: bool = False, hooks: Any = None, kind: Any = None, metadata: Any = None,
) -> Tensor:  # fmt: skip
    """`_rebuild_tensor` and its later forms."""
    kind = check(dtype, kind or check(Stored, storage).kind)
    if isinstance(kind, AbsentDtype) or metadata:
        conjugate = " that is conjugate or negative" if metadata else ""
        raise ValueError(f"a tensor of {kind}{conjugate}, which nanotorch lacks")
    return wrap(storage.array(kind, size, offset, stride)).requires_grad_(requires_grad is True)


def tensor_v2(reader: Any, storage: Any, offset: Any, size: Any, stride: Any, *args: Any) -> Tensor:
    """`_rebuild_tensor_v2`, whose last argument says whether the tensor is conjugate."""
    requires_grad, hooks, *metadata = args
    return tensor(reader, storage, offset, size, stride, requires_grad, hooks, None, *metadata)


def meta_tensor(reader: Any, kind: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """`_rebuild_meta_tensor_no_storage`: a tensor without values."""
    from nanotorch._core.meta import MetaArray, Region  # few files need it

    if isinstance(check(dtype, kind), AbsentDtype):
        raise ValueError(f"a tensor of {kind}, which nanotorch lacks")
    whole_numbers(*check(tuple, size), *check(tuple, stride))
    steps = [n * kind._numpy.itemsize for n in stride]  # which NumPy compares with the memory
    made = wrap(np.ndarray.__new__(MetaArray, size, kind._numpy, Region.memory(), 0, steps))
    return made.requires_grad_(requires_grad is True)


def parameter(
    reader: Any, data: Tensor, requires_grad: bool = True, hooks: Any = None, state: Any = None
) -> Parameter:
    """`_rebuild_parameter`, also with attributes."""
    return with_attributes(Parameter(check(Tensor, data), requires_grad is True), state)


def subclass(reader: Any, function: Any, kind: type, args: Any, state: Any) -> Any:
    """`_rebuild_from_type_v2`: a tensor with attributes, or of a class of the program."""
    made = reader.call(function, args)
    return with_attributes(made if type(made) is kind else made.as_subclass(kind), state)


def with_attributes(made: Any, state: Any) -> Any:
    """Set a tensor's attributes; none may replace one of its own."""
    for name, value in check(dict, state or {}).items():
        if check(str, name) in OWN or hasattr(type(made), name):
            raise ValueError(f"a tensor with the attribute {name!r}")
        vars(made)[name] = value
    return made


def strided_layout(reader: Any, name: str) -> Any:
    """`_get_layout`, of which nanotorch has one."""
    return {str(strided): strided}[check(str, name)]


def container(kind: Any) -> Callable[..., Any]:
    """The function that makes a set from a list."""
    return lambda reader, items=(): kind(map(reader.key, reader.copied((list, tuple), items)))


def ordered(reader: Any, pairs: Any = ()) -> OrderedDict[Any, Any]:
    copied = reader.copied((list, tuple), pairs)
    made = OrderedDict((reader.key(key), value) for key, value in copied)
    reader.unfinished[id(made)] = made, lambda state: restore(reader, made, state, False)
    return made


def default_dict(reader: Any, factory: Any = None) -> Any:
    if factory not in (None, list, dict, set, int, float, str, tuple):
        raise ValueError("a defaultdict that calls a function of the program")
    return defaultdict(factory)


def encoded(reader: Any, text: str, codec: str) -> bytes:
    """The bytes that a pickle of protocol 2 holds as a text."""
    if codec not in ("latin1", "latin-1"):
        raise ValueError("bytes in another encoding than latin1")
    return reader.copied(str, text).encode("latin1")


def byte_array(reader: Any, data: Any = b"", *codec: str) -> bytearray:
    return bytearray(encoded(reader, data, *codec) if codec else reader.copied(bytes, data))


def numpy_dtype(reader: Any, name: str, *options: Any) -> Any:
    if not re.fullmatch("[biufc][0-9]{1,2}", name):
        raise ValueError(f"an array of dtype {name!r}")  # it is a string
    made: Any = np.dtype(name, copy=True)

    def finish(state: Any) -> None:
        order, *rest = state[1:8]  # metadata may follow
        if order not in ("<", ">", "|", "=") or rest != [None, None, None, -1, -1, 0]:
            raise ValueError(f"an array of a dtype derived from {name!r}")
        made.__setstate__((3, order, *rest))

    reader.unfinished[id(made)] = made, finish
    return made


def numpy_array(reader: Any, *blank: Any) -> np.ndarray:
    made: Any = np.ndarray(0, np.uint8)

    def finish(state: Any) -> None:
        _, shape, kind, in_fortran, data = state
        whole_numbers(*shape)
        if len(reader.copied(bytes, data)) != math.prod(shape) * check(np.dtype, kind).itemsize:
            raise ValueError(f"an array of shape {shape} with {len(data)} bytes")
        made.__setstate__((1, shape, kind, in_fortran is True, data))

    reader.unfinished[id(made)] = made, finish
    return made


def numpy_number(reader: Any, kind: Any, data: bytes) -> Any:
    (number,) = np.frombuffer(check(bytes, data), check(np.dtype, kind))
    return number


def check(kind: Any, value: Any) -> Any:
    """A value, if it has the expected type."""
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")
    return value


NUMPY = "numpy._core.multiarray."
REBUILD = "torch._utils._rebuild_"
# By PyTorch's name, the value, and the function that makes an object in place of its call.
MAKERS: dict[str, tuple[Any, Callable[..., Any] | None]] = {
    "torch.Size": (dtypes.Size, lambda reader, sizes=(): dtypes.Size(reader.copied(tuple, sizes))),
    "torch.device": (device, lambda reader, *args: device(*args)),
    "torch.Tensor": (Tensor, None),
    "torch._tensor._rebuild_from_type_v2": (subclass, subclass),
    "torch.nn.parameter.Parameter": (Parameter, parameter),
    "torch.serialization._get_layout": (strided_layout, strided_layout),
    "collections.OrderedDict": (OrderedDict, ordered),
    "collections.defaultdict": (defaultdict, default_dict),
    "collections.Counter": (
        Counter, lambda reader, *counts: Counter(*(reader.copied(dict, part) for part in counts)),
    ),
    "_codecs.encode": (encoded, encoded),
    "builtins.bytes": (bytes, lambda reader: b""),
    "builtins.bytearray": (bytearray, byte_array),
    "builtins.complex": (
        complex, lambda reader, *parts: complex(*(check(float, part) for part in parts)),
    ),
    "builtins.set": (set, container(set)),
    "builtins.frozenset": (frozenset, container(frozenset)),
    "numpy.dtype": (np.dtype, numpy_dtype),
    "numpy.ndarray": (np.ndarray, None),
    NUMPY + "_reconstruct": (numpy_array, numpy_array),
    NUMPY + "scalar": (numpy_number, numpy_number),
    REBUILD + "tensor": (tensor, tensor),
    REBUILD + "tensor_v2": (tensor_v2, tensor_v2),
    REBUILD + "tensor_v3": (tensor, tensor),
    REBUILD + "meta_tensor_no_storage": (meta_tensor, meta_tensor),
    REBUILD + "parameter": (parameter, parameter),
    REBUILD + "parameter_with_state": (parameter, parameter),
    "torch.storage.UntypedStorage": (dtypes.uint8, None),
    **{f"torch.{kind.char}Storage": (kind, None) for kind in dtypes.OF_NUMPY.values()},
    **{f"torch.{kind.name}": (kind, None) for kind in (*dtypes.ALL, bfloat16)},
    **{f"torch.{name}": (kind, None) for name, kind in dtypes.NAMED.items()},
    **{f"builtins.{kind.__name__}": (kind, None) for kind in (list, dict, int, float, str, tuple)},
}  # fmt: skip


def own_name(module: str, name: str) -> str:
    """The name, as `named` takes it, of what PyTorch has under a name; nothing else is imported."""
    if module.partition(".")[0] == "torch":
        from nanotorch.names.scope import names_of_pytorch

        if name in names_of_pytorch().get(module.partition(".")[2], ()):
            with suppress(ImportError):  # of a class
                found: Any = getattr(importlib.import_module(f"nano{module}"), name, None)
                if hasattr(found, "__qualname__"):
                    return f"{found.__module__}:{found.__qualname__}"
    return f"{module}:{name}"


def enum_member(kind: Any, args: Any) -> Any:
    """The member of an enumeration: the only call of what a program has not allowed."""
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        name = f"{kind.__module__}.{kind.__qualname__}"
        raise pickle.UnpicklingError(CALLED.format(name))
    return kind._value2member_map_[args[0]]


class Reader:
    """Executes pickles that lie one behind the other.

    Args:
        data: the pickles.
        storage: returns the memory of tensors that a file names by a tuple.
        weights_only: as for `load`.
    """

    def __init__(
        self, data: bytes, storage: Callable[[Any], Any], weights_only: bool | None
    ) -> None:
        self.data, self.storage, self.weights_only = data, storage, weights_only
        self.at = 0
        self.left = COPIES * len(data)  # how many elements may still be copied
        # By identity: what the file may call, or make objects of, each with the functions that do
        # so; objects whose state is to follow; the depths of tuples that hold tuples. All of these
        # stay alive, so that no identity is used twice.
        self.calls: dict[int, tuple[Any, Callable[..., Any], Callable[..., Any]]] = {}
        self.unfinished: dict[int, tuple[Any, Callable[[Any], object]]] = {}
        self.depths: dict[int, tuple[int, Any]] = {}

    def load(self) -> Any:
        """The value that the next pickle describes."""
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        while (code := self.take(1)) != pickle.STOP:
            if code in CONSTANTS:
                self.stack.append(CONSTANTS[code])
            elif code in NUMBERS:
                self.stack.append(self.number(NUMBERS[code]))
            elif code in BYTES:
                form, function = BYTES[code]
                self.stack.append(function(self.take(self.number(form))))
            elif code in STEPS:
                STEPS[code](self)
            else:
                raise pickle.UnpicklingError(f"Unsupported operand {code[0]}")
        return self.stack.pop()

    def take(self, count: int) -> bytes:
        """The next bytes."""
        start, self.at = self.at, self.at + count
        if self.at > len(self.data):
            raise EOFError("the pickle is cut off")
        return self.data[start : self.at]

    def number(self, form: str) -> Any:
        """The next number, which has a format of `struct`."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        """The text up to the end of the line."""
        return self.take(self.data.index(b"\n", self.at) + 1 - self.at)[:-1].decode()

    def spend(self, count: int) -> None:
        """Count elements that take more memory than the instructions that make them."""
        self.left -= count
        if self.left < 0:
            raise ValueError("it repeats its contents more often than it has bytes")

    def copied(self, kind: Any, values: Any) -> Any:
        """A value that is about to be copied: a small file must not make many large copies."""
        self.spend(len(check(kind, values)))
        return values

    def key(self, value: Any) -> Any:
        """A value that is about to be a key: its hash is computed from all parts of a tuple."""
        parts = [value]
        for part in parts:
            if isinstance(part, (tuple, frozenset)):
                parts.extend(part)
            if len(parts) > PARTS_OF_KEY:
                raise ValueError(f"a key of more than {PARTS_OF_KEY} parts")
        return value

    def nested(self, made: tuple[Any, ...]) -> tuple[Any, ...]:
        """A new tuple: a program that computes the hash of a deep one would crash."""
        inner = [self.depths.get(id(part), (1,))[0] for part in made if isinstance(part, tuple)]
        if inner:
            self.depths[id(made)] = 1 + max(inner), made
            if max(inner) > DEPTH:
                raise ValueError(f"more than {DEPTH} tuples in one another")
        return made

    def find(self, module: str, name: str) -> Any:
        """What a file names.

        Raises:
            pickle.UnpicklingError: if the file must not name it.
        """
        module = IMPORT_MAPPING.get(module, module).replace("numpy.core.", "numpy._core.")
        if module.partition(".")[0] in BLOCKED:
            shown = ascii(f"{module}.{name}"[:100])[1:-1]
            raise pickle.UnpicklingError(f"the file names {shown}, whose module is blocked")
        value, made = MAKERS.get(f"{module}.{name}", (None, None))
        if value is not None:
            if made is not None:
                self.calls[id(value)] = value, made, made
            return value
        own = own_name(module, name)
        value = allowed_by_program(f"{module}.{name}") or allowed_by_program(own.replace(":", "."))
        trusted = value is not None
        if not trusted:
            value = named(own, self.weights_only)

        def call(reader: Reader, *args: Any) -> Any:
            return value(*args) if trusted else enum_member(value, reader.key(args))

        def new(reader: Reader, *args: Any) -> Any:
            if trusted:
                made = value.__new__(value, *args)
            elif issubclass(value, tuple):
                made = reader.nested(tuple.__new__(value, args))
            else:
                made = object.__new__(value, *args)
            if isinstance(made, Module):
                reader.spend(OF_MODULE)
                Module.__init__(made)
            reader.unfinished[id(made)] = made, lambda state: restore(reader, made, state, trusted)
            return made

        self.calls[id(value)] = value, call, new
        return value

    def call(self, function: Any, args: Any, new: bool = False) -> Any:
        """The result of a call that the file asks for, or a `new` object of a class."""
        if id(function) not in self.calls:
            raise pickle.UnpicklingError(f"the file calls {type(function).__name__}, not data")
        return self.calls[id(function)][1 + new](self, *check(tuple, args))

    def marked(self) -> list[Any]:
        """The values since the last mark."""
        values, self.stack = self.stack, self.marks.pop()
        return values

    # Instructions.

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def mark(self) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def last(self, count: int) -> None:
        values = [self.stack.pop() for _ in range(count)]
        self.stack.append(self.nested(tuple(reversed(values))))

    def put(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    def reduce(self, new: bool = False) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        self.stack.append(self.call(function, args, new))

    def build(self) -> None:
        state, made = self.stack.pop(), self.stack[-1]
        if id(made) not in self.unfinished:
            raise pickle.UnpicklingError(f"the file changes {type(made).__name__}")
        self.unfinished.pop(id(made))[1](state)

    def add(self, values: list[Any], kinds: tuple[type, ...]) -> None:
        """Add values, or keys and values, to the container before them."""
        into = self.stack[-1]
        if type(into) not in kinds:
            raise pickle.UnpicklingError(f"the file adds to {type(into).__name__}")
        if type(into) is list:
            into.extend(values)
        elif type(into) is set:
            into.update(map(self.key, values))
        else:
            for key, value in zip(values[::2], values[1::2], strict=True):
                into[self.key(key)] = value


def restore(reader: Reader, made: Any, state: Any, trusted: bool) -> None:
    """Give an object its state; only classes that the program has allowed may do so themselves."""
    own = hasattr(type(made), "__setstate__")
    if trusted and own:
        made.__setstate__(state)
        return
    state, slots = state if isinstance(state, tuple) else (state, None)
    if not trusted and (slots or (own and not isinstance(made, Module))):
        kind = type(made)
        raise pickle.UnpicklingError(CALLED.format(f"{kind.__module__}.{kind.__qualname__}"))
    fill(made, reader.copied(dict, state or {}).items())
    for name, value in (slots or {}).items():
        setattr(made, name, value)


MAPPINGS = (dict, OrderedDict, Counter, defaultdict)
CONSTANTS = {pickle.NONE: None, pickle.NEWTRUE: True, pickle.NEWFALSE: False, b")": ()}
NUMBERS = {pickle.BININT: "<i", pickle.BININT1: "<B", pickle.BININT2: "<H", pickle.BINFLOAT: ">d"}
TEXT: Any = lambda data: str(data, "utf-8", "surrogatepass")  # noqa: E731
# Of bytes after their length, the format of that, and what they stand for.
BYTES: dict[bytes, tuple[str, Callable[[bytes], Any]]] = {
    pickle.BINUNICODE: ("<I", TEXT), pickle.SHORT_BINUNICODE: ("<B", TEXT),
    pickle.BINSTRING: ("<I", TEXT), pickle.SHORT_BINSTRING: ("<B", TEXT),
    pickle.BINBYTES: ("<I", bytes), pickle.SHORT_BINBYTES: ("<B", bytes),
    pickle.LONG1: ("<B", pickle.decode_long),
}  # fmt: skip
STEPS: dict[bytes, Callable[[Reader], Any]] = {
    pickle.PROTO: lambda r: r.take(1),
    pickle.FRAME: lambda r: r.take(8),
    pickle.EMPTY_LIST: lambda r: r.push([]),
    pickle.EMPTY_DICT: lambda r: r.push({}),
    pickle.EMPTY_SET: lambda r: r.push(set()),
    pickle.MARK: Reader.mark,
    pickle.TUPLE: lambda r: r.push(r.nested(tuple(r.marked()))),
    pickle.TUPLE1: lambda r: r.last(1),
    pickle.TUPLE2: lambda r: r.last(2),
    pickle.TUPLE3: lambda r: r.last(3),
    pickle.FROZENSET: lambda r: r.push(frozenset(map(r.key, r.marked()))),
    pickle.APPEND: lambda r: r.add([r.stack.pop()], (list,)),
    pickle.APPENDS: lambda r: r.add(r.marked(), (list,)),
    pickle.ADDITEMS: lambda r: r.add(r.marked(), (set,)),
    pickle.SETITEM: lambda r: r.add([r.stack.pop(), r.stack.pop()][::-1], MAPPINGS),
    pickle.SETITEMS: lambda r: r.add(r.marked(), MAPPINGS),
    pickle.BINPUT: lambda r: r.put(r.number("<B")),
    pickle.LONG_BINPUT: lambda r: r.put(r.number("<I")),
    pickle.MEMOIZE: lambda r: r.put(len(r.memo)),
    pickle.BINGET: lambda r: r.push(r.memo[r.number("<B")]),
    pickle.LONG_BINGET: lambda r: r.push(r.memo[r.number("<I")]),
    pickle.GLOBAL: lambda r: r.push(r.find(r.line(), r.line())),
    pickle.STACK_GLOBAL: lambda r: r.push(r.find(*[check(str, r.stack.pop()) for _ in "mn"][::-1])),
    pickle.REDUCE: Reader.reduce,
    pickle.NEWOBJ: lambda r: r.reduce(new=True),
    pickle.BUILD: Reader.build,
    pickle.BINPERSID: lambda r: r.push(r.storage(check(tuple, r.stack.pop()))),
}
