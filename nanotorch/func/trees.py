"""Nested containers of values, taken apart into leaves and put together again."""

import textwrap
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from operator import getitem
from typing import Any, NamedTuple

from nanotorch._core.arguments import Named
from nanotorch._core.dtypes import Size

# A container gives what it holds and a context, which with new values makes another one.
Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]
IsLeaf = Callable[[Any], bool] | None  # says of containers whether to leave them whole
DICTS = (dict, OrderedDict, defaultdict)


class Node(NamedTuple):
    """How a class of containers is taken apart and put together."""

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
    """Say how a class of containers is taken apart and put together.

    Args:
        flatten_fn: gives what a container holds, and a context.
        unflatten_fn: gives a container of values and a context.
        flatten_with_keys_fn: as the first, each value in a pair with its key; for paths.
        named: what PyTorch takes for its files, accepted for its sake.

    Raises:
        ValueError: for a class that is known already.
    """
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    NODES[cls] = Node(flatten_fn, unflatten_fn, flatten_with_keys_fn)


class TreeSpec(NamedTuple):
    """How leaves are nested.

    Attributes:
        type: the container's type; None for a leaf.
        context: what its values are put together with: of a dict the keys.
        inner: the specs of what the container holds.
    """

    type: Any = None
    context: Any = None
    inner: tuple["TreeSpec", ...] = ()

    @property
    def num_leaves(self) -> int:
        """How many leaves there are."""
        return 1 if self.type is None else sum(spec.num_leaves for spec in self.inner)

    @property
    def num_nodes(self) -> int:
        """How many leaves and containers there are."""
        return 1 + sum(spec.num_nodes for spec in self.inner)

    @property
    def num_children(self) -> int:
        """How many values the container holds."""
        return len(self.inner)

    def is_leaf(self) -> bool:
        """Whether it is no container."""
        return self.type is None

    def children(self) -> list["TreeSpec"]:
        """The specs of what the container holds."""
        return list(self.inner)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of these leaves.

        Raises:
            ValueError: if there are more or fewer than it takes.
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
        """What a tree that is nested as this one, at least, has in the place of each leaf.

        Raises:
            ValueError: if it is nested in another way.
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
                told = f"; missing key(s): {absent}" * bool(absent)
                told += f"; extra key(s): {more}" * bool(more)
                raise ValueError(f"Node keys mismatch{told}.")
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
    """The container that a value is, by its type among those known; None for a leaf."""
    kind = type(tree)
    if kind in NODES:
        return kind
    if issubclass(kind, Named):  # one of the types of `torch.return_types`
        NODES[kind] = Node(lambda t: (t, None), lambda values, context: kind(values))
        return kind
    return namedtuple if isinstance(tree, tuple) and hasattr(kind, "_fields") else None


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, in order, and how they are nested.

    Args:
        is_leaf: says of containers whether to leave them whole.
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
    """The tree of these leaves.

    Raises:
        TypeError, ValueError: for another spec, or one of more or fewer leaves.
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
    """How the leaves of a tree are nested."""
    return tree_flatten(tree, is_leaf)[1]


class Star:
    """What stands for a leaf when a spec is shown as a tree."""

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A spec as the text of a tree, with stars for its leaves."""
    return repr(treespec.unflatten([Star()] * treespec.num_leaves))


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree with ``func`` of each leaf, and of what stands in its place in the rest.

    Raises:
        ValueError: for a tree among the rest that is nested in another way.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *map(spec.flatten_up_to, rests)))


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map` of the leaves of a type, of one of several, or of which a function is true."""
    chosen = isinstance(kind, (type, tuple))

    def one(leaf: Any) -> Any:
        return func(leaf) if (isinstance(leaf, kind) if chosen else kind(leaf)) else leaf

    return tree_map(one, tree, is_leaf=is_leaf)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map` for what ``func`` does: gives the tree as it was."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one after the other."""
    yield from tree_leaves(tree, is_leaf)


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is no container."""
    return tree_structure(tree, is_leaf).is_leaf()


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether something is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether something is true of one of the leaves."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


# Paths: the keys that lead from a tree to a leaf.


def _key(kind: str, field: str, shown: str, get: Callable[[Any, Any], Any]) -> Any:
    """A class of keys: their one field, how they are shown, and what they lead to in a tree."""
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
    """A path as Python writes it."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Path) -> Any:
    """Where a path leads."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    """Pairs of a key and a value, and the context of a dict."""
    values, context = NODES[type(d)][0](d)
    return list(zip(map(MappingKey, d), values, strict=True)), context


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[Path, Any]]:
    """The leaves of a tree, in order, in pairs with their paths.

    Raises:
        ValueError: for a class that was registered without a function for it.
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
    """`tree_leaves_with_path`, and how they are nested."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """`tree_map` of a function whose first argument is the path."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = map(spec.flatten_up_to, rests)
    return spec.unflatten(map(lambda pair, *rest: func(*pair, *rest), pairs, *others))


def broadcast(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """A value for each leaf of ``spec``: a leaf of ``tree`` counts for all below it.

    None if ``tree`` is nested in another way.
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
