"""Derivatives of functions: Jacobians, Hessians, and their products with vectors.

The products with a vector on the right, `jvp` and `hvp`, differentiate a backward pass with respect
to the weights it began with: the pass is linear in them, so its derivative is the transposed
matrix.
"""

from collections.abc import Callable
from typing import Any

from nanotorch import ops
from nanotorch._core.grad_mode import enable_grad
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.functional_arguments import (
    OF_HESSIAN,
    OF_JACOBIAN,
    OF_OUTPUT,
    OF_TRICK,
    Tensors,
    as_tuple,
    check_dependent,
    check_recorded,
    filled,
    given_back,
    gradients,
    outputs_of,
    prepared,
    single_output,
    vector,
)

ONE_OUTPUT = "the user-provided function returns"
ONE_INPUT = "the input to the user-provided function is"


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivative of each element of each output by each element of each input.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of tensors.
        create_graph: let the result be differentiated itself.
        strict: refuse outputs that do not depend on an input, whose derivative is zero.
        vectorize, strategy: accepted for PyTorch's sake; there is one way to compute it here.

    Shape:
        output's shape + input's shape; a tuple over outputs of tuples over inputs.

    Raises:
        RuntimeError: in strict mode, if an output is independent of an input.
    """
    check_strategy(strategy, vectorize, strict)
    with enable_grad():
        points = prepared(inputs, "jacobian", create_graph)
        raw, outputs = outputs_of(func, points, "jacobian", strict)
        rows = tuple(
            block(out, points, create_graph, strict, number) for number, out in enumerate(outputs)
        )
        results = [given_back(row, inputs, create_graph) for row in rows]
    return results[0] if isinstance(raw, Tensor) else tuple(results)


def check_strategy(strategy: str, vectorize: bool, strict: bool) -> None:
    """Refuse the combinations of options that PyTorch refuses."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    name = "torch.autograd.functional.jacobian"
    if strategy == "forward-mode":
        if strict:
            raise RuntimeError(
                f'{name}: `strict=True` and `strategy="forward-mode"` are not supported together '
                '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:  # the missing space is PyTorch's
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
                "only implemented for `vectorize=True`."
            )
    if vectorize and strict:
        raise RuntimeError(
            f"{name}: `strict=True` and `vectorized=True` are not supported together. Please "
            "either set `strict=False` or `vectorize=False`."
        )


