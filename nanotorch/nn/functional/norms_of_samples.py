"""Normalizations for the samples of a batch under `vmap`."""

import inspect
import math
from typing import Any

from nanotorch._core.batch_functions import separately
from nanotorch._core.batched import Batch, Batched, batched, whole_of
from nanotorch._core.tensor import Tensor

NOT_BATCHED = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
    "updated in place, were not batched.\nIf you are using a module and do not need eval mode, "
    "please set `track_running_stats` to be False.If you are using a prebuilt module and do not "
    "need eval mode, please see the functorch website for resources on how to patch your module to "
    "work with vmap"
)


def arguments(function: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """A call's arguments by name, and weight and bias apart from them."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    return bound, {name: given[name] for name in ("weight", "bias")}


def scaled(out: Any, affine: dict[str, Any]) -> Any:
    """A result ``(N, C, ...)`` times the weight and plus the bias of its channels."""
    for name, value in affine.items():
        if value is not None:
            shape = (-1,) + (1,) * (out.ndim - 2)
            out = out * value.view(shape) if name == "weight" else out + value.view(shape)
    return out


def by_groups(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """`group_norm`, and `instance_norm` without running values: the samples join the first
    dimension."""
    bound, affine = arguments(function, args, kwargs)
    given = bound.arguments
    if given.get("running_mean") is not None:
        refuse_update(given, given["use_input_stats"])
        return separately(function, batch, args, kwargs)
    input = whole_of(given["input"], batch)
    apart = any(isinstance(value, Batched) for value in affine.values())
    if apart:
        given |= dict.fromkeys(affine)
    given["input"] = input.flatten(0, 1)
    out = batched(function(*bound.args, **bound.kwargs).reshape(input.shape), batch)
    return scaled(out, affine) if apart else out


def by_channels(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """`batch_norm`: the samples join the channels, each with running values of its own."""
    bound, affine = arguments(function, args, kwargs)
    given = bound.arguments
    if given["training"]:
        refuse_single(given["input"])
    refuse_update(given, given["training"])
    input = whole_of(given["input"], batch)
    for name in ("running_mean", "running_var"):
        if given[name] is not None:
            given[name] = whole_of(given[name], batch).reshape(-1)
    given |= dict.fromkeys(affine)
    joined = input.movedim(0, 1)
    given["input"] = joined.flatten(1, 2)
    out = function(*bound.args, **bound.kwargs).reshape(joined.shape).movedim(1, 0)
    return scaled(batched(out, batch), affine)


def refuse_single(input: Tensor) -> None:
    """Refuse (N, C, ...) with one value for each channel, which has no variance."""
    shape = input.shape
    if shape[0] * math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.size()}"
        )


def refuse_update(given: dict[str, Any], training: Any) -> None:
    """Refuse to update running values that are the same for all samples.

    Raises:
        RuntimeError: in PyTorch's words.
    """
    running = [given[name] for name in ("running_mean", "running_var")]
    if training and any(isinstance(r, Tensor) and not isinstance(r, Batched) for r in running):
        raise RuntimeError(NOT_BATCHED)
