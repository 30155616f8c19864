"""Predictions of a trained run for new samples, as a table or a text."""

import argparse
import errno
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch import nn
from nanotorch.serialization import load
from nanotorch.serialization.files import write
from nanotorch.train.commands import import_components
from nanotorch.train.config.build import Characters, Kind
from nanotorch.train.config.schema import TextConfig, TrainedConfig
from nanotorch.train.config.sections import Place, name_text, read_failure, refusal, usage_error
from nanotorch.train.data.csv_file import csv_text, read_csv
from nanotorch.train.data.dataset import Dataset, Preprocessing, Samples, opened_arrays
from nanotorch.train.runs.run import (
    FINISHED,
    RUNNING,
    WEIGHTS,
    belongs_to_run,
    find_run,
    how_to_resume,
    load_own_config,
    read_record,
)
from nanotorch.train.runs.run_directory import (
    STEPS,
    CheckpointError,
    cannot_read,
    locked,
    own_state,
    read_json,
)
from nanotorch.train.training.loop import DIVERGED
from nanotorch.train.training.metrics import Array, number, wrap_to_screen
from nanotorch.train.training.supervised import kind_of, outputs_of, prepare_inputs

# A trained model with everything that its use needs, from its run's directory.


BATCH = 1024


@dataclass(frozen=True)
class Trained:
    """A trained model in evaluation mode, with its configuration and preprocessing."""

    config: TrainedConfig
    model: nn.Module
    kind: Kind
    dataset: Dataset
    """The preprocessing; its samples are zeros that show the shape of a sample."""
    directory: Path
    """The run's directory."""
    weights: Path
    """The file of the model's weights."""
    status: str
    """The status of the run."""

    def predict(self, x: Any) -> torch.Tensor:
        """Return the model's outputs for samples in the form of the training data.

        For classes they are scores, for numbers the predictions in the units of the target.

        Args:
            x: an array or a tensor, samples first; rows of cells; or a table with the columns of
                the training data, as in `RunResult.predict`.

        Raises:
            ValueError: if the samples do not fit the training data.
        """
        outputs = outputs_of(self.model, prepare_inputs(x, self.dataset, self.kind), BATCH)
        found = self.dataset.preprocessing.own_units(self.kind.reported(outputs))
        return torch.from_numpy(found)

    def samples(self, path: Path) -> tuple[Array, Array | None]:
        """Return the features in a file, shape (samples, features), and the targets if it has any.

        A missing target is NaN.
        """
        preprocessing, place = self.dataset.preprocessing.of_table(), Place(source=str(path))
        try:
            if path.suffix in (".npy", ".npz"):
                return self._array(path), None
            if not preprocessing.columns:
                message = "is a table, and the model's features have no names; give it an array"
                raise refusal("", message, place)
            form = preprocessing.delimiter, preprocessing.header
            named = [c.name for c in preprocessing.columns if c.categories is not None]
            named += [] if preprocessing.classes is None else [preprocessing.target]
            table = read_csv(path, *form, configured=False, named=named)
        except OSError as error:
            raise refusal("", f"cannot be read: {read_failure(error, path)}", place) from None
        rows, target = preprocessing.rows(table, str(self.directory)), preprocessing.target
        if not (target in table.header and preprocessing.header):
            return rows, None
        unfit = "is not a class in the training data"
        targets = table.numbers(target, missing=True, known=preprocessing.classes, unfit=unfit)
        return rows, None if np.isnan(targets).all() else targets

    def _array(self, path: Path) -> Array:
        """Return the features in a NumPy file: the array named as in training, or the first one."""
        place = Place(source=str(path))
        try:
            with opened_arrays(path) as found:
                if not isinstance(found, np.ndarray):
                    name = getattr(self.config.data, "inputs", None)
                    found = found[name if name in found else next(iter(found), "")]
            x: Array = found.astype(np.float64).reshape(len(found), -1)
        except OSError:
            raise
        except Exception as error:
            raise refusal("", f"cannot be read as numbers: {error}", place) from None
        features = int(np.prod(self.dataset.preprocessing.shape))
        if x.shape[1] != features:
            message = f"has {x.shape[1]} numbers for each sample; the model takes {features}"
            raise refusal("", message, place)
        if problem := self.dataset.preprocessing.flawed(x):
            raise refusal("", problem, place)
        return x


