"""How a sweep calls the hooks of a node: with Tensors, checking what they return."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.graph import Node
from nanotorch._core.tensor import Tensor, wrap


def lift(g: Any) -> Any:
    """A gradient as hooks see it: a Tensor."""
    return g if g is None or isinstance(g, Tensor) else wrap(np.asarray(g))


def lower(g: Any, graph: bool) -> Any:
    """A gradient as the sweep carries it."""
    return g if g is None or graph else g._array


def seen(node: Node, arrived: Sequence[Any]) -> tuple[Any, ...]:
    """The gradients of a node's outputs as its hooks see them."""
    count = node._seen or len(arrived)
    return tuple(lift(g) for g in (*arrived, *(None,) * count)[:count])


def call_tensor_hooks(node: Node, arrived: list[Any], graph: bool) -> list[Any]:
    """The hooks of each output's tensor in order, then its `retain_grad`."""
    hooks = node._hooks
    assert hooks is not None
    # A hook may register others, which are not called in this pass.
    listed = [(number, list(by_id.values())) for number, by_id in hooks.tensor.items()]
    for number, functions in listed:
        for hook in functions:
            result = hook(lift(arrived[number]))
            if result is not None:
                check_replacement(hook, result, lift(arrived[number]))
                arrived[number] = lower(result, graph)
    for number, retain in list(hooks.retain.items()):
        if arrived[number] is not None:
            retain(lift(arrived[number]))
    return arrived


def call_before_hooks(node: Node, arrived: list[Any], graph: bool) -> list[Any]:
    """The node's prehooks; each may replace all the gradients that arrived."""
    hooks = node._hooks
    assert hooks is not None
    for hook in list(hooks.before.values()):
        given = seen(node, arrived)
        result = hook(given)
        if result is not None:
            check_replacements(hook, result, given)
            arrived[: len(result)] = [lower(g, graph) for g in result[: len(arrived)]]
    return arrived


def call_after_hooks(
    node: Node, grads: Sequence[Any], arrived: list[Any], graph: bool
) -> Sequence[Any]:
    """The node's hooks after it ran; each may replace all the gradients it made."""
    hooks = node._hooks
    assert hooks is not None
    outputs = seen(node, arrived)
    for hook in list(hooks.after.values()):
        given = tuple(lift(g) for g in grads)
        result = hook(given, outputs)
        if result is not None:
            check_replacements(hook, result, given)
            grads = [lower(g, graph) for g in result]
    return grads


def hook_name(hook: Any) -> str:
    """How a message names a hook."""
    return str(getattr(hook, "__name__", type(hook).__name__))


def check_replacements(hook: Any, result: Any, before: Sequence[Any]) -> None:
    """What a node's hook returns: a gradient, or None, for each of those it was given."""
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(before):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values (got "
            f"{len(result)}, but expected {len(before)})"
        )
    for g, given in zip(result, before, strict=True):
        if g is not None:
            check_replacement(hook, g, given)


def check_replacement(hook: Any, result: Any, before: Tensor | None) -> None:
    """What a tensor hook returns must fit where the gradient stood."""
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if result.shape != before.shape:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value")
    if result.dtype != before.dtype:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value (was "
            f"torch.{before.dtype.char}Tensor got torch.{result.dtype.char}Tensor)"
        )
