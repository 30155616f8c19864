"""`fit`: a module and samples of one's own, with the trainer's loop."""

import inspect
import io
import os
import re
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import nanotorch as torch
import nanotorch.nn.functional as F
from nanotorch import nn
from nanotorch.optim.lr_scheduler import OneCycleLR, StepLR
from nanotorch.serialization import load
from nanotorch.train import Callback, CheckpointError, RunResult, fit, load_config, train
from nanotorch.train.config.load import all_homes
from nanotorch.train.config.schema import FitConfig, Train
from nanotorch.train.config.sections import section_keys
from nanotorch.train.training.supervised import Supervised, streams
from nanotorch.utils.data import (
    BatchSampler,
    DataLoader,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)
from tests.several import PYTHON, ended, posix
from tests.train.examples import At, mistake, record_of, refusal_of, same_weights

generator = np.random.default_rng(0)
X = generator.normal(size=(60, 3))
Y = (X @ [[1.0], [-2.0], [0.5]] + 0.1 * generator.normal(size=(60, 1))).round(3)
CLASSES = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
PAIRS = TensorDataset(torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32))
QUIET: dict[str, Any] = {"verbose": False, "epochs": 3, "batch_size": 8}


def network(outputs: int = 1, dropout: float = 0.3) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, outputs))


def normalized() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))


def fitted(data: Any = None, model: Any = None, **more: Any) -> RunResult:
    """The example, with what a test is about."""
    model = model or network()
    settings = {"loss": nn.MSELoss(), "optimizer": {"name": "Adam", "lr": 0.01}, **QUIET, **more}
    return fit(model, (X, Y) if data is None else data, **settings)


@pytest.mark.parametrize(("loss", "outputs"), [("MSELoss", 1), ("CrossEntropyLoss", 3)])
def test_numbers_are_those_of_the_same_configuration(loss: str, outputs: int) -> None:
    np.savez("all.npz", x=X, y=Y[:, 0] if outputs == 1 else CLASSES)
    layers = [{"name": "Linear", "out_features": 8}, "Tanh", "Dropout"]
    data: dict[str, Any] = {"npz": "all.npz", "inputs": "x", "target": "y"}
    if outputs == 1:
        data["standardize_target"] = False  # which is about a target of a configuration
    settings: dict[str, Any] = {"epochs": 4, "batch_size": 16, "clip_norm": 1.0, "accumulate": 2}
    told = {
        "experiment": "regression" if outputs == 1 else "classification", "seed": 3, "data": data,
        "model": {"layers": [*layers, {"name": "Linear", "out_features": outputs}]}, "loss": loss,
        "optimizer": {"name": "AdamW", "lr": 0.02}, "scheduler": {"name": "StepLR", "step_size": 2},
        "averaging": {"decay": 0.5}, "train": settings, "log": {"plots": False},
    }  # fmt: skip
    samples = Supervised(load_config(told).config).dataset.parts
    parts = {name: (part.x, part.y) for name, part in samples.items()}
    settings = settings | {"seed": 3, "averaging": {"decay": 0.5}, "verbose": False}
    settings |= {"validation": parts["validation"], "test": parts["test"]}
    expected = train(told, verbose=False)
    for by_name in (False, True):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(), nn.Linear(8, outputs))
        adam = torch.optim.AdamW(model.parameters(), lr=0.02)
        given = {"loss": getattr(nn, loss)(), "optimizer": adam, "scheduler": StepLR(adam, 2)}
        run = fit(model, parts["train"], **({k: told[k] for k in given} if by_name else given),
                  **settings)  # fmt: skip
        assert (run.results, run.history) == (expected.results, expected.history)
        assert same_weights(run, expected)


