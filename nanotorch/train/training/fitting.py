"""`fit`: trains a program's own model on its own samples with the trainer's loop."""

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import ArrayLike, NDArray

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.optim.lr_scheduler import LRScheduler
from nanotorch.train.config.build import Kind, build_optimizer, dry_run, try_loss
from nanotorch.train.config.components import (
    LOSS_FACTS,
    OPTIMIZERS,
    build_errors,
    facts_of,
    members_of,
)
from nanotorch.train.config.load import (
    LoadedConfig,
    all_homes,
    dump_config,
    flow,
    homes,
    parse_yaml,
    settings_in,
    settings_of,
)
from nanotorch.train.config.schema import FIT, FitConfig, Log, Train
from nanotorch.train.config.sections import (
    REQUIRED,
    Component,
    ConfigError,
    Origins,
    Place,
    Problem,
    Reader,
    closest,
    did_you_mean,
    hint_form,
    raise_all,
    refusal,
    section_keys,
)
from nanotorch.train.data.frames import PREDICT, Name, array_of, errors_of_predict, frame_of
from nanotorch.train.runs.run import (
    LENGTHS,
    NEWEST,
    Record,
    Run,
    RunResult,
    continue_run,
    find_run,
    finished_result,
    is_complete,
    join_ranks,
    read_record,
    start_run,
)
from nanotorch.train.runs.run_directory import LATEST, CheckpointError
from nanotorch.train.training.experiment import Graph
from nanotorch.train.training.loop import Callback
from nanotorch.train.training.minimization import FunctionModule
from nanotorch.train.training.supervised import (
    KINDS,
    Found,
    Training,
    batch_of,
    check_count,
    evaluation_mode,
    streams,
)
from nanotorch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

if TYPE_CHECKING:
    from .settings import Settings

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Metric = Callable[[torch.Tensor, torch.Tensor], torch.Tensor | float]
Names = Sequence[Sequence[Name] | None]
Samples = Sequence[ArrayLike | torch.Tensor] | Dataset[Any] | DataLoader[Any]


