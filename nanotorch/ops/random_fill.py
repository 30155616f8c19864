"""Filling a tensor in place with random numbers.

The former values play no part in the result, so the gradient of a filled tensor ends there, in
zeros. Numbers are drawn in the order of the memory, which is that of the elements where the tensor
is contiguous.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core.batch_functions import under_vmap
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import Edge, Node, next_sequence
from nanotorch._core.op import method
from nanotorch._core.origins import here, wrote
from nanotorch._core.random import memory_order
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import check_write, edge_of, rebase
from nanotorch._core.watching import look, watch
from nanotorch.ops.drawing import filling
from nanotorch.ops.generator import Generator, stream

Array = np.ndarray


class ZeroGradient(Node):
    """The node of a result that does not depend on the values of its inputs."""

    shapes: tuple[tuple[tuple[int, ...], Any], ...] = ()

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        zeros = [np.zeros(*metadata) for metadata in self.shapes]
        return [wrap(array) for array in zeros] if graph else zeros


def zero_gradient(name: str) -> type[ZeroGradient]:
    """The node class of a random operation, by PyTorch's name for it."""
    return type(name, (ZeroGradient,), {"__module__": "nanotorch.autograd"})


def zero_node(kind: type[ZeroGradient], inputs: Sequence[Tensor], edges: tuple[Edge, ...]) -> Node:
    """A node of that class on the inputs, whose result has the first one's shape and dtype."""
    node = kind()
    node._sequence, node._site = next_sequence(), here()
    node._edges = edges
    node.shapes = tuple((t._array.shape, t._array.dtype) for t in inputs)
    node._outputs = node.shapes[:1]
    return node


NORMAL, UNIFORM = zero_gradient("NormalBackward0"), zero_gradient("UniformBackward0")
RANDOM = [zero_gradient(f"RandomBackward{number}") for number in range(3)]
BERNOULLI = [zero_gradient(f"BernoulliBackward{number}") for number in range(3)]
EXPONENTIAL, CAUCHY = zero_gradient("ExponentialBackward0"), zero_gradient("CauchyBackward0")
LOG_NORMAL, GEOMETRIC = zero_gradient("LogNormalBackward0"), zero_gradient("GeometricBackward0")


def fill(
    input: Tensor,
    kind: type[ZeroGradient],
    draw: Callable[[tuple[int, ...], np.dtype], Array],
    *others: Tensor,
) -> Tensor:
    """Write what ``draw`` gives for a shape and dtype into ``input``.

    Args:
        kind: of the node, if the fill is recorded.
        others: further tensors that the node leads to.
    """
    check_write(input)
    array = input._array
    edges = tuple(edge_of(t) for t in (input, *others)) if mode.enabled else ()
    target = array if array.flags.c_contiguous else memory_order(array)
    target[...] = draw(target.shape, array.dtype)
    wrote(input._cell, "a random fill")
    if watch.on:
        look("a random fill", input, [], None, sys._getframe(1))
    if any(node is not None for node, _ in edges):
        rebase(input, zero_node(kind, (input, *others), edges))
    return input


def limits(name: str, given: tuple[Any, ...], named: dict[str, Any], default: list[Any]) -> Any:
    """The arguments ``from`` and ``to``, the first of which is a word of Python.

    Raises:
        TypeError: for too many or other arguments.
    """
    names = ("from", "to")
    if len(given) > len(names):
        raise TypeError(f"{name}() takes at most 2 arguments, but {len(given)} were given")
    values = dict(zip(names, default, strict=True)) | dict(zip(names, given, strict=False))
    for key, value in named.items():
        if key not in names[len(given) :]:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        values[key] = value
    return values["from"], values["to"]


