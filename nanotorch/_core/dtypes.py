"""Data types and devices, the defaults, sizes, and PyTorch's rules of type promotion."""

import math
import threading
from collections.abc import Iterable
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from nanotorch._core.arguments import (
    ABSENT,
    as_int,
    find_argument,
    form_error,
    to_integer,
    type_name,
    wrong_type,
)
from nanotorch.names.lookup import advised, reason_text

# Classes that print as PyTorch's, as scripts that print ``type(x)`` expect.


class Shown(type):
    """A metaclass: a class prints as the text in its ``_shown``; its subclasses print as usual."""

    def __repr__(cls) -> str:
        name = vars(cls).get("_shown")
        return type.__repr__(cls) if name is None else f"<class '{name}'>"

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if hasattr(cls, name)]  # no absent names


class OfC(Shown):
    """`Shown` for classes that PyTorch writes in C: Python's own errors show the text, too."""

    def __new__(cls, name: str, bases: Any, namespace: Any) -> Any:
        return super().__new__(cls, namespace.get("_shown", name), bases, namespace)

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return cls.__qualname__.rpartition(".")[2]


def shown_as_one(kind: Any) -> Any:
    """Show inherited methods as the class's own: in PyTorch these classes are one."""
    for part in kind.__mro__[1:]:
        if part.__module__.startswith("nanotorch"):
            for name, function in vars(part).items():
                if isinstance(function, FunctionType):
                    function.__qualname__ = f"{kind.__name__}.{name}"
                    function.__module__ = kind.__module__  # where pickle finds it
    return kind


# Data types, the default dtype, sizes, and PyTorch's rules of type promotion.


Number = bool | int | float


class dtype(metaclass=OfC):  # noqa: N801 - PyTorch's name
    """The type of a tensor's elements, for example ``float32``; one instance each."""

    __slots__ = ("_numpy", "category", "char", "is_floating_point", "itemsize", "name")
    _shown = "torch.dtype"

    def __init__(self, name: str, char: str, held: np.dtype | None = None) -> None:
        self.name = name
        self.char = char
        self._numpy = held or np.dtype(name)
        self.itemsize = self._numpy.itemsize
        self.is_floating_point = self._numpy.kind == "f"
        self.category = 0 if name == "bool" else 2 if self.is_floating_point else 1

    is_complex = False

    @property
    def is_signed(self) -> bool:
        """Whether the type has negative values."""
        return self._numpy.kind in "if"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (dtype_named, (self.name,))


def dtype_named(name: str) -> dtype:
    """The dtype of a name.

    Raises:
        TypeError, KeyError: if there is none.
    """
    return NAMED.get(name) or OF_NUMPY[np.dtype(name)]


# `char` is the name that PyTorch's error messages use.
bool_ = dtype("bool", "Bool")
uint8 = dtype("uint8", "Byte")
int8 = dtype("int8", "Char")
int16 = short = dtype("int16", "Short")
int32 = int_ = dtype("int32", "Int")
int64 = long = dtype("int64", "Long")
float16 = half = dtype("float16", "Half")
float32 = float_ = dtype("float32", "Float")
float64 = double = dtype("float64", "Double")

# Float32 in the other byte order stands for a type that NumPy lacks; see `bfloat16.py`.
BFLOAT16 = np.dtype(np.float32).newbyteorder("S")
bfloat16 = dtype("bfloat16", "BFloat16", BFLOAT16)
bfloat16.itemsize = 2

ALL = (bool_, uint8, int8, int16, int32, int64, float16, float32, float64)
OF_NUMPY: dict[Any, dtype] = {d._numpy: d for d in (*ALL, bfloat16)}
# Some error messages of PyTorch use the names of C's types instead.
C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int",
    "int32": "int", "int64": "long int", "float16": "c10::Half", "float32": "float",
    "float64": "double", "bfloat16": "c10::BFloat16",
}  # fmt: skip


class OutOfScopeError(NotImplementedError, AttributeError):
    """The error for the use of an `AbsentDtype`, which `hasattr` takes for an absent attribute."""


class AbsentDtype(dtype):
    """A dtype that no tensor can have: programs may compare with it; any other use is an error."""

    __slots__ = ("is_complex", "is_signed")
    _shown = "torch.dtype"

    def __init__(self, name: str, itemsize: int, kind: str) -> None:
        self.name, self.itemsize = name, itemsize
        self.is_floating_point, self.is_complex = kind == "f", kind == "c"
        self.is_signed = not name.startswith(("uint", "float8_e8m0"))  # type: ignore[misc]
        self.category = {"i": 1, "f": 2, "c": 3}[kind]

    @property
    def _numpy(self) -> NoReturn:  # type: ignore[override]
        from nanotorch.names.scope import why_not  # which few programs need

        raise OutOfScopeError(f"{self!r} is {reason_text(why_not('', self.name) or '')}")

    char = _numpy