def fit(
    model: nn.Module,
    data: Samples,
    *,
    loss: str | Mapping[str, object] | Loss | None = None,
    optimizer: str | Mapping[str, object] | optim.Optimizer | None = None,
    epochs: int | None = None,
    validation: Samples | float | None = None,
    test: Samples | None = None,
    scheduler: str | Mapping[str, object] | LRScheduler | None = None,
    metrics: Mapping[str, Metric] | None = None,
    callbacks: Sequence[Callback] = (),
    directory: str | Path | None = None,
    resume: bool | str | Path = False,
    seed: int = 0,
    verbose: bool = True,
    **settings: "Unpack[Settings]",
) -> RunResult:
    """Train a model on samples, both made by the program, with all features of the trainer.

        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        run = fit(
            model, (x, y), validation=0.2, loss=nn.MSELoss(),
            optimizer=torch.optim.Adam(model.parameters(), lr=1e-2), epochs=20,
        )
        print(run.history)
        run.predict(x_new)

    With `directory`, each run gets a subdirectory there with its metrics, TensorBoard events,
    plots, checkpoints and weights; the same call with `resume=True` continues the newest run there
    to the same weights, bit by bit. Ctrl-C ends the training after the current step.

    Args:
        model: the module. It is trained in place, and in evaluation mode afterwards.
        data: the samples to train on: a tuple `(x, y)` of arrays or tensors, samples first; a
            dataset; or a `DataLoader` of batches `(x, y)`. A model with several inputs needs
            `(x1, x2, y)`. Floating-point NumPy arrays get PyTorch's default precision. Nothing is
            standardized: the model learns the numbers as they are. Data frames of the other parts,
            and of later predictions, need the columns of these, in any order.
        loss: from outputs and targets to a tensor of one number, the mean over samples: a module,
            a function, or the value of `loss` in a configuration, such as `"MSELoss"`.
        optimizer: an optimizer of the model's parameters, or the value in a configuration, such as
            `{"name": "Adam", "lr": 1e-2}`.
        epochs: the number of passes over the data; or give `steps`.
        validation: the samples that are measured after each epoch, in a form of `data`; or the
            fraction of `data` to keep for this.
        test: the samples that are measured at the end.
        scheduler: a scheduler of the optimizer's learning rate, which steps after each epoch,
            `OneCycleLR` and `CyclicLR` after each step; or the value in a configuration, such as
            `{"name": "StepLR", "step_size": 100, "interval": "step"}`.
        metrics: functions from outputs and targets to one number, by name. The metrics of a loss,
            such as the accuracy for `CrossEntropyLoss`, are always measured.
        callbacks: additional callbacks.
        directory: the directory in which the run gets its own; None keeps no files.
        resume: whether to continue the newest run in `directory`, if there is one (True or
            `"latest"`); or the run to continue: its directory or one of its checkpoints.
        seed: determines the order of samples and the part kept for validation. Other random
            numbers are those of `torch.manual_seed`.
        verbose: whether to print the progress and the results.
        settings: keys of a configuration's section `train`, such as `batch_size=64` or
            `clip_norm=1.0`; and its sections `early_stopping`, `averaging`, `checkpoint` and `log`,
            such as `early_stopping={"patience": 5}`. `nanotorch train --list` describes them.

    Raises:
        ConfigError: before anything is written; names every mistake.
        CheckpointError: if the run to resume is another one, or damaged.
    """
    with name_arguments_in_errors():
        check("directory", directory, str | os.PathLike | None, "a path or None")
        check("resume", resume, bool | str | os.PathLike, "True, False, 'latest' or a path")
        check("verbose", verbose, int | np.bool, "True or False")
        objects = {"loss": loss, "optimizer": optimizer, "scheduler": scheduler}
        config = fit_config({**objects, "seed": seed, "epochs": epochs, **settings}, directory)
        loaded = LoadedConfig(config, Origins({"": Place(source=PROGRAM)}))
        loaded, verbose = join_ranks(loaded, verbose)
        assert isinstance(loaded.config, FitConfig)
        names = names_in(data)
        parts = loaders(config, data, validation, test, names)
        experiment = Fit(loaded.config, model, *parts, objects, metrics or {}, callbacks, names)
        loaded = replace(loaded, config=experiment.config)
        if resume is True or resume == NEWEST:
            if directory is None:
                raise refusal("resume", "needs `directory`, where the run to resume is")
            newest = Path(directory) / LATEST
            there = os.path.exists(newest)  # noqa: PTH110 - that of Path refuses names too long
            resume = newest.with_suffix("") if there else False
        if not isinstance(resume, bool):
            return resume_fit(loaded, experiment, resume, verbose)
        return start_run(loaded, experiment, (), PROGRAM, verbose, scratch=directory is None)


# The arguments of `fit` as a configuration.


PROGRAM = "fit()"
OBJECTS: Mapping[str, tuple[Any, str]] = {
    "loss": (Callable, "nn.MSELoss(), a function of outputs and targets, or 'MSELoss'"),
    "optimizer": (optim.Optimizer, "torch.optim.Adam(model.parameters()), or 'Adam'"),
    "scheduler": (LRScheduler, "StepLR(optimizer, 10), or {'name': 'StepLR', 'step_size': 10}"),
}
"""The arguments that may be a program's own objects: the kinds of these objects, and examples."""


@contextmanager
def name_arguments_in_errors() -> Iterator[None]:
    """Let errors in the block name the arguments of `fit` that caused them."""
    try:
        yield
    except ConfigError as error:
        told = []
        for problem in error.problems:
            path = "directory" if problem.path == "log.dir" else problem.path
            path = path.removeprefix("train").removeprefix(".")
            told.append(replace(problem, path=path, place=problem.place or Place(source=PROGRAM)))
        raise ConfigError(told) from error.__cause__


