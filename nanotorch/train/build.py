"""A checked configuration into a model, its optimizer and its schedule."""

import math
import re
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.optim import lr_scheduler

from .components import CALLBACKS, INFERRED, LAYERS, OPTIMIZERS, REFUSALS
from .config import ConfigError, Noted, Origins, Problem, did_you_mean, quoted, raise_all
from .loop import Callback, Loop
from .reading import Component
from .run_directory import alike
from .schema import EPOCH, LENGTHS, MOST_TRIED, PLATEAU, SCHEDULES, STEP, Model

LARGEST_LAYER = 50_000_000
"""Weights in one layer; more is a slip of the finger, and would take the machine's memory."""
LARGEST_NUMBER = 1_000_000
"""What no other whole number of a layer exceeds."""

# Two of the first are the sides of the largest matrix of weights; the rest multiply it.
SIDES = {
    *("in_features", "out_features", "in_channels", "out_channels", "input_size", "hidden_size"),
    *("num_embeddings", "embedding_dim", "d_model", "dim_feedforward", "embed_dim", "length"),
}
FACTORS = {"kernel_size", "num_layers"}
MOST_LAYERS = 1000
"""Of one kind, in one layer."""
LARGEST_OUTPUT = 200_000_000
"""Numbers that a layer may make of two samples."""


@dataclass(frozen=True)
class ModelSpec:
    """What a model is to be made for."""

    example: torch.Tensor
    """Two samples, as the model gets them."""
    outputs: tuple[int, ...]
    """The shape of what it is to give for one sample."""
    reason: str
    """Why that, as in `there is 1 to predict`."""
    vocabulary: int | None = None
    """How many different values an input has, where inputs are numbered symbols."""


def build_model(model: Model, wanted: ModelSpec, origins: Origins) -> nn.Sequential:
    """Return the layers, each made for the shape that the one before it gives.

    Raises:
        ConfigError: if they do not fit together, or one refuses its arguments.
    """
    before, built = wanted.example, []
    for index, layer in enumerate(model.layers):
        path = f"model.layers[{index}]"
        shape = before.shape[1:] if isinstance(before, torch.Tensor) else ()
        known = {name: shape[dim] for name, dim in INFERRED.items()} if shape else {}
        if wanted.vocabulary is not None:
            known["num_embeddings"] = wanted.vocabulary
        check_given(layer, path, known, index == 0, origins)
        check_sizes(layer, path, known, origins)
        check_output(layer, path, before, origins)
        built.append(LAYERS.build(layer, path, origins, **known))
        inputs = tuple(before.shape) if isinstance(before, torch.Tensor) else type(before)
        refusal = f"does not take what comes in, of shape {inputs}: "
        before = dry_run(built[-1], built[-1], before, path, origins, refusal)
    given = tuple(before.shape[1:]) if isinstance(before, torch.Tensor) else None
    if given != wanted.outputs:
        raise origins.error(*output_problem(model, given, wanted))
    return nn.Sequential(*built)


def check_given(
    layer: Component, path: str, known: Mapping[str, int], first: bool, origins: Origins
) -> None:
    """Refuse a size that was given and is not what comes in."""
    for name in LAYERS.followed(layer.name):
        given = layer.arguments.get(name)
        if isinstance(given, int) and name in known and given != known[name]:
            before = "the data has" if first else "the layers before give"
            raise origins.error(f"{path}.{name}", f"is {given}, but {before} {known[name]}")
    for name, value in layer.arguments.items():
        if isinstance(value, Component):
            check_given(value, f"{path}.{name}", known, first, origins)


