"""Windows as columns and back; channels exchanged with space."""

from collections.abc import Sequence

from nanotorch._core.arguments import as_ints, refused
from nanotorch._core.tensor import Tensor
from nanotorch.ops.blocks import col2im, im2col
from nanotorch.ops.blocks import pixel_shuffle as pixel_shuffle
from nanotorch.ops.blocks import pixel_unshuffle as pixel_unshuffle
from nanotorch.ops.windows import positions

Number = int | Sequence[int]
Ints = tuple[int, ...]


def pair(name: str, value: Number) -> Ints:
    """A number for both dimensions, or one for each."""
    given = (value, value) if isinstance(value, int) else as_ints(value)
    if len(given) == 1:
        return given * 2
    if len(given) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(given)}")
    return given


def check(numbers: dict[str, Ints]) -> None:
    """Refuse numbers out of range."""
    for name, given in numbers.items():
        low = 0 if name == "padding" else 1
        if min(given) < low:
            bound = "greater than zero" if low else "non-negative"
            short = {"kernel size": "kernel", "padding": "pad"}.get(name, name)
            raise RuntimeError(
                f"{name} should be {bound}, but got {short}_height: {given[0]} {short}_width: "
                f"{given[1]}"
            )


def four(kernel: Number, dilation: Number, padding: Number, stride: Number) -> list[Ints]:
    """The numbers of `unfold` and `fold`, one for each dimension."""
    named = zip(
        ("kernel_size", "dilation", "padding", "stride"),
        (kernel, dilation, padding, stride),
        strict=True,
    )
    pairs = [pair(name, value) for name, value in named]
    check(dict(zip(("kernel size", "dilation", "padding", "stride"), pairs, strict=True)))
    return pairs


def unfold(
    input: Tensor, kernel_size: Number, dilation: Number = 1, padding: Number = 0,
    stride: Number = 1,
) -> Tensor:  # fmt: skip
    """The windows of a picture, each as a column.

    Args:
        kernel_size: (K, L), the size of the windows: a number, or one per dimension.
        dilation, padding, stride: see `conv2d`.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W); the result (N, C · K · L, windows) or without N.

    Raises:
        RuntimeError: for numbers out of range, and if there are no windows.
    """
    if not isinstance(input, Tensor):
        raise refused(input, "Tensor", ("im2col", "input", 1))
    size, between, around, step = four(kernel_size, dilation, padding, stride)
    shape = input._array.shape
    if len(shape) < 3:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}],"
            " but got 2)"
        )
    if len(shape) > 4 or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    spatial = tuple([n + 2 * p for n, p in zip(shape[-2:], around, strict=True)])
    out = positions(spatial, size, step, between)
    if min(out) < 1:
        raise RuntimeError(
            f"Given input with spatial size {shape[-2:]}, kernel_size={size}, dilation={between}, "
            f"padding={around}, calculated shape of the array of sliding blocks as {out}, but its "
            "components must be at least one."
        )
    result: Tensor = im2col(input, size, step, around, between)
    return result


def fold(
    input: Tensor, output_size: Number, kernel_size: Number, dilation: Number = 1,
    padding: Number = 0, stride: Number = 1,
) -> Tensor:  # fmt: skip
    """Columns added to where `unfold` takes them from.

    Args:
        output_size: (H, W) of the result.
        kernel_size, dilation, padding, stride: see `unfold`.

    Shape:
        ``input`` (N, C · K · L, windows) or without N; the result (N, C, H, W) or (C, H, W).

    Raises:
        RuntimeError: for numbers out of range, and sizes that do not fit.
    """
    if not isinstance(input, Tensor):
        raise refused(input, "Tensor", ("col2im", "input", 1))
    wanted = pair("output_size", output_size)
    size, between, around, step = four(kernel_size, dilation, padding, stride)
    shape = input._array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    if shape[-2] % (size[0] * size[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={shape[-2]} and kernel_size={size}."
        )
    spatial = tuple([n + 2 * p for n, p in zip(wanted, around, strict=True)])
    rows, columns = positions(spatial, size, step, between)
    if rows * columns != shape[-1]:
        raise RuntimeError(
            f"Given output_size={wanted}, kernel_size={size}, dilation={between}, "
            f"padding={around}, stride={step}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {rows} * {columns} = {rows * columns}, but got "
            f"input.size(2)={shape[-1]}."
        )
    if min(rows, columns) < 1:
        raise RuntimeError(
            f"Given output_size={wanted}, kernel_size={size}, dilation={between}, "
            f"padding={around}, stride={step}, calculated shape of the array of sliding blocks as "
            f"({rows}, {columns}), which is too small (non-positive)"
        )
    result: Tensor = col2im(input, wanted, size, step, around, between)
    return result