INT64 = int64._numpy
# The dtype of the indices that NumPy finds and that `put` and `repeat` require: int64, but in
# WebAssembly int32, as of all integers there without a dtype of their own.
PLACE = np.dtype(np.intp)

# By the kind and the size of their elements.
ABSENT_DTYPES = {
    "f1": "float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu",
    "c4": "complex32 bcomplex32",
    "c8": "complex64",
    "c16": "complex128",
    "i1": "qint8 quint2x4 quint4x2 quint8",
    "i2": "uint16",
    "i4": "qint32 uint32",
    "i8": "uint64",
}
LACKING: dict[str, dtype] = {
    name: AbsentDtype(name, int(kind[1:]), kind[0])
    for kind, names in ABSENT_DTYPES.items()
    for name in names.split()
}
for _short, _name in (("cdouble", "complex128"), ("cfloat", "complex64"), ("chalf", "complex32")):
    LACKING[_short] = LACKING[_name]
NAMED = {**LACKING, "bfloat16": bfloat16}
# Of floating-point types that NumPy lacks: eps, the largest number, the least normal one.
LIMITS = {
    "bfloat16": (2**-7, (2 - 2**-7) * 2**127, 2**-126),
    "float8_e4m3fn": (2**-3, 448, 2**-6),
    "float8_e4m3fnuz": (2**-3, 240, 2**-7),
    "float8_e5m2": (2**-2, 57344, 2**-14),
    "float8_e5m2fnuz": (2**-2, 57344, 2**-15),
    "float8_e8m0fnu": (1, 2**127, 2**-127),
}
REAL = {"complex32": float16, "complex64": float32, "complex128": float64}


def as_dtype(value: Any) -> dtype:
    """A dtype argument: a dtype, or Python's ``float``, ``int`` or ``bool``."""
    if isinstance(value, dtype):
        return value
    for kind, meant in ((float, float64), (int, int64), (bool, bool_)):
        if value is kind:
            return meant
    raise wrong_type(value, "torch.dtype", find_argument(value, "dtype"))


def dtype_of(array: Any) -> dtype:
    """The dtype of an ndarray.

    Raises:
        TypeError: for NumPy types that have no counterpart (objects, strings, ...).
    """
    found = OF_NUMPY.get(array.dtype)
    if found is None:
        supported = ", ".join(d.name for d in ALL)
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. "
            f"The only supported types are: {supported}."
        )
    return found


def with_shared_dtype(array: Any) -> Any:
    """An array from outside, with the dtype object that all tensors of this dtype share.

    The engine compares dtypes by identity. NumPy has equal dtypes that are other objects: from
    pickles, with metadata, or with another name in C. NumPy's functions pass such a dtype on.
    """
    own = dtype_of(array)._numpy
    return array if array.dtype is own else array.view(own)


class _Default:
    """The default floating-point dtype: that of `tensor([1.0])` and of integer division."""

    dtype = float32
    numpy = float32._numpy


default = _Default()


def get_default_dtype() -> dtype:
    """The dtype that new floating-point tensors get; ``float32`` unless set."""
    return default.dtype


def set_default_dtype(d: dtype) -> None:
    """Set the dtype that new floating-point tensors get.

    Raises:
        TypeError: if ``d`` is not a floating-point dtype.
    """
    if not isinstance(d, dtype):
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type"
        )
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    default.numpy = d._numpy
    default.dtype = d


new_tuple = tuple.__new__  # makes a `Size` without checks, of integers


