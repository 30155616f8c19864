"""Nested tuples, lists and dicts of values, taken apart into leaves and put together again."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

DICTS = (dict, OrderedDict, defaultdict)


class Spec(NamedTuple):
    """How leaves are nested.

    Attributes:
        kind: the container's type; None for a leaf.
        keys: of a dict.
        inner: the specs of what the container holds.
    """

    kind: Any = None
    keys: tuple[Any, ...] = ()
    inner: tuple["Spec", ...] = ()

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        inner = [repr(spec) for spec in self.inner]
        if issubclass(self.kind, dict):
            pairs = zip(self.keys, inner, strict=True)
            return "{" + ", ".join(f"{key!r}: {held}" for key, held in pairs) + "}"
        if self.kind is list:
            return "[" + ", ".join(inner) + "]"
        return f"({inner[0]},)" if len(inner) == 1 else "(" + ", ".join(inner) + ")"

    def in_full(self, indent: int = 2) -> str:
        """As PyTorch prints a specification itself, each part on a line of its own."""
        if self.kind is None:
            return "*"
        name, context = self.kind.__name__, str(list(self.keys) if self.kind in DICTS else None)
        if hasattr(self.kind, "_fields"):
            name, context = "namedtuple", str(self.kind)
        inner = f",\n{' ' * indent}".join([spec.in_full(indent + 2) for spec in self.inner])
        return f"TreeSpec({name}, {context}, [{inner}])"


LEAF = Spec()


def flatten(tree: Any) -> tuple[list[Any], Spec]:
    """The leaves of a tree, in order, and how they are nested."""
    kind = type(tree)
    if kind in DICTS:
        keys, values = tuple(tree), list(tree.values())
    elif kind is list or isinstance(tree, tuple):
        keys, values = (), list(tree)
    else:
        return [tree], LEAF
    leaves: list[Any] = []
    specs = []
    for value in values:
        found, spec = flatten(value)
        leaves += found
        specs.append(spec)
    return leaves, Spec(kind, keys, tuple(specs))


def unflatten(leaves: Iterable[Any], spec: Spec) -> Any:
    """The tree of these leaves."""
    return _built(iter(leaves), spec)


def _built(leaves: Iterator[Any], spec: Spec) -> Any:
    if spec.kind is None:
        return next(leaves)
    values = [_built(leaves, inner) for inner in spec.inner]
    if spec.keys or issubclass(spec.kind, dict):
        pairs = zip(spec.keys, values, strict=True)
        return defaultdict(None, pairs) if spec.kind is defaultdict else spec.kind(pairs)
    return spec.kind(*values) if hasattr(spec.kind, "_fields") else spec.kind(values)


def mapped(function: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """The tree with ``function`` of each leaf, and of its counterparts in the rest, in its place.

    Raises:
        ValueError: if the trees are nested in different ways.
    """
    leaves, spec = flatten(tree)
    others = [flatten(rest) for rest in rests]
    if any(other != spec for _, other in others):
        raise ValueError(f"Node type mismatch; expected {spec}, but got {others[0][1]}.")
    return unflatten(map(function, leaves, *(found for found, _ in others)), spec)


def broadcast(tree: Any, spec: Spec) -> list[Any] | None:
    """A value for each leaf of ``spec``: a leaf of ``tree`` counts for all below it.

    None if ``tree`` is nested in another way.
    """
    if not isinstance(tree, (tuple, list, dict)):
        return [tree] * count(spec)
    kind = type(tree)
    if kind is not spec.kind and not (kind in DICTS and spec.kind in DICTS):
        return None
    if len(tree) != len(spec.inner) or (isinstance(tree, dict) and set(tree) != set(spec.keys)):
        return None
    values = [tree[key] for key in spec.keys] if isinstance(tree, dict) else list(tree)
    parts = [broadcast(value, inner) for value, inner in zip(values, spec.inner, strict=True)]
    return None if None in parts else [leaf for part in parts for leaf in part or []]


def count(spec: Spec) -> int:
    """How many leaves there are."""
    return 1 if spec.kind is None else sum(map(count, spec.inner))
