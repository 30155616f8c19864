"""Derivatives of functions: Jacobians, Hessians, and their products with vectors."""

from collections.abc import Callable, Sequence
from typing import Any

from nanotorch import ops
from nanotorch._core.grad_mode import enable_grad
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.backward import grad

# How the functions of `functional` take their arguments, check results, and give them back.
#
# Everything is a tuple inside; what the caller gave as a single tensor comes back as one.


Tensors = tuple[Tensor, ...]

OUTPUTS = "outputs of the user-provided function"
NOT_DIFFERENTIABLE = (
    "Output {} of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode."
)
LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    "respect to input {} is independent of the input. This is not allowed in strict mode. You "
    "should ensure that your function is twice differentiable and that the jacobian depends on the "
    "inputs (this would be violated by a linear function for example)."
)
# What strict mode says of a gradient that is None: of an output, of the first gradient in the
# double-backward trick, of the Jacobian, and of the Hessian in the trick.
OF_OUTPUT = (
    "The output of the user-provided function is independent of input {}. This is not allowed in "
    "strict mode."
)
OF_TRICK = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when "
    "using the double backward trick to compute forward mode gradients. This is not allowed in "
    "strict mode."
)
OF_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in "
    "strict mode."
)
OF_HESSIAN = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
    "This is not allowed in strict mode as it prevents from using the double backward trick to "
    "replace forward mode AD."
)


def as_tuple(value: Any, what: str, function: str) -> Tensors:
    """A tensor or a tuple of tensors as a tuple.

    Args:
        what: how a message calls the value.
        function: who was given it, for the message.

    Raises:
        TypeError: for anything else.
    """
    what_given = f"{what} given to {function}"
    if isinstance(value, Tensor):
        return (value,)
    if not isinstance(value, tuple):
        raise TypeError(
            f"The {what_given} must be either a Tensor or a tuple of Tensors but the given {what} "
            f"has type {type(value)}."
        )
    for position, element in enumerate(value):
        if not isinstance(element, Tensor):
            raise TypeError(
                f"The {what_given} must be either a Tensor or a tuple of Tensors but the value at "
                f"index {position} has type {type(element)}."
            )
    return value


def prepared(inputs: Any, function: str, create_graph: bool) -> Tensors:
    """The inputs to differentiate with respect to, apart from the caller's own tensors.

    Args:
        create_graph: keep them connected with the caller's, so that gradients reach those.
    """
    given = as_tuple(inputs, "inputs", function)
    if create_graph:
        return tuple(
            t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in given
        )
    return tuple(t.detach().requires_grad_() for t in given)


def outputs_of(
    func: Callable[..., Any], inputs: Tensors, function: str, strict: bool
) -> tuple[Any, Tensors]:
    """What the user's function returns, as it comes and as a tuple.

    Raises:
        RuntimeError: in strict mode, if an output does not require grad.
    """
    raw = func(*inputs)
    outputs = as_tuple(raw, OUTPUTS, function)
    for position, out in enumerate(outputs):
        if strict and not out.requires_grad:
            raise RuntimeError(NOT_DIFFERENTIABLE.format(position))
    return raw, outputs


def single_output(func: Callable[..., Any], inputs: Tensors, function: str, strict: bool) -> Tensor:
    """The only output of a function that has to return one element.

    Raises:
        RuntimeError: if it returns a tuple, or several elements.
    """
    raw, (out, *_) = outputs_of(func, inputs, function, strict)
    if not isinstance(raw, Tensor):
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if out.numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )
    return out


def vector(v: Any, references: Tensors, function: str, whose: str) -> Tensors:
    """The vector of a product, of the shapes of ``references``; a one if there is none.

    Args:
        whose: how the message calls the references, of which there must then be one.

    Raises:
        RuntimeError: if the shapes do not fit, or there is no vector and more than one element.
    """
    if v is None:
        if len(references) != 1 or references[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {whose} a single Tensor with a single element."
            )
        return (ops.ones_like(references[0]),)
    given = tuple(t.detach() if not t.requires_grad else t for t in as_tuple(v, "v", function))
    if len(given) != len(references):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(references)} but got {len(given)}."
        )
    for position, (t, reference) in enumerate(zip(given, references, strict=True)):
        if t.shape != reference.shape:
            entry = f"Entry {position} in " if len(references) > 1 else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {reference.shape} but got {t.shape}."
            )
    return given


def gradients(
    outputs: Sequence[Tensor],
    inputs: Tensors,
    weights: Sequence[Tensor] | None,
    create_graph: bool,
) -> tuple[Tensor | None, ...]:
    """`grad`, with None for all inputs where no output depends on any."""
    given: Sequence[Tensor | None] = weights or [None] * len(outputs)
    pairs = zip(outputs, given, strict=True)
    known = [(out, w) for out, w in pairs if out.requires_grad]
    if not known:
        return (None,) * len(inputs)
    return grad(
        [out for out, _ in known],
        inputs,
        [w for _, w in known],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )


def filled(grads: Sequence[Tensor | None], inputs: Tensors, strict: bool, message: str) -> Tensors:
    """Gradients with zeros for None.

    Raises:
        RuntimeError: in strict mode, for None.
    """
    for position, g in enumerate(grads):
        if g is None and strict:
            raise RuntimeError(message.format(position))
    pairs = zip(grads, inputs, strict=True)
    return tuple(ops.zeros_like(t) if g is None else g for g, t in pairs)


def check_recorded(results: Sequence[Tensor], strict: bool, what: str) -> None:
    """Refuse, in strict mode, results that cannot be differentiated though that was asked for."""
    for position, g in enumerate(results):
        if strict and not g.requires_grad:
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {position}. "
                "This is not allowed in strict mode when create_graph=True."
            )


def check_dependent(jacobian: Sequence[Tensor], strict: bool) -> None:
    """Refuse, in strict mode, a Jacobian that does not depend on the inputs."""
    for position, g in enumerate(jacobian):
        if strict and not g.requires_grad:
            raise RuntimeError(LINEAR.format(position))


def given_back(results: Tensors, like: Any, create_graph: bool) -> Any:
    """Results as the caller sees them: detached unless asked otherwise, one where one was given."""
    final = results if create_graph else tuple(t.detach() for t in results)
    return final[0] if isinstance(like, Tensor) else final


# Derivatives of functions: Jacobians, Hessians, and their products with vectors.
#
# The products with a vector on the right, `jvp` and `hvp`, differentiate a backward pass with
# respect to the weights it began with: the pass is linear in them, so its derivative is the
# transposed matrix.


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
