"""Builds the model, optimizer and schedule of a checked configuration; kinds of prediction."""

import math
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch._core.call_site import COMMANDS, WHERE, ours, relative_path
from nanotorch.optim import lr_scheduler
from nanotorch.train.config.components import (
    BY_STEPS,
    INFERRED,
    LAYERS,
    LENGTHS,
    LOSS_FACTS,
    MOST_TRIED,
    PLATEAU,
    REFUSALS,
    SIDES,
    LossFacts,
    as_they_are,
    build_errors,
)
from nanotorch.train.config.schema import Model
from nanotorch.train.config.sections import (
    Component,
    ConfigError,
    Noted,
    Problem,
    Section,
    did_you_mean,
    quoted,
    raise_all,
    refusal,
)
from nanotorch.train.data.dataset import Dataset, Targets
from nanotorch.train.training.loop import Callback, Loop
from nanotorch.train.training.metrics import (
    class_metrics,
    classification_metrics,
    matrix_text,
    regression_metrics,
)

LARGEST_LAYER = 50_000_000
"""The most weights in one layer; more is a typing error, and would fill the machine's memory."""
LARGEST_NUMBER = 1_000_000
"""The greatest value of any other whole number of a layer."""
NUMPY = np.__path__[0]
SEVERAL = "returns several values; add {name: Item} after it to take the first"
MOST_LAYERS = 1000
"""The greatest `num_layers` of a layer."""
LARGEST_OUTPUT = 200_000_000
"""The most numbers in a layer's output for two samples."""

# The two greatest `SIDES` are the sides of the largest matrix of weights; `FACTORS` multiply it.
FACTORS = {"kernel_size", "num_layers"}
ENLARGING = ("size", "output_size", "scale_factor", "upscale_factor", "padding")


def merge_errors(error: ConfigError, config: Section) -> ConfigError:
    """Add to an error the problems that other parts of the configuration have by themselves.

    A training is built in order: data, model, optimizer. A mistake ends the build, so this tries
    the later parts alone.
    """
    told = {problem.path for problem in error.problems}
    others = (problem for problem in build_errors(parts(config)) if problem.path not in told)
    return ConfigError([*error.problems, *others])


def parts(value: Any) -> Iterator[Component]:
    """Yield the components of a section, but not those nested in them."""
    if isinstance(value, Component):
        yield value
    elif isinstance(value, Section | tuple):
        for inner in vars(value).values() if isinstance(value, Section) else value:
            yield from parts(inner)


def build_model(
    model: Model,
    example: torch.Tensor,
    outputs: tuple[int, ...],
    reason: str,
    rival: str = "",
    vocabulary: int | None = None,
) -> nn.Sequential:
    """Return the layers, each built for the output shape of the one before it.

    Args:
        model: the section `model` of the configuration.
        example: two samples in the form that the model needs.
        outputs: the required shape of the output for one sample.
        reason: the reason for this shape, such as `there is 1 to predict`.
        rival: the loss for which one more number, or one less, is right.
        vocabulary: the number of different symbols, if the inputs are indices of symbols.
    """
    before: Any = example
    built: list[nn.Module] = []
    for layer in model.layers:
        shape = tuple(before.shape[1:]) if isinstance(before, torch.Tensor) else ()
        if not shape and LAYERS.followed(layer.name) - {*layer.arguments}:
            raise refusal(model.layers[len(built) - 1].path, SEVERAL)
        places = re.fullmatch(r"Conv\w*([123])d", layer.name)
        if places and len(shape) != int(places[1]) + 1:
            wants = f"takes samples of {int(places[1]) + 1} dimensions, channels first"
            gets = "" if built else "; data.shape changes it"
            raise refusal(layer.path, f"{wants}, but they have shape {shape}{gets}")
        known = {name: shape[dim] for name, dim in INFERRED.items()} if shape else {}
        if vocabulary is not None:
            known["num_embeddings"] = vocabulary
        check_sizes(layer, known, "the layers before it give" if built else "the data has")
        if isinstance(before, torch.Tensor):
            check_output(layer, before)
        built.append(layer.build(**known))
        message = f"does not accept samples{f' of shape {shape}' if shape else ''}: "
        before = dry_run(built[-1], built[-1], before, layer.path, message)
    if not isinstance(before, torch.Tensor):
        raise refusal(model.layers[-1].path, SEVERAL)
    given = tuple(before.shape[1:])
    if given != outputs:
        numbers = f"numbers of shape {given}"
        if len(given) == len(outputs) == 1:
            numbers = f"{given[0]} number{'' if given == (1,) else 's'}"
        sized = [layer.path for layer in model.layers if "out_features" in layer.arguments]
        blamed = sized and given[:-1] == outputs[:-1]
        path = f"{sized[-1]}.out_features" if blamed else "model.layers"
        way = "; add Flatten before the last layers" if len(given) > len(outputs) else ""
        way = f"; change {path} to {outputs[-1]}" if blamed else way
        rivals: tuple[str, ...] = ()
        if blamed and rival and {given, outputs} == {(1,), (2,)}:
            rivals, way = ("loss.name",), f"{way}, or the loss to {rival}"
        message = f"the model outputs {numbers}, but {reason}{way}"
        raise ConfigError([Problem(path, message, rivals=rivals)])
    return nn.Sequential(*built)


