"""The version of PyTorch whose behaviour nanotorch has, and how versions compare."""

import re
from typing import Any

__version__ = "2.15.0"
debug = False
git_version = "Unknown"
cuda = hip = rocm = xpu = None  # what PyTorch may be built with

# PEP 440: release, pre-release, post-release, development release, local part.
VERSION = re.compile(
    r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
    r"(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?(?:[-_.]?(dev)[-_.]?(\d*))?"
    r"(?:\+([a-z\d]+(?:[-_.][a-z\d]+)*))?"
)
LETTERS = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}


def order_of(text: str) -> tuple[Any, ...] | None:
    """What versions are ordered by; None for a text that is none."""
    found = VERSION.fullmatch(text.strip().lower())
    if found is None:
        return None
    epoch, release, letter, pre, dash, post, post_number, dev, dev_number, local = found.groups()
    numbers = [int(n) for n in release.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    after = int(dash or post_number or 0) if dash or post else -1
    if letter:
        before: tuple[Any, ...] = (0, LETTERS.get(letter, letter), int(pre or 0))
    else:  # a development release comes before all others
        before = (-1,) if dev and after < 0 else (1,)
    parts = re.split("[-_.]", local) if local else []
    own = [(1, int(p), "") if p.isdigit() else (0, 0, p) for p in parts]
    return int(epoch or 0), numbers, before, after, (0, int(dev_number or 0)) if dev else (1,), own


def comparison(name: str) -> Any:
    """One of the comparisons of `TorchVersion`."""

    def compare(self: str, other: Any) -> Any:
        if not isinstance(other, str):
            if hasattr(other, "release"):  # a `Version` of the package `packaging`
                other = str(other)
            elif hasattr(other, "__iter__"):
                other = ".".join(str(part) for part in other)
            else:
                return NotImplemented
        orders = order_of(self), order_of(other)
        if None in orders:
            return getattr(str, name)(self, other)
        return getattr(orders[0], name)(orders[1])

    return compare


class TorchVersion(str):
    """A version that compares with texts, tuples of numbers and versions of `packaging`.

    Another text compares letter by letter.
    """

    __slots__ = ()
    __hash__ = str.__hash__
    __lt__ = comparison("__lt__")
    __le__ = comparison("__le__")
    __eq__ = comparison("__eq__")
    __ge__ = comparison("__ge__")
    __gt__ = comparison("__gt__")
