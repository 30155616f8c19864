"""Functions that are no operations and yet look at values, while `vmap` runs.

They are made of operations and of NumPy, which has nothing to look at where a tensor is a sample.
So while some function runs under `vmap`, their code is another: that of `in_batch`, which does what
their rule says. At all other times they are as they were written.
"""

import inspect
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any, TypeVar

from nanotorch._core.batch_rules import IN_PLACE, sample, shifted, stacked
from nanotorch._core.batched import (
    CONTROL_FLOW,
    Batch,
    Batched,
    NoValues,
    active,
    batched,
    innermost,
    whole_of,
)
from nanotorch._core.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])
# Does what a function does for one sample, for all: (function, batch, arguments, named ones).
FunctionRule = Callable[[Any, Batch, tuple[Any, ...], dict[str, Any]], Any]

DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
    "over aten::{}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need "
    "this feature."
)
NO_RULE = "Batching rule not implemented for aten::{}. We could not generate a fallback."


def stand_in(*args: Any, under_vmap: Any, **kwargs: Any) -> Any:
    """What stands for the code of a function while `vmap` runs; its globals are the function's."""
    return under_vmap(args, kwargs)


def in_batch(function: Any, rule: FunctionRule, random: bool, args: Any, kwargs: Any) -> Any:
    """Do what a function's rule says, if it is called for samples."""
    batch = active.batches[-1] if random and active.batches else innermost(leaves((args, kwargs)))
    if batch is None:
        return function(*args, **kwargs)
    return rule(function, batch, args, kwargs)


def under_vmap(rule: FunctionRule, *, random: bool = False) -> Callable[[F], F]:
    """Say what a function does for samples, where it cannot do what it does for tensors.

    Args:
        random: whether it is to be asked also if no argument is a sample.
    """

    def register(function: Any) -> Any:
        plain = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__
        )
        plain.__kwdefaults__ = function.__kwdefaults__
        # The function itself does not know the argument, and pays no heed to its default.
        named = {
            **(function.__kwdefaults__ or {}),
            "under_vmap": partial(in_batch, plain, rule, random),
        }
        function.__kwdefaults__ = named
        switch.add(function)
        return function

    return register


def follow(copy: F) -> F:
    """Let a copy of a function that has a rule have it, too."""
    if "under_vmap" in (getattr(copy, "__kwdefaults__", None) or {}):
        switch.add(copy)
    return copy


class Switch:
    """Gives the functions their other code for as long as some `vmap` runs, in any thread."""

    def __init__(self) -> None:
        self.lock, self.runs = threading.Lock(), 0
        self.readers: list[tuple[Any, Any]] = []  # with the code that they have otherwise

    def add(self, function: Any) -> None:
        """One more of them; what `vmap` runs may be the first to use the module that has it."""
        with self.lock:
            self.readers.append((function, function.__code__))
            if self.runs:
                function.__code__ = stand_in.__code__

    def __enter__(self) -> None:
        with self.lock:
            self.runs += 1
            if self.runs == 1:
                for function, _ in self.readers:
                    function.__code__ = stand_in.__code__

    def __exit__(self, *exc: object) -> None:
        with self.lock:
            self.runs -= 1
            if not self.runs:
                for function, code in self.readers:
                    function.__code__ = code


switch = Switch()


def leaves(tree: Any) -> Iterator[Any]:
    """The arguments, also those in sequences."""
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, (tuple, list, dict)):
            yield from leaves(value)
        else:
            yield value


def rebuilt(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting with every argument changed."""
    if isinstance(tree, dict):
        return {name: rebuilt(value, change) for name, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)([rebuilt(value, change) for value in tree])
    return change(tree)


# Rules


def differing(value: Any, batch: Batch) -> bool:
    """Whether a value is a sample of the batch."""
    return isinstance(value, Batched) and value._batch is batch


def results_of(result: Any, change: Callable[[Any], Any]) -> Any:
    """A result, or each of several, changed where it is a tensor."""
    if isinstance(result, tuple):
        parts = [results_of(part, change) for part in result]
        return type(result)(parts)
    return change(result) if isinstance(result, Tensor) else result


def looped(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """As it is, if it can do without values; else one sample after the other."""
    try:
        return function(*args, **kwargs)
    except NoValues:
        return one_by_one(function, batch, args, kwargs, one_of)


def separately(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """One sample after the other, each in memory of its own."""

    def own(value: Any, batch: Batch, number: int) -> Any:
        part = one_of(value, batch, number)
        return part if part is value else part.clone()

    return one_by_one(function, batch, args, kwargs, own)


def one_by_one(function: Any, batch: Batch, args: Any, kwargs: Any, choose: Any) -> Any:
    """What a function gives for each sample, stacked.

    Args:
        choose: gives a value's sample of a number.

    Raises:
        RuntimeError: if it gives anything but tensors, which differ between the samples.
    """
    found = []
    for k in range(batch.size or 1):
        given = rebuilt((args, kwargs), lambda v, k=k: choose(v, batch, k))  # type: ignore[misc]
        found.append(in_batch(function, looped, False, *given))  # there may be other batches
    first = found[0]
    if isinstance(first, Tensor):
        return batched(stacked(found, batch.size), batch)
    if isinstance(first, tuple):
        columns = zip(*found, strict=True)
        return type(first)([batched(stacked(c, batch.size), batch) for c in columns])
    raise RuntimeError(CONTROL_FLOW)


def for_each(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """For what is made anew and no different by a tensor's values: memory for every sample."""
    given = rebuilt((args, kwargs), lambda value: one_of(value, batch, 0))
    made = in_batch(function, for_each, False, *given).detach()
    return batched(made.expand(batch.size, *made.shape).clone(), batch)


def one_of(value: Any, batch: Batch, number: int) -> Any:
    """One sample of a value; the value itself if it is the same for all."""
    return sample(value._whole, number) if differing(value, batch) else value


def in_place(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """For functions that write to their first tensor and return it.

    Raises:
        RuntimeError: if the tensor is the same for all samples, and another is not.
    """
    tensor = next(value for value in args if isinstance(value, Tensor))
    if not differing(tensor, batch):
        raise RuntimeError(IN_PLACE.format("inplace arithmetic", "in a vmap"))
    one_by_one(function, batch, args, kwargs, one_of)
    return tensor


def wholes(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """For functions that take any further dimensions in front: on the tensors of all samples."""

    def whole(value: Any) -> Any:
        return whole_of(value, batch) if isinstance(value, Tensor) else value

    given = rebuilt((args, kwargs), whole)
    result = in_batch(function, wholes, False, *given)
    return results_of(result, lambda t: batched(t, batch))


def along(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """For functions of a tensor and ``dim``, of which None stands for all dimensions."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    (first, tensor), dim = next(iter(given.items())), given["dim"]
    whole, own = tensor._whole, tensor.ndim
    if not own:
        whole = whole.unsqueeze(-1)
    if dim is None:
        whole, dim = whole.flatten(1), 0
    given[first] = whole
    several = isinstance(dim, (tuple, list))
    given["dim"] = [shifted(d, own) for d in dim] if several else shifted(dim, own)
    result = in_batch(function, along, False, bound.args, bound.kwargs)
    if given["dim"] == 1 and bound.arguments.get("keepdim") and whole.ndim == 2:
        result = result.view(batch.size, *(1,) * own)
    elif not own:
        result = result.view(batch.size)
    return batched(result, batch)


def never(text: str) -> FunctionRule:
    """For functions that there cannot be for samples: the error that says so."""

    def rule(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
        raise RuntimeError(text)

    return rule
