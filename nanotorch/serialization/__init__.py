"""Objects with their tensors in one file: `save` and `load`.

Loading executes no code from the file. `pytorch` has PyTorch's format, `safetensors` the other;
`allowed` the classes and functions that files may name; `files` reads and writes the bytes.
"""

import os
from collections.abc import Callable
from typing import Any

from nanotorch._core.dtypes import absent, device
from nanotorch.names.lookup import on_demand
from nanotorch.serialization.allowed import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from nanotorch.serialization.files import file_bytes, write
from nanotorch.serialization.kinds import BEGINNING, MAGIC, NO_CUDA, NOT_MAPPED
from nanotorch.serialization.safetensors import pack_file, unpack_file

__all__ = [
    "add_safe_globals", "clear_safe_globals", "get_safe_globals",
    "get_unsafe_globals_in_checkpoint", "load", "safe_globals", "save",
]  # fmt: skip

MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None


def save(
    obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Write an object to a file, which PyTorch reads as well.

    A file whose name ends in ``.safetensors`` gets that format, any other PyTorch's own: a zip
    archive. The same object gives the same bytes.

    The object may consist of tensors, parameters, NumPy's arrays and numbers, None, bools, numbers,
    strings, bytes, dtypes, devices, and dicts, lists, tuples and sets of them: the results of
    `state_dict()` of modules, optimizers and schedulers, and checkpoints of several such. Tensors
    that are the same object, or share memory, do so again after loading. Gradients, hooks and
    history are not stored. A module or another object is stored as the name of its class and its
    attributes, functions and classes by their names.

    In PyTorch's format, a tensor's whole memory is stored, and everything that pickle can write. In
    safetensors, only the visible part is, attributes set on tensors are not, and other objects than
    those above raise TypeError. The tensors of a flat dict are stored under its keys, for other
    libraries that read the format.

    Args:
        f: a path, where the file appears once all of it is on the disk, or an object with a method
            ``write``.
        pickle_module, pickle_protocol, _use_new_zipfile_serialization: accepted for PyTorch's sake.
        _disable_byteorder_record: leave out the byte order, which is then taken for the usual one.

    Raises:
        TypeError: for an optimizer, for instance, which `state_dict()` describes.
        pickle.PicklingError, AttributeError: for what pickle cannot write, such as a lambda.
        ValueError: for too many containers in one another.
        RuntimeError: if the directory does not exist.
    """
    is_path = isinstance(f, (str, os.PathLike))
    name = os.fspath(f) if is_path else getattr(f, "name", "")
    if str(name).endswith(".safetensors"):
        write(f, pack_file(obj))
    else:
        from nanotorch.serialization.pytorch import pack_archive  # slow to import

        root = os.path.splitext(os.path.basename(name))[0] if is_path else "archive"  # noqa: PTH119, PTH122
        write(f, pack_archive(obj, root, not _disable_byteorder_record))


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *,
    weights_only: bool | None = None, mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Read an object that `save` or PyTorch wrote, or a dict of tensors from safetensors.

    Loading executes no code from the file.

    Args:
        f: a path, or a file object opened in binary mode, which is read to its end.
        map_location: the device of the tensors: the CPU; or a dict of devices by those in the
            file; or a function that gets each storage and its device in the file, and returns the
            storage, or None. Files of safetensors name no devices.
        weights_only: False lets the file name any class and function of the program, for objects
            that were saved whole, and use more memory than it has bytes. By default it may name
            nanotorch's layers and public functions, and those of `add_safe_globals`. Only these
            last are called; other objects get their class and attributes.
        mmap: whether to leave the tensors in PyTorch's file, from which they are read on use.
        pickle_module, pickle_load_args: accepted for PyTorch's sake.

    Raises:
        pickle.UnpicklingError: for a class or function that the file must not name or call.
        EOFError: for an empty file.
        RuntimeError: for a file that is cut off, changed or of another format; the message says
            which. For a device that is not there.
        OSError: if the file cannot be read.
        AssertionError, RuntimeError: if ``map_location`` is not the CPU.
        ValueError: if ``mmap`` is given for a file object.
    """
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    # Files of safetensors are on the CPU; of a dict, only its key for the CPU matters there.
    where = map_location.get("cpu") if isinstance(map_location, dict) else map_location
    if where is not None and not callable(where) and (kind := device(where).type) != "cpu":
        raise RuntimeError(NO_CUDA) if kind == "cuda" else absent(kind)
    is_path = isinstance(f, (str, os.PathLike))
    name = str(os.fspath(f) if is_path else getattr(f, "name", "the file"))
    with file_bytes(f) as file:
        beginning = file.read(BEGINNING)
        if not beginning.startswith(b"PK\3\4") and MAGIC not in beginning:
            return unpack_file(file, name, weights_only)
        from nanotorch.serialization.pytorch import read  # slow to import

        if mmap and not is_path:
            raise ValueError("f must be a file path in order to use the mmap argument")
        if mmap and MAGIC in beginning:
            raise RuntimeError(NOT_MAPPED.format(name))
        return read(file, name, map_location, weights_only, name if mmap else None)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file of PyTorch that `load` refuses by default.

    Raises:
        ValueError: for a file of another kind.
    """
    from nanotorch.serialization.pytorch import unsafe_names

    with file_bytes(f) as file:
        return unsafe_names(file)


on_demand(__name__)
