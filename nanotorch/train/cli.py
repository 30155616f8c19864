"""The command line: `nanotorch train`, `scripts/train.py` and `python -m nanotorch.train`.

examples:
  PROGRAM --config linear_regression
  PROGRAM --config bce_classification train.epochs=5 optimizer.lr=1e-2
  PROGRAM --config two_moons 'model.layers[0].out_features=8'
  PROGRAM --config function_minimization 'function.start=[3, -2]'
  PROGRAM --config "runs/$(cat runs/latest.txt)/config.yaml"     the newest run again
  PROGRAM --list Adam     what can be said of it; --list layers, --list for everything
  PROGRAM --import my_layers.py --config my.yaml     with what that file registers
  PROGRAM --resume latest     resume the newest run, killed or interrupted
  PROGRAM --resume runs/two_moons/2026-01-31_12-00-00-abcdef train.epochs=80     and longer

A run leaves runs/<config name>/<time>/ with config.yaml, metrics.jsonl, run.json,
weights.safetensors, checkpoints, plots and TensorBoard events; runs/latest.txt names the newest.
Exit codes: 0 finished, 1 failed or diverged, 2 a mistake in the configuration, the data or what
is to be resumed, 130 interrupted by Ctrl-C and 143 by SIGTERM, after a checkpoint.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch import optim

from . import commands
from .catalogue import catalogue, schema_text, unknown
from .config import SUFFIXES, refusal
from .experiment import Experiment
from .load import dump_config, load_config
from .loop import Callback, Loop
from .metrics import aligned
from .minimization import Minimization
from .run import build_experiment, resume, train
from .supervised import Supervised

# One forward and backward pass, to find out before a training what would end it at once.


@np.errstate(all="ignore")  # what is not finite is told
def try_step(experiment: Experiment) -> str:
    """Return what became of one forward and backward pass; nothing is written."""
    if isinstance(experiment, Minimization):
        value = experiment.function(experiment.x)
        loss, said, blamed = float(value.detach().numpy().min()), "at the start", "function"
        value.sum().backward()
        parameters = {"x": experiment.x}
    else:
        assert isinstance(experiment, Supervised)
        x, y = next(experiment.batches(0))[:2]
        value = experiment.loss(experiment.model(x), y)
        loss, said = value.item() * experiment.unit, f"a batch of {len(x)} samples"
        blamed = "model"
        value.backward()
        named = experiment.model.named_parameters()
        parameters = {name: p for name, p in named if p.requires_grad}
    if not np.isfinite(loss):
        path = "loss" if blamed == "model" else blamed
        raise refusal(path, f"{said}: the loss is {loss}")
    for name, p in parameters.items():
        if p.grad is not None and not np.isfinite(p.grad.numpy()).all():
            raise refusal(blamed, f"{said}: the gradient of {name} is not finite")
    unused = [name for name, p in parameters.items() if p.grad is None]
    text = f"{said}: loss {loss:.6g}, all gradients are finite"
    return f"{text}; without gradient: {', '.join(unused)}" if unused else text


# A learning rate to begin with: the loss while the rate rises from step to step.


LOWEST, HIGHEST, STEPS = 1e-7, 10.0, 100
SMOOTHING = 0.9
"""The share of the mean of the losses before in the next one."""
TOO_LARGE = 4.0
"""How many times its least value the loss becomes before the rate rises no further."""
ROWS, WIDTH = 20, 40
FIRST = 10
"""Steps before the mean is worth anything."""


class RateSweep(Callback):
    """Multiplies the learning rate by a factor after each step, until the loss runs away."""

    def __init__(self, optimizer: optim.Optimizer, steps: int) -> None:
        self._optimizer, self._mean = optimizer, 0.0
        self._factor = (HIGHEST / LOWEST) ** (1 / max(steps - 1, 1))
        self.rates, self.losses = list[float](), list[float]()

    def on_start(self, loop: Loop) -> None:
        self._set(LOWEST)

    def on_step(self, loop: Loop) -> None:
        rate = LOWEST * self._factor ** (loop.step - 1)
        self._mean = SMOOTHING * self._mean + (1 - SMOOTHING) * loop.loss
        smoothed = self._mean / (1 - SMOOTHING**loop.step)  # as if the mean had begun with a loss
        if not math.isfinite(smoothed):
            loop.stop("not finite")
            return
        self.rates.append(rate)
        self.losses.append(smoothed)
        if smoothed > TOO_LARGE * max(min(self.losses), 0) and loop.step > FIRST:
            loop.stop("runs away")
        self._set(rate * self._factor)

    def _set(self, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate


def find_rate(experiment: Experiment, steps: int = STEPS) -> str:
    """Return how the loss of an experiment, which is changed by this, depends on the rate.

    Reference:
        Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017.
    """
    sweep = RateSweep(experiment.optimizer, steps)
    with np.errstate(all="ignore"):
        Loop(experiment, steps, [sweep]).run()
    return rate_text(sweep.rates, sweep.losses)


def steepest(rates: list[float], losses: list[float]) -> float | None:
    """Return the rate at which the loss falls fastest, over the logarithm of the rate."""
    if len(losses) < FIRST + 3:
        return None
    lowest = int(np.argmin(losses))
    slopes = np.gradient(np.array(losses), np.log(rates))[FIRST : max(lowest, FIRST + 1)]
    best = int(np.argmin(slopes))
    return rates[FIRST + best] if slopes[best] < 0 else None


def rate_text(rates: list[float], losses: list[float]) -> str:
    """Return the smoothed loss before the step at each rate as a table, and a suggestion."""
    if not losses:
        return "the loss is not finite from the beginning"
    low = min(losses)
    high = min(max(losses), low + 2 * (losses[0] - low))
    rows = [["learning rate", "loss", ""]]
    for index in np.unique(np.linspace(0, len(rates) - 1, ROWS).astype(int)):
        share = min((losses[index] - low) / (high - low), 1) if high > low else 0
        bar = "#" * round(WIDTH * share)
        rows.append([f"{rates[index]:.2e}", f"{losses[index]:.5g}", bar.ljust(WIDTH)])
    table = aligned(rows)
    if (rate := steepest(rates, losses)) is None:
        return f"{table}\nthe loss falls nowhere: no rate can be suggested"
    text = f"the loss falls fastest near {rate:.1e}; a rate up to there is a good start"
    return f"{table}\n{text}: optimizer.lr={rate:.1e}"


class Once(argparse.Action):
    """Keeps the value of an option, and refuses a second one."""

    def __call__(self, parser: Any, options: Any, value: Any, name: Any = None) -> None:
        """Keep the value."""
        if getattr(options, self.dest) is not None:
            parser.error(f"{name} is given twice: {getattr(options, self.dest)!r} and {value!r}")
        setattr(options, self.dest, value)


def parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = commands.Parser(program, "Train what a YAML file describes.", __doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    text = "a YAML file, or the name of one that comes with nanotorch"
    source.add_argument("--config", metavar="FILE", action=Once, help=text)
    text = "resume a run: its directory, one of its checkpoints, or 'latest'"
    source.add_argument("--resume", metavar="RUN", action=Once, help=text)
    text = "what a configuration may say: everything, one kind (layers) or one name (Linear)"
    source.add_argument("--list", nargs="?", const="", metavar="WORD", help=text)
    text = "print the JSON schema of configurations, for editors"
    source.add_argument("--schema", action="store_true", help=text)
    text = "a value that replaces the file's; the key is its path, the value is YAML"
    parser.add_argument("overrides", nargs="*", metavar="key=value", help=text)
    commands.add_option(parser)
    action = parser.add_mutually_exclusive_group()
    text = "check the configuration, the data and one forward and backward pass, write nothing"
    action.add_argument("--check", action="store_true", help=text)
    text = "show the loss while the learning rate rises, and suggest one; write nothing"
    action.add_argument("--find-lr", action="store_true", help=text)
    text = "print every value with where it came from, run nothing"
    action.add_argument("--print-config", action="store_true", help=text)
    text = "pause as by SIGTERM when standard input ends: when what holds it is gone"
    parser.add_argument("--end-with-input", action="store_true", help=text)
    return parser


def main(arguments: Sequence[str] | None = None, program: str = "scripts/train.py") -> int:
    """Run the command line; return the exit code.

    Args:
        arguments: those after the program's name; the process's own by default.
        program: how the program is called, for its help.
    """
    command = list(sys.argv[1:] if arguments is None else arguments)
    with commands.lasting_streams():
        reader = parser(program)
        file = next((w for w in command if w.endswith((*SUFFIXES, ".csv")) and "=" not in w), "")
        if file and not {"--config", "--resume"} & {word.partition("=")[0] for word in command}:
            table = f"FILE data.csv={file}, where FILE describes the model"
            reader.error(f"write --config {table if file.endswith('.csv') else file}")
        options = reader.parse_intermixed_args(command)
        if options.config is None and (options.check or options.find_lr or options.print_config):
            reader.error("--check, --find-lr and --print-config need --config")
        if options.end_with_input and sys.stdin is None:  # as in `train.py <&-`
            reader.error("--end-with-input needs a standard input that is open")
        if options.config is None and options.resume is None and options.overrides:
            reader.error(f"{options.overrides[0]!r} has no effect without --config or --resume")
        if options.end_with_input:
            commands.end_with_input()
        return commands.exit_code(lambda: run(options, command, program), unreadable=1)


def run(options: argparse.Namespace, command: Sequence[str], program: str) -> int:
    """Do what the options say; return the exit code."""
    commands.import_components(options.imports)
    program = commands.call_again(program, options.imports)
    if options.resume is not None:
        again = resume(options.resume, *options.overrides, command=command, program=program)
        return again.exit_code
    if options.schema:
        print(schema_text(), end="")
        return 0
    if options.list is not None:
        text = catalogue(options.list)
        print(unknown(options.list) if text is None else text, file=None if text else sys.stderr)
        return 0 if text else 2
    loaded = load_config(options.config, options.overrides)
    for note in loaded.notes:
        print(note, file=sys.stderr)
    if options.print_config:
        print(dump_config(loaded), end="")
        return 0
    if options.check:
        experiment = build_experiment(loaded)
        with loaded.origins.told():
            tried = try_step(experiment)
        print(f"{experiment.describe()}\n{tried}")
        return 0
    if options.find_lr:
        print(find_rate(build_experiment(loaded)))
        return 0
    return train(loaded, command=command, program=program).exit_code
