"""Derivatives of functions: Jacobians, Hessians, products with Jacobians, and `gradcheck`."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch import ops
from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import enable_grad
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.backward import grad
from nanotorch.autograd.function import Function
from nanotorch.names.lookup import on_demand
from nanotorch.ops.arguments import require

# How the functions read their arguments and return their results.
#
# Inside, everything is a tuple. If the caller passes a single tensor, the result is a single one.


Tensors = tuple[Tensor, ...]
Func = Callable[..., Any]
OUTPUTS = "outputs of the function"
DETACHED = (
    "Output {} of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode."
)
LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    "respect to input {} is independent of the input. This is not allowed in strict mode. You "
    "should ensure that your function is twice differentiable and that the jacobian depends on the "
    "inputs (this would be violated by a linear function for example)."
)


def refusal(what: str, of: str = "input {}", when: str = "") -> str:
    """The text of an error of ``strict``, with a place for a number."""
    return f"{what} is independent of {of}. This is not allowed in strict mode{when}."


THE_JACOBIAN = "The jacobian of the user-provided function"
THE_HESSIAN = "The hessian of the user-provided function"
# The texts for an input without a gradient and for a gradient that is constant, for each step.
OF_OUTPUT = (
    refusal("The output of the user-provided function"),
    refusal(THE_JACOBIAN, when=" when create_graph=True"),
)
OF_PRODUCT = (
    refusal(
        "The gradient with respect to the input",
        "entry {} in the grad_outputs when using the double backward trick to compute forward mode "
        "gradients",
    ),
    OF_OUTPUT[1],
)
OF_GRADIENT = (
    OF_OUTPUT[0],
    refusal("The gradient with respect to input {}", "the inputs of the user-provided function"),
)
OF_JACOBIAN = refusal(THE_JACOBIAN), refusal(THE_HESSIAN, when=" when create_graph=True")
TOGETHER = (
    "torch.autograd.functional.jacobian: `strict=True` and {} are not supported together{}. Please "
    "either set `strict=False` or {}."
)


def as_tuple(value: Any, what: str, function: str) -> Tensors:
    """A tensor or a tuple of tensors as a tuple.

    Args:
        what: the value's name in the error.
        function: the name of the called function, for the error.
    """
    if isinstance(value, Tensor):
        return (value,)
    elements = value if isinstance(value, tuple) else (None,)
    message = "The {} given to {} must be either a Tensor or a tuple of Tensors"
    tensors = all(isinstance(element, Tensor) for element in elements)
    require(tensors, message, what, function, error=TypeError)
    return elements


def prepare_inputs(inputs: Any, function: str, create_graph: bool) -> Tensors:
    """Tensors to differentiate with respect to, distinct from the caller's ``inputs``.

    Args:
        create_graph: whether gradients of the results reach the caller's tensors.
    """
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_()
        for t in as_tuple(inputs, "inputs", function)
    )


def vector_jacobian(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Tensor | None],
    create_graph: bool, strict: Sequence[str] = (),
) -> Tensors:  # fmt: skip
    """The gradient of the weighted outputs with respect to each input; zeros for an unused one.

    The graph is kept.

    Args:
        strict: the texts of the errors for an unused input and, with ``create_graph``, for a
            constant gradient; empty to accept both.
    """
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if pairs:
        with enable_grad():
            found = grad(
                [o for o, _ in pairs], list(inputs), [w for _, w in pairs],
                retain_graph=True, create_graph=create_graph, allow_unused=True,
            )  # fmt: skip
    for position, g in enumerate(found if strict else ()):
        require(g is not None, strict[0], position)
        constant = create_graph and g is not None and not g.requires_grad
        require(not constant, strict[1], position)
    return tuple(ops.zeros_like(t) if g is None else g for g, t in zip(found, inputs, strict=True))


def evaluate(func: Func, points: Tensors, function: str, strict: bool) -> tuple[Any, Tensors]:
    """The result of the user's function, and its tensors; ``strict``: each depends on an input."""
    raw = func(*points)
    outputs = as_tuple(raw, OUTPUTS, function)
    for position, out in enumerate(outputs if strict else ()):
        require(out.requires_grad, DETACHED, position)
    return raw, outputs