def check_sizes(layer: Component, known: Mapping[str, int], source: str) -> None:
    """Refuse sizes that differ from those of the input, or that exceed the memory.

    Args:
        layer: the layer to check.
        known: the sizes that follow from the input.
        source: their origin for messages, such as `the data has`.
    """
    followed = {name: known[name] for name in LAYERS.followed(layer.name) if name in known}
    sides: list[tuple[int, str]] = []
    factor = 1
    for name, value in {**followed, **layer.arguments}.items():
        path = f"{layer.path}.{name}"
        if isinstance(value, Component):
            check_sizes(value, known, source)
        if isinstance(value, int) and value != followed.get(name, value):
            raise refusal(path, f"is {value}, but {source} {followed[name]}")
        numbers = [n for n in as_items(value) if isinstance(n, int) and not isinstance(n, bool)]
        most = MOST_LAYERS if name == "num_layers" else LARGEST_NUMBER
        if name in SIDES:
            sides += [(number, name) for number in numbers]
        elif any(abs(number) > most for number in numbers):
            raise refusal(path, f"is more than {most:,}")
        elif name in FACTORS:
            dimensions = int(found[1]) if (found := re.search(r"(\d)d$", layer.name)) else 1
            factor *= abs(math.prod(numbers * dimensions if len(numbers) == 1 else numbers))
    largest = sorted(sides)[-2:]
    factors = [size for size, _ in largest] + [factor] * (factor > 1)
    if largest and math.prod(factors) > LARGEST_LAYER:
        message = f"{' x '.join(map(str, factors))} weights are more than {LARGEST_LAYER:,}"
        raise refusal(f"{layer.path}.{largest[-1][1]}", message)


def as_items(value: Any) -> Sequence[Any]:
    """Return one or several values as a sequence."""
    return value if isinstance(value, tuple) else (value,)


def check_output(layer: Component, example: torch.Tensor) -> None:
    """Refuse a layer that makes more than `LARGEST_OUTPUT` numbers of two samples."""
    for name in [name for name in ENLARGING if name in layer.arguments]:
        given = as_items(layer.arguments[name])
        sizes = [abs(float(n)) for n in given if isinstance(n, int | float)]
        if name == "padding":
            sizes = [2 * size + max(example.shape) for size in sizes]
        if len(sizes) == 1:
            sizes *= max(example.dim() - 2, 1)
        if math.prod(sizes) * math.prod(example.shape[:2]) > LARGEST_OUTPUT:
            message = f"makes more than {LARGEST_OUTPUT:,} numbers of two samples"
            raise refusal(f"{layer.path}.{name}", message)