def check_sizes(layer: Component, path: str, known: Mapping[str, int], origins: Origins) -> None:
    """Refuse a layer that would take the machine's memory."""
    arguments = {name: known[name] for name in LAYERS.followed(layer.name) if name in known}
    arguments |= layer.arguments
    sides: list[tuple[int, str]] = []
    factor = 1
    for name, value in arguments.items():
        numbers = whole_numbers(value)
        if name in SIDES:
            sides += [(number, name) for number in numbers]
        elif any(abs(number) > LARGEST_NUMBER for number in numbers):
            raise origins.error(f"{path}.{name}", f"is more than {LARGEST_NUMBER:,}")
        elif name == "num_layers" and any(number > MOST_LAYERS for number in numbers):
            raise origins.error(f"{path}.{name}", f"is more than {MOST_LAYERS:,}")
        elif name in FACTORS:
            dimensions = int(found[1]) if (found := re.search(r"(\d)d$", layer.name)) else 1
            repeated = numbers * dimensions if len(numbers) == 1 else numbers
            factor *= abs(math.prod(repeated))
        if isinstance(value, Component):
            check_sizes(value, f"{path}.{name}", known, origins)
    largest = sorted(sides)[-2:]
    if largest and math.prod(size for size, _ in largest) * max(factor, 1) > LARGEST_LAYER:
        factors = [size for size, _ in largest] + [factor] * (factor > 1)
        shown = " x ".join(map(str, factors))
        message = f"{shown} weights are more than {LARGEST_LAYER:,}"
        raise origins.error(f"{path}.{largest[-1][1]}", message)


def whole_numbers(value: Any) -> list[int]:
    """Return the whole numbers in an argument."""
    given = value if isinstance(value, tuple) else (value,)
    return [n for n in given if isinstance(n, int) and not isinstance(n, bool)]


def check_output(layer: Component, path: str, example: Any, origins: Origins) -> None:
    """Refuse a layer that enlarges its inputs beyond all measure."""
    if not isinstance(example, torch.Tensor):
        return
    places = max(example.dim() - 2, 1)
    for name, value in layer.arguments.items():
        if name not in ("size", "output_size", "scale_factor", "upscale_factor", "padding"):
            continue
        given = value if isinstance(value, tuple) else (value,)
        sizes = [abs(float(n)) for n in given if isinstance(n, int | float)]
        if name == "padding":
            sizes = [2 * size + max(example.shape) for size in sizes]
        sizes = sizes * places if len(sizes) == 1 else sizes
        if math.prod(sizes) * math.prod(example.shape[:2]) > LARGEST_OUTPUT:
            message = f"makes more than {LARGEST_OUTPUT:,} numbers of two samples"
            raise origins.error(f"{path}.{name}", message)


def dry_run(
    module: nn.Module,
    call: Callable[[Any], Any],
    x: Any,
    path: str,
    origins: Origins,
    refusal: str = "",
) -> Any:
    """Return what a call makes of `x`; nothing random is drawn, no statistics change.

    Args:
        module: what is called, or part of it.
        call: the call.
        x: what it is given.
        path: where the configuration has it.
        origins: where the configuration's values were written.
        refusal: what is said before the reason.

    Raises:
        ConfigError: if it is refused.
    """
    module.eval()
    try:
        with torch.no_grad(), np.errstate(all="ignore"):
            return call(x)
    except REFUSALS as error:
        message = refusal + (str(error) or type(error).__name__)
    finally:
        module.train()
    raise origins.error(path, message)


def output_problem(
    model: Model, given: tuple[int, ...] | None, wanted: ModelSpec
) -> tuple[str, str]:
    """Return the path and the message for a model that gives the wrong shape."""
    sized = [i for i, layer in enumerate(model.layers) if "out_features" in layer.arguments]
    if given is None:
        return f"model.layers[{len(model.layers) - 1}]", "gives several things; add {name: Item}"
    flat = len(given) == len(wanted.outputs) == 1
    numbers = str(given[0] if flat else f"numbers of shape {given}")
    numbers = f"{numbers} number{'' if given == (1,) else 's'}" if flat else numbers
    message = f"the model gives {numbers}, but {wanted.reason}"
    if not sized or given[:-1] != wanted.outputs[:-1]:
        return "model.layers", message
    return f"model.layers[{sized[-1]}].out_features", message


def freeze(model: nn.Module, patterns: Sequence[str], origins: Origins) -> None:
    """Let the parameters whose names match stay as they are.

    Raises:
        ConfigError: if a pattern matches nothing, or nothing is left to learn.
    """
    matched = matches(model, patterns, "model.freeze[{}]", origins)
    frozen = {name for names in matched.values() for name in names}
    for name, parameter in model.named_parameters():
        if name in frozen:
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        path = "model.freeze" if patterns else "model.layers"
        message = "leaves no parameters to learn" if patterns else "the model has no parameters"
        raise origins.error(path, message)


