"""Run a model, or watch a training step, and note what happens where and how fast."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nanotorch._core.grad_mode import enable_grad
from nanotorch._core.graph import Edge, Node
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import edge_of
from nanotorch.autograd.backward import grad
from nanotorch.nn.module import Module
from nanotorch.utils.tensorboard.measuring import Measurements, measuring
from nanotorch.utils.tensorboard.scopes import OUTSIDE, Scopes, safe

Meta = tuple[tuple[int, ...], Any]
"""A shape and a NumPy dtype."""


@dataclass
class Trace:
    """A model's forward pass, and the backward pass that followed.

    Attributes:
        scopes: which module was running when.
        inputs: the tensors the model was given, by argument name, each with the node that stands
            for it; an integer tensor has none.
        outputs: what came out, by name: where in the graph, of what shape and dtype.
        measured: time and place of the operations.
        trouble: why there was no backward pass, if it failed.
    """

    scopes: Scopes
    inputs: dict[str, tuple[Tensor, Node | None]]
    outputs: dict[str, tuple[Edge, Meta]] = field(default_factory=dict)
    measured: Measurements = field(default_factory=Measurements)
    trouble: Exception | None = None


def trace(model: Module, arguments: Sequence[Any]) -> Trace:
    """Run `model(*arguments)` and its derivative in evaluation mode, twice.

    The model is left as it was. Everything is recorded, whatever requires grad and whatever the
    grad mode is: frozen parameters and the arguments themselves take part for as long as it lasts.
    """
    scopes = Scopes(model)
    with ExitStack() as stack:
        stack.enter_context(enable_grad())
        stack.enter_context(_evaluation(model))
        stack.enter_context(_unfrozen(model))
        bound, _ = _bind(model, arguments)
        model(*bound.args, **bound.kwargs)  # so that what is timed is not the first of its kind
        bound, inputs = _bind(model, arguments)
        result = Trace(scopes, inputs)
        with scopes.following(model), measuring(result.measured, trace.__code__):
            output = model(*bound.args, **bound.kwargs)
        found: dict[str, Tensor] = {}
        map_tensors(found.setdefault, output, "output")
        result.outputs = {name: (edge_of(t), meta(t)) for name, t in found.items()}
        leaves = [*model.parameters(), *(tensor for tensor, _ in inputs.values())]
        try:
            with measuring(result.measured, trace.__code__):
                _differentiate(list(found.values()), leaves)
        except Exception as error:  # of a function of the user's, which may have no derivative
            result.trouble = error
            result.measured.backward.clear()
    return result


def _differentiate(outputs: list[Tensor], leaves: list[Tensor]) -> None:
    """Compute the gradient of the outputs' sum, and forget it."""
    roots = [tensor for tensor in outputs if tensor.requires_grad]
    wanted = [tensor for tensor in leaves if tensor.requires_grad]
    if roots and wanted:
        ones = [wrap(np.ones(tensor.shape, tensor.dtype._numpy)) for tensor in roots]
        grad(roots, wanted, ones, allow_unused=True)


@contextmanager
def watched_step(model: Module) -> Iterator[Trace]:
    """Watch a training step, which is the block: its results are the same as without.

    The trace is complete after the block. What was given to the model is found where operations
    keep it.
    """
    result = Trace(Scopes(model, OUTSIDE, complete=False), {})

    def enter(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given: dict[str, Tensor] = {}
        named = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        map_tensors(given.setdefault, named, "")
        for name, tensor in given.items():
            result.inputs.setdefault(name.removeprefix("_"), (tensor, None))

    handle = model.register_forward_pre_hook(enter, prepend=True, with_kwargs=True)
    try:
        with result.scopes.following(model), measuring(result.measured, None):
            yield result
    finally:
        handle.remove()
    roots = _last(result.measured)
    for number, node in enumerate(roots):
        name = "loss" if len(roots) == 1 else f"loss_{number}"
        result.outputs[name] = (node, 0), node._outputs[0]


def _last(measured: Measurements) -> list[Node]:
    """Where backward passes began; without one, the operations of which nothing was computed."""
    nodes = [n for n in measured.forward if n in measured.backward] or list(measured.forward)
    used = {target for node in nodes for target, _ in node.next_functions}
    return [node for node in nodes if node not in used]


def meta(tensor: Tensor) -> Meta:
    """The shape and the dtype of a tensor."""
    return tuple(tensor.shape), tensor.dtype._numpy


def _bind(
    model: Module, arguments: Sequence[Any]
) -> tuple[inspect.BoundArguments, dict[str, tuple[Tensor, Node | None]]]:
    """Return the arguments of `forward`, and their tensors by name, each with its node."""
    inputs: dict[str, tuple[Tensor, Node | None]] = {}

    def enter(name: str, tensor: Tensor) -> Tensor:
        # A copy, since the model may write to its input, which a leaf would refuse.
        tensor = tensor.detach().requires_grad_(tensor.is_floating_point()).clone()
        inputs[name] = tensor, tensor.grad_fn
        return tensor

    bound = inspect.signature(model.forward).bind(*arguments)
    for name, value in bound.arguments.items():
        bound.arguments[name] = map_tensors(enter, value, name)
    return bound, inputs


def map_tensors(function: Callable[[str, Tensor], Any], value: Any, name: str) -> Any:
    """Replace each tensor in nested containers by `function(name, tensor)`."""
    if isinstance(value, Tensor):
        return function(name, value)
    if isinstance(value, dict):
        return {
            key: map_tensors(function, item, f"{name}_{safe(str(key))}")
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        items = [map_tensors(function, item, f"{name}_{i}") for i, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


@contextmanager
def _evaluation(model: Module) -> Iterator[None]:
    """Keep the pass from moving running statistics and from drawing random numbers."""
    before = [(module, module.training) for module in model.modules()]
    try:
        for module, _ in before:
            module.training = False
        yield
    finally:
        for module, training in before:
            module.training = training


@contextmanager
def _unfrozen(model: Module) -> Iterator[None]:
    frozen = [p for p in model.parameters() if not p.requires_grad and p.is_floating_point()]
    try:
        for parameter in frozen:
            parameter.requires_grad_(True)
        yield
    finally:
        for parameter in frozen:
            parameter.requires_grad_(False)