class Size(tuple[int, ...], metaclass=OfC):
    """The shape of a tensor: a tuple of its sizes.

    Raises:
        TypeError: for an element that is not an integer.
        ValueError: for an integer that exceeds 64 bits.
    """

    __slots__ = ()
    _shown = "torch.Size"

    def __new__(cls, sizes: Iterable[Any] = (), /) -> "Size":
        numbers = []
        for position, n in enumerate(sizes):
            number = int(n) if isinstance(n, bool) else to_integer(n)
            if number is None:
                raise TypeError(
                    f"torch.Size() takes an iterable of 'int' (item {position} is '{type_name(n)}')"
                )
            numbers.append(as_int(number))
        return new_tuple(cls, numbers)

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        part = tuple.__getitem__(self, index)
        return new_tuple(Size, part) if isinstance(index, slice) else part

    def __add__(self, other: Any) -> "Size":
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type_name(other)}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: tuple[int, ...]) -> "Size":
        return Size(tuple.__add__(other, self))

    def __mul__(self, times: Any) -> "Size":
        return new_tuple(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The dtype that holds both: the one of the higher category, or NumPy's choice within one.

    Unlike NumPy's rule, an integer never widens a float: int64 with float32 is float32.
    """
    if type1 is type2:
        return type1
    try:
        if type1.category != type2.category:
            return type1 if type1.category > type2.category else type2
    except AttributeError:
        position = 1 + isinstance(type1, dtype)
        place = "promote_types", f"type{position}", position
        raise wrong_type((type1, type2)[position - 1], "torch.dtype", place) from None
    return OF_NUMPY[np.promote_types(type1._numpy, type2._numpy)]


def dtype_of_number(value: Number | np.generic) -> dtype:
    """The dtype of a Python number in type promotion."""
    if isinstance(value, bool):
        return bool_
    return int64 if isinstance(value, int) else default.dtype


def check_integer_range(value: Number) -> None:
    """Refuse an integer that no dtype can hold, not even an unsigned one."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        below = "can't convert negative int to unsigned"
        raise OverflowError("int too big to convert" if value > 0 else below)


def array_of_number(value: Number, kind: np.dtype) -> np.ndarray:
    """A Python number as a 0-d array; an integer out of range wraps around."""
    check_integer_range(value)
    return np.array(value).astype(kind)


def promotion_error(*names: str) -> RuntimeError:
    """The error for an integer that only an unsigned dtype can hold, next to another dtype."""
    return RuntimeError(
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
        + " and ".join(names)
    )


def result_type(arrays: Iterable[Any]) -> dtype:
    """The dtype of an operation on these operands (ndarrays or Python numbers).

    Arrays with dimensions come first, 0-d arrays second, Python numbers last; a later rank
    changes the result only if its category (bool < int < float) is higher.

    Raises:
        RuntimeError: for bools beside an integer that only an unsigned type holds.
        OverflowError: for bools beside one that no type holds.
    """
    ranks: list[dtype | None] = [None, None, None]
    largest = 0
    for a in arrays:
        if isinstance(a, (bool, int, float, np.generic)):
            rank, kind = 2, dtype_of_number(a)
            largest = max(largest, a) if isinstance(a, int) else largest
        else:
            rank, kind = (0 if a.ndim else 1), dtype_of(a)
        held = ranks[rank]
        ranks[rank] = kind if held is None else promote_types(held, kind)
    result: dtype | None = None
    for held in ranks:
        if held is not None and (result is None or held.category > result.category):
            if largest >= 2**63 and held is ranks[2] is int64 and result is bool_:
                check_integer_range(largest)
                raise promotion_error("Bool", "UInt64")
            result = held if result is None else promote_types(result, held)
    return result if result is not None else default.dtype


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place operation may store values of ``from_`` in a tensor of ``to``."""
    return from_.category <= to.category


class _Limits:
    """The base of `iinfo` and `finfo`: objects that cannot change and are equal for one dtype.

    Attributes:
        dtype: the name of the dtype.
        bits: how many each element takes.
        min, max: the least and the greatest number.
    """

    bits: int
    dtype: str

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        if name not in vars(self):
            raise AttributeError(f"'torch.{kind}' object has no attribute '{name}'")
        raise AttributeError(f"attribute '{name}' of 'torch.{kind}' objects is not writable")

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), vars(self)["dtype"]))

    def __repr__(self) -> str:
        kind, held = type(self), vars(self)
        listed = ", ".join(f"{name}={held[name]:g}" for name in kind.__annotations__)
        return f"{kind.__name__}({listed}, dtype={held['dtype']})"


def _checked(name: str, kind: Any) -> dtype:
    """Check the argument of `iinfo` and `finfo`."""
    if not isinstance(kind, dtype):
        raise wrong_type(kind, "torch.dtype", (name, "type", 1))
    return kind


class iinfo(_Limits):  # noqa: N801 - PyTorch's name
    """Limits of an integer dtype: ``bits``, ``min``, ``max``.

    Raises:
        TypeError: for another dtype.
    """

    min: int
    max: int

    def __init__(self, type: dtype) -> None:
        if _checked("iinfo", type).category > 1:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        info = np.iinfo(type.name)
        vars(self).update(bits=info.bits, min=int(info.min), max=int(info.max), dtype=type.name)


class finfo(_Limits):  # noqa: N801 - PyTorch's name
    """Limits of a floating-point dtype: ``bits eps min max tiny smallest_normal resolution``.

    Args:
        type: default: the default dtype.

    Raises:
        TypeError: for another dtype.
    """

    resolution: float
    min: float
    max: float
    eps: float
    smallest_normal: float
    tiny: float

    def __init__(self, type: Any = ...) -> None:
        kind = default.dtype if type is ... else _checked("finfo", type)
        if kind.category < 2:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        kind = REAL.get(kind.name, kind)
        if kind.name in LIMITS:
            eps, most, tiny = map(float, LIMITS[kind.name])
            least = -most if kind.is_signed else tiny
            precision = math.floor(-math.log10(eps))
        else:
            info: Any = np.finfo(kind._numpy)
            eps, most, tiny, precision = info.eps, info.max, info.tiny, info.precision
            least = info.min
        found = {"min": least, "max": most, "eps": eps, "smallest_normal": tiny, "tiny": tiny}
        vars(self).update({name: float(value) for name, value in found.items()})
        vars(self).update(
            bits=8 * kind.itemsize, dtype=kind.name, resolution=10.0 ** -int(precision)
        )


# Devices: programs may name any of PyTorch's, but tensors are on the CPU, or without values.


TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
FORMS = "torch.device device", "str type, int index = -1"
# What PyTorch says of the places that its builds for the CPU do not have.
BUILT_WITHOUT: dict[str, tuple[type[Exception], str]] = {
    "cuda": (AssertionError, "Torch not compiled with CUDA enabled"),
    "xpu": (AssertionError, "Torch not compiled with XPU enabled"),
    "mps": (RuntimeError, "PyTorch is not linked with support for mps devices"),
}


class device(metaclass=OfC):  # noqa: N801 - PyTorch's name
    """Where a tensor lives: ``device("cpu")``, ``device("cuda:1")``, ``device("cuda", 1)``.

    Args:
        type: one of PyTorch's types of devices, with ``:index`` or without; or a device.
        index: which of several.

    Raises:
        RuntimeError: for a type that PyTorch does not know, or an index that is none; for a single
            integer, which is the index of an accelerator.
        TypeError: for anything else.
    """

    _shown = "torch.device"
    __slots__ = ("index", "type")

    def __init__(self, type: Any = ABSENT, index: Any = None) -> None:
        self.type: str
        self.index: int | None
        if isinstance(type, device) and index is None:
            self.type, self.index = type.type, type.index
        elif isinstance(type, str):
            self.type, self.index = parse_device(type)
            if index is not None:
                if self.index is not None:
                    raise RuntimeError(
                        "type (string) must not include an index because index was passed "
                        f"explicitly: {type}"
                    )
                if to_integer(index) is None:
                    raise wrong_type(index, "int", ("device", "index", 2))
                self.index = as_int(index)
                refuse_negative(self.index)
        elif index is None and isinstance(type, int) and not isinstance(type, bool):
            refuse_negative(type)
            raise RuntimeError("Cannot access accelerator device when none is available.")
        else:
            raise form_error("device", () if type is ABSENT else (type,), FORMS)

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type, self.index))

    def __enter__(self) -> "device":
        """A block whose tensors are made on this device: the CPU or "meta".

        Raises:
            AssertionError, RuntimeError: for another device.
        """
        here.places.append(META if on_meta(self) else CPU)
        return self

    def __exit__(self, *error: Any) -> None:
        here.places.pop()


def refuse_negative(index: int) -> None:
    """Refuse a negative index of a device."""
    if index < 0:
        raise RuntimeError("Device index must not be negative")


def parse_device(text: str) -> tuple[str, int | None]:
    """The type and the index in a text such as ``cuda:1``."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    kind, colon, number = text.partition(":")
    if colon and (not number.isdecimal() or number != str(int(number))):
        raise RuntimeError(f"Invalid device string: '{text}'")
    if kind not in TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(TYPES)} device type at start of device string: {kind}"
        )
    return kind, int(number) if colon else None


