"""Modules that hold parameters: `ParameterList` and `ParameterDict`."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, Self

from nanotorch._core.tensor import Tensor
from nanotorch._core.typename import typename
from nanotorch.nn.container import pairs
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter


def as_parameter(value: Any) -> Any:
    """A tensor as a parameter; anything else as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def described(name: Any, value: Any, kind: str) -> str:
    """The line of an entry in `repr`."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    label = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.shape)
    return f"  ({name}): {label} containing: [{kind} of size {size}]"


class ParameterList(Module):
    """A list of parameters, all registered; other values are held too.

    Tensors become parameters when they are added.

    Args:
        values: what to begin with. Default: nothing.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, idx: Any) -> str:
        position = operator.index(idx)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range")
        return str(position % len(self))

    def __getitem__(self, idx: Any) -> Any:
        """The value at a position, or the values of a slice in a new list."""
        if isinstance(idx, slice):
            return type(self)([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, self._name_at(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._name_at(idx), as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add a value at the end; returns the list."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end; returns the list.

        Raises:
            TypeError: if ``values`` is a tensor or not iterable.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            kind = type(values).__name__
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got {kind}"
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        lines = (described(i, p, str(getattr(p, "dtype", ""))) for i, p in enumerate(self))
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters by name, all registered; other values are held too.

    Tensors become parameters when they are added.

    Args:
        parameters: a mapping, or pairs of name and value, to begin with. Default: nothing.
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _string(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[_string(key)] = None
        setattr(self, key, as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def values(self) -> Iterator[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Names and values."""
        return ((key, self[key]) for key in self._keys)

    def copy(self) -> "ParameterDict":
        """A new dict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> "ParameterDict":
        """A new dict with ``default`` under each of ``keys``."""
        return ParameterDict((key, default) for key in keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of ``key``; ``default`` if there is none."""
        return self[key] if key in self else default  # noqa: SIM401 - this is what `get` is

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, which is set to ``default`` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Remove and return a value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the name and value that came last."""
        key = next(reversed(self._keys), None)
        if key is None:
            raise KeyError("popitem(): dictionary is empty")
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self._keys):
            del self[key]

    def update(self, parameters: Any) -> None:
        """Add the entries of a mapping, or of pairs of name and value.

        A plain mapping is taken in the order of its sorted names, as PyTorch does.

        Raises:
            TypeError: if ``parameters`` or one of its entries is not iterable.
            ValueError: if an entry is not a pair.
        """
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            parameters = list(parameters.items())
        elif isinstance(parameters, Mapping):
            parameters = sorted(parameters.items())
        for key, value in pairs("ParameterDict", "ParametersDict", parameters):
            self[key] = value

    def __or__(self, other: "ParameterDict") -> "ParameterDict":
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: "ParameterDict") -> "ParameterDict":
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other: "ParameterDict") -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(described(key, p, typename(p)) for key, p in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


def _string(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
            f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
        )
    return key
