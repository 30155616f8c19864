"""Random number generators, random tensors, and tensors filled with random numbers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Self, SupportsInt, Unpack

import numpy as np

from nanotorch._core import doors, random
from nanotorch._core.arguments import (
    as_int,
    find_argument,
    to_integer,
    wrong_type,
)
from nanotorch._core.call_site import count_write, current_site
from nanotorch._core.dtypes import CPU, INT64, device, int64
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import Node, check_write, edge_of, next_sequence, rebase
from nanotorch._core.meta import MetaArray
from nanotorch._core.op import Array, as_number, hidden_op, method, public
from nanotorch._core.random import memory_order
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import check_tensors, no_form, parse_shape
from nanotorch.ops.binary import NO_DERIVATIVE, no_derivative
from nanotorch.ops.creation import Options, empty_like, new_filled, new_leaf, numpy_dtype
from nanotorch.ops.joining import common_shape


class Generator(random.Generator):
    """A stream of random numbers: for the same seed, PyTorch's numbers.

    Args:
        device: the only device is the CPU.
    """

    @property
    def device(self) -> device:
        """Always the CPU."""
        return CPU

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"

    def get_state(self) -> Tensor:
        """The state of the stream: a tensor of 5056 bytes."""
        return wrap(super().get_state())

    def set_state(self, state: Any) -> Self:
        """Continue from a state of `get_state`, of nanotorch or PyTorch; returns the generator.

        Raises:
            TypeError: unless ``state`` is a tensor of bytes.
            RuntimeError: for bytes that are not a valid state.
        """
        if not isinstance(state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        return super().set_state(state._array)

    def clone_state(self) -> Self:
        """A copy of this generator, which continues from the same state."""
        return type(self)().set_state(self.get_state())


default_generator = Generator()
# As in PyTorch, each run of a program that sets no seed draws different numbers.
default_generator.seed()


def stream(generator: Any) -> Any:
    """The given generator, or the default one for None; raises TypeError for any other object."""
    if generator is None:
        return default_generator
    if isinstance(generator, random.InMemoryOrder):
        generator.generator = stream(generator.generator)
        return generator
    if not isinstance(generator, random.Generator):
        place = find_argument(generator)
        raise wrong_type(generator, "torch.Generator", place and (*place[:2], 0))
    return generator


@public
def manual_seed(seed: SupportsInt) -> Generator:
    """Set the seed of the default generator; returns the generator.

    Args:
        seed: an integer from -2⁶³ to 2⁶⁴ - 1; negative ones wrap.

    Raises:
        ValueError: if ``seed`` is out of range.
    """
    return default_generator.manual_seed(int(seed))


@public
def seed() -> int:
    """Set an unpredictable seed for the default generator; returns the seed."""
    return default_generator.seed()


@public
def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


@public
def get_rng_state() -> Tensor:
    """The state of the default generator: a tensor of 5056 bytes."""
    return default_generator.get_state()


@public
def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator to a result of `get_rng_state`.

    Raises:
        TypeError: unless ``new_state`` is a tensor of bytes.
        RuntimeError: for bytes that are not a valid state.
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, *, device_type: str | None = None
) -> Iterator[None]:
    """A context that restores the default generator's state on exit.

    Args:
        devices, device_type: accepted for compatibility with PyTorch, and ignored.
        enabled: False: the context has no effect. Default: True.
    """
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)


# Filling a tensor in place with random numbers.
#
# The result does not depend on the former values, so their gradient is zeros. Numbers are drawn in
# memory order, which is the order of the elements if the tensor is contiguous.


class ZeroGradient(Node):
    """The node of a result that does not depend on the values of its inputs."""

    shapes: tuple[tuple[tuple[int, ...], Any], ...] = ()

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        zeros = [np.zeros(*metadata) for metadata in self.shapes]
        return [wrap(array) for array in zeros] if graph else zeros


@cache
def zero_gradient(name: str) -> type[ZeroGradient]:
    """The node class of a random operation, by PyTorch's name of the node."""
    return type(name, (ZeroGradient,), {"__module__": "nanotorch.autograd"})


def zero_node(name: str, *inputs: Tensor) -> Node | None:
    """A `ZeroGradient` node on the inputs, whose result has the first one's shape and dtype.

    None if no input requires grad, or gradients are disabled.
    """
    if not (mode.enabled and True in [t.requires_grad for t in inputs]):
        return None
    node, edges = zero_gradient(name)(), tuple([edge_of(t) for t in inputs])
    node._sequence, node._site, node._edges = next_sequence(), current_site(), edges
    node.shapes = tuple((t._array.shape, t._array.dtype) for t in inputs)
    node._outputs = node.shapes[:1]
    return node