def load_trained(target: str | Path) -> Trained:
    """Return the model of a run, with its last weights or with those of a checkpoint.

        trained = load_trained("latest")
        trained.predict([[0.5, 0.25]])

    Args:
        target: the run's directory, `latest`, or a configuration's name for its newest run; or a
            file in the run's `checkpoints`, such as `best-00000040.safetensors`.

    Raises:
        CheckpointError: if there is no such run or file, the run has no weights, or these do not
            fit its model. Without a checkpoint, also if the run still runs or has diverged.
        ConfigError: if its configuration is damaged.
    """
    directory, chosen = find_run(target)
    weights = chosen or directory / WEIGHTS
    last, run = weights == directory / WEIGHTS, read_record(directory)
    status = run["status"]
    if last and status == DIVERGED:
        raise CheckpointError(directory, "has diverged; train with a smaller optimizer.lr")
    if last and status == RUNNING:
        with locked(directory):  # raises an error if it still runs
            status = "killed"
    config = load_own_config(directory).config
    if not isinstance(config, TrainedConfig):
        raise CheckpointError(directory, "is the run of a minimization, which has no model")
    path = directory / "preprocessing.json"
    advice = f"remove {WEIGHTS}, too; then this writes both again: {how_to_resume(directory)}"
    record = read_json(path, Preprocessing, advice)
    try:
        kind, preprocessing = kind_of(config), Preprocessing.from_record(record)
    except ValueError as error:
        raise CheckpointError(path, f"{error}; {advice}") from None
    example = np.zeros((2, *preprocessing.shape), dtype=np.float32)
    if isinstance(config, TextConfig):
        example = np.zeros((2, config.data.context), dtype=np.int64)
    dataset = Dataset({"train": Samples(example, example)}, preprocessing)
    state = torch.get_rng_state()  # the initial weights, which are replaced, draw random numbers
    model = kind.build_model(config.model, dataset)
    torch.set_rng_state(state)
    try:
        model.load_state_dict(read_weights(weights, directory, run["id"], config))
    except FileNotFoundError:
        if status == FINISHED:
            message = f"is missing; this writes it again: {how_to_resume(directory)}"
            raise CheckpointError(weights, message) from None
        message = f"was {status} before there were weights; to resume it: "
        raise CheckpointError(directory, f"{message}{how_to_resume(directory)}") from None
    except OSError as error:
        raise cannot_read(weights, error) from None
    except (RuntimeError, ValueError, KeyError, EOFError, TypeError) as error:
        text_of = str(error).removeprefix(f"{weights}").lstrip(": ")
        again = f"remove it, then this writes it again: {how_to_resume(directory)}"
        again = again if last else f"the last weights are in {directory / WEIGHTS}"
        message = f"does not fit this run's model: {text_of}; {again}"
        raise CheckpointError(weights, message) from None
    return Trained(config, model.eval(), kind, dataset, directory, weights, status)


def read_weights(path: Path, directory: Path, run: str, config: TrainedConfig) -> Any:
    """Return the weights in a file, by name.

    Args:
        path: a file of weights, or a checkpoint of a training, from which it could resume.
        directory: the directory of the run.
        run: the `id` of the run.
        config: its configuration.
    """
    if not path.match(STEPS):
        return load(path)
    state = own_state(path, directory, run)
    averages = state["loop"]["callbacks"]["Average"] if config.averaging else {"n_averaged": 0}
    if not averages["n_averaged"]:
        return state["task"]["model"]
    return {n.removeprefix("module."): x for n, x in averages.items() if n != "n_averaged"}


