"""The functions that start a backward sweep: `backward`, `Tensor.backward`, `grad`."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core import engine
from nanotorch._core.call_site import describe_operands, warn, warn_once
from nanotorch._core.dtypes import Size
from nanotorch._core.engine import Sweep, sum_to
from nanotorch._core.grad_mode import BACKWARD, mode, refuse_inside
from nanotorch._core.graph import Edge, FreedValues, Recorded, anomaly, edge_of
from nanotorch._core.meta import MetaArray
from nanotorch._core.op import method
from nanotorch._core.tensor import Tensor
from nanotorch.func.batched import Batch, Batched, activate_batch, batch_tensor, make_sample
from nanotorch.names.lookup import advised

Tensors = Tensor | Sequence[Tensor]

FORMER_NAME = "`grad_variables` is deprecated. Use `grad_tensors` instead."
BOTH_NAMES = (
    "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
    "Please only use `grad_tensors`."
)
CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)
ONLY_INPUTS = (
    "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
    "gradient for other parts of the graph, please use torch.autograd.backward."
)


def backward(
    tensors: Tensors, grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None, create_graph: bool = False, grad_variables: Any = None,
    inputs: Tensors | None = None,
) -> None:  # fmt: skip
    """Compute the gradient of the sum of ``tensors`` and add it to the ``grad`` of the leaves.

    Args:
        tensors: the tensor or tensors to differentiate.
        grad_tensors: for each tensor, the weights of its elements, in its shape; None for 1, if
            the tensor has a single element.
        retain_graph: whether to keep the saved values for another pass; default: ``create_graph``.
        create_graph: whether to record the pass itself, for higher derivatives.
        grad_variables: the former name of ``grad_tensors``, deprecated.
        inputs: the only tensors whose ``grad`` changes; default: all leaves.

    Raises:
        RuntimeError: if a weight is missing or has another shape, if a tensor does not require
            grad, or if saved values were freed or changed in place.

    Warns:
        UserWarning: once, for ``create_graph``.
    """
    refuse_inside(BACKWARD)
    if grad_variables is not None:
        warn(FORMER_NAME, FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(BOTH_NAMES)
        grad_tensors = grad_variables
    wanted = [] if inputs is None else as_list(inputs)
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = start_edges(tensors, grad_tensors, create_graph)
    if create_graph:
        warn_once(CYCLE)
    keep = create_graph if retain_graph is None else retain_graph
    freed = None if keep else FreedValues()
    if inputs is None:
        if len(roots) == 1 and not create_graph and not anomaly.enabled:
            (node, number), first = roots[0]
            engine.quick_sweep(node, number, first, freed)
        else:
            Sweep(roots, freed, create_graph).run()
        return
    places = []
    for target in wanted:
        places.append(edge_of(target))  # `edge_of` also brings views up to date
        target.retain_grad()
    Sweep(roots, freed, create_graph, places, accumulate=True).run()


@method(name="backward", public=False)
def tensor_backward(
    self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None,
    create_graph: bool = False, inputs: Tensors | None = None,
) -> None:  # fmt: skip
    """Compute the gradient of this tensor and add it to the ``grad`` of the leaves.

    Args:
        gradient: the weights of this tensor's elements, in its shape; optional if it has a single
            element.
        retain_graph: whether to keep the saved values for another pass; default: ``create_graph``.
        create_graph: whether to record the pass itself, for higher derivatives.
        inputs: the only tensors whose ``grad`` changes; default: all leaves.

    Raises:
        RuntimeError: see `nanotorch.autograd.backward`.
    """
    if gradient is inputs is None and not (create_graph or anomaly.enabled or mode.transforms):
        node, array = self._history, self._array
        if node.__class__ is Recorded and not array.ndim:  # the usual case
            freed = None if retain_graph else FreedValues()
            engine.quick_sweep(node, 0, ONES[array.dtype.char], freed)
            return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
    allow_unused: bool | None = None, is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The gradients of the sum of ``outputs`` with respect to ``inputs``; no ``grad`` changes.

    Args:
        outputs: the tensor or tensors to differentiate.
        inputs: any tensors of the graph.
        grad_outputs: for each output, the weights of its elements, as for `backward`.
        retain_graph, create_graph: see `backward`.
        only_inputs: deprecated; always True.
        allow_unused: whether an input may be unused: its gradient is None; default:
            ``materialize_grads``.
        is_grads_batched: whether ``grad_outputs`` have a leading dimension. Each of its entries
            gives one gradient; the results are stacked.
        materialize_grads: whether unused inputs get zeros instead of None.

    Raises:
        RuntimeError: as for `backward`; if an input does not require grad; if an input is unused
            without ``allow_unused``.
        ValueError: for ``materialize_grads`` with ``allow_unused=False``.
    """
    if not only_inputs:
        warn(ONLY_INPUTS, FutureWarning)
    wanted = as_list(inputs)
    if allow_unused is None:
        allow_unused = materialize_grads
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and not allow_unused:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if is_grads_batched:
        return batched_grad(
            outputs, wanted, grad_outputs, create_graph, allow_unused, materialize_grads
        )
    roots = start_edges(outputs, grad_outputs, create_graph)
    if not all(t.requires_grad for t in wanted):
        tensors = {f"inputs[{n}]": t for n, t in enumerate(wanted)}
        text = "One of the differentiated Tensors does not require grad"
        raise RuntimeError(text + describe_operands(tensors))
    keep = create_graph if retain_graph is None else retain_graph
    edges = [edge_of(t) for t in wanted]
    freed = None if keep else FreedValues()
    captured = Sweep(roots, freed, create_graph, edges, accumulate=False).run()
    results: list[Tensor | None] = []
    for position, (target, edge) in enumerate(zip(wanted, edges, strict=True)):
        g = captured[edge]
        if g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {position} appears to not have been used in "
                "the graph. Set allow_unused=True if this is the desired behavior."
            )
        if g is None and materialize_grads:
            g = ops.zeros_like(target, requires_grad=create_graph)
        results.append(g if g is None or isinstance(g, Tensor) else Tensor._lift(g).clone())
    return tuple(results)  # type: ignore[arg-type]  # None only where `allow_unused` lets it


