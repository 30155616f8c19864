"""Linear maps."""

from nanotorch._core.tensor import Tensor
from nanotorch.ops.affine import linear as linear


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1ᵀ weight[o] input2 + bias[o]`` for every output o.

    Shape:
        ``input1`` (..., I), ``input2`` (..., J), ``weight`` (O, I, J), ``bias`` (O,); the result
        (..., O).

    Raises:
        RuntimeError: for shapes that do not fit.
    """
    sizes = tuple(weight.shape)
    if input1.size(-1) != sizes[1] or input2.size(-1) != sizes[2]:
        which, size = (0, 1) if input1.size(-1) != sizes[1] else (1, 2)
        got = (input1, input2)[which].size(-1)
        raise RuntimeError(
            f"bilinear(): input{which + 1} size does not match weight size: got {got} but expected "
            f"{sizes[size]}"
        )
    outer = input1.unsqueeze(-1) * input2.unsqueeze(-2)
    flat = outer.reshape((*input1.shape[:-1], sizes[1] * sizes[2]))
    result = linear(flat, weight.reshape((sizes[0], sizes[1] * sizes[2])))
    return result if bias is None else result + bias