def dry_run(
    module: nn.Module, call: Callable[..., Any], x: Any, path: str, message: str = ""
) -> Any:
    """Return the result of a call on `x`, without drawing random numbers or changing statistics.

    Args:
        module: the module that runs.
        call: the function to call.
        x: its argument.
        path: its place in the configuration.
        message: the text before the reason of a failure, unless the user's own code raised it.
    """
    module.eval()
    cause = None
    try:
        with torch.no_grad(), np.errstate(all="ignore"):
            return call(x)
    except REFUSALS as error:
        text, _, where = str(error).partition(WHERE)
        users = where and relative_path(COMMANDS) not in where  # the error names their line
        message += (str(error) if users else text) or type(error).__name__
        trace = traceback.extract_tb(error.__traceback__)
        calls = [call for call in trace if not call.filename.startswith(NUMPY)]
        if isinstance(error, AttributeError | KeyError):  # as of a module without this layer
            calls = [call for call in calls if not ours[call.filename]] or calls
        if not ours[calls[-1].filename]:
            at = f"{relative_path(calls[-1].filename)}:{calls[-1].lineno}"
            message, cause = f"{type(error).__name__}: {error} at {at}", error
    finally:
        module.train()
    raise refusal(path, message) from cause


def try_loss(loss: nn.Module, outputs: Any, targets: torch.Tensor, message: str = "") -> Any:
    """Return the loss of some outputs; refuse a loss that no gradient comes back from."""

    def call(y: torch.Tensor) -> Any:
        with torch.enable_grad():
            return loss(outputs.detach().requires_grad_(outputs.is_floating_point()), y)

    found = dry_run(loss, call, targets, "loss", message)
    if isinstance(found, torch.Tensor) and not found.requires_grad:
        cut = "detach(), no_grad(), argmax or a comparison in it cuts off the gradient"
        raise refusal("loss", f"its result does not depend on the outputs for autograd: {cut}")
    return found


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Freeze the parameters whose names match one of the patterns."""
    named = dict(model.named_parameters())
    for names in matched_names(model, patterns, "model.freeze[{}]").values():
        for name in names:
            named[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in named.values()):
        path = "model.freeze" if patterns else "model.layers"
        message = "leaves no parameters to learn" if patterns else "the model has no parameters"
        raise refusal(path, message)


def matched_names(model: nn.Module, patterns: Sequence[str], path: str) -> dict[str, list[str]]:
    """Return path of each pattern -> the names of the parameters that it matches."""
    names = [name for name, _ in model.named_parameters()]
    found, problems = dict[str, list[str]](), []
    for index, pattern in enumerate(patterns):
        where = path.format(index)
        found[where] = [name for name in names if fnmatchcase(name, pattern)]
        if not found[where]:
            message = f"{quoted(pattern)} matches no parameter{did_you_mean(pattern, names)}"
            problems.append(Problem(where, message))
    raise_all(problems)
    return found


def build_optimizer(component: Component, model: nn.Module) -> optim.Optimizer:
    """Return an optimizer of the parameters that are not frozen, in the configuration's groups.

    A parameter belongs to the first group whose pattern matches its name, else to the rest.
    """
    groups: Sequence[Mapping[str, Any]] = component.arguments.get("groups", ())
    plain = component.changed(without=["groups"])
    patterns = [str(group["parameters"]) for group in groups]
    noted, told = Noted(), dict[str, Problem]()
    with noted:
        matched = matched_names(model, patterns, "optimizer.groups[{}].parameters")
    for index, group in enumerate(groups):
        options = {key: value for key, value in group.items() if key != "parameters"}
        for problem in build_errors([plain.changed(options)]):
            key = problem.path.removeprefix("optimizer").lstrip(".")
            own = not key or key in options
            where = f"optimizer.groups[{index}]{key and f'.{key}'}" if own else problem.path
            # A problem of arguments that all groups share is reported once.
            told.setdefault(where, Problem(where, problem.message))
    raise_all([*noted, *told.values()])
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    made: list[dict[str, Any]] = []
    for group, (where, names) in zip(groups, matched.items(), strict=True):
        chosen = [named.pop(name) for name in names if name in named]
        if not chosen:
            raise refusal(where, "matches only parameters that are frozen or in an earlier group")
        made.append({**group, "params": chosen})
        del made[-1]["parameters"]
    rest = [*named.values()]
    return plain.build([*made, {"params": rest}] if made and rest else made or rest)


class Schedule(Callback):
    """Changes an optimizer's learning rate. Before the training, a trial runs the whole schedule.

    Args:
        component: the scheduler that the configuration names.
        optimizer: the optimizer whose rate changes.
        epochs, steps: the length of the training.
        monitor: the measured value that `ReduceLROnPlateau` watches.
    """

    def __init__(
        self,
        component: Component,
        optimizer: optim.Optimizer,
        epochs: int,
        steps: int,
        monitor: str,
    ) -> None:
        self._monitor = monitor
        self._interval, warmup = (component.arguments[name] for name in ("interval", "warmup"))
        self._name = component.name + (" after warm-up" if warmup else "")
        if component.name == PLATEAU and warmup:
            raise refusal("scheduler.warmup", f"cannot be combined with {PLATEAU}")
        self._arguments = component.changed(without=LENGTHS.values()).arguments
        length = steps if self._interval == "step" else epochs
        # A throw-away optimizer with the same options.
        groups = [
            {**g, "params": [nn.Parameter(torch.zeros(1, 1))]} for g in optimizer.param_groups
        ]
        made: Callable[..., optim.Optimizer] = type(optimizer)
        trial = build_scheduler(component, length, made(groups))
        if problem := trial_problem(trial, length, self._interval):
            raise refusal("scheduler", problem)
        self._scheduler = build_scheduler(component, length, optimizer)

    def on_step(self, loop: Loop) -> None:
        if self._interval == "step":
            self._advance(loop.loss)

    def on_epoch(self, loop: Loop) -> None:
        if self._interval == "epoch":
            self._advance(loop.measured.get(self._monitor))

    def state(self) -> Any:
        state = self._scheduler.state_dict()
        return {"name": self._name, "arguments": self._arguments, "state": state}

    def load_state(self, state: Any) -> None:
        if state["name"] != self._name:
            raise ValueError(f"the scheduler is {self._name}, but was {state['name']}")
        for name, value in self._arguments.items():
            if (before := state["arguments"][name]) != value:
                raise ValueError(f"the scheduler's {name} is {value}, but was {before}")
        self._scheduler.load_state_dict(strip_lengths(state["state"]))
        for scheduler in (self._scheduler, *getattr(self._scheduler, "_schedulers", ())):
            if hasattr(scheduler, "base_lrs"):  # the user may have changed the rates
                groups = scheduler.optimizer.param_groups
                scheduler.base_lrs = [group["initial_lr"] for group in groups]

    def _advance(self, value: float | None) -> None:
        if not isinstance(self._scheduler, lr_scheduler.ReduceLROnPlateau):
            self._scheduler.step()
        elif value is not None:
            self._scheduler.step(value)


class GivenSchedule(Schedule):
    """Changes the learning rate by a program's own scheduler.

    Args:
        scheduler: the scheduler, which steps after each step for a class in `BY_STEPS`, else after
            each epoch.
        monitor: the measured value that `ReduceLROnPlateau` watches.
    """

    def __init__(self, scheduler: lr_scheduler.LRScheduler, monitor: str) -> None:
        self._scheduler, self._monitor = scheduler, monitor
        self._name, self._arguments = type(scheduler).__name__, {}
        self._interval = "step" if self._name in BY_STEPS else "epoch"


def build_scheduler(
    component: Component, length: int, optimizer: optim.Optimizer
) -> lr_scheduler.LRScheduler:
    """Return a scheduler for `length` changes of the rate, the warm-up included."""
    warmup = component.arguments["warmup"]
    main: lr_scheduler.LRScheduler = component.build(optimizer, length=max(length - warmup, 1))
    if not warmup:
        return main
    rise = lr_scheduler.LinearLR(optimizer, 1 / (warmup + 1), total_iters=warmup)
    return lr_scheduler.SequentialLR(optimizer, [rise, main], [warmup])


@np.errstate(all="ignore")
def trial_problem(scheduler: lr_scheduler.LRScheduler, length: int, interval: str) -> str:
    """Return the problem of the rates over a training; "" if there is none.

    Args:
        scheduler: a scheduler of a throw-away optimizer.
        length: the number of changes of the rate.
        interval: "epoch" or "step": when the rate changes.
    """
    groups = scheduler.optimizer.param_groups
    measured = (0.0,) if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau) else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's warning that no optimizer step came before
        for change in range(min(length, MOST_TRIED) + 1):
            for rate in [group["lr"] for group in groups]:
                if isinstance(rate, complex) or not 0 <= rate < math.inf:
                    when = f"after {interval} {change}" if change else "from the start"
                    return f"sets the learning rate to {rate} {when}"
            if change == length:
                break
            try:
                scheduler.step(*measured)
            except REFUSALS as error:
                return f"fails after {interval} {change + 1}: {error}"
    return ""


def strip_lengths(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scheduler's state without the schedule's length, which a longer run changes."""
    kept = {key: value for key, value in state.items() if key not in LENGTHS.values()}
    if "_schedulers" in kept:
        rise, main = kept["_schedulers"]
        kept["_schedulers"] = [rise, strip_lengths(main)]
    return kept


