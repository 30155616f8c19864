"""Names that programs add, for configurations to use."""

from pathlib import Path
from typing import ClassVar

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch import train as trainer
from nanotorch.train.cli import main
from nanotorch.train.components import CALLBACKS, LOSS_FACTS, LOSSES
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, write_example


class Quartic(nn.Module):
    """Fourth powers of errors."""

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return ((input - target) ** 4).mean()


def test_a_loss_of_one_s_own() -> None:
    assert trainer.register_loss(Quartic, "regression") is Quartic
    try:
        write_example(Path(), REGRESSION)
        assert main(["--config", "x.yaml", "loss=Quartic", "optimizer.lr=1e-12"]) == 0
        with pytest.raises(ValueError, match="expected 'regression' or 'classification', got 'x'"):
            trainer.register_loss(Quartic, "x")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="known already"):
            trainer.register_loss(Quartic, "regression")
    finally:
        del LOSSES.registered["Quartic"]
        del LOSS_FACTS["Quartic"]


class Counting(trainer.Callback):
    """Counts steps."""

    made: ClassVar[list["Counting"]] = []

    def __init__(self, start: int = 0) -> None:
        if start < 0:
            raise ValueError("start must not be negative")
        self.steps = start
        self.made.append(self)

    def on_step(self, loop: trainer.Loop) -> None:
        self.steps += 1


@pytest.mark.parametrize("text", [CLASSIFICATION, MINIMIZATION])
def test_a_callback_of_one_s_own(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    trainer.register_callback(Counting)
    try:
        write_example(Path(), text)
        assert main(["--config", "x.yaml", "callbacks=[{name: Counting, start: 100}]"]) == 0
        assert Counting.made[-1].steps == 100 + (5 if text == CLASSIFICATION else 3)
        assert main(["--config", "x.yaml", "callbacks=[{name: Counting, start: -1}]"]) == 2
        assert "callbacks[0].start: start must not be negative" in capsys.readouterr().err
    finally:
        del CALLBACKS.registered["Counting"]
    assert main(["--config", "x.yaml", "callbacks=[Counting]"]) == 2
    assert "'Counting' is not known" in capsys.readouterr().err
