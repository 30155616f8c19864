"""Objects with their tensors in one file: `save` and `load`, in the safetensors format.

Nothing of what a file holds is executed. `files` has where bytes come from and go to.
"""

import importlib
import json
import math
import os
import pickle
import sys
import zipfile
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType
from typing import Any, BinaryIO

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.bfloat16 import bfloat16, from_bits, to_bits
from nanotorch._core.dtypes import BFLOAT16, absent, device
from nanotorch._core.graph import HookDict
from nanotorch._core.layout import address
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.names.lookup import STAND_INS, on_demand
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.optim.lr_scheduler import LRScheduler
from nanotorch.optim.optimizer import Optimizer
from nanotorch.serialization.files import Parts, file_bytes, write

# Classes and functions that a file may name: nanotorch's own, and those that a program has noted.
#
# Nothing that a file of `save` names is ever called: objects get their class and attributes.


noted: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Note classes and functions, or pairs of one and its name."""
    noted.extend(entry for entry in safe_globals if entry not in noted)


def get_safe_globals() -> list[Any]:
    """What was noted."""
    return list(noted)


def clear_safe_globals() -> None:
    """Forget what was noted."""
    noted.clear()


class safe_globals:  # noqa: N801 - PyTorch's name
    """`add_safe_globals` inside `with`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self.before = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        noted[:] = self.before


OWN = ("nanotorch.nn.", "nanotorch.ops.")  # where layers and functions stand that any file names
PUBLIC = ("nanotorch", "nanotorch.nn.functional", "nanotorch.nn.init")  # the functions among them
NOT_ALLOWED = (
    "Weights only load failed: the file holds {0}, which was not an allowed global by default. If "
    "you trust it, use `torch.serialization.add_safe_globals([{0}])`, or load the file with "
    "weights_only=False"
)


def name_of(value: Any) -> str | None:
    """The name by which `named` finds a class or function again, if it does."""
    name = f"{getattr(value, '__module__', None)}:{getattr(value, '__qualname__', None)}"
    return name if definition_at(name) is value else None


def definition_at(name: str) -> Any:
    """What is defined under a name in a module that is there, or None."""
    module, _, path = name.partition(":")
    if module.startswith(OWN):
        with suppress(ImportError):
            importlib.import_module(module)
    first, *inner = path.split(".")
    found: Any = getattr(sys.modules.get(module), first, None)
    for part in inner:  # of classes alone: a property of an instance is code
        found = getattr(found, part, None) if isinstance(found, type) else None
    # Not what that module has imported, but what stands in for one that is gone, or PyTorch has.
    defined = f"{getattr(found, '__module__', None)}:{getattr(found, '__qualname__', None)}"
    if defined == name or module in STAND_INS:
        return found
    from nanotorch.names.scope import HOMES  # few files need it

    return found if module.partition(".")[2] in HOMES else None


def named(name: str, weights_only: bool | None) -> Any:
    """The class or function that a file names.

    Raises:
        pickle.UnpicklingError: if it may not.
        RuntimeError: if there is none.
    """
    known = name.replace(":", ".")
    for entry in noted:
        value, own = entry if isinstance(entry, tuple) else (entry, None)
        if known == (own or f"{value.__module__}.{value.__qualname__}"):
            return value
    trusted = weights_only is False
    found = definition_at(name) if trusted or name.startswith(OWN) else None
    # Any file may put layers into a module, and the functions that layers use. Others may execute
    # what they are given, and a module calls its hooks with what a file holds.
    if isinstance(found, type):
        harmless = issubclass(found, Module)
    else:
        own = getattr(found, "__qualname__", "")
        homes = map(importlib.import_module, PUBLIC if own else ())
        harmless = any(getattr(home, own, None) is found for home in homes)
    if not trusted and not harmless:
        shown = known[:200].encode("utf-8", "backslashreplace").decode("utf-8")
        raise pickle.UnpicklingError(NOT_ALLOWED.format(shown))
    if found is None:
        raise RuntimeError(f"there is no {known}; define or import it before the file is loaded")
    return found


# What a file is that `load` cannot read, by its first bytes, and what to do about it.


