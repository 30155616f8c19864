"""Containers of modules and of parameters, and layers that change only the shape."""

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from itertools import groupby
from operator import itemgetter
from typing import Any, Self

from nanotorch._core.tensor import Tensor, typename
from nanotorch.nn.layer import Layer, OwnNames
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.arguments import require, require_value

__all__ = (
    "Flatten", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential",
    "Unflatten",
)  # fmt: skip

# Modules that hold modules: `Sequential`, `ModuleList`, `ModuleDict`.


def position_of(idx: Any, count: int) -> int:
    """The position ``idx``, counted from the start."""
    position = operator.index(idx)
    require(-count <= position < count, "index {} is out of range", position, error=IndexError)
    return position % count


def check_iterable(function: str, wanted: str, given: Any) -> None:
    """Refuse an argument that is not iterable, or is a tensor: an iterable only by accident."""
    message = "{} should be called with {}, but got {}"
    holds = isinstance(given, Iterable) and not isinstance(given, Tensor)
    require(holds, message, function, wanted, type(given).__name__, error=TypeError)


class _Numbered(OwnNames, Module):
    """The base of `Sequential` and `ModuleList`: modules with the names "0", "1", ..."""

    _own_names = ("pop",)

    def __getitem__(self, idx: Any) -> Any:
        """The module at position ``idx``, or a new container with the modules of a slice."""
        if not isinstance(idx, slice):
            return self._modules[self._name_at(idx)]
        part, kind = OrderedDict(list(self._modules.items())[idx]), type(self)
        return kind(part if isinstance(self, Sequential) else list(part.values()))

    def _name_at(self, idx: Any) -> str:
        return list(self._modules)[position_of(idx, len(self))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx: Any) -> None:
        names = list(self._modules)[idx] if isinstance(idx, slice) else [self._name_at(idx)]
        for name in names:
            delattr(self, name)
        self._renumber(self._modules.values())

    def _renumber(self, modules: Iterable[Module]) -> None:
        held = list(modules)
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(held))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Any:
        """Remove and return the module at position ``key``, or the modules of a slice."""
        removed = self[key]
        del self[key]
        return removed


class Sequential(_Numbered):
    """A chain of modules; the output of each is the input of the next.

    Args:
        args: modules, which get the names "0", "1", ...; or one `OrderedDict` of modules by name.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = enumerate(args)
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()  # type: ignore[assignment]
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Tensor:
        """Pass ``input`` through all modules in order."""
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index: int, module: Module) -> Self:
        """Insert ``module`` before position ``index``; returns the container.

        Raises:
            AssertionError: if ``module`` is not a module.
            IndexError: if ``index`` is out of range.
        """
        known = isinstance(module, Module)
        require(known, "module should be of type: {}", Module, error=AssertionError)
        modules = list(self)
        fits = -len(modules) <= index <= len(modules)
        require(fits, "Index out of range: {}", index, error=IndexError)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end; returns the container."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Any) -> "Sequential":
        return Sequential(*self).__iadd__(other)

    def __iadd__(self, other: Any) -> Self:
        message = "add operator supports only objects of Sequential class, but {} is given."
        require_value(isinstance(other, Sequential), message, type(other))
        return self.extend(list(other))

    def __mul__(self, other: Any) -> "Sequential":
        return Sequential(*(list(self) * self._factor(other)))

    def __rmul__(self, other: Any) -> "Sequential":
        return self * other

    def __imul__(self, other: Any) -> Self:
        return self.extend(list(self) * (self._factor(other) - 1))

    def _factor(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        require_value(other > 0, "Non-positive multiplication factor {} for {}", other, type(self))
        return other


class ModuleList(_Numbered):
    """A list of modules, all registered; it has no `forward` of its own.

    Args:
        modules: the first modules. Default: none.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Insert ``module`` before position ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules: Any) -> Self:
        """Add modules at the end; returns the list.

        Raises:
            TypeError: if ``modules`` is a tensor or not iterable.
        """
        check_iterable("ModuleList.extend", "an iterable", modules)
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """Neighbours with the same text share one line: `(0-2): 3 x ReLU()`."""
        lines = []
        for text, run in groupby(enumerate(map(repr, self)), itemgetter(1)):
            (first, _), *others = run
            line = f"({first}): {text}"
            if others:
                line = f"({first}-{first + len(others)}): {len(others) + 1} x {text}"
            lines.append(line.replace("\n", "\n  "))
        inner = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {inner}\n)" if lines else f"{self._get_name()}()"