@method(public=False)
@under_vmap(filling, random=True)
def normal_(
    input: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers; returns the tensor.

    Args:
        mean, std: of the distribution; ``std`` at least 0. Default: 0 and 1.
        generator: to draw from. Default: the default generator.

    Raises:
        NotImplementedError: for a dtype that is not a floating-point one.
        RuntimeError: if ``std`` is negative.
    """
    contiguous = bool(input._array.flags.c_contiguous)
    return fill(
        input,
        NORMAL,
        lambda shape, dtype: stream(generator).normal(
            shape, dtype, mean, std, contiguous=contiguous
        ),
    )


@method(public=False)
@under_vmap(filling, random=True)
def uniform_(
    input: Tensor, *bounds: float, generator: Generator | None = None, **named: float
) -> Tensor:
    """Fill with uniform numbers; returns the tensor.

    Args:
        bounds: ``from`` and ``to``; the numbers are in [from, to). Default: 0 and 1.
        generator: to draw from. Default: the default generator.

    Raises:
        NotImplementedError: for a dtype that is not a floating-point one.
        RuntimeError: if ``from`` is greater than ``to``.
    """
    low, high = limits("uniform_", bounds, named, [0.0, 1.0])
    return fill(
        input, UNIFORM, lambda shape, dtype: stream(generator).uniform(shape, dtype, low, high)
    )


@method(public=False)
@under_vmap(filling, random=True)
def random_(
    input: Tensor, *bounds: int | None, generator: Generator | None = None, **named: int
) -> Tensor:
    """Fill with random integers; returns the tensor.

    Args:
        bounds: nothing; or ``to``; or ``from`` and ``to``. The numbers are in [from, to), by
            default from 0 to the last integer up to which the dtype has all of them.
        generator: to draw from. Default: the default generator.

    Raises:
        RuntimeError: if ``from`` is not less than ``to``, or one is out of the dtype's range.
    """
    if len(bounds) == 1 and not named:
        bounds = (0, *bounds)
        kind = RANDOM[1]
    else:
        kind = RANDOM[0 if bounds or "from" in named else 1 if named else 2]
    low, high = limits("random_", bounds, named, [0, None])
    if kind is RANDOM[2]:
        return fill(input, kind, stream(generator).naturals)
    return fill(
        input, kind, lambda shape, dtype: stream(generator).integers(low, high, shape, dtype)
    )


@method(public=False)
@under_vmap(filling, random=True)
def bernoulli_(
    input: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """Fill with ones with probability ``p`` and zeros else; returns the tensor.

    Args:
        p: a number in [0, 1], or a tensor of them that can be expanded to this one's shape.
            Default: 0.5.
        generator: to draw from. Default: the default generator.

    Raises:
        RuntimeError: if ``p`` is not in [0, 1] or does not fit.
    """
    if isinstance(p, Tensor):
        chances = p.expand(input.shape)._array
        layout = input._array
        if not layout.flags.c_contiguous:
            axes = sorted(range(layout.ndim), key=lambda axis: -layout.strides[axis])
            chances = chances.transpose(axes)
        return fill(
            input,
            BERNOULLI[1],
            lambda shape, dtype: stream(generator).bernoulli(chances, shape, dtype),
            p,
        )
    return fill(
        input, BERNOULLI[2], lambda shape, dtype: stream(generator).bernoulli(p, shape, dtype)
    )


@method(public=False)
@under_vmap(filling, random=True)
def exponential_(
    input: Tensor, lambd: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with exponentially distributed numbers of rate ``lambd``; returns the tensor.

    Raises:
        RuntimeError: for a dtype that is not a floating-point one; if ``lambd`` is not positive.
    """
    return fill(
        input, EXPONENTIAL, lambda shape, dtype: stream(generator).exponential(shape, dtype, lambd)
    )


@method(public=False)
@under_vmap(filling, random=True)
def cauchy_(
    input: Tensor,
    median: float = 0.0,
    sigma: float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with Cauchy distributed numbers; returns the tensor.

    Raises:
        RuntimeError: for a dtype that is not a floating-point one; if ``sigma`` is not positive.
    """
    return fill(
        input, CAUCHY, lambda shape, dtype: stream(generator).cauchy(shape, dtype, median, sigma)
    )


@method(public=False)
@under_vmap(filling, random=True)
def log_normal_(
    input: Tensor,
    mean: float = 1.0,
    std: float = 2.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with numbers whose logarithm is normal with ``mean`` and ``std``; returns the tensor.

    Raises:
        NotImplementedError: for a dtype that is not a floating-point one.
        RuntimeError: if ``std`` is not positive.
    """
    return fill(
        input,
        LOG_NORMAL,
        lambda shape, dtype: stream(generator).log_normal(shape, dtype, mean, std),
    )


@method(public=False)
@under_vmap(filling, random=True)
def geometric_(input: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of trials until the first success of chance ``p``; returns the tensor.

    Raises:
        RuntimeError: if ``p`` is not in (0, 1).
    """
    return fill(input, GEOMETRIC, lambda shape, dtype: stream(generator).geometric(p, shape, dtype))
