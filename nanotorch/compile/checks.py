"""The comparisons that tell whether what a step reads has changed."""

import gc
from typing import Any

MISSING: Any = object()


class Check:
    """One comparison that a replay makes: ``container[key] is value`` and the like.

    Attributes:
        kind: what is compared; see `holds`.
        counted: whether `changes` tells when to look again.
    """

    __slots__ = ("container", "counted", "key", "kind", "value")

    def __init__(
        self, kind: str, container: Any, key: Any, value: Any, counted: bool = False
    ) -> None:
        self.kind, self.container, self.key, self.value = kind, container, key, value
        self.counted = counted


def holds(check: Check) -> bool:
    """Whether a check finds what it found before."""
    c, k, v = check.container, check.key, check.value
    try:
        if check.kind == "item":
            return c[k] is v
        if check.kind == "state":
            return c[k[0]][k[1]] is v
        if check.kind == "len":
            return len(c) == v
        if check.kind == "keys":
            return tuple(c) == v
        if check.kind == "absent":
            return bool(c.keys().isdisjoint(v))
        if check.kind == "cell":
            return v is MISSING or c.cell_contents is v
        if check.kind == "set":
            return bool(c == v)
        if check.kind == "empty":
            return not c[k]
        if check.kind in ("grad", "group"):
            return True
        return getattr(c, k) is v
    except (KeyError, IndexError, AttributeError, ValueError):
        return False


def namespace(kind: type) -> dict[str, Any]:
    """The attributes of a class as the dict itself, which is read faster than ``kind.__dict__``."""
    return next(d for d in gc.get_referents(kind.__dict__) if type(d) is dict)
