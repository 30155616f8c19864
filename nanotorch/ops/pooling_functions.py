"""Pooling as users call it: the arguments, and what PyTorch says of wrong ones."""

from functools import lru_cache
from typing import Any

from nanotorch._core.arguments import as_int, as_ints
from nanotorch._core.op import public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.averaging import avg_pool, avg_pool_of_volumes
from nanotorch.ops.given import tensor_given
from nanotorch.ops.pooling import Pooling, max_pool_of_pictures, max_pool_of_volumes, pooling
from nanotorch.ops.shape import squeeze_one, unsqueeze
from nanotorch.ops.windows import Ints

WORDS = {2: "two", 3: "three"}
POSITIONS = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5}
AXES = {2: "HW", 3: "THW"}


FITTING = 2**31  # windows over several dimensions are counted in 32 bits


def per_dim(name: str, what: str, value: Any, dims: int, form: str = "") -> Ints:
    """One number for each dimension, of one for all or one for each.

    Args:
        form: what PyTorch says of another count, if not the usual.
    """
    if value.__class__ is int and -FITTING <= value < FITTING:
        return (value,) * dims
    one = as_int(value) if value.__class__ is int else value
    given = as_ints(one, (name, what, POSITIONS[what]))
    if dims > 1 and not all(-FITTING <= n < FITTING for n in given):
        raise RuntimeError("value cannot be converted to type int without overflow")
    if len(given) not in (1, dims):
        choice = "" if name == "avg_pool3d" else "either "
        omitted = "omitted, " if what == "stride" else ""
        raise RuntimeError(
            form.format(len(given))
            or f"{name}: {what} must {choice}be {omitted}a single int, or a tuple of {WORDS[dims]} "
            "ints"
        )
    return given * dims if len(given) == 1 else given


def strides(name: str, stride: Any, kernel: Ints, form: str = "") -> Ints:
    """The stride; that of windows side by side where none is given."""
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        return kernel
    return per_dim(name, "stride", stride, len(kernel), form)


def check_elements(input: Tensor, dims: int) -> None:
    """Refuse an input of another number of dimensions, or without elements in one but the batch."""
    shape = input._array.shape
    batch = len(shape) == dims + 2
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[1 if batch else 0 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch "
            f"size for input, but got:{list(shape)}"
        )


def out_size(n: int, k: int, s: int, p: int, d: int, ceil: bool) -> int:
    """How many windows there are; the last begins inside the input or its padding before.

    Raises:
        RuntimeError: for a stride of 0, and padding that is negative or more than half a window.
    """
    if s == 0:
        raise RuntimeError("stride should not be zero")
    if p < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
    if p > ((k - 1) * d + 1) // 2:
        raise RuntimeError(
            "pad should be at most half of effective kernel size, but got "
            f"pad={p}, kernel_size={k} and dilation={d}"
        )
    out = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
    return out - 1 if ceil and (out - 1) * s >= n + p else out


@lru_cache(64)
def windows_of(
    name: str, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool,
    channels: int,
) -> Pooling:  # fmt: skip
    """The windows over the last dimensions of ``size``, if there are any."""
    dims = len(size)
    numbers = zip(size, kernel, stride, padding, dilation, strict=True)
    out = tuple([out_size(*each, ceil) for each in numbers])
    axes = AXES[dims]
    for what, letter, given in (
        ("kernel size", "k", kernel), ("stride", "d", stride), ("dilation", "dilation", dilation),
    ):  # fmt: skip
        if min(given) <= 0:
            named = " ".join(f"{letter}{a}: {n}" for a, n in zip(axes, given, strict=True))
            raise RuntimeError(f"{what} should be greater than zero, but got {named}")
    if name == "avg_pool3d" and any(n < k for n, k in zip(size, kernel, strict=True)):
        told = [" ".join(f"{letter}{a}: {n}" for a, n in zip(axes, given, strict=True))
                for letter, given in (("", size), ("k", kernel))]  # fmt: skip
        raise RuntimeError(f"input image ({told[0]}) smaller than kernel size ({told[1]})")
    if min(out) < 1:
        sizes = ["x".join(map(str, (channels, *ints))) for ints in (size, out)]
        raise RuntimeError(
            f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is "
            "too small"
        )
    return pooling(size, kernel, stride, padding, dilation, out)


# The greatest


def max_pool(
    name: str, dims: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> Any:  # fmt: skip
    """The greatest elements of windows over two or three dimensions, and their numbers."""
    tensor_given(name, input)
    kernel = per_dim(name, "kernel_size", kernel_size, dims)
    stride = strides(name, stride, kernel)
    padding = per_dim(name, "padding", padding, dims)
    dilation = per_dim(name, "dilation", dilation, dims)
    shape = input._array.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input"
        )
    rest = (kernel, stride, padding, dilation, bool(ceil_mode), shape[-dims - 1])
    if 0 in shape:
        check_elements(input, dims)
    at = windows_of(name, shape[-dims:], *rest)
    return (max_pool_of_pictures if dims == 2 else max_pool_of_volumes)(input, at)


