"""One file in the safetensors format: tensors by name, and what belongs to them as metadata.

Beside the tensors, files of nanotorch carry two texts: ``nanotorch``, which is JSON of the
structure around the tensors, how they lie in memory, and a checksum of each; and a checksum of
that. Other libraries read the tensors and pass over the texts.
"""

import json
import zlib
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.tensor import wrap
from nanotorch.serialization.files import Parts
from nanotorch.serialization.foreign import description
from nanotorch.serialization.memory import laid_out, layouts
from nanotorch.serialization.structure import RESERVED, Decoder, Encoder

FORMAT = 1
OURS, CHECKSUM = "nanotorch", "nanotorch.crc32"
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


def unpacked(data: bytes, path: str) -> Any:
    """The object that a file holds: what was saved, or a dict of another library's tensors.

    Args:
        path: how errors name the file.

    Raises:
        EOFError: for an empty file.
        RuntimeError: for one that is none of safetensors', or is not as it was written.
    """
    header = read_header(data, path)
    arrays = read_arrays(data, header, path)
    metadata = header.get(RESERVED) or {}
    if OURS not in metadata:
        return {name: wrap(array.copy()) for name, array in arrays.items()}
    text = metadata[OURS]
    if str(zlib.crc32(text.encode())) != metadata.get(CHECKSUM):
        raise RuntimeError(f"{path}: the description of its contents was changed after saving")
    try:
        return rebuilt(json.loads(text), arrays, path)
    except (KeyError, ValueError, TypeError, AttributeError, MemoryError, RecursionError) as error:
        raise RuntimeError(
            f"{path}: the description of its contents makes no sense "
            f"({type(error).__name__}: {error})"
        ) from error


def rebuilt(told: Any, arrays: dict[str, np.ndarray], path: str) -> Any:
    """The object from the parsed description and the arrays."""
    if told["format"] != FORMAT:
        raise RuntimeError(
            f"{path}: written in format {told['format']} by a later version of nanotorch; this "
            f"one reads format {FORMAT}"
        )
    for name, expected in told["crc32"].items():
        if name not in arrays:
            raise RuntimeError(f"{path}: the tensor {name!r} is missing")
        if checksum(arrays[name]) != expected:
            raise RuntimeError(f"{path}: the tensor {name!r} was changed after saving")
    names = list(told["crc32"])
    placed = laid_out([arrays[n] for n in names], [told["layouts"][n] for n in names])
    return Decoder(dict(zip(names, placed, strict=True))).decode(told["structure"])


def read_header(data: bytes, path: str) -> dict[str, Any]:
    """The part of a file that tells names, dtypes, shapes and places, checked against its length.

    Raises:
        EOFError: for an empty file.
        RuntimeError: for one that is none of safetensors', or is cut off.
    """
    if not data:
        raise EOFError(f"{path} is empty, or was read to its end before; rewind it by seek(0)")
    length = int.from_bytes(data[:8], "little")
    # What safetensors itself takes for the longest header.
    if len(data) < 8 or length > 100_000_000 or data[8:9] not in (b"{", b""):
        begins = f"is no file of nanotorch or safetensors; it begins with {data[:16]!r}"
        raise RuntimeError(f"{path} {description(data, path) or begins}")
    if len(data) < 8 + length:
        raise RuntimeError(
            f"{path} is cut off: its header has {length} bytes, of which {len(data) - 8} are there"
        )
    try:
        header = json.loads(data[8 : 8 + length])
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != RESERVED]
        size = 8 + length + max(ends, default=0)
    except (ValueError, TypeError, KeyError, LookupError, AttributeError, RecursionError) as error:
        raise RuntimeError(f"{path}: its header is damaged ({error})") from error
    if size > len(data):
        raise RuntimeError(f"{path} is cut off: of {size} bytes {len(data)} are there")
    return dict(header)


def read_arrays(data: bytes, header: dict[str, Any], path: str) -> dict[str, np.ndarray]:
    """The tensors of a file as arrays that cannot be written to.

    Raises:
        RuntimeError: if they do not fit the file, or are of a dtype that nanotorch lacks.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    for name, entry in header.items():
        if name != RESERVED and entry.get("dtype") not in DTYPES:
            raise RuntimeError(
                f"{path}: the tensor {name!r} has the dtype {entry.get('dtype')} of safetensors, "
                f"which nanotorch lacks; convert it to one of {', '.join(DTYPES)} first"
            )
    try:
        return load(data)
    except SafetensorError as error:
        raise RuntimeError(f"{path} is damaged: {error}") from error
