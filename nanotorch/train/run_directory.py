"""The directory of a run: what it was, what it measured, what it learned."""

import contextlib
import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from nanotorch.serialization.files import contents, naming, remove_unfinished, write_atomically

from .checkpoint import CheckpointError
from .hints import described
from .problems import quoted

LATEST = "latest.txt"
METRICS = "metrics.jsonl"
EVENTS = "events.out.tfevents.*"
FILES = (METRICS, "run.json", "config.yaml", "preprocessing.json", "weights.safetensors")
DIRECTORIES = ("checkpoints", "plots")
LARGEST_JSON = 100_000_000
LARGEST_METRICS = 2_000_000_000
DEEPEST_JSON = 20


def create_run_directory(root: Path, name: str) -> Path:
    """Make and return `root/name/<time>-<suffix>`, which no other run has or will have.

    Raises:
        OSError: if it cannot be made.
    """
    parent = root / name
    parent.mkdir(parents=True, exist_ok=True)
    while True:
        time = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        directory = parent / f"{time}-{os.urandom(3).hex()}"
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
        remove_unfinished(root, LATEST)
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


def read_json(path: Path, hint: Any) -> Any:
    """Return what a JSON file of a run says.

    Args:
        path: the file.
        hint: what that must be, as `misfit` takes it.

    Raises:
        CheckpointError: if it cannot be read, or says something else.
    """
    try:
        value = json.loads(contents(path, LARGEST_JSON))
        problem = "is nested too deeply" if is_deep(value) else misfit(value, hint)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    except RecursionError:
        problem = "is nested too deeply"
    except ValueError as error:
        problem = f"is not JSON: {error}"
    if problem is None:
        return value
    raise CheckpointError(path, problem)


def read_metrics(directory: Path) -> list[Mapping[str, Any]]:
    """Return what a run measured, a line of `metrics.jsonl` each; damaged ones are left out."""
    found: list[Mapping[str, Any]] = []
    try:
        lines = contents(directory / METRICS, LARGEST_METRICS).splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            values = json.loads(line, parse_int=float)
        except (ValueError, RecursionError):
            continue
        if not isinstance(values, dict) or not {"step", "epoch"} <= values.keys():
            continue
        if all(value is None or isinstance(value, float) for value in values.values()):
            found.append(values)
    return found


def is_deep(value: Any) -> bool:
    """Return whether a value of JSON is nested more deeply than any that a run writes."""
    level = [value]
    for _ in range(DEEPEST_JSON):
        inner = [list(v.values()) if isinstance(v, dict) else v for v in level]
        level = [item for items in inner if isinstance(items, list) for item in items]
    return bool(level)


def misfit(value: Any, hint: Any, where: str = "") -> str | None:
    """Return what is wrong with a value that a type hint describes; None if nothing is.

    A `TypedDict` says which members there must be; there may be others.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    members: Iterable[tuple[Any, Any, Any]] = ()
    if is_typeddict(hint):
        if not isinstance(value, dict):
            return wrong(where, "an object", value)
        if lacking := hint.__required_keys__ - value.keys():
            return f"lacks {', '.join(sorted(f'{where}{key}' for key in lacking))}"
        members = [(k, value[k], h) for k, h in get_type_hints(hint).items() if k in value]
    elif origin is dict:
        if not isinstance(value, dict):
            return wrong(where, "an object", value)
        members = [(key, inner, arguments[1]) for key, inner in value.items()]
    elif origin is list:
        if not isinstance(value, list):
            return wrong(where, "a list", value)
        members = [(index, inner, arguments[0]) for index, inner in enumerate(value)]
    elif origin in (Union, UnionType):
        found = [misfit(value, member, where) for member in arguments]
        return None if None in found else found[0]
    elif hint is float:
        if not isinstance(value, float) and (type(value) is not int or abs(value) > 1e300):
            return wrong(where, "a number", value)
    elif hint is not Any and type(value) is not hint:
        return wrong(where, described(hint), value)
    told = (misfit(inner, inner_hint, f"{where}{key}.") for key, inner, inner_hint in members)
    return next((problem for problem in told if problem is not None), None)


def wrong(where: str, expected: str, value: Any) -> str:
    """Return the message for a value that is not what was expected."""
    place = f"{where.rstrip('.')}: " if where else ""
    return f"{place}expected {expected}, got {quoted(value)}"


def check_files(directory: Path) -> None:
    """Refuse to go on with a run in whose directory something is in the way of its files.

    Raises:
        CheckpointError: naming the first.
    """
    for path in directory.iterdir():
        if path.name in DIRECTORIES and not path.is_dir():
            raise CheckpointError(path, "is no directory, and in the way of one; move it away")
        if (path.name in FILES or path.match(EVENTS)) and not path.is_file():
            raise CheckpointError(path, "is no file, and in the way of one; move it away")


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
    from importlib import metadata  # it takes long to import

    packages = ("nanotorch", "numpy", "PyYAML", "safetensors", "tensorboardX", "tqdm")
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found | {"numpy": np.__version__, "byte order": sys.byteorder}
