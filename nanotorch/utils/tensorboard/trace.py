"""Run a model once and note, for every node it records, in which module it arose and how fast."""

import inspect
import os
import re
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from nanotorch._core.grad_mode import enable_grad
from nanotorch._core.graph import Node, next_sequence
from nanotorch._core.tensor import Tensor
from nanotorch._core.views import edge_of
from nanotorch.nn.module import Module

PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"


@dataclass
class Measured:
    """What was seen of the operation that made a node."""

    nanoseconds: int
    source: str
    """The line of the caller's code, as `file:line`; empty if it is all within this package."""


@dataclass
class Trace:
    """A model's forward pass.

    Attributes:
        scopes: which module was running when.
        inputs: the tensors the model was given, by argument name, each with the node that stands
            for it; an integer tensor has none.
        outputs: the tensors it returned, by name.
        measured: time and place of the operations, by node.
    """

    scopes: "Scopes"
    inputs: dict[str, tuple[Tensor, Node | None]]
    outputs: dict[str, Tensor] = field(default_factory=dict)
    measured: dict[Node, Measured] = field(default_factory=dict)


def trace(model: Module, arguments: Sequence[Any]) -> Trace:
    """Run `model(*arguments)` in evaluation mode, twice; the model is left as it was.

    Everything is recorded, whatever requires grad and whatever the grad mode is: frozen parameters
    and the arguments themselves take part for as long as the pass lasts.
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
        stack.enter_context(scopes.following(model))
        stack.enter_context(_measuring(result.measured))
        output = model(*bound.args, **bound.kwargs)
    map_tensors(lambda name, tensor: result.outputs.setdefault(name, tensor), output, "output")
    return result


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


class Scopes:
    """Which module was running when: a path like `Net/features_Sequential/0_Linear`."""

    def __init__(self, model: Module) -> None:
        self.paths = module_paths(model)
        self.root = self.paths[model]
        self.identities: set[Node] = set()
        self._stack = [self.root]
        self._starts, self._scopes = [0], [self.root]

    def at(self, sequence: int) -> str:
        """Return the path of the innermost module that was running at a sequence number."""
        return self._scopes[bisect_right(self._starts, sequence) - 1]

    @contextmanager
    def following(self, model: Module) -> Iterator[None]:
        """Note in the block's course where each call of a submodule begins and ends."""
        handles = []
        for module in model.modules():
            handles.append(module.register_forward_pre_hook(self._enter, prepend=True))
            handles.append(module.register_forward_hook(self._leave))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: Module, args: tuple[Any, ...]) -> None:
        self._stack.append(self.paths[module])
        self._mark()

    def _leave(self, module: Module, args: tuple[Any, ...], output: Any) -> Any:
        passed_on = isinstance(output, Tensor) and any(output is arg for arg in args)
        if passed_on and output.requires_grad:
            # A module that only hands on its input (dropout in evaluation) would have no node.
            output = output.clone()
            self.identities.add(output.grad_fn)
        self._stack.pop()
        self._mark()
        return output

    def _mark(self) -> None:
        self._starts.append(next_sequence())
        self._scopes.append(self._stack[-1])


def module_paths(model: Module) -> dict[Module, str]:
    """Name each module by the attributes that lead to it, each with its class."""
    paths: dict[str, str] = {}
    result: dict[Module, str] = {}
    for dotted, module in model.named_modules():
        parent, _, attribute = dotted.rpartition(".")
        kind = type(module).__name__
        own = safe(f"{attribute}_{kind}" if dotted else kind)
        paths[dotted] = f"{paths[parent]}/{own}" if dotted else own
        result[module] = paths[dotted]
    return result


def safe(name: str) -> str:
    """Replace what has a meaning in the names of TensorBoard's nodes."""
    return re.sub(r"[^A-Za-z0-9_.\-]", "_", name)


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


@contextmanager
def _measuring(measured: dict[Node, Measured]) -> Iterator[None]:
    """Time the operations of the block and find the lines that called them.

    The functions made from the operations' declarations are told by their file name. Python's
    profiling hook sees them without any provision, and cost, in the operations themselves. A
    profiler that is at work goes on; beside one that Python code cannot call, nothing is measured.
    """
    before: Any = sys.getprofile()
    if before is not None and not callable(before):  # `cProfile` until Python 3.11
        yield
        return
    starts: list[int] = []

    def profile(frame: FrameType, event: str, result: Any) -> None:
        if before is not None:
            before(frame, event, result)
        if event not in ("call", "return"):
            return
        now = time.perf_counter_ns()
        if not frame.f_code.co_filename.startswith("<nanotorch op "):
            return
        if event == "call":
            starts.append(time.perf_counter_ns())
            return
        elapsed = now - starts.pop()
        first = result[0] if isinstance(result, list | tuple) and result else result
        node = edge_of(first)[0] if isinstance(first, Tensor) and first.requires_grad else None
        if node is not None:
            measured[node] = Measured(elapsed, _caller(frame))

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)


def _caller(frame: FrameType) -> str:
    """Return the innermost line outside this package, between the operation and this module."""
    caller = frame.f_back
    while caller is not None and caller.f_code.co_filename != __file__:
        path = caller.f_code.co_filename
        if not path.startswith((PACKAGE, "<")):
            return f"{Path(path).name}:{caller.f_lineno}"
        caller = caller.f_back
    return ""
