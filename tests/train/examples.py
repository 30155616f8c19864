"""Small configurations and tables for the tests of the trainer."""

import contextlib
import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.train import RunResult, cli, load_config, train
from nanotorch.train.config.load import LoadedConfig
from nanotorch.train.config.sections import ConfigError
from nanotorch.train.training.loop import Callback, Loop
from nanotorch.train.training.supervised import Supervised

REGRESSION = """\
experiment: regression
data:
  csv: table.csv
  target: y
model:
  layers:
    - {name: Linear, out_features: 1}
loss: {name: MSELoss}
optimizer: {name: SGD, lr: 0.1}
train: {epochs: 2, batch_size: 4}
log: {tensorboard: false, plots: false, every: 1}
"""

CLASSIFICATION = """\
experiment: classification
data:
  generator: {name: moons, samples: 40}
model:
  layers: [{name: Linear, out_features: 4}, ReLU, {name: Linear, out_features: 1}]
loss: BCEWithLogitsLoss
optimizer: {name: Adam, lr: 0.01}
train: {steps: 5, batch_size: 8}
log: {tensorboard: false, plots: false, every: 1}
"""

MANY = (
    CLASSIFICATION.replace("moons", "blobs")
    .replace("out_features: 1", "out_features: 3")
    .replace("BCEWithLogitsLoss", "CrossEntropyLoss")
)

MINIMIZATION = """\
experiment: minimization
function:
  expression: x[0]**2 + (x[1] - 1)**2
  start: [1, 2]
  iterations: 3
optimizer: {name: SGD, lr: 1, momentum: 0.5}
log: {tensorboard: false, plots: false}
"""

TABLE = "a,b,y\n" + "".join(f"{i},{i * i % 7},{3 * i + 1}\n" for i in range(20))


def write_example(directory: Path, text: str = REGRESSION, table: str = TABLE) -> Path:
    """Write `x.yaml` and the table it may name; return the configuration's path."""
    (directory / "table.csv").write_text(table, "utf-8")
    path = directory / "x.yaml"
    path.write_text(text, "utf-8")
    return path


def loaded(text: str = REGRESSION, *overrides: str, table: str = TABLE) -> LoadedConfig:
    write_example(Path(), text, table)
    return load_config("x.yaml", overrides)


def experiment(text: str = REGRESSION, *overrides: str, table: str = TABLE) -> Supervised:
    read = loaded(text, *overrides, table=table)
    with read.told():
        return Supervised(read.config)


def trained(text: str = REGRESSION, *overrides: str) -> Supervised:
    run = experiment(text, *overrides)
    Loop(run, run.steps, []).run()
    return run


def result_of(text: str, *overrides: str) -> RunResult:
    return train(loaded(text, *overrides))


def weights(run: Supervised) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy().copy() for name, tensor in run.state().items()}


def same_weights(one: RunResult, other: RunResult) -> bool:
    states = one.model.state_dict(), other.model.state_dict()
    return all(torch.equal(value, states[1][name]) for name, value in states[0].items())


def record_of(directory: Path | None = None) -> dict[str, Any]:
    """What `run.json` says, of the only run if none is named."""
    (path,) = [directory] if directory else Path("runs/x").iterdir()
    return json.loads((path / "run.json").read_text("utf-8"))


def metrics_of(directory: Path) -> list[dict[str, Any]]:
    """The lines of `metrics.jsonl`."""
    lines = (directory / "metrics.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def left_by(directory: Path) -> dict[str, bytes]:
    """What a run has measured and learned, to the bit."""
    names = ("weights.safetensors", "metrics.jsonl")
    return {name: (directory / name).read_bytes() for name in names}


def recorded(directory: Path, name: str) -> list[Any]:
    """What `metrics.jsonl` has under a name."""
    return [line[name] for line in metrics_of(directory) if name in line]


def refusal_of(call: Callable[..., Any], kind: Any = ConfigError) -> Callable[..., str]:
    """A function that makes the call and gives the text of its error."""

    def refusal(*args: Any, **kwargs: Any) -> str:
        with pytest.raises(kind) as caught:
            call(*args, **kwargs)
        return str(caught.value)

    return refusal


COMMANDS = {
    "train": cli.main, "predict": cli.predict, "export": cli.export, "sweep": cli.sweep,
    "compare": cli.compare,
}  # fmt: skip


def said(command: str, *more: str) -> tuple[int, str, str]:
    """Return the exit code of a command as it is typed, what it prints, and its errors.

    Args:
        more: further words, which no shell takes apart.
    """
    name, *words = shlex.split(command)
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = COMMANDS[name]([*words, *more])
        except SystemExit as exit_:  # an override that looks like an option
            code = int(str(exit_.code))
    return code, out.getvalue(), errors.getvalue()


def mistake(command: str, *more: str) -> str:
    """Return the errors of a command that ends with the code of a mistake."""
    code, _, errors = said(command, *more)
    assert code == 2
    return errors


class Kept:
    """A recorder that keeps everything."""

    events = None

    def __init__(self) -> None:
        self.records: list[tuple[int, int, dict[str, float]]] = []

    def write(self, step: int, epoch: int, values: Any, passing: Any = None) -> None:
        self.records.append((step, epoch, dict(values)))


class At(Callback):
    """Does something after each step, or after one."""

    def __init__(self, action: Callable[[Loop], Any], step: int | None = None) -> None:
        self._action, self._step = action, step

    def on_step(self, loop: Loop) -> None:
        if self._step in (None, loop.step):
            self._action(loop)
