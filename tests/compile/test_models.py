"""Compiled training steps of models beside the steps themselves.

What the models are made of, each loss among it, is asked in `test_operations`; the optimizers in
`tests/optim/test_compiled.py`.
"""

from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import array, compare, usual

VOCABULARY, LENGTH, SIZE = 7, 5, 8


class Recurrent(nn.Module):
    """Characters in, characters out."""

    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, SIZE)
        self.layers = kind(SIZE, SIZE, batch_first=True, **options)
        width = self.layers.proj_size or SIZE
        self.out = nn.Linear(width * (1 + self.layers.bidirectional), VOCABULARY)

    def forward(self, x: Any) -> Any:
        return self.out(self.layers(self.table(x))[0])


class Cell(nn.Module):
    """A loop over the steps, written by hand."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.table, self.cell = nn.Embedding(VOCABULARY, SIZE), kind(SIZE, SIZE)
        self.out = nn.Linear(SIZE, VOCABULARY)

    def forward(self, x: Any) -> Any:
        state, outputs = None, []
        for step in self.table(x).unbind(1):
            state = self.cell(step, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return self.out(torch.stack(outputs, 1))


class Attending(nn.Module):
    """Two layers of attention to what came before."""

    def __init__(self, hint: bool = True, **options: Any) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(VOCABULARY, SIZE), nn.Embedding(LENGTH, SIZE)
        layer = nn.TransformerEncoderLayer(SIZE, 2, 16, batch_first=True, **options)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.out = nn.LayerNorm(SIZE), nn.Linear(SIZE, VOCABULARY)
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        self.register_buffer("mask", mask)
        self.hint = hint

    def forward(self, x: Any) -> Any:
        x = self.table(x) + self.places(torch.arange(LENGTH))
        return self.out(self.norm(self.encoder(x, mask=self.mask, is_causal=self.hint or None)))


LINEAR: dict[str, Callable[[], Any]] = {
    "linear": lambda: nn.Linear(6, 3),
    "no bias": lambda: nn.Linear(6, 3, bias=False),
    "relu": lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(),
                                  nn.Linear(8, 3)),
    "leaky": lambda: nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(), nn.Linear(8, 3)),
    "batch norm": lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(),
                                        nn.Linear(8, 3)),
    "layer norm": lambda: nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 3)),
    "dropout": lambda: nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.Linear(8, 3)),
    "softmax": lambda: nn.Sequential(nn.Linear(6, 3), nn.Softmax(1)),
}  # fmt: skip
WINDOWS: dict[str, Callable[[], Any]] = {
    "two convolutions": lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(6, 3),
    ),
    "same size": lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3, padding="same"), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(64, 3),
    ),
    "strides and groups": lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3, 2, 1, groups=2, padding_mode="reflect"), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
    ),
    "overlapping pools": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 1), nn.MaxPool2d(3, 2, 1), nn.AdaptiveMaxPool2d((2, 3)), nn.Flatten(),
        nn.Linear(18, 3),
    ),
    "there and back": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 2, 2), nn.GELU(), nn.ConvTranspose2d(3, 2, 2, 2), nn.ZeroPad2d((0, -2)),
        nn.Upsample(scale_factor=0.5, mode="bilinear"), nn.Flatten(),
        nn.Linear(24, 3),
    ),
    "channels and space": lambda: nn.Sequential(
        nn.PixelUnshuffle(2), nn.Conv2d(8, 4, 3), nn.PixelShuffle(2),
        nn.ReplicationPad2d(1), nn.Flatten(), nn.Linear(36, 3),
    ),
    "signals": lambda: nn.Sequential(
        nn.Flatten(2), nn.Conv1d(2, 4, 3, dilation=2), nn.ReLU(), nn.MaxPool1d(3), nn.Flatten(),
        nn.Linear(80, 3),
    ),
}  # fmt: skip
SEQUENCES: dict[str, Callable[[], nn.Module]] = {
    "lstm": lambda: Recurrent(nn.LSTM),
    "two layers, both ways": lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True),
    "projection": lambda: Recurrent(nn.LSTM, proj_size=3),
    "lstm, dropout": lambda: Recurrent(nn.LSTM, num_layers=2, dropout=0.3),
    "gru": lambda: Recurrent(nn.GRU, num_layers=2),
    "rnn": lambda: Recurrent(nn.RNN),
    "relu": lambda: Recurrent(nn.RNN, nonlinearity="relu"),
    "lstm cell": lambda: Cell(nn.LSTMCell),
    "gru cell": lambda: Cell(nn.GRUCell),
    "rnn cell": lambda: Cell(nn.RNNCell),
    "transformer": lambda: Attending(dropout=0.0),
    "dropout": lambda: Attending(dropout=0.2),
    "norm first, gelu": lambda: Attending(dropout=0.0, norm_first=True, activation="gelu"),
    "no hint": lambda: Attending(hint=False, dropout=0.0),
}
USUAL = ("lstm, dropout", "gru cell", "transformer")


def training(made: nn.Module, loss: Callable[[Any], Any]) -> Any:
    """A scene of the usual step: ``loss`` is of the model."""
    return usual(made, optim.SGD(made.parameters(), lr=0.1, momentum=0.9), lambda: loss(made))


@pytest.mark.parametrize("model", LINEAR)
def test_linear_layers(model: str) -> None:
    x, y = array(5, 6), array(5, 3, seed=1)
    compare(lambda: training(LINEAR[model](), lambda made: F.mse_loss(made(x), y)))


def test_a_loss_by_hand() -> None:
    x, y = array(5, 6), array(5, 3, seed=1)

    def loss(made: nn.Module) -> Any:
        out = made(x)
        return ((out - y) ** 2).mean() + 0.1 * out.abs().sum()

    compare(lambda: training(LINEAR["relu"](), loss))


@pytest.mark.parametrize("model", WINDOWS)
def test_windows(model: str) -> None:
    x, y = array(5, 2, 8, 8), array(5, 3, seed=1).argmax(1)
    compare(lambda: training(WINDOWS[model](), lambda made: F.cross_entropy(made(x), y)))


@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=[pytest.mark.slow] * (m not in USUAL)) for m in SEQUENCES]
)
def test_sequences(model: str) -> None:
    numbers = torch.arange(3 * LENGTH + 1)
    text = (numbers * numbers + 2 * numbers) % VOCABULARY
    x, y = text[:-1].reshape(3, LENGTH), text[1:].reshape(-1)

    def loss(made: nn.Module) -> Any:
        return F.cross_entropy(made(x).reshape(-1, VOCABULARY), y)

    compare(lambda: training(SEQUENCES[model](), loss))


def test_nan_in_a_window() -> None:
    """Whether there is one is asked anew at every replay."""

    def make() -> Any:
        x = array(1, 1, 4, 4).requires_grad_()

        def step(value: Any) -> Any:
            x.grad = None
            F.max_pool2d(x * value, 2).sum().backward()
            return x.grad.clone()

        return step, lambda: [x]

    values = [1.0, 2.0, 1.0, 3.0, float("nan"), 1.0, float("inf"), 2.0]
    compare(make, arguments=lambda n: (torch.full((1, 1, 4, 4), values[n]),))


def test_states_from_batch_to_batch() -> None:
    """The state goes on, without its history, as truncated training does."""

    def scene() -> Any:
        layer = nn.LSTM(4, 4)
        chosen = optim.SGD(layer.parameters(), lr=0.1)
        held = [torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)]
        x = array(3, 2, 4)

        def step() -> Any:
            chosen.zero_grad()
            out, (h, c) = layer(x, (held[0], held[1]))
            loss = (out**2).sum()
            loss.backward()
            chosen.step()
            held[0].copy_(h.detach())
            held[1].copy_(c.detach())
            return loss

        return step, lambda: [*layer.parameters(), *held]

    compare(scene)


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs `step` as it is")
def test_sequences_of_different_lengths_run_as_they_are() -> None:
    """Lengths are values of tensors, which decide what is computed."""

    def scene() -> Any:
        layer = nn.GRU(4, 4)
        chosen = optim.SGD(layer.parameters(), lr=0.1)
        x, lengths = array(3, 2, 4), torch.tensor([2, 3])

        def step() -> Any:
            chosen.zero_grad()
            rnn = nn.utils.rnn
            packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
            loss = (rnn.pad_packed_sequence(layer(packed)[0])[0] ** 2).sum()
            loss.backward()
            chosen.step()
            return loss

        return step, lambda: list(layer.parameters())

    compare(scene, compiles=False)
