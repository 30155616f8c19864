"""The recorded graph: its nodes and edges, hooks for the values it saves; `Variable`."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from nanotorch._core import doors
from nanotorch._core.call_site import count_write, warn
from nanotorch._core.graph import Node as Node
from nanotorch._core.tensor import Tensor, require_float
from nanotorch.autograd.backward import as_list
from nanotorch.autograd.saved import hooks, packing
from nanotorch.names.lookup import on_demand


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Context manager: pack the tensors that operations inside save for their gradients.

    The innermost of nested blocks counts. Second derivatives still pass through unpacked tensors.

    Args:
        pack_hook: a function that turns a tensor into any object; it must not write to the tensor.
        unpack_hook: a function that turns this object back into a tensor of the same values.

    Raises:
        TypeError: if a hook is not callable.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if not callable(self.pack_hook) or not callable(self.unpack_hook):
            raise TypeError("saved_tensors_hooks takes two functions: pack_hook and unpack_hook")
        hooks.stack.append((self.pack_hook, self.unpack_hook))
        doors.nodes.append(packing)

    def __exit__(self, *exc: object) -> None:
        hooks.stack.pop()
        doors.nodes.remove(packing)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Context manager: save copies of tensors in the main memory, where they already are.

    Args:
        pin_memory, device_type: ignored.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor.detach().clone(), lambda copy: copy)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write that the engine did not see, to one tensor or to each of several."""
    for t in as_list(tensor):
        count_write(t._cell, "increment_version")


def reachable_nodes(roots: Iterable[Node | None]) -> Iterator[Node]:
    """The nodes that can be reached from ``roots`` along edges, these included, each once."""
    todo, seen = list(roots), set()
    for node in todo:  # the list grows while the loop runs
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            todo += [following for following, _ in node.next_functions]


# `Variable`, which formerly wrapped tensors that require grad.


VOLATILE = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."


class VariableMeta(type):
    """Makes every tensor an instance of `Variable`."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """A leaf tensor on the memory of another, for old scripts: new ones use `requires_grad_`.

    Args:
        data: a tensor; default: an empty one.
        requires_grad: whether operations on the leaf are recorded.
        volatile: has no effect but a warning.

    Raises:
        TypeError: if ``data`` is not a tensor.
        RuntimeError: for ``requires_grad`` with a dtype that is not floating-point.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warn(VOLATILE)
        if data is None:
            return Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad:
            require_float(data._array)
        return data.detach().requires_grad_(requires_grad)


def variable(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: `torch.tensor` replaces this function."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


if not TYPE_CHECKING:  # so errors about names that are missing give the reason
    __getattr__, __dir__ = on_demand("nanotorch.autograd.graph")
