"""The state of a training in a file, written so that one that is sound is always there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanotorch.serialization import load
from nanotorch.serialization.archive import packed
from nanotorch.serialization.files import write_atomically

from .problems import named

KIND, VERSION = "state of a training", 2
UNFIT = (
    *(LookupError, TypeError, ValueError, RuntimeError, AttributeError, ArithmeticError),
    AssertionError,
)
"""What is raised where a state is not of what is to go on from it."""


class CheckpointError(Exception):
    """A run cannot be gone on with; says which of its files is wrong, and how."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{named(str(path))}: {problem}")


def save_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state; the file gets its name only after it has been read back and found right."""
    data = packed({"kind": KIND, "version": VERSION, "state": dict(state)})
    write_atomically(path, data, load_checkpoint)


def load_checkpoint(path: Path) -> Any:
    """Return the state that was written.

    Raises:
        CheckpointError: if the file is damaged, altered, or something else.
        OSError: if it cannot be read.
    """
    try:
        content = load(path)
    except EOFError:
        raise CheckpointError(path, "is empty") from None
    except RuntimeError as error:  # whose text begins with the path
        text = str(error).removeprefix(f"{path}").lstrip(": ")
        raise CheckpointError(path, text) from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise CheckpointError(path, "holds something else than the state of a training")
    if content.get("version") != VERSION:
        text = f"has version {content.get('version')}; this program reads {VERSION}"
        raise CheckpointError(path, text)
    return content.get("state")


def alike(value: Any, own: Any) -> bool:
    """Return whether a value has the members of another one, and these are of the same kinds."""
    if isinstance(own, dict):
        return (
            isinstance(value, dict)
            and value.keys() == own.keys()
            and all(alike(value[key], own[key]) for key in own)
        )
    if isinstance(own, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(own)
            and all(map(alike, value, own))
        )
    if isinstance(own, str):  # one of a few words
        return bool(value == own)
    numbers = (int, float)
    return type(value) is type(own) or (type(value) in numbers and type(own) in numbers)