CONVERT = (
    "It holds pickles, which can run any code when they are read, so nanotorch does not read it. "
    "To convert it, run where both PyTorch and nanotorch are installed:\n"
    "    import nanotorch, torch\n"
    "    nanotorch.save(torch.load({path!r}, weights_only=True), 'converted.safetensors')\n"
    "or, for a state_dict, where PyTorch and safetensors are:\n"
    "    from safetensors.torch import save_file\n"
    "    save_file(torch.load({path!r}, weights_only=True), 'converted.safetensors')\n"
    "and nanotorch.load('converted.safetensors') here"
)
# First bytes, what they tell.
KINDS = (
    (b"version https://git-lfs", "a pointer of Git LFS; `git lfs pull` gets the file itself"),
    (b"\x93NUMPY", "an array of NumPy; numpy.load reads it and nanotorch.from_numpy takes that"),
    (b"\x89HDF", "an HDF5 file; h5py reads it"),
    (b"GGUF", "a GGUF file"),
    (b"<", "a page of the web rather than the file that was to be fetched"),
    (b"\x1f\x8b", "compressed by gzip; unpack it first"),
)
# How the name of a file in a zip archive ends, and what the archive is then.
INSIDE = {
    "/constants.pkl": "is a program of torch.jit, which nanotorch does not have; save the "
    "state_dict of the original model where PyTorch is installed",
    "data.pkl": "is a checkpoint of torch.save. {}",
    ".npy": "is an archive of arrays; numpy.load reads it and nanotorch.from_numpy takes those",
}
BEGINNING = 32
MAGIC = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"  # of PyTorch's files before 1.6


def description(file: BinaryIO, path: str) -> str | None:
    """What a file is and what to do, in a sentence; None if its beginning tells nothing.

    Args:
        path: how the file is named in the advice.
    """
    file.seek(0)
    data = file.read(BEGINNING)
    if data.startswith(b"PK\x03\x04"):
        try:
            names = " ".join(zipfile.ZipFile(file).namelist()) + " "
        except Exception:  # of which a damaged archive, whose directory stands at its end, has many
            return "is a zip archive that was cut off, maybe of torch.save; get it again"
        found = (told for end, told in INSIDE.items() if f"{end} " in names)
        return next(found, "is a zip archive, of which nanotorch knows nothing").format(
            CONVERT.format(path=path)
        )
    if data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05":
        kind = "a checkpoint of torch.save in its old format" if MAGIC in data else "a pickle"
        return f"is {kind}. {CONVERT.format(path=path)}"
    for beginning, kind in KINDS:
        if data.startswith(beginning):
            return f"is {kind}"
    return None


# Tensors that lie in the same memory: which they are, and how they come to do so again.


Layout = dict[str, Any]
"""Where an array lies: ``group``, ``offset`` in bytes from its group's beginning, ``strides``."""


def memory_range(array: np.ndarray) -> tuple[int, int]:
    """The address of an array's first byte and of that after its last."""
    return byte_range(array, address(array), array.strides)


def byte_range(array: np.ndarray, start: int, strides: Sequence[int]) -> tuple[int, int]:
    """As `memory_range`, of the array with its first element at `start`, and these strides."""
    if not array.size:
        return start, start
    # Negative strides reach below the first element.
    reach = [(n - 1) * step for n, step in zip(array.shape, strides, strict=True)]
    below, above = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    return start + below, start + above + array.itemsize