def fill(
    input: Tensor, name: str, draw: Callable[..., Array], others: tuple[Tensor, ...] = ()
) -> Tensor:
    """Fill ``input`` with ``draw(shape, dtype)``; returns ``input``.

    Args:
        name: PyTorch's name of the node, if the fill is recorded.
        others: further tensors with an edge from the node.
    """
    check_write(input)
    array, node = input._array, None
    if isinstance(array, MetaArray):
        return input
    if others or input._history is not None or input._view is not None:
        node = zero_node(name, input, *others)
    target = array if array.flags.c_contiguous else memory_order(array)
    target[...] = draw(target.shape, array.dtype)
    count_write(input._writes or input._cell, "a random fill", 3)
    for watcher in doors.kernels:
        watcher.computed("a random fill", input, [])
    if node is not None:
        rebase(input, node)
    return input


def filling_method(function: Any) -> Any:
    """Register a method that fills its tensor."""
    return method(function, public=False)


def random_limits(
    name: str, given: tuple[Any, ...], named: dict[str, Any], default: list[Any]
) -> Any:
    """The arguments ``from`` and ``to``; they are not parameters, since ``from`` is a keyword."""
    names = ("from", "to")
    if len(given) > len(names):
        raise TypeError(f"{name}() takes at most 2 arguments, but {len(given)} were given")
    for key in named:
        if key not in names[len(given) :]:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
    values = dict(zip(names, default, strict=True)) | dict(zip(names, given, strict=False)) | named
    return values["from"], values["to"]