def matches(
    model: nn.Module, patterns: Sequence[str], path: str, origins: Origins
) -> dict[str, list[str]]:
    """Return the path of each pattern, with the names of the parameters that it matches."""
    names = [name for name, _ in model.named_parameters()]
    found, problems = {}, []
    for index, pattern in enumerate(patterns):
        where = path.format(index)
        found[where] = [name for name in names if fnmatchcase(name, pattern)]
        if not found[where]:
            message = f"{quoted(pattern)} matches no parameter{did_you_mean(pattern, names)}"
            problems.append(origins.problem(where, message))
    raise_all(problems)
    return found


def build_optimizer(component: Component, model: nn.Module, origins: Origins) -> optim.Optimizer:
    """Return an optimizer of what is to be learned, in groups where the configuration has some.

    A parameter belongs to the first group whose pattern matches its name, else to the rest.

    Raises:
        ConfigError: if it refuses its arguments, or a pattern matches nothing.
    """
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    arguments = dict(component.arguments)
    groups: Sequence[Mapping[str, Any]] = arguments.pop("groups", ())
    plain = Component(component.name, arguments)
    patterns = [str(group["parameters"]) for group in groups]
    noted = Noted()
    with noted:
        matched = matches(model, patterns, "optimizer.groups[{}].parameters", origins)
    raise_all([*noted.problems, *group_problems(plain, groups, origins)])
    parts: list[dict[str, Any]] = []
    for group, (where, names) in zip(groups, matched.items(), strict=True):
        chosen = [named.pop(name) for name in names if name in named]
        if not chosen:
            message = "matches only parameters that are frozen, or in a group before"
            raise origins.error(where, message)
        options = {key: value for key, value in group.items() if key != "parameters"}
        parts.append({**options, "params": chosen})
    rest = [*named.values()]
    given = [*parts, {"params": rest}] if parts and rest else parts or rest
    return OPTIMIZERS.build(plain, "optimizer", origins, given)


def group_problems(
    component: Component, groups: Sequence[Mapping[str, Any]], origins: Origins
) -> list[Problem]:
    """Return what the optimizer's own checks refuse of the values of groups.

    What they say of a group for the arguments of all groups is told once.
    """
    problems: dict[str, Problem] = {}
    for index, group in enumerate(groups):
        path = f"optimizer.groups[{index}]"
        options = {key: value for key, value in group.items() if key != "parameters"}
        trial = Component(component.name, {**component.arguments, **options})
        try:
            OPTIMIZERS.build(trial, path, origins, [nn.Parameter(torch.zeros(1, 1))])
        except ConfigError as error:
            for problem in error.problems:
                own = problem.path.removeprefix(f"{path}.") in {*options, path}
                where = problem.path if own else problem.path.replace(path, "optimizer", 1)
                problems.setdefault(where, origins.problem(where, problem.message))
    return [*problems.values()]


def build_callbacks(components: Sequence[Component], origins: Origins) -> list[Callback]:
    """Return what listens to the training besides the trainer's own.

    Raises:
        ConfigError: if one refuses its arguments.
    """
    return [
        CALLBACKS.build(component, f"callbacks[{index}]", origins)
        for index, component in enumerate(components)
    ]


# A schedule of the learning rate, tried over the whole training before it begins.


