"""PyTorch's files: an archive with a pickle and the memory of its tensors, and the older format.

`pickles` executes the pickles. An archive is a zip file without compression.
"""

import copyreg
import importlib
import io
import pickle
import pickletools
import struct
import sys
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any, BinaryIO

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.dtypes import device, dtype
from nanotorch._core.graph import HookDict
from nanotorch._core.layout import address, attributes_of, layout, strides_of, whole_memory
from nanotorch._core.meta import MetaArray
from nanotorch._core.tensor import Tensor
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.storage import UntypedStorage
from nanotorch.serialization.allowed import STATEFUL, is_plain_object
from nanotorch.serialization.files import Parts
from nanotorch.serialization.kinds import LONGEST, NO_CUDA, description
from nanotorch.serialization.pickles import Reader, Stored, check, whole_numbers
from nanotorch.serialization.safetensors import of_pytorch, stored_bytes, why_not_saved

# Reading.


class Archive:
    """The members of a zip file, none of which shares bytes with another.

    Args:
        mapped: the path of the file, if the memory of its tensors is to be mapped.

    Raises:
        ValueError: for members that are compressed, overlap, or reach beyond the file.
    """

    def __init__(self, file: BinaryIO, mapped: str | None = None) -> None:
        self.file, self.mapped = file, mapped
        with zipfile.ZipFile(file) as archive:
            members, directory = archive.infolist(), archive.start_dir
        self.places: dict[str, tuple[int, int, int]] = {}  # the start, size and CRC-32 by name
        reached = 0
        for member in sorted(members, key=lambda member: member.header_offset):
            file.seek(member.header_offset)
            signature, name, extra = struct.unpack("<4s22x2H", file.read(30))
            start = member.header_offset + 30 + name + extra
            if member.compress_type or member.flag_bits & 1:
                raise ValueError(f"{member.filename!r} is compressed or encrypted")
            if member.header_offset < reached or signature != b"PK\3\4":
                raise ValueError(f"{member.filename!r} lies in another member")
            if member.filename in self.places or member.compress_size != member.file_size:
                raise ValueError(f"{member.filename!r} occurs twice or has two sizes")
            reached = start + member.file_size
            self.places[member.filename] = start, member.file_size, member.CRC
        if reached > directory:
            raise ValueError("the last member reaches beyond the file")
        roots = [
            name.removesuffix("data.pkl") for name in self.places if name.endswith("/data.pkl")
        ]
        if len(roots) != 1:
            raise ValueError(f"{len(roots)} of its members are named data.pkl")
        self.root = roots[0]

    def member(self, name: str, size: int | None = None) -> np.ndarray:
        """The bytes of a member, in memory of their own.

        Raises:
            KeyError: if there is none.
            ValueError: if it has another ``size``, or was changed.
        """
        start, there, checksum = self.places[self.root + name]
        if size is not None and size != there:
            raise ValueError(f"{name!r} has {there} bytes in place of {size}")
        if self.mapped and there:
            return np.asarray(np.memmap(self.mapped, np.uint8, "c", start, (there,)))
        data = np.empty(there, np.uint8)
        self.file.seek(start)
        if self.file.readinto(data.data) != there:  # type: ignore[attr-defined]
            raise ValueError("another program has just shortened it")
        if checksum and zlib.crc32(data.data) != checksum:  # 0: PyTorch was told to compute none
            raise ValueError(f"{name!r} was changed after saving")
        return data

    def text(self, name: str, default: bytes = b"") -> bytes:
        """The bytes of a small member."""
        return self.member(name).tobytes() if self.root + name in self.places else default


class ElsewhereError(RuntimeError):
    """The error for tensors on a device that is not there."""


def at_location(memory: np.ndarray, kind: dtype, location: str, where: Any) -> Stored:
    """A memory at the place where `load` is asked to bring it: see ``map_location``.

    Raises:
        RuntimeError: for any place but the CPU.
    """
    if callable(where):
        moved = where(UntypedStorage(memory), location)
        if moved is not None:
            return Stored(check(UntypedStorage, moved)._memory, kind)
    elif where is not None:
        location = where.get(location, location) if isinstance(where, dict) else str(where)
    if location.partition(":")[0] != "cpu":
        unknown = f"don't know how to restore data location of {UntypedStorage} (tagged with "
        raise ElsewhereError(NO_CUDA if location.startswith("cuda") else f"{unknown}{location})")
    return Stored(memory, kind)


