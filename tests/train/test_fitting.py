"""What a step may be besides a batch: several batches, bounded gradients, other rates, averages."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.train import load_config
from nanotorch.train.config import ConfigError
from nanotorch.train.experiment import Recorder
from nanotorch.train.loop import Callback, Loop
from nanotorch.train.run import build_experiment
from nanotorch.train.step import gradient_norm
from nanotorch.train.supervised import Supervised
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    At,
    experiment,
    result_of,
    weights,
    write_example,
)

LAYERS = (
    "model.layers=[{name: Linear, out_features: 5}, BatchNorm1d, ReLU, {name: Linear, "
    "out_features: 1}]"
)


def looped(run: Supervised, *more: Callback) -> Loop:
    recorder = Recorder(Path(), tensorboard=False, resumed=None)
    recorder.begin()
    loop = Loop(run, run.steps, [*run.callbacks(recorder), *more])
    loop.run()
    recorder.close()
    return loop


def records(directory: Path, name: str) -> list[Any]:
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return [line[name] for line in lines if name in line]


@pytest.mark.parametrize("size", [4, 5])
def test_accumulated_batches_count_each_sample_alike(size: int) -> None:
    """Of 14 samples, batches of 4 or 5 make an epoch of one step, the last batch being smaller."""
    parts = experiment(REGRESSION, f"train={{epochs: 3, batch_size: {size}, accumulate: 9}}")
    whole = experiment(REGRESSION, "train={epochs: 3, batch_size: null}")
    for run in (parts, whole):
        assert run.steps == 3
        looped(run)
    for name, value in weights(whole).items():
        np.testing.assert_allclose(weights(parts)[name], value, rtol=1e-5)


def test_an_epoch_ends_with_the_batches_that_are_left() -> None:
    run = experiment(REGRESSION, "train={epochs: 2, batch_size: 3, accumulate: 2}")
    sizes = [[len(tensor) for tensor in batch[::2]] for batch in run.batches(0)]
    assert sizes == [[3, 3], [3, 3], [2]]
    assert run.steps == 6


def test_gradients_are_held_in_bounds() -> None:
    seen = []

    def look(loop: Loop) -> None:
        gradients = [p.grad.numpy() for p in run.model.parameters() if p.grad is not None]
        seen.append((gradient_norm(run.model.parameters()), max(map(np.max, map(abs, gradients)))))

    raw = "data.standardize_target=false"
    run = experiment(REGRESSION, "train={epochs: 2, batch_size: 7, clip_norm: 0.5}", raw)
    looped(run, At(look))
    assert [norm for norm, _ in seen] == [pytest.approx(0.5, rel=1e-5)] * 4
    # What is recorded is the norm before.
    lines = [json.loads(line) for line in Path("metrics.jsonl").read_text().splitlines()]
    assert min(line["train/gradient_norm"] for line in lines if "train/loss" in line) > 10

    seen.clear()
    run = experiment(REGRESSION, "train={epochs: 2, batch_size: 7, clip_value: 0.25}")
    looped(run, At(look))
    assert [largest for _, largest in seen] == [0.25] * 4


def test_bounded_steps_are_pytorch_s_clip_grad_norm() -> None:
    run = experiment(CLASSIFICATION, "train={steps: 1, batch_size: 8, clip_norm: 0.01}",
                     "optimizer={name: SGD, lr: 1}")  # fmt: skip
    other = experiment(CLASSIFICATION, "optimizer={name: SGD, lr: 1}")
    x, y = next(other.batches(0))
    other.loss(other.model(x), y).backward()
    nn.utils.clip_grad_norm_(other.model.parameters(), 0.01)
    other.optimizer.step()
    looped(run)
    np.testing.assert_equal(weights(run), weights(other))


def test_a_step_of_lbfgs_is_the_one_written_by_hand() -> None:
    optimizer = "optimizer={name: LBFGS, lr: 0.5, max_iter: 4}"
    run = experiment(
        CLASSIFICATION, "train={epochs: 3, batch_size: null, shuffle: false}", optimizer
    )
    other = experiment(CLASSIFICATION, "train={epochs: 3, batch_size: null}", optimizer)
    x, y = next(run.batches(0))

    def closure() -> torch.Tensor:
        other.optimizer.zero_grad()
        loss: torch.Tensor = other.loss(other.model(x), y)
        loss.backward()
        return loss

    before = [other.optimizer.step(closure) for _ in range(3)]
    assert looped(run).loss == before[-1].item()
    np.testing.assert_equal(weights(run), weights(other))


@pytest.mark.parametrize("size", [4, 5])
def test_lbfgs_searches_over_accumulated_batches(size: int) -> None:
    """The 14 samples are one batch, or several: each evaluation goes through all of them."""
    optimizer = "optimizer={name: LBFGS, line_search_fn: strong_wolfe, max_iter: 3}"
    train_ = f"train={{epochs: 2, batch_size: {size}, accumulate: 9}}"
    parts = experiment(REGRESSION, train_, optimizer)
    whole = experiment(REGRESSION, "train={epochs: 2, batch_size: null}", optimizer)
    for run in (parts, whole):
        looped(run)
    for name, value in weights(whole).items():
        np.testing.assert_allclose(weights(parts)[name], value, rtol=1e-3)


def test_lbfgs_reaches_the_closed_form_in_a_few_steps() -> None:
    optimizer = "optimizer={name: LBFGS, line_search_fn: strong_wolfe}"
    result = result_of(REGRESSION, "train={epochs: 4, batch_size: null}", optimizer)
    best = result.results["train/least_squares_loss"]
    assert result.results["train/loss"] == pytest.approx(best, abs=1e-6)
    record = json.loads((result.directory / "run.json").read_text())
    assert record["step"] == {
        "compiled": False,
        "reason": "LBFGS decides during a step how many losses it needs",
    }


def test_the_profile_of_lbfgs_is_that_of_its_losses(capsys: pytest.CaptureFixture[str]) -> None:
    result_of(
        REGRESSION,
        "train={epochs: 4, batch_size: null}",
        "optimizer={name: LBFGS}",
        "log.profile=2",
    )
    table = capsys.readouterr().out
    assert "0 (Linear)" in table
    assert "loss (MSELoss)" in table
    assert "LBFGS.step" not in table


def test_the_rate_is_recorded_with_the_step_it_was_used_for() -> None:
    found = result_of(
        CLASSIFICATION, "train={epochs: 3, batch_size: 14}", "optimizer={name: SGD, lr: 0.1}",
        "scheduler={name: ExponentialLR, gamma: 0.5}",
    )  # fmt: skip
    rates = records(found.directory, "train/lr")
    assert rates == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.025, 0.025])


SCHEDULES = {
    "{name: StepLR, step_size: 2, gamma: 0.1}": [0.1, 0.1, 0.01, 0.01, 0.001, 0.001],
    "{name: MultiStepLR, milestones: [1, 4]}": [0.1, 0.01, 0.01, 0.01, 0.001, 0.001],
    # To zero at the end of the training, whose length need not be repeated.
    "CosineAnnealingLR": [0.1 * (1 + np.cos(np.pi * k / 6)) / 2 for k in range(6)],
    "{name: PolynomialLR, power: 1}": [0.1 * (1 - k / 6) for k in range(6)],
    "{name: PolynomialLR, power: 1, warmup: 2}": [0.1 / 3, 0.2 / 3, 0.1, 0.075, 0.05, 0.025],
    "{name: LinearLR, start_factor: 0.5, total_iters: 5, interval: step}": [
        0.05, 0.06, 0.07, 0.08, 0.09, 0.1,
    ],
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("text", [CLASSIFICATION, MINIMIZATION])
def test_schedules_are_pytorch_s(schedule: str, text: str) -> None:
    length = "function.iterations=6" if text == MINIMIZATION else "train={epochs: 6}"
    write_example(Path(), text)
    overrides = [length, "optimizer={name: SGD, lr: 0.1}", f"scheduler={schedule}"]
    seen = []

    task = build_experiment(load_config("x.yaml", overrides))
    recorder = Recorder(Path(), tensorboard=False, resumed=None)
    recorder.begin()
    look = At(lambda loop: seen.append(task.optimizer.param_groups[0]["lr"]))
    Loop(task, task.steps, [look, *task.callbacks(recorder)]).run()
    recorder.close()
    assert seen == pytest.approx(SCHEDULES[schedule])


def test_a_plateau_lowers_the_rate() -> None:
    plateau = "scheduler={name: ReduceLROnPlateau, patience: 1, factor: 0.5, threshold: 0.9}"
    optimizer = "optimizer={name: SGD, lr: 1e-4}"
    result = result_of(REGRESSION, plateau, "train={epochs: 6, batch_size: null}", optimizer)
    rates = records(result.directory, "train/lr")
    assert rates == pytest.approx([1e-4, 1e-4, 1e-4, 5e-5, 5e-5, 2.5e-5])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("scheduler={name: StepLR}", "scheduler.step_size: missing"),
        ("scheduler=StepLr", "'StepLr' is not known; did you mean 'StepLR'?"),
        ("loss=CTCLoss", "'CTCLoss' is out of scope. Few use it"),
        ("optimizer.name=Muon", "'Muon' is out of scope. It is for models larger than NumPy"),
        ("scheduler={name: StepLR, step_size: 1, warmup: -1}", "must be at least 0, got -1"),
        ("scheduler={name: StepLR, step_size: 0}", "step_size: must be at least 1, got 0"),
        ("scheduler={name: CosineAnnealingLR, T_max: 0}", "scheduler.T_max: must be at least 1"),
        ("scheduler={name: StepLR, step_size: 1, gamma: -1}",
         ": makes the learning rate -0.1 after epoch 1"),
        ("scheduler={name: OneCycleLR, max_lr: 1, total_steps: 2}",
         ": fails after step 3: Tried to step 3 times."),
        ("scheduler={name: ReduceLROnPlateau, warmup: 1}", "cannot go before ReduceLROnPlateau"),
        ("scheduler={name: ReduceLROnPlateau, factor: 2}", "Factor should be < 1.0."),
        ("early_stopping={monitor: validation/los}", "'validation/los' is not measured in training;"
         " did you mean 'validation/loss'?"),
        ("checkpoint.monitor=loss", "'loss' is not measured in training"),
        ("train={epochs: 1, clip_norm: 0}", "must be greater than 0, got 0"),
        ("optimizer={name: LBFGS, line_search_fn: wolfe}",
         "optimizer.line_search_fn: 'wolfe' is not known; known here: strong_wolfe"),
        ("optimizer={name: LBFGS, groups: []}", "optimizer.groups: unknown key"),
    ],
)  # fmt: skip
def test_mistakes(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        experiment(REGRESSION, override)


def test_mistakes_of_data_optimizer_and_schedule_are_told_at_once() -> None:
    mistakes = ["data.target=z", "optimizer={name: Adam, betas: [0.9, 2], lr: -1}",
                "scheduler={name: LinearLR, start_factor: 7}"]  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        experiment(REGRESSION, *mistakes)
    paths = [problem.path for problem in caught.value.problems]
    assert paths == ["data.target", "optimizer.lr", "optimizer.betas", "scheduler.start_factor"]
    with pytest.raises(ConfigError) as caught:
        experiment(REGRESSION, "model.freeze=[a, b]", "optimizer.lr=-1")
    assert [problem.path for problem in caught.value.problems] == [
        "model.freeze[0]", "model.freeze[1]", "optimizer.lr"
    ]  # fmt: skip
    layers = "model.layers=[{name: Dropout, p: 7}, {name: Dropout, p: 8}]"
    with pytest.raises(ConfigError) as caught:
        experiment(REGRESSION, layers, "optimizer.lr=-1")
    assert [problem.path for problem in caught.value.problems] == [
        "model.layers[0].p", "model.layers[1].p", "optimizer.lr"
    ]  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        experiment(REGRESSION, "checkpoint.monitor=x", "early_stopping.monitor=y")
    assert len(caught.value.problems) == 2


def test_training_ends_early() -> None:
    result = result_of(REGRESSION, "early_stopping={patience: 3, min_delta: 1e9}",
                       "train={epochs: 50, batch_size: null}")  # fmt: skip
    assert (result.status, result.exit_code) == ("finished", 0)
    assert len(records(result.directory, "validation/loss")) == 4


def test_what_grows_is_better_for_some_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    stopping = "early_stopping={monitor: validation/accuracy, patience: 2}"
    result_of(CLASSIFICATION, stopping, "optimizer.lr=1e-9", "train={epochs: 50}")
    pattern = r"finished after 3 steps, .*: validation/accuracy has not been better than [\d.]+ " \
              r"since epoch 1"  # fmt: skip
    assert re.search(pattern, capsys.readouterr().out)


def test_a_moving_average_of_the_weights() -> None:
    run = experiment(CLASSIFICATION, LAYERS, "averaging={method: ema, decay: 0.5}")
    expected: dict[str, np.ndarray] = {}

    def follow(loop: Loop) -> None:
        for name, p in run.model.named_parameters():
            value = p.detach().numpy()
            expected[name] = (expected[name] + value) / 2 if name in expected else value.copy()

    looped(run, At(follow))
    for name, value in expected.items():
        np.testing.assert_allclose(weights(run)[name], value, rtol=1e-5, atol=1e-7)
    own = {name: p.detach().numpy() for name, p in run.model.named_parameters()}
    assert any((own[name] != weights(run)[name]).any() for name in own)
    assert run.final_model is not run.model


def test_the_mean_of_the_weights_of_epochs() -> None:
    run = experiment(CLASSIFICATION, "averaging={method: swa, start: 1}", "train={epochs: 4}")
    seen: list[np.ndarray] = []

    class Follow(Callback):
        def on_epoch(self, loop: Loop) -> None:
            if loop.epoch > 1:
                seen.append(run.model[0].weight.detach().numpy().copy())

    looped(run, Follow())
    assert len(seen) == 3
    np.testing.assert_allclose(weights(run)["0.weight"], np.mean(seen, axis=0), rtol=1e-5)


def test_two_steps_are_enough_to_see_that_everything_works(monkeypatch, capsys) -> None:
    drawn = []
    monkeypatch.setattr("nanotorch.train.run.draw", lambda place, _: drawn.append(place) or ())
    result = result_of(CLASSIFICATION, "train={epochs: 500, fast_dev_run: true}", "log.plots=true")
    assert result.status == "finished"
    assert "finished after 2 steps" in capsys.readouterr().out
    assert drawn == [result.directory / "plots"]
    # Nothing is left behind.
    assert not result.directory.exists()
    assert sorted(path.name for path in Path().iterdir()) == ["table.csv", "x.yaml"]


def test_a_few_batches_can_be_learned_by_heart() -> None:
    run = experiment(CLASSIFICATION, "train={epochs: 9, batch_size: 5, overfit_batches: 2}")
    assert run.steps == 18
    assert len(run.dataset.parts["train"]) == 10  # what is reported is what was trained on
    assert len(run.dataset.parts["validation"]) == 6
    first, second = ([x.tolist() for x, _ in run.batches(0)] for _ in range(2))
    assert first == second == [run.dataset.parts["train"].x[:5].tolist(),
                               run.dataset.parts["train"].x[5:10].tolist()]  # fmt: skip


def test_a_mean_of_weights_has_statistics_of_its_own() -> None:
    run = experiment(CLASSIFICATION, LAYERS, "averaging={method: swa}", "train={epochs: 4}")
    looped(run)
    run.finish()
    layer = run.final_model[1]  # type: ignore[index]
    with torch.no_grad():
        x = run.final_model[0](torch.from_numpy(run.dataset.parts["train"].x))  # type: ignore[index]
    np.testing.assert_allclose(layer.running_mean.numpy(), x.mean(0).numpy(), rtol=1e-4, atol=1e-6)
    assert (layer.running_mean != run.model[1].running_mean).any()
    assert run.final_model.training
