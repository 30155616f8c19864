"""Linear maps."""

from nanotorch._core import dtypes
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
    if len({t.dtype for t in (input1, input2, weight)}) > 1:
        names = [dtypes.C_NAMES[t.dtype.name] for t in (input1, input2, weight)]
        raise RuntimeError(
            "All tensors must have the same dtype, got input1: {}, input2: {}, weight: {}".format(
                *names
            )
        )
    shapes = tuple(input1.shape), tuple(input2.shape)
    if len(shapes[0]) != len(shapes[1]):
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {len(shapes[0])} and {len(shapes[1])}"
        )
    for dim, (a, b) in enumerate(zip(shapes[0][:-1], shapes[1][:-1], strict=True)):
        if a != b:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}"
            )
    for number, input in ((1, input1), (2, input2)):
        size, got = weight.size(number), input.size(-1)
        if got != size:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {got} but "
                f"expected {size}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size(0)} but expected "
            f"{weight.size(0)}"
        )
    sizes = weight.shape
    outer = input1.unsqueeze(-1) * input2.unsqueeze(-2)
    flat = outer.reshape((*input1.shape[:-1], sizes[1] * sizes[2]))
    result = linear(flat, weight.reshape((sizes[0], sizes[1] * sizes[2])))
    return result if bias is None else result + bias
