"""The first replay of a plan beside the step itself: every effect must be the same, bit for bit."""

from collections.abc import Callable
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.compile.plan import Plan
from nanotorch.compile.source import MISS
from nanotorch.compile.state import Look, State, fingerprint

GUARD = "a guard"


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
        What the step returned, and what differs: `GUARD` if the plan is one for another state.
        The state is the step's own.
    """
    tensors = list(plan.capture.survey.tensors.values())
    tensors += [tensor for _, tensor in plan.capture.arguments.free]
    tensors += arguments_of(args, kwargs)
    held, drawn = list({id(t): t for t in tensors}.values()), generators(plan)
    modules = plan.capture.survey.modules
    before = State(held, drawn, modules)
    result = function(*args, **kwargs)
    expected = Look(held, drawn, modules)
    before.put_back()
    try:
        replayed = plan.call(args, kwargs)
    except Exception as error:
        plan.error = error
    if plan.error is not None:
        difference: str | None = f"an error, {plan.error!r},"
    elif replayed is MISS:
        difference = GUARD
    else:
        difference = expected.difference(Look(held, drawn, modules))
        difference = difference or compare_results(result, replayed)
    if difference is not None:
        before.put_back()
        result = function(*args, **kwargs)
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


def compare_results(a: Any, b: Any) -> str | None:
    """What differs between two results."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if fingerprint(a._array) != fingerprint(b._array):
            return "the result"
        if a.requires_grad != b.requires_grad:
            return "whether the result requires grad"
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
