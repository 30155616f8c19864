"""Derivatives of functions: Jacobians, Hessians and products with Jacobians."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nanotorch import ops
from nanotorch._core.grad_mode import enable_grad
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.backward import grad
from nanotorch.names.lookup import on_demand

# How the functions take their arguments, check results, and give them back.
#
# Everything is a tuple inside; what the caller gave as a single tensor comes back as one.


Tensors = tuple[Tensor, ...]
Func = Callable[..., Any]
OUTPUTS = "outputs of the function"


def as_tuple(value: Any, what: str, function: str) -> Tensors:
    """A tensor or a tuple of tensors as a tuple.

    Args:
        what: how a message calls the value.
        function: who was given it, for the message.
    """
    if isinstance(value, Tensor):
        return (value,)
    elements = value if isinstance(value, tuple) else (None,)
    if not all(isinstance(element, Tensor) for element in elements):
        raise TypeError(
            f"The {what} given to {function} must be either a Tensor or a tuple of Tensors"
        )
    return elements


def prepared(inputs: Any, function: str, create_graph: bool, strict: bool) -> Tensors:
    """The inputs to differentiate with respect to, apart from the caller's own tensors.

    Args:
        create_graph: keep them connected with the caller's, so that gradients reach those.
        strict: must be False.
    """
    if strict:
        raise NotImplementedError(f"{function}: strict=True is not there; zeros tell the same")
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_()
        for t in as_tuple(inputs, "inputs", function)
    )


def pulled_back(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Tensor | None],
    create_graph: bool,
) -> Tensors:  # fmt: skip
    """The gradient of the weighted outputs by each input, zero where there is none; the graph is
    kept."""
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if pairs:
        with enable_grad():
            found = grad(
                [o for o, _ in pairs], list(inputs), [w for _, w in pairs],
                retain_graph=True, create_graph=create_graph, allow_unused=True,
            )  # fmt: skip
    return tuple(ops.zeros_like(t) if g is None else g for g, t in zip(found, inputs, strict=True))


def given_back(results: Tensors, like: Any, create_graph: bool) -> Any:
    """Results as the caller sees them: detached unless asked otherwise, one where one was given."""
    final = results if create_graph else tuple(t.detach() for t in results)
    return final[0] if isinstance(like, Tensor) else final


def jacobian(
    func: Func, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The derivative of each element of each output by each element of each input.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of tensors.
        create_graph: let the result be differentiated itself.
        strict: must be False.
        vectorize, strategy: accepted for PyTorch's sake; there is one way to compute it here.

    Shape:
        output's shape + input's shape; a tuple over outputs of tuples over inputs.
    """
    with enable_grad():
        points = prepared(inputs, "jacobian", create_graph, strict)
        raw = func(*points)
        results = [
            given_back(block(out, points, create_graph), inputs, create_graph)
            for out in as_tuple(raw, OUTPUTS, "jacobian")
        ]
    return results[0] if isinstance(raw, Tensor) else tuple(results)


def block(out: Tensor, inputs: Tensors, create_graph: bool) -> Tensors:
    """The Jacobian of one output by each input, a backward pass per element of the output."""
    rows = [pulled_back([out], inputs, [unit], create_graph) for unit in units(out)]
    shapes = [(*out.shape, *t.shape) for t in inputs]
    if not rows:
        return tuple(ops.zeros(s, dtype=t.dtype) for s, t in zip(shapes, inputs, strict=True))
    columns = zip(zip(*rows, strict=True), shapes, strict=True)
    return tuple(ops.stack(column).view(shape) for column, shape in columns)


def units(out: Tensor) -> Iterator[Tensor]:
    """Weights for a backward pass from each element of an output."""
    for element in range(out.numel()):
        unit = ops.zeros(out.numel(), dtype=out.dtype)
        unit[element] = 1
        yield unit.view(out.shape)


def hessian(
    func: Func, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a function of one element by each pair of input elements.

    Args:
        func: takes tensors, returns a tensor of one element.
        inputs, create_graph, strict, vectorize, outer_jacobian_strategy: see `jacobian`.

    Shape:
        input's shape + input's shape; a tuple over inputs of tuples over inputs.

    Raises:
        RuntimeError: if ``func`` returns more than one element.
    """
    as_tuple(inputs, "inputs", "hessian")

    def gradient(*points: Tensor) -> Any:
        # Views, so that what depends on a point does not depend on the gradient's own copy of it.
        inner = tuple(t.view_as(t) for t in points)
        raw = func(*inner)
        as_tuple(raw, OUTPUTS, "hessian")
        if not isinstance(raw, Tensor):
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if raw.numel() != 1:
            raise RuntimeError("The function given to hessian should return a single element")
        first = pulled_back([raw], inner, [None], True)
        return first[0] if isinstance(inputs, Tensor) else first

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vjp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of a function, and the product of a vector with its Jacobian.

    Args:
        func, inputs, create_graph, strict: see `jacobian`.
        v: a tensor per output, of its shape; may be left out for one output of one element.

    Returns:
        What ``func`` returns, and a gradient per input, of its shape.

    Raises:
        RuntimeError: if ``v`` does not fit the outputs.
    """
    with enable_grad():
        points = prepared(inputs, "vjp", create_graph, strict)
        raw = func(*points)
        outputs = as_tuple(raw, OUTPUTS, "vjp")
        if v is None and (len(outputs) != 1 or outputs[0].numel() != 1):
            raise RuntimeError("v can be left out only for one output of one element")
        weights = (None,) if v is None else as_tuple(v, "vector v", "vjp")
        if len(weights) != len(outputs):
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(outputs)} but got {len(weights)}."
            )
        for out, weight in zip(outputs, weights, strict=True):
            if weight is not None and weight.shape != out.shape:
                raise RuntimeError(
                    f"v has invalid size: should be {out.shape} but got {weight.shape}."
                )
        found = pulled_back(outputs, points, weights, create_graph)
    return given_back(outputs, raw, create_graph), given_back(found, inputs, create_graph)


if not TYPE_CHECKING:  # errors about other names tell why
    __getattr__, __dir__ = on_demand("nanotorch.autograd.functional")
