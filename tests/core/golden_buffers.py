"""Tensors on the memory of others: DLPack, Python's buffers, NumPy's arrays."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.answers import raised, warned


def to_numpy(torch: Any) -> Any:
    x = torch.arange(6.0).view(2, 3)
    array = np.from_dlpack(x)
    array[0, 0] = 7
    view = np.from_dlpack(x[:, ::2].t())
    return [
        x, array.flags.writeable, [view.tolist(), view.strides],
        np.from_dlpack(torch.tensor(3.0)).shape, np.from_dlpack(torch.zeros(0, 3)).shape,
        np.from_dlpack(torch.tensor([True, False])).tolist(),
        [int(n) for n in x.__dlpack_device__()], type(x.__dlpack__()).__name__,
        raised(x.clone().requires_grad_().__dlpack__),
        raised((x.clone().requires_grad_() * 2).__dlpack__), raised(x.__dlpack__, stream=3),
        [hasattr(x, "__array_interface__"), hasattr(x, "__array_struct__")],
    ]  # fmt: skip


def from_numpy(torch: Any) -> Any:
    array = np.arange(6.0).reshape(2, 3)
    x = torch.from_dlpack(array)
    array[0, 0] = 9
    y = torch.from_dlpack(array.T)
    z = torch.from_dlpack(array, copy=True)
    array[0, 1] = 8
    fixed = np.arange(3)
    fixed.setflags(write=False)
    return [
        [x, y, y.stride(), z], torch.from_dlpack(fixed), warned(lambda: torch.from_dlpack(fixed)),
        [torch.from_dlpack(np.ones(2, kind)).dtype for kind in ("f2", "i1", "u1", "i8", "?")],
        raised(torch.from_dlpack, np.array(["a"])).partition(" dtypes")[0],
        raised(torch.from_dlpack, 3), raised(torch.from_dlpack, [1.0]),
    ]  # fmt: skip


def between_tensors(torch: Any) -> Any:
    x = torch.arange(4.0)
    y = torch.from_dlpack(x)
    capsule = torch.utils.dlpack.to_dlpack(x)
    z = torch.utils.dlpack.from_dlpack(capsule)
    z[0] = 5
    return [
        [x, y, y is x],
        raised(torch.utils.dlpack.from_dlpack, capsule),
        raised(torch.from_dlpack, x.clone().requires_grad_()),
        torch.from_dlpack(torch.to_dlpack(x)),
    ]


def buffers(torch: Any) -> Any:
    held = bytearray(range(1, 9))
    x = torch.frombuffer(held, dtype=torch.int16)
    held[0] = 0
    frombuffer, byte, whole = torch.frombuffer, torch.uint8, torch.int32
    return [
        x, frombuffer(held, dtype=whole, count=1, offset=4),
        frombuffer(held, dtype=torch.int16, count=2, offset=1),
        frombuffer(np.arange(3.0), dtype=torch.float64),
        frombuffer(held, dtype=torch.float32, requires_grad=True).requires_grad,
        frombuffer(held, dtype=byte, count=-2), raised(frombuffer, held, dtype=whole, offset=3),
        raised(frombuffer, held, dtype=whole, offset=9),
        raised(frombuffer, held, dtype=byte, offset=-1),
        raised(frombuffer, held, dtype=whole, count=3),
        raised(frombuffer, held, dtype=byte, count=0), raised(frombuffer, bytearray(), dtype=byte),
        raised(frombuffer, "text", dtype=byte),
        raised(frombuffer, held, dtype=whole, requires_grad=True),
    ]  # fmt: skip


def arrays(torch: Any) -> Any:
    asarray, held = torch.asarray, np.arange(3.0)
    shared, own, leaf = asarray(held), asarray(held, copy=True), torch.ones(2, requires_grad=True)
    held[0] = 9
    memory = torch.arange(3.0).untyped_storage()
    return [
        shared, own, asarray([1, 2]), asarray(3.5), asarray(held, dtype=torch.float32),
        asarray(leaf) is leaf, asarray(leaf * 2), asarray(leaf * 2, requires_grad=True),
        asarray(torch.ones(2), requires_grad=True), asarray(bytearray(b"abc")),
        asarray(bytearray(8), dtype=torch.float32), memory[2:9].nbytes(),
        asarray(memory, dtype=torch.uint8), sys.getsizeof(memory) - sys.getsizeof(memory[:0]),
        raised(asarray, [1, 2], copy=False).split(":")[0],
        raised(asarray, held, dtype=torch.float32, copy=False).split(":")[0],
        torch.arange(2.0).view(dtype=torch.int32), raised(torch.ones(2).pin_memory).split(":")[0],
    ]  # fmt: skip


def files(torch: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x")
        Path(path).write_bytes(bytes(range(16)))
        from_file = torch.UntypedStorage.from_file
        first = from_file(path, False, 8)
        values = torch.asarray(first, dtype=torch.uint8)
        values[0] = 7
        written = torch.asarray(from_file(path, True, 16), dtype=torch.int16)
        written[7] = 0
        return [
            first.nbytes(), values, written, list(Path(path).read_bytes()),
            raised(from_file, path, False, 80).replace(path, "x"), from_file(path).nbytes(),
        ]  # fmt: skip