# The kinds of prediction: numbers, one of two classes, one of many, and characters.

Array = NDArray[np.float64]
Outputs = NDArray[Any]
"""A model's outputs; numbers are in the target's own units."""

MOST_SHOWN = 20
"""The most classes of which a confusion matrix is shown."""


class Kind:
    """Base of the kinds of prediction.

    Args:
        facts: the facts of the loss.
        loss: the loss.
    """

    targets: Targets = "regression"
    """The kind of the targets."""
    rival = ""
    """The other loss that is possible for two classes."""

    def __init__(self, facts: LossFacts, loss: nn.Module) -> None:
        self.facts = facts
        stated = facts.prediction if getattr(loss, facts.option, True) else None
        self.prediction = stated or as_they_are

    @property
    def converts(self) -> bool:
        """Whether predictions are other numbers than outputs."""
        return self.prediction is not as_they_are

    def predicted(self, outputs: Outputs) -> Outputs:
        """Return the predictions for outputs: numbers, or probabilities of classes."""
        return np.asarray(self.prediction(torch.from_numpy(outputs)))

    def reported(self, outputs: Outputs) -> Outputs:
        """Return outputs in the form of metrics and users: for classes, the scores."""
        return outputs

    def check_prediction(self, outputs: torch.Tensor) -> None:
        """Refuse a loss whose function from outputs to predictions fails."""
        call = lambda x: self.predicted(x.numpy()).shape  # noqa: E731
        shape = dry_run(nn.Module(), call, outputs, "loss", "its `prediction` fails: ")
        if shape != outputs.shape:
            message = (
                f"its `prediction` returns shape {shape} for outputs of {tuple(outputs.shape)}"
            )
            raise refusal("loss", message)

    def outputs(self, dataset: Dataset) -> tuple[tuple[int, ...], str]:
        """Return the shape of the model's output for a sample, and the reason for it."""
        return (1,), "there is 1 to predict"

    def build_model(self, model: Model, dataset: Dataset) -> nn.Sequential:
        """Return a model for the samples."""
        example = torch.from_numpy(np.concatenate([dataset.parts["train"].x[:1]] * 2))
        symbols = len(dataset.classes or ()) if isinstance(self, Characters) else None
        return build_model(model, example, *self.outputs(dataset), self.rival, symbols)

    def criterion(self, loss: nn.Module) -> nn.Module:
        """Return the loss module in a form that accepts a batch's outputs and targets."""
        return loss

    def fits(self, outputs: Outputs, targets: NDArray[Any]) -> bool:
        """Return whether the metrics are those of these targets: each is one of the classes."""
        return True

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        """Return the metrics by name."""
        raise NotImplementedError

    def shortfall(self, results: Mapping[str, float], part: str, targets: NDArray[Any]) -> str:
        """Return how a part's metrics are worse than those of a constant prediction, else ""."""
        classes, counts = np.unique(targets, return_counts=True)
        accuracy, share = results[f"{part}/accuracy"], counts.max() / counts.sum()
        if not accuracy < share:
            return ""
        constant = f"always predicting the most common of {len(classes)} classes"
        return f"accuracy {accuracy:.3f} is less than the {share:.3f} of {constant}"

    def chosen(self, outputs: Outputs) -> NDArray[Any]:
        """Return the predicted class of each sample."""
        return np.zeros(0)

    def predictions(self, outputs: Outputs, dataset: Dataset) -> Mapping[str, NDArray[Any]]:
        """Return the predictions as columns of a table."""
        raise NotImplementedError

    def details(self, outputs: Outputs, targets: NDArray[Any], names: Sequence[str]) -> str:
        """Return the confusion matrix as text; "" if there are too many classes.

        Args:
            outputs, targets: the outputs and targets of some samples.
            names: the names of the classes, if they have any.
        """
        chosen = self.chosen(outputs)
        names = names or [str(k) for k in range(max(outputs[0].size, 2))]
        few = len(chosen) and len(names) <= MOST_SHOWN
        return matrix_text(chosen, targets, names) if few else ""


