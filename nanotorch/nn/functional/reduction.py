"""What all losses share: how their elements are reduced, and sizes that must be equal."""

from typing import Any

from nanotorch._core.origins import about_operands
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.ops.expanding import broadcast_tensors

REDUCTIONS = {"none", "mean", "sum"}


def checked_reduction(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """The reduction asked for: "none", "mean" or "sum".

    Args:
        size_average, reduce: PyTorch's former way to ask, which wins over ``reduction``.

    Raises:
        ValueError: for another one.

    Warns:
        UserWarning: if ``size_average`` or ``reduce`` is given.
    """
    if size_average is not None or reduce is not None:
        reduction = former_reduction(size_average, reduce)
        warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{reduction}' instead."
        )
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def former_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """PyTorch's former two flags as one reduction."""
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def reduce(values: Tensor, reduction: str) -> Tensor:
    """The elements of a loss, their mean or their sum."""
    if reduction == "none":
        return values
    reduced: Tensor = values.mean() if reduction == "mean" else values.sum()
    return reduced


def uncastable(result: Tensor, out: Tensor) -> RuntimeError:
    """The error for a result that would have to be written as a lesser kind of numbers."""
    return RuntimeError(
        f"result type {result.dtype.char} can't be cast to the desired output type {out.dtype.char}"
    )


def same_sizes(input: Any, target: Any) -> bool:
    """Whether two tensors have one shape."""
    try:
        return bool(input._array.shape == target._array.shape)
    except AttributeError:
        other: Any = target
        return bool(other.size() == input.size())  # the error is Python's own, as in PyTorch


def matched(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Input and target of one shape, broadcast if need be, with PyTorch's warning then."""
    if same_sizes(input, target):
        return input, target
    warn(
        f"Using a target size ({target.size()}) that is different to the input size "
        f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size."
    )
    try:
        input, target = broadcast_tensors(input, target)
    except RuntimeError as error:
        error.args = (str(error) + about_operands({"input": input, "target": target}),)
        raise
    return input, target


def weighted(errors: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    """Errors times weights; their mean is over the weights.

    Raises:
        ValueError: if ``weight`` and ``input`` differ in shape.
    """
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    products = errors * weight
    if reduction == "mean":
        mean: Tensor = products.sum() / weight.sum()
        return mean
    return reduce(products, reduction)
