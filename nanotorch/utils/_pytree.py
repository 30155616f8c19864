"""Nested containers taken apart, where programs look for that."""

from typing import Any

from nanotorch.func.trees import NODES as SUPPORTED_NODES
from nanotorch.func.trees import TreeSpec as LeafSpec
from nanotorch.func.trees import kind_of as _get_node_type
from nanotorch.names.lookup import on_demand

PyTree = Any
__all__ = ["SUPPORTED_NODES", "LeafSpec", "PyTree", "_get_node_type"]
__getattr__, __dir__ = on_demand(
    __name__,
    {
        "nanotorch.func.trees": (
            "GetAttrKey MappingKey SequenceKey TreeSpec _dict_flatten_with_keys key_get keystr "
            "register_pytree_node tree_all tree_any tree_flatten "
            "tree_flatten_with_path tree_is_leaf tree_iter tree_leaves tree_leaves_with_path "
            "tree_map tree_map_ tree_map_only tree_map_with_path tree_structure tree_unflatten "
            "treespec_pprint"
        )
    },
)