class Schedule(Callback):
    """Changes an optimizer's learning rate as the training goes on.

    Args:
        component: the scheduler that the configuration names.
        optimizer: whose rate to change.
        epochs, steps: how many the training has.
        monitor: the measured value that a plateau is one of.
        origins: where the configuration's values were written.

    Raises:
        ConfigError: if the scheduler refuses its arguments.
    """

    def __init__(
        self,
        component: Component,
        optimizer: optim.Optimizer,
        epochs: int,
        steps: int,
        monitor: str,
        origins: Origins,
    ) -> None:
        self._monitor = monitor
        arguments = dict(component.arguments)
        self._interval, warmup = arguments.pop("interval"), arguments.pop("warmup")
        self._name = component.name + (" after warm-up" if warmup else "")
        length = steps if self._interval == STEP else epochs
        if name := LENGTHS.get(component.name):
            arguments.setdefault(name, max(length - warmup, 1))
        if component.name == PLATEAU and warmup:
            raise origins.error("scheduler.warmup", f"cannot go before {PLATEAU}")
        fixed = component.arguments.items()
        self._arguments = {k: v for k, v in fixed if k not in LENGTHS.values()}
        bare = Component(component.name, arguments)
        trial = build_scheduler(bare, warmup, like(optimizer), origins)
        if problem := trial_problem(trial, length, self._interval):
            raise origins.error("scheduler", problem)
        self._scheduler = build_scheduler(bare, warmup, optimizer, origins)

    def on_step(self, loop: Loop) -> None:
        if self._interval == STEP:
            self._advance(loop.loss)

    def on_epoch(self, loop: Loop) -> None:
        if self._interval == EPOCH:
            self._advance(loop.measured.get(self._monitor))

    def state(self) -> Any:
        return {
            "name": self._name,
            "arguments": self._arguments,
            "state": self._scheduler.state_dict(),
        }

    def load_state(self, state: Any) -> None:
        if state["name"] != self._name:
            raise ValueError(f"the scheduler is {self._name}, but was {state['name']}")
        for name, value in self._arguments.items():
            if state["arguments"][name] != value:
                before = state["arguments"][name]
                raise ValueError(f"the scheduler's {name} is {value}, but was {before}")
        configured = {*LENGTHS.values(), *self._arguments}
        kept = without(configured, state["state"])
        if not alike(kept, without(configured, self._scheduler.state_dict())):
            raise ValueError("the scheduler's state is not its own")
        self._scheduler.load_state_dict(kept)
        for scheduler in (self._scheduler, *getattr(self._scheduler, "_schedulers", ())):
            if hasattr(scheduler, "base_lrs"):  # which may have been changed
                groups = scheduler.optimizer.param_groups
                scheduler.base_lrs = [group["initial_lr"] for group in groups]

    def _advance(self, value: float | None) -> None:
        if isinstance(self._scheduler, lr_scheduler.ReduceLROnPlateau):
            if value is not None:
                self._scheduler.step(value)
        else:
            self._scheduler.step()


def build_scheduler(
    component: Component, warmup: int, optimizer: optim.Optimizer, origins: Origins
) -> lr_scheduler.LRScheduler:
    """Return a scheduler, after a rise over `warmup` changes."""
    main: lr_scheduler.LRScheduler = SCHEDULES.build(component, "scheduler", origins, optimizer)
    if not warmup:
        return main
    rise = lr_scheduler.LinearLR(optimizer, 1 / (warmup + 1), total_iters=warmup)
    return lr_scheduler.SequentialLR(optimizer, [rise, main], [warmup])


def like(optimizer: optim.Optimizer) -> optim.Optimizer:
    """Return an optimizer with the same options, of nothing that matters."""
    groups = [
        {**group, "params": [torch.zeros(1, 1, requires_grad=True)]}
        for group in optimizer.param_groups
    ]
    made: Callable[..., optim.Optimizer] = type(optimizer)
    return made(groups)


@np.errstate(all="ignore")
def trial_problem(scheduler: lr_scheduler.LRScheduler, length: int, interval: str) -> str:
    """Return what becomes wrong with the rates over a training; nothing if they are right.

    Args:
        scheduler: of an optimizer that is not needed.
        length: how often the training changes the rate.
        interval: after what it does so.
    """
    groups = scheduler.optimizer.param_groups
    measured = (0.0,) if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau) else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing has been optimized, as PyTorch points out
        for change in range(min(length, MOST_TRIED) + 1):
            rates = [group["lr"] for group in groups]
            for rate in rates:
                if isinstance(rate, complex) or not 0 <= rate < math.inf:
                    when = f"after {interval} {change}" if change else "from the start"
                    return f"makes the learning rate {rate} {when}"
            if change == length:
                break
            try:
                scheduler.step(*measured)
            except REFUSALS as error:
                return f"fails after {interval} {change + 1}: {error}"
    return ""


def without(configured: Container[str], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a scheduler's own steps change; a resumed run may be a longer one."""
    kept = {key: value for key, value in state.items() if key not in configured}
    if "_schedulers" in kept:
        rise, main = kept["_schedulers"]
        kept["_schedulers"] = [rise, without(configured, main)]
    return kept