def finish_results(results: Tensors, like: Any, create_graph: bool) -> Any:
    """The results for the caller: detached unless ``create_graph``; one tensor if ``like`` is."""
    final = results if create_graph else tuple(t.detach() for t in results)
    return final[0] if isinstance(like, Tensor) else final


def jacobian(
    func: Func, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: the derivative of each output element with respect to each input element.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: whether the result can be differentiated itself.
        strict: whether an output that depends on no input, or not on all, is an error.
        vectorize, strategy: ignored, except that ``strict`` refuses their other values.

    Shape:
        the output's shape + the input's shape. Several outputs or inputs give tuples, the outer
        one over outputs.

    Raises:
        RuntimeError: for what ``strict`` refuses.
        TypeError: if an input or output is not a tensor.
    """
    forward = strict and strategy == "forward-mode"
    told = '`strategy="forward-mode"`', " (yet)", '`strategy="reverse-mode"`'
    require(not forward, TOGETHER, *told)
    require(not (strict and vectorize), TOGETHER, "`vectorized=True`", "", "`vectorize=False`")
    with enable_grad():
        points = prepare_inputs(inputs, "jacobian", create_graph)
        raw, outputs = evaluate(func, points, "jacobian", strict)
        results = []
        for position, out in enumerate(outputs):
            unused = refusal(f"Output {position} of the user-provided function")
            block = jacobian_block(
                out, points, create_graph, (unused, OF_OUTPUT[1]) if strict else ()
            )
            results.append(finish_results(block, inputs, create_graph))
    return results[0] if isinstance(raw, Tensor) else tuple(results)


def jacobian_block(
    out: Tensor, inputs: Tensors, create_graph: bool, strict: Sequence[str] = ()
) -> Tensors:  # fmt: skip
    """The Jacobian of one output for each input, by one backward pass per output element."""
    rows = []
    for element in range(out.numel()):
        unit = ops.zeros(out.numel(), dtype=out.dtype)
        unit[element] = 1
        rows.append(vector_jacobian([out], inputs, [unit.view(out.shape)], create_graph, strict))
    shapes = [(*out.shape, *t.shape) for t in inputs]
    if not rows:
        return tuple(ops.zeros(s, dtype=t.dtype) for s, t in zip(shapes, inputs, strict=True))
    columns = zip(zip(*rows, strict=True), shapes, strict=True)
    return tuple(ops.stack(column).view(shape) for column, shape in columns)


def hessian(
    func: Func, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian: the second derivatives with respect to each pair of input elements.

    Args:
        func: a function of tensors that returns a tensor of one element.
        inputs, create_graph, strict, vectorize: see `jacobian`.
        outer_jacobian_strategy: ignored.

    Shape:
        the input's shape + the input's shape. Several inputs give tuples of tuples over inputs.

    Raises:
        RuntimeError: if ``func`` returns more than one element, or for what ``strict`` refuses.
    """
    as_tuple(inputs, "inputs", "hessian")

    def gradient(*points: Tensor) -> Any:
        # Differentiate with respect to views. Values that already depend on a point do not depend
        # on its view.
        inner = tuple(t.view_as(t) for t in points)
        raw, _ = evaluate(func, inner, "hessian", strict)
        require_number(raw, "hessian")
        first = vector_jacobian([raw], inner, [None], True, (LINEAR, LINEAR) if strict else ())
        return first[0] if isinstance(inputs, Tensor) else first

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vjp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of a function, and the product of a vector with its Jacobian.

    Args:
        func, inputs, create_graph, strict: see `jacobian`.
        v: for each output, a tensor in its shape; optional for one output of one element.

    Returns:
        The results of ``func``, and for each input a gradient in its shape.

    Raises:
        RuntimeError: if ``v`` does not fit the outputs, or for what ``strict`` refuses.
    """
    with enable_grad():
        points = prepare_inputs(inputs, "vjp", create_graph)
        raw, outputs = evaluate(func, points, "vjp", strict)
        weights = checked_vector(v, outputs, "vjp", "user-provided function returns")
        found = vector_jacobian(outputs, points, weights, create_graph, OF_OUTPUT if strict else ())
    return finish_results(outputs, raw, create_graph), finish_results(found, inputs, create_graph)


def checked_vector(v: Any, like: Tensors, function: str, of: str) -> Sequence[Tensor | None]:
    """The tensors of a vector that a Jacobian or Hessian is multiplied by; None for a 1.

    Args:
        like: the tensors whose shapes those of ``v`` must have.
        of: what has these tensors, for the error.
    """
    if v is None:
        message = "The vector v can only be None if the {} a single Tensor with a single element."
        require(len(like) == 1 and like[0].numel() == 1, message, of)
        return (None,)
    vector = as_tuple(v, "vector v", function)
    message = "v is a tuple of invalid length: should be {} but got {}."
    require(len(vector) == len(like), message, len(like), len(vector))
    for one, other in zip(vector, like, strict=True):
        message = "v has invalid size: should be {} but got {}."
        require(one.shape == other.shape, message, other.shape, one.shape)
    return vector


def require_number(raw: Any, function: str) -> None:
    """Refuse a result of the user's function that is not a tensor of one element."""
    message = "The function given to {} should return a single Tensor"
    require(isinstance(raw, Tensor), message, function)
    message = "The Tensor returned by the function given to {} should contain a single element"
    require(raw.numel() == 1, message, function)


OF_INPUTS = "input to the user-provided function is"


def jvp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of a function, and the product of its Jacobian with a vector.

    Args:
        func, inputs, create_graph, strict: see `jacobian`.
        v: for each input, a tensor in its shape; optional for one input of one element.

    Returns:
        The results of ``func``, and for each of them a tensor in its shape.

    Raises:
        RuntimeError: if ``v`` does not fit the inputs, or for what ``strict`` refuses.
    """
    with enable_grad():
        points = prepare_inputs(inputs, "jvp", create_graph)
        vector = checked_vector(v, points, "jvp", OF_INPUTS)
        raw, outputs = evaluate(func, points, "jvp", strict)
        # A product with a vector from the left is linear in that vector: its derivative is ours.
        left = tuple(ops.zeros_like(out).requires_grad_() for out in outputs)
        products = vector_jacobian(outputs, points, left, True, OF_GRADIENT if strict else ())
        found = vector_jacobian(products, left, vector, create_graph, OF_PRODUCT if strict else ())
    return finish_results(outputs, raw, create_graph), finish_results(found, raw, create_graph)


def vhp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a function, and the product of a vector with its Hessian.

    Args:
        func: a function of tensors that returns a tensor of one element.
        inputs, create_graph, strict: see `jacobian`.
        v: for each input, a tensor in its shape; optional for one input of one element.

    Returns:
        The result of ``func``, and for each input a tensor in its shape.

    Raises:
        RuntimeError: if ``v`` does not fit the inputs, if ``func`` returns more than one element,
            or for what ``strict`` refuses.
    """
    return hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a function, and the product of its Hessian with a vector: as for `vhp`."""
    return hessian_product("hvp", func, inputs, v, create_graph, strict)


def hessian_product(
    name: str, func: Func, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    """The body of `vhp` and `hvp`: Hessians are symmetric."""
    with enable_grad():
        points = prepare_inputs(inputs, name, create_graph)
        vector = checked_vector(v, points, name, OF_INPUTS)
        raw, _ = evaluate(func, points, name, strict)
        require_number(raw, name)
        first = vector_jacobian(
            [raw], points, [None], True, (OF_OUTPUT[0], LINEAR) if strict else ()
        )
        found = vector_jacobian(first, points, vector, create_graph, OF_JACOBIAN if strict else ())
    return finish_results((raw,), raw, create_graph), finish_results(found, inputs, create_graph)


# `gradcheck` compares gradients with differences: is a backward the derivative of its forward?
#
# Each input element moves by ``eps`` both ways. The change of the outputs is a row of the numerical
# Jacobian, which must agree with the backward pass. Use float64: in single precision the
# differences themselves are wrong in the third digit.


Jacobian = np.ndarray

IMPRECISE = (
    "Input #{} requires gradient and is not a double precision floating point. This check will "
    "likely fail if all the inputs are not of double precision floating point."
)


class GradcheckError(RuntimeError):
    """The error for a gradient that is not the derivative."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:  # fmt: skip
    """Compare the gradients of ``func`` with finite differences; returns whether they agree.

    Args:
        func: a function of ``inputs`` that returns a tensor or several.
        inputs: one argument or a sequence of them. The tensors that require grad are checked.
        eps: the distance by which each element moves, in both directions.
        atol, rtol: the absolute tolerance, and the tolerance relative to the numerical value.
        raise_exception: whether a mismatch raises an error; otherwise it returns False.
        nondet_tol: the largest allowed difference between two backward passes.
        check_undefined_grad: whether to check that outputs without a gradient give the inputs no
            gradient or zeros.
        check_grad_dtypes, check_batched_grad, fast_mode, masked: ignored. A gradient always has its
            input's dtype, and the check is always the full one.
        check_forward_ad, check_batched_forward_grad: must be False: there is no forward mode.
        check_backward_ad: must be True.

    Raises:
        GradcheckError: for a mismatch.
        ValueError: if no input requires grad.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("check_forward_ad or check_backward_ad has to be True")
    if check_forward_ad or check_batched_forward_grad:
        raise NotImplementedError("gradcheck: nanotorch has no forward-mode differentiation")
    arguments = tuple(as_list(inputs))
    points = differentiable(arguments)
    if not points:
        raise ValueError("gradcheck expects at least one input tensor to require gradient")
    for position, a in enumerate(arguments):
        if isinstance(a, Tensor) and a.requires_grad:
            if a._array.dtype != np.float64:
                warn(IMPRECISE.format(position))
            spread = any(s == 0 and n > 1 for s, n in zip(a.stride(), a.shape, strict=True))
            require(not spread, "The {}th input has a dimension with stride 0", position)
    try:
        check_backward(func, arguments, eps, atol, rtol, nondet_tol)
        each = range(len(differentiable(func(*arguments))) if check_undefined_grad else 0)
        # If no gradient arrives at the outputs, the inputs must get none or zeros.
        for missing in (each, *([n] for n in each if len(each) > 1)) if each else ():
            outputs = differentiable(func(*arguments))
            for number in missing:
                (outputs[number],) = Undefined.apply(outputs[number])
            weights = [ops.zeros_like(out) for out in outputs]
            if any(g._array.any() for g in vector_jacobian(outputs, points, weights, False)):
                raise GradcheckError(
                    "Expected no gradients where no gradient arrives at the outputs"
                )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
    atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False,
    masked: bool = False,
) -> bool:  # fmt: skip
    """Compare the second derivatives of ``func`` with finite differences of its gradients.

    Args:
        grad_outputs: the weights of the outputs, a tensor or several; default: random.
        gen_non_contig_grad_outputs: whether the random weights are not contiguous.
        check_fwd_over_rev: must be False: there is no forward mode.
        check_rev_over_rev: must be True.
        func, inputs, eps, atol, rtol, raise_exception, nondet_tol: see `gradcheck`.
        check_undefined_grad, check_grad_dtypes, check_batched_grad, fast_mode, masked: likewise.

    Raises:
        GradcheckError: for a mismatch.
        ValueError: if no input requires grad.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("check_fwd_over_rev or check_rev_over_rev has to be True")
    arguments = tuple(as_list(inputs))
    if grad_outputs is None:
        outputs = differentiable(func(*arguments))
        weights = [
            random_weights(out, gen_non_contig_grad_outputs).requires_grad_() for out in outputs
        ]
    else:
        weights = as_list(grad_outputs)

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        points, weights = args[: len(arguments)], args[len(arguments) :]
        with enable_grad():
            outputs = differentiable(func(*points))
        grads = grad(outputs, differentiable(points), weights, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradient, (*arguments, *weights), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_forward_ad=check_fwd_over_rev,
    )  # fmt: skip


def random_weights(like: Tensor, in_steps: bool) -> Tensor:
    """Random numbers in [-1, 1), in the shape of ``like``; ``in_steps``: not contiguous."""
    if not in_steps or like.numel() < 2:
        return ops.empty(like.shape, dtype=like.dtype).uniform_(-1, 1)
    wide = (*like.shape[:-1], 2 * like.shape[-1])
    return ops.empty(wide, dtype=like.dtype).uniform_(-1, 1)[..., 1::2]


def as_list(value: Any) -> list[Any]:
    """One or several values as a list."""
    return list(value) if isinstance(value, Sequence) else [value]


def differentiable(values: Any) -> list[Tensor]:
    """The tensors that require grad, among a function's arguments or outputs."""
    return [v for v in as_list(values) if isinstance(v, Tensor) and v.requires_grad]


def check_backward(
    func: Callable[..., Any], arguments: Sequence[Any], eps: float, atol: float, rtol: float,
    nondet_tol: float,
) -> None:  # fmt: skip
    """Compare the Jacobians, and two backward passes; raise GradcheckError for a mismatch."""
    points = differentiable(arguments)
    several = as_list(func(*arguments))
    outputs = differentiable(several)
    numerical = numerical_jacobians(func, arguments, several, eps)
    if not outputs:
        if any(jacobian.any() for row in numerical for jacobian in row):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    slopes = [row for row, out in zip(numerical, several, strict=True) if out.requires_grad]
    for number, out in enumerate(outputs):
        analytical = analytical_jacobians(out, points)
        for position, a in enumerate(analytical):
            n = slopes[number][position]
            for name, tolerance in (("rtol", rtol), ("atol", atol)):
                message = "{} must be greater than or equal to zero, but got {:g}"
                require(tolerance >= 0, message, name, tolerance)
            if not np.allclose(a, n, rtol, atol):
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {position},\n"
                    f"numerical:{ops.from_numpy(n)}\nanalytical:{ops.from_numpy(a)}\n"
                )
        again = analytical_jacobians(out, points)
        for a, b in zip(analytical, again, strict=True):
            if np.abs(a - b).max(initial=0.0) > nondet_tol:
                raise GradcheckError("Backward is not reentrant: two calls give different values")
        if any(
            g._array.any() for g in vector_jacobian([out], points, [ops.zeros_like(out)], False)
        ):
            raise GradcheckError("backward not multiplied by grad_output")