class Numbers(Kind):
    """The prediction of a number for each sample."""

    def reported(self, outputs: Outputs) -> Outputs:
        return self.predicted(outputs)

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        return regression_metrics(outputs, targets)

    def shortfall(self, results: Mapping[str, float], part: str, targets: NDArray[Any]) -> str:
        if not results[f"{part}/r2"] < 0:
            return ""
        r2 = f"R2 {results[f'{part}/r2']:.3f}"
        return f"{r2} is worse than always predicting the mean target"

    def predictions(self, outputs: Outputs, dataset: Dataset) -> Mapping[str, NDArray[Any]]:
        return {dataset.preprocessing.target: outputs.reshape(-1)}


class TwoClasses(Kind):
    """The prediction of one of two classes: class 1 from a probability of 0.5 on."""

    targets, rival = "binary", "CrossEntropyLoss"

    def probability(self, outputs: Outputs) -> Array:
        """Return the probability of class 1."""
        return self.predicted(outputs.astype(np.float64))  # fewer round to equal ones

    def fits(self, outputs: Outputs, targets: NDArray[Any]) -> bool:
        return bool(np.isin(targets, (0, 1)).all())

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        return classification_metrics(self.probability(outputs), targets)

    def chosen(self, outputs: Outputs) -> NDArray[Any]:
        return (self.probability(outputs).reshape(-1) >= 0.5).astype(int)

    def predictions(self, outputs: Outputs, dataset: Dataset) -> Mapping[str, NDArray[Any]]:
        names, score = np.array(dataset.classes or ()), self.probability(outputs).reshape(-1)
        return {dataset.preprocessing.target: names[self.chosen(outputs)], f"p({names[1]})": score}


