"""A model's table, the table of operations, and the table of learning rates."""

import math
import re
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.train import load_config, train
from nanotorch.train.cli import main
from nanotorch.train.runs.run_directory import read_metrics
from nanotorch.train.training.experiment import propose_rate
from nanotorch.train.training.metrics import with_prefix
from nanotorch.train.training.step import operations, summary
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, result_of, write_example


class Nested(nn.Module):
    """A block in a block, one of them called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Tanh())
        self.head = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.head(self.block(self.block(x)))
        return result


def test_the_table_of_a_model() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
    model[0].eval()
    before = torch.get_rng_state().tolist()
    summary(model, torch.ones(2, 3))  # leaves it as it was
    assert [model.training, model[0].training, model[1].training] == [True, False, True]
    assert model[0].running_mean.tolist() == [0, 0, 0]
    assert torch.get_rng_state().tolist() == before
    assert not model[0]._forward_hooks
    model = Nested()
    model.block.requires_grad_(False)
    lines = summary(model, torch.zeros(4, 3)).splitlines()
    assert [line[:18].rstrip() for line in lines[1:-2]] == [
        "Nested", "├ block Sequential", "│ ├ 0 Linear", "│ └ 1 Tanh", "└ head Linear",
    ]  # fmt: skip
    assert [line.split()[-1] for line in lines[1:-2]] == ["56", "42", "36", "6", "14"]
    assert lines[-2] == "17 parameters, 9 of them frozen; 68 B of weights and buffers"
    assert lines[-1].endswith(" of results, 56 FLOPs forward")


@pytest.mark.parametrize(
    ("size", "text"), [(8, "8 B"), (1234, "1.234 kB"), (5e6, "5 MB"), (7e12, "7,000 GB")]
)
def test_sizes_as_people_say_them(size: float, text: str) -> None:
    assert with_prefix(size, "B") == text


class Added(nn.Module):
    """A matrix that nothing is multiplied by, and one that something is."""

    def __init__(self) -> None:
        super().__init__()
        self.added = nn.Parameter(torch.ones(5, 8))
        self.factor = nn.Parameter(torch.ones(8, 3), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.added) @ self.factor


def encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)


# In matrix products and convolutions, per sample: PyTorch's `FlopCounterMode` counts the same
# but for what is added to them.
ARITHMETIC = {
    "linear": (nn.Linear(4, 3), (4,), 2 * 4 * 3 + 3),
    "linear, at each place": (nn.Linear(4, 3, bias=False), (5, 4), 5 * 2 * 4 * 3),
    "activation": (nn.Sequential(nn.Flatten(), nn.ReLU()), (2, 4), 8),
    "convolution": (nn.Conv2d(4, 6, 3, padding=1, groups=2), (4, 8, 8), 6 * 64 * (2 * 18 + 1)),
    "transposed": (nn.ConvTranspose2d(3, 3, 2, 2), (3, 4, 4), 48 * 2 * 12 + 3 * 64),
    "added": (Added(), (5, 8), 5 * 8 + 5 * 3 * 2 * 8),
    "attention": (
        encoder(),
        (5, 8),
        # Queries, keys and values; scores, softmax, weighted sums; two sums, two normalizations.
        5 * 8 * (6 * 8 + 3) + 2 * 5 * 5 * (2 * 4 + 1 + 2 * 4) + 4 * 5 * 8
        # Its output; both layers of the network, ReLU.
        + 5 * 8 * (2 * 8 + 1) + 5 * 16 * (2 * 8 + 1) + 5 * 16 + 5 * 8 * (2 * 16 + 1),
    ),
    "recurrent": (nn.Sequential(nn.RNN(4, 3, batch_first=True)), (5, 4), 5 * 2 * (12 + 9) + 15),
}  # fmt: skip


@pytest.mark.parametrize("case", ARITHMETIC)
def test_arithmetic_by_hand(case: str) -> None:
    model, shape, expected = ARITHMETIC[case]
    frozen = [parameter.requires_grad for parameter in model.parameters()]
    assert sum(operations(model, torch.ones(2, *shape)).values()) == 2 * expected
    assert [parameter.requires_grad for parameter in model.parameters()] == frozen
    assert model.training


def test_operations_are_timed_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    plain = result_of(CLASSIFICATION)
    assert "timed" not in capsys.readouterr().out
    timed = train(load_config("x.yaml", ["log.profile=3"]))
    out = capsys.readouterr().out
    assert "\n3 steps, timed operation by operation" in out
    for row in ("aten::addmm +2 ", "ReluBackward0 +1 ", r"Adam\.step +1 "):
        assert re.search(f"^{row}", out, re.MULTILINE), row
    weights = "weights.safetensors"
    assert (timed.directory / weights).read_bytes() == (plain.directory / weights).read_bytes()


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        (CLASSIFICATION, ()),
        (CLASSIFICATION, ("optimizer={name: SGD, lr: 1, momentum: 0.9}",)),
        (REGRESSION, ("data.standardize_target=false", "optimizer=Adam")),
        (MINIMIZATION, ()),
    ],
)
def test_the_learning_rate_that_is_proposed_trains(text: str, overrides: Any, capsys) -> None:
    write_example(Path(), text)
    assert main(["--config", "x.yaml", "--find-lr", *overrides]) == 0
    out = capsys.readouterr().out
    found = re.search(
        r"the best rate for 100 steps; (?:rates from (\S+) to (\S+) do nearly as well|no other "
        r"rate comes close, so try rates around it):\n  optimizer\.lr=(\S+)$",
        out, re.M,
    )  # fmt: skip
    assert found
    low, high, rate = (float(number or found[3]) for number in found.groups())
    assert low <= rate <= high
    assert not Path("runs").exists()
    for tried in (low, rate, high):
        length = "function.iterations=100" if text is MINIMIZATION else "train.steps=100"
        first = train(load_config("x.yaml", [*overrides, length, f"optimizer.lr={tried}"]))
        assert first.status == "finished"
        losses = [line.get("train/loss", line.get("function/value"))
                  for line in read_metrics(first.directory)]  # fmt: skip
        numbers = [loss for loss in losses if loss is not None]
        assert numbers[-1] < 0.5 * numbers[0]


def test_which_rate_is_proposed_and_how_sure_that_is() -> None:
    text = propose_rate({1.0: math.inf, 0.1: 0.25, 0.01: 0.3, 1e-3: 0.9}, 1.0, 100)
    assert [line.split(maxsplit=1) for line in text.splitlines()[1:5]] == [
        ["1.0e+00", "diverges"], ["1.0e-01", "0.25"], ["1.0e-02", "0.3"], ["1.0e-03", "0.9"],
    ]  # fmt: skip
    assert text.endswith(
        "the best rate for 100 steps; rates from 1.0e-02 to 1.0e-01 do nearly as well:\n"
        "  optimizer.lr=1.0e-01"
    )
    assert "comes close, so try rates" in propose_rate({1.0: 0.9, 0.1: 0.1, 0.01: 0.8}, 1.0, 100)
    assert propose_rate({1.0: math.inf, 0.1: 1.1}, 1.0, 100).endswith("so none is proposed")
