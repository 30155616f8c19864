"""Compiled training steps of recurrent networks and of transformers beside the steps themselves."""

from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import array, compare

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
        """Scores of the next character."""
        return self.out(self.layers(self.table(x))[0])


class Cell(nn.Module):
    """A loop over the steps, written by hand."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.table, self.cell = nn.Embedding(VOCABULARY, SIZE), kind(SIZE, SIZE)
        self.out = nn.Linear(SIZE, VOCABULARY)

    def forward(self, x: Any) -> Any:
        """Scores of the next character."""
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
        """Scores of the next character."""
        x = self.table(x) + self.places(torch.arange(LENGTH))
        return self.out(self.norm(self.encoder(x, mask=self.mask, is_causal=self.hint or None)))


MODELS: dict[str, Callable[[], nn.Module]] = {
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


def training(model: Callable[[], nn.Module]) -> Any:
    """A scene of the usual step."""
    made = model()
    chosen = optim.Adam(made.parameters(), lr=0.01)
    numbers = torch.arange(3 * LENGTH + 1)
    text = (numbers * numbers + 2 * numbers) % VOCABULARY
    x, y = text[:-1].reshape(3, LENGTH), text[1:].reshape(3, LENGTH)

    def step() -> Any:
        chosen.zero_grad()
        loss = F.cross_entropy(made(x).reshape(-1, VOCABULARY), y.reshape(-1))
        loss.backward()
        chosen.step()
        return loss

    def state() -> list[Any]:
        held = [t for entry in chosen.state.values() for t in entry.values()]
        return [*made.parameters(), *made.buffers(), *held]

    return step, state


USUAL = ("lstm, dropout", "gru cell", "transformer")


@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=[] if m in USUAL else [pytest.mark.slow]) for m in MODELS]
)
def test_a_training_step(model: str) -> None:
    compare(lambda: training(MODELS[model]))


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
