"""Values held on one side of a limit, which is a number or a tensor."""

from typing import Any

import numpy as np

from nanotorch._core.arguments import combination
from nanotorch._core.batch_rules import elementwise
from nanotorch._core.dtypes import Number
from nanotorch._core.op import OPS, Array, method, op
from nanotorch._core.tensor import Tensor
from nanotorch.ops.comparison import zero_where
from nanotorch.ops.hidden import inplace_form
from nanotorch.ops.limits import check_kind, input_share, inside, max_share, min_share

BY_NUMBERS, BY_TENSORS = OPS["clamp_numbers"].kernel, OPS["clamp_tensors"].kernel


@op(
    input=lambda g, input, min: zero_where(g, ~inside(input, min, None)),
    inplace=True,
    method=False,
    public=False,
    node="ClampMinBackward0",
)
def least_number(input: Array, min: Number) -> Array:
    """`clamp_min` with a Python number."""
    result: Array = BY_NUMBERS(input, min, None)
    return result


@op(
    input=lambda g, input, min: input_share(g, input, min, None),
    min=lambda g, input, min: min_share(g, input, min, None),
    inplace=True,
    method=False,
    public=False,
    node="ClampMinBackward1",
    batch=elementwise,
)
def least_tensor(input: Array, min: Array) -> Array:
    """`clamp_min` with a tensor."""
    result: Array = BY_TENSORS(input, min, None)
    return result


@op(
    input=lambda g, input, max: zero_where(g, ~inside(input, None, max)),
    inplace=True,
    method=False,
    public=False,
    node="ClampMaxBackward0",
)
def most_number(input: Array, max: Number) -> Array:
    """`clamp_max` with a Python number."""
    result: Array = BY_NUMBERS(input, None, max)
    return result


@op(
    input=lambda g, input, max: input_share(g, input, None, max),
    max=lambda g, input, max: max_share(g, input, None, max),
    inplace=True,
    method=False,
    public=False,
    node="ClampMaxBackward1",
    batch=elementwise,
)
def most_tensor(input: Array, max: Array) -> Array:
    """`clamp_max` with a tensor."""
    result: Array = BY_TENSORS(input, None, max)
    return result


least_number_, least_tensor_ = inplace_form("least_number"), inplace_form("least_tensor")
most_number_, most_tensor_ = inplace_form("most_number"), inplace_form("most_tensor")


def chosen(name: str, input: Any, limit: Any, by_number: Any, by_tensor: Any) -> Any:
    """What a limit of this type calls for.

    Raises:
        TypeError: unless it is a number or a tensor.
    """
    if isinstance(limit, Tensor):
        return by_tensor
    if not isinstance(limit, (bool, int, float, np.generic)):
        end = name.removesuffix("_")[-3:]
        out = "" if name.endswith("_") else ", *, Tensor out = None"
        forms = [f"Tensor input, {kind} {end}{out}" for kind in ("Tensor", "Number")]
        raise combination(name, (input, limit), forms)
    return by_number


@method
def clamp_min(input: Any, min: Any) -> Any:
    """``input``, or ``min`` where that is greater.

    Args:
        min: a number, or a tensor that broadcasts with ``input``.
    """
    return chosen("clamp_min", input, min, least_number, least_tensor)(input, min)


@method
def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """In-place `clamp_min`."""
    if isinstance(min, (bool, int, float)):
        check_kind(input, min)
    result: Tensor = chosen("clamp_min_", input, min, least_number_, least_tensor_)(input, min)
    return result


@method
def clamp_max(input: Any, max: Any) -> Any:
    """``input``, or ``max`` where that is smaller.

    Args:
        max: a number, or a tensor that broadcasts with ``input``.
    """
    return chosen("clamp_max", input, max, most_number, most_tensor)(input, max)


@method
def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """In-place `clamp_max`."""
    if isinstance(max, (bool, int, float)):
        check_kind(input, max)
    result: Tensor = chosen("clamp_max_", input, max, most_number_, most_tensor_)(input, max)
    return result
