"""The directory of a run: what it was, what it measured, what it learned."""

import contextlib
import json
import math
import os
import platform
import secrets
import sys
from collections.abc import Mapping
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from nanotorch.serialization.files import naming, write_atomically

LATEST = "latest.txt"


def create_run_directory(root: Path, name: str) -> Path:
    """Make and return `root/name/<time>-<suffix>`, which no other run has or will have.

    Raises:
        OSError: if it cannot be made.
    """
    parent = root / name
    parent.mkdir(parents=True, exist_ok=True)
    while True:
        time = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        directory = parent / f"{time}-{secrets.token_hex(3)}"
        # Two runs may start in the same instant: whoever makes the directory owns it.
        with contextlib.suppress(FileExistsError):
            directory.mkdir()
            return directory


def note_latest(root: Path, directory: Path) -> None:
    """Write to `root/latest.txt` where below `root` a run is.

    A link to the directory would be a second run to TensorBoard, which follows links.
    """
    text = Path(os.path.relpath(directory, root)).as_posix()
    with contextlib.suppress(OSError):  # a convenience, for which no training fails
        write_atomically(root / LATEST, f"{text}\n".encode())


def json_text(value: Any) -> bytes:
    """Return JSON for people and programs."""
    text = json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode("utf-8", errors="replace")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically."""
    write_atomically(path, json_text(value))


def rewrite_json(path: Path, value: Any) -> None:
    """Write a JSON file again, atomically if there is room for both, else in its place."""
    try:
        write_json(path, value)
    except OSError:
        with naming(path), path.open("r+b") as file:
            file.write(json_text(value))
            file.truncate()


def finite(value: Any) -> Any:
    """Return `value` with null for NaN and infinities, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def versions() -> dict[str, str]:
    """Return what a run's numbers may depend on."""
    packages = ("nanotorch", "numpy", "PyYAML", "safetensors", "tensorboardX", "tqdm")
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found | {"numpy": np.__version__, "byte order": sys.byteorder}
