"""Which module was running when, and the names of modules in the graph."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nanotorch._core.graph import Node, next_sequence
from nanotorch._core.tensor import Tensor
from nanotorch.nn.module import Module

OUTSIDE = "step"  # the box of operations outside the model: losses, penalties, metrics


class Scopes:
    """Which module was running when: a path like `Net/features_Sequential/0_Linear`.

    Args:
        model: the outermost module.
        around: the path of what is outside of it; the model's own if not given.
        complete: whether a module that only hands on its input gets a node of its own.
    """

    def __init__(self, model: Module, around: str = "", complete: bool = True) -> None:
        self.paths = module_paths(model)
        self.root = around or self.paths[model]
        self.identities: set[Node] = set()
        self._complete = complete
        self._stack = [self.root]
        self._starts, self._scopes = [0], [self.root]

    def at(self, sequence: int) -> str:
        """Return the path of the innermost module that was running at a sequence number."""
        return self._scopes[bisect_right(self._starts, sequence) - 1]

    @contextmanager
    def following(self, model: Module) -> Iterator[None]:
        """Note in the block's course where each call of a submodule begins and ends."""
        handles = []
        for module in model.modules():
            handles.append(module.register_forward_pre_hook(self._enter, prepend=True))
            handles.append(module.register_forward_hook(self._leave))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: Module, args: tuple[Any, ...]) -> None:
        self._stack.append(self.paths[module])
        self._mark()

    def _leave(self, module: Module, args: tuple[Any, ...], output: Any) -> Any:
        passed_on = isinstance(output, Tensor) and any(output is arg for arg in args)
        if self._complete and passed_on and output.requires_grad:
            # A module that only hands on its input (dropout in evaluation) would have no node.
            output = output.clone()
            self.identities.add(output.grad_fn)
        self._stack.pop()
        self._mark()
        return output

    def _mark(self) -> None:
        self._starts.append(next_sequence())
        self._scopes.append(self._stack[-1])


def module_paths(model: Module) -> dict[Module, str]:
    """Name each module by the attributes that lead to it, each with its class."""
    paths: dict[str, str] = {}
    result: dict[Module, str] = {}
    for dotted, module in model.named_modules():
        parent, _, attribute = dotted.rpartition(".")
        kind = type(module).__name__
        own = safe(f"{attribute}_{kind}" if dotted else kind)
        paths[dotted] = f"{paths[parent]}/{own}" if dotted else own
        result[module] = paths[dotted]
    return result


def safe(name: str) -> str:
    """Replace what has a meaning in the names of TensorBoard's nodes."""
    return re.sub(r"[^A-Za-z0-9_.\-]", "_", name)
