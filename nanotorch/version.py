"""The version of PyTorch that nanotorch follows, and the class of versions."""

from typing import Any

__version__ = "2.15.0"
debug = False
git_version = "Unknown"
cuda = hip = rocm = xpu = None  # libraries that PyTorch can be built with


def comparison(name: str) -> Any:
    """The comparison method ``name`` of `TorchVersion`."""

    def compare(self: str, other: Any) -> Any:
        from packaging.version import InvalidVersion, Version  # few programs compare

        if not isinstance(other, (str, Version)):
            if not hasattr(other, "__iter__"):
                return NotImplemented
            other = ".".join(str(part) for part in other)
        try:
            return getattr(Version(str(self)), name)(Version(str(other)))
        except InvalidVersion:
            return getattr(str, name)(self, other)

    return compare


class TorchVersion(str):
    """A version that compares with strings, tuples of numbers and versions of `packaging`.

    A string that is not a version is compared letter by letter.
    """

    __slots__ = ()
    __hash__ = str.__hash__
    __lt__ = comparison("__lt__")
    __le__ = comparison("__le__")
    __eq__ = comparison("__eq__")
    __ge__ = comparison("__ge__")
    __gt__ = comparison("__gt__")