def overlapping_groups(arrays: Sequence[np.ndarray]) -> list[list[int]]:
    """The positions of the arrays, those together whose memory overlaps."""
    extents = [memory_range(array) for array in arrays]
    found: list[list[int]] = []
    end = 0
    for position in sorted(range(len(arrays)), key=extents.__getitem__):
        start, stop = extents[position]
        if found and start < end and start < stop:
            found[-1].append(position)
        else:
            found.append([position])
        end = max(end, stop)
    return found


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements fill the memory they lie in, in whatever order of dimensions."""
    start, stop = memory_range(array)
    return stop - start == array.nbytes


def layouts(arrays: Sequence[np.ndarray]) -> list[Layout | None]:
    """How to lay out each array again; None for elements in order in memory of their own.

    What is alone in its memory keeps its strides if it fills that memory, and is stored without
    the gaps if it does not.
    """
    result: list[Layout | None] = [None] * len(arrays)
    for number, members in enumerate(overlapping_groups(arrays)):
        alone = len(members) == 1
        if alone and (arrays[members[0]].flags.c_contiguous or not is_dense(arrays[members[0]])):
            continue
        start = min(memory_range(arrays[m])[0] for m in members)
        stop = max(memory_range(arrays[m])[1] for m in members)
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
    """The arrays in memory as `layouts` told, with memory of their own else.

    Args:
        trusted: they may take more memory than there are tensors: files have had no gaps once.
    """
    memories: dict[int, np.ndarray] = {}
    result, left = [], sum(array.nbytes for array in arrays)
    for array, layout in zip(arrays, layouts, strict=True):
        if layout is None:
            result.append(array.copy())
            continue
        memory = memories.get(layout["group"])
        if memory is None:
            left -= layout["bytes"]  # a small file may not ask for much memory
            if left < 0 and not trusted:
                raise ValueError(
                    f"{-left} bytes more than there are tensors of, as views saved by an earlier "
                    "version may take; if you trust the file, load it with weights_only=False"
                )
            memory = memories[layout["group"]] = np.zeros(layout["bytes"], np.uint8)
        offset, strides = layout["offset"], tuple(layout["strides"])
        # NumPy refuses an array that would lead out of the memory, unless the numbers are so large
        # that its own arithmetic overflows.
        start, stop = byte_range(array, offset, strides)
        if start < 0 or stop > memory.size:
            raise ValueError(f"bytes {start} to {stop} of {memory.size}")
        placed = array.__class__(array.shape, array.dtype, memory, offset, strides)
        placed[...] = array
        result.append(placed)
    return result


# Everything around the tensors of an object, as JSON, and back.
#
# None, bools, integers, texts and lists are JSON's own. Everything else is an object with one key
# that names its kind: ``{"tuple": [...]}``, ``{"tensor": "layer.weight"}``. Kinds are looked up in
# a table, so that a file can ask for nothing else.


PLAIN = (type(None), bool, int, str)
# Kinds by their names in the file: of containers the type,
SEQUENCES: dict[str, Any] = {
    "tuple": tuple, "Size": dtypes.Size, "set": set, "frozenset": frozenset,
}  # fmt: skip
MAPPINGS: dict[str, Any] = {"dict": dict, "Counter": Counter, "OrderedDict": OrderedDict}
NAMES = {list: "list", **{kind: name for name, kind in (SEQUENCES | MAPPINGS).items()}}
# of what is one text or several the type, the value as JSON, and back,
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
# and of what is stored beside the tensors what is made of its array.
ARRAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "ndarray": lambda array: array,
    "scalar": lambda array: array[()],
    "bytes": lambda array: array.tobytes(),
    "bytearray": lambda array: bytearray(array.tobytes()),
    # What no tensor is of, stored as signed: NumPy's random state, for instance.
    "uint16": lambda array: array.view(np.uint16),
    "uint32": lambda array: array.view(np.uint32),
    "uint64": lambda array: array.view(np.uint64),
}
STATEFUL = (Optimizer, LRScheduler)
RESERVED = "__metadata__"  # what safetensors does not take for a tensor's name


class Encoder:
    """Takes an object apart.

    Attributes:
        tensors: what was found, by the names they get in the file.
        has_objects: whether there are modules, other objects, classes or functions among it.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.has_objects = False
        # Which is stored under which name first, and alive, so that no identity is used twice.
        self._first: dict[int, tuple[str, Any]] = {}
        self._above: set[int] = set()  # the containers that surround the value at hand
        self._objects: dict[int, tuple[int, Any]] = {}  # with their numbers, and alive

    def encode(self, value: Any, path: tuple[Any, ...] = ()) -> Any:
        """The JSON of a value."""
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
        """An object: its class and its attributes, at the first place where it stands."""
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
                if not part:  # each module has them
                    continue
            # The parts of a module go by the names that they have in its state.
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
        if kind is np.ndarray and not value.dtype.isnative:  # a file tells no order
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
            value = value.detach().cpu()  # PyTorch's own tensors
            short = str(value.dtype) == "torch.bfloat16"
            return self.encode(
                wrap(bfloat16(value.float().numpy()) if short else value.numpy()), path
            )
        raise TypeError(why_not_saved(value, path))

    def _named(self, value: Any, path: tuple[Any, ...]) -> str:
        """The name under which the values are stored; they are stored once for each place."""
        wanted = ".".join(map(str, path)) or "tensor"
        name, number = wanted, 1
        while name in self.tensors or name == RESERVED:
            number += 1
            name = f"{wanted}#{number}"
        self._first.setdefault(id(value), (name, value))
        self.tensors[name] = value if isinstance(value, Tensor) else wrap(np.asarray(value))
        return name


