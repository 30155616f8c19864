"""Gradients of functions, and products of their Jacobians with vectors."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from nanotorch import ops
from nanotorch._core.grad_mode import enable_grad, is_grad_enabled
from nanotorch._core.tensor import Tensor
from nanotorch.func.arguments import (
    Numbers,
    chosen,
    need_floats,
    need_output,
    need_smooth,
    need_tensors,
    replaced,
    with_aux,
)
from nanotorch.func.levels import Level
from nanotorch.func.tree import Spec, flatten, unflatten

VJP, JVP = "vjp(f, *primals)", "jvp(f, primals, tangents)"


def grad_and_value(
    func: Callable[..., Any], argnums: Numbers = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of ``func``, and its value.

    Args:
        func: returns a tensor without dimensions; arguments are nested tensors.
        argnums: the position of the argument to differentiate by, or a tuple of positions.
        has_aux: ``func`` returns a tuple of the tensor and anything else, which is handed on.

    Returns:
        A function of the same arguments that gives the gradient, nested as the argument or in a
        tuple of them, and the value; or gradient and (value, anything else).

    Raises:
        RuntimeError: for another result of ``func``, or arguments that there are not.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level = Level()
        entered = level.entered(chosen(args, argnums))
        with level.running():
            result = func(*replaced(args, argnums, entered), **kwargs)
        output, aux = with_aux(result, has_aux, "grad_and_value(f)(*args)")
        check_scalar(output)
        level.watch([output])
        found = level.pulled_back([output], [None])
        gradient = unflatten(found, flatten(entered)[1])
        value = level.left((output, aux) if has_aux else output)
        return level.left(gradient), value

    return wrapper


def check_scalar(output: Any) -> None:
    """Refuse what has no gradient.

    Raises:
        RuntimeError: for anything but a tensor without dimensions.
    """
    name = "grad_and_value(f)(*args)"
    if not isinstance(output, Tensor):
        raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output.ndim:
        raise RuntimeError(
            f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} "
            "dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def grad(
    func: Callable[..., Any], argnums: Numbers = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of ``func``.

    Args:
        func, argnums, has_aux: see `grad_and_value`.

    Returns:
        A function of the same arguments that gives the gradient; with ``has_aux`` a tuple of it
        and what ``func`` returns besides.

    Raises:
        RuntimeError: see `grad_and_value`.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of ``func``, and a function that multiplies vectors with its Jacobian.

    Args:
        func: takes and returns nested tensors.
        primals: its arguments.
        has_aux: ``func`` returns a tuple of the tensors and anything else.

    Returns:
        The value; and a function of weights, nested as the value, that gives a tuple of their
        products with the Jacobians by each argument; with ``has_aux`` also what there is besides.

    Raises:
        RuntimeError: if ``func`` returns anything but floating-point tensors, or the weights are
            nested in another way.
    """
    level = Level()
    entered = level.entered(primals)
    with level.running():
        output, aux = with_aux(func(*entered), has_aux, VJP)
    outputs, spec = flatten(output)
    need_output(output, outputs, VJP)
    need_floats(outputs)
    level.watch(outputs)
    inner = flatten(entered)[1]

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        weights, given = flatten(cotangents)
        if given != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {given}, primal output: {spec}"
            )
        return unflatten(level.pulled_back(outputs, weights), inner)

    results = level.left(output), vjp_fn
    return (*results, level.left(aux)) if has_aux else results


class Linear:
    """The linear map from small changes of a function's inputs to those of its outputs.

    The gradient of the outputs is linear in its weights, so that the gradient of that by the
    weights is the transposed of the transposed matrix.
    """

    def __init__(self, level: Level, outputs: Sequence[Tensor]) -> None:
        self._level, self.outputs = level, outputs
        smooth = [o for o in outputs if o.is_floating_point()]
        with enable_grad():
            self._weights = [level.leaf(ops.zeros_like(o)) for o in smooth]
        self._products = level.gradients(smooth, level.inputs, self._weights, True)

    def __call__(self, tangents: Sequence[Tensor]) -> list[Tensor]:
        """The change of each output; those of integers do not change."""
        recorded = self._level.recorded or (
            is_grad_enabled() and any(t.requires_grad for t in tangents)
        )
        found = self._level.gradients(self._products, self._weights, tangents, recorded)
        changes = iter(found if recorded else [t.detach() for t in found])
        return [next(changes) if o.is_floating_point() else ops.zeros_like(o) for o in self.outputs]


def linear_of(
    func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool, name: str
) -> tuple[Any, Any, Linear, Spec, Level]:
    """A function at a point: its value, what it returns besides, and its linear map."""
    need_smooth(flatten(primals)[0])
    level = Level()
    entered = level.entered(primals)
    with level.running():
        output, aux = with_aux(func(*entered), has_aux, name)
    outputs, spec = flatten(output)
    need_output(output, outputs, name)
    level.watch(outputs)
    return level.left(output), level.left(aux), Linear(level, outputs), spec, level


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """The value of ``func``, and the product of its Jacobian with a vector.

    Args:
        func: takes and returns nested tensors.
        primals: a tuple of its arguments.
        tangents: the vector, nested as they are.
        strict: refuse a function with an output that does not depend on the arguments.
        has_aux: ``func`` returns a tuple of the tensors and anything else.

    Returns:
        The value and the product; with ``has_aux`` also what there is besides.

    Raises:
        RuntimeError: if the arguments are no tuple, or the vector is nested in another way or of
            another shape.
        ValueError: for arguments that are no floating-point numbers.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    inputs, inputs_spec = flatten(primals)
    directions, directions_spec = flatten(tangents)
    if inputs_spec != directions_spec:
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{inputs_spec.in_full()} and tangents with structure {directions_spec.in_full()}"
        )
    for values, what in ((inputs, "primals"), (directions, "tangents")):
        if not values:
            raise RuntimeError(f"{JVP}: Expected {what} to contain at least one Tensor.")
        told = f"{JVP}: Expected {what} to only contain Tensors, got "
        need_tensors(values, lambda v, told=told: f"{told}{type(v)}")  # type: ignore[misc]
    for value, direction in zip(inputs, directions, strict=True):
        need_smooth([value])
        if not direction.is_floating_point():
            raise ValueError(
                f"Expected tangent to be floating point or complex, but got: {direction.dtype}"
            )
        if value.shape != direction.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the "
                f"original Tensor, this is not supported. Tensor is of size {list(value.shape)} "
                f"while the given forward gradient is of size {list(direction.shape)}."
            )
    output, aux, linear, spec, level = linear_of(func, primals, has_aux, JVP)
    if strict and not all(level.reached_by(linear.outputs)):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
            "inputs. This is not allowed with strict=True."
        )
    product = unflatten(linear(directions), spec)
    return (output, product, aux) if has_aux else (output, product)
