"""Trees: nested containers, flattened into leaves and rebuilt from them."""

import textwrap
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from operator import getitem
from typing import Any, NamedTuple

from nanotorch._core.arguments import Named
from nanotorch._core.dtypes import Size

# A container is flattened into its values and a context; context and values rebuild a container.
Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]
IsLeaf = Callable[[Any], bool] | None  # whether a container is a leaf
DICTS = (dict, OrderedDict, defaultdict)


class Node(NamedTuple):
    """The functions that flatten and rebuild a class of containers."""

    flatten_fn: Flatten
    unflatten_fn: Unflatten
    flatten_with_keys_fn: Flatten | None = None


KNOWN: dict[Any, tuple[Flatten, Unflatten]] = {
    tuple: (lambda t: (t, None), lambda values, context: tuple(values)),
    list: (lambda t: (t, None), lambda values, context: list(values)),
    dict: (
        lambda t: (t.values(), list(t)),
        lambda values, keys: dict(zip(keys, values, strict=True)),
    ),
    OrderedDict: (
        lambda t: (t.values(), list(t)),
        lambda values, keys: OrderedDict(zip(keys, values, strict=True)),
    ),
    defaultdict: (
        lambda t: (t.values(), [t.default_factory, list(t)]),
        lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
    ),
    deque: (lambda t: (t, t.maxlen), lambda values, most: deque(values, maxlen=most)),
    namedtuple: (lambda t: (t, type(t)), lambda values, kind: kind(*values)),
    Size: (lambda t: (t, None), lambda values, context: tuple(values)),
}
NODES = {kind: Node(*functions) for kind, functions in KNOWN.items()}


def register_pytree_node(
    cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten, *,
    flatten_with_keys_fn: Flatten | None = None, **named: Any,
) -> None:  # fmt: skip
    """Register a class of containers with the functions that flatten and rebuild it.

    Args:
        cls: the class.
        flatten_fn: a function of a container that returns its values and a context.
        unflatten_fn: a function of values and a context that returns a container.
        flatten_with_keys_fn: like ``flatten_fn``, with pairs of key and value; for paths.
        named: further arguments, accepted for compatibility.

    Raises:
        ValueError: if the class is registered already.
    """
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    NODES[cls] = Node(flatten_fn, unflatten_fn, flatten_with_keys_fn)


class TreeSpec(NamedTuple):
    """The structure of a tree.

    Attributes:
        type: the container's type; None for a leaf.
        context: the context that rebuilds the container; for a dict, its keys.
        inner: the specs of the container's values.
    """

    type: Any = None
    context: Any = None
    inner: tuple["TreeSpec", ...] = ()

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.type is None else sum(spec.num_leaves for spec in self.inner)

    @property
    def num_nodes(self) -> int:
        """The number of leaves and containers."""
        return 1 + sum(spec.num_nodes for spec in self.inner)

    @property
    def num_children(self) -> int:
        """The number of values in the container."""
        return len(self.inner)

    def is_leaf(self) -> bool:
        """Whether the tree is a leaf, not a container."""
        return self.type is None

    def children(self) -> list["TreeSpec"]:
        """The specs of the container's values."""
        return list(self.inner)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A tree of this structure with these leaves.

        Raises:
            ValueError: if the number of leaves differs.
        """
        held = list(leaves)
        if len(held) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(held)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._built(iter(held))

    def _built(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return NODES[self.type][1]([spec._built(leaves) for spec in self.inner], self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The part of ``tree`` at each leaf of this structure; the parts may be containers.

        Raises:
            ValueError: if ``tree`` has another structure.
        """
        if self.type is None:
            return [tree]
        kind = kind_of(tree)
        if kind is not self.type and not (kind in DICTS and self.type in DICTS):
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {kind}.")
        if kind in DICTS:
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(keys) != set(tree):
                absent, more = set(keys) - set(tree), set(tree) - set(keys)
                message = f"; missing key(s): {absent}" * bool(absent)
                message += f"; extra key(s): {more}" * bool(more)
                raise ValueError(f"Node keys mismatch{message}.")
            values = [tree[key] for key in keys]
        else:
            values = list(NODES[self.type][0](tree)[0])
        if len(values) != len(self.inner):
            raise ValueError(
                f"Node arity mismatch; expected {len(self.inner)}, but got {len(values)}."
            )
        pairs = zip(self.inner, values, strict=True)
        return [leaf for spec, value in pairs for leaf in spec.flatten_up_to(value)]

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), self.inner))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        name, context = self.type.__name__, str(self.context)
        inner = textwrap.indent(",\n".join(map(repr, self.inner)), "  ").lstrip()
        return f"TreeSpec({name}, {context}, [{inner}])"


LEAF = TreeSpec()


