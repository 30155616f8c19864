"""Where the time of training steps goes: per operation and per module, forward and backward."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch._core.saving import one_node_each

from .report import aligned
from .step import searches

GENERATED = "<nanotorch op "
MOST_ROWS = 15
OUTSIDE = "outside of modules"


@dataclass
class Cost:
    """What an operation took, a number for each step."""

    calls: list[int] = field(default_factory=lambda: [0])
    seconds: list[float] = field(default_factory=lambda: [0.0])
    bytes: list[int] = field(default_factory=lambda: [0])
    """Of its results."""

    def add(self, seconds: float, size: int) -> None:
        """Take in a call."""
        self.calls[-1] += 1
        self.seconds[-1] += seconds
        self.bytes[-1] += size

    def next_step(self) -> None:
        """Take what follows for another step's."""
        for numbers in (self.calls, self.seconds, self.bytes):
            numbers.append(0)

    def typical(self) -> "Typical":
        """Return the medians, which a step that the system has interrupted does not change."""
        from statistics import median  # it takes long to import

        steps = zip(self.calls, self.seconds, self.bytes, strict=True)
        taken = [step for step in steps if step[0]]
        return Typical(*(median(numbers) for numbers in zip(*taken, strict=True)))


@dataclass
class Typical:
    """What something takes in a step."""

    calls: float = 0.0
    seconds: float = 0.0
    bytes: float = 0.0

    def include(self, other: "Typical") -> None:
        """Take in a part of it."""
        self.calls += other.calls
        self.seconds += other.seconds
        self.bytes += other.bytes


class OperationProfile:
    """Times the operations of some steps, which run uncompiled meanwhile.

    Python's profiling hook sees the functions that were made from the operations' declarations.
    What an operation calls in turn counts as part of it.

    Args:
        model, loss: whose modules are told apart.
        optimizer: whose step is timed as one operation, unless it takes losses in between.
        steps: how many steps to time.
    """

    def __init__(
        self, model: nn.Module, loss: nn.Module, optimizer: optim.Optimizer, steps: int
    ) -> None:
        self._optimizer = optimizer
        self._names = {loss: f"loss ({type(loss).__name__})"}
        for name, module in model.named_modules():
            self._names[module] = f"{name or 'model'} ({type(module).__name__})"
        self._left = steps
        self._lost = 0.0
        """Seconds that the hook itself has taken, of which no operation is to blame."""
        self._steps: list[float] = []
        """The seconds of each step."""
        self._costs: defaultdict[tuple[str, str], Cost] = defaultdict(Cost)
        """By operation and module."""
        self._scopes: list[str] = []
        self._modules: dict[int, str] = {}
        """The module in which a node of the present step arose."""
        self._running: list[tuple[FrameType, float]] = []

    @property
    def wanted(self) -> bool:
        """Whether the next step is to be timed."""
        return bool(self._left) and sys.getprofile() is None

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Time the operations of the block, one step."""
        hooks = []
        for module in self._names:
            hooks.append(module.register_forward_pre_hook(self._enter, prepend=True))
            hooks.append(module.register_forward_hook(self._leave))
        if not searches(self._optimizer):
            hooks.append(self._optimizer.register_step_pre_hook(self._begin_update))
            hooks.append(self._optimizer.register_step_post_hook(self._end_update))
        self._lost, start = 0.0, time.perf_counter()
        sys.setprofile(self._see)
        try:
            with one_node_each():
                yield
        finally:
            sys.setprofile(None)
            self._steps.append(time.perf_counter() - start - self._lost)
            for cost in self._costs.values():
                cost.next_step()
            for hook in hooks:
                hook.remove()
            self._modules.clear()
            self._left -= 1

    def _enter(self, module: nn.Module, args: Any) -> None:
        self._scopes.append(self._names[module])

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        self._scopes.pop()

    def _begin_update(self, *args: Any) -> None:
        sys.setprofile(None)
        self._update = time.perf_counter()

    def _end_update(self, *args: Any) -> None:
        name = f"{type(self._optimizer).__name__}.step"
        self._costs[name, OUTSIDE].add(time.perf_counter() - self._update, 0)
        sys.setprofile(self._see)

    def _see(self, frame: FrameType, event: str, result: Any) -> None:
        now = time.perf_counter()
        if event in ("call", "return"):
            self._note(frame, event, result, now - self._lost)
        self._lost += time.perf_counter() - now

    def _note(self, frame: FrameType, event: str, result: Any, now: float) -> None:
        """Note the beginning or the end of an operation, by a clock that is stopped meanwhile."""
        file = frame.f_code.co_filename
        if not file.startswith(GENERATED) or frame.f_code.co_name == "<module>":
            return
        if event == "call":
            self._running.append((frame, now))
            return
        if not self._running or self._running[-1][0] is not frame:
            return
        _, start = self._running.pop()
        if self._running:  # part of another operation
            return
        op = file.removeprefix(GENERATED).partition(":")[0]
        scope = self._scopes[-1] if self._scopes else OUTSIDE
        first = frame.f_locals.get(frame.f_code.co_varnames[0]) if frame.f_locals else None
        if frame.f_code.co_name.startswith("apply"):
            scope = self._modules.get(id(first), OUTSIDE)
            op = f"{op}, backward"
        for tensor in tensors(result):
            if tensor.grad_fn is not None:
                self._modules[id(tensor.grad_fn)] = scope
        self._costs[op, scope].add(now - start, sum(t.nbytes for t in arrays(result)))

    def text(self) -> str:
        """Return two tables: operations, and modules; nothing if no step was timed."""
        from statistics import median

        if not self._steps:
            return ""
        ops, by_module = {}, defaultdict[str, Typical](Typical)
        for (op, module), cost in self._costs.items():
            ops[f"{op}\0{module}"] = typical = cost.typical()
            by_module[module].include(typical)
        whole = median(self._steps)
        rest = max(whole - sum(cost.seconds for cost in ops.values()), 0.0)
        by_module["Python between the operations"] = Typical(1, rest)
        count = len(self._steps)
        head = f"{count} steps, timed operation by operation, which slows them down; medians"
        tables = table(["operation", "module"], ops, whole), table(["module"], by_module, whole)
        return "\n\n".join([head, *tables])


def table(heads: list[str], costs: Mapping[str, Typical], whole: float) -> str:
    """Return what took most, a line each, with its share of the whole step."""
    rows = [[*heads, "calls a step", "µs a step", "share", "KB a step"]]
    largest = Counter({key: cost.seconds for key, cost in costs.items()})
    for key, seconds in largest.most_common(MOST_ROWS):
        figures = [f"{costs[key].calls:g}", f"{seconds * 1e6:,.1f}"]
        figures += [f"{100 * seconds / whole:.1f} %", f"{costs[key].bytes / 1000:,.1f}"]
        rows.append([*key.split("\0"), *figures])
    return aligned(rows, left=len(heads))


def tensors(result: Any) -> Sequence[torch.Tensor]:
    """Return the tensors that a function returned."""
    items = result if isinstance(result, list | tuple) else (result,)
    return [item for item in items if isinstance(item, torch.Tensor)]


def arrays(result: Any) -> Sequence[Any]:
    """Return the arrays that a function returned, in tensors or bare."""
    items = result if isinstance(result, list | tuple) else (result,)
    return [item for item in items if hasattr(item, "nbytes")]
