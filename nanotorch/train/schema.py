"""What a configuration file may say: one dataclass per section, mirroring it name for name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.optim import lr_scheduler
from nanotorch.serialization.files import opened

from .components import (
    BINARY_LOSSES,
    CALLBACKS,
    CLASS_LOSSES,
    INSIDE,
    LAST_LAYERS,
    LAYERS,
    LOSSES,
    OPTIMIZERS,
    REGRESSION_LOSSES,
    SEARCHING,
    Components,
)
from .config import ConfigError, Noted, Origins, Problem, did_you_mean, quoted
from .functions import FUNCTIONS, ExpressionError, KnownFunction, parse_expression
from .reading import Component, Key, Range, Section
from .settings import (
    GENERATORS,
    Above,
    Averaging,
    Checkpoint,
    Data,
    EarlyStopping,
    Generator,
    Log,
    MinimizationLog,
    Natural,
    Positive,
    TextData,
    Train,
)

# The schedules of the learning rate that a configuration may name, and what they count.


EPOCH, STEP = "epoch", "step"

# What the schedule's length is called; if left out, it is the training's.
LENGTHS = {"CosineAnnealingLR": "T_max", "OneCycleLR": "total_steps", "PolynomialLR": "total_iters"}
PERIODS = ("step_size", "T_0", "T_mult", "step_size_up", "step_size_down", *LENGTHS.values())
"""Numbers of epochs or steps, which are not nothing."""
MOST_TRIED = 10_000
"""Changes of the rate that are tried before a training: mistakes come to light in the first."""
# Made for changes after every step.
BY_STEPS = ("CyclicLR", "OneCycleLR")
PLATEAU = "ReduceLROnPlateau"


@dataclass(frozen=True, eq=False)
class Schedules(Components):
    """The schedulers of `optim.lr_scheduler`, each with `interval`: what it counts.

    `warmup` is how many of these the rate rises linearly before.
    """

    __hash__ = object.__hash__  # of what stands in a union of type hints

    def keys(self, name: str) -> Mapping[str, Key]:
        found = {
            key: replace(about, hint=Positive) if key in PERIODS else about
            for key, about in super().keys(name).items()
        }
        if length := LENGTHS.get(name):
            found[length] = Key(Positive | None, None)
        if name == "CyclicLR":
            found["step_size_down"] = Key(Positive | None, None)
        if name == "MultiStepLR":
            found["milestones"] = Key(tuple[int, ...])
        interval = Key(Literal["epoch", "step"], STEP if name in BY_STEPS else EPOCH)
        return {**found, "interval": interval, "warmup": Key(Natural, 0)}


SCHEDULES = Schedules(
    "a scheduler",
    lr_scheduler,
    (
        *("StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR"),
        *("CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", PLATEAU),
    ),
)


# What a configuration file may say: one dataclass per section, mirroring it name for name.
#
# The sentence under each field is its documentation; its type is its check. Checks that involve
# several fields stand in the `problems` of the section that holds them.


Seed = Annotated[int, Range(low=0, high=2**32 - 1)]
Loss = Annotated[Component, LOSSES]
Optimizer = Annotated[Component, OPTIMIZERS]
AnySchedule = Annotated[Component, SCHEDULES]
Layer = Annotated[Component, LAYERS]
Listener = Annotated[Component, CALLBACKS]


@dataclass(frozen=True)
class Check:
    """Marks a value that has further rules."""

    problem: Callable[[str], str | None]
    """Returns what is wrong with one, if anything is."""


def unknown_function(name: str) -> str | None:
    """Return what is wrong with the name of a function."""
    known = name in FUNCTIONS
    return None if known else f"{quoted(name)} is not known{did_you_mean(name, FUNCTIONS)}"


def bad_expression(text: str) -> str | None:
    """Return what is wrong with an expression."""
    try:
        parse_expression(text)
    except ExpressionError as error:
        return str(error)
    return None


MOST_STARTS = 10_000
"""Points that are moved together."""


@dataclass(frozen=True, kw_only=True)
class Model(Section):
    """A sequence of layers."""

    layers: tuple[Layer, ...]
    """By PyTorch's names, with their arguments; the number of inputs of each is inferred."""
    freeze: tuple[str, ...] = ()
    """Names of parameters that stay as they are, such as `0.*`; `*` matches anything."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if not self.layers:
            yield "layers", "needs at least one layer"


@dataclass(frozen=True, kw_only=True)
class Stop(Section):
    """When a point is good enough; with several starts, each has to be."""

    gradient_norm: Above | None = None
    """The length of the gradient that is short enough."""
    value: float | None = None
    """The value of the function that is small enough."""
    step: Above | None = None
    """The distance between two points in a row that is short enough."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.gradient_norm is None and self.value is None and self.step is None:
            yield "", "needs 'gradient_norm', 'value' or 'step'"