def batched_grad(
    outputs: Tensors, inputs: list[Tensor], grad_outputs: Any, create_graph: bool,
    allow_unused: bool, materialize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The stacked results of `grad` for each entry of ``grad_outputs`` along dimension 0."""
    from nanotorch.func import functions as functions  # few programs need the rules
    from nanotorch.func import rules as rules

    weights = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    batch = Batch(next(len(w) for w in weights if w is not None), "error")
    with activate_batch(batch):
        found = grad(
            outputs, inputs, [None if w is None else make_sample(w, batch) for w in weights],
            retain_graph=True, create_graph=create_graph, allow_unused=allow_unused,
            materialize_grads=materialize,
        )  # fmt: skip
        return tuple([None if g is None else batch_tensor(g, batch) for g in found])


def as_list(targets: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """One or several tensors as a list; raises TypeError for anything else."""
    found = [targets] if isinstance(targets, Tensor) else list(targets)
    for target in found:
        if not isinstance(target, Tensor):
            raise TypeError(f"expected a Tensor or several, but got {type(target).__name__}")
    return found


# The gradient of a scalar with respect to itself.
ONES = {np.dtype(kind).char: kind(1) for kind in (np.float16, np.float32, np.float64)}


RECORDED = (
    "Operations are recorded outside of torch.no_grad(), if an input requires grad.\n  "
    "detach(), .data, argmax and comparisons give tensors without a record."
)


def start_edges(tensors: Tensors, weights: Any, create_graph: bool) -> list[tuple[Edge, Any]]:
    """The edges where a sweep begins, each with its first gradient."""
    if isinstance(tensors, Tensor) and weights is None and not create_graph:
        array, place = tensors._array, edge_of(tensors)
        if not array.ndim and array.dtype.kind == "f" and place[0] is not None:  # the usual case
            return [(place, ONES[array.dtype.char])]
    roots = as_list(tensors)
    given = [weights] if weights is None or isinstance(weights, Tensor) else list(weights)
    if weights is None:
        given *= len(roots)
    if len(given) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    first = [first_gradient(root, given[n], n) for n, root in enumerate(roots)]
    # A sample has no array.
    on_tensors = create_graph or any(isinstance(weight, Batched) for weight in first)
    pairs = []
    for position, (root, weight) in enumerate(zip(roots, first, strict=True)):
        edge = edge_of(root)
        if edge[0] is None:
            name = f"element {position}"
            text = f"{name} of tensors does not require grad and does not have a grad_fn"
            raise RuntimeError(text + describe_operands({name: root}, RECORDED))
        pairs.append((edge, original_shape(edge, weight if on_tensors else weight._array)))
    return pairs


def original_shape(edge: Edge, weight: Any) -> Any:
    """The first gradient in the shape that the tensor was made with; `unsqueeze_` changes it."""
    node, number = edge
    if node is None or weight.shape == node._outputs[number][0]:
        return weight
    shape = node._outputs[number][0]
    pairs = zip(reversed(shape), reversed(weight.shape), strict=False)
    if len(shape) > weight.ndim or any(n not in (1, m) for n, m in pairs):
        raise RuntimeError(
            f"invalid gradient at index 0 - got {list(weight.shape)} but expected shape compatible "
            f"with {list(shape)}"
        )
    return sum_to(weight, shape)


def first_gradient(root: Tensor, weight: Tensor | None, position: int) -> Tensor:
    """The weights of a root's elements, in its dtype; by default ones, for a single element."""
    shape, dtype = root._array.shape, root._array.dtype
    if weight is None:
        if root.requires_grad and math.prod(shape) != 1:
            error = RuntimeError("grad can be implicitly created only for scalar outputs")
            raise advised(error, "several elements", list(shape))
        valueless = isinstance(root._array, MetaArray)
        return Tensor._lift(np.ones_like(root._array) if valueless else np.ones(shape, dtype))
    if not isinstance(weight, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
    if weight._array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {weight.shape} and "
            f"output[{position}] has a shape of {Size(shape)}."
        )
    return weight if weight._array.dtype == dtype else weight._cast(dtype)