def predict(options: argparse.Namespace) -> int:
    """Run `nanotorch predict` with its parsed options; return the exit code."""
    import_components(options.imports)
    trained = load_trained(options.run)
    say_which(options.run, trained)
    if isinstance(trained.kind, Characters):
        if options.input is not None or options.prompt is None:
            raise usage_error("", "a model of text takes --prompt, and no file")
        if options.length < 0 or not 0 <= options.temperature < float("inf"):
            raise usage_error("", "--length and --temperature must not be negative")
        try:
            scores = lambda x: outputs_of(trained.model, x, BATCH)  # noqa: E731
            asked = options.prompt, options.length, options.temperature, options.seed
            text = trained.kind.continued(scores, trained.dataset, *asked)
            print(wrap_to_screen(text) if sys.stdout.isatty() else text, flush=True)
        except ValueError as error:
            raise usage_error("", f"--prompt: {error}") from None
        return 0
    if options.prompt is not None:
        raise usage_error("", "--prompt is for models of text; leave it out")
    if options.input is None:
        raise usage_error("", "needs a file of samples")
    if not (shown := options.output in (None, "-")):
        check_output("--output", options.output, options.input)
    rows, targets = trained.samples(Path(options.input))
    outputs = trained.predict(rows).numpy()
    columns = trained.kind.predictions(outputs, trained.dataset)
    # Nine digits distinguish all numbers of 32 bits.
    cells = (
        [x if isinstance(x, str) else f"{x:.9g}" for x in c.tolist()] for c in columns.values()
    )
    text = csv_text([columns, *zip(*cells, strict=True)])
    if shown:
        print(text, end="", flush=True)
    else:
        write_output("--output", options.output, text.encode())
        print(f"{len(rows)} predictions in {options.output}", file=sys.stderr)
    if targets is not None:
        told = ~np.isnan(targets)
        found = trained.kind.measure(outputs[told], targets[told])
        said = ", ".join(f"{name} {number(value)}" for name, value in found.items())
        undefined = [name for name, value in found.items() if np.isnan(value)]
        if undefined and len(np.unique(targets[told])) == 1:
            said += f"; {', '.join(undefined)} needs targets that differ, and these are all equal"
        noun = "row" if told.sum() == 1 else "rows"
        only = "" if told.all() else f"the {told.sum()} {noun} with a target: "
        print(wrap_to_screen(f"{only}{said}"), file=sys.stderr)
    return 0


def say_which(target: str, trained: Trained) -> None:
    """Print the run that `target` means, and a warning if it is not finished."""
    if Path(target) not in (trained.directory, trained.weights):
        print(f"run: {trained.directory}", file=sys.stderr)
    if trained.weights == trained.directory / WEIGHTS and trained.status != FINISHED:
        state = f"the run is not finished but {name_text(trained.status)}"
        print(f"warning: {state}: these are its weights so far", file=sys.stderr)


def write_output(argument: str, name: str, data: bytes) -> None:
    """Write the file that an argument names."""
    try:
        if not name or Path(name).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        write(Path(name), [data])
    except (OSError, ValueError, RuntimeError) as error:
        why = f"'{name_text(name)}': {getattr(error, 'strerror', None) or error}"
        raise usage_error("", f"{argument}: cannot write {why}") from None


def check_output(argument: str, name: str, samples: str = "") -> None:
    """Refuse an output that would overwrite the samples, if they are a file, or a file of a run."""
    try:
        path, message = Path(name), ""
        if samples:
            message = "is the file of samples, which would be lost" * path.samefile(samples)
        message = message or "is a file of a run" * belongs_to_run(path)
    except (OSError, ValueError):  # one does not exist, or has an invalid name
        return
    if message:
        raise usage_error("", f"{argument}: '{name_text(name)}' {message}; choose another name")
