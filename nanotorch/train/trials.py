"""What the parts of a configuration refuse by themselves.

A training is made in an order: the data needs a file that is right, the model the data, the
optimizer the model. A mistake ends that, and the parts behind it are tried alone, so that their
mistakes are told at the same time.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import nanotorch as torch
from nanotorch import nn
from nanotorch.serialization.files import opened

from .components import LAYERS, LOSSES, OPTIMIZERS
from .csv_file import shown_path
from .plugins import CALLBACKS
from .problems import ConfigError, Origins, Problem, quoted
from .reading import Component
from .schedules import try_schedule
from .schema import MinimizationConfig, TrainedConfig


def with_others(
    error: ConfigError, config: TrainedConfig | MinimizationConfig, origins: Origins
) -> ConfigError:
    """Return an error that tells as well what parts of the configuration refuse by themselves."""
    parts = {"optimizer": config.optimizer}
    if isinstance(config, TrainedConfig):
        layers = {f"model.layers[{i}]": layer for i, layer in enumerate(config.model.layers)}
        parts = {**layers, "loss": config.loss, **parts}
    if config.scheduler is not None:
        parts["scheduler"] = config.scheduler
    parts |= {f"callbacks[{index}]": callback for index, callback in enumerate(config.callbacks)}
    told = {problem.path for problem in error.problems}
    others = (problem for problem in refused(parts, origins) if problem.path not in told)
    return ConfigError([*error.problems, *others])


def refused(components: Mapping[str, Component], origins: Origins) -> Iterator[Problem]:
    """Yield what components refuse, each made for next to nothing; by their paths."""
    for path, component in components.items():
        try:
            attempt(component, path, origins)
        except ConfigError as error:
            yield from error.problems


def attempt(component: Component, path: str, origins: Origins) -> None:
    """Make a component that may stand at `path`.

    Raises:
        ConfigError: if it refuses its arguments.
    """
    trial = [nn.Parameter(torch.zeros(1, 1))]
    if path == "loss":
        LOSSES.build(component, path, origins)
    elif path == "optimizer":
        arguments = {key: value for key, value in component.arguments.items() if key != "groups"}
        OPTIMIZERS.build(Component(component.name, arguments), path, origins, trial)
    elif path == "scheduler":
        try_schedule(component, trial, origins)
    elif path.startswith("callbacks"):
        CALLBACKS.build(component, path, origins)
    elif stands_alone(component):
        LAYERS.build(component, path, origins)


def stands_alone(layer: Component) -> bool:
    """Return whether a layer can be made without knowing what comes in."""
    inner = any(isinstance(value, Component | tuple) for value in layer.arguments.values())
    return not inner and LAYERS.followed(layer.name) <= set(layer.arguments)


def unreadable(files: Mapping[str, Path], origins: Origins) -> Iterator[Problem]:
    """Yield which files of samples cannot be read, by their paths in the configuration."""
    for path, file in files.items():
        if not path.startswith("data."):
            continue
        try:
            opened(file).close()
        except OSError as error:
            reason = error.strerror or error
            message = f"cannot read {quoted(shown_path(file))}: {reason}"
            yield from origins.error(path, message).problems
