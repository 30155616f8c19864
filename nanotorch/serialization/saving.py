"""What users call: `save` and `load`."""

import os
from typing import Any

from nanotorch._core.device import absent, device
from nanotorch.serialization.archive import packed, unpacked
from nanotorch.serialization.files import source, write


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file in the safetensors format.

    The object may be made of tensors, parameters, NumPy's arrays and numbers, None, bools,
    numbers, texts, bytes, dtypes, devices, and of dicts, lists, tuples and sets of them: what
    `state_dict()` of modules, optimizers and schedulers gives, and a checkpoint of several such.
    Tensors that are one, or share memory, do so again when they are loaded; of a tensor's memory
    only the part that is seen is stored. Attributes set on tensors, gradients, hooks and history
    are not stored.

    In a flat dict the tensors have its keys, for other libraries that read the format too.

    Args:
        f: a path, which gets the file once all of it is on the disk, or an object with a method
            ``write``.
        pickle_module, pickle_protocol: accepted for PyTorch's sake; no pickle is written.

    Raises:
        TypeError: for anything else in the object, such as a whole module or a function; the text
            tells where it is.
        ValueError: for an array of an unknown dtype or a container that contains itself.
        RuntimeError: if the directory is not there.
    """
    write(f, packed(obj))


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that `save` wrote, or a dict of tensors from any file of safetensors.

    Nothing in the file is executed, whatever it holds.

    Args:
        f: a path, or a file object opened in binary mode, which is read to its end.
        map_location: where tensors go: anything that means the CPU, or a function, which is not
            called, since they are there.
        weights_only, mmap, pickle_module, pickle_load_args: accepted for PyTorch's sake.

    Raises:
        EOFError: for an empty file.
        RuntimeError: for a file that is cut off, changed or of another format; the text tells
            which, and how to convert a checkpoint of PyTorch's.
        OSError: if the path is not that of a file that can be read.
        AssertionError, RuntimeError: if ``map_location`` is not the CPU.
    """
    check_location(map_location)
    name = os.fspath(f) if isinstance(f, (str, os.PathLike)) else getattr(f, "name", "the file")
    with source(f) as file:
        return unpacked(file, str(name))


def check_location(where: Any) -> None:
    """Refuse to load to a device that is not there.

    Raises:
        AssertionError, RuntimeError: for another device than the CPU.
    """
    target = where.get("cpu") if isinstance(where, dict) else where  # files hold nothing else
    if target is None or callable(target) or (kind := device(target).type) == "cpu":
        return
    if kind == "cuda":
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False. If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    raise absent(kind)