class ManyClasses(Kind):
    """The prediction of one of several classes, with a score for each."""

    targets, rival = "classes", "BCEWithLogitsLoss"

    def outputs(self, dataset: Dataset) -> tuple[tuple[int, ...], str]:
        count = len(dataset.classes or ())
        return (count,), f"there are {count} classes"

    def probability(self, outputs: Outputs) -> Array:
        """Return the probability of each class."""
        return self.predicted(outputs.astype(np.float64))  # fewer round to equal ones

    def chosen(self, outputs: Outputs) -> NDArray[Any]:
        return outputs.argmax(axis=1)

    def fits(self, outputs: Outputs, targets: NDArray[Any]) -> bool:
        return bool(((targets >= 0) & (targets < outputs.shape[-1])).all())

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        return class_metrics(self.probability(outputs), targets)

    def predictions(self, outputs: Outputs, dataset: Dataset) -> Mapping[str, NDArray[Any]]:
        names, probability = list(dataset.classes or ()), self.probability(outputs)
        found = {dataset.preprocessing.target: np.array(names)[self.chosen(probability)]}
        return found | {f"p({name})": probability[:, k] for k, name in enumerate(names)}


class Characters(ManyClasses):
    """The prediction of the next character at each place of a text, with a score for each."""

    def outputs(self, dataset: Dataset) -> tuple[tuple[int, ...], str]:
        count, places = len(dataset.classes or ()), dataset.parts["train"].x.shape[1]
        return (places, count), f"at each of {places} places there are {count} characters"

    def criterion(self, loss: nn.Module) -> nn.Module:
        # For outputs (N, T, classes) and targets (N, T), every place counts as a sample.
        loss.register_forward_pre_hook(lambda _, args: (args[0].flatten(0, 1), args[1].flatten()))
        return loss

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        return {"accuracy": float(np.mean(outputs.argmax(axis=2) == targets))}

    def continued(
        self, predict: Callable[[NDArray[Any]], NDArray[Any]], dataset: Dataset, prompt: str,
        length: int, temperature: float = 0.8, seed: int = 0,
    ) -> str:  # fmt: skip
        """Return `prompt` with `length` more characters, drawn with the model's probabilities.

        The temperature divides the scores before they become probabilities: lower ones prefer
        likely characters, and 0 always chooses the likeliest.

        Raises:
            ValueError: if the prompt is empty, or has a character that training has not seen.
        """
        generator = torch.Generator().manual_seed(seed)
        characters = list(dataset.classes or ())
        codes_of = {character: index for index, character in enumerate(characters)}
        unknown = [character for character in prompt if character not in codes_of]
        if unknown:
            raise ValueError(f"the training text has no {unknown[0]!r}")
        if not prompt:
            raise ValueError("must not be empty")
        places = dataset.parts["train"].x.shape[1]
        codes = [codes_of[character] for character in prompt]
        for _ in range(length):
            scores = predict(np.array([codes[-places:]], dtype=np.int64))[0, -1].astype(np.float64)
            if not temperature:
                codes.append(int(scores.argmax()))
                continue
            powers = np.exp((scores - scores.max()) / temperature)
            draw = torch.rand(1, generator=generator, dtype=torch.float64).item()
            code = np.searchsorted(np.cumsum(powers / powers.sum()), draw)
            codes.append(min(int(code), len(scores) - 1))
        return "".join(characters[code] for code in codes)

    def details(self, outputs: Outputs, targets: NDArray[Any], names: Sequence[str]) -> str:
        return ""


def class_weights(
    given: str | tuple[float, ...] | None, dataset: Dataset, loss: str
) -> dict[str, float | tuple[float, ...]]:
    """Return the argument of a loss for class weights; {} if `given` is None.

    `balanced` gives all classes the same total weight: n / (K·nₖ) for K classes with nₖ of the n
    samples of the training part; for a loss of two classes, n₀ / n₁ for class 1.
    """
    if given is None:
        return {}
    count = len(dataset.classes or ())
    if isinstance(given, tuple):
        weights = np.array(given)
        if len(given) != count:
            message = f"has {len(given)} weights, but there are {count} classes"
            raise refusal("data.class_weights", message)
    else:
        labels = dataset.parts["train"].y.reshape(-1).astype(np.int64)
        counts = np.bincount(labels, minlength=count)
        weights = counts.sum() / (count * np.maximum(counts, 1))
    if LOSS_FACTS[loss].kind != "binary":
        return {"weight": tuple(float(weight) for weight in weights)}
    if not weights[0]:
        raise refusal("data.class_weights", "the weight of class 0 must not be 0")
    return {"pos_weight": float(weights[1] / weights[0])}
