"""Trees: containers taken apart and put together, by what libraries call of `torch.utils`."""

import re
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

from tests.answers import raised

Pair = namedtuple("Pair", "a b")


def _tree(torch: Any) -> Any:
    return {
        "b": [1, (2, None)], "a": Pair(3, OrderedDict(x=4)), "d": defaultdict(list, {"k": 5}),
        "q": deque([6], maxlen=3), "s": torch.Size([1, 2]), "l": slice(1, 2), "e": [{}, ()],
    }  # fmt: skip


def _shown(value: Any) -> str:
    """As Python 3.11 shows it."""
    return re.sub(r"OrderedDict\(\{('x'): (.*?)\}\)", r"OrderedDict([(\1, \2)])", repr(value))


def taken_apart(torch: Any) -> Any:
    from_ = torch.utils._pytree
    tree = _tree(torch)
    leaves, spec = from_.tree_flatten(tree)
    yield leaves, [str(spec).replace("tests.func.golden_pytree.", "")]
    yield spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf(), spec.context
    yield _shown(from_.tree_unflatten(range(len(leaves)), spec))
    yield spec == from_.tree_structure(tree), hash(spec) == hash(from_.tree_structure(tree))
    yield _shown(from_.tree_map(lambda x: [x], tree)), spec.unflatten(leaves) == tree
    yield from_.tree_leaves([1, (2,)]), repr(from_.tree_structure(1)), from_.tree_leaves(None)
    yield repr(from_.tree_structure(torch.max(torch.ones(2, 2), 0)))
    yield from_.tree_flatten([[1], 2], is_leaf=lambda x: x == [1])[0]


def several(torch: Any) -> Any:
    from_ = torch.utils._pytree

    def pairs(*trees: Any) -> Any:
        return from_.tree_map(lambda *leaves: leaves, *trees)

    yield pairs([1, (2,)], [3, (4,)]), pairs(1, [2, 3]), pairs([1, 2], [[5], (6,)])
    yield pairs({"a": 1, "c": 2}, {"c": 3, "a": 4})
    yield raised(lambda: pairs([1], [1, 2])), raised(lambda: pairs([1], {"a": 1}))
    yield raised(lambda: pairs({"a": 1}, {"b": 1}))
    yield from_.tree_map_only(int, lambda x: -x, [1, "a"])
    yield from_.tree_map_only((int, float), str, [1, 2.0, None])
    yield raised(lambda: from_.tree_unflatten([1], from_.tree_structure([1, 2])))
    yield raised(lambda: from_.tree_unflatten([1], 3))


def registered(torch: Any) -> Any:
    from_ = torch.utils._pytree

    class Box:
        def __init__(self, held: Any, label: str) -> None:
            self.held, self.label = held, label

    def put_in() -> None:
        from_.register_pytree_node(
            Box, lambda box: ([box.held], box.label), lambda values, label: Box(*values, label)
        )

    put_in()
    found = from_.tree_map(lambda x: x + 1, [Box((1, 2), "b")])[0]
    yield found.held, found.label, repr(from_.tree_structure(found))
    yield raised(put_in).partition("<class")[0]
    yield torch.vmap(lambda box: box.held * 2)(Box(torch.ones(2), "v"))


def paths(torch: Any) -> Any:
    p = torch.utils._pytree
    tree = _tree(torch)
    del tree["l"]
    yield [(p.keystr(path), repr(path), leaf) for path, leaf in p.tree_leaves_with_path(tree)]
    pairs, spec = p.tree_flatten_with_path([tree, 3], is_leaf=lambda part: part is tree)
    yield [p.keystr(path) for path, _ in pairs], repr(spec)
    yield p.tree_map_with_path(lambda path, x, y: (p.keystr(path), x, y), [1, (2,)], [3, (4,)])
    yield raised(p.tree_map_with_path, lambda path, x, y: x, [1], [1, 2])
    assert all(p.key_get(tree, path) is leaf for path, leaf in p.tree_leaves_with_path(tree))
    yield p._dict_flatten_with_keys({"a": 1, 3: 2}), p.tree_leaves_with_path(5)
    yield p.tree_leaves_with_path(torch.max(torch.ones(2, 2), 0))[1]

    class Two:
        def __init__(self, *held: Any) -> None:
            self.held = held

    class Other(Two):
        pass

    p.register_pytree_node(
        Two, lambda two: (two.held, None), lambda values, _: Two(*values),
        flatten_with_keys_fn=lambda two: (
            [(p.GetAttrKey("ab"[k]), x) for k, x in enumerate(two.held)], None,
        ),
    )  # fmt: skip
    p.register_pytree_node(Other, lambda o: (o.held, None), lambda values, _: Other(*values))
    yield p.tree_map_with_path(lambda path, x: p.keystr(path), Two(1, [2])).held
    yield raised(p.tree_leaves_with_path, Other(1)).partition("<class")[0]


def of_all_leaves(torch: Any) -> Any:
    p = torch.utils._pytree
    tree, seen = [1, {"a": (2, 3)}], []
    yield p.tree_all(lambda x: x > 0, tree), p.tree_all(lambda x: x > 1, tree)
    yield p.tree_any(lambda x: x > 2, tree), p.tree_any(lambda x: x > 3, tree), p.tree_any(any, ())
    yield p.tree_map_(lambda x, y: seen.append((x, y)), tree, tree) is tree, seen
    yield next(p.tree_iter(tree)), list(p.tree_iter(tree, is_leaf=lambda x: x == (2, 3)))
    yield p.tree_is_leaf(1), p.tree_is_leaf(()), p.tree_is_leaf((), is_leaf=lambda x: True)