def fit_config(given: Mapping[str, Any], directory: str | Path | None) -> FitConfig:
    """Return the arguments of `fit` as a configuration; it names the program's own objects."""
    keys, reader, train = section_keys(FitConfig), Reader(), dict[str, Any]()
    values: dict[str, Any] = {}
    known = {*inspect.signature(fit).parameters, *section_keys(Train), *keys}
    known -= {"settings", "experiment", "train"}
    unknown = list[Problem]()
    for name in [name for name in given if name not in known]:
        places = [h for h in homes(name) if h.partition(".")[0] in keys]
        if places and (name in all_homes() or not closest(name, known)):
            advice = f"; {way_to_give(places, given)}"
        else:
            advice = did_you_mean(name, sorted(known))
        unknown.append(Problem(name, f"unknown argument{advice}"))
    raise_all(unknown)
    for name, value in [*given.items(), ("train", train)]:
        if name not in keys:
            train[name] = value
        elif value is None and name not in ("loss", "optimizer"):
            continue
        elif name in OBJECTS and not isinstance(value, str | Mapping):
            values[name] = component(name, value)
        else:
            tree = parse_yaml(flow(value), Place(source=PROGRAM))
            values[name] = reader.read(tree, keys[name].hint, name)
    raise_all([*reader.problems, *build_errors(reader.components.values())])
    log = values.get("log", Log())
    if (log.dir, log.name) != (Log.dir, None):
        raise refusal("log", "leave out 'dir' and 'name': `directory` says where the run goes")
    log = replace(log, dir=str(directory or ""), name="")
    if directory is None:
        log = replace(log, tensorboard=False, plots=False)
    return FitConfig(experiment=FIT, data="", model="", **{**values, "log": log})


INSTEAD = {
    "data.class_weights": "the loss takes them: nn.CrossEntropyLoss(weight=...) or "
    "nn.BCEWithLogitsLoss(pos_weight=...)",
    "data.split": "write validation=0.2",
    "data": "it is for configurations: fit takes the samples as the model needs them",
    "model": "it is for configurations: fit takes a whole model",
    "train": "write its keys as arguments, such as batch_size=8",
    "log.dir": "write directory=...",
}
"""What replaces a key of a configuration, or all keys of a section, in a call of `fit`."""


