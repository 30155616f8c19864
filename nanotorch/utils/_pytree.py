"""Nested containers taken apart, where programs look for that."""

from typing import TYPE_CHECKING, Any

from nanotorch.func.trees import NODES as SUPPORTED_NODES
from nanotorch.func.trees import (
    TreeSpec,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_structure,
    tree_unflatten,
    treespec_pprint,
)
from nanotorch.func.trees import kind_of as _get_node_type
from nanotorch.names.lookup import on_demand

PyTree = Any
LeafSpec = TreeSpec  # without arguments it is one

__all__ = [
    "SUPPORTED_NODES",
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "_get_node_type",
    "register_pytree_node",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
    "treespec_pprint",
]

if not TYPE_CHECKING:  # errors about other names tell why
    __getattr__, __dir__ = on_demand(__name__)