class Undefined(Function):
    """Copies tensors and passes no gradients back."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(t.clone() for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, ...]:
        return (None,) * len(grads)


def numerical_jacobians(
    func: Callable[..., Any], arguments: Sequence[Any], outputs: Sequence[Tensor], eps: float
) -> list[list[Jacobian]]:
    """The numerical Jacobian of each output for each input, `(input elements, output elements)`.

    Args:
        outputs: the results of ``func`` at the point itself; integer outputs have zero Jacobians.
    """

    def values() -> list[Tensor]:
        return [out.detach().clone() for out in as_list(func(*arguments))]

    points = differentiable(arguments)
    jacobians = [
        [np.zeros((p.numel(), out.numel()), out._array.dtype) for p in points] for out in outputs
    ]
    places = [
        (n, p._array, at) for n, p in enumerate(points) for at in enumerate(np.ndindex(p.shape))
    ]
    for position, array, (element, index) in places:
        before = array[index].copy()
        array[index] = before - eps
        behind = values()
        array[index] = before + eps
        ahead = values()
        array[index] = before
        for b, a in zip(behind, ahead, strict=False):
            for what in ("shape", "dtype"):
                one, other = getattr(b, what), getattr(a, what)
                if one != other:
                    raise AssertionError(f"`func` returns outputs of {what} {one} and {other}")
        for jacobian, b, a in zip(jacobians, behind, ahead, strict=False):
            if a.is_floating_point():
                jacobian[position][element] = (a - b)._array.ravel() / (2 * eps)
    return jacobians


def analytical_jacobians(out: Tensor, points: list[Tensor]) -> list[Jacobian]:
    """The Jacobians of one output by backward passes, one for each of its elements."""
    found = zip(jacobian_block(out, tuple(points), False), points, strict=True)
    return [j._array.reshape(out.numel(), p.numel()).T for j, p in found]


if not TYPE_CHECKING:  # so errors about names that are missing give the reason
    __getattr__, __dir__ = on_demand("nanotorch.autograd.functional")