def way_to_give(places: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return advice about how to give `fit` the key of a configuration that has these paths."""
    ways = list[str]()
    for place in places:
        section, _, key = place.partition(".")
        if advice := INSTEAD.get(place, INSTEAD.get(section)):
            return advice
        form, part = hint_form(members_of(section_keys(FitConfig)[section].hint)[0])
        named = ""
        if form == "component":
            value = given[section]
            own = value.get("name") if isinstance(value, Mapping) else value
            taking = [name for name in part.names if key in part.keys(name)]
            own = own if isinstance(own, str) else type(value).__name__
            name = own if own in taking else taking[0]
            needed = [k for k, of in part.keys(name).items() if of.default is REQUIRED and k != key]
            named = f"'name': '{name}', " + "".join(f"'{k}': ..., " for k in needed)
        ways.append(f"{section}={{{named}'{key}': ...}}")
    return f"write {' or '.join(ways)}"


def component(argument: str, value: Any) -> Component:
    """Return the configuration of a loss, an optimizer or a scheduler object."""
    check(argument, value, *OBJECTS[argument])
    if getattr(value, "reduction", "mean") != "mean":
        raise refusal(argument, "needs reduction='mean': losses are compared between parts")
    name = getattr(value, "__name__", type(value).__name__)
    if vars(nn.functional).get(name) is value:  # `F.mse_loss`, whose module is `MSELoss`
        name = next(
            (known for known in LOSS_FACTS if common_name(known) == common_name(name)), name
        )
    known = OPTIMIZERS.keys(name) if name in OPTIMIZERS.names else ()
    options = {key: value.defaults.get(key) for key in known}
    return Component(name, {k: v for k, v in options.items() if v is not None}, argument)


def common_name(name: str) -> str:
    """Return the common part of the names of a loss's module and function."""
    short = name.lower().replace("binary_cross_entropy", "bce").replace("_", "")
    return short.removesuffix("loss")


# The loaders of samples.


EXPECTED = "expected a tuple (x, y), a Dataset or a DataLoader"
ARRAYS = (torch.Tensor, np.ndarray)
WHOLE = (torch.utils.data.SequentialSampler, torch.utils.data.RandomSampler)
"""The samplers that read all samples."""


def names_in(data: Samples) -> Names:
    """Return the columns of each table in a tuple of samples; None for arrays."""
    frames = [frame_of(values) for values in data] if isinstance(data, tuple) else []
    return [[*frame.keys] if frame else None for frame in frames]


def loaders(
    config: FitConfig,
    data: Samples,
    validation: Samples | float | None,
    test: Samples | None,
    names: Names,
) -> tuple[dict[str, DataLoader[Any]], DataLoader[Any]]:
    """Return the loaders that measure the parts, by name, and the loader of the training."""
    train, (split, shuffling) = config.train, streams(config.seed, 2)
    dataset = dataset_of(data, "data", names)
    if isinstance(validation, int | float):
        if isinstance(data, DataLoader | IterableDataset):
            message = f"cannot be a fraction of a {type(data).__name__}; give the samples"
            raise refusal("validation", message)
        kept = round(len(dataset) * validation)
        if not 0 < kept < len(dataset):
            message = f"{validation:g} of {len(dataset)} samples leaves one part empty"
            raise refusal("validation", f"{message}; give a fraction between 0 and 1, or samples")
        order = torch.randperm(len(dataset), generator=split).tolist()
        dataset, validation = (Subset(dataset, sorted(k)) for k in (order[kept:], order[:kept]))
    if isinstance(dataset, DataLoader):
        for name in ("batch_size", "shuffle", "overfit_batches"):
            if getattr(train, name) != getattr(type(train), name):
                raise refusal(name, "leave it out: the DataLoader determines it")
        loader, size = dataset, dataset.batch_size or 1
    else:
        size = min(train.batch_size or len(dataset), len(dataset))
        shuffled = train.shuffle and not isinstance(dataset, IterableDataset)
        if train.overfit_batches is not None:
            shuffled, most = False, min(train.overfit_batches * size, len(dataset))
            dataset = Subset(dataset, range(most))
        loader = DataLoader(dataset, size, shuffled, generator=shuffling)
    parts = {"train": sequential_loader(dataset, size)}
    for name, samples in {"validation": validation, "test": test}.items():
        if samples is not None:
            parts[name] = sequential_loader(dataset_of(samples, name, names), size)
    return parts, loader


def dataset_of(samples: Any, argument: str, names: Names) -> Any:
    """Return samples as a dataset with a length; a `DataLoader` is returned as it is.

    Args:
        samples: the samples.
        argument: the argument of `fit` for them.
        names: the columns of the tables in `data`, as `names_in` returns them.
    """
    if isinstance(samples, ARRAYS) or (hasattr(samples, "columns") and hasattr(samples, "shape")):
        shape = tuple(samples.shape)
        raise refusal(argument, f"{EXPECTED}, got one array of shape {shape}, without targets")
    several = isinstance(samples, list) and all(isinstance(s, ARRAYS) for s in samples)
    if (isinstance(samples, tuple) or several) and samples:
        try:
            arrays = [array_of(*pair) for pair in zip_longest(samples, names[: len(samples)])]
        except ValueError as error:
            raise refusal(argument, str(error)) from None
        tensors = [as_tensor(values, argument) for values in arrays]
        for name, tensor in zip([*["x"] * (len(tensors) - 1), "y"], tensors, strict=True):
            if bad := (~tensor.isfinite()).nonzero()[:1].tolist():
                found = tensor[tuple(bad[0])].item()
                raise refusal(argument, f"{name} is {found} at {bad[0]}; remove or replace it")
        lengths = [len(tensor) if tensor.dim() else 0 for tensor in tensors]
        if len(tensors) < 2 or len(set(lengths)) > 1:
            shapes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors)
            raise refusal(argument, f"{EXPECTED}, with as many x as y; got arrays of {shapes}")
        samples = TensorDataset(*tensors)
    readable = hasattr(samples, "__getitem__") or hasattr(samples, "__iter__")
    if not readable or isinstance(samples, str | Mapping):
        raise refusal(argument, f"{EXPECTED}, got {type(samples).__name__}")
    try:
        count = len(samples)
    except TypeError:
        said = "has no length; give it a method __len__"
        raise refusal(argument, f"the {type(samples).__name__} {said}") from None
    if not count:
        raise refusal(argument, "has no samples")
    return samples


def as_tensor(values: Any, argument: str, function: str = PROGRAM) -> torch.Tensor:
    """Return an array as a tensor: integers as int64, other numbers in the default precision."""
    if isinstance(values, torch.Tensor):
        return values
    array = np.require(values, requirements="W")  # a data frame's columns may be read-only
    if array.dtype.kind not in "biuf":
        message = f"expected arrays of numbers, got one of {array.dtype}"
        raise refusal(argument, message, Place(source=function))
    dtype = torch.int64 if array.dtype.kind in "iu" else torch.get_default_dtype()
    return torch.as_tensor(array, dtype=dtype)


