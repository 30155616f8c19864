"""Ctrl-C at any line of a step: the optimizer goes on afterwards."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.optim.rules import Rule

PACKAGE = str(Path(optim.__file__).parent)
RULES = [*Rule.__subclasses__(), optim.LBFGS]
OPTIONS: dict[str, dict[str, Any]] = {"SGD": {"momentum": 0.9}, "LBFGS": {"max_iter": 2}}


def interrupted(call: Callable[[], Any], line: int) -> bool:
    """Whether a call was interrupted, before so many lines of optimizers had run."""
    left = line

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal left
        left -= event == "line"
        if left == 0:
            left = -1
            raise KeyboardInterrupt
        return trace if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("name", [n for n, kind in vars(optim).items() if kind in RULES])
def test_a_first_step_may_be_interrupted(name: str) -> None:
    def step() -> Any:
        loss = (parameter**2).sum()
        optimizer.zero_grad()
        loss.backward()
        return loss

    line, went_on = 0, False
    while line == 0 or went_on:
        line += 1
        parameter = nn.Parameter(torch.ones(2))
        optimizer = getattr(optim, name)([parameter], **OPTIONS.get(name, {}))
        went_on = interrupted(lambda: optimizer.step(step), line)
        for _ in range(2):
            assert optimizer.step(step).isfinite()
    assert line > 20