def read_archive(archive: Archive, where: Any, weights_only: bool | None) -> Any:
    """The object in an archive."""
    stored: dict[str, Stored] = {}
    swapped = archive.text("byteorder", b"little") != sys.byteorder.encode()

    def storage(place: Any) -> Stored:
        tag, kind, key, location, count = place
        if check(str, key) not in stored:
            if tag != "storage" or type(count) is not int:
                raise ValueError("a reference to something other than a storage")
            size = count * check(dtype, kind).itemsize
            memory = archive.member(f"data/{key}", size)
            if swapped:
                memory.view(f"u{kind.itemsize}").byteswap(inplace=True)
            stored[key] = at_location(memory, kind, check(str, location), where)
        return stored[key]

    return Reader(archive.text("data.pkl"), storage, weights_only).load()


MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


def read_old(data: bytes, where: Any, weights_only: bool | None) -> Any:
    """The object in a file of the format before PyTorch 1.6.

    Five pickles: two numbers, the machine, the object, the names of its storages. Then the length
    and the bytes of each.
    """
    stored: dict[str, Stored] = {}
    roots: dict[str, np.ndarray] = {}
    left = len(data)

    def storage(place: Any) -> Any:
        nonlocal left
        tag, *rest = place
        if tag == "module":  # a class and its source
            return rest[0]
        kind, key, location, count, view = rest
        if tag != "storage" or type(count) is not int:
            raise ValueError("a reference to something other than a storage")
        size = count * check(dtype, kind).itemsize
        if check(str, key) not in roots:
            left -= size
            if size < 0 or left < 0:
                raise ValueError(f"memories of more than {len(data)} bytes")
            roots[key] = np.zeros(size, np.uint8)
            stored[key] = at_location(roots[key], kind, check(str, location), where)
        if view is None:
            return stored[key]
        name, start, length = view
        whole_numbers(start, length)
        if check(str, name) not in stored:
            item = kind.itemsize
            stored[name] = Stored(roots[key][start * item : (start + length) * item], kind)
        return stored[name]

    reader = Reader(data, storage, weights_only)
    if (reader.load(), reader.load()) != (MAGIC, PROTOCOL):
        raise ValueError("Invalid magic number; corrupt file?")
    reader.load()
    found = reader.load()
    for key in reader.load():
        memory = roots.pop(check(str, key))
        size = reader.number("<q") * stored[key].kind.itemsize
        if size != memory.size:
            raise ValueError(f"a memory of {size} bytes in place of {memory.size}")
        memory[:] = np.frombuffer(reader.take(size), np.uint8)
    if roots:
        raise ValueError(f"the memory {min(roots)!r} is missing")
    for part in stored.values():
        part.fill_halves()
    return found


def read(
    file: BinaryIO, path: str, where: Any, weights_only: bool | None, mapped: str | None = None
) -> Any:
    """The object in a file of PyTorch.

    Args:
        path: the file's name in errors.
        where: as ``map_location`` of `load`.
        mapped: the path of the file, if the memory of its tensors is to be mapped.

    Raises:
        pickle.UnpicklingError: for what the file must not name or do.
        RuntimeError: for a damaged or forged file, or one of another kind.
    """
    if (other := description(file)) is not None:
        raise RuntimeError(f"{path} {other}")
    file.seek(0)
    try:
        if file.read(2) == b"PK":
            return read_archive(Archive(file, mapped), where, weights_only)
        file.seek(0)
        return read_old(file.read(), where, weights_only)
    except pickle.UnpicklingError as error:
        text = str(error).removeprefix("Weights only load failed: ")
        raise pickle.UnpicklingError(f"Weights only load failed: {path}: {text}") from None
    except ElsewhereError:
        raise
    except Exception as error:  # of any kind: a forged file may hold any instructions
        reason = str(error).encode("utf-8", "backslashreplace").decode()[: 2 * LONGEST]
        raise RuntimeError(f"{path} is damaged ({type(error).__name__}: {reason})") from error


def unsafe_names(file: BinaryIO) -> list[str]:
    """The names in the pickle of an archive that `Reader.find` refuses, without loading it."""
    if description(file) is not None or file.seek(0) or file.read(2) != b"PK":
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    pickled = Archive(file).text("data.pkl")
    reader = Reader(pickled, len, None)
    unsafe = set()
    code: Any
    names: Any
    for code, names, _ in pickletools.genops(pickled):
        if code.name == "GLOBAL":
            try:
                reader.find(*names.split(" "))
            except (pickle.UnpicklingError, RuntimeError):
                unsafe.add(".".join(names.split(" ")))
    return sorted(unsafe)


# Writing.


class Name:
    """What a pickle names without the program's having it."""

    def __init__(self, module: str, name: str) -> None:
        self.full = module, name

    def __call__(self) -> None:
        """Do nothing: a pickler wants functions that can be called."""


