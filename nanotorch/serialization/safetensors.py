"""Objects in the safetensors format: their tensors, and the structure around them as JSON."""

import json
import math
import os
import pickle
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, BinaryIO

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.bfloat16 import bfloat16, from_bits, to_bits
from nanotorch._core.dtypes import BFLOAT16, device
from nanotorch._core.graph import HookDict
from nanotorch._core.layout import address
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.serialization.allowed import STATEFUL, fill, is_plain_object, name_of, named
from nanotorch.serialization.files import Parts
from nanotorch.serialization.kinds import LONGEST, description

# Tensors that share memory: how they are found, and how they share memory again.


Layout = dict[str, Any]
"""An array's place in memory: its ``group``, the ``bytes`` of that, its ``offset`` there in bytes,
and its ``strides``."""


def memory_range(array: np.ndarray) -> tuple[int, int]:
    """The address of an array's first byte, and the address after its last."""
    return byte_range(array, address(array), array.strides)


def byte_range(array: np.ndarray, start: int, strides: Sequence[int]) -> tuple[int, int]:
    """`memory_range` of an array with its first element at `start`, and with other strides."""
    if not array.size:
        return start, start
    # Negative strides reach below the first element.
    reach = [(n - 1) * step for n, step in zip(array.shape, strides, strict=True)]
    below, above = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    return start + below, start + above + array.itemsize


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements fill their memory without gaps, in any order of dimensions."""
    start, stop = memory_range(array)
    return stop - start == array.nbytes


def layouts(arrays: Sequence[np.ndarray]) -> list[Layout | None]:
    """The layout of each array; None for an array in order in memory of its own.

    An array that shares its memory with no other keeps its strides if it fills the memory. If not,
    it is stored without the gaps.
    """
    extents = [memory_range(array) for array in arrays]
    groups: list[list[int]] = []  # the positions of arrays in overlapping memory
    end = 0
    for position in sorted(range(len(arrays)), key=extents.__getitem__):
        start, stop = extents[position]
        if groups and start < end and start < stop:
            groups[-1].append(position)
        else:
            groups.append([position])
        end = max(end, stop)
    result: list[Layout | None] = [None] * len(arrays)
    for number, members in enumerate(groups):
        alone = len(members) == 1
        if alone and (arrays[members[0]].flags.c_contiguous or not is_dense(arrays[members[0]])):
            continue
        start = min(extents[m][0] for m in members)
        stop = max(extents[m][1] for m in members)
        for m in members:
            result[m] = {
                "group": number,
                "bytes": stop - start,
                "offset": address(arrays[m]) - start,
                "strides": list(arrays[m].strides),
            }
    return result


def restore_layouts(
    arrays: Sequence[np.ndarray], layouts: Sequence[Layout | None], trusted: bool
) -> list[np.ndarray]:
    """The arrays laid out as `layouts` says; those without a layout get their own memory.

    Args:
        trusted: allow more memory than the tensors have: early versions stored no gaps.

    Raises:
        ValueError: for a layout that needs more memory or leads out of it.
    """
    memories: dict[int, np.ndarray] = {}
    result, left = [], sum(array.nbytes for array in arrays)
    for array, layout in zip(arrays, layouts, strict=True):
        if layout is None:
            result.append(array.copy())
            continue
        memory = memories.get(layout["group"])
        if memory is None:
            left -= layout["bytes"]  # a small file must not allocate much memory
            if left < 0 and not trusted:
                raise ValueError(
                    f"{-left} bytes more than there are tensors of, as views saved by an earlier "
                    "version may take; if you trust the file, load it with weights_only=False"
                )
            memory = memories[layout["group"]] = np.zeros(layout["bytes"], np.uint8)
        offset, strides = layout["offset"], tuple(layout["strides"])
        # NumPy itself refuses an array that leads out of the memory, but not for numbers at which
        # its arithmetic overflows.
        start, stop = byte_range(array, offset, strides)
        if start < 0 or stop > memory.size:
            raise ValueError(f"bytes {start} to {stop} of {memory.size}")
        placed = array.__class__(array.shape, array.dtype, memory, offset, strides)
        placed[...] = array
        result.append(placed)
    return result


# The structure around the tensors of an object, as JSON, and back.
#
# None, bools, integers, strings and lists are JSON's own. Every other value is a JSON object with a
# key that names its kind: ``{"tuple": [...]}``, ``{"tensor": "layer.weight"}``. Kinds are looked up
# in tables, so a file can request no others.


PLAIN = (type(None), bool, int, str)
# Kinds by their names in the file. Of a container, its type:
SEQUENCES: dict[str, Any] = {
    "tuple": tuple, "Size": dtypes.Size, "set": set, "frozenset": frozenset,
}  # fmt: skip
MAPPINGS: dict[str, Any] = {"dict": dict, "Counter": Counter, "OrderedDict": OrderedDict}
NAMES = {list: "list", **{kind: name for name, kind in (SEQUENCES | MAPPINGS).items()}}
# Of a value of one string or several, its type, the function to JSON, and the one back:
SIMPLE: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "float": (float, float.hex, float.fromhex),  # exact, and for nan and infinity too
    "complex": (
        complex, lambda v: [v.real.hex(), v.imag.hex()],
        lambda content: complex(*map(float.fromhex, content)),
    ),
    "dtype": (dtypes.dtype, lambda v: v.name, dtypes.dtype_named),
    "device": (device, str, device),
}  # fmt: skip
SIMPLE_NAMES = {row[0]: name for name, row in SIMPLE.items()}
# Of a value that is stored among the tensors, the function from its array:
ARRAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "ndarray": lambda array: array,
    "scalar": lambda array: array[()],
    "bytes": lambda array: array.tobytes(),
    "bytearray": lambda array: bytearray(array.tobytes()),
    # Dtypes that tensors lack, stored as signed integers: NumPy's random state, for instance.
    "uint16": lambda array: array.view(np.uint16),
    "uint32": lambda array: array.view(np.uint32),
    "uint64": lambda array: array.view(np.uint64),
}
RESERVED = "__metadata__"  # not a tensor's name in safetensors


class Encoder:
    """Converts an object to JSON, and collects its tensors.

    Attributes:
        tensors: the tensors found so far, by their names in the file.
        has_objects: whether modules, other objects, classes or functions are among the values.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.has_objects = False
        # By identity: the first name in the file, and the value, kept alive so that no identity
        # is used twice.
        self._first: dict[int, tuple[str, Any]] = {}
        self._above: set[int] = set()  # the containers around the current value
        self._objects: dict[int, tuple[int, Any]] = {}  # their numbers, and the objects, kept alive

    def encode(self, value: Any, path: tuple[Any, ...] = ()) -> Any:
        """The JSON of a value.

        Args:
            path: the keys, indices and attributes that lead to it.

        Raises:
            TypeError: for a value that files cannot hold.
            ValueError: for a container that contains itself.
        """
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind in NAMES:
            if id(value) in self._above:
                raise ValueError(
                    f"cannot save {path_text(path)}: the {kind.__name__} contains itself"
                )
            self._above.add(id(value))
            encoded = self._encode_container(NAMES[kind], value, path)
            self._above.discard(id(value))
            return encoded
        if kind in SIMPLE_NAMES:
            name = SIMPLE_NAMES[kind]
            return {name: SIMPLE[name][1](value)}
        if isinstance(value, Module) or is_plain_object(value):
            return self._encode_object(value, path)
        defined = isinstance(value, (type, FunctionType, BuiltinFunctionType))
        if defined and (known_as := name_of(value)) is not None:
            self.has_objects = True
            return {"global": known_as}
        return self._encode_array(value, path)

    def _encode_object(self, value: Any, path: tuple[Any, ...]) -> Any:
        """The JSON of an object: its class and attributes, or its number from the second time."""
        self.has_objects = True
        if id(value) in self._objects:
            return {"again": self._objects[id(value)][0]}
        name = name_of(type(value))
        if name is None:
            raise TypeError(
                f"cannot save {path_text(path)}: its class {type(value).__qualname__} is not found "
                f"by its name in {type(value).__module__}; define it at the top of its module"
            )
        self._objects[id(value)] = len(self._objects), value
        pairs = []
        for key, part in vars(value).items():
            if isinstance(part, HookDict):
                part = dict(part)
                if not part:  # each module has several
                    continue
            # The tensors of a module get their names in its `state_dict`.
            within = path if key in PARTS else (*path, Attribute(key))
            pairs.append([key, self.encode(part, within)])
        return {"object": pairs, "class": name}

    def _encode_container(self, name: str, values: Any, path: tuple[Any, ...]) -> Any:
        if name not in MAPPINGS:
            entries = [self.encode(value, (*path, n)) for n, value in enumerate(values)]
            return entries if name == "list" else {name: entries}
        pairs = [
            [self.encode(key, (*path, "a key")), self.encode(value, (*path, key))]
            for key, value in values.items()
        ]
        metadata = getattr(values, "_metadata", None)  # the versions of a module's parts
        return {name: pairs} | ({} if metadata is None else {"metadata": self.encode(metadata)})

    def _encode_array(self, value: Any, path: tuple[Any, ...]) -> Any:
        kind = type(value)
        if kind is np.ndarray and not value.dtype.isnative:  # a file stores no byte order
            value = value.astype(value.dtype.newbyteorder("="))
        if kind in (Tensor, Parameter):
            encoded = {"parameter" if kind is Parameter else "tensor": self._named(value, path)}
            encoded["requires_grad"] = value.requires_grad
            return encoded | {"is": self._first[id(value)][0]}
        if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype in dtypes.OF_NUMPY:
            name = "ndarray" if kind is np.ndarray else "scalar"
            return {name: self._named(value, path)}
        if kind is np.ndarray and value.dtype.name in ARRAYS:
            signed = value.view(value.dtype.name.removeprefix("u"))
            return {value.dtype.name: self._named(signed, path)}
        if kind is bytes or kind is bytearray:
            return {kind.__name__: self._named(np.frombuffer(value, np.uint8), path)}
        if kind.__module__.partition(".")[0] == "torch" and hasattr(value, "__dlpack__"):
            return self.encode(of_pytorch(value), path)
        raise TypeError(why_not_saved(value, path))

    def _named(self, value: Any, path: tuple[Any, ...]) -> str:
        """Store the values under a new name, which is returned; each place stores them again."""
        wanted = ".".join(map(str, path)).encode("utf-8", "backslashreplace").decode() or "tensor"
        name, number = wanted, 1
        while name in self.tensors or name == RESERVED:
            number += 1
            name = f"{wanted}#{number}"
        self._first.setdefault(id(value), (name, value))
        self.tensors[name] = value if isinstance(value, Tensor) else wrap(np.asarray(value))
        return name


