"""Samples that are made up."""

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch

from .schema import Line, Moons

Array = NDArray[np.float64]


def generate(source: Line | Moons, generator: torch.Generator) -> tuple[list[str], Array, Array]:
    """Return the names of the features, the features and the targets."""
    if isinstance(source, Line):
        return line(source, generator)
    return moons(source, generator)


def line(source: Line, generator: torch.Generator) -> tuple[list[str], Array, Array]:
    """Return points scattered about a line, uniform in x."""
    uniform = draw(torch.rand, source.samples, generator=generator)
    x = source.low + (source.high - source.low) * uniform
    noise = source.noise * draw(torch.randn, source.samples, generator=generator)
    return ["x"], x[:, None], source.slope * x + source.intercept + noise


def moons(source: Moons, generator: torch.Generator) -> tuple[list[str], Array, Array]:
    """Return points about an upper half circle, class 0, and a lower one set into it, class 1."""
    upper = source.samples // 2
    angle = np.concatenate(
        [np.linspace(0, np.pi, upper), np.linspace(0, np.pi, source.samples - upper)]
    )
    target = np.arange(source.samples) >= upper
    x = np.where(target, 1 - np.cos(angle), np.cos(angle))
    y = np.where(target, 0.5 - np.sin(angle), np.sin(angle))
    noise = draw(torch.randn, source.samples, 2, generator=generator)
    return ["x0", "x1"], np.stack([x, y], axis=1) + source.noise * noise, target.astype(float)


def draw(stream: object, *shape: int, generator: torch.Generator) -> Array:
    """Return numbers of `torch.rand` or `torch.randn` in double precision."""
    assert callable(stream)
    numbers: Array = stream(*shape, generator=generator, dtype=torch.float64).numpy()
    return numbers