NAMES = {
    **{
        name: Name("torch._utils", f"_rebuild_{name}")
        for name in ("tensor_v2", "tensor_v3", "parameter", "parameter_with_state")
    },
    "meta": Name("torch._utils", "_rebuild_meta_tensor_no_storage"),
    "subclass": Name("torch._tensor", "_rebuild_from_type_v2"),
    "layout": Name("torch.serialization", "_get_layout"),
    "untyped": Name("torch.storage", "UntypedStorage"),
    **{kind.char: Name("torch", f"{kind.char}Storage") for kind in dtypes.OF_NUMPY.values()},
}
HOMES: dict[Any, tuple[str, str]] = {
    Tensor: ("torch", "Tensor"), Parameter: ("torch.nn.parameter", "Parameter"),
    dtypes.Size: ("torch", "Size"), device: ("torch", "device"),
}  # fmt: skip
AS_TENSORS: tuple[Any, ...] = (Tensor.__reduce_ex__, Parameter.__reduce_ex__)


def name_for_pytorch(value: Any) -> tuple[str, str]:
    """The module and the name under which PyTorch has a class or function of nanotorch."""
    from nanotorch.names.scope import names_of_pytorch

    own = value.__qualname__
    for place in sorted(names_of_pytorch(), key=lambda place: -place.count(".")):
        if own in names_of_pytorch()[place]:
            with suppress(ImportError):  # of a class
                module = importlib.import_module(f"nanotorch.{place}".rstrip("."))
                if getattr(module, own, None) is value:
                    return f"torch.{place}".rstrip("."), own
    return value.__module__, own


class Writer(pickle._Pickler):
    """Writes the pickle of an object: the pickler in Python, whose names can be replaced.

    Attributes:
        memories: the bytes of the storages, by their names in the archive.
    """

    write: Callable[[bytes], None]
    memoize: Callable[[object], None]

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, 2)
        self.memories: dict[str, memoryview] = {}
        # By the place of a memory: its name in the archive, its dtype, and the storage, kept alive.
        self.stored: dict[Any, tuple[str, Any, UntypedStorage]] = {}

    def persistent_id(self, value: Any) -> Any:
        """The reference to a storage in the archive; None for other values."""
        if not isinstance(value, UntypedStorage):
            return None
        kind = getattr(value, "kind", None)
        place = (value.data_ptr(), len(value)) if len(value) else id(value)
        key, first, _ = self.stored.setdefault(place, (str(len(self.stored)), kind, value))
        if key not in self.memories:
            self.memories[key] = stored_bytes(value._bytes)
        if kind is None or kind is not first:
            return "storage", NAMES["untyped"], key, "cpu", len(value)
        return "storage", NAMES[kind.char], key, "cpu", len(value) // kind.itemsize

    def reducer_override(self, value: Any) -> Any:
        """The name, or the function and arguments, by which PyTorch finds a value again."""
        kind = type(value)
        if isinstance(value, (type, FunctionType, Name, dtype)):
            own = isinstance(value, (Name, dtype)) or str(value.__module__).startswith("nanotorch")
            return "" if own else NotImplemented
        if kind.__module__.partition(".")[0] == "torch" and hasattr(value, "__dlpack__"):
            value, kind = of_pytorch(value), Tensor
        if isinstance(value, Tensor) and kind.__reduce_ex__ in AS_TENSORS:
            return self.tensor(value, kind)
        if isinstance(value, STATEFUL):
            raise TypeError(why_not_saved(value, ()))
        if kind is dtypes.Size:
            return kind, (tuple(value),)
        if kind is device:
            return kind, (value.type,) if value.index is None else (value.type, value.index)
        if kind is layout:
            return NAMES["layout"], (str(value),)
        if kind is HookDict:
            return OrderedDict, (), None, None, iter(value.items())
        if isinstance(value, Module) and is_plain_object(value):
            blank, state = vars(Module()), dict(vars(value))
            for name in blank.keys() & state.keys() - {"_non_persistent_buffers_set"}:
                if isinstance(state[name], set):  # of the hooks that get more arguments
                    state[name] = OrderedDict.fromkeys(state[name], True)
            return copyreg.__newobj__, (kind,), state  # type: ignore[attr-defined]
        return NotImplemented

    def tensor(self, value: Tensor, kind: type) -> Any:
        """The function and arguments that make a tensor."""
        state = attributes_of(value)
        hooks: Any = OrderedDict()
        if issubclass(kind, Parameter):
            args: Any = value.data, value.requires_grad, hooks
            if state:
                return NAMES["parameter_with_state"], (*args, state)
            return NAMES["parameter"], args
        array, own = value._array, value.dtype
        if isinstance(array, MetaArray):
            args = own, tuple(value.shape), strides_of(array), value.requires_grad
            if kind is Tensor and not state:
                return NAMES["meta"], args
            return NAMES["subclass"], (NAMES["meta"], kind, args, state)
        if any(step < 0 or step % array.itemsize for step in array.strides):
            array = array.copy()  # PyTorch has no such strides
        memory = whole_memory(array)
        offset = (address(array) - address(memory)) // array.itemsize if array.size else 0
        storage: Any = UntypedStorage(memory, own is dtypes.bfloat16)
        storage.kind = own
        args = storage, offset, tuple(value.shape), strides_of(array), value.requires_grad, hooks
        name = "tensor_v2"
        place = (storage.data_ptr(), len(storage))
        if self.stored.get(place, (None, own))[1] is not own:  # others see it in another dtype
            name, args = "tensor_v3", (*args, own)
        if kind is Tensor and not state:
            return NAMES[name], args
        return NAMES["subclass"], (NAMES[name], kind, args, state)

    def save_global(self, value: Any, name: Any = None) -> None:
        """Write the name of a class or function: PyTorch's, for those of nanotorch."""
        if isinstance(value, dtype):
            module, name = "torch", value.name
        elif isinstance(value, Name):
            module, name = value.full
        elif value in HOMES or str(value.__module__).startswith("nanotorch"):
            module, name = HOMES.get(value) or name_for_pytorch(value)
        else:
            super().save_global(value, name)  # type: ignore[misc]
            return
        self.write(f"c{module}\n{name}\n".encode())
        self.memoize(value)


