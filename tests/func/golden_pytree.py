"""Trees: containers taken apart and put together, by what libraries call of `torch.utils`."""

import re
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

from tests.answers import sessions

Pair = namedtuple("Pair", "a b")


def _tree(torch: Any) -> Any:
    return {
        "b": [1, (2, None)], "a": Pair(3, OrderedDict(x=4)), "d": defaultdict(list, {"k": 5}),
        "q": deque([6], maxlen=3), "s": torch.Size([1, 2]), "l": slice(1, 2), "e": [{}, ()],
    }  # fmt: skip


def _shown(value: Any) -> str:
    """As Python 3.11 shows it."""
    return re.sub(r"OrderedDict\(\{('x'): (.*?)\}\)", r"OrderedDict([(\1, \2)])", repr(value))


def _names(torch: Any) -> dict[str, Any]:
    p = torch.utils._pytree
    names = [name for name in dir(p) if name.startswith(("tree_", "register_"))]
    return {name: getattr(p, name) for name in names} | {
        "p": p, "tree": _tree(torch), "shown": _shown, "extrema": torch.max(torch.ones(2, 2), 0),
        "spec_of": p.tree_structure,
    }  # fmt: skip


session = sessions(_names)

trees = session("""
taken apart
    leaves, spec = tree_flatten(tree)
    leaves, str(spec).replace("tests.func.golden_pytree.", "")
    spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf(), spec.context
    shown(tree_unflatten(range(len(leaves)), spec)), spec.unflatten(leaves) == tree
    spec == spec_of(tree), hash(spec) == hash(spec_of(tree)), shown(tree_map(lambda x: [x], tree))
    tree_leaves([1, (2,)]), spec_of(1), tree_leaves(None), spec_of(extrema)
    tree_flatten([[1], 2], is_leaf=lambda x: x == [1])[0]
several
    def pairs(*trees):
        return tree_map(lambda *leaves: leaves, *trees)
    pairs([1, (2,)], [3, (4,)]), pairs(1, [2, 3]), pairs([1, 2], [[5], (6,)])
    pairs({"a": 1, "c": 2}, {"c": 3, "a": 4}), pairs([1], [1, 2]), pairs([1], {"a": 1})
    pairs({"a": 1}, {"b": 1}), tree_map_only(int, lambda x: -x, [1, "a"])
    tree_map_only((int, float), str, [1, 2.0, None]), tree_unflatten([1], spec_of([1, 2]))
    tree_unflatten([1], 3)
registered
    class Box:
        def __init__(self, held, label):
            self.held, self.label = held, label
    def put_in():
        back = lambda values, label: Box(*values, label)
        register_pytree_node(Box, lambda box: ([box.held], box.label), back)
    _ = put_in()
    found = tree_map(lambda x: x + 1, [Box((1, 2), "b")])[0]
    found.held, found.label, repr(spec_of(found)), raised(put_in).partition("<class")[0]
    torch.vmap(lambda box: box.held * 2)(Box(torch.ones(2), "v"))
paths
    del tree["l"]
    [(p.keystr(path), repr(path), leaf) for path, leaf in tree_leaves_with_path(tree)]
    pairs, spec = tree_flatten_with_path([tree, 3], is_leaf=lambda part: part is tree)
    [p.keystr(path) for path, _ in pairs], repr(spec)
    tree_map_with_path(lambda path, x, y: (p.keystr(path), x, y), [1, (2,)], [3, (4,)])
    tree_map_with_path(lambda path, x, y: x, [1], [1, 2])
    all(p.key_get(tree, path) is leaf for path, leaf in tree_leaves_with_path(tree))
    p._dict_flatten_with_keys({"a": 1, 3: 2}), tree_leaves_with_path(5)
    tree_leaves_with_path(extrema)[1]
    class Two:
        def __init__(self, *held):
            self.held = held
    class Other(Two):
        pass
    keys = lambda two: ([(p.GetAttrKey("ab"[k]), x) for k, x in enumerate(two.held)], None)
    parts, back = (lambda two: (two.held, None)), (lambda values, _: Two(*values))
    _ = register_pytree_node(Two, parts, back, flatten_with_keys_fn=keys)
    _ = register_pytree_node(Other, parts, lambda values, _: Other(*values))
    tree_map_with_path(lambda path, x: p.keystr(path), Two(1, [2])).held
    raised(tree_leaves_with_path, Other(1)).partition("<class")[0]
of all leaves
    tree, seen = [1, {"a": (2, 3)}], []
    p.tree_all(lambda x: x > 0, tree), p.tree_all(lambda x: x > 1, tree)
    p.tree_any(lambda x: x > 2, tree), p.tree_any(lambda x: x > 3, tree), p.tree_any(any, ())
    p.tree_map_(lambda x, y: seen.append((x, y)), tree, tree) is tree, seen
    next(p.tree_iter(tree)), list(p.tree_iter(tree, is_leaf=lambda x: x == (2, 3)))
    p.tree_is_leaf(1), p.tree_is_leaf(()), p.tree_is_leaf((), is_leaf=lambda x: True)
""")
