"""Random tensors: of a shape, like another tensor, or by the values of one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_int, combination, integer, refused
from nanotorch._core.batch_functions import under_vmap
from nanotorch._core.copying import order_of
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.dtypes import int64
from nanotorch._core.grad_mode import mode
from nanotorch._core.heap import within_memory
from nanotorch._core.op import method, public
from nanotorch._core.random import memory_order
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import edge_of
from nanotorch.ops.creation import leaf, numpy_dtype
from nanotorch.ops.drawing import alike, all_sizes, by_rows, by_values, each, last_size, sized
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.generator import Generator, stream
from nanotorch.ops.random_fill import BERNOULLI, zero_gradient, zero_node
from nanotorch.ops.sizes import shape_of

Array = np.ndarray
Sizes = int | Sequence[int]
RANDINT = [
    "int high, tuple of ints size, *, Generator generator = None, dtype, device, requires_grad",
    "int low, int high, tuple of ints size, *, Generator generator = None, dtype, device, "
    "requires_grad",
]
NORMALS = [zero_gradient(f"NormalBackward{number}") for number in range(4)]


# From shapes


@public
@under_vmap(sized(all_sizes), random=True)
def rand(
    *sizes: Any,
    size: Sizes | None = None,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1).

    Args:
        sizes: the shape, as several numbers or one sequence; or ``size`` by keyword.
        generator: to draw from. Default: the default generator.
        dtype: a floating-point one. Default: the default dtype.
        device, pin_memory: accepted for PyTorch's sake; the only device is the CPU.
        requires_grad: whether operations on the tensor are recorded.

    Raises:
        NotImplementedError: for a dtype that is not a floating-point one.
    """
    shape = shape_of("rand", sizes, size)
    return leaf(stream(generator).uniform(shape, numpy_dtype(dtype)), requires_grad, device, layout)


@public
@under_vmap(sized(all_sizes), random=True)
def randn(
    *sizes: Any,
    size: Sizes | None = None,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Normal numbers of mean 0 and standard deviation 1; the arguments are those of `rand`."""
    shape = shape_of("randn", sizes, size)
    return leaf(stream(generator).normal(shape, numpy_dtype(dtype)), requires_grad, device, layout)


def range_and_shape(
    given: tuple[Any, ...], low: Any, high: Any, size: Any
) -> tuple[Any, Any, tuple[int, ...]]:
    """``low``, ``high`` and the shape of the arguments of `randint`."""
    numbers, position = list(given), 0
    if size is None and len(numbers) > 1:
        size, position = numbers.pop(), len(given)
    if len(numbers) == 1 and high is None and size is not None:
        (high,) = numbers
        if integer(high) is None:
            raise refused(high, "int", ("randint", "high", 1))
        if not isinstance(size, (tuple, list)):
            raise refused(size, "tuple of ints", ("randint", "size", position))
    elif len(numbers) == 2:
        low, high = numbers
    elif len(numbers) == 1:
        (low,) = numbers
    fits = isinstance(size, (tuple, list)) and integer(low) is not None
    if not fits or len(numbers) > 2 or integer(high) is None:
        raise combination("randint", given, RANDINT)
    return low, high, shape_of("randint", (tuple(size),), position=position)


@public
@under_vmap(sized(last_size), random=True)
def randint(
    *bounds: Any,
    low: int = 0,
    high: int | None = None,
    size: Sizes | None = None,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Random integers in [low, high), called as ``randint(high, size)`` or with ``low`` first.

    Args:
        bounds: ``high`` or ``low, high``, and the shape, a sequence; each may be a keyword.
        generator: to draw from. Default: the default generator.
        dtype: default: ``int64``.
        device, pin_memory: accepted for PyTorch's sake; the only device is the CPU.
        requires_grad: whether operations on the tensor are recorded.

    Raises:
        TypeError: for arguments of another kind or number.
        RuntimeError: if ``low`` is not less than ``high``, or out of the dtype's range.
    """
    low, high, shape = range_and_shape(bounds, low, high, size)
    kind = numpy_dtype(int64 if dtype is None else dtype)
    return leaf(stream(generator).integers(low, high, shape, kind), requires_grad, device, layout)


@public
@under_vmap(each, random=True)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: DType = int64,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The integers 0, ..., ``n`` - 1 in random order.

    Args:
        n: at least 0.
        generator: to draw from. Default: the default generator.
        dtype: one that has all of them. Default: ``int64``.
        device, pin_memory: accepted for PyTorch's sake; the only device is the CPU.
        requires_grad: whether operations on the tensor are recorded.

    Raises:
        RuntimeError: if ``n`` is negative or too large for ``dtype``.
    """
    kind = numpy_dtype(int64 if dtype is None else dtype)
    order = stream(generator).permutation(as_int(n), kind)
    return leaf(order, requires_grad, device, layout)


# Like another tensor: of its shape, layout and, by default, dtype


@within_memory
def empty_layout(input: Tensor, dtype: DType | None) -> tuple[Array, Array]:
    """An array like a tensor's, and a view of it whose C order is the order of its memory."""
    kind = input._array.dtype if dtype is None else numpy_dtype(dtype)
    array = np.empty_like(input._array, kind, order_of(input._array))
    return array, array if array.flags.c_contiguous else memory_order(array)


@public
@under_vmap(alike, random=True)
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1), in the shape of ``input`` and, by default, its dtype."""
    array, target = empty_layout(input, dtype)
    target[...] = stream(generator).uniform(target.shape, array.dtype)
    return leaf(array, requires_grad, device, layout)


@public
@under_vmap(alike, random=True)
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal numbers, in the shape of ``input`` and, by default, its dtype."""
    array, target = empty_layout(input, dtype)
    contiguous = bool(array.flags.c_contiguous)
    target[...] = stream(generator).normal(target.shape, array.dtype, contiguous=contiguous)
    return leaf(array, requires_grad, device, layout)