class ModuleDict(Module):
    """A dict of modules by name, all registered; it has no `forward` of its own.

    Args:
        modules: the first modules: a mapping, or pairs of name and module. Default: none.
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> ItemsView[str, Any]:
        """Names and modules."""
        return self._modules.items()

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove and return the module ``key``."""
        return self._modules.pop(key)

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of pairs of name and module.

        Raises:
            TypeError: if ``modules`` or an entry is not iterable.
            ValueError: if an entry is not a pair.
        """
        if isinstance(modules, Iterable) and isinstance(modules, (Mapping, ModuleDict)):
            modules = list(modules.items())
        for name, module in pairs("ModuleDict", modules):
            self[name] = module


def pairs(name: str, entries: Any) -> Iterator[tuple[Any, Any]]:
    """The pairs in the argument of `update`, checked; ``name`` is the container's class."""
    check_iterable(f"{name}.update", "key/value pairs", entries)
    for position, pair in enumerate(entries):
        where = f"{name} update sequence element #{position}"
        kind, message = type(pair).__name__, "{} should be Iterable; is {}"
        require(isinstance(pair, Iterable), message, where, kind, error=TypeError)
        require_value(len(pair) == 2, "{} has length {}; 2 is required", where, len(pair))
        yield pair[0], pair[1]


# Modules that hold parameters: `ParameterList` and `ParameterDict`.


def as_parameter(value: Any) -> Any:
    """A tensor as a parameter; any other value unchanged."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def describe_entry(name: Any, value: Any, kind: str) -> str:
    """The line of `repr` about one entry."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    label = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.shape)
    return f"  ({name}): {label} containing: [{kind} of size {size}]"


class ParameterList(Module):
    """A list of parameters, all registered; it also holds other values.

    An added tensor becomes a parameter.

    Args:
        values: the first values. Default: none.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, idx: Any) -> str:
        return str(position_of(idx, len(self)))

    def __getitem__(self, idx: Any) -> Any:
        """The value at position ``idx``, or a new list with the values of a slice."""
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
        check_iterable("ParameterList.extend", "an iterable", values)
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        lines = (describe_entry(i, p, str(getattr(p, "dtype", ""))) for i, p in enumerate(self))
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters by name, all registered; it also holds other values.

    An added tensor becomes a parameter.

    Args:
        parameters: the first entries: a mapping, or pairs of name and value. Default: none.
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
        """The value of ``key``; first sets it to ``default`` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Remove and return the value of ``key``."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last name and value.

        Raises:
            KeyError: if the dict is empty.
        """
        require(self._keys, "popitem(): dictionary is empty", error=KeyError)
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self._keys):
            del self[key]

    def update(self, parameters: Any) -> None:
        """Add the entries of a mapping, or of pairs of name and value.

        The entries of a plain mapping are sorted by name, as in PyTorch.

        Raises:
            TypeError: if ``parameters`` or one of its entries is not iterable.
            ValueError: if an entry is not a pair.
        """
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            parameters = list(parameters.items())
        elif isinstance(parameters, Mapping):
            parameters = sorted(parameters.items())
        for key, value in pairs("ParameterDict", parameters):
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
        return "\n".join(describe_entry(key, p, typename(p)) for key, p in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


def _string(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of ParameterDict must be a string, not '{type(key).__name__}'")
    return key


# Layers that change only the shape.


class Flatten(Layer, shown="start_dim end_dim"):
    """Merges a range of dimensions into one.

    Args:
        start_dim, end_dim: the first and the last of them. Default: 1 and -1, all but the batch.
    """

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        """The input with these dimensions merged."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Layer, shown="dim unflattened_size"):
    """Splits a dimension into several.

    Args:
        dim: the dimension.
        unflattened_size: the sizes of the new dimensions; one may be -1.

    Raises:
        TypeError: unless ``dim`` is an int and ``unflattened_size`` a tuple or list of ints.
    """

    dim: int
    unflattened_size: Sequence[int]

    def __post_init__(self) -> None:
        sizes = self.unflattened_size
        fits = isinstance(sizes, (tuple, list)) and all(isinstance(n, int) for n in sizes)
        message = "Unflatten takes an int and a tuple of ints, not {} and {}"
        require(fits and isinstance(self.dim, int), message, self.dim, sizes, error=TypeError)

    def forward(self, input: Tensor) -> Tensor:
        """The input with ``dim`` split."""
        return input.unflatten(self.dim, self.unflattened_size)
