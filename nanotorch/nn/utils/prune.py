"""Pruning: parameters some of whose elements are held at 0 by a mask.

A pruned parameter ``weight`` is kept as the parameter ``weight_orig`` and the buffer
``weight_mask``; the attribute is their product, computed before each call of the module.
"""

from collections.abc import Iterable
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.nn.utils.convert_parameters import parameters_to_vector
from nanotorch.nn.utils.pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    hook_of,
)

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


# As functions, which return the module


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Hold elements at random at 0: ``amount`` of them, or this share, if it is no integer."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Any, name: str, amount: float, importance_scores: Tensor | None = None
) -> Any:
    """Hold the elements of least absolute value, or of the least scores, at 0."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Hold slices along ``dim`` at random at 0."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any,
    name: str,
    amount: float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Any:
    """Hold the slices along ``dim`` of the least norm of order ``n`` at 0."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Hold at 0 what ``mask`` says."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters as if they were one.

    Args:
        parameters: pairs of a module and a name.
        pruning_method: an unstructured one, with its arguments ``kwargs``.
        importance_scores: by such pairs. Default: the values.

    Raises:
        TypeError: for other arguments.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    weights = [scores.get(pair, getattr(*pair)) for pair in pairs]
    masks = [getattr(m, f"{n}_mask", ops.ones_like(getattr(m, n))) for m, n in pairs]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    whole = PruningContainer(method).compute_mask(
        parameters_to_vector(weights).detach(), parameters_to_vector(masks)
    )
    start = 0
    for (module, name), weight in zip(pairs, weights, strict=True):
        end = start + weight.numel()
        custom_from_mask(module, name, whole[start:end].view(weight.shape))
        start = end


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter an ordinary one again, with the zeros in it.

    Raises:
        ValueError: if it is not pruned.
    """
    found = hook_of(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    number, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[number]
    return module


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for below in module.modules()
        for hook in below._forward_pre_hooks.values()
    )