@public
@under_vmap(alike, random=True)
def randint_like(
    input: Tensor,
    *bounds: int,
    low: int = 0,
    high: int | None = None,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers in [low, high), in the shape of ``input`` and, by default, its dtype.

    Called as ``randint_like(input, high)`` or ``randint_like(input, low, high)``.
    """
    if len(bounds) == 2:
        low, high = bounds
    elif bounds and high is None:
        (high,) = bounds
    elif bounds:
        (low,) = bounds
    array, target = empty_layout(input, dtype)
    target[...] = stream(generator).integers(low, high, target.shape, array.dtype)
    return leaf(array, requires_grad, device, layout)


# By the values of a tensor


@method
@under_vmap(by_values, random=True)
def bernoulli(input: Any, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Ones with the probabilities in ``input``, else zeros, in its shape and dtype.

    Args:
        p: one probability for all, in place of those in ``input``.
        generator: to draw from. Default: the default generator.

    Raises:
        RuntimeError: for a probability that is not in [0, 1].
        NotImplementedError: for probabilities of a dtype that is not a floating-point one.
    """
    if not isinstance(input, Tensor):
        kind = type(input).__name__
        raise TypeError(f"bernoulli(): argument 'input' (position 1) must be Tensor, not {kind}")
    array = input._array
    drawn = stream(generator).bernoulli(array if p is None else p, array.shape, array.dtype)
    return recorded(wrap(drawn), BERNOULLI[0], input)


@public
@under_vmap(sized(last_size), random=True)
def normal(
    mean: Tensor | float,
    std: Tensor | float = 1.0,
    size: Sizes | None = None,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers of given means and standard deviations.

    Args:
        mean, std: tensors that broadcast together, or numbers; ``std`` at least 0.
        size: the shape, if both are numbers.
        generator: to draw from. Default: the default generator.
        dtype: if both are numbers; default: the default dtype. Otherwise that of ``mean``, or of
            ``std`` where that is a number.

    Raises:
        TypeError: for two numbers without ``size``.
        RuntimeError: for a negative ``std``.
    """
    draw = stream(generator).normal
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if not isinstance(size, (tuple, list)):
            raise TypeError("normal(): the size of the result must be given as a tuple of ints")
        shape = shape_of("normal", (tuple(size),))
        return leaf(draw(shape, numpy_dtype(dtype), mean, std), requires_grad, device, layout)
    if not isinstance(std, Tensor):
        assert isinstance(mean, Tensor)
        values = draw(mean._array.shape, mean._array.dtype, 0.0, std)
        values += mean._array
        return recorded(wrap(values), NORMALS[1], mean)
    if not isinstance(mean, Tensor):
        check_std(std)
        values = draw(std._array.shape, std._array.dtype)
        values *= std._array
        values += np.array(mean, values.dtype)
        return recorded(wrap(values), NORMALS[2], std)
    check_std(std)
    shape = common_shape(tuple(mean.shape), tuple(std.shape))
    values = draw(shape, mean._array.dtype)
    values *= std._array
    values += mean._array
    return recorded(wrap(values), NORMALS[3], mean, std)


def check_std(std: Tensor) -> None:
    """Refuse negative standard deviations."""
    if std._array.size and std._array.min() < 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")


def recorded(out: Tensor, kind: Any, *inputs: Tensor) -> Tensor:
    """Give ``out`` a node that passes zeros to the inputs, if one of them requires grad."""
    if mode.enabled and any(t.requires_grad for t in inputs):
        node = zero_node(kind, inputs, tuple(edge_of(t) for t in inputs))
        node._outputs = ((out._array.shape, out._array.dtype),)
        out._requires_grad, out._edge = True, (node, 0)
    return out


@method
@under_vmap(by_rows, random=True)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Indices drawn with probabilities proportional to ``input``.

    Args:
        input: weights, at least 0 and not all 0, that need not sum up to 1.
        num_samples: how many indices to draw from each row.
        replacement: draw each independently of the others. Default: False.
        generator: to draw from. Default: the default generator.

    Shape:
        ``input`` (N,) or (B, N); the result (num_samples,) or (B, num_samples), ``int64``.

    Raises:
        RuntimeError: for weights that are none, or too few of them.
    """
    return wrap(stream(generator).multinomial(input._array, num_samples, replacement))