@pytest.mark.parametrize("form", ["tensors", "dataset", "loader", "list", "several inputs"])
def test_forms_of_samples(form: str) -> None:
    x, y = PAIRS.tensors
    loader = DataLoader(PAIRS, 8, shuffle=True, generator=streams(0, 2)[1])
    model = Joined(network()) if form == "several inputs" else network()
    data: Any = {
        "tensors": (x, y), "dataset": PAIRS, "loader": loader, "list": [X, Y],
        "several inputs": (x[:, :2], x[:, 2:], y),
    }[form]  # fmt: skip
    more = {"batch_size": 32} if form == "loader" else {}
    run, plain = fitted(data, model, **more), fitted()
    assert all(map(torch.equal, run.model.parameters(), plain.model.parameters()))
    assert run.results == pytest.approx(plain.results, rel=1e-6)
    inputs = (X[:, :2], X[:, 2:]) if form == "several inputs" else (X,)
    assert torch.equal(run.predict(*inputs), plain.predict(X))


class Joined(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return self.inner(torch.cat([first, second], 1))


def test_without_a_directory_nothing_is_left_behind(capsys: pytest.CaptureFixture[str]) -> None:
    run = fitted(validation=0.25)
    assert capsys.readouterr() == ("", "")
    assert list(Path().iterdir()) == []
    assert not run.directory.exists()
    assert run.history["epoch"] == [1, 2, 3]
    assert run.history["validation/loss"][-1] == run.results["validation/loss"]
    assert (run.status, run.model.training) == ("finished", False)


def test_a_run_leaves_its_record() -> None:
    run = fitted(validation=(X[:5], Y[:5]), directory="runs/mine", log={"plots": False})
    assert run.directory.parent == Path("runs/mine")
    assert Path("runs/mine/latest.txt").read_text("utf-8").strip() == run.directory.name
    told = record_of(run.directory)
    assert (told["status"], told["steps"]) == ("finished", 24)
    kept = load(run.directory / "weights.safetensors")
    assert all(torch.equal(kept[name], value) for name, value in run.model.state_dict().items())
    events = EventAccumulator(str(run.directory)).Reload()
    assert events.Tags()["graph"]
    assert len(events.Scalars("loss/validation")) == 3
    assert (run.directory / "checkpoints/step-00000024.safetensors").exists()


@pytest.mark.parametrize("form", ["arrays", "loader"])
@pytest.mark.parametrize("step", [5, 8, 13])
def test_a_resumed_fit_is_one_that_was_never_interrupted(form: str, step: int, capsys) -> None:
    def one(directory: str, *callbacks: Callback, **more: Any) -> RunResult:
        model = network()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        data: Any = DataLoader(PAIRS, 8, shuffle=True, drop_last=True)
        if form == "arrays":
            data, more["batch_size"] = PAIRS.tensors, 8
        return fit(
            model, data, loss=F.mse_loss, optimizer=sgd, epochs=3, validation=(X, Y),
            scheduler=OneCycleLR(sgd, 0.2, total_steps=24), callbacks=callbacks,
            directory=directory, log={"plots": False}, **more,
        )  # fmt: skip

    whole = one("whole")
    first = one("cut", At(lambda loop: loop.pause("interrupted"), step))
    assert first.status == "interrupted"
    assert f"to resume: fit(..., resume='{first.directory}')" in capsys.readouterr().out
    again = one("cut", resume=True)
    assert again.directory == first.directory
    assert same_weights(again, whole)
    assert (again.results, again.history) == (whole.results, whole.history)
    metrics = [run.directory / "metrics.jsonl" for run in (whole, again)]
    assert metrics[0].read_bytes() == metrics[1].read_bytes()


def test_a_finished_fit_is_not_trained_again(capsys: pytest.CaptureFixture[str]) -> None:
    first = fitted(directory="runs", resume=True)
    model = network()
    again = fitted(model=model, directory="runs", resume=True, verbose=True)
    assert "nothing is left to do" in capsys.readouterr().out
    assert (again.model, model.training, again.directory) == (model, False, first.directory)
    assert same_weights(again, first)
    assert (again.results, again.history) == (first.results, first.history)
    assert fitted(directory="runs").directory != first.directory


@pytest.mark.parametrize("batch_size", [7, 60])
def test_a_finished_fit_goes_on_as_if_it_had_not_ended(batch_size: int) -> None:
    """Also where its last batch is a whole one: 60 samples."""
    first = fitted(directory="runs", epochs=2, batch_size=batch_size)
    longer = fitted(directory="runs", resume=True, epochs=4, batch_size=batch_size)
    assert longer.directory == first.directory
    assert same_weights(longer, fitted(epochs=4, batch_size=batch_size))


def test_what_cannot_be_resumed() -> None:
    told = refusal_of(fitted, CheckpointError)
    again: dict[str, Any] = {"directory": "runs", "resume": True}
    run = fitted(directory="runs")
    message = told(data=(X[:50], Y[:50]), **again)
    assert 'data was "60 samples", and is "50 samples" now; start a new run' in message
    assert "train.batch_size was 8, and is 9" in told(batch_size=9, **again)
    again["resume"] = run.directory
    assert "optimizer.name was Adam" in told(optimizer="SGD", **again)
    message = mistake(f"train --resume {run.directory}")
    assert "a run of `fit`: call it again with resume=True" in message


def test_metrics_of_ones_own_are_measured_and_watched() -> None:
    def largest(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return (outputs - targets).abs().max()

    stopping = {"monitor": "validation/largest", "mode": "max", "patience": 1}
    own = {"metrics": {"largest": largest}, "early_stopping": stopping}
    run = fitted(loss=F.l1_loss, validation=0.2, epochs=50, **own)
    assert len(run.history["epoch"]) < 50
    assert {"train/largest", "validation/largest", "validation/mae"} <= run.results.keys()


def test_classes_are_measured_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def largest(outputs: torch.Tensor, targets: torch.Tensor) -> Any:
        return outputs[:, 0].topk(40).values.mean()  # more than a batch has

    run = fitted((X, CLASSES), network(3, 0.0), loss=F.cross_entropy, optimizer="Adam",
                 epochs=40, metrics={"largest": largest}, verbose=True)  # fmt: skip
    assert run.results["train/accuracy"] > 0.7
    assert np.isfinite(run.results["train/largest"])
    assert "\\ predicted   0   1   2" in capsys.readouterr().out
    assert run.predict(X).argmax(1).shape == (60,)


@pytest.mark.parametrize(("scale", "remedy"), [(1e5, "train on (y - mean) /"), (1, "train longer")])
def test_a_fit_worse_than_the_mean_says_so(scale: float, remedy: str, capsys) -> None:
    x = torch.linspace(0, 1, 32).unsqueeze(1)
    slow = {"name": "SGD", "lr": 1e-9}
    fit(nn.Linear(1, 1), (x, scale * (x + 1)), loss="MSELoss", optimizer=slow, epochs=1)
    last = " ".join(capsys.readouterr().out.partition("\nwarning: ")[2].split())
    assert last.startswith("train R2 -")
    assert remedy in last


def test_numbers_that_are_not_finite_in_a_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    samples = TensorDataset(torch.tensor(NAN).float(), torch.tensor(Y).float())
    assert fitted(samples, verbose=True, batch_size=60).status == "diverged"
    assert "\nthe loss is nan before the first step, whatever" in capsys.readouterr().out


def test_a_stream_that_cannot_encode_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a file or a pipe on Windows, which has a code page."""
    stream = io.TextIOWrapper(io.BytesIO(), "cp1252")
    monkeypatch.setattr(sys, "stdout", stream)
    assert fitted(verbose=True).status == "finished"
    assert b"\n+ " in stream.buffer.getvalue()  # type: ignore[attr-defined]


def test_the_scheduler_makes_a_step_an_epoch_or_a_step() -> None:
    rates, model = [], network()
    adam = torch.optim.Adam(model.parameters(), lr=1.0)
    look = At(lambda loop: rates.append(adam.param_groups[0]["lr"]))
    fitted(model=model, optimizer=adam, scheduler=StepLR(adam, 1, 0.5), callbacks=[look])
    assert rates == [1.0] * 8 + [0.5] * 8 + [0.25] * 8


def test_a_signal_ends_it_after_the_step() -> None:
    run = fitted(callbacks=[At(lambda loop: signal.raise_signal(signal.SIGINT), 4)])
    assert (run.status, run.results) == ("interrupted", {})
    assert run.predict(X).shape == (60, 1)
    # Whole numbers are predicted as the model takes them.
    assert torch.equal(run.predict([[1, 2, 3]]), run.predict([[1.0, 2.0, 3.0]]))


def test_a_model_may_have_its_own_modes_and_frozen_parts() -> None:
    class Switched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = network()
            self.scale = nn.Parameter(torch.ones(1), requires_grad=False)

        def train(self, mode: bool = True) -> "Switched":
            self.noisy = mode
            return super().train(mode)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.add((self.training, self.noisy, self.scale.requires_grad))
            return self.layers(x) * self.scale

    seen = set[tuple[bool, bool, bool]]()
    fitted(model=Switched().train(), validation=PAIRS)
    assert seen == {(True, True, False), (False, False, False)}


DATA = "expected a tuple (x, y), a Dataset or a DataLoader"
OTHER = torch.optim.SGD(network().parameters(), lr=1)
LOADER = DataLoader(TensorDataset(torch.ones(4, 3), torch.ones(4, 1)))
ALONE = "leaves a batch of one sample; choose another size or a DataLoader with drop_last=True: Exp"
TWO, NONE = (CLASSES.tolist().index(label) for label in (2, 0))
NAN = X.copy()
NAN[7, 1] = np.nan
# The arguments of `fitted`, and what is said of them.
WRONG: dict[str, str] = {
    "model=nn.Linear": "model: expected a module, such as nn.Linear(4, 1); got the class Linear",
    "model=nn.Flatten()": "model: has no parameters to learn",
    "(X[:, :2], Y)": "model: does not accept inputs of shape (2, 2): addmm: mat1",
    "loss=nn.MSELoss": "loss: expected nn.MSELoss(), a function",
    "loss='MSELos'": "loss.name: 'MSELos' is not known; did you mean 'MSELoss'?",
    "loss=nn.MSELoss(reduction='sum')": "loss: needs reduction='mean'",
    "(X, Y[:, 0])": "loss: for outputs of shape (2, 1) and targets of (2,): every output would be",
    "optimizer=None": "optimizer: expected torch.optim.Adam(model.parameters()), or",
    "optimizer=torch.optim.Adam": "optimizer: expected torch.optim.Adam(model.parameters())",
    "optimizer='Adm'": "optimizer.name: 'Adm' is not known",
    "optimizer={'name': 'Adam', 'lr': -1}": "optimizer",
    "optimizer=OTHER": "optimizer: has none of the model's parameters",
    "scheduler=StepLR(OTHER, 1)": "scheduler: belongs to another optimizer",
    "scheduler=3": "scheduler: expected StepLR(optimizer, 10)",
    "epochs=0": "epochs: must be at least 1, got 0",
    "epochs=None": "needs 'epochs' or 'steps'",
    "epoch=3": "epoch: unknown argument; did you mean 'epochs'?",
    "directry='x'": "directry: unknown argument; did you mean 'directory'?",
    "patience=1": "patience: unknown argument; write scheduler={'name': 'ReduceLROnPlateau', "
    "'patience': ...} or early_stopping={'patience': ...}",
    "()": "data: has no samples",
    "resume='latest'": "resume: needs `directory`",
    "metrics={'mae': lambda outputs, targets: outputs}": "metrics.mae: needs to return one number "
    "for outputs of shape (60, 1) and targets",
    "metrics={'loss': F.l1_loss}": "metrics.loss: is measured in any case",
    "loss=lambda outputs, targets: F.mse_loss(outputs.detach(), targets)": "loss: its result does "
    "not depend on the outputs for autograd: detach()",
    "early_stopping={'patiense': 3}": "early_stopping.patiense: unknown key; did you mean "
    "'patience'?",
    "callbacks=[type('Rates', (), {})]": "callbacks[0]: expected a nanotorch.train.Callback; got "
    "the class Rates",
    "callbacks=3": "callbacks: expected a list; got int",
    "metrics={'mae': 3}": "metrics.mae: expected a function of outputs",
    "log={'dir': 'x'}": "log: leave out 'dir' and 'name'",
    "validation=0.001": "validation: 0.001 of 60 samples leaves one part empty",
    "validation=2": "validation: 2 of 60 samples leaves one part empty; give a fraction between 0",
    "directory=5": "directory: expected a path or None; got int",
    "directory='x' * 300": "directory: cannot create a run directory in 'xxx",
    "directory='x' * 300, resume=True": "directory: cannot create a run directory in 'xxx",
    "resume=5": "resume: expected True, False, 'latest' or a path; got int",
    "verbose='yes'": "verbose: expected True or False; got str",
    "LOADER, validation=0.5, batch_size=32": "validation: cannot be a fraction of a DataLoader",
    "LOADER, batch_size=8": "batch_size: leave it out: the DataLoader",
    "torch.tensor(X)": f"data: {DATA}, got one array of shape (60, 3), without targets",
    "(X, Y[:5])": f"data: {DATA}, with as many x as y; got arrays of (60, 3), (5, 1)",
    "'x.csv'": f"data: {DATA}, got str",
    "(X, ['a'] * 60)": "data: expected arrays of numbers, got one of <U1",
    "type('Endless', (torch.utils.data.IterableDataset,), {'__iter__': list})()": "data: the "
    "Endless has no length",
    "[{'x': torch.ones(3), 'y': torch.ones(1)}] * 4": "data: expected batches (x, y) of tensors, "
    "samples first; got dict",
    "resume=True": "resume: needs `directory`, where the run to resume is",
    "[(torch.ones(3), torch.ones(1), 0)] * 4": "model: does not accept inputs of shape (2, 3), "
    "(2, 1) (the items of a sample before its target): Sequential.forward() takes 2 positional",
    # Labels, and other targets that the loss does not take.
    "(X, CLASSES), network(2), loss=F.cross_entropy": f"data: sample {TWO} has the label 2, but "
    "the model's 2 classes are 0 to 1",
    "(X, CLASSES), network(3), loss=nn.CrossEntropyLoss(), validation=(X, CLASSES - 1)": ""
    f"validation: sample {NONE} has the label -1, but the model's 3 classes are 0 to 2",
    "(X, CLASSES), network(2), loss=nn.CrossEntropyLoss(), validation=0.5": "data: sample ",
    "(X, CLASSES), loss='CrossEntropyLoss'": "model: has 1 output, but CrossEntropyLoss needs one "
    "for each class; BCEWithLogitsLoss takes 1 for two classes",
    "(X, CLASSES[:, None]), network(3), loss=nn.CrossEntropyLoss()": "loss: for outputs of shape "
    "(2, 3) and targets of (2, 1) (it takes labels y.long() of shape (samples,)): 0D or 1D target",
    "(X, CLASSES[:, None]), loss='BCEWithLogitsLoss'": "loss: for outputs of shape (2, 1) and "
    "targets of (2, 1) (it takes y.float() of the outputs' shape): result type Float can't be cast",
    # A last batch without variance.
    "model=normalized(), batch_size=59": f"batch_size: {ALONE}",
    "DataLoader(PAIRS, 1), normalized(), batch_size=32": f"batch_size: {ALONE}",
    # Numbers of other kinds.
    "(NAN, Y)": "data: x is nan at [7, 1]; remove or replace it",
    "(torch.tensor(X).bfloat16(), Y)": "data: is in bfloat16, which the trainer does not support",
    "model=network().bfloat16()": "model: is in bfloat16, which the trainer does not support; "
    "convert it with float()",
    "(X.astype(int), Y)": "model: does not accept inputs of shape (2, 3), in int64 (.float() "
    "converts a tensor, .astype(float) an array): mat1 and",
    "(torch.tensor(X).double(), Y)": "model: does not accept inputs of shape (2, 3), in float64 ",
    # The user's own errors.
    "metrics={'a': lambda outputs, targets: {}['no']}": "metrics.a: KeyError: 'no' at <string>:1",
    "loss=lambda outputs, targets: outputs.sun()": "loss: AttributeError: 'Tensor' object has no "
    "attribute 'sun' at <string>:1",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_arguments_that_are_wrong(arguments: str) -> None:
    told = refusal_of(lambda: eval(f"fitted({arguments})", globals()))()
    assert told.startswith(f"fit(): {WRONG[arguments]}")
    assert not list(Path().iterdir())


# Names of other programs, beside all keys of configurations.
OTHER_NAMES = [
    *["max_epochs", "num_steps", "batch", "learning_rate", "beta1", "grad_clip", "log_every"],
    *["accumulate_grad_batches", "validation_data", "test_data", "eval_every", "early_stop"],
    *["criterion", "lr_scheduler", "warmup_steps", "output_dir", "val_split", "logger"],
]
VALUES: dict[str, Any] = {
    "anneal_strategy": "cos", "base_lr": 0.1, "base_momentum": 0.5, "betas": [0.8, 0.9],
    "cycle_momentum": False, "data": (X, Y), "directory": "runs", "early_stopping": {},
    "etas": [0.5, 1.2], "full": True, "groups": [{"parameters": "*.bias", "lr": 0.5}],
    "ignore_index": 2,
    "interval": "step", "line_search_fn": "strong_wolfe", "log": {},
    "log_input": True, "loss": "L1Loss",
    "max_lr": 0.5, "max_momentum": 0.9, "method": "swa", "metrics": {}, "milestones": [1],
    "monitor": "validation/loss", "nesterov": False, "pct_start": 0.5, "pos_weight": [2.0],
    "scale_mode": "cycle", "scheduler": {"name": "StepLR", "step_size": 1},
    "step_sizes": [1e-3, 1.0], "test": (X, Y), "threshold_mode": "abs",
    "total_steps": 99, "validation": 0.5, "weight": [1.0, 2.0, 3.0],
    **dict.fromkeys(["amsgrad", "centered", "decoupled_weight_decay", "maximize", "plots"], True),
    **dict.fromkeys(["progress", "tensorboard", "three_phase", "timed"], True),
}  # fmt: skip
"""A value for each key to which a hint leads, if 1 is none."""
EXAMPLES = {"CrossEntropyLoss": ((X, CLASSES), 3), "BCEWithLogitsLoss": ((X, Y > 0), 1)}


def follow(hint: str) -> None:
    """Call `fit` as a hint says, with values for its dots."""

    def filled(given: dict[str, Any]) -> dict[str, Any]:
        inner = {key: filled(v) if isinstance(v, dict) else v for key, v in given.items()}
        return {k: VALUES.get(k, 1) if v is ... else v for k, v in inner.items()}

    given = filled(eval(f"dict({hint})"))
    name = given["loss"]["name"] if isinstance(given.get("loss"), dict) else ""
    data, outputs = EXAMPLES.get(name, ((X, Y), 1))
    arguments = {
        "data": data,
        "epochs": None if "steps" in given else 1,
        "validation": 0.5,
        **given,
    }
    fitted(model=network(outputs), **arguments)


def test_hints_about_arguments_work_when_followed() -> None:
    known, followed = {*inspect.signature(fit).parameters, *section_keys(Train)}, 0
    for name in [name for name in [*all_homes(), *OTHER_NAMES] if name not in known]:
        if name in section_keys(FitConfig):
            continue
        told = refusal_of(fitted)(**{name: 1})
        assert told.startswith(f"fit(): {name}: unknown argument"), told
        hints = re.findall(r"write (\w+=.+?)(?= or |$)", told)
        hints += [f"{near}=..." for near in re.findall(r"did you mean '(\w+)'\?", told)]
        for hint in hints:
            follow(hint)
        followed += len(hints)
    assert followed > 80
    assert "nn.CrossEntropyLoss(weight=...)" in refusal_of(fitted)(class_weights=[1, 2, 3])
    fitted((X, CLASSES), network(3), loss=nn.CrossEntropyLoss(weight=torch.ones(3)))


def test_a_batch_of_one_sample_that_is_not_taken_is_no_mistake() -> None:
    fitted(DataLoader(PAIRS, 59, drop_last=True), normalized(), batch_size=32)
    fitted(model=normalized(), batch_size=59, epochs=None, steps=1)
    # One that is taken is tried without a trace.
    spread = [nn.Unflatten(1, (1, 3)), nn.BatchNorm1d(1), nn.Flatten(), nn.Linear(3, 1)]
    run = fitted(model=nn.Sequential(*spread), batch_size=59)
    assert run.model[1].num_batches_tracked == 6
    losses, look = [], At(lambda loop: losses.append(loop.loss), 1)
    for epochs, steps in ((3, None), (None, 1)):
        fitted(batch_size=59, epochs=epochs, steps=steps, callbacks=[look])
    assert losses[0] == losses[1]


def test_labels_that_no_batch_holds_are_no_mistake() -> None:
    def clamped(batch: Any) -> Any:
        return torch.stack([x for x, _ in batch]), torch.stack([y.clamp(max=1) for _, y in batch])

    samples = TensorDataset(PAIRS.tensors[0], torch.tensor(CLASSES))
    of_two = np.flatnonzero(CLASSES < 2).tolist()
    own = {"loss": nn.CrossEntropyLoss(), "batch_size": 32}
    fitted(Subset(samples, of_two), network(2), **own)
    fitted(DataLoader(samples, 8, sampler=SubsetRandomSampler(of_two)), network(2), **own)
    fitted(DataLoader(samples, 8, collate_fn=clamped), network(2), **own)
    fitted(DataLoader(samples, batch_sampler=[of_two, of_two[:9]]), network(2), **own)
    loader = DataLoader(Subset(samples, [*of_two, TWO]), 8, shuffle=True)
    assert f"sample {TWO} has the label 2" in refusal_of(fitted)(loader, network(2), **own)


def test_batches_of_a_batch_sampler(capsys: pytest.CaptureFixture[str]) -> None:
    batches = BatchSampler(range(60), 8, drop_last=False)
    fitted(DataLoader(PAIRS, batch_sampler=batches), batch_size=32, verbose=True)
    assert "on 60 samples, in batches of 8\n" in capsys.readouterr().out


def test_arrays_that_are_read_only() -> None:
    x, y = (values.astype(np.float32) for values in (X, Y))
    y.setflags(write=False)
    assert fitted((x, y)).history == fitted((X, Y)).history


def test_errors_name_the_line_that_called() -> None:
    where = rf"in module Sequential.0 \(Linear\) at (\S*{os.sep})?test_fitting.py:\d+\n"
    run = fitted(epochs=1)
    with pytest.raises(RuntimeError, match=where):
        run.predict(torch.zeros(3, 2))
    with pytest.raises(RuntimeError, match=where):
        fitted(validation=(X[:, :2], Y))
    assert refusal_of(run.predict, TypeError)() == "predict() takes 1 array of samples; got 0"
    refused = refusal_of(run.predict, ValueError)(["a"])
    assert refused == "predict(): inputs: expected arrays of numbers, got one of <U1"


def test_metrics_count_the_samples_that_the_loss_counts() -> None:
    x, y = torch.rand(64, 2), torch.arange(64) % 3
    for ignored, given in ((-100, y.where(y > 0, torch.tensor(-100))), (0, y)):
        loss = nn.CrossEntropyLoss(ignore_index=ignored)
        run = fitted((x, given), nn.Linear(2, 3), loss=loss)
        right = run.predict(x).argmax(1) == y
        assert run.results["train/accuracy"] == pytest.approx(right[y > 0].float().mean().item())
    for target in (torch.full((64, 1), 0.9), (x[:, :1] > 0.5) * 2.0 - 1.0):  # no classes
        run = fitted((x, target), nn.Linear(2, 1), loss=nn.BCEWithLogitsLoss())
        assert run.results.keys() == {"train/loss"}


@posix
def test_a_run_takes_no_more_memory_than_its_files_need(tmp_path: Path) -> None:
    program = f"""
        import resource
        import numpy as np
        from nanotorch import nn
        from nanotorch.train import fit
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        x = np.arange(60.0).reshape(20, 3)
        model, options = nn.Linear(3, 1), {{"verbose": False, "directory": {str(tmp_path)!r}}}
        result = fit(model, (x, x[:, :1]), loss=nn.MSELoss(), optimizer="Adam", epochs=2, **options)
        print(len(result.history))
    """
    done = ended(PYTHON, "-c", textwrap.dedent(program), OPENBLAS_NUM_THREADS="1")
    assert done == (0, "2\n", "")
