"""Parameters as one vector, and back."""

from collections.abc import Iterable

from nanotorch import ops
from nanotorch._core.tensor import Tensor, typename


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other; it has a gradient.

    Args:
        parameters: of any shapes.
    """
    return ops.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let parameters be slices of a vector, whose memory they share from then on.

    Args:
        vec: one dimension, as many elements as the parameters have.
        parameters: of any shapes.

    Raises:
        TypeError: if ``vec`` is no tensor.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
