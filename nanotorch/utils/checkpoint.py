"""Less memory for more time: forget the saved tensors of a part of a model and recompute them.

The recommended way, ``use_reentrant=False``, packs each saved tensor into a number. The first
unpacking runs the part again. The other way runs the part outside the graph; the backward of its
`Function` runs it again inside a graph of its own.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from nanotorch import ops
from nanotorch._core.autocast import region_again
from nanotorch._core.call_site import warn
from nanotorch._core.engine import Sweep, current
from nanotorch._core.grad_mode import enable_grad, is_grad_enabled, no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.backward import backward
from nanotorch.autograd.function import Function
from nanotorch.autograd.graph import saved_tensors_hooks
from nanotorch.names.lookup import on_demand
from nanotorch.ops.random import fork_rng, get_rng_state, set_rng_state

CHOOSE = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. In a future "
    "release, calling checkpoint without use_reentrant will raise an exception. "
    "use_reentrant=False is recommended."
)
OTHER_COUNT = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward "
    "and recomputation.\nNumber of tensors saved during forward: {}\nNumber of tensors saved "
    "during recomputation: {}."
)
OTHER_TENSORS = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
    "than during the forward pass.\ntensor at position {}: {} of {}, recomputed {} of {}"
)
Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """The error for a part of a model that saves other tensors when it runs again."""


def no_contexts() -> Contexts:
    """The default contexts of both runs: two that do nothing."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = no_contexts, determinism_check: str = "default",
    debug: bool = False, early_stop: bool = True, preserve_rng_state: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Run ``function`` without keeping its saved tensors; the backward pass runs it again.

    Args:
        function: must compute the same result from the same arguments.
        args, kwargs: its arguments; keywords only with ``use_reentrant=False``.
        use_reentrant: False is recommended. Default: True, with a warning.
        context_fn: returns two context managers, one for each run.
        determinism_check: "none" skips the check of the recomputed tensors' shapes and dtypes.
        debug: accepted for PyTorch's sake.
        early_stop: end the second run once it has saved all tensors. Default: True.
        preserve_rng_state: let the second run draw the same random numbers. Default: True.

    Raises:
        CheckpointError: in the backward pass, if the second run saves other tensors.
        ValueError: for arguments that the chosen way does not accept.
    """
    if use_reentrant is None:
        warn(CHOOSE)
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not no_contexts or debug:
            raise ValueError("context_fn and debug are for use_reentrant=False only")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError("determinism_check should be 'default' or 'none'")
    if not is_grad_enabled():
        return function(*args, **kwargs)
    first, second = context_fn()
    rng = get_rng_state() if preserve_rng_state else None
    part = Part(function, args, kwargs, second, rng)
    part.checked = determinism_check != "none"
    part.early_stop = early_stop
    with saved_tensors_hooks(part.pack, part.unpack), first:
        return function(*args, **kwargs)


# Without reentry


class Enough(Exception):  # noqa: N818 - it ends a run, it is no error
    """Raised to end the second run of a part that has saved all its tensors."""


class KeptInputs(Function):
    """Keeps tensors as saved tensors: versions are checked and outer hooks pack them."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return anchor.clone()


