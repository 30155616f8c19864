"""Whole matrices of derivatives: row by row, column by column, and of second order."""

import functools
from collections.abc import Callable
from typing import Any

from nanotorch import ops
from nanotorch._core.grad_mode import enable_grad
from nanotorch._core.tensor import Tensor
from nanotorch.func.arguments import Numbers, chosen, need_output, replaced, with_aux
from nanotorch.func.gradients import JVP, VJP, Linear
from nanotorch.func.levels import Level
from nanotorch.func.tree import Spec, flatten, unflatten


def jacrev(
    func: Callable[..., Any],
    argnums: Numbers = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, computed by a backward pass for each row.

    Args:
        func: takes and returns nested tensors.
        argnums: the position of the argument to differentiate by, or a tuple of positions.
        has_aux: ``func`` returns a tuple of the tensors and anything else, which is handed on.
        chunk_size: accepted for PyTorch's sake.

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
        blocks = []
        for output in outputs:
            rows = [level.pulled_back([output], [unit]) for unit in units(output)]
            blocks.append(
                [
                    ops.stack([row[n] for row in rows]).view(*output.shape, *input.shape)
                    if rows
                    else ops.zeros(*output.shape, *input.shape, dtype=output.dtype)
                    for n, input in enumerate(level.inputs)
                ]
            )
        return assembled(level, blocks, specs, has_aux, aux)

    return wrapper


def jacfwd(
    func: Callable[..., Any],
    argnums: Numbers = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, computed column by column.

    Where there are fewer inputs than outputs it is faster than `jacrev`.

    Args:
        randomness: accepted for PyTorch's sake.
        func, argnums, has_aux: see `jacrev`.

    Raises:
        RuntimeError: see `jacrev`.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level, outputs, specs, aux = run(func, args, kwargs, argnums, has_aux, JVP)
        linear, zeros = Linear(level, outputs), [ops.zeros_like(t) for t in level.inputs]
        blocks: list[list[Tensor]] = [[] for _ in outputs]
        for n, input in enumerate(level.inputs):
            columns = [linear([*zeros[:n], unit, *zeros[n + 1 :]]) for unit in units(input)]
            for k, output in enumerate(outputs):
                blocks[k].append(
                    ops.stack([column[k] for column in columns], -1).view(
                        *output.shape, *input.shape
                    )
                    if columns
                    else ops.zeros(*output.shape, *input.shape, dtype=output.dtype)
                )
        return assembled(level, blocks, specs, has_aux, aux)

    return wrapper


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
    with enable_grad():
        result = func(*replaced(args, argnums, entered), **kwargs)
        output, aux = with_aux(result, has_aux, name)
    outputs, spec = flatten(output)
    need_output(output, outputs, name)
    level.watch(outputs)
    return level, outputs, (spec, flatten(entered)[1]), aux


def units(tensor: Tensor) -> list[Tensor]:
    """For each element of a tensor, one of its shape with 1 there and 0 elsewhere."""
    return list(ops.eye(tensor.numel(), dtype=tensor.dtype).view(-1, *tensor.shape).unbind())


def assembled(
    level: Level, blocks: list[list[Tensor]], specs: tuple[Spec, Spec], has_aux: bool, aux: Any
) -> Any:
    """The Jacobians as the caller gets them, from a list by outputs of lists by inputs."""
    outer, inner = specs
    jacobian = level.left(unflatten([unflatten(row, inner) for row in blocks], outer))
    return (jacobian, level.left(aux)) if has_aux else jacobian
