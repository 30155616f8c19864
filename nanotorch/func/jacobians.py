"""Whole matrices of derivatives: row by row, column by column, and of second order."""

import functools
from collections.abc import Callable
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.func.arguments import (
    Numbers,
    chosen,
    need_floats,
    need_output,
    need_smooth,
    replaced,
    with_aux,
)
from nanotorch.func.batching import vmap
from nanotorch.func.gradients import JVP, VJP, Linear, jvp
from nanotorch.func.levels import Level
from nanotorch.func.tree import Spec, flatten, unflatten
from nanotorch.ops.drawing import ERROR
from nanotorch.ops.generator import default_generator


def jacrev(
    func: Callable[..., Any],
    argnums: Numbers = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, computed by a backward pass for all rows.

    Args:
        func: takes and returns nested tensors.
        argnums: the position of the argument to differentiate by, or a tuple of positions.
        has_aux: ``func`` returns a tuple of the tensors and anything else, which is handed on.
        chunk_size: how many rows to compute at once. Default: all.

    Returns:
        A function of the same arguments. In the place of each output of ``func`` it gives, nested
        as the argument, the derivatives by each input, of the output's shape + the input's; with
        ``has_aux`` in a tuple with what ``func`` returns besides.

    Raises:
        RuntimeError: for other results of ``func``, or arguments that there are not.
        ValueError: for a chunk size below 1.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level, outputs, specs, aux = run(func, args, kwargs, argnums, has_aux, VJP)
        need_floats(outputs)
        blocks = []
        for output in outputs:
            shapes = [(*output.shape, *input.shape) for input in level.inputs]

            def pull(unit: Tensor, output: Tensor = output) -> list[Tensor]:
                return level.pulled_back([output], [unit])

            rows = for_units(pull, output, 0, chunk_size, "error")
            blocks.append([row.reshape(shape) for row, shape in zip(rows, shapes, strict=True)])
        return assembled(level, blocks, specs, has_aux, aux)

    return wrapper


def jacfwd(
    func: Callable[..., Any],
    argnums: Numbers = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, computed forwards for all columns at once.

    Where there are fewer inputs than outputs it is faster than `jacrev`.

    Args:
        randomness: "error" for a function that draws no random numbers. Default. "same" draws them
            once, for all columns, "different" for each column.
        func, argnums, has_aux: see `jacrev`.

    Raises:
        RuntimeError: see `jacrev`; for random numbers where they are an error.
        ValueError: for arguments that are no floating-point numbers.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        need_smooth(flatten(chosen(args, argnums))[0])
        if randomness == "different":
            return drawn_apart(func, args, kwargs, argnums, has_aux)
        before = default_generator._mark()
        level, outputs, specs, aux = run(func, args, kwargs, argnums, has_aux, JVP)
        if randomness == "error" and default_generator._mark() != before:
            raise RuntimeError(ERROR)
        linear, zeros = Linear(level, outputs), [ops.zeros_like(t) for t in level.inputs]
        blocks: list[list[Tensor]] = [[] for _ in outputs]
        for n, input in enumerate(level.inputs):

            def push(unit: Tensor, n: int = n) -> list[Tensor]:
                return linear([*zeros[:n], unit, *zeros[n + 1 :]])

            columns = for_units(push, input, -1, None, randomness)
            for k, output in enumerate(outputs):
                blocks[k].append(columns[k].reshape(*output.shape, *input.shape))
        return assembled(level, blocks, specs, has_aux, aux)

    return wrapper


def drawn_apart(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Numbers,
    has_aux: bool,
) -> Any:
    """The Jacobian of a function that is run for every column, with random numbers of its own."""
    inputs, inner = flatten(chosen(args, argnums))
    sizes = [t.numel() for t in inputs]

    def column(*units: Tensor) -> Any:
        def of_chosen(given: Any) -> Any:
            return func(*replaced(args, argnums, given), **kwargs)

        tangents = (unflatten(list(units), inner),)
        _, *rest = jvp(of_chosen, (chosen(args, argnums),), tangents, has_aux=has_aux)
        return tuple(rest)

    parts = [
        unit.reshape(-1, *t.shape).to(t.dtype)
        for unit, t in zip(ops.eye(sum(sizes)).split(sizes, 1), inputs, strict=True)
    ]
    columns, *aux = vmap(column, 0, (-1, 0)[: 1 + has_aux], "different")(*parts)
    outputs, outer = flatten(columns)
    blocks = [
        [
            part.reshape(*part.shape[:-1], *t.shape)
            for part, t in zip(output.split(sizes, -1), inputs, strict=True)
        ]
        for output in outputs
    ]
    jacobian = unflatten([unflatten(row, inner) for row in blocks], outer)
    if not has_aux:
        return jacobian
    first, spec = flatten(aux[0])
    return jacobian, unflatten([t[0] for t in first], spec)


def hessian(func: Callable[..., Any], argnums: Numbers = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of ``func``: ``jacfwd(jacrev(func))``.

    Args:
        func, argnums: see `jacrev`.

    Raises:
        RuntimeError: see `jacrev`.
    """
    return jacfwd(jacrev(func, argnums), argnums)


def run(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Numbers,
    has_aux: bool,
    name: str,
) -> tuple[Level, list[Tensor], tuple[Spec, Spec], Any]:
    """A function in a level of its own: its outputs, how they and the inputs are nested."""
    level = Level()
    entered = level.entered(chosen(args, argnums))
    with level.running():
        result = func(*replaced(args, argnums, entered), **kwargs)
        output, aux = with_aux(result, has_aux, name)
    outputs, spec = flatten(output)
    need_output(output, outputs, name)
    level.watch(outputs)
    return level, outputs, (spec, flatten(entered)[1]), aux


def for_units(
    function: Callable[[Tensor], list[Tensor]],
    tensor: Tensor,
    dim: int,
    chunk_size: int | None,
    randomness: str,
) -> list[Tensor]:
    """What a function gives for each tensor of this shape with one 1 and zeros, stacked.

    Args:
        tensor: whose shape is meant.
        dim: along which to stack.
    """
    count = tensor.numel()
    if count <= 1:
        one = ops.ones(tuple(tensor.shape), dtype=tensor.dtype)
        return [result.unsqueeze(dim).narrow(dim, 0, count) for result in function(one)]
    units = ops.eye(count, dtype=tensor.dtype).view(count, *tensor.shape)
    mapped = vmap(function, 0, dim, randomness, chunk_size=chunk_size)
    found: list[Tensor] = mapped(units)
    return found


def assembled(
    level: Level, blocks: list[list[Tensor]], specs: tuple[Spec, Spec], has_aux: bool, aux: Any
) -> Any:
    """The Jacobians as the caller gets them, from a list by outputs of lists by inputs."""
    outer, inner = specs
    jacobian = level.left(unflatten([unflatten(row, inner) for row in blocks], outer))
    return (jacobian, level.left(aux)) if has_aux else jacobian
