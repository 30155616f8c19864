"""The first replay of a plan beside the step itself: every effect must be the same, bit for bit."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.compile.plan import Plan
from nanotorch.compile.source import MISS
from nanotorch.compile.state import State

Array = np.ndarray


def generators(plan: Plan) -> list[Any]:
    """The generators that the step draws from."""
    found = {
        id(entry.fn.__self__): entry.fn.__self__  # type: ignore[attr-defined]
        for entry in plan.capture.tape.entries
        if entry.kind == "draw"
    }
    return list(found.values())


def verified(
    plan: Plan, function: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Any, str | None]:
    """Make the step, and its replay on the same state.

    Returns:
        What the step returned, and what differs; the state is the step's own.
    """
    tensors = list(plan.capture.survey.tensors.values())
    tensors += [tensor for _, tensor in plan.capture.arguments.free]
    tensors += arguments_of(args, kwargs)
    drawn = generators(plan)
    before = State(list({id(t): t for t in tensors}.values()), drawn)
    result = function(*args, **kwargs)
    after = State(before.tensors, drawn)
    before.put_back()
    try:
        replayed = plan.call(args, kwargs)
    except Exception as error:
        after.put_back()
        return result, f"an error, {error!r},"
    if replayed is MISS:
        difference: str | None = "a guard"
    else:
        replay = State(before.tensors, drawn)
        difference = compare(after, replay) or compare_results(result, replayed)
    if difference is not None:
        after.put_back()
    return result, difference


def arguments_of(args: Any, kwargs: Any) -> list[Tensor]:
    """The tensors among the arguments."""
    found: list[Tensor] = []
    queue: list[Any] = [args, kwargs]
    for value in queue:  # the list grows while the loop runs
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            queue.extend(value)
        elif isinstance(value, dict):
            queue.extend(value.values())
    return found


def compare(a: State, b: State) -> str | None:
    """What differs between two states."""
    for position, tensor in enumerate(a.tensors):
        key = id(tensor._array)
        if not same(a.values.get(key), b.values.get(key)):
            return f"a tensor of shape {list(tensor._array.shape)}"
        g, h = a.grads[position], b.grads[position]
        if (g is None) != (h is None):
            return "whether a gradient is there"
        if g is not None and h is not None:
            if not same(a.values[id(g._array)], b.values[id(h._array)]):
                return f"a gradient of shape {list(g._array.shape)}"
            if g._array.strides != h._array.strides and g._array.size > 1:
                return "the layout of a gradient"
    for key, (_, content) in a.cells.items():
        if key in b.cells and content[0] != b.cells[key][1][0]:
            return "how often a tensor was written to"
    for p, q in zip(a.drawn, b.drawn, strict=True):
        if not same(p._array, q._array):
            return "what was drawn from a generator"
    return None


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have the same bits."""
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def compare_results(a: Any, b: Any) -> str | None:
    """What differs between two results."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if not same(a._array, b._array):
            return "the result"
        if a.requires_grad != b.requires_grad:
            return "whether the result requires grad"
        if a._array.strides != b._array.strides and a._array.size > 1:
            return "the layout of the result"
        return None
    if type(a) is not type(b):
        return "the kind of the result"
    if isinstance(a, (tuple, list)):
        parts = [compare_results(p, q) for p, q in zip(a, b, strict=False)]
        if len(a) != len(b):
            return "the length of the result"
    elif isinstance(a, dict):
        parts = [compare_results(a[key], b.get(key)) for key in a]
    else:
        return None if a is b or repr(a) == repr(b) else "the result"
    return next((part for part in parts if part is not None), None)