class Attribute(str):
    """In the path to a value, the name of an attribute."""


PARTS = ("_parameters", "_buffers", "_modules")


def is_plain_object(value: Any) -> bool:
    """Whether an object is its class and its attributes, as far as pickles see it, too."""
    kind: Any = type(value)
    return (
        hasattr(value, "__dict__")
        and not isinstance(value, (type, FunctionType, *STATEFUL))
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not hasattr(kind, "__setstate__")
        and kind.__basicsize__ == Module.__basicsize__  # neither slots nor values of C
    )


def path_text(path: tuple[Any, ...]) -> str:
    """Where a value stands, as Python would reach it."""
    return "obj" + "".join(
        f".{key}" if isinstance(key, Attribute) else f"[{key!r}]" for key in path
    )


def why_not_saved(value: Any, path: tuple[Any, ...]) -> str:
    """Why a value cannot be saved, and what can be in its place."""
    kind = type(value).__name__
    told = f"cannot save {path_text(path)}: "
    if isinstance(value, STATEFUL):
        return told + (
            f"a whole {kind} is code, which files of nanotorch do not hold. Save its state, "
            f"`state_dict()`, and give it to `load_state_dict()` of a new {kind}"
        )
    if callable(value):
        return told + (
            f"{getattr(value, '__name__', kind)!r} is code, which files of nanotorch do not hold. "
            "Save what it needs to be made anew"
        )
    bases = [b for b in (dict, list, tuple, int, float, str, Tensor) if isinstance(value, b)]
    advice = f"; convert it to a plain {bases[0].__name__}" if bases else ""
    of = f" of dtype {value.dtype}" if hasattr(value, "dtype") else ""
    return told + (
        f"{kind}{of} is none of what files of nanotorch hold: tensors, arrays and numbers of "
        "NumPy, None, bools, numbers, texts, bytes, and dicts, lists, tuples and sets of them"
        f"{advice}"
    )


class Decoder:
    """Puts an object together from its JSON and the tensors' arrays."""

    def __init__(self, arrays: dict[str, np.ndarray], weights_only: bool | None) -> None:
        self._arrays, self._weights_only = arrays, weights_only
        self._objects: list[Any] = []  # in the order of their numbers
        self._made: dict[str, Tensor] = {}  # by the name of the first place

    def decode(self, value: Any) -> Any:
        """The value of which this is the JSON."""
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
        """An object by its class and attributes, without a call of its own code."""
        made: Any = object.__new__(named(name, self._weights_only))
        if isinstance(made, Module):
            Module.__init__(made)
        self._objects.append(made)
        own = vars(made)
        for key, part in content:
            value = self.decode(part)
            if isinstance(own.get(key), HookDict):
                own[key].update(value)
            else:
                own[key] = value
        return made

    def _array(self, name: str) -> np.ndarray:
        """The array of this name, which stands at one place.

        At many it could make a small file fill the memory.
        """
        return self._arrays.pop(name)

    def _tensor(self, content: Any, value: Any) -> Tensor:
        """A leaf, the same one at all places where it stood."""
        first, needed = value["is"], value["requires_grad"] is True
        if first not in self._made:
            data = wrap(self._array(content))
            parameter = "parameter" in value
            made = Parameter(data, needed) if parameter else data.requires_grad_(needed)
            self._made[first] = made
        return self._made[first]


# One file in the safetensors format: tensors by name, and what belongs to them as metadata.
#
# Beside the tensors, files of nanotorch carry two texts: ``nanotorch``, which is JSON of the
# structure around the tensors, how they lie in memory, and a checksum of each; and a checksum of
# that. Other libraries read the tensors and pass over the texts.


FORMAT, FORMAT_OF_VALUES = 2, 1  # the second has no objects
OURS, CHECKSUM = "nanotorch", "nanotorch.crc32"
LONGEST = 100  # characters of a name in a message
# safetensors' names of dtypes; the rest is what NumPy or nanotorch lacks.
DTYPES = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "I8": dtypes.int8, "I16": dtypes.int16,
    "I32": dtypes.int32, "I64": dtypes.int64, "F16": dtypes.float16, "F32": dtypes.float32,
    "F64": dtypes.float64, "BF16": dtypes.bfloat16,
}  # fmt: skip


