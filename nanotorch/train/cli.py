"""The command lines: their options, their help, and the modules that do the work.

Each command is a function of the arguments after the program's name, by default those of the
process, and of the command that calls the program. It returns the exit code, and its docstring is
the help. Modules of the trainer are imported only for work, so that help appears at once.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from nanotorch.train import commands
from nanotorch.train.training.loop import handle_signals
from nanotorch.train.training.metrics import wrap_to_screen

USAGE = """\
%(prog)s [options] --config FILE [key=value ...]
       %(prog)s --resume RUN [key=value ...]
       %(prog)s --list [WORD] | --schema"""


def run_option(module: str, command: str, options: argparse.Namespace) -> int:
    """Run the function `command` of a module of `runs` with the options; return the exit code."""
    code: int = getattr(import_module(f"nanotorch.train.runs.{module}"), command)(options)
    return code


class Once(argparse.Action):
    """Stores the value of an option; refuses a second value."""

    def __call__(self, parser: Any, options: Any, value: Any, name: Any = None) -> None:
        """Store the value; a second one ends the program with an error."""
        if getattr(options, self.dest) is not None:
            parser.error(f"{name} is given twice: {getattr(options, self.dest)!r} and {value!r}")
        setattr(options, self.dest, value)


def whole_number(least: int) -> Callable[[str], int]:
    """Return a function that reads a whole number of at least `least`."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            message = f"expected a whole number of at least {least}, got {text!r}"
            raise argparse.ArgumentTypeError(message)
        return int(text)

    return read


def main(arguments: Sequence[str] | None = None, program: str = "scripts/train.py") -> int:
    """Train what a YAML file describes, or resume a run.

    examples:
      PROGRAM --config linear_regression
      PROGRAM --config bce_classification train.epochs=5 optimizer.lr=1e-2
      PROGRAM --config function_minimization 'function.start=[3, -2]'
      PROGRAM --config two_moons --check
      PROGRAM --config two_moons optimizer=SGD model.layers.1=ReLU
      PROGRAM --import my_layers.py --config my.yaml
      PROGRAM --list Adam
      PROGRAM --resume latest
      PROGRAM --resume latest train.epochs=80

    A run leaves runs/<config name>/<time>/ with config.yaml, metrics.jsonl,
    run.json, weights.safetensors, checkpoints, plots and TensorBoard events;
    runs/latest.txt names the newest run.

    Exit codes: 0 finished, 1 failed or diverged, 2 a mistake in the command, the
    configuration or the data, 129 ended by a closed terminal, 130 interrupted by
    Ctrl-C, 143 ended by SIGTERM; the last three after a checkpoint.
    """
    command = list(sys.argv[1:] if arguments is None else arguments)
    parser = commands.Parser(program, main.__doc__, USAGE)
    source = parser.add_mutually_exclusive_group(required=True)
    text = "train what this YAML file describes, or one of those that come with nanotorch, by name"
    source.add_argument("--config", metavar="FILE", action=Once, help=text)
    text = "resume a run that was interrupted or killed: its directory, a checkpoint, or 'latest'"
    source.add_argument("--resume", metavar="RUN", action=Once, help=text)
    text = "list the keys and names of configurations: an index, more about WORD, or 'all'"
    source.add_argument("--list", nargs="?", const="", metavar="WORD", help=text)
    text = "replace a value of the file: its path, and the new value in YAML"
    parser.add_argument("overrides", nargs="*", metavar="key=value", help=text)
    commands.add_option(parser)
    action = parser.add_mutually_exclusive_group()
    for group, flag, text in (
        (source, "--schema", "print the JSON schema of configurations, which editors use"),
        (action, "--check", "check the configuration, the data and one step; write nothing"),
        (action, "--find-lr", "show the loss at rising learning rates, suggest one; write nothing"),
        (action, "--print-config", "print every value and where it comes from, without training"),
        (parser, "--end-with-input", "pause as at SIGTERM when standard input ends"),
    ):
        group.add_argument(flag, action="store_true", help=text)
    with commands.lasting_streams():
        options = parser.parse_intermixed_args(command)
        if options.config is None and (options.check or options.find_lr or options.print_config):
            parser.error("--check, --find-lr and --print-config need --config")
        if options.end_with_input and sys.stdin is None:  # as in `train.py <&-`
            parser.error("--end-with-input needs an open standard input")
        if options.config is None and options.resume is None and options.overrides:
            parser.error(f"{options.overrides[0]!r} has no effect without --config or --resume")
        if options.end_with_input:
            commands.end_with_input()
        return commands.exit_code(lambda: run(options, command, program), unreadable=1)


