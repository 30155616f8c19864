"""Kernels whose arguments hold arrays inside objects: an index of tensors, for example."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor, wrap
from nanotorch.compile.proxy import Traced

Array = np.ndarray
PLAIN = (int, float, str, bool, bytes, type(None), slice, type(...), np.dtype, np.generic, type)


class Place:
    """Stands for array number ``number`` in a structure of arguments."""

    __slots__ = ("number", "version")

    def __init__(self, number: int, version: int | None = None) -> None:
        self.number, self.version = number, version


class Parts:
    """Stands for an object with arrays inside."""

    __slots__ = ("attributes", "kind")

    def __init__(self, kind: type, attributes: dict[str, Any]) -> None:
        self.kind, self.attributes = kind, attributes


def attributes_of(value: Any) -> dict[str, Any]:
    """What an object holds."""
    found = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        for name in getattr(base, "__slots__", ()):
            if hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def inside(value: Any) -> Iterator[Any]:
    """The arrays and tensors in the objects of a structure, not those in plain sight."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from inside(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from inside(part)
    elif not isinstance(value, (*PLAIN, np.ndarray)) and not callable(value):
        for part in attributes_of(value).values():
            arrays: list[Any] = []
            taken_apart(part, arrays)
            yield from arrays


def taken_apart(value: Any, arrays: list[Any]) -> Any:
    """A structure with a `Place` for each array, which goes to ``arrays``."""
    if isinstance(value, Tensor):
        arrays.append(value._array)
        return Place(len(arrays) - 1, int(value._cell[0]))
    if type(value) is Traced or isinstance(value, np.ndarray):
        arrays.append(value)
        return Place(len(arrays) - 1)
    if type(value) in (tuple, list):
        return type(value)([taken_apart(part, arrays) for part in value])
    if type(value) is dict:
        return {name: taken_apart(part, arrays) for name, part in value.items()}
    if isinstance(value, PLAIN) or callable(value) or not attributes_of(value):
        return value
    parts = {name: taken_apart(part, arrays) for name, part in attributes_of(value).items()}
    return Parts(type(value), parts)


def put_together(value: Any, arrays: tuple[Array, ...]) -> Any:
    """The structure again, with other arrays."""
    if isinstance(value, Place):
        if value.version is None:
            return arrays[value.number]
        tensor = wrap(arrays[value.number])
        tensor._cell[0] = value.version
        return tensor
    if type(value) in (tuple, list):
        return type(value)([put_together(part, arrays) for part in value])
    if type(value) is dict:
        return {name: put_together(part, arrays) for name, part in value.items()}
    if isinstance(value, Parts):
        made: Any = object.__new__(value.kind)
        for name, part in value.attributes.items():
            object.__setattr__(made, name, put_together(part, arrays))
        return made
    return value


class Whole:
    """A kernel as a function of all arrays that it gets, in plain sight or inside objects."""

    def __init__(self, kernel: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.kernel, self.__name__ = kernel, kernel.__name__
        self.arrays: list[Any] = []
        self.args = taken_apart(tuple(args), self.arrays)
        self.kwargs = taken_apart(dict(kwargs), self.arrays)

    def __call__(self, *arrays: Array) -> Any:
        return self.kernel(*put_together(self.args, arrays), **put_together(self.kwargs, arrays))