def of_pytorch(value: Any) -> Tensor:
    """A tensor of PyTorch itself as one of nanotorch."""
    value = value.detach().cpu()
    short = str(value.dtype) == "torch.bfloat16"
    return wrap(bfloat16(value.float().numpy()) if short else value.numpy())


class Attribute(str):
    """The name of an attribute in the path to a value."""


PARTS = ("_parameters", "_buffers", "_modules")


def path_text(path: tuple[Any, ...]) -> str:
    """The Python expression for the value at a path, such as ``obj['model'][0]``."""
    return "obj" + "".join(
        f".{key}" if isinstance(key, Attribute) else f"[{key!r}]" for key in path
    )


def why_not_saved(value: Any, path: tuple[Any, ...]) -> str:
    """The message for a value that cannot be saved, with advice."""
    kind = type(value).__name__
    message = f"cannot save {path_text(path)}: "
    if isinstance(value, STATEFUL):
        return message + (
            f"a whole {kind} is code, which files of nanotorch do not hold. Save its state, "
            f"`state_dict()`, and give it to `load_state_dict()` of a new {kind}"
        )
    if callable(value):
        return message + (
            f"{getattr(value, '__name__', kind)!r} is code, which files of nanotorch do not hold. "
            "Save the values from which it can be made again"
        )
    bases = [b for b in (dict, list, tuple, int, float, str, Tensor) if isinstance(value, b)]
    advice = f"; convert it to a plain {bases[0].__name__}" if bases else ""
    of = f" of dtype {value.dtype}" if hasattr(value, "dtype") else ""
    return message + (
        f"{kind}{of} cannot be in a file of nanotorch. Files hold tensors, arrays and numbers of "
        "NumPy, None, bools, numbers, texts, bytes, and dicts, lists, tuples and sets of them"
        f"{advice}"
    )