def run(options: argparse.Namespace, command: Sequence[str], program: str) -> int:
    """Run the command `train` with its parsed options; return the exit code."""
    from nanotorch.train.config.load import catalogue, dump_config, load_config, schema_text
    from nanotorch.train.runs.run import build_experiment, resume, train
    from nanotorch.train.training.experiment import find_rate, try_step

    commands.check_once(options.overrides)
    commands.import_components(options.imports)
    if options.resume is not None:
        again = resume(options.resume, *options.overrides, command=command, program=program)
        return again.exit_code
    if options.schema:
        print(schema_text(), end="")
        return 0
    if options.list is not None:
        print(catalogue(options.list))
        return 0
    loaded = load_config(options.config, options.overrides)
    for note in loaded.notes:
        print(wrap_to_screen(note), file=sys.stderr)
    if options.print_config:
        print(dump_config(loaded), end="")
    elif options.check:
        experiment = build_experiment(loaded)
        with loaded.told():
            tried = try_step(experiment)
        print(wrap_to_screen(f"{experiment.describe()}\n{tried}"))
    elif options.find_lr:
        print(find_rate(build_experiment(loaded)))
    else:
        return train(loaded, command=command, program=program).exit_code
    return 0


def predict(arguments: Sequence[str] | None = None, program: str = "scripts/predict.py") -> int:
    """Predict with the model of a run.

    examples:
      PROGRAM latest new_patients.csv --output predictions.csv
      PROGRAM bce_classification new_patients.csv
      PROGRAM runs/digits_cnn/2026-01-31_12-00-00-abcdef images.npz
      PROGRAM latest --prompt "Shall I " --length 300

    The rows are prepared like the training data. A table needs the columns that the
    model was trained on; if it also has the target, the metrics are printed.

    Exit codes: 0 done, 2 a mistake.
    """
    parser = commands.Parser(program, predict.__doc__)
    add = parser.add_argument
    text = "the run's directory, 'latest', or a configuration's name for its newest run; or one of"
    add("run", metavar="RUN", help=f"{text} the run's checkpoints")
    add("input", nargs="?", metavar="FILE", help="the samples: a .csv, .npy or .npz file")
    text = "where to write the predictions; without it, or with '-', they are printed"
    add("--output", metavar="FILE", help=text)
    commands.add_option(parser)
    add("--prompt", metavar="TEXT", help="for a model of text: the text to continue")
    text = "number of characters to add; 400 by default"
    add("--length", type=int, default=400, metavar="N", help=text)
    text = "0 always takes the likeliest character, 1 follows the probabilities; 0.8 by default"
    add("--temperature", type=float, default=0.8, metavar="T", help=text)
    text = "seed of the drawn characters; 0 by default"
    add("--seed", type=int, default=0, metavar="N", help=text)
    with commands.lasting_streams():
        options = parser.parse_args(arguments)
        return commands.exit_code(lambda: run_option("predict", "predict", options))