@dataclass(frozen=True, kw_only=True)
class Function(Section):
    """What to minimize, and from where."""

    name: Annotated[str, Check(unknown_function)] | None = None
    """A known function; or give `expression`."""
    expression: Annotated[str, Check(bad_expression)] | None = None
    """Arithmetic in the vector x, such as `x[0]**2 + (x[1] - 1)**2`; or give `name`."""
    start: tuple[float, ...] | tuple[tuple[float, ...], ...]
    """The point to start from, or a list of points, whose descents are taken together."""
    iterations: Positive
    """Steps of the optimizer, at most."""
    stop: Stop | None = None
    """When to stop before that; never if left out."""
    compile: bool = True
    """Whether the step is compiled if there are enough of them to save time; equal to the bit."""

    def problems(self) -> Iterator[tuple[str, str]]:
        points = self.points
        if not points or not all(points):
            yield "start", "needs at least one coordinate"
        elif len({len(point) for point in points}) > 1:
            yield "start", "needs points of one length"
        elif len(points) > MOST_STARTS:
            yield "start", f"has {len(points)} points; at most {MOST_STARTS}"
        if (self.name is None) == (self.expression is None):
            yield "", "needs either 'name' or 'expression'"
        elif points and len({len(point) for point in points}) == 1 and points[0]:
            yield from self._value_problems(points)

    def _value_problems(self, points: tuple[tuple[float, ...], ...]) -> Iterator[tuple[str, str]]:
        place = "start" if self.name is not None else "expression"
        try:
            function = self.known.expression()
            for index, point in enumerate(points):
                if self.name is not None and isinstance(self.start[0], tuple):
                    place = f"start[{index}]"
                function.check(point)
        except ExpressionError as error:
            yield place, str(error)

    @property
    def points(self) -> tuple[tuple[float, ...], ...]:
        """The points to start from."""
        if all(isinstance(part, tuple) for part in self.start):
            return self.start  # type: ignore[return-value]
        return (self.start,)  # type: ignore[return-value]

    @property
    def known(self) -> KnownFunction:
        """The function, with its minima if it has a name."""
        if self.name is not None:
            return FUNCTIONS[self.name]
        return KnownFunction("", str(self.expression))

    @property
    def formula(self) -> str:
        """The expression, of the named function if one is named."""
        formula = self.known.formula
        return formula if isinstance(formula, str) else str(self.name)


@dataclass(frozen=True, kw_only=True)
class TrainedConfig(Section):
    """A model is fitted to samples of any kind."""

    experiment: Literal["regression", "classification", "text"]
    """What is predicted."""
    seed: Seed = 0
    """Fixes the split, the initial weights and the order of samples."""
    data: Data | TextData
    """The samples."""
    model: Model
    """What predicts."""
    loss: Loss
    """What is minimized, by PyTorch's name."""
    optimizer: Optimizer
    """What minimizes it, by PyTorch's name."""
    scheduler: AnySchedule | None = None
    """How the learning rate changes, by PyTorch's name; it stays as it is if left out."""
    train: Train
    """How long."""
    early_stopping: EarlyStopping | None = None
    """When to end before that; never if left out."""
    averaging: Averaging | None = None
    """How weights are averaged over the training; they are not if left out."""
    callbacks: tuple[Listener, ...] = ()
    """What else listens to the training, by the names under which programs register it."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """What is kept to go on from."""
    log: Log = field(default_factory=Log)
    """What is kept."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.optimizer.name in SEARCHING:
            for name in ("clip_norm", "clip_value"):
                if getattr(self.train, name) is not None:
                    message = "searches by the gradients as they are; remove this bound"
                    yield f"train.{name}", f"{self.optimizer.name} {message}"
        allowed = self.allowed_losses
        if self.loss.name not in allowed:
            yield "loss.name", f"a {self.experiment} takes {' or '.join(allowed)}"
        if self.loss.arguments.get("reduction", "mean") != "mean":
            yield "loss.reduction", "must be 'mean': losses are compared between parts"
        last = len(self.model.layers) - 1
        layer, path = self.model.layers[last], f"model.layers[{last}].name"
        if inside := INSIDE.get(self.loss.name, {}).get(layer.name):
            yield path, f"remove this layer: {self.loss.name} applies {inside} itself"
        wanted = LAST_LAYERS.get(self.loss.name, (layer.name,))
        if layer.name not in wanted:
            yield path, f"{self.loss.name} wants {wanted[0]} as the last layer"

    @property
    def allowed_losses(self) -> Sequence[str]:
        """The losses that fit what is predicted."""
        return CLASS_LOSSES


