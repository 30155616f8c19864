"""A model's table, the table of operations, and the table of learning rates."""

import re
from pathlib import Path

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.train import load_config, train
from nanotorch.train.cli import main
from nanotorch.train.profiling import Cost, Typical
from nanotorch.train.rate_finder import Found, rate_text, steepest
from nanotorch.train.summary import operations, size_text, summary
from tests.train.examples import CLASSIFICATION, write_example


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
    model = Nested()
    model.block.requires_grad_(False)
    lines = summary(model, torch.zeros(4, 3)).splitlines()
    assert [line[:20].rstrip() for line in lines[1:-1]] == [
        "Nested", "├─ block Sequential", "│  ├─ 0 Linear", "│  └─ 1 Tanh", "└─ head Linear",
    ]  # fmt: skip
    assert [line.split()[-1] for line in lines[1:-1]] == ["56", "42", "36", "6", "14"]
    assert lines[-1].startswith("17 parameters, 9 of them frozen; 68 B of weights and buffers; ")


def test_a_model_is_left_as_it_was() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
    model[0].eval()
    before = torch.get_rng_state().tolist()
    summary(model, torch.ones(2, 3))
    assert [model.training, model[0].training, model[1].training] == [True, False, True]
    assert model[0].running_mean.tolist() == [0, 0, 0]
    assert torch.get_rng_state().tolist() == before
    assert not model[0]._forward_hooks


@pytest.mark.parametrize(
    ("size", "text"), [(8, "8 B"), (1234, "1.234 kB"), (5e6, "5 MB"), (7e12, "7,000 GB")]
)
def test_sizes_as_people_say_them(size: float, text: str) -> None:
    assert size_text(size) == text


def test_arithmetic_by_hand() -> None:
    x = torch.zeros(2, 4)
    linear = nn.Linear(4, 3)
    assert operations(linear, (x,), [linear(x)]) == 2 * (2 * 4 * 3 + 3)
    assert operations(nn.ReLU(), (x,), [x]) == 8
    if hasattr(nn, "Conv2d"):
        convolution = nn.Conv2d(3, 5, 3, padding=1)
        image = torch.zeros(1, 3, 8, 8)
        made = convolution(image)
        assert operations(convolution, (image,), [made]) == 5 * 64 * (2 * 27 + 1)


def test_operations_are_timed_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    write_example(Path(), CLASSIFICATION)
    plain = train(load_config("x.yaml"))
    assert "timed" not in capsys.readouterr().out
    timed = train(load_config("x.yaml", ["log.profile=3"]))
    out = capsys.readouterr().out
    assert "\n3 steps, timed operation by operation" in out
    for row in (r"addmm +0 \(Linear\) +1 ", r"relu, backward +1 \(ReLU\) +1 ",
                r"Adam\.step +outside of modules +1 ",
                r"bce_with_logits +loss \(BCEWithLogitsLoss\) +1 ",
                r"Python between the operations +1 "):  # fmt: skip
        assert re.search(f"^{row}", out, re.MULTILINE), row
    weights = "weights.safetensors"
    assert (timed.directory / weights).read_bytes() == (plain.directory / weights).read_bytes()


def test_a_learning_rate_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    write_example(Path(), CLASSIFICATION)
    assert main(["--config", "x.yaml", "--find-lr"]) == 0
    out = capsys.readouterr().out
    found = re.search(r"the loss falls fastest near .*: optimizer\.lr=([\d.e+-]+)$", out, re.M)
    assert found is not None
    assert 1e-4 < float(found[1]) < 10
    assert not Path("runs").exists()


def test_the_steepest_place() -> None:
    rates = [10.0 ** (k / 10) for k in range(30)]
    losses = [1.0] * 20 + [0.9, 0.5, 0.1, 0.05, 0.05, 0.1, 1, 2, 3, 4]
    assert steepest(rates, losses) in rates[20:23]
    assert steepest(rates, [1.0] * 30) is None
    assert steepest(rates[:5], losses[:5]) is None
    assert rate_text(Found([], [], None)) == "the loss is not finite from the beginning"
    assert rate_text(Found(rates, [1.0] * 30, None)).endswith("no rate can be suggested")


def test_one_step_that_was_interrupted_says_nothing() -> None:
    cost = Cost()
    for seconds in (1.0, 90.0, 3.0):
        cost.add(seconds, 8)
        cost.add(seconds, 8)
        cost.next_step()
    assert cost.typical() == Typical(2, 6.0, 16)