class Decoder:
    """Rebuilds an object from its JSON and the tensors' arrays."""

    def __init__(self, arrays: dict[str, np.ndarray], weights_only: bool | None) -> None:
        self._arrays, self._weights_only = arrays, weights_only
        self._objects: list[Any] = []  # in the order of their numbers
        self._made: dict[str, Tensor] = {}  # by the first name in the file

    def decode(self, value: Any) -> Any:
        """The value that a JSON value describes."""
        if type(value) in PLAIN:
            return value
        if isinstance(value, list):
            return [self.decode(entry) for entry in value]
        kind, content = next(iter(value.items()))
        if kind in SEQUENCES:
            return SEQUENCES[kind](self.decode(content))
        if kind in MAPPINGS:
            pairs = [(self.decode(key), self.decode(entry)) for key, entry in content]
            result = MAPPINGS[kind](dict(pairs))
            if kind == "OrderedDict" and "metadata" in value:
                result._metadata = self.decode(value["metadata"])
            return result
        if kind in SIMPLE:
            return SIMPLE[kind][2](content)
        if kind in ("tensor", "parameter"):
            return self._tensor(content, value)
        if kind == "object":
            return self._object(content, value["class"])
        if kind == "again":
            return self._objects[content]
        if kind == "global":
            return named(content, self._weights_only)
        return ARRAYS[kind](self._array(content))

    def _object(self, content: Any, name: str) -> Any:
        """An object rebuilt from its class and attributes, without a call of its own code."""
        made: Any = object.__new__(named(name, self._weights_only))
        if isinstance(made, Module):
            Module.__init__(made)
        self._objects.append(made)
        fill(made, ((key, self.decode(part)) for key, part in content))
        return made

    def _array(self, name: str) -> np.ndarray:
        """Take the array of a name, once: repeated use could make a small file fill the memory."""
        return self._arrays.pop(name)

    def _tensor(self, content: Any, value: Any) -> Tensor:
        """The leaf that a JSON value describes, the same one wherever it occurs."""
        first, needed = value["is"], value["requires_grad"] is True
        if first not in self._made:
            data = wrap(self._array(content))
            parameter = "parameter" in value
            made = Parameter(data, needed) if parameter else data.requires_grad_(needed)
            self._made[first] = made
        return self._made[first]