@dataclass(frozen=True, kw_only=True)
class SupervisedConfig(TrainedConfig):
    """A model is fitted to samples, each with a target."""

    experiment: Literal["regression", "classification"]
    """Predict a number, or one of several classes."""
    data: Data
    """The samples."""

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from super().problems()
        regression, generator = self.experiment == "regression", self.data.generator
        if isinstance(generator, Generator) and regression == bool(generator.classes):
            name, others = getattr(generator, "name", ""), GENERATORS.of_classes(not regression)
            said = f"{quoted(name)} makes {'classes' if regression else 'no classes'}"
            said += ", but this is a regression" if regression else ""
            yield "data.generator.name", f"{said}{did_you_mean('', others)}"
        if regression:
            for name in ("stratify", "positive", "class_weights"):
                if getattr(self.data, name):
                    yield f"data.{name}", "needs classes, which a regression has not"
        elif self.data.class_weights is not None:
            taken = "pos_weight" if self.loss.name in BINARY_LOSSES else "weight"
            if taken not in LOSSES.keys(self.loss.name):
                yield "data.class_weights", f"{self.loss.name} takes none"
            elif taken in self.loss.arguments:
                yield "data.class_weights", f"excludes loss.{taken}; remove one of the two"

    @property
    def allowed_losses(self) -> Sequence[str]:
        if self.experiment == "regression":
            return REGRESSION_LOSSES
        return [*BINARY_LOSSES, *CLASS_LOSSES]


@dataclass(frozen=True, kw_only=True)
class TextConfig(TrainedConfig):
    """A model learns to tell the next character of a text."""

    experiment: Literal["text"]
    """Predict the next character."""
    data: TextData
    """The text."""


@dataclass(frozen=True, kw_only=True)
class MinimizationConfig(Section):
    """The least value of a function is sought."""

    experiment: Literal["minimization"]
    """There is no data and no model."""
    seed: Seed = 0
    """Fixes what is random; nothing is, as long as the optimizer is deterministic."""
    function: Function
    """What is minimized."""
    optimizer: Optimizer
    """What minimizes it, by PyTorch's name."""
    scheduler: AnySchedule | None = None
    """How the learning rate changes, by PyTorch's name; counts iterations."""
    callbacks: tuple[Listener, ...] = ()
    """What else listens to the training, by the names under which programs register it."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """What is kept to go on from."""
    log: MinimizationLog = field(default_factory=MinimizationLog)
    """What is kept."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if "groups" in self.optimizer.arguments:
            yield "optimizer.groups", "needs a model, whose parameters have names"


Config = SupervisedConfig | TextConfig | MinimizationConfig


# What the parts of a configuration refuse by themselves.
#
# A training is made in an order: the data needs a file that is right, the model the data, the
# optimizer the model. A mistake ends that, and the parts behind it are tried alone, so that their
# mistakes are told at the same time.


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
        noted = Noted()
        with noted:
            attempt(component, path, origins)
        yield from noted.problems


def attempt(component: Component, path: str, origins: Origins) -> None:
    """Make a component that may stand at `path`.

    Raises:
        ConfigError: if it refuses its arguments.
    """
    trial = [nn.Parameter(torch.zeros(1, 1))]
    arguments = dict(component.arguments)
    if path == "loss":
        LOSSES.build(component, path, origins)
    elif path == "optimizer":
        arguments.pop("groups", None)
        OPTIMIZERS.build(Component(component.name, arguments), path, origins, trial)
    elif path == "scheduler":
        del arguments["interval"], arguments["warmup"]
        if name := LENGTHS.get(component.name):
            arguments.setdefault(name, MOST_TRIED)
        optimizer = optim.SGD(trial, momentum=0.5)  # which has every option
        SCHEDULES.build(Component(component.name, arguments), path, origins, optimizer)
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
            yield from origins.unreadable(path, file, error).problems
