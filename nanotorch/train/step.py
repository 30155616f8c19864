"""The training step, compiled where that saves time."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import nanotorch as torch

WORTHWHILE = 1500
"""Calls from which compiling saves time. The first three calls, watched, traced and verified, take
20 to 200 ms more; of models with 2 to 80,000 weights that was made up for after 500 to 1,000."""


class TrainingStep:
    """A step that is called many times; what it computes is the same bits, compiled or not.

    Args:
        function: from tensors to the loss. What it works on stands in its closure, where
            `nanotorch.compile` looks for it.
        wanted: whether the configuration allows it to be compiled.
        calls: how often it is going to be called.
    """

    def __init__(self, function: Callable[..., torch.Tensor], wanted: bool, calls: int) -> None:
        self._reason = reason_against(wanted, calls)
        self._compiled: Any = None if self._reason else torch.compile(function)
        self.call: Callable[..., torch.Tensor] = self._compiled or function

    def record(self) -> Mapping[str, Any]:
        """Return what was compiled, with the figures of each variant, or why nothing was."""
        if self._reason:
            return {"compiled": False, "reason": self._reason}
        report = self._compiled.report()
        if report.problem:
            return {"compiled": False, "reason": report.problem}
        if not report.plans:
            return {"compiled": False, "reason": "the run ended before"}
        return {"compiled": True, "plans": [asdict(figures) for figures in report.plans]}


def reason_against(wanted: bool, calls: int) -> str:
    """Return why a step is not to be compiled; nothing if it is."""
    if not wanted:
        return "switched off"
    if sys.getprofile() is not None:
        return "a profiler is at work, which is to see the step itself"
    if calls < WORTHWHILE:
        return f"{calls} steps of one size are too few to save time; from {WORTHWHILE} on it does"
    return ""


def compilation_text(record: Mapping[str, Any]) -> str:
    """Return what became of the step in one line; nothing where it was not tried."""
    plans = record.get("plans", ())
    return "\n".join(
        f"compiled step: {plan['kernels']} kernels of {plan['traced']}; memory {plan['bytes']:,}"
        f" bytes and {plan['fresh']:,} a step, uncompiled {plan['eager_bytes']:,} a step"
        for plan in plans
    )