def export(arguments: Sequence[str] | None = None, program: str = "nanotorch export") -> int:
    """Write the model of a run, with its preprocessing, as ONNX.

    examples:
      PROGRAM latest model.onnx
      PROGRAM bce_classification model.onnx

    A table has an input for each column, numbers in double precision or texts, shape
    (samples, 1); an array is one input, `x`. The outputs are the columns of
    `nanotorch predict`, or the scores of the next character after `codes`.

    Exit codes: 0 done, 2 a mistake, or a model that ONNX cannot describe.
    """
    parser = commands.Parser(program, export.__doc__)
    text = "the run's directory, 'latest', or a configuration's name for its newest run; or one of"
    parser.add_argument("run", metavar="RUN", help=f"{text} the run's checkpoints")
    parser.add_argument("file", metavar="FILE", help="the file to write")
    commands.add_option(parser)
    with commands.lasting_streams():
        options = parser.parse_args(arguments)
        return commands.exit_code(lambda: run_option("export", "export", options))


def sweep(arguments: Sequence[str] | None = None, program: str = "scripts/sweep.py") -> int:
    """Train what a YAML file describes several times, with different settings.

    examples:
      PROGRAM --config two_moons optimizer.lr=1e-1,1e-2 seed=0:3
      PROGRAM --config two_moons --random 9 'optimizer.lr=log(1e-4, 1e-1)'
      PROGRAM --config two_moons --jobs 2 optimizer=SGD,Adam
      mpiexec -n 9 python -m mpi4py.futures $(which nanotorch) sweep ...

    Commas separate the values; a:b stands for the whole numbers from a to b - 1.
    With --random, values can be drawn: log(a, b), uniform(a, b), integers(a, b).
    The runs are in runs/<config name>_sweep/<time>/, with a log of each and the
    table sweep.csv; `tensorboard --logdir` of this directory compares them under
    HPARAMS. The last example does 8 runs at a time, on all hosts of mpiexec that
    share the directory.

    Exit codes: 0 all finished, 1 some failed or diverged, 2 a mistake in the
    command, 130 interrupted by Ctrl-C, 143 ended by SIGTERM; runs under way keep
    a checkpoint.
    """
    parser = commands.Parser(program, sweep.__doc__)
    add = parser.add_argument
    named = "a YAML file, or the name of one that comes with nanotorch"
    add("--config", metavar="FILE", required=True, help=named)
    add("settings", nargs="+", metavar="key=values", help="a setting and the values to try")
    add(
        "--random",
        type=whole_number(1),
        metavar="N",
        help="do N random runs instead of all combinations",
    )
    text = "seed of the random values; 0 by default"
    add("--seed", type=whole_number(0), default=0, metavar="N", help=text)
    text = "how many runs at a time; 1 by default"
    add("--jobs", type=whole_number(1), default=1, metavar="N", help=text)
    add("--metric", help="sort the runs by this metric, such as test/accuracy")
    add("--dir", default="runs", help="where sweeps get their directories; `runs` by default")
    commands.add_option(parser)
    with commands.lasting_streams(), handle_signals([signal.SIGTERM], commands.Ended.handle):
        options = parser.parse_intermixed_args(arguments)
        return commands.exit_code(lambda: run_option("sweep", "sweep", options), unreadable=1)


def compare(arguments: Sequence[str] | None = None, program: str = "scripts/compare.py") -> int:
    """Show runs side by side: their settings where they differ, and their results.

    examples:
      PROGRAM runs/two_moons
      PROGRAM runs/two_moons_sweep --metric validation/accuracy
      PROGRAM runs/two_moons latest --plot comparison.png

    A directory means every run in it, `latest` the newest run.

    Exit codes: 0 done, 1 some runs are unreadable, 2 a mistake in the command.
    """
    parser = commands.Parser(program, compare.__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run, or a directory of runs")
    parser.add_argument("--metric", help="sort the runs by this metric, such as test/accuracy")
    parser.add_argument("--plot", metavar="FILE", help="draw the metric's curves to this file")
    with commands.lasting_streams():
        options = parser.parse_args(arguments)
        return commands.exit_code(lambda: run_option("sweep", "compare", options))
