"""The arguments of a call: which of them may be others next time, and what memory they share."""

from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.compile.reach import VALUES
from nanotorch.compile.survey import Survey
from nanotorch.compile.tape import holders, shifts


class Arguments:
    """The arguments of a call: their structure, and the tensors that may be others next time.

    Attributes:
        same: the paths of tensors that stand at another path already, with that one.
        shifts: which of the free tensors share memory.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.free: list[tuple[str, Tensor]] = []
        self.same: list[tuple[str, str]] = []
        self.fixed: list[tuple[str, Any]] = []
        self.lengths: list[tuple[str, Any, Any]] = []
        self.key: list[Any] = []
        self._take(args, "args")
        self._take(kwargs, "kwargs")
        self.shifts = shifts([tensor._array for _, tensor in self.free])
        self.key.append(self.shifts)

    def _take(self, value: Any, path: str) -> None:
        if type(value) in (tuple, list) or is_named(value):
            self.key.append((type(value), len(value)))
            self.lengths.append((path, type(value), len(value)))
            for position, part in enumerate(value):
                self._take(part, f"{path}[{position}]")
        elif type(value) is dict:
            self.key.append(tuple(value))
            self.lengths.append((path, dict, tuple(value)))
            for key, part in value.items():
                self._take(part, f"{path}[{key!r}]")
        elif isinstance(value, Tensor) and is_free(value):
            former = next((place for place, other in self.free if other is value), None)
            if former is not None:
                self.key.append(("same", former))
                self.same.append((path, former))
                return
            array = value._array
            self.key.append((array.shape, array.strides, array.dtype, type(value)))
            self.free.append((path, value))
        else:
            self.key.append((type(value), repr(value)) if isinstance(value, VALUES) else id(value))
            self.fixed.append((path, value))


def is_named(value: Any) -> bool:
    """Whether a value is a tuple with names for its parts."""
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def overlap(arguments: Arguments, survey: Survey) -> bool:
    """Whether an argument is in the memory of a tensor that is no argument."""
    inside = holders(tensor._array for tensor in survey.tensors.values())
    arrays = [tensor._array for _, tensor in arguments.free]
    return any(id(a if a.base is None else a.base) in inside for a in arrays)


def is_free(tensor: Tensor) -> bool:
    """Whether an argument can be replaced by another tensor of the same layout."""
    return not (tensor.requires_grad or tensor._edge is not None or tensor._grad is not None)
