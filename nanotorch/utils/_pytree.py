"""Nested tuples, lists and dicts taken apart, where programs look for that."""

from nanotorch.func.vmap import flatten as tree_flatten
from nanotorch.func.vmap import mapped as tree_map
from nanotorch.func.vmap import unflatten as tree_unflatten

__all__ = ["tree_flatten", "tree_map", "tree_unflatten"]