FORMAT_VERSION, ALIGNMENT, VERSION = b"1", 64, b"3\n"
ONE_WORD = 0xFFFFFFFF  # larger numbers, and this one, stand in fields of 64 bits


def pack_archive(obj: Any, root: str = "archive", byte_order: bool = True) -> Parts:
    """The bytes of an archive that holds an object, in parts.

    Args:
        root: the name of the directory in the archive.
        byte_order: whether the archive says which byte order it has.
    """
    file = io.BytesIO()
    writer = Writer(file)
    try:
        writer.dump(obj)
    except RecursionError:
        raise ValueError("cannot save obj: its containers are nested too deeply") from None
    members: dict[str, Any] = {"data.pkl": file.getbuffer(), ".format_version": FORMAT_VERSION}
    members[".storage_alignment"] = str(ALIGNMENT).encode()
    if byte_order:
        members["byteorder"] = sys.byteorder.encode()
    members |= {f"data/{key}": memory for key, memory in writer.memories.items()}
    members["version"] = VERSION
    return zip_file({f"{root}/{name}": data for name, data in members.items()})


def zip_file(members: dict[str, Any]) -> Parts:
    """The bytes of a zip file, laid out as PyTorch's own, which computes places from sizes."""
    parts: list[Any] = []
    directory, at, sums = [], 0, [0, 0]
    for name in [*members, ".data/serialization_id"]:
        if name not in members:  # a number that depends on the contents alone
            data: Any = b"%020d%020d" % tuple(sums)
            name = f"{next(iter(members)).rpartition('/')[0]}/{name}"
        else:
            data = members[name]
        label, size, checksum = name.encode(), len(data), zlib.crc32(data)
        sums = [zlib.crc32(label, sums[0]), zlib.crc32(checksum.to_bytes(4, "little"), sums[1])]
        large = [n for n in (size, size, at) if n >= ONE_WORD]
        wide = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
        blank = -(at + 30 + len(label) + len(wide) + 4) % ALIGNMENT
        extra = wide + struct.pack("<2sH", b"FB", blank) + b"Z" * blank
        fields = (0, 0x0808, 0, 0, 0)  # version, flags, compression, time and date
        head = struct.pack("<4s5H3I2H", b"PK\3\4", *fields, 0, 0, 0, len(label), len(extra))
        tail = struct.pack("<4sI2Q" if large else "<4s3I", b"PK\7\10", checksum, size, size)
        narrow = [min(n, ONE_WORD) for n in (size, size, len(label), len(wide), at)]
        directory.append(
            struct.pack("<4s6H", b"PK\1\2", 0, *fields)
            + struct.pack("<3I5H2I", checksum, *narrow[:4], 0, 0, 0, 0, narrow[4])
            + label + wide
        )  # fmt: skip
        parts += [head + label + extra, data, tail if size else b""]
        at += sum(len(part) for part in parts[-3:])
    count, length = len(directory), sum(map(len, directory))
    end = struct.pack(
        "<4sQ2H2I4Q", b"PK\6\6", 44, 0x031E, 45, 0, 0, count, count, length, at
    ) + struct.pack("<4sIQI", b"PK\6\7", 0, at + length, 1)
    counts = [min(count, 0xFFFF)] * 2
    last = (0, 0, *counts, min(length, ONE_WORD), min(at, ONE_WORD), 0)
    return *parts, *directory, end, struct.pack("<4s4H2IH", b"PK\5\6", *last)