def pack_file(obj: Any) -> Parts:
    """The bytes of a file that holds an object, as `sort_header` gives them."""
    from safetensors.numpy import save

    encoder = Encoder()
    try:
        structure = encoder.encode(obj)
    except RecursionError:
        raise ValueError("cannot save obj: its containers are nested too deeply") from None
    arrays = {name: tensor._array for name, tensor in encoder.tensors.items()}
    places = layouts(list(arrays.values()))
    sizes = {place["group"]: place["bytes"] for place in places if place is not None}
    gaps = sum(sizes.values()) - sum(array.nbytes for array in arrays.values())
    if gaps > 0:  # `restore_layouts` gives no more memory than the file has
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
    metadata = {"format": "pt", OURS: text, CHECKSUM: str(zlib.crc32(text.encode()))}
    # safetensors writes the memory as it lies, whatever the strides say.
    return sort_header(
        save({n: as_stored(a) for n, a in arrays.items()}, metadata), encoder.tensors
    )


def as_stored(array: np.ndarray) -> np.ndarray:
    """The values in order in memory, of a dtype that safetensors takes from NumPy."""
    return np.asarray(to_bits(array) if array.dtype == BFLOAT16 else array, order="C")


def sort_header(data: bytes, tensors: dict[str, Tensor]) -> Parts:
    """The file with its texts in the order of their names, which safetensors leaves to chance,
    and with the dtypes that NumPy lacks.

    In two parts, as the tensors need not be copied.
    """
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header[RESERVED] = dict(sorted(header[RESERVED].items()))
    for name, tensor in tensors.items():
        if tensor._array.dtype == BFLOAT16:
            header[name]["dtype"] = "BF16"
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, memoryview(data)[start:]


def checksum(array: np.ndarray) -> int:
    """What tells whether the values have been changed."""
    return zlib.crc32(as_stored(array).reshape(-1).view(np.uint8).data)