def kind_of(tree: Any) -> Any:
    """The registered type of a container; None for a leaf."""
    kind = type(tree)
    if kind in NODES:
        return kind
    if issubclass(kind, Named):  # one of the types of `torch.return_types`
        NODES[kind] = Node(lambda t: (t, None), lambda values, context: kind(values))
        return kind
    return namedtuple if isinstance(tree, tuple) and hasattr(kind, "_fields") else None


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, in order, and its structure.

    Args:
        tree: the tree.
        is_leaf: a function of a container; whether it is a leaf. Default: None, never.
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: Any) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else kind_of(tree)
    if kind is None:
        leaves.append(tree)
        return LEAF
    values, context = NODES[kind][0](tree)
    return TreeSpec(kind, context, tuple([_flatten(v, leaves, is_leaf) for v in values]))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """A tree of the structure ``treespec`` with these leaves.

    Raises:
        TypeError: if ``treespec`` is not a `TreeSpec`.
        ValueError: if the number of leaves differs.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


class Star:
    """A leaf in the text of a spec."""

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The text of a spec: a tree with stars as leaves."""
    return repr(treespec.unflatten([Star()] * treespec.num_leaves))


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree of the results of ``func`` for each leaf and the parts of ``rests`` at its place.

    Raises:
        ValueError: if a tree in ``rests`` has another structure.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *map(spec.flatten_up_to, rests)))


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map` of the leaves of type ``kind``, a type, a tuple of types or a predicate."""
    chosen = isinstance(kind, (type, tuple))

    def one(leaf: Any) -> Any:
        return func(leaf) if (isinstance(leaf, kind) if chosen else kind(leaf)) else leaf

    return tree_map(one, tree, is_leaf=is_leaf)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call ``func`` for each leaf, as `tree_map` does; returns the tree unchanged."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """An iterator over the leaves of a tree, in order."""
    yield from tree_leaves(tree, is_leaf)


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether ``tree`` is a leaf, not a container."""
    return tree_structure(tree, is_leaf).is_leaf()


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` is true for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` is true for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


# Paths: the keys that lead from a tree to a leaf.


def _key(kind: str, field: str, shown: str, get: Callable[[Any, Any], Any]) -> Any:
    """A class of keys with one field, its text, and the function that looks a key up."""
    members = {
        "__slots__": (),
        "__str__": lambda key: shown.format(key[0]),
        "get": lambda key, tree: get(tree, key[0]),
    }
    return type(kind, (namedtuple(kind, field),), members)


SequenceKey = _key("SequenceKey", "idx", "[{!r}]", getitem)
MappingKey = _key("MappingKey", "key", "[{!r}]", getitem)
GetAttrKey = _key("GetAttrKey", "name", ".{}", getattr)
Path = tuple[Any, ...]


def keystr(kp: Path) -> str:
    """A path as Python code."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Path) -> Any:
    """The value at a path in ``obj``."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """The values and the keys of a dict."""
    return list(d.values()), list(d)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], type]:
    """The values and the class of a named tuple."""
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    """The named tuple of a class: the inverse of `_namedtuple_flatten`."""
    return context(*values)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    """Pairs of a key and a value, and the context of a dict."""
    values, context = NODES[type(d)][0](d)
    return list(zip(map(MappingKey, d), values, strict=True)), context


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[Path, Any]]:
    """Pairs of a path and a leaf, for all leaves in order.

    Raises:
        ValueError: if a class is registered without ``flatten_with_keys_fn``.
    """
    kind = None if is_leaf is not None and is_leaf(tree) else kind_of(tree)
    if kind is None:
        return [((), tree)]
    keyed: Any = _dict_flatten_with_keys if kind in DICTS else NODES[kind].flatten_with_keys_fn
    if keyed is not None:
        pairs = keyed(tree)[0]
    elif kind is namedtuple:
        pairs = zip(map(GetAttrKey, tree._fields), tree, strict=True)
    elif kind in KNOWN or issubclass(kind, Named):
        pairs = ((SequenceKey(place), value) for place, value in enumerate(tree))
    else:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    return [
        ((key, *path), leaf)
        for key, value in pairs
        for path, leaf in tree_leaves_with_path(value, is_leaf)
    ]


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None
) -> tuple[list[tuple[Path, Any]], TreeSpec]:
    """The results of `tree_leaves_with_path` and `tree_structure`."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """`tree_map` with the path as the first argument of ``func``."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = map(spec.flatten_up_to, rests)
    return spec.unflatten(map(lambda pair, *rest: func(*pair, *rest), pairs, *others))


def broadcast(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """A value for each leaf of ``spec``; a leaf of ``tree`` covers all leaves below its place.

    None if ``tree`` has another structure.
    """
    own = tree_structure(tree)
    if own.type is None:
        return [tree] * spec.num_leaves
    try:
        values = spec._replace(inner=(LEAF,) * len(spec.inner)).flatten_up_to(tree)
    except ValueError:
        return None
    if spec.type is None:
        return None
    parts = [broadcast(value, inner) for value, inner in zip(values, spec.inner, strict=True)]
    return None if None in parts else [leaf for part in parts for leaf in part or []]
