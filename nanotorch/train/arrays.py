"""Arrays in NumPy's files into samples; nothing in a file is ever executed."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nanotorch.serialization.files import opened, size_of

from .csv_file import shown_path
from .data_settings import Data
from .preprocessing import Preprocessing
from .problems import ConfigError, Origins, did_you_mean, quoted

Array = NDArray[np.float64]

MOST_NUMBERS = 200_000_000
LARGEST_ARRAYS = 16 * MOST_NUMBERS
"""Bytes of a file, and of what an archive unpacks to."""


def read_arrays(
    data: Data,
    path: Path | None,
    classification: bool,
    where: str,
    origins: Origins,
    like: Preprocessing | None = None,
) -> tuple[Array, Array, Preprocessing]:
    """Return inputs, targets and what they are called.

    Args:
        data: the configuration's section.
        path: the file of both; None for the two of `data.npy`.
        classification: whether targets are classes.
        where: the path of the configuration's value that names the file.
        origins: where the configuration's values were written.
        like: the classes of another file, to be found in this one.

    Raises:
        ConfigError: if the files do not hold numbers, or not as many targets as inputs.
    """
    if path is None:
        assert data.npy is not None  # the section's own check
        x = load(data.npy.x, None, "data.npy.x", "", origins)
        y = load(data.npy.y, None, "data.npy.y", "", origins)
        input_path, target_path, target = "data.npy.x", "data.npy.y", data.npy.y.stem
    else:
        x = load(path, data.inputs, where, "data.inputs", origins)
        y = load(path, data.target, where, "data.target", origins)
        input_path, target_path, target = "data.inputs", "data.target", str(data.target)
    if x.ndim < 2 or (not x[:1].size and len(x)):
        message = f"has the shape {x.shape}; it needs samples, and for each at least one feature"
        raise origins.error(input_path, message)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != x.shape[:1]:
        message = f"has the shape {y.shape}, but there are {len(x)} samples"
        raise origins.error(target_path, message)
    if not len(x):
        raise origins.error(input_path, "has no samples")
    inputs = numbers(x, input_path, origins)
    names = [f"x{index}" for index in range(int(np.prod(x.shape[1:])))]
    found = Preprocessing(features=names, target=target)
    if not classification:
        return inputs, numbers(y, target_path, origins), like or found
    classes, labels = class_numbers(y, data, target_path, origins, like)
    return inputs, labels, like or Preprocessing(features=names, target=target, classes=classes)


@contextlib.contextmanager
def opened_arrays(path: Path) -> Iterator[Any]:
    """Give the block the array of a file, or what gives those of an archive by their names.

    Raises:
        OSError: if it is no file, or one that is too large.
        Exception: of many kinds, if it is none of NumPy's.
    """
    with opened(path) as file:
        found: Any = np.load(file, allow_pickle=False) if size_of(file) <= LARGEST_ARRAYS else None
        members = [] if isinstance(found, np.ndarray | None) else found.zip.infolist()
        if found is None or any(member.file_size > LARGEST_ARRAYS for member in members):
            raise OSError(errno.EFBIG, f"has more than {LARGEST_ARRAYS:,} bytes", str(path))
        yield found


def load(
    path: Path, name: str | None, where: str, where_name: str, origins: Origins
) -> NDArray[np.generic]:
    """Return an array of a file: the one called `name`, or the only one."""
    try:
        with opened_arrays(path) as found:
            if isinstance(found, np.ndarray):
                if name is not None:
                    message = "holds one array; give it as data.npy"
                    raise origins.error(where, f"{quoted(shown_path(path))} {message}")
                return found
            if name is None:
                message = "holds several arrays; give it as data.npz"
                raise origins.error(where, f"{quoted(shown_path(path))} {message}")
            if name not in found:
                message = f"{shown_path(path)} has no array {quoted(name)}"
                raise origins.error(where_name, message + did_you_mean(name, list(found)))
            array: NDArray[np.generic] = found[name]
            return array
    except ConfigError:
        raise
    except Exception as error:  # of which a damaged file may cause many
        objects = str(error).startswith("Object arrays")
        reason = "it holds objects, which could run code" if objects else "no sound file of NumPy"
        reason = getattr(error, "strerror", None) or reason
        message = f"cannot read {quoted(shown_path(path))}: {reason}"
    raise origins.error(where, message)


def numbers(array: NDArray[np.generic], where: str, origins: Origins) -> Array:
    """Return an array in double precision."""
    if array.dtype.kind not in "biuf":
        raise origins.error(where, f"holds {array.dtype}, not numbers")
    if array.size > MOST_NUMBERS:
        raise origins.error(where, f"holds {array.size:,} numbers; at most {MOST_NUMBERS:,}")
    values: Array = array.astype(np.float64)
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        index = ", ".join(str(int(part)) for part in wrong[0])
        raise origins.error(where, f"the number at [{index}] is {values[tuple(wrong[0])]}")
    return values


def class_numbers(
    array: NDArray[np.generic],
    data: Data,
    where: str,
    origins: Origins,
    like: Preprocessing | None,
) -> tuple[list[str], Array]:
    """Return the names of classes, and the class of each sample, counted from 0."""
    if array.dtype.kind not in "biuU":
        message = f"holds {array.dtype}; classes are whole numbers or text"
        more = "; save it with .astype(int)" if array.dtype.kind == "f" else ""
        raise origins.error(where, message + more)
    values = np.unique(array)
    names = [str(value) for value in values]
    classes = names if like is None or like.classes is None else list(like.classes)
    unknown = [name for name in names if name not in classes]
    if unknown:
        raise origins.error(where, f"has the class {quoted(unknown[0])}, unknown to the main file")
    number = np.array([classes.index(name) for name in names], dtype=np.float64)
    return classes, number[np.searchsorted(values, array)]