def unpack_file(file: BinaryIO, path: str, weights_only: bool | None = None) -> Any:
    """The object that a file holds: what was saved, or a dict of another library's tensors.

    Args:
        path: how errors name the file.
        weights_only: as `load` has it.
    """
    header, size = read_header(file, path)
    metadata = header.pop(RESERVED, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise RuntimeError(f"{path}: its header is damaged (its metadata are no texts)")
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
        told = json.loads(text)
        reason = find_mismatch(told, arrays)
        value = None if reason else rebuild_object(told, arrays, weights_only)
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # of any kind: a forger may write what he likes
        raise RuntimeError(
            f"{path}: the description of its contents makes no sense "
            f"({type(error).__name__}: {error})"
        ) from error
    if reason:
        raise RuntimeError(f"{path}: {reason}")
    return value


def find_mismatch(told: Any, arrays: dict[str, np.ndarray]) -> str | None:
    """Why the parsed description does not belong to the arrays, if it does not."""
    if told["format"] not in (FORMAT, FORMAT_OF_VALUES):
        return (
            f"written in format {short_repr(told['format'])} by a later version of nanotorch; this "
            f"one reads format {FORMAT}"
        )
    for name, expected in told["crc32"].items():
        if name not in arrays:
            return f"the tensor {name!r} is missing"
        if checksum(arrays[name]) != expected:
            return f"the tensor {name!r} was changed after saving"
    return None


def rebuild_object(told: Any, arrays: dict[str, np.ndarray], weights_only: bool | None) -> Any:
    """The object from the parsed description and the arrays."""
    names = list(told["crc32"])
    layouts = [told["layouts"][n] for n in names]
    placed = restore_layouts([arrays[n] for n in names], layouts, weights_only is False)
    return Decoder(dict(zip(names, placed, strict=True)), weights_only).decode(told["structure"])


def read_header(file: BinaryIO, path: str) -> tuple[dict[str, Any], int]:
    """The part of a file that tells names, dtypes, shapes and places, and how many bytes follow."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """An object of JSON without a name that stands there twice."""
        counts = Counter(key for key, _ in pairs)
        if len(counts) < len(pairs):
            raise ValueError(f"{short_repr(counts.most_common(1)[0][0])} stands there twice")
        return dict(pairs)

    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    beginning = file.read(16)
    if not beginning:
        raise EOFError(f"{path} is empty, or was read to its end before; rewind it by seek(0)")
    length = int.from_bytes(beginning[:8], "little")
    # What safetensors itself takes for the longest header.
    if size < 8 or length > 100_000_000 or beginning[8:9] not in (b"{", b""):
        begins = f"is no file of nanotorch or safetensors; it begins with {beginning!r}"
        raise RuntimeError(f"{path} {description(file, path) or begins}")
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
    """What `repr` tells of a value, cut off where it becomes too long for a message."""
    text = repr(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def read_arrays(
    file: BinaryIO, header: dict[str, Any], size: int, path: str
) -> dict[str, np.ndarray]:
    """The tensors of a file as arrays that cannot be written to."""
    reached, name = 0, ""
    try:
        for name, entry in header.items():  # noqa: B007 - the error tells it
            entry["dtype"], entry["shape"], [int(n) for n in entry["data_offsets"]]
        # In the order in which they lie, without a gap.
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
        raise RuntimeError(f"{path} is damaged: {size - reached} bytes are no part of a tensor")
    data = file.read(size)
    if len(data) < size:  # another program has shortened it since
        raise RuntimeError(f"{path} is cut off: {size - len(data)} bytes are missing at its end")
    arrays = {}
    for name, entry in header.items():
        kind, shape, start = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"][0]
        halves = kind is dtypes.bfloat16
        try:
            array = np.ndarray(shape, np.uint16 if halves else kind._numpy, data, start)
            arrays[name] = from_bits(array) if halves else array
        except (ValueError, OverflowError) as error:  # of none times too many elements
            raise RuntimeError(
                f"{path}: the shape of the tensor {short_repr(name)}: {error}"
            ) from None
    return arrays


# What users call: `save` and `load`.


NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If "
    "you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)


def save(
    obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Write an object to a file in the safetensors format.

    The object may be made of tensors, parameters, NumPy's arrays and numbers, None, bools,
    numbers, texts, bytes, dtypes, devices, and of dicts, lists, tuples and sets of them: what
    `state_dict()` of modules, optimizers and schedulers gives, and a checkpoint of several such.
    Tensors that are one, or share memory, do so again when they are loaded; of a tensor's memory
    only the part that is seen is stored. Attributes set on tensors, gradients, hooks and history
    are not stored. Of a module, and of another plain object, its class is stored by its name, and
    its attributes: values as above, and functions and classes by their names.

    In a flat dict the tensors have its keys, for other libraries that read the format too.

    Args:
        f: a path, which gets the file once all of it is on the disk, or an object with a method
            ``write``.
        pickle_module, pickle_protocol: accepted for PyTorch's sake; no pickle is written.

    Raises:
        TypeError: for anything else in the object, such as an optimizer or a lambda; the text
            tells where it is.
        ValueError: for an array of an unknown dtype or a container that contains itself.
        RuntimeError: if the directory is not there.
    """
    write(f, pack_file(obj))


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *,
    weights_only: bool | None = None, mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Read an object that `save` wrote, or a dict of tensors from any file of safetensors.

    Nothing in the file is executed, whatever it holds.

    Args:
        f: a path, or a file object opened in binary mode, which is read to its end.
        map_location: where tensors go: anything that means the CPU, or a function, which is not
            called, since they are there.
        weights_only: False lets the file name any class and function of the program, for modules
            that were saved whole, and take more memory than it has bytes; by default, nanotorch's
            layers and public functions, and those of `add_safe_globals`.
        mmap, pickle_module, pickle_load_args: accepted for PyTorch's sake.

    Raises:
        pickle.UnpicklingError: for a class that the file must not name.
        EOFError: for an empty file.
        RuntimeError: for a file that is cut off, changed or of another format; the text tells
            which, and how to convert a checkpoint of PyTorch's.
        OSError: if the path is not that of a file that can be read.
        AssertionError, RuntimeError: if ``map_location`` is not the CPU.
    """
    # Files hold nothing else than what is of the CPU.
    where = map_location.get("cpu") if isinstance(map_location, dict) else map_location
    if where is not None and not callable(where) and (kind := device(where).type) != "cpu":
        raise RuntimeError(NO_CUDA) if kind == "cuda" else absent(kind)
    name = os.fspath(f) if isinstance(f, (str, os.PathLike)) else getattr(f, "name", "the file")
    with file_bytes(f) as file:
        return unpack_file(file, str(name), weights_only)


on_demand(__name__)