@filling_method
def normal_(
    input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with normally distributed numbers; returns the tensor.

    Args:
        mean, std: the mean and the standard deviation, at least 0. Default: 0 and 1.
        generator: to draw from. Default: the default generator.

    Raises:
        NotImplementedError: for a dtype that is not a floating-point one.
        RuntimeError: if ``std`` is negative.
    """
    draw = partial(
        stream(generator).normal,
        mean=mean,
        std=std,
        contiguous=input._array.flags.c_contiguous,
        copy=False,
    )
    return fill(input, "NormalBackward0", draw)


@filling_method
def uniform_(
    input: Tensor, *bounds: float, generator: Generator | None = None, **named: float
) -> Tensor:
    """Fill with uniformly distributed numbers; returns the tensor.

    Args:
        bounds: ``from`` and ``to``; the numbers are in [from, to). Default: 0 and 1.
        generator: to draw from. Default: the default generator.

    Raises:
        NotImplementedError: for a dtype that is not a floating-point one.
        RuntimeError: if ``from`` is greater than ``to``.
    """
    low, high = 0.0, 1.0
    if bounds or named:
        low, high = random_limits("uniform_", bounds, named, [low, high])
    draw = stream(generator).uniform
    return fill(input, "UniformBackward0", partial(draw, low=low, high=high, copy=False))


@filling_method
def random_(
    input: Tensor, *bounds: int | None, generator: Generator | None = None, **named: int
) -> Tensor:
    """Fill with random integers; returns the tensor.

    Args:
        bounds: nothing; or ``to``; or ``from`` and ``to``. The numbers are in [from, to). Default:
            from 0 to the greatest n for which the dtype represents all integers 0, ..., n.
        generator: to draw from. Default: the default generator.

    Raises:
        RuntimeError: if ``from`` is not less than ``to``, or a bound is out of the dtype's range.
    """
    if not (bounds or named):
        return fill(input, "RandomBackward2", partial(stream(generator).naturals, copy=False))
    form = 0 if bounds or "from" in named else 1
    if len(bounds) == 1 and not named:
        bounds, form = (0, *bounds), 1
    low, high = random_limits("random_", bounds, named, [0, None])
    return fill(input, f"RandomBackward{form}", partial(stream(generator).integers, low, high))


@filling_method
def bernoulli_(
    input: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """Fill with 1 with probability ``p``, else with 0; returns the tensor.

    Args:
        p: a probability in [0, 1], or a tensor of probabilities that expands to the shape of
            ``input``. Default: 0.5.
        generator: to draw from. Default: the default generator.

    Raises:
        RuntimeError: if ``p`` is not in [0, 1], or its shape does not fit.
    """
    if isinstance(p, Tensor):
        chances = p.expand(input.shape)._array
        layout = input._array
        if not layout.flags.c_contiguous:
            axes = sorted(range(layout.ndim), key=lambda axis: -layout.strides[axis])
            chances = chances.transpose(axes)
        draw = partial(stream(generator).bernoulli, chances)
        return fill(input, "BernoulliBackward1", draw, (p,))
    return fill(input, "BernoulliBackward2", partial(stream(generator).bernoulli, p))


@filling_method
def exponential_(
    input: Tensor, lambd: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with exponentially distributed numbers of rate ``lambd``; returns the tensor.

    Raises:
        RuntimeError: for a dtype that is not a floating-point one, or if ``lambd`` is not positive.
    """
    draw = stream(generator).exponential
    return fill(input, "ExponentialBackward0", partial(draw, rate=lambd, copy=False))


# Random tensors: of a shape, like another tensor, or from the values of a tensor.


Sizes = int | Sequence[int]


# From shapes


@public
def rand(
    *sizes: Any, size: Sizes | None = None, generator: Generator | None = None,
    dtype: DType | None = None, **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of uniformly distributed numbers in [0, 1).

    Args:
        sizes: the shape, as several integers or one sequence; or the keyword ``size``.
        generator: to draw from. Default: the default generator.
        dtype: a floating-point one. Default: the default dtype.
        options: see `nanotorch.ops.creation.Options`.

    Raises:
        NotImplementedError: for a dtype that is not a floating-point one.
    """
    shape = parse_shape("rand", sizes, size)
    draw = stream(generator).uniform
    return new_filled(draw, shape, numpy_dtype(dtype), options)


@public
def randn(
    *sizes: Any, size: Sizes | None = None, generator: Generator | None = None,
    dtype: DType | None = None, **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of normal numbers of mean 0 and variance 1; arguments as for `rand`."""
    shape = parse_shape("randn", sizes, size)
    draw = stream(generator).normal
    return new_filled(draw, shape, numpy_dtype(dtype), options)


@public
def randint(
    *bounds: Any, low: int = 0, high: int | None = None, size: Sizes | None = None,
    generator: Generator | None = None, dtype: DType | None = None, **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of random integers in [low, high).

    Args:
        bounds: ``high, size`` or ``low, high, size``, where ``size`` is a sequence; each may be a
            keyword. ``low`` defaults to 0.
        generator: to draw from. Default: the default generator.
        dtype: default: ``int64``.
        options: see `nanotorch.ops.creation.Options`.

    Raises:
        TypeError: for arguments of a wrong type or number.
        RuntimeError: if ``low`` is not less than ``high``, or a bound is out of the dtype's range.
    """
    numbers, position = bounds, 0
    if size is None and len(bounds) > 1:
        numbers, size, position = bounds[:-1], bounds[-1], len(bounds)
    if len(numbers) == 2:
        low, high = numbers
    elif len(numbers) == 1 and (high is not None or size is None):
        (low,) = numbers
    elif len(numbers) == 1:
        (high,) = numbers
        if to_integer(high) is None:
            raise wrong_type(high, "int", ("randint", "high", 1))
        if not isinstance(size, (tuple, list)):
            raise wrong_type(size, "tuple of ints", ("randint", "size", position))
    numeric = low.__class__ is high.__class__ is int or (
        len(numbers) <= 2 and None not in (to_integer(low), to_integer(high))
    )
    if not (numeric and isinstance(size, (tuple, list))):
        raise no_form("randint", *bounds)
    shape = parse_shape("randint", (tuple(size),), None, position)
    kind = INT64 if dtype is None else numpy_dtype(dtype)
    draw = partial(stream(generator).integers, low, high)
    return new_filled(draw, shape, kind, options)


@public
def randperm(
    n: int, *, generator: Generator | None = None, dtype: DType = int64, **options: Unpack[Options]
) -> Tensor:
    """A random permutation of the integers 0, ..., ``n`` - 1.

    Args:
        n: at least 0.
        generator: to draw from. Default: the default generator.
        dtype: a dtype that represents all these integers. Default: ``int64``.
        options: see `nanotorch.ops.creation.Options`.

    Raises:
        RuntimeError: if ``n`` is negative or too large for ``dtype``.
    """
    kind = numpy_dtype(int64 if dtype is None else dtype)
    draw = stream(generator).permutation
    return new_filled(lambda shape, kind: draw(*shape, kind), (as_int(n),), kind, options)


# Like another tensor: with its shape, layout and, by default, dtype


def drawn_like(
    input: Tensor, dtype: DType | None, draw: Callable[..., Array], **options: Any
) -> Tensor:
    """A leaf with the layout of a tensor, whose elements are drawn: see `draw_into`."""
    out = empty_like(input, dtype=dtype, **options)
    draw_into(out._array, draw)
    return out


def draw_into(array: Array, draw: Callable[..., Array]) -> None:
    """Fill an array with ``draw(shape, dtype)``, in the order of its elements in memory."""
    if not isinstance(array, MetaArray):
        target = array if array.flags.c_contiguous else memory_order(array)
        target[...] = draw(target.shape, array.dtype)


@public
def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1), with the shape and (by default) dtype of ``input``."""
    return drawn_like(input, dtype, partial(stream(generator).uniform, copy=False), **options)


@public
def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """Normal numbers as from `randn`, with the shape and (by default) dtype of ``input``."""
    contiguous = bool(input._array.flags.c_contiguous)
    draw = partial(stream(generator).normal, contiguous=contiguous)
    return drawn_like(input, dtype, draw, **options)


@public
def randint_like(
    input: Tensor, *bounds: int, low: int = 0, high: int | None = None,
    generator: Generator | None = None, dtype: DType | None = None, **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """Random integers in [low, high), with the shape and (by default) dtype of ``input``.

    Call ``randint_like(input, high)`` or ``randint_like(input, low, high)``.
    """
    if len(bounds) == 2:
        low, high = bounds
    elif bounds:
        low, high = (low, bounds[0]) if high is None else (bounds[0], high)
    return drawn_like(input, dtype, partial(stream(generator).integers, low, high), **options)


# From the values of a tensor


@method
def bernoulli(input: Any, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """A tensor of 0 and 1 like ``input``; the elements of ``input`` are the probabilities of 1.

    Args:
        p: one probability for all elements, in place of those in ``input``.
        generator: to draw from. Default: the default generator.

    Raises:
        RuntimeError: for a probability outside of [0, 1].
        NotImplementedError: for probabilities whose dtype is not a floating-point one.
    """
    check_tensors(input)
    if p is not None:
        return draw_with_chance(input, as_number(p, wanted="float"), generator)
    array = input._array
    drawn = stream(generator).bernoulli(array, array.shape, array.dtype)
    return record_zero_gradient(wrap(drawn), "BernoulliBackward0", input)


@hidden_op(input=lambda g: no_derivative("bernoulli"), node=NO_DERIVATIVE)
def draw_with_chance(input: Array, p: float, generator: Generator | None) -> Array:
    """Numbers 0 and 1, with one probability of 1, of the shape and dtype of ``input``."""
    return stream(generator).bernoulli(p, input.shape, input.dtype)


@public
def normal(
    mean: Tensor | float, std: Tensor | float = 1.0, size: Sizes | None = None, *,
    generator: Generator | None = None, dtype: DType | None = None, **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of normally distributed numbers with given means and standard deviations.

    Args:
        mean, std: tensors that broadcast, or numbers; ``std`` at least 0, by default 1.
        size: the shape, if both are numbers.
        generator: to draw from. Default: the default generator.
        dtype: the dtype, if both are numbers. Default: the default dtype. With tensors, the result
            has the dtype of ``mean``, or of ``std`` if ``mean`` is a number.

    Raises:
        TypeError: for two numbers without ``size``.
        RuntimeError: for a negative ``std``.
    """
    draw, tensors = stream(generator).normal, [t for t in (mean, std) if isinstance(t, Tensor)]
    if not tensors:
        if not isinstance(size, (tuple, list)):
            raise TypeError("normal(): the size of the result must be given as a tuple of ints")
        shape = parse_shape("normal", (tuple(size),))
        draw = partial(draw, mean=mean, std=std)
        return new_filled(draw, shape, numpy_dtype(dtype), options)
    if isinstance(std, Tensor) and std._array.size and std._array.min() < 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")
    shape = common_shape(tuple(tensors[0].shape), tuple(tensors[-1].shape))
    values = draw(shape, tensors[0]._array.dtype, 0.0, 1.0 if isinstance(std, Tensor) else std)
    if isinstance(std, Tensor):
        values *= std._array
    values += mean._array if isinstance(mean, Tensor) else np.array(mean, values.dtype)
    form = isinstance(mean, Tensor) + 2 * isinstance(std, Tensor)
    return record_zero_gradient(new_leaf(values, **options), f"NormalBackward{form}", *tensors)


def record_zero_gradient(out: Tensor, name: str, *inputs: Tensor) -> Tensor:
    """Give ``out`` a `ZeroGradient` node if an input has a history; returns ``out``."""
    node = zero_node(name, *inputs)
    if node is not None:
        node._outputs = ((out._array.shape, out._array.dtype),)
        out._come_from((node, 0))
    return out


@method
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Indices drawn with probabilities proportional to ``input``.

    Args:
        input: floating-point weights, at least 0 and not all 0; the sum need not be 1.
        num_samples: the number of indices to draw from each row, at least 1.
        replacement: whether an index can be drawn more than once. Default: False.
        generator: to draw from. Default: the default generator.

    Shape:
        ``input`` (N,) or (B, N); the result (num_samples,) or (B, num_samples), ``int64``.

    Raises:
        RuntimeError: for invalid weights; without ``replacement``, for ``num_samples`` > N.
    """
    return wrap(stream(generator).multinomial(input._array, num_samples, replacement))