CPU, META = device("cpu"), device("meta")


class Here(threading.local):
    """Per thread: the default device, and those of the `with` blocks around."""

    def __init__(self) -> None:
        self.places = [CPU]


here = Here()


def on_meta(where: Any) -> bool:
    """Whether a device is "meta"; None is the default device, and others must be the CPU.

    For the errors see `require_cpu`.
    """
    if where is None:
        return here.places[-1] is META
    if isinstance(where, str | device) and device(where).type == "meta":
        return True
    require_cpu(where)
    return False


def require_cpu(where: Any) -> None:
    """Refuse any device but the CPU; None stands for the CPU.

    Raises:
        AssertionError, RuntimeError: for another device, as PyTorch built for the CPU does.
        TypeError: for a value that is not a device.
    """
    if where is None or where is CPU:
        return
    if isinstance(where, bool) or not isinstance(where, (str, int, device)):
        raise wrong_type(where, "torch.device")
    kind = device(where).type
    if kind != "cpu":
        raise absent(kind)


def absent(kind: str) -> Exception:
    """The error for a device of a type that nanotorch lacks."""
    plain = RuntimeError, f"nanotorch runs on the CPU only; there is no device '{kind}'"
    error, text = BUILT_WITHOUT.get(kind, plain)
    return advised(error(text), "no gpu")
