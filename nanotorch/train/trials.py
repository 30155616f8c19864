"""What the parts of a configuration refuse by themselves.

A training is made in an order: the model needs the data, the optimizer the model. A mistake ends
that, and the parts behind it are tried alone, so that their mistakes are told at the same time.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import nanotorch as torch
from nanotorch import nn

from .build import build_callbacks
from .components import LAYERS, LOSSES, OPTIMIZERS
from .problems import ConfigError, Origins, Problem
from .reading import Component
from .schedules import try_schedule
from .schema import MinimizationConfig, TrainedConfig


def with_others(
    error: ConfigError, config: TrainedConfig | MinimizationConfig, origins: Origins
) -> ConfigError:
    """Return an error that tells as well what parts of the configuration refuse by themselves."""
    told = {problem.path for problem in error.problems}
    found: list[Problem] = []
    for attempt in attempts(config, origins):
        try:
            attempt()
        except ConfigError as other:
            found += [problem for problem in other.problems if problem.path not in told]
    return ConfigError([*error.problems, *found])


def attempts(
    config: TrainedConfig | MinimizationConfig, origins: Origins
) -> Iterator[Callable[[], object]]:
    """Yield what makes each part for next to nothing."""
    trial = [nn.Parameter(torch.zeros(1, 1))]
    if isinstance(config, TrainedConfig):
        for index, layer in enumerate(config.model.layers):
            if stands_alone(layer):
                yield partial(LAYERS.build, layer, f"model.layers[{index}]", origins)
        yield partial(LOSSES.build, config.loss, "loss", origins)
    arguments = {k: v for k, v in config.optimizer.arguments.items() if k != "groups"}
    optimizer = Component(config.optimizer.name, arguments)
    yield partial(OPTIMIZERS.build, optimizer, "optimizer", origins, trial)
    if config.scheduler is not None:
        yield partial(try_schedule, config.scheduler, trial, origins)
    yield partial(build_callbacks, config.callbacks, origins)


def stands_alone(layer: Component) -> bool:
    """Return whether a layer can be made without knowing what comes in."""
    values: list[Any] = list(layer.arguments.values())
    inner = any(isinstance(value, Component | tuple) for value in values)
    return not inner and LAYERS.followed(layer.name) <= set(layer.arguments)
