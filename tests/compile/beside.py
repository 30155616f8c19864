"""Running a compiled step beside the step itself: two copies of everything, compared bit by bit."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import nanotorch as torch

Scene = Any  # an object with `step(...)` and `state()`: tensors whose bits are compared


def behind(step: Any) -> Any:
    """The step itself, compiled or not."""
    return getattr(step, "__wrapped__", step)


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


def compare(
    make: Callable[[], tuple[Callable[..., Any], Callable[[], list[Any]]]],
    calls: int = 8,
    arguments: Callable[[int], tuple[Any, ...]] = lambda n: (),
    between: Callable[[int, Any], None] = lambda n, step: None,
    compiles: bool = True,
) -> Any:
    """Make two scenes, compile the step of one, and let both go on side by side.

    Args:
        make: gives a step and a function that lists the tensors it changes; called twice with the
            same seed, so that both start alike.
        arguments: of call number n; called for each of the two.
        between: called before each call with each of the two steps.
        compiles: whether the step is to be replayed in the end.

    Returns:
        The compiled step.
    """
    torch.manual_seed(0)
    plain, plain_state = make()
    torch.manual_seed(0)
    original, state = make()
    step = torch.compile(original, fullgraph=True) if compiles else torch.compile(original)
    generator_state = torch.get_rng_state()
    for n in range(calls):
        found = []
        for function, tensors in ((plain, plain_state), (step, state)):
            torch.set_rng_state(generator_state)
            between(n, function)
            result = function(*arguments(n))
            found.append(flat(result) + snapshot(tensors()))
        generator_state = torch.get_rng_state()
        assert found[0] == found[1], f"call {n}: {difference(*found)}"
    report = step.report()
    assert (report.problem is None) == compiles, str(report)
    if compiles:
        assert report.plans, str(report)
    return step


def alike(program: Callable[[Any], Any], fullgraph: bool = True, compiles: bool = True) -> None:
    """See that a program that is given the identity, and `torch.compile`, finds the same.

    Args:
        program: returns what it finds, and wraps functions in what it is given.
        fullgraph: of `torch.compile`.
        compiles: whether what it wraps is to be replayed in the end.
    """
    torch.manual_seed(0)
    expected = flat(program(lambda function: function))
    functions: list[Any] = []

    def compiled(function: Any) -> Any:
        functions.append(torch.compile(function, fullgraph=fullgraph))
        return functions[-1]

    torch.manual_seed(0)
    found = flat(program(compiled))
    assert found == expected, difference(found, expected)
    assert all(bool(function.report().plans) == compiles for function in functions)


def difference(a: list[Any], b: list[Any]) -> str:
    """The first entries that differ."""
    pairs = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    return f"{len(a)} and {len(b)} entries; first difference {pairs[:1]}"


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
