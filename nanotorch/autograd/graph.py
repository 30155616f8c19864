"""The recorded graph: its nodes, its edges, and what is done with the values it keeps."""

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from nanotorch._core.call_site import wrote
from nanotorch._core.engine import Sweep, current
from nanotorch._core.graph import Node as Node
from nanotorch._core.graph import edge_of
from nanotorch._core.tensor import Tensor, hooks, observers
from nanotorch.autograd.backward import GradientEdge as GradientEdge
from nanotorch.autograd.backward import get_gradient_edge as get_gradient_edge


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Context manager: tensors that operations inside keep for their gradients are packed.

    Of nested ones the innermost counts. Gradients of gradients still go through what is unpacked.

    Args:
        pack_hook: turns a tensor into anything at all; it must not write to the tensor.
        unpack_hook: turns that back into a tensor of the same values.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if not callable(self.pack_hook) or not callable(self.unpack_hook):
            raise TypeError("saved_tensors_hooks takes two functions: pack_hook and unpack_hook")
        if hooks.refusal is not None:
            raise RuntimeError(hooks.refusal)
        hooks.stack.append((self.pack_hook, self.unpack_hook))
        observers.append(self)

    def __exit__(self, *exc: object) -> None:
        hooks.stack.pop()
        observers.remove(self)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Context manager: keep saved tensors as copies in the main memory, where they are anyway.

    Args:
        pin_memory, device_type: accepted for PyTorch's sake.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor.detach().clone(), lambda copy: copy)


class disable_saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Context manager: entering `saved_tensors_hooks` inside fails with ``error_message``.

    Raises:
        RuntimeError: on entry, if such hooks are in force already.
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if hooks.stack:
            raise RuntimeError(self.error_message)
        self.before, hooks.refusal = hooks.refusal, self.error_message

    def __exit__(self, *exc: object) -> None:
        hooks.refusal = self.before


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to a tensor, or to each of several, that the engine could not see."""
    for t in [tensor] if isinstance(tensor, Tensor) else tensor:
        wrote(t._cell, "increment_version")


class _MultiHandle:
    """Removes a hook from several tensors; also a context manager that does so at its end."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> "_MultiHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class _Gathering:
    """The gradients that have arrived for one hook in one backward pass."""

    def __init__(self, sweep: Sweep, nodes: Sequence[Node]) -> None:
        self.missing = sum(sweep.reaches(node) for node in nodes)
        self.gradients: list[Tensor | None] = [None] * len(nodes)


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None], *,
    mode: Literal["all", "any"] = "all",
) -> _MultiHandle:  # fmt: skip
    """Call ``fn`` once in a backward pass, for several tensors together.

    Args:
        tensors: tensors that require grad.
        fn: called with a list of the gradients, None for tensors that the pass does not reach;
            for ``mode="any"``, with the first gradient that is known.
        mode: "all" waits for every tensor that the pass reaches, "any" for the first.

    Raises:
        ValueError: for another ``mode``.
        AssertionError: for a tensor that does not require grad.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = [edge_of(t)[0] for t in tensors]
    if any(node is None for node in nodes):
        raise AssertionError("Expected gradient function to be set")
    known = [node for node in nodes if node is not None]
    lock = threading.Lock()
    # Passes in different threads gather apart; one that fails is forgotten with its sweep.
    passes: weakref.WeakKeyDictionary[Sweep, _Gathering] = weakref.WeakKeyDictionary()

    def arrived(position: int, grad: Tensor | None) -> None:
        sweep = current.sweep
        assert sweep is not None
        with lock:
            first = sweep not in passes
            if first:
                passes[sweep] = _Gathering(sweep, known)
            gathering = passes[sweep]
            gathering.gradients[position] = grad
            gathering.missing -= 1
            complete = gathering.missing == 0
        if mode == "any" and first:
            fn(grad)  # type: ignore[arg-type]
        elif mode == "all" and complete:
            fn(gathering.gradients)  # type: ignore[arg-type]

    return _MultiHandle(
        [t.register_hook(lambda g, k=k: arrived(k, g)) for k, t in enumerate(tensors)]
    )
