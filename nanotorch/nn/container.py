"""Modules that hold modules: `Sequential`, `ModuleList`, `ModuleDict`."""

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self

from nanotorch.nn.module import Module
from nanotorch.nn.own_names import OwnNames


class _Numbered(OwnNames, Module):
    """What `Sequential` and `ModuleList` share: modules under the names "0", "1", ..."""

    own_names = ("pop",)

    def __getitem__(self, idx: Any) -> Any:
        """The module at a position, or the modules of a slice in a new container."""
        if isinstance(idx, slice):
            return self._part(idx)
        return self._modules[self._name_at(idx)]

    def _part(self, idx: slice) -> Any:
        raise NotImplementedError

    def _name_at(self, idx: Any) -> str:
        """The name of the module at a position.

        Raises:
            IndexError: if there is none.
        """
        position = operator.index(idx)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range")
        return list(self._modules)[position]

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
        """Remove and return the module at a position, or those of a slice."""
        removed = self[key]
        del self[key]
        return removed


class Sequential(_Numbered):
    """Modules in a row, each applied to the result of the one before.

    Args:
        args: modules, which are named "0", "1", ...; or one `OrderedDict` of modules by name.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = enumerate(args)
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()  # type: ignore[assignment]
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        """Pass ``input`` through all modules in turn."""
        for module in self._modules.values():
            input = module(input)
        return input

    def _part(self, idx: slice) -> "Sequential":
        return type(self)(OrderedDict(list(self._modules.items())[idx]))

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before a position; returns the container.

        Raises:
            AssertionError: if ``module`` is no module.
            IndexError: if ``index`` is beyond the ends.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"Index out of range: {index}")
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end; returns the container."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Any) -> "Sequential":
        return Sequential(*self, *_modules_of(other))

    def __iadd__(self, other: Any) -> Self:
        return self.extend(_modules_of(other))

    def __mul__(self, other: Any) -> "Sequential":
        return Sequential(*(list(self) * self._factor(other)))

    def __rmul__(self, other: Any) -> "Sequential":
        return self * other

    def __imul__(self, other: Any) -> Self:
        return self.extend(list(self) * (self._factor(other) - 1))

    def _factor(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other


def _modules_of(other: Any) -> list[Any]:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )
    return list(other)


class ModuleList(_Numbered):
    """A list of modules, all registered; it has no `forward` of its own.

    Args:
        modules: modules to begin with. Default: none.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _part(self, idx: slice) -> "ModuleList":
        return type(self)(list(self)[idx])

    def insert(self, index: int, module: Module) -> None:
        """Add a module before a position."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules: Any) -> Self:
        """Add modules at the end; returns the list.

        Raises:
            TypeError: if ``modules`` is not iterable.
        """
        if not isinstance(modules, Iterable):
            kind = type(modules).__name__
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {kind}")
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """Neighbours that look the same stand on one line: `(0-2): 3 x ReLU()`."""
        runs: list[tuple[int, int, str]] = []
        for position, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], position, text)
            else:
                runs.append((position, position, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = []
        for first, last, text in runs:
            several = f"({first}-{last}): {last - first + 1} x {text}"
            line = f"({first}): {text}" if first == last else several
            lines.append(line.replace("\n", "\n  "))
        inner = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {inner}\n)"


class ModuleDict(Module):
    """A dict of modules by name, all registered; it has no `forward` of its own.

    Args:
        modules: a mapping, or pairs of name and module, to begin with. Default: none.
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
        """Remove and return a module."""
        return self._modules.pop(key)

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of pairs of name and module.

        Raises:
            TypeError: if ``modules`` or one of its entries is not iterable.
            ValueError: if an entry is not a pair.
        """
        if isinstance(modules, Iterable) and isinstance(modules, (Mapping, ModuleDict)):
            modules = list(modules.items())
        for name, module in pairs("ModuleDict", "ModuleDict", modules):
            self[name] = module


def pairs(kind: str, spelled: str, entries: Any) -> Iterator[tuple[Any, Any]]:
    """The entries of the argument of `update`, checked.

    Args:
        kind: the container's name; ``spelled``: as the message on a wrong argument has it.
    """
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{spelled}.update should be called with an iterable of key/value pairs, but got "
            f"{type(entries).__name__}"
        )
    for position, entry in enumerate(entries):
        where = f"{kind} update sequence element #{position}"
        if not isinstance(entry, Iterable):
            raise TypeError(f"{where} should be Iterable; is{type(entry).__name__}")
        pair: Any = entry
        if len(pair) != 2:
            raise ValueError(f"{where} has length {len(pair)}; 2 is required")
        yield pair[0], pair[1]
