"""Tuples with names, which operations of several results return."""

from operator import itemgetter
from typing import Any

KINDS: dict[str, type] = {}  # every one of them, as `torch.return_types` shows them


class Named(tuple[Any, ...]):
    """A tuple whose elements have names; it is made from a sequence of them."""

    __slots__ = ()
    _names: tuple[str, ...] = ()
    _given: Any = None  # its namesake for results in tensors that the caller provided

    def __repr__(self) -> str:
        values = ",\n".join(f"{n}={v!r}" for n, v in zip(self._names, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{values})"


def named_tuple(name: str, *names: str, out: bool = True) -> Any:
    """The type of what the operation ``name`` returns.

    Args:
        out: whether the operation has the argument ``out``. Such results have a type of their own.
    """
    fields: dict[str, Any] = {n: property(itemgetter(k)) for k, n in enumerate(names)}
    count = len(names)
    fields |= {"n_fields": count, "n_sequence_fields": count, "n_unnamed_fields": 0}
    fields |= {"_names": names, "__slots__": (), "__module__": "nanotorch.return_types"}
    if out:
        fields["_given"] = named_tuple(f"{name}_out", *names, out=False)
    KINDS[name] = type(name, (Named,), fields)
    return KINDS[name]
