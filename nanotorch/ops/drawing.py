"""Random numbers under `vmap`: none, the same for all samples, or different ones.

What a function draws for different samples it draws at once, in PyTorch's order. An outer `vmap`
is asked in its turn.
"""

from collections.abc import Callable
from typing import Any

from nanotorch._core.batch_functions import FunctionRule, in_batch, leaves, one_of, rebuilt
from nanotorch._core.batch_rules import stacked
from nanotorch._core.batched import Batch, Batched, active, batched, whole_of
from nanotorch._core.tensor import Tensor
from nanotorch.ops.creation import empty
from nanotorch.ops.generator import default_generator
from nanotorch.ops.sizes import shape_of

ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an "
    "issue with functorch"
)
IN_PLACE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
    "like same randomness. If this is necessary for your usage, please file an issue with "
    "functorch."
)


def outside(function: Any, rule: FunctionRule, args: Any, kwargs: Any) -> Any:
    """The function as the next outer `vmap` has it called, or as it is."""
    held = active.batches
    active.batches = held[:-1]
    try:
        return in_batch(function, rule, True, args, kwargs)
    finally:
        active.batches = held


def differing(args: Any, kwargs: Any, batch: Batch) -> bool:
    """Whether an argument is a sample of the batch."""
    return any(isinstance(v, Batched) and v._batch is batch for v in leaves((args, kwargs)))


def refuse_error(batch: Batch) -> None:
    """Refuse random numbers where they are an error.

    Raises:
        RuntimeError: in PyTorch's words.
    """
    if batch.randomness == "error":
        raise RuntimeError(ERROR)


def sized(place: Callable[[Any, Any], Any]) -> FunctionRule:
    """For functions of a shape.

    Args:
        place: takes the positional and the named arguments, gives the shape, and the arguments
            without it.
    """

    def rule(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
        refuse_error(batch)
        if any(isinstance(value, Tensor) for value in leaves((args, kwargs))):
            return by_values(function, batch, args, kwargs)
        if batch.randomness == "same":
            return outside(function, rule, args, kwargs)
        shape, args, kwargs = place(args, kwargs)
        drawn = outside(function, rule, args, {**kwargs, "size": (batch.size, *shape)})
        return batched(drawn, batch)

    return rule


def all_sizes(args: Any, kwargs: Any) -> Any:
    """The shape as several numbers, one sequence, or ``size``."""
    rest = {**kwargs}
    size = rest.pop("size", None)
    return shape_of("rand", args, size), (), rest


def last_size(args: Any, kwargs: Any) -> Any:
    """The shape as the last argument, or as ``size``."""
    rest = {**kwargs}
    if "size" in rest:
        return tuple(rest.pop("size")), args, rest
    return tuple(args[-1]), args[:-1], rest


def alike(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """For functions of a tensor of which only shape and dtype count."""
    refuse_error(batch)
    input, *rest = args
    if batch.randomness == "same":
        model = empty(tuple(input.shape), dtype=input.dtype)
        return outside(function, alike, (model, *rest), kwargs)
    whole = whole_of(input.detach(), batch).contiguous()
    return batched(outside(function, alike, (whole, *rest), kwargs), batch)


def by_values(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """For functions whose numbers are drawn by the values of tensors, one for each."""
    refuse_error(batch)
    if batch.randomness == "same":
        if differing(args, kwargs, batch):
            raise RuntimeError(SAME)
        return outside(function, by_values, args, kwargs)
    shape = next(v for v in leaves((args, kwargs)) if isinstance(v, Tensor)).shape

    def whole(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return whole_of(value.expand(shape) if value.ndim < len(shape) else value, batch)

    given = rebuilt((args, kwargs), whole)
    return batched(outside(function, by_values, *given), batch)


def by_rows(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """For `multinomial`, which takes rows of weights."""
    refuse_error(batch)
    input = args[0]
    if batch.randomness == "same" or input.ndim == 1:
        return by_values(function, batch, args, kwargs)
    whole = whole_of(input, batch)
    drawn = outside(function, by_rows, (whole.flatten(0, 1), *args[1:]), kwargs)
    return batched(drawn.unflatten(0, whole.shape[:2]), batch)


def filling(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """For functions that fill a tensor."""
    refuse_error(batch)
    input, *rest = args
    mine = isinstance(input, Batched) and input._batch is batch
    if batch.randomness == "same":
        if differing(rest, kwargs, batch):
            raise RuntimeError(SAME)
        if not mine:
            return outside(function, filling, args, kwargs)
        model = empty(tuple(input.shape), dtype=input.dtype)
        return input.copy_(outside(function, filling, (model, *rest), kwargs))
    if not mine:
        raise RuntimeError(IN_PLACE)
    given = [whole_of(v.expand(input.shape), batch) if isinstance(v, Tensor) else v for v in rest]
    outside(function, filling, (input._whole, *given), kwargs)
    return input


def each(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """For other functions: one sample after the other, from the same state for the same numbers."""
    refuse_error(batch)
    if batch.randomness == "same" and not differing(args, kwargs, batch):
        return outside(function, each, args, kwargs)
    state = default_generator.get_state()
    found = []
    for k in range(batch.size or 1):
        if batch.randomness == "same":
            default_generator.set_state(state)
        given = rebuilt((args, kwargs), lambda v, k=k: one_of(v, batch, k))  # type: ignore[misc]
        found.append(outside(function, each, *given))
    return batched(stacked(found, batch.size), batch)