def check_signal(input: Any, kernel: int, stride: int, padding: int, dilation: int) -> None:
    """Refuse what `max_pool1d` refuses in words of its own."""
    shape = input._array.shape
    if len(shape) not in (2, 3) or 0 in shape[len(shape) - 2 :]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{list(shape)}"
        )
    for what, number in (("kernel_size", kernel), ("stride", stride), ("padding", padding)):
        if number < (what != "padding"):
            bound = "non-negative" if what == "padding" else "greater than zero"
            raise RuntimeError(f"max_pool1d() {what} must be {bound}, but got {number}")
    if padding > kernel // 2:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={padding} and kernel_size={kernel}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")


def max_pool_signal(
    input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    """The greatest elements of windows over one dimension, and their numbers."""
    name = "max_pool1d"
    tensor_given(name, input)
    form = "max_pool1d() {} must be {}an int, list of ints or tuple of ints of size 1 but got size "
    kernel = per_dim(name, "kernel_size", kernel_size, 1, form.format("kernel_size", "") + "{}")
    stride = strides(
        name, stride, kernel,
        "max_pool1d() stride must be None, an int, list of ints, or tuple of ints of size 1 but "
        "got size {}",
    )  # fmt: skip
    padding = per_dim(name, "padding", padding, 1, form.format("padding", "") + "{}")
    dilation = per_dim(name, "dilation", dilation, 1, form.format("dilation", "") + "{}")
    check_signal(input, kernel[0], stride[0], padding[0], dilation[0])
    shape = input._array.shape
    out = out_size(shape[-1], kernel[0], stride[0], padding[0], dilation[0], bool(ceil_mode))
    if out < 1:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {out}")
    at = pooling(
        (1, shape[-1]), (1, *kernel), (1, *stride), (0, *padding), (1, *dilation), (1, out)
    )
    values, indices = max_pool_of_pictures(unsqueeze(input, -2), at)
    return squeeze_one(values, -2), squeeze_one(indices, -2)


@public
def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """`max_pool2d` over one dimension: (N, C, L) or (C, L)."""
    result: Tensor = max_pool_signal(input, kernel_size, stride, padding, dilation, ceil_mode)[0]
    return result


@public
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool1d`, and where each greatest element is."""
    result: tuple[Tensor, Tensor] = max_pool_signal(
        input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return result


@public
def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The greatest element of each window over the last two dimensions.

    Args:
        kernel_size: the size K of the windows: a number, or one per dimension, as for the rest.
        stride: s, how far neighbouring windows are apart. Default: K.
        padding: p, how far windows reach beyond the borders; at most half a window.
        dilation: d, how far neighbouring elements of a window are apart.
        ceil_mode: let the last window reach beyond the padding.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W); the result's height is
        ``⌊(H + 2p - d (K - 1) - 1) / s⌋ + 1``.

    Raises:
        RuntimeError: for numbers out of range and shapes that do not fit.
    """
    result: Tensor = max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode
    )[0]
    return result


@public
def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """`max_pool2d` over three dimensions: (N, C, D, H, W) or (C, D, H, W)."""
    result: Tensor = max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode
    )[0]
    return result


# Means


def check_few(name: str, input: Tensor) -> None:
    """Refuse what is neither (N, C, L) nor (C, L)."""
    if input._array.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input._array.ndim}-dimensional tensor for "
            f"argument #1 'self' (while checking arguments for {name})"
        )


def mean_pool(
    name: str, dims: int, input: Any, kernel_size: Any, stride: Any, padding: Any,
    ceil_mode: bool, count_include_pad: bool, divisor_override: Any,
) -> Any:  # fmt: skip
    """The means of windows over two or three dimensions."""
    tensor_given(name, input)
    kernel = per_dim(name, "kernel_size", kernel_size, dims)
    stride = strides(name, stride, kernel)
    padding = per_dim(name, "padding", padding, dims)
    shape = input._array.shape
    divisor = None if divisor_override is None else as_int(divisor_override)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    if dims == 2 and len(shape) < 3:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}],"
            " but got -3)"
        )
    if dims == 3 and len(shape) not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    check_elements(input, dims)
    rest = (kernel, stride, padding, (1,) * dims, bool(ceil_mode), shape[-dims - 1])
    at = windows_of(name, shape[-dims:], *rest)
    return (avg_pool if dims == 2 else avg_pool_of_volumes)(
        input, at, bool(count_include_pad), divisor
    )


@public
def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The means of windows over one dimension: (N, C, L) or (C, L); see `max_pool2d`.

    Args:
        count_include_pad: whether padding counts as elements that are zero.
    """
    name = "avg_pool1d"
    tensor_given(name, input)
    check_few(name, input)
    form = "avg_pool1d() argument '{}' should contain one int (got "
    kernel = per_dim(name, "kernel_size", kernel_size, 1, form.format("kernel_size") + "{})")
    stride = strides(name, stride, kernel, form.format("stride") + "{})")
    padding = per_dim(name, "padding", padding, 1, form.format("padding") + "{})")
    result: Tensor = mean_pool(
        "avg_pool2d", 2, unsqueeze(input, -2), (1, *kernel), (1, *stride), (0, *padding),
        ceil_mode, count_include_pad, None,
    )  # fmt: skip
    return squeeze_one(result, -2)