# One file in the safetensors format: tensors by name, and the rest as metadata.
#
# A file of nanotorch has two strings of metadata: ``nanotorch``, which is JSON of the structure
# around the tensors, their layouts in memory and a checksum of each; and a checksum of that JSON.
# Other libraries read the tensors and ignore the strings.


FORMAT, FORMAT_OF_VALUES = 2, 1  # the second has no objects
OURS, CHECKSUM = "nanotorch", "nanotorch.crc32"
# safetensors' names of dtypes, but those that NumPy or nanotorch lacks.
DTYPES = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "I8": dtypes.int8, "I16": dtypes.int16,
    "I32": dtypes.int32, "I64": dtypes.int64, "F16": dtypes.float16, "F32": dtypes.float32,
    "F64": dtypes.float64, "BF16": dtypes.bfloat16,
}  # fmt: skip
DTYPE_NAMES = {kind: name for name, kind in DTYPES.items()}


def pack_file(obj: Any) -> Parts:
    """The bytes of a file that holds an object, in parts."""
    encoder = Encoder()
    try:
        structure = encoder.encode(obj)
    except RecursionError:
        raise ValueError("cannot save obj: its containers are nested too deeply") from None
    arrays = {name: tensor._array for name, tensor in encoder.tensors.items()}
    places = layouts(list(arrays.values()))
    sizes = {place["group"]: place["bytes"] for place in places if place is not None}
    gaps = sum(sizes.values()) - sum(array.nbytes for array in arrays.values())
    if gaps > 0:  # `restore_layouts` allocates no more memory than the file has
        arrays[encoder._named(0, ("gaps",))] = np.zeros(gaps, np.uint8)
        places.append(None)
    text = json.dumps(
        {
            "format": FORMAT if encoder.has_objects else FORMAT_OF_VALUES,
            "structure": structure,
            "layouts": dict(zip(arrays, places, strict=True)),
            "crc32": {name: checksum(array) for name, array in arrays.items()},
        },
        separators=(",", ":"),
    )
    header: dict[str, Any]
    header = {RESERVED: {"format": "pt", OURS: text, CHECKSUM: str(zlib.crc32(text.encode()))}}
    kinds = {name: dtypes.dtype_of(array) for name, array in arrays.items()}
    parts, end = [], 0
    for name in sorted(arrays, key=lambda name: (-kinds[name].itemsize, name)):
        parts.append(stored_bytes(arrays[name]))  # the larger numbers first: all are aligned
        start, end = end, end + parts[-1].nbytes
        place = {"shape": arrays[name].shape, "data_offsets": [start, end]}
        header[name] = {"dtype": DTYPE_NAMES[kinds[name]], **place}
    head = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head, *parts


