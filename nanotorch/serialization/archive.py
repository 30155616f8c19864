"""One file in the safetensors format: tensors by name, and what belongs to them as metadata.

Beside the tensors, files of nanotorch carry two texts: ``nanotorch``, which is JSON of the
structure around the tensors, how they lie in memory, and a checksum of each; and a checksum of
that. Other libraries read the tensors and pass over the texts.
"""

import json
import math
import os
import zlib
from collections import Counter
from typing import Any, BinaryIO

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.tensor import wrap
from nanotorch.serialization.files import Parts
from nanotorch.serialization.foreign import description
from nanotorch.serialization.memory import laid_out, layouts
from nanotorch.serialization.structure import RESERVED, Decoder, Encoder

FORMAT = 1
OURS, CHECKSUM = "nanotorch", "nanotorch.crc32"
MOST_DIMENSIONS = 64
LONGEST = 100  # characters of a name in a message
# safetensors' names of dtypes; the rest is what NumPy or nanotorch lacks.
DTYPES = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "I8": dtypes.int8, "I16": dtypes.int16,
    "I32": dtypes.int32, "I64": dtypes.int64, "F16": dtypes.float16, "F32": dtypes.float32,
    "F64": dtypes.float64,
}  # fmt: skip


def packed(obj: Any) -> Parts:
    """The bytes of a file that holds an object, as `in_order` gives them.

    Raises:
        TypeError, ValueError: for what cannot be saved.
    """
    from safetensors.numpy import save

    encoder = Encoder()
    try:
        structure = encoder.encode(obj)
    except RecursionError:
        raise ValueError("cannot save obj: its containers are nested too deeply") from None
    arrays = {name: tensor._array for name, tensor in encoder.tensors.items()}
    text = json.dumps(
        {
            "format": FORMAT,
            "structure": structure,
            "layouts": dict(zip(arrays, layouts(list(arrays.values())), strict=True)),
            "crc32": {name: checksum(array) for name, array in arrays.items()},
        },
        separators=(",", ":"),
    )
    metadata = {"format": "pt", OURS: text, CHECKSUM: str(zlib.crc32(text.encode()))}
    # safetensors writes the memory as it lies, whatever the strides say.
    return in_order(save({n: np.asarray(a, order="C") for n, a in arrays.items()}, metadata))


def in_order(data: bytes) -> Parts:
    """The file with its texts in the order of their names, which safetensors leaves to chance.

    In two parts, as the tensors need not be copied.
    """
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header[RESERVED] = dict(sorted(header[RESERVED].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, memoryview(data)[start:]


def checksum(array: np.ndarray) -> int:
    """What tells whether the values have been changed."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def unpacked(file: BinaryIO, path: str) -> Any:
    """The object that a file holds: what was saved, or a dict of another library's tensors.

    Args:
        path: how errors name the file.

    Raises:
        EOFError: for an empty file.
        RuntimeError: for one that is none of safetensors', or is not as it was written.
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
        reason = misfit(told, arrays)
        value = None if reason else rebuilt(told, arrays)
    except Exception as error:  # of any kind: a forger may write what he likes
        raise RuntimeError(
            f"{path}: the description of its contents makes no sense "
            f"({type(error).__name__}: {error})"
        ) from error
    if reason:
        raise RuntimeError(f"{path}: {reason}")
    return value


def misfit(told: Any, arrays: dict[str, np.ndarray]) -> str | None:
    """Why the parsed description does not belong to the arrays, if it does not."""
    if told["format"] != FORMAT:
        return (
            f"written in format {told['format']} by a later version of nanotorch; this one reads "
            f"format {FORMAT}"
        )
    for name, expected in told["crc32"].items():
        if name not in arrays:
            return f"the tensor {name!r} is missing"
        if checksum(arrays[name]) != expected:
            return f"the tensor {name!r} was changed after saving"
    return None


def rebuilt(told: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The object from the parsed description and the arrays."""
    names = list(told["crc32"])
    placed = laid_out([arrays[n] for n in names], [told["layouts"][n] for n in names])
    return Decoder(dict(zip(names, placed, strict=True))).decode(told["structure"])


def read_header(file: BinaryIO, path: str) -> tuple[dict[str, Any], int]:
    """The part of a file that tells names, dtypes, shapes and places, and how many bytes follow.

    Raises:
        EOFError: for an empty file.
        RuntimeError: for one that is none of safetensors'.
    """
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
        header = json.loads(file.read(length), object_pairs_hook=without_repetition)
    except (ValueError, RecursionError) as error:
        raise RuntimeError(f"{path}: its header is damaged ({error})") from error
    return header, size - 8 - length


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of JSON with these keys and values."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"{short(twice)} stands there twice")
    return found


def short(value: object) -> str:
    """What `repr` tells of a value, cut off where it becomes too long for a message."""
    text = repr(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def read_arrays(
    file: BinaryIO, header: dict[str, Any], size: int, path: str
) -> dict[str, np.ndarray]:
    """The tensors of a file as arrays that cannot be written to.

    Raises:
        RuntimeError: if they do not fit the `size` bytes of the file, or are of a dtype that
            nanotorch lacks.
    """
    places: dict[str, tuple[int, int]] = {}
    for name, entry in header.items():
        try:
            kind, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            whole = all(type(n) is int and 0 <= n < 2**63 for n in (*shape, start, end))
        except (TypeError, KeyError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise RuntimeError(f"{path}: its header is damaged ({short(name)}: {reason})") from None
        if not isinstance(kind, str) or kind not in DTYPES:
            raise RuntimeError(
                f"{path}: the tensor {short(name)} has the dtype {kind!s:.{LONGEST}} of "
                "safetensors, which nanotorch lacks; convert it to one of "
                f"{', '.join(DTYPES)} first"
            )
        if len(shape) > MOST_DIMENSIONS:
            raise RuntimeError(
                f"{path}: the tensor {short(name)} has {len(shape)} dimensions; an array of NumPy "
                f"has at most {MOST_DIMENSIONS}"
            )
        if not whole or math.prod(shape) * DTYPES[kind].itemsize != end - start:
            raise RuntimeError(
                f"{path} is damaged: the tensor {short(name)} of shape {short(shape)} and dtype "
                f"{kind} cannot take the bytes from {short(start)} to {short(end)}"
            )
        places[name] = start, end
    reached = 0
    for name, (start, end) in sorted(places.items(), key=lambda place: place[1]):
        if start != reached:
            raise RuntimeError(
                f"{path} is damaged: the tensor {short(name)} begins at {start}, where the one "
                f"before ends at {reached}"
            )
        reached = end
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
    for name, (start, _) in places.items():
        kind, shape = DTYPES[header[name]["dtype"]]._numpy, header[name]["shape"]
        try:
            arrays[name] = np.ndarray(shape, kind, data, start)
        except (ValueError, OverflowError) as error:  # of none times too many elements
            raise RuntimeError(f"{path}: the shape of the tensor {short(name)}: {error}") from None
    return arrays