def sequential_loader(dataset: Any, size: int) -> DataLoader[Any]:
    """Return a loader that reads a dataset in order, without the default random numbers.

    A `DataLoader` is returned as it is.
    """
    if isinstance(dataset, DataLoader):
        return dataset
    tensors = dataset.dataset if isinstance(dataset, Subset) else dataset
    if isinstance(tensors, TensorDataset):
        size = batch_of(tensors.tensors[0][:1].numel())
    return DataLoader(dataset, size, generator=torch.Generator())


# The experiment.


OF_CLASSES = ("CrossEntropyLoss", "NLLLoss")
FLOATS = " (it takes y.float() of the outputs' shape)"
TAKES = dict.fromkeys(("BCEWithLogitsLoss", "BCELoss"), FLOATS)
TAKES |= dict.fromkeys(OF_CLASSES, " (it takes labels y.long() of shape (samples,))")
"""The targets that a loss takes, for messages."""


class Fit(Training):
    """The experiment of `fit`: a program's own model, samples, loss and optimizer.

    Args:
        config: the other arguments of `fit`.
        model: the model to train.
        parts: the loaders that measure the parts, by name.
        loader: the loader of the training.
        objects: the loss, the optimizer and the scheduler, as they were given to `fit`.
        metrics: functions that are measured in addition to the metrics of the loss.
        callbacks: additional callbacks.
        names: the columns of the tables among the samples, as `names_in` returns them.
    """

    def __init__(
        self,
        config: FitConfig,
        model: nn.Module,
        parts: Mapping[str, DataLoader[Any]],
        loader: DataLoader[Any],
        objects: Mapping[str, Any],
        metrics: Mapping[str, Metric],
        callbacks: Sequence[Callback],
        names: Names,
    ) -> None:
        check("model", model, nn.Module, "a module, such as nn.Linear(4, 1)")
        check("callbacks", callbacks, Sequence, "a list")
        for index, callback in enumerate(callbacks):
            check(f"callbacks[{index}]", callback, Callback, "a nanotorch.train.Callback")
        check("metrics", metrics, Mapping, "a mapping from names to functions")
        for name, metric in metrics.items():
            check(f"metrics.{name}", metric, Callable, "a function of outputs and targets")
            if name == "loss":
                raise refusal("metrics.loss", "is measured in any case; choose another name")
        count = len(loader.dataset) if hasattr(loader.dataset, "__len__") else 0
        data = f"{count} samples" if count else f"{len(loader)} batches"
        self.config = replace(config, data=data, model=type(model).__name__)
        self.model, self.loader, self._parts, self.metrics = model, loader, parts, metrics
        self.loss = loss = objects["loss"]
        if config.loss.registry is not None:
            self.loss = config.loss.build()
        elif not isinstance(loss, nn.Module):
            self.loss = FunctionModule(loss, config.loss.name)
        learned = [p for p in model.parameters() if p.requires_grad]
        if not learned:
            raise refusal("model", "has no parameters to learn")
        self.optimizer = objects["optimizer"]
        if not isinstance(self.optimizer, optim.Optimizer):
            self.optimizer = build_optimizer(config.optimizer, model)
        moved = {id(p) for group in self.optimizer.param_groups for p in group["params"]}
        if moved.isdisjoint(map(id, learned)):
            raise refusal("optimizer", "has none of the model's parameters")
        state = loader.state_dict()
        with torch.random.fork_rng():
            batch = next(iter(loader))
        loader.load_state_dict(state)  # as if no batch had been read
        items = batch if isinstance(batch, list | tuple) else ()
        if len(items) < 2 or not all(isinstance(x, torch.Tensor) and x.dim() for x in items):
            got = f"{[type(item).__name__ for item in items]}" if items else type(batch).__name__
            message = f"expected batches (x, y) of tensors, samples first; got {got}"
            raise refusal("data", f"{message}; a collate_fn of the DataLoader can make them")
        *self._example, targets = (tensor[:2] for tensor in batch)
        self._names = names or [None] * len(batch)
        self.kind = self._tried(targets)
        self._listening = callbacks
        size = loader.batch_size or len(batch[-1])
        whole = count // size if isinstance(loader.dataset, TensorDataset) else len(loader)
        scheduler = objects["scheduler"]
        given = scheduler if isinstance(scheduler, LRScheduler) else None
        if given is not None and given.optimizer is not self.optimizer:
            raise refusal("scheduler", "belongs to another optimizer")
        self._try_last_batch(size, count)
        self._prepare(size, whole, given)
        if metrics:
            self._try_metrics(*batch[:-1], targets=batch[-1])

    def _tried(self, targets: torch.Tensor) -> Kind | None:
        """Try the model and the loss; return the kind of prediction, None if it is unknown."""
        given = {"data": (*self._example, targets), "model": tuple(self.model.parameters())}
        for argument, tensors in given.items():
            if any(t.dtype == torch.bfloat16 for t in tensors):
                said = "is in bfloat16, which the trainer does not support; convert it with float()"
                raise refusal(argument, said)
        shapes = ", ".join(str(tuple(x.shape)) for x in self._example)
        if len(self._example) > 1:
            shapes += " (the items of a sample before its target)"
        for dtype in {x.dtype for x in self._example} - {torch.get_default_dtype()}:
            kind = str(dtype).removeprefix("torch.")
            shapes += f", in {kind} (.float() converts a tensor, .astype(float) an array)"
        message = f"does not accept inputs of shape {shapes}: "
        outputs = dry_run(self.model, lambda x: self.model(*x), self._example, "model", message)
        if not isinstance(outputs, torch.Tensor):
            raise refusal("model", f"returns a {type(outputs).__name__}; fit needs one tensor")
        name = self.config.loss.name
        if name in OF_CLASSES and outputs.dim() > 1:
            self._check_labels(outputs.shape[1])
        told = f"for outputs of shape {tuple(outputs.shape)} and targets of {tuple(targets.shape)}"
        with catch_warnings(record=True) as warned:
            simplefilter("always")
            loss = try_loss(self.loss, outputs, targets, f"{told}{TAKES.get(name, '')}: ")
        if any("Using a target size" in str(warning.message) for warning in warned):
            said = "every output would be compared with every target; give both the same shape"
            raise refusal("loss", f"{told}: {said}, for example by y[:, None]")
        if not isinstance(loss, torch.Tensor) or loss.dim():
            shape = f"shape {tuple(loss.shape)}" if isinstance(loss, torch.Tensor) else loss
            raise refusal("loss", f"{told}: expected a tensor of one number, got {shape}")
        facts = facts_of(name, self.loss) if name in LOSS_FACTS else None
        fits = {
            "regression": outputs.shape == targets.shape,
            "binary": outputs.numel() == len(targets) == targets.numel(),
            "classes": (outputs.dim(), targets.dim()) == (2, 1) and not targets.is_floating_point(),
        }
        if facts is None or not fits[facts.kind]:
            return None
        made = KINDS[facts.kind](facts, self.loss)
        made.check_prediction(outputs)
        return made

    def _check_labels(self, classes: int) -> None:
        """Refuse a model of one class, and labels in tensors that are none of its classes."""
        if classes == 1:
            message = f"has 1 output, but {self.config.loss.name} needs one for each class"
            raise refusal("model", f"{message}; BCEWithLogitsLoss takes 1 for two classes")
        for part, loader in self._parts.items():
            dataset = loader.dataset
            whole = dataset.dataset if type(dataset) is Subset else dataset
            custom = (
                loader.collate_fn is not torch.utils.data.default_collate
                or type(loader.sampler) not in WHOLE
                or type(loader.batch_sampler) is not torch.utils.data.BatchSampler
            )
            if custom or type(whole) is not TensorDataset:
                continue
            y, places = whole.tensors[-1], range(len(whole))
            if y.is_floating_point():
                continue
            if whole is not dataset:
                places = dataset.indices
                y = y[list(places)]
            wrong = ((y < 0) | (y >= classes)) & (y != getattr(self.loss, "ignore_index", -100))
            if wrong.any():
                sample, *rest = wrong.nonzero()[0].tolist()
                found = f"sample {places[sample]} has the label {y[sample, *rest].item()}"
                message = f"{found}, but the model's {classes} classes are 0 to {classes - 1}"
                raise refusal("data" if part == "train" else part, message)

    def _try_metrics(self, *inputs: torch.Tensor, targets: torch.Tensor) -> None:
        outputs = dry_run(self.model, lambda x: self.model(*x), inputs, "model")
        for name in self.metrics:
            try:
                self._try_metric(name, outputs, targets)
            except ConfigError:  # all samples may have what these lack, such as a second class
                if found := self.evaluated("train"):
                    self._try_metric(name, *found)

    def _try_metric(self, name: str, outputs: torch.Tensor, targets: torch.Tensor) -> None:
        shapes = f"outputs of shape {tuple(outputs.shape)} and targets of {tuple(targets.shape)}"
        message = f"needs to return one number for {shapes}: "
        call: Any = lambda y: float(self.metrics[name](outputs, y))  # noqa: E731
        dry_run(self.model, call, targets, f"metrics.{name}", message)

    def evaluated(self, part: str) -> Found | None:
        if part not in self._parts:
            return None
        with evaluation_mode(self.final_model) as model:
            found = [(model(*inputs), targets) for *inputs, targets in self._parts[part]]
        outputs, targets = (torch.cat(tensors) for tensors in zip(*found, strict=True))
        return outputs, targets

    def outputs(self, *inputs: Any) -> torch.Tensor:
        check_count(inputs, len(self._example))
        with errors_of_predict():
            arrays = [array_of(*pair) for pair in zip(inputs, self._names, strict=False)]
            tensors = [
                x if isinstance(x, torch.Tensor) else as_tensor(x, "inputs", PREDICT).to(like.dtype)
                for x, like in zip(arrays, self._example, strict=True)
            ]
        size = batch_of(tensors[0][:1].numel())
        with evaluation_mode(self.final_model) as model:
            batches = zip(*(tensor.split(size) for tensor in tensors), strict=True)
            outputs = torch.cat([model(*batch) for batch in batches])
        if self.kind is None:
            return outputs
        return torch.from_numpy(self.kind.reported(outputs.numpy()))

    def _heading(self) -> Iterable[str]:
        yield f"{self.config.model} on {self.config.data}, in batches of {self._batch_size}"

    def graph(self) -> Graph:
        return self.model, *self._example

    def _remedy(self, fitted: bool, targets: NDArray[Any]) -> str:
        facts = None if self.kind is None else self.kind.facts
        if not fitted and facts is not None and facts.degree:
            mean, spread = targets.mean(), targets.std()
            if max(abs(mean), spread) > 10 or spread < 0.1:
                found = f"train on (y - mean) / deviation: targets have a mean of {mean:.3g}"
                return f"{found} and a standard deviation of {spread:.3g}"
        return super()._remedy(fitted, targets)