def stored_bytes(array: np.ndarray) -> memoryview:
    """The values in order as bytes; without a copy if they are in order in memory."""
    array = np.asarray(to_bits(array) if array.dtype == BFLOAT16 else array, order="C")
    return array.reshape(-1).view(np.uint8).data


def checksum(array: np.ndarray) -> int:
    """The CRC-32 of an array's values, which shows whether they were changed."""
    return zlib.crc32(stored_bytes(array))


def unpack_file(file: BinaryIO, path: str, weights_only: bool | None = None) -> Any:
    """The object that was saved in a file, or a dict of another library's tensors.

    Args:
        path: the file's name in errors.
        weights_only: as for `load`.

    Raises:
        pickle.UnpicklingError, EOFError, RuntimeError: as `load`.
    """
    header, size = read_header(file, path)
    metadata = header.pop(RESERVED, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise RuntimeError(f"{path}: its header is damaged (its metadata are not strings)")
    try:
        arrays = read_arrays(file, header, size, path)
        if OURS not in metadata:
            return {name: wrap(array.copy()) for name, array in arrays.items()}
    except MemoryError:
        raise RuntimeError(f"{path}: its {size:,} bytes do not fit into the memory") from None
    text = metadata[OURS]
    if str(zlib.crc32(text.encode(errors="replace"))) != metadata.get(CHECKSUM):
        raise RuntimeError(f"{path}: the description of its contents was changed after saving")
    try:
        contents = json.loads(text)
        reason = find_mismatch(contents, arrays)
        if reason is None:
            names = list(contents["crc32"])
            places = [contents["layouts"][n] for n in names]
            placed = restore_layouts([arrays[n] for n in names], places, weights_only is False)
            decoder = Decoder(dict(zip(names, placed, strict=True)), weights_only)
            return decoder.decode(contents["structure"])
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # of any kind: a forged file may hold any description
        raise RuntimeError(
            f"{path}: the description of its contents makes no sense "
            f"({type(error).__name__}: {error})"
        ) from error
    raise RuntimeError(f"{path}: {reason}")


def find_mismatch(contents: Any, arrays: dict[str, np.ndarray]) -> str | None:
    """The reason why the parsed contents do not fit the arrays; None if they do."""
    if contents["format"] not in (FORMAT, FORMAT_OF_VALUES):
        return (
            f"written in format {short_repr(contents['format'])} by a later version of nanotorch; "
            f"this one reads format {FORMAT}"
        )
    for name, expected in contents["crc32"].items():
        if name not in arrays:
            return f"the tensor {name!r} is missing"
        if checksum(arrays[name]) != expected:
            return f"the tensor {name!r} was changed after saving"
    return None


def read_header(file: BinaryIO, path: str) -> tuple[dict[str, Any], int]:
    """The header of a file: names, dtypes, shapes and places; and the number of bytes after it."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """The dict of a JSON object; raises ValueError if a name is in it twice."""
        counts = Counter(key for key, _ in pairs)
        if len(counts) < len(pairs):
            raise ValueError(f"{short_repr(counts.most_common(1)[0][0])} occurs twice")
        return dict(pairs)

    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    beginning = file.read(16)
    if not beginning:
        raise EOFError(f"{path} is empty, or was read to its end before; rewind it by seek(0)")
    length = int.from_bytes(beginning[:8], "little")
    # safetensors' own limit for the length of the header.
    if size < 8 or length > 100_000_000 or beginning[8:9] not in (b"{", b""):
        begins = f"is not a file of nanotorch or safetensors; it begins with {beginning!r}"
        raise RuntimeError(f"{path} {description(file) or begins}")
    if size < 8 + length:
        raise RuntimeError(
            f"{path} is cut off: its header has {length} bytes, of which {size - 8} are there"
        )
    file.seek(8)
    try:
        header = json.loads(file.read(length), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise RuntimeError(f"{path}: its header is damaged ({error})") from error
    return header, size - 8 - length


def short_repr(value: object) -> str:
    """The `repr` of a value, cut off after `LONGEST` characters."""
    text = repr(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def read_arrays(
    file: BinaryIO, header: dict[str, Any], size: int, path: str
) -> dict[str, np.ndarray]:
    """The tensors of a file, as read-only arrays by name.

    Raises:
        RuntimeError: for a damaged header or a file that is cut off.
    """
    reached, name = 0, ""
    try:
        for name, entry in header.items():  # noqa: B007 - the error names it
            entry["dtype"], entry["shape"], [int(n) for n in entry["data_offsets"]]
        # In the order of their places, which must have no gaps.
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            kind, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            if not isinstance(kind, str) or kind not in DTYPES:
                raise RuntimeError(
                    f"{path}: the tensor {short_repr(name)} has the dtype {kind!s:.{LONGEST}} of "
                    "safetensors, which nanotorch lacks; convert it to one of "
                    f"{', '.join(DTYPES)} first"
                )
            sizes = [*shape, start, end]
            whole = isinstance(shape, list) and start == reached
            whole &= all(type(n) is int and 0 <= n < 2**63 for n in sizes)
            if not whole or math.prod(shape) * DTYPES[kind].itemsize != end - start:
                place = f"byte {start} to {end} of {kind} in shape {shape}"
                raise ValueError(f"{short_repr(name)} cannot be {place}")
            reached = end
    except (TypeError, KeyError, ValueError) as error:
        reason = f"{type(error).__name__}: {short_repr(str(error))}"
        raise RuntimeError(
            f"{path}: its header is damaged ({short_repr(name)}, after byte {reached}: {reason})"
        ) from None
    if reached > size:
        before = file.tell()
        raise RuntimeError(
            f"{path} is cut off: of {before + reached} bytes {before + size} are there"
        )
    if reached < size:
        raise RuntimeError(f"{path} is damaged: {size - reached} bytes belong to no tensor")
    data = file.read(size)
    if len(data) < size:  # another program has just shortened it
        raise RuntimeError(f"{path} is cut off: {size - len(data)} bytes are missing at its end")
    arrays = {}
    for name, entry in header.items():
        kind, shape, start = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"][0]
        halves = kind is dtypes.bfloat16
        try:
            array = np.ndarray(shape, np.uint16 if halves else kind._numpy, data, start)
            arrays[name] = from_bits(array) if halves else array
        except (ValueError, OverflowError) as error:  # a dimension of 0 and others too large
            raise RuntimeError(
                f"{path}: the shape of the tensor {short_repr(name)}: {error}"
            ) from None
    return arrays
