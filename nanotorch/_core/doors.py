"""Doors through which layers around the core take part in operations.

A layer registers itself in one of the lists; the core calls what is there and imports no layer.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any


class NoValues(Exception):  # noqa: N818 - no error where an operation catches it
    """A kernel asked for values that a tensor does not have in this form."""


class Valueless:
    """What stands in the place of a tensor's array if the tensor has no values."""

    __slots__ = ()


class Observer:
    """Sees nodes while it is in `nodes`.

    Attributes:
        visit: runs each node of a backward pass, if it is not None. It gets the sweep, the function
            to call, and this function's arguments: the node, and the gradients that wait for it.
    """

    visit: Callable[..., None] | None = None

    def made(self, node: Any, out: Any, arguments: Sequence[Any]) -> None:
        """A call with these arguments has recorded ``node``; ``out`` is its result or results."""

    def ran(self, sweep: Any, node: Any, grads: Sequence[Any], arrived: Sequence[Any]) -> None:
        """A node has computed ``grads`` for its inputs from the gradients that ``arrived``."""


# Functions that run an operation whose kernel raised `NoValues`: `vmap`, subclasses of tensors,
# bfloat16, asked in this order. Each gets the operation, whether its in-place form was called, and
# the arguments by name, and returns `NotImplemented` if it knows none of them.
values: list[Callable[[Any, bool, dict[str, Any]], Any]] = []

# Watchers of results, as anomaly mode has one: `declared(op)` sees each operation that is declared
# while the watcher is here, `computed` sees what functions that are no operations have written.
kernels: list[Any] = []

# Observers of nodes: one entry for each context that has one, in any thread.
nodes: list[Observer] = []


def call_of(o: Any, inplace: bool, args: dict[str, Any]) -> tuple[Any, Iterable[Any], Any]:
    """The function of an operation, with its positional and its keyword arguments.

    Args:
        inplace: whether it is the in-place form.
        args: all arguments by name, in the order of the kernel's parameters; it is used up.
    """
    function = o.functions[f"Tensor.{o.name}_" if inplace else o.name]
    named = {n: args.pop(n) for n, a in o.arguments.items() if a.keyword_only}
    return function, args.values(), named


def run_without_values(o: Any, inplace: bool, *arguments: Any) -> Any:
    """Run an operation whose kernel raised `NoValues`; its generated functions fall back to this.

    Args:
        arguments: all its arguments, in the order of the kernel's parameters.
    """
    args = dict(zip(o.arguments, arguments, strict=True))
    for layer in values:
        result = layer(o, inplace, args)
        if result is not NotImplemented:
            return result
    raise NoValues