def check(argument: str, value: object, kind: Any, expected: str) -> None:
    """Refuse a value that is no instance of `kind`, and a class instead of an instance."""
    if isinstance(value, type) or not isinstance(value, kind):
        got = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise refusal(argument, f"expected {expected}; got {got}")


# The resumption of a run.


FIXED = ("experiment", "seed", "data", "model", "loss.name", "optimizer.name")
"""The settings that a resumed run cannot change."""


def resume_fit(
    loaded: LoadedConfig, experiment: Fit, target: str | Path, verbose: bool
) -> RunResult:
    """Resume a run; return its result, at once if no step is left."""
    directory, chosen = find_run(target)
    values = read_record(directory)
    before, now = settings_of(directory / "config.yaml"), settings_in(dump_config(loaded))
    for name in FIXED if now["train.epochs"] == "null" else [*FIXED, *LENGTHS]:
        if before.get(name) != now[name]:
            message = f"its {name} was {before.get(name)}, and is {now[name]} now"
            raise CheckpointError(directory, f"{message}; start a new run, or leave it as it was")
    changed = any(before.get(name) != now[name] for name in now if not name.startswith("log."))
    if is_complete(directory, values, chosen) and not changed:
        if verbose:
            print(f"{directory}: finished after {values['steps']} steps; nothing is left to do")
        result = finished_result(directory, values, lambda: experiment)
        _ = result.task  # the caller's own model gets the trained weights
        return result
    run = Run(loaded, experiment, directory, Record(directory, values), PROGRAM, verbose)
    return continue_run(run, chosen, changed, ())
