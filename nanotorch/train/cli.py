"""The command line: `scripts/train.py` and `python -m nanotorch.train`."""

import argparse
import sys
from collections.abc import Sequence

from .catalogue import catalogue, unknown
from .checkpoint import CheckpointError
from .dump import dump_config
from .imports import add_option, call_again, import_components
from .json_schema import schema_text
from .load import load_config
from .options import Parser
from .problems import ConfigError, named
from .rate_finder import find_rate, rate_text
from .rehearsal import rehearse
from .resume import resume
from .run import build_experiment, train
from .streams import end_with_input, patient_streams

EXAMPLES = """\
examples:
  PROGRAM --config configs/linear_regression.yaml
  PROGRAM --config configs/bce_classification.yaml train.epochs=5 optimizer.lr=1e-2
  PROGRAM --config configs/two_moons.yaml 'model.layers[0].out_features=8'
  PROGRAM --config configs/function_minimization.yaml 'function.start=[3, -2]'
  PROGRAM --config "runs/$(cat runs/latest.txt)/config.yaml"     the newest run again
  PROGRAM --list Adam     what can be said of it; --list layers, --list for everything
  PROGRAM --import my_layers.py --config my.yaml     with what that file registers
  PROGRAM --resume latest     go on with the newest run, killed or interrupted
  PROGRAM --resume runs/two_moons/2026-01-31_12-00-00-abcdef train.epochs=80     and longer

A run leaves runs/<config name>/<time>/ with config.yaml, metrics.jsonl, run.json,
weights.safetensors, checkpoints, plots and TensorBoard events; runs/latest.txt names the newest.
Exit codes: 0 finished, 1 failed or diverged, 2 a mistake in the configuration, the data or what
is to be resumed, 130 interrupted by Ctrl-C and 143 by SIGTERM, after a checkpoint.
"""


def parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = Parser(program, "Train what a YAML file describes.", EXAMPLES)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--config", metavar="FILE", help="the YAML file")
    source.add_argument(
        "--resume",
        metavar="RUN",
        help="go on with a run: its directory, one of its checkpoints, or 'latest'",
    )
    source.add_argument(
        "--list",
        nargs="?",
        const="",
        metavar="WORD",
        help="what a configuration may say: everything, one kind (layers) or one name (Linear)",
    )
    source.add_argument(
        "--schema", action="store_true", help="print the JSON schema of configurations, for editors"
    )
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="key=value",
        help="a value that replaces the file's; the key is its path, the value is YAML",
    )
    parser.add_argument(
        "--end-with-input",
        action="store_true",
        help="pause as by SIGTERM when standard input ends: when what holds it is gone",
    )
    add_option(parser)
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--check",
        action="store_true",
        help="check the configuration, the data and one forward and backward pass, write nothing",
    )
    action.add_argument(
        "--find-lr",
        action="store_true",
        help="show the loss while the learning rate rises, and suggest one; write nothing",
    )
    action.add_argument(
        "--print-config",
        action="store_true",
        help="print every value with where it came from, run nothing",
    )
    return parser


def main(arguments: Sequence[str] | None = None, program: str = "scripts/train.py") -> int:
    """Run the command line; return the exit code.

    Args:
        arguments: those after the program's name; the process's own by default.
        program: how the program is called, for its help.
    """
    command = list(sys.argv[1:] if arguments is None else arguments)
    with patient_streams():
        options = parsed(command, program)
        if options.end_with_input:
            end_with_input()
        return exit_code(options, command, program)


def parsed(command: Sequence[str], program: str) -> argparse.Namespace:
    """Return the options of a command; those that would have no effect end the program."""
    reader = parser(program)
    options = reader.parse_intermixed_args(command)
    if options.config is None and (options.check or options.find_lr or options.print_config):
        reader.error("--check, --find-lr and --print-config need --config")
    if options.end_with_input and sys.stdin is None:  # as in `train.py <&-`
        reader.error("--end-with-input needs a standard input that is open")
    if options.config is None and options.resume is None and options.overrides:
        reader.error(f"{options.overrides[0]!r} has no effect without --config or --resume")
    return options


def exit_code(options: argparse.Namespace, command: Sequence[str], program: str) -> int:
    """Do what the options say; tell what goes wrong, and return the exit code."""
    try:
        code = run(options, command, program)
        sys.stdout.flush()
        return code
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    except CheckpointError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"error: {named(str(error))}", file=sys.stderr)
        return 1


def run(options: argparse.Namespace, command: Sequence[str], program: str) -> int:
    """Do what the options say; return the exit code."""
    import_components(options.imports)
    program = call_again(program, options.imports)
    if options.resume is not None:
        return resume(options.resume, options.overrides, command, program).exit_code
    if options.schema:
        print(schema_text(), end="")
        return 0
    if options.list is not None:
        text = catalogue(options.list)
        print(unknown(options.list) if text is None else text, file=None if text else sys.stderr)
        return 0 if text else 2
    loaded = load_config(options.config, options.overrides)
    if options.print_config:
        print(dump_config(loaded), end="")
        return 0
    if options.check:
        experiment = build_experiment(loaded)
        print(f"{experiment.describe()}\n{rehearse(experiment, loaded.origins)}")
        return 0
    if options.find_lr:
        print(rate_text(find_rate(build_experiment(loaded))))
        return 0
    return train(loaded, command, program).exit_code