class Part:
    """One checkpoint: the inputs for another run of the function, and the tensors it has saved.

    A saved tensor is packed as its number in the order of saving.
    """

    checked = True
    early_stop = True

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        context: AbstractContextManager[Any], rng: Tensor | None,
    ) -> None:  # fmt: skip
        self.function, self.context, self.rng = function, context, rng
        self.autocast = region_again()
        self.names, self.count = tuple(kwargs), len(args)
        tensors, self.rest = split_tensors([*args, *kwargs.values()])
        anchor = ops.zeros(0, requires_grad=True)
        self.inputs = KeptInputs.apply(anchor, *tensors).grad_fn
        self.kinds: list[tuple[Any, Any]] = []
        # Per backward pass: the recomputed tensors that it has not unpacked yet.
        self.values: weakref.WeakKeyDictionary[Sweep, dict[int, Tensor]]
        self.values = weakref.WeakKeyDictionary()

    def pack(self, tensor: Tensor) -> int:
        """Forget a tensor; returns its number."""
        self.kinds.append((tensor.shape, tensor.dtype))
        return len(self.kinds) - 1

    def unpack(self, number: int) -> Tensor:
        """Recompute a tensor. Each is given out once, so that its memory is freed early."""
        sweep = current.sweep
        values = None if sweep is None else self.values.get(sweep)
        if values is None or number not in values:
            values = self.run_again()
            if sweep is not None:
                self.values[sweep] = values
        return values.pop(number)

    def run_again(self) -> dict[int, Tensor]:
        """Run the function again; returns its saved tensors by number."""
        saved: dict[int, Tensor] = {}

        def keep(tensor: Tensor) -> Tensor:
            saved[len(saved)] = kept = tensor.detach()
            if self.early_stop and len(saved) == len(self.kinds):
                raise Enough
            return kept

        values = join_tensors(self.inputs.saved_tensors, self.rest)
        kwargs = dict(zip(self.names, values[self.count :], strict=True))
        hooks = saved_tensors_hooks(keep, lambda tensor: tensor)
        # Only this part's `Enough` gets here: inside an inner part, its hooks are the innermost.
        with with_random_state(self.rng), suppress(Enough), self.autocast(), hooks, self.context:
            self.function(*values[: self.count], **kwargs)
        self.check(saved)
        return saved

    def check(self, saved: dict[int, Tensor]) -> None:
        """Raise CheckpointError unless count, shapes and dtypes are those of the first run."""
        if len(saved) < len(self.kinds):
            raise CheckpointError(OTHER_COUNT.format(len(self.kinds), len(saved)))
        if not self.checked:
            return
        for number, (shape, dtype) in enumerate(self.kinds):
            found = saved[number]
            if (shape, dtype) != (found.shape, found.dtype):
                kinds = list(shape), dtype, list(found.shape), found.dtype
                raise CheckpointError(OTHER_TENSORS.format(number, *kinds))


def split_tensors(values: Sequence[Any]) -> tuple[list[Tensor], list[Any]]:
    """The tensors among ``values``, and all values: None for a tensor, a 1-tuple for another."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    return tensors, [None if isinstance(value, Tensor) else (value,) for value in values]


def join_tensors(tensors: Iterable[Any], rest: Sequence[Any]) -> list[Any]:
    """The inverse of `split_tensors`."""
    following = iter(tensors)
    return [next(following) if value is None else value[0] for value in rest]


@contextmanager
def with_random_state(rng: Tensor | None) -> Iterator[None]:
    """A block that records a graph and, unless ``rng`` is None, draws from that state."""
    with enable_grad(), fork_rng(enabled=rng is not None):
        if rng is not None:
            set_rng_state(rng)
        yield


# With reentry


class CheckpointFunction(Function):
    """Runs a function outside the graph; the backward runs it inside a graph of its own."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warn("None of the inputs have requires_grad=True. Gradients will be None")
        ctx.function = function
        ctx.rng = get_rng_state() if preserve else None
        ctx.autocast = region_again()
        tensors, ctx.rest = split_tensors(args)
        ctx.save_for_backward(*tensors)
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        if current.sweep is not None and current.sweep.captures is not None:
            raise RuntimeError("use_reentrant=True allows backward() only without inputs")
        leaves = (t.detach().requires_grad_(t.requires_grad) for t in ctx.saved_tensors)
        args = join_tensors(leaves, ctx.rest)
        with with_random_state(ctx.rng), ctx.autocast():
            outputs = ctx.function(*args)
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (out, g)
            for out, g in zip(several, grads, strict=True)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True: checkpoint is not necessary")
        backward([out for out, _ in pairs], [g for _, g in pairs])
        return None, None, *(a.grad if isinstance(a, Tensor) else None for a in args)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices of tensors with random numbers of their own, and their states: none."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Do nothing: see `get_device_states`."""


on_demand("nanotorch.utils.checkpoint")
