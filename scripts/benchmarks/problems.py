"""The problems of the training steps: the same data and initial weights for every candidate."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray
Step = Callable[[], Any]

MOMENTUM = 0.9
LR = 0.01
# The minimization of a function runs for tens of thousands of steps. With a larger rate it would
# converge, and its momentum would decay to denormal numbers, on which processors are slower.
FUNCTION_LR = 1e-5
START = (-1.0, 2.0)


@dataclass(frozen=True)
class Network:
    """A dense network with a batch of data.

    Attributes:
        rows: the number of rows of the batch.
        widths: the widths of the layers, from input to output.
        activation: the function between the layers: ``tanh`` or ``relu``.
        loss: ``mse``, ``bce`` (of logits) or ``cross_entropy``; a mean over the batch.
    """

    rows: int
    widths: tuple[int, ...]
    activation: str
    loss: str

    def batch(self) -> tuple[Array, Array]:
        """Features, and a target that can be learned from them."""
        generator = np.random.default_rng(0)
        x = generator.normal(size=(self.rows, self.widths[0])).astype(np.float32)
        if self.loss == "cross_entropy":
            return x, (x @ generator.normal(size=(self.widths[0], self.widths[-1]))).argmax(1)
        score = x.sum(1, keepdims=True)
        noise = generator.normal(size=score.shape).astype(np.float32)
        return x, (score > noise).astype(np.float32) if self.loss == "bce" else score + noise

    def parameters(self) -> list[Array]:
        """For each layer its weight, of shape (out, in), and its bias."""
        generator = np.random.default_rng(1)
        arrays = []
        for inputs, outputs in pairwise(self.widths):
            weight = generator.normal(size=(outputs, inputs)) / inputs**0.5
            arrays += [weight.astype(np.float32), np.zeros(outputs, np.float32)]
        return arrays


REGRESSION = Network(32, (10, 1), "relu", "mse")
CLASSIFIER = Network(64, (2, 16, 16, 1), "tanh", "bce")
SMALL = Network(64, (64, 128, 10), "relu", "cross_entropy")
MEDIUM = Network(128, (784, 256, 128, 10), "relu", "cross_entropy")
LARGE = Network(512, (1024, 1024, 1024, 10), "relu", "cross_entropy")


def operands(spread: float = 0.5) -> tuple[Array, Array]:
    """Two arrays of 8 x 8 with elements around 1."""
    generator = np.random.default_rng(0)
    a, b = generator.uniform(1 - spread, 1 + spread, (2, 8, 8)).astype(np.float32)
    return a, b


def factors() -> tuple[Array, Array]:
    """The start of a chain of products and its factor, so near 1 that 100,000 steps stay small."""
    return operands()[0], operands(1e-5)[1]


@dataclass(frozen=True)
class Epoch:
    """One pass over a dataset through a loader.

    Attributes:
        shuffled: whether the loader shuffles.
        trains: whether a linear model does a step on every batch.
    """

    shuffled: bool = False
    trains: bool = False
    rows: int = 10_000
    columns: int = 20
    batch: int = 32

    def data(self) -> tuple[Array, Array]:
        """Features and targets."""
        return Network(self.rows, (self.columns, 1), "relu", "mse").batch()

    def parameters(self) -> list[Array]:
        """The weight and the bias of the linear model."""
        return Network(self.rows, (self.columns, 1), "relu", "mse").parameters()
