"""How the functions of `functional` take their arguments, check results, and give them back.

Everything is a tuple inside; what the caller gave as a single tensor comes back as one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.backward import grad

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
