"""Running a compiled step and the step itself: all that they give and change, bit by bit."""

import inspect
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import nanotorch as torch


def usual(model: Any, optimizer: Any, loss: Callable[..., Any]) -> Any:
    """A step that trains a model, or adds to its gradients only; all that it changes."""

    def step(*arguments: Any) -> Any:
        if optimizer:
            optimizer.zero_grad()
        value = loss(*arguments)
        value.backward()
        if optimizer:
            optimizer.step()
        return value

    def state() -> list[Any]:
        kept = optimizer.state.values() if optimizer else ()
        held = [t for entry in kept for t in entry.values() if isinstance(t, torch.Tensor)]
        return [*model.parameters(), *model.buffers(), *held]

    step.model, step.optimizer = model, optimizer  # type: ignore[attr-defined]
    return step, state


def of_leaf(value: Callable[..., Any], *shape: int) -> Any:
    """A step that differentiates the sum of what is computed of a leaf; the leaf."""
    w = array(*(shape or (3,))).requires_grad_()

    def step(*arguments: Any) -> Any:
        w.grad = None
        total = value(w, *arguments).sum()
        total.backward()
        return total, w.grad

    return step, lambda: [w]


def bits(tensor: Any) -> Any:
    """What of a tensor must be the same."""
    if tensor is None:
        return None
    array = tensor.detach().numpy()
    strides = array.strides if array.size > 1 else ()
    return array.dtype.str, array.shape, strides, array.tobytes(), tensor.requires_grad


def flat(value: Any) -> list[Any]:
    """All leaves of a result, tensors as their bits."""
    if isinstance(value, torch.Tensor):
        return [bits(value), type(value.grad_fn).__name__]
    if isinstance(value, (tuple, list)):
        return [part for entry in value for part in flat(entry)]
    if isinstance(value, dict):
        return [part for key in value for part in (key, *flat(value[key]))]
    return [repr(value)]


def snapshot(tensors: list[Any]) -> list[Any]:
    """Values, gradients and versions."""
    found: list[Any] = []
    for t in tensors:
        grad = t.grad if t.is_leaf else None
        found += [bits(t), bits(grad), t._version]
    found.append(bits(torch.get_rng_state()))
    return found


def outcome(step: Any, *arguments: Any) -> list[Any]:
    """What a call gives, or its error."""
    try:
        return flat(step(*arguments))
    except Exception as error:
        return [type(error), str(error), repr(error.__context__)]


def in_two(compiled: Any, first: Callable[[], Any], rest: Callable[[Any], Any], all: bool) -> Any:
    """A step of two parts, of which all is compiled or the first part alone."""
    if all:
        return compiled(lambda: rest(first()))
    inner = compiled(first)
    return lambda: rest(inner())


def alike(
    program: Callable[[Any], Any], fullgraph: bool = True, compiles: bool | None = True
) -> list[Any]:
    """See that a program that is given the identity, and `torch.compile`, finds the same.

    Args:
        program: returns or yields what it finds, and wraps functions in what it is given.
        fullgraph: of `torch.compile`.
        compiles: whether what it wraps is to be replayed in the end; None for either.

    Returns:
        The compiled functions.
    """
    functions: list[Any] = []

    def compiled(function: Any) -> Any:
        functions.append(torch.compile(function, fullgraph=fullgraph))
        return functions[-1]

    found: list[list[Any]] = []
    for wrap in (lambda function: function, compiled):
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - for programs that draw from the global stream
        result = program(wrap)
        parts = result if inspect.isgenerator(result) else [result]
        found.append([flat(part) for part in parts])
    for n, (expected, seen) in enumerate(zip(*found, strict=True)):
        pairs = [(a, b) for a, b in zip(expected, seen, strict=False) if a != b]
        assert seen == expected, f"part {n}: {len(expected)} and {len(seen)} entries; {pairs[:1]}"
    for function in functions if compiles is not None else ():
        report = function.report()
        assert bool(report.plans) == compiles, str(report)
        assert not fullgraph or report.problem is None, str(report)
    return functions


def compare(
    make: Callable[[], tuple[Callable[..., Any], Callable[[], list[Any]]]],
    calls: int = 8,
    arguments: Callable[[int], tuple[Any, ...]] = lambda n: (),
    between: Callable[[int, Any], Any] = lambda n, step: None,
    compiles: bool | None = True,
) -> Any:
    """See that a step and the compiled step give and change the same, call by call.

    Args:
        make: gives a step and a function that lists the tensors it changes.
        arguments: of call number n.
        between: called before each call with the step itself.
        compiles: whether the step is to be replayed in the end; None for either.

    Returns:
        The compiled step; as `found`, what its calls gave and changed.
    """
    found: list[Any] = []

    def program(compiled: Any) -> Any:
        original, state = make()
        step = compiled(original)
        for n in range(calls):
            between(n, original)
            found.append(outcome(step, *arguments(n)) + snapshot(state()))
            yield found[-1]

    (step,) = alike(program, fullgraph=compiles is True, compiles=compiles)
    step.found = found[calls:]
    return step


def array(*shape: int, seed: int = 0) -> Any:
    """A tensor of normal numbers."""
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return torch.from_numpy(values)


def caught(function: Callable[[], Any]) -> list[str]:
    """The texts of the warnings of a call."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    return [str(warning.message) for warning in found]
