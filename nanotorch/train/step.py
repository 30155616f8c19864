"""The training step, compiled where that saves time."""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch._core.sums import sum_of_squares
from nanotorch.nn.utils import clip_grad_norm_, clip_grad_value_, get_total_norm

from . import ranks
from .metrics import scaled

WORTHWHILE = 1500
"""Calls from which compiling saves time. The first three calls, watched, traced and verified, take
20 to 200 ms more; of models with 2 to 80,000 weights that was made up for after 500 to 1,000."""


class TrainingStep:
    """A step that is called many times; what it computes is the same bits, compiled or not.

    Args:
        function: from tensors to the loss. What it works on stands in its closure, where
            `nanotorch.compile` looks for it.
        optimizer: what it moves the weights with.
        wanted: whether the configuration allows it to be compiled.
        calls: how often it is going to be called.
    """

    def __init__(
        self, function: Callable[..., Any], optimizer: optim.Optimizer, wanted: bool, calls: int
    ) -> None:
        self._reason = reason_against(optimizer, wanted, calls)
        self._compiled: Any = None if self._reason else torch.compile(function)
        self.plain = function
        self.call: Callable[..., Any] = self._compiled or function

    def record(self) -> Mapping[str, Any]:
        """Return what was compiled, with the figures of each variant, or why nothing was."""
        report = None if self._reason else self._compiled.report()
        reason = self._reason if report is None else report.problem
        if report is not None and not reason and report.plans:
            return {"compiled": True, "plans": [asdict(figures) for figures in report.plans]}
        return {"compiled": False, "reason": reason or "the run ended before"}


def reason_against(optimizer: optim.Optimizer, wanted: bool, calls: int) -> str:
    """Return why a step is not to be compiled; nothing if it is."""
    if not wanted:
        return "switched off"
    if searches(optimizer):
        return f"{type(optimizer).__name__} decides during a step how many losses it needs"
    monitoring = getattr(sys, "monitoring", None)  # by which `cProfile` looks on from 3.12 on
    tool = monitoring and monitoring.get_tool(monitoring.PROFILER_ID)
    if sys.getprofile() is not None or tool is not None:
        return "a profiler is at work, which is to see the step itself"
    if calls < WORTHWHILE:
        return f"{calls} steps of one size are too few to save time; from {WORTHWHILE} on it does"
    return ""


def fitting(
    model: nn.Module,
    criterion: nn.Module,
    optimizer: optim.Optimizer,
    longest: float | None = None,
    largest: float | None = None,
    width: int = 2,
    size: int = 1,
    accumulate: int = 1,
) -> Callable[..., Any]:
    """Return what fits a model to samples: from x, y, or x, y, x, y, ... to the loss before.

    Of several batches each sample counts alike, however the batches differ in size. Several
    processes each take their rows of them, and add up what they have found. With bounds,
    the norm of the gradients before them is returned beside the loss. An optimizer that searches
    evaluates loss and gradients several times a step.

    Args:
        model, criterion, optimizer: what fits, by what, and how.
        longest: the greatest norm of all gradients together.
        largest: the greatest size of an element of them.
        width: how many tensors a batch has: the inputs of the model, and the targets.
        size: how many samples a batch has, but for the last.
        accumulate: how many batches a step takes, but for the last.
    """
    parameters = list(model.parameters())
    several = ranks.size() > 1
    shared = several or accumulate > 1
    synchronized = several and any(isinstance(m, nn.SyncBatchNorm) for m in model.modules())

    def bounded() -> torch.Tensor:
        norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
        if largest is not None:
            clip_grad_value_(parameters, largest)
        if longest is not None:
            clip_grad_norm_(parameters, longest)
        return norm

    def gradients(*tensors: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        if not shared:
            *inputs, y = tensors
            loss = criterion(model(*inputs), y)
            loss.backward()
            return loss
        samples, loss = sum(len(y) for y in tensors[width - 1 :: width]), torch.zeros(())
        tensors = ranks.drawing(tensors[0], ranks.BEFORE), *tensors[1:]
        for start in range(0, len(tensors), width):
            x, *others, y = ranks.share(tensors[start : start + width], size)
            if len(y):
                x = ranks.drawing(x, start // width * ranks.size() + ranks.rank())
                part = criterion(model(x, *others), y) * (len(y) / samples)
                part.backward()
                loss = loss + part.detach()
            elif synchronized:  # the others wait for what it has to say of its samples: none
                (model(x, *others).sum() * 0).backward()
        if several:
            loss = ranks.add_gradients(parameters, loss)
        return ranks.drawing(loss, ranks.AFTER)

    def training_step(*batches: torch.Tensor) -> Any:
        loss = gradients(*batches)
        if longest is None and largest is None:
            optimizer.step()
            return loss
        norm = bounded()
        optimizer.step()
        return loss, norm

    def searching_step(*batches: torch.Tensor) -> torch.Tensor:
        return optimizer.step(lambda: gradients(*batches)).detach()

    return searching_step if searches(optimizer) else training_step


def searches(optimizer: optim.Optimizer) -> bool:
    """Return whether an optimizer asks for several losses a step."""
    return isinstance(optimizer, optim.LBFGS)


def gradient_norm(parameters: Iterable[torch.Tensor]) -> float:
    """Return the norm of all gradients, as if they were one vector."""
    gradients = [p.grad.numpy().ravel() for p in parameters if p.grad is not None]
    return math.sqrt(sum([float(sum_of_squares(gradient)) for gradient in gradients]))


def compilation_text(record: Mapping[str, Any]) -> str:
    """Return what became of the step in one line; nothing where it was not tried."""
    plans = record.get("plans", ())
    return "\n".join(
        f"compiled: {plan['kernels']} of {plan['traced']} kernels, {scaled(plan['bytes'], 'B')};"
        f" {scaled(plan['fresh'], 'B')} more a step, uncompiled {scaled(plan['eager_bytes'], 'B')}"
        for plan in plans
    )