def block(out: Tensor, inputs: Tensors, create_graph: bool, strict: bool, number: int) -> Tensors:
    """The Jacobian of one output by each input, a backward pass per element of the output."""
    message = (
        f"Output {number} of the user-provided function is independent of input {{}}. This is not "
        "allowed in strict mode."
    )
    rows = []
    for element in range(out.numel()):
        unit = ops.zeros(out.numel(), dtype=out.dtype)
        unit[element] = 1
        grads = gradients([out], inputs, [unit.view(out.shape)], create_graph)
        row = filled(grads, inputs, strict, message)
        check_recorded(row, strict and create_graph, "jacobian")
        rows.append(row)
    shapes = [(*out.shape, *t.shape) for t in inputs]
    if not rows:
        return tuple(ops.zeros(s, dtype=t.dtype) for s, t in zip(shapes, inputs, strict=True))
    columns = zip(zip(*rows, strict=True), shapes, strict=True)
    return tuple(ops.stack(column).view(shape) for column, shape in columns)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function of one element by each pair of input elements.

    Args:
        func: takes tensors, returns a tensor of one element.
        inputs, create_graph, strict, vectorize, outer_jacobian_strategy: see `jacobian`.

    Shape:
        input's shape + input's shape; a tuple over inputs of tuples over inputs.

    Raises:
        RuntimeError: if ``func`` returns more than one element; in strict mode, if the gradient
            is independent of an input.
    """
    single = isinstance(inputs, Tensor)
    as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def gradient(*points: Tensor) -> Any:
        # Views, so that what depends on a point does not depend on the gradient's own copy of it.
        inner = tuple(t.view_as(t) for t in points)
        out = single_output(func, inner, "hessian", strict)
        grads = filled(gradients([out], inner, None, True), inner, False, OF_OUTPUT)
        check_dependent(grads, strict)
        return grads[0] if single else grads

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The outputs of ``func``, and the product of ``v`` with its Jacobian.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of tensors.
        v: of the outputs' shapes; may be None for an output of one element.
        create_graph: let the results be differentiated themselves.
        strict: refuse outputs that do not depend on an input.

    Returns:
        The outputs; and the product, of the inputs' shapes.

    Raises:
        RuntimeError: if ``v`` does not fit; in strict mode, for independence.
    """
    with enable_grad():
        points = prepared(inputs, "vjp", create_graph)
        raw, outputs = outputs_of(func, points, "vjp", strict)
        weights = vector(v, outputs, "vjp", ONE_OUTPUT)
        product = filled(
            gradients(outputs, points, weights, create_graph), points, strict, OF_OUTPUT
        )
        check_recorded(product, strict and create_graph, "jacobian")
    return given_back(outputs, raw, create_graph), given_back(product, inputs, create_graph)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The outputs of ``func``, and the product of its Jacobian with ``v``.

    Args:
        v: of the inputs' shapes; may be None for an input of one element.
        func, inputs, create_graph, strict: see `vjp`.

    Returns:
        The outputs; and the product, of the outputs' shapes.

    Raises:
        RuntimeError: if ``v`` does not fit; in strict mode, for independence.
    """
    with enable_grad():
        points = prepared(inputs, "jvp", create_graph)
        directions = vector(v, points, "jvp", ONE_INPUT)
        raw, outputs = outputs_of(func, points, "jvp", strict)
        weights = tuple(ops.zeros_like(out).requires_grad_() for out in outputs)
        first = filled(gradients(outputs, points, weights, True), points, strict, OF_OUTPUT)
        product = filled(
            gradients(first, weights, directions, create_graph), outputs, strict, OF_TRICK
        )
        check_recorded(product, strict and create_graph, "jacobian")
    return given_back(outputs, raw, create_graph), given_back(product, raw, create_graph)


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output of ``func``, and the product of ``v`` with its Hessian.

    Args:
        func: takes tensors, returns a tensor of one element.
        v: of the inputs' shapes; may be None for an input of one element.
        inputs, create_graph, strict: see `vjp`.

    Returns:
        The output; and the product, of the inputs' shapes.

    Raises:
        RuntimeError: if ``v`` does not fit or ``func`` returns more than one element; in strict
            mode, for independence.
    """
    with enable_grad():
        points = prepared(inputs, "vhp", create_graph)
        directions = vector(v, points, "vhp", ONE_INPUT)
        out, first = output_and_gradient(func, points, "vhp", strict)
        product = filled(
            gradients(first, points, directions, create_graph), points, strict, OF_JACOBIAN
        )
        check_recorded(product, strict and create_graph, "hessian")
    return given_back((out,), out, create_graph), given_back(product, inputs, create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output of ``func``, and the product of its Hessian with ``v``.

    The Hessian being symmetric, `vhp` gives the same numbers with one backward pass less.

    Args:
        func, inputs, v, create_graph, strict: see `vhp`.

    Returns:
        The output; and the product, of the inputs' shapes.

    Raises:
        RuntimeError: see `vhp`.
    """
    with enable_grad():
        points = prepared(inputs, "hvp", create_graph)
        directions = vector(v, points, "hvp", ONE_INPUT)
        out, first = output_and_gradient(func, points, "hvp", strict)
        weights = tuple(ops.zeros_like(t).requires_grad_() for t in points)
        second = filled(gradients(first, points, weights, True), points, strict, OF_JACOBIAN)
        product = filled(
            gradients(second, weights, directions, create_graph), points, strict, OF_HESSIAN
        )
        check_recorded(product, strict and create_graph, "hessian")
    return given_back((out,), out, create_graph), given_back(product, inputs, create_graph)


def output_and_gradient(
    func: Callable[..., Any], inputs: Tensors, function: str, strict: bool
) -> tuple[Tensor, Tensors]:
    """The only output of a function, and its gradient, recorded."""
    out = single_output(func, inputs, function, strict)
    first = filled(gradients([out], inputs, None, True), inputs, strict, OF_OUTPUT)
    check_dependent(first, strict)
    return out, first
