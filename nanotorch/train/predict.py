"""The command line of predictions: a run's directory and new samples in, a table out."""

import argparse
import csv
import errno
import io
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch.serialization.files import write

from .arrays import opened_arrays
from .checkpoint import CheckpointError
from .csv_file import MISSING, CsvFile, read_csv
from .imports import add_option, import_components
from .kinds import Characters
from .options import Parser
from .preprocessing import Column
from .problems import ConfigError, Place, Problem, named, quoted
from .streams import patient_streams
from .trained import Trained, continued, load_trained

EXAMPLES = """\
examples:
  PROGRAM latest new_patients.csv --output predictions.csv
  PROGRAM runs/digits_cnn/2026-01-31_12-00-00-abcdef images.npz
  PROGRAM runs/characters/2026-01-31_12-00-00-abcdef --prompt "Shall I " --length 300

Rows are prepared as those of the training were. A table needs the columns that the model was
trained on; where it has the target as well, the metrics are told. Exit codes: 0 done, 2 a mistake.
"""


def parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = Parser(program, "Let the model of a finished run predict.", EXAMPLES)
    parser.add_argument("run", metavar="RUN", help="the directory of a run, or 'latest'")
    parser.add_argument("input", nargs="?", metavar="FILE", help="a .csv, .npy or .npz file")
    parser.add_argument("--output", metavar="FILE", help="where the table goes; shown if left out")
    add_option(parser)
    parser.add_argument("--prompt", help="of a model of text: how a text begins")
    parser.add_argument("--length", type=int, default=400, help="characters to add to it")
    parser.add_argument(
        "--temperature", type=float, default=0.8, help="0 takes the likeliest, 1 draws as learned"
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    return parser


def main(arguments: Sequence[str] | None = None, program: str = "scripts/predict.py") -> int:
    """Run the command line; return the exit code."""
    command = list(sys.argv[1:] if arguments is None else arguments)
    with patient_streams():
        options = parser(program).parse_args(command)
        try:
            run(options)
        except ConfigError as error:
            print(error, file=sys.stderr)
            return 2
        except (CheckpointError, OSError) as error:
            text = str(error)
            print(f"error: {named(text) if isinstance(error, OSError) else text}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("\ninterrupted", file=sys.stderr)
            return 130
    return 0


def run(options: argparse.Namespace) -> None:
    """Do what the options say."""
    import_components(options.imports)
    trained = load_trained(options.run)
    if isinstance(trained.kind, Characters):
        if options.input is not None:
            raise refusal("a model of text takes --prompt, not a file")
        tell_text(trained, options)
        return
    if options.prompt is not None:
        raise refusal("--prompt is for models of text")
    if options.input is None:
        raise refusal("needs a file of samples beside the run")
    if options.output is not None and same_file(options.output, options.input):
        raise refusal("--output is the file of samples itself, which would be lost")
    rows, targets = read_samples(trained, Path(options.input))
    outputs = trained.outputs(trained.preprocessing.inputs(rows))
    text = table_text(trained.kind.predictions(outputs, trained.dataset))
    if options.output is None:
        print(text, end="", flush=True)
    else:
        write_output(options.output, text)
        print(f"{len(rows)} predictions in {options.output}", file=sys.stderr)
    if targets is not None:
        told = ~np.isnan(targets)
        found = trained.kind.measure(outputs[told], targets[told])
        said = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
        undefined = [name for name, value in found.items() if np.isnan(value)]
        if undefined and len(np.unique(targets[told])) == 1:
            said += f"; {', '.join(undefined)} takes targets that differ, and these are all alike"
        noun = "row" if told.sum() == 1 else "rows"
        only = "" if told.all() else f"the {told.sum()} {noun} with a target: "
        print(f"{only}{said}", file=sys.stderr)


def same_file(name: str, other: str) -> bool:
    """Return whether two names are those of one file that is there."""
    try:
        return Path(name).samefile(other)
    except (OSError, ValueError):  # one is not there, or no name
        return False


def write_output(name: str, text: str) -> None:
    """Write the table to a file.

    Raises:
        ConfigError: if it cannot be written.
    """
    path = Path(name)
    try:
        if not name or path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        write(path, [text.encode()])
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise refusal(f"--output: cannot write {quoted(name)}: {reason}") from None


def refusal(message: str) -> ConfigError:
    """Return the error about the command line."""
    return ConfigError([Problem(Place(source="command line"), "", message)])


def tell_text(trained: Trained, options: argparse.Namespace) -> None:
    """Print a text that the model has written."""
    if options.prompt is None:
        raise refusal("a model of text needs --prompt, the beginning of a text")
    if options.length < 0 or not 0 <= options.temperature < float("inf"):
        raise refusal("--length and --temperature must not be negative")
    generator = torch.Generator().manual_seed(options.seed)
    try:
        text = continued(trained, options.prompt, options.length, options.temperature, generator)
    except ValueError as error:
        raise refusal(f"--prompt: {error}") from None
    print(text, flush=True)


def read_samples(
    trained: Trained, path: Path
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the features of new samples, shape (samples, features), and their targets if known.

    A target that is missing is NaN.

    Raises:
        ConfigError: if they cannot be read, or are not what the model was trained on.
    """
    try:
        if path.suffix in (".npy", ".npz"):
            return array_samples(trained, path), None
        return table_samples(trained, path)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise ConfigError([Problem(Place(source=str(path)), "", message)]) from None


def table_samples(
    trained: Trained, path: Path
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the features and the targets of a table."""
    preprocessing = trained.preprocessing
    if not preprocessing.columns:  # made up, or of arrays: the columns are the features
        columns = [Column(name) for name in preprocessing.features]
        if not columns:
            message = "is a table, and the model's features have no names; give it an array"
            raise ConfigError([Problem(Place(source=str(path)), "", message)])
        preprocessing = replace(preprocessing, columns=columns)
    table = read_csv(path, preprocessing.delimiter, preprocessing.header, configured=False)
    rows = preprocessing.rows(table)
    known = preprocessing.target in table.header and preprocessing.header
    targets = known_targets(trained, table) if known else None
    return rows, None if targets is None or np.isnan(targets).all() else targets


def known_targets(trained: Trained, table: CsvFile) -> NDArray[np.float64]:
    """Return the targets of a table, NaN where one is missing."""
    target, classes = trained.preprocessing.target, trained.dataset.classes
    if classes is None:
        return table.numbers(target, missing=True)
    numbers = {name: float(index) for index, name in enumerate(classes)}
    cells = table.texts(target)
    problems = [
        table.problem(row, target, f"{quoted(cell)} is no class of the training")
        for row, cell in zip(table.rows, cells, strict=True)
        if cell not in numbers and cell.lower() not in MISSING
    ]
    if problems:
        raise ConfigError(problems)
    return np.array([numbers.get(cell, np.nan) for cell in cells])


def array_samples(trained: Trained, path: Path) -> NDArray[np.float64]:
    """Return the features in a file of NumPy: the array that training took, or the only one."""
    place = Place(source=str(path))
    try:
        with opened_arrays(path) as found:
            if not isinstance(found, np.ndarray):
                name = getattr(trained.config.data, "inputs", None)
                name = name if name in found else next(iter(found), "")
                found = found[name]
        x = found.astype(np.float64).reshape(len(found), -1)
    except OSError:
        raise
    except Exception as error:
        raise ConfigError([Problem(place, "", f"holds no numbers: {error}")]) from None
    features = int(np.prod(trained.preprocessing.shape))
    if x.shape[1] != features:
        message = f"has {x.shape[1]} numbers for each sample; the model was trained on {features}"
        raise ConfigError([Problem(place, "", message)])
    return x


def table_text(columns: Mapping[str, NDArray[Any]]) -> str:
    """Return columns as comma-separated values; numbers as short as they can be read back."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue()
