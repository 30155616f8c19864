"""Regression and classification: what is learned and measured; schedules, bounds, averages."""

import re
from pathlib import Path

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.train.config.sections import ConfigError
from nanotorch.train.training.experiment import Recorder
from nanotorch.train.training.loop import Callback, Loop
from nanotorch.train.training.metrics import coefficients_table
from nanotorch.train.training.step import gradient_norm
from nanotorch.train.training.supervised import Supervised, least_squares, streams
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    At,
    experiment,
    record_of,
    recorded,
    refusal_of,
    result_of,
    trained,
    weights,
)

refusal = refusal_of(lambda *overrides: experiment(REGRESSION, *overrides))
SCATTERED = ("data.target=b", "data.features=[a]")  # b is not a linear function of a


def test_steps_come_from_epochs_or_are_given() -> None:
    assert experiment().steps == 2 * 4  # 14 samples in batches of 4
    assert experiment(REGRESSION, "train={steps: 3}").steps == 3
    assert experiment(REGRESSION, "train.batch_size=null").steps == 2
    run = experiment(REGRESSION, "train={epochs: 2, batch_size: 3, accumulate: 2}")
    sizes = [[len(tensor) for tensor in batch[::2]] for batch in run.batches(0)]
    assert sizes == [[3, 3], [3, 3], [2]]  # an epoch ends with the batches that are left
    assert run.steps == 6
    # A few batches can be learned by heart.
    run = experiment(CLASSIFICATION, "train={epochs: 9, batch_size: 5, overfit_batches: 2}")
    assert run.steps == 18
    assert len(run.dataset.parts["train"]) == 10  # what is reported is what was trained on
    assert len(run.dataset.parts["validation"]) == 6
    first, second = ([x.tolist() for x, _ in run.batches(0)] for _ in range(2))
    assert first == second == [run.dataset.parts["train"].x[:5].tolist(),
                               run.dataset.parts["train"].x[5:10].tolist()]  # fmt: skip


def test_the_same_configuration_learns_the_same() -> None:
    first = trained(CLASSIFICATION)
    torch.manual_seed(99)  # what is drawn elsewhere changes nothing
    second, other = trained(CLASSIFICATION), trained(CLASSIFICATION, "seed=1")
    np.testing.assert_equal(weights(first), weights(second))
    for name, values in weights(first).items():
        assert not np.array_equal(values, weights(other)[name])
    both = [*streams(0, 2), *streams(1, 2)]
    assert len({tuple(torch.rand(3, generator=stream).tolist()) for stream in both}) == 4


SGD, LBFGS = "{name: SGD, lr: 1}", "{name: LBFGS, lr: 0.5, max_iter: 4}"
CLIPPED = ", clip_norm: 0.01"


@pytest.mark.parametrize(("optimizer", "bound"), [(SGD, ""), (SGD, CLIPPED), (LBFGS, "")])
def test_steps_are_those_written_by_hand(optimizer: str, bound: str) -> None:
    train = "train={epochs: 3, batch_size: null, shuffle: false"
    run = experiment(CLASSIFICATION, f"{train}{bound}}}", f"optimizer={optimizer}")
    other = experiment(CLASSIFICATION, f"{train}}}", f"optimizer={optimizer}")
    x, y = next(run.batches(0))

    def closure() -> torch.Tensor:
        other.optimizer.zero_grad()
        loss: torch.Tensor = other.loss(other.model(x), y)
        loss.backward()
        if bound:
            nn.utils.clip_grad_norm_(other.model.parameters(), 0.01)
        return loss

    losses = [other.optimizer.step(closure) for _ in range(3)]
    assert looped(run).loss == losses[-1].item()
    np.testing.assert_equal(weights(run), weights(other))


@pytest.mark.parametrize("bias", ["true", "false"])
def test_a_linear_regression_reaches_the_closed_form(bias: str) -> None:
    more = (f"model.layers[0].bias={bias}", "train={epochs: 300, batch_size: null}")
    run = trained(REGRESSION, *SCATTERED, *more)
    report = run.report()
    best = least_squares(run.dataset.parts["train"], bias=bias == "true")[1] * run.unit
    assert report.results["train/least_squares_loss"] == best
    assert report.results["train/loss"] == pytest.approx(best, rel=1e-3)
    assert f"closed-form least squares: loss {best:.4f}; this run's is" in report.text


def test_the_closed_form_is_the_least() -> None:
    samples = experiment(REGRESSION, *SCATTERED).dataset.parts["train"]
    x = np.hstack([samples.x, np.ones((len(samples), 1))]).astype(np.float64)
    theta = np.linalg.solve(x.T @ x, x.T @ samples.y)
    solution, loss = least_squares(samples, bias=True)
    np.testing.assert_allclose(solution, theta[:, 0], rtol=1e-6)
    assert loss == pytest.approx(float(np.mean((x @ theta - samples.y) ** 2)))
    without = type(samples)(samples.x, samples.y + 1)  # its mean is not 0 any more
    assert least_squares(without, bias=False)[1] > least_squares(without, bias=True)[1]


def test_there_is_a_closed_form_for_linear_least_squares_only() -> None:
    layers = "[{name: Linear, out_features: 2}, {name: Linear, out_features: 1}]"
    for override in ("loss=L1Loss", f"model.layers={layers}"):
        assert "closed-form" not in trained(REGRESSION, override).report().text
    text = trained(REGRESSION, "train={epochs: 9, batch_size: null}").report().text
    assert "\nclosed-form least squares: loss 0.0000\n" in text  # no percentage of nothing


@pytest.mark.parametrize(
    "standardized", ["", ", standardize: false", ", standardize_target: false", ", shape: [2]"]
)
def test_coefficients_are_told_in_the_units_of_the_table(standardized: str) -> None:
    data = f"data={{csv: table.csv, target: y{standardized}}}"
    run = trained(REGRESSION, data, "optimizer.lr=1e-3", "train={epochs: 9, batch_size: null}")
    *_, header, a, b, intercept = run.report().text.splitlines()
    assert header.split() == ["y", "coefficient", "least", "squares"]
    assert [row.split()[0] for row in (a, b, intercept)] == ["a", "b", "intercept"]
    best = [float(row.split()[2]) for row in (a, b, intercept)]
    assert best == pytest.approx([3, 0, 1], abs=1e-5)  # y = 3 a + 1
    learned = [float(row.split()[1]) for row in (a, b, intercept)]
    rows = run.predict(run.dataset.preprocessing.inputs(np.array([[0.0, 0], [1, 0], [0, 1]])))
    at_zero, with_a, with_b = rows[:, 0]
    assert learned == pytest.approx([with_a - at_zero, with_b - at_zero, at_zero], rel=1e-3)


def test_coefficients_of_other_models() -> None:
    names = [f"f{i}" for i in range(30)]
    text = coefficients_table("y", names, {"coefficient": range(31)})
    assert text.splitlines()[-3:] == ["f19                 19", "intercept           30",
                                      "and 10 more features"]  # fmt: skip
    text = trained(CLASSIFICATION, "model.layers=[{name: Linear, out_features: 1}]").report().text
    assert "\nlog odds of 1  coefficient\nx0 " in text
    # Those of made samples stand beside the true ones.
    data = "data={generator: {name: line, slope: 7, intercept: 0.5, noise: 0}}"
    *_, header, slope, intercept = trained(REGRESSION, data).report().text.splitlines()
    assert header.split()[-1] == "truth"
    assert [row.split()[2:] for row in (slope, intercept)] == [["7", "7"], ["0.5", "0.5"]]


def test_the_report_has_a_column_per_part() -> None:
    text = trained().report().text.splitlines()
    assert text[0].split() == ["train", "validation", "test"]
    assert text[1].split() == ["samples", "14", "3", "3"]
    assert [line.split()[0] for line in text[2:7]] == ["loss", "MAE", "RMSE", "R2", "closed-form"]
    text = trained(CLASSIFICATION).report().text.splitlines()
    assert [line.split()[0] for line in text[2:10]] == [
        "loss", "accuracy", "precision", "recall", "F1", "AUC", "average", "Brier",
    ]  # fmt: skip
    # But none for one that is empty.
    run = trained(REGRESSION, "data.split={train: 1, validation: 0, test: 0}")
    assert run.measure("test") == {}
    text = run.report().text.splitlines()
    assert text[0].split() == ["train"]
    assert {len(line.split()) for line in text[1:6]} == {2}


def test_measuring_is_in_evaluation_mode_and_trains_nothing() -> None:
    dropout = "model.layers=[{name: Dropout, p: 0.9}, {name: Linear, out_features: 1}]"
    run = trained(REGRESSION, dropout)
    before = weights(run)
    assert run.measure("test") == run.measure("test")
    assert run.model.training
    np.testing.assert_equal(weights(run), before)


def test_the_measured_loss_is_the_mean_over_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(CLASSIFICATION)
    samples = run.dataset.parts["train"]
    whole = run.predict(samples.x)
    logits = whole.astype(np.float64)
    expected = np.mean(
        np.log1p(np.exp(-np.abs(logits))) + np.maximum(logits, 0) - logits * samples.y
    )
    assert run.measure("train")["train/loss"] == pytest.approx(float(expected), rel=1e-5)
    # Large parts are predicted in portions.
    monkeypatch.setattr("nanotorch.train.training.supervised.LARGEST_BATCH", 5)
    np.testing.assert_allclose(run.predict(samples.x), whole, rtol=1e-5)


def test_what_will_be_done_is_described() -> None:
    assert experiment().describe().splitlines() == [
        "regression of 'y' from 2 features, table.csv",
        "samples: train 14, validation 3, test 3",
        "MSELoss, SGD",
        "",
        "module      output  parameters  memory  FLOPs",
        "Sequential  (N, 1)           3     4 B      5",
        "└ 0 Linear  (N, 1)           3     4 B      5",
        "3 parameters; 12 B of weights and buffers",
        "per sample: 4 B of results, 5 FLOPs forward",
    ]


@pytest.mark.parametrize("stratify", ["true", "false"])
def test_a_class_of_one_sample_is_told_of(stratify: str) -> None:
    table = "a,b,y\n" + "".join(f"{i},{i * i % 7},{'uv'[i % 2]}\n" for i in range(20)) + "9,9,w\n"
    layers = "model.layers=[{name: Linear, out_features: 3}]"
    more = (f"data={{csv: table.csv, target: y, stratify: {stratify}}}", "loss=CrossEntropyLoss")
    lines = experiment(CLASSIFICATION, layers, *more, table=table).describe().splitlines()
    assert [line for line in lines if line.startswith("warning: ")] == [
        f"warning: the {name} part has no sample of class 'w'" for name in ("validation", "test")
    ]


@pytest.mark.parametrize("size", [1, 13])
def test_batch_normalization_needs_two_samples(size: int) -> None:
    layers = "model.layers=[BatchNorm1d, {name: Linear, out_features: 1}]"
    assert refusal(layers, f"train.batch_size={size}").startswith(
        f"command line: train.batch_size={size}: leaves a batch of one sample; "
        "choose another size: Expected more than 1 value per channel"
    )
    trained(REGRESSION, layers, "train.batch_size=7")


NORMALIZED = (
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


SEARCHING = "{name: LBFGS, line_search_fn: strong_wolfe, max_iter: 3}"


@pytest.mark.parametrize("size", [4, 5])
@pytest.mark.parametrize(("optimizer", "rtol"), [("{name: SGD, lr: 0.1}", 1e-5), (SEARCHING, 1e-3)])
def test_accumulated_batches_count_each_sample_alike(
    size: int, optimizer: str, rtol: float
) -> None:
    """Of 14 samples, batches of 4 or 5 make an epoch of one step, the last batch being smaller."""
    more = (f"optimizer={optimizer}", "train.epochs=2")
    parts = experiment(REGRESSION, *more, f"train.batch_size={size}", "train.accumulate=9")
    whole = experiment(REGRESSION, *more, "train.batch_size=null")
    for run in (parts, whole):
        assert run.steps == 2
        looped(run)
    for name, value in weights(whole).items():
        np.testing.assert_allclose(weights(parts)[name], value, rtol=rtol)


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
    assert min(recorded(Path(), "train/gradient_norm")) > 10

    seen.clear()
    run = experiment(REGRESSION, "train={epochs: 2, batch_size: 7, clip_value: 0.25}")
    looped(run, At(look))
    assert [largest for _, largest in seen] == [0.25] * 4


def test_lbfgs_reaches_the_closed_form_in_a_few_steps(capsys: pytest.CaptureFixture[str]) -> None:
    optimizer = "optimizer={name: LBFGS, line_search_fn: strong_wolfe}"
    train = "train={epochs: 4, batch_size: null}"
    result = result_of(REGRESSION, train, optimizer, "log.profile=2")
    best = result.results["train/least_squares_loss"]
    assert result.results["train/loss"] == pytest.approx(best, abs=1e-6)
    reason = "LBFGS decides during a step how many losses it needs"
    assert record_of(result.directory)["step"] == {"compiled": False, "reason": reason}
    # Its profile is that of its losses.
    table = capsys.readouterr().out
    assert "aten::addmm" in table
    assert "LBFGS.step" not in table


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
    result = result_of(text, length, "optimizer={name: SGD, lr: 0.1}", f"scheduler={schedule}")
    assert recorded(result.directory, "train/lr") == pytest.approx(SCHEDULES[schedule])


def test_rates_are_recorded() -> None:
    halved = "scheduler={name: ExponentialLR, gamma: 0.5}"
    train = "train={epochs: 3, batch_size: 14}"
    run = result_of(CLASSIFICATION, train, "optimizer={name: SGD, lr: 0.1}", halved)
    # The rate that the step was taken with.
    rates = recorded(run.directory, "train/lr")
    assert rates == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.025, 0.025])
    plateau = "scheduler={name: ReduceLROnPlateau, patience: 1, factor: 0.5, threshold: 0.9}"
    run = result_of(REGRESSION, "train={epochs: 6, batch_size: null}", "optimizer.lr=1e-4", plateau)
    rates = recorded(run.directory, "train/lr")
    assert rates == pytest.approx([1e-4, 1e-4, 1e-4, 5e-5, 5e-5, 2.5e-5])


MISTAKES = {
    # What a constructor refuses is told of its cause.
    "optimizer={name: SGD, lr: 1, momentum: -0.5}": "optimizer.momentum: Invalid momentum value: "
    "-0.5; the default is 0",
    "optimizer={name: SGD, nesterov: true}": "optimizer.nesterov: Nesterov momentum requires a "
    "momentum and zero dampening; the default is false",
    "optimizer={name: Adam, betas: [0.9, 1]}": "optimizer.betas: Invalid beta parameter at index "
    "1: 1.0; the default is [0.9, 0.999]",
    "scheduler={name: StepLR}": "scheduler.step_size: missing",
    "scheduler=StepLr": "'StepLr' is not known; did you mean 'StepLR'?",
    "loss=SoftMarginLoss": "'SoftMarginLoss' is out of scope. Few networks use it",
    "optimizer.name=Muon": "'Muon' is out of scope. It is for models larger than NumPy",
    "scheduler={name: StepLR, step_size: 1, warmup: -1}": "must be at least 0, got -1",
    "scheduler={name: StepLR, step_size: 0}": "step_size: must be at least 1, got 0",
    "scheduler={name: CosineAnnealingLR, T_max: 0}": "scheduler.T_max: must be at least 1",
    "scheduler={name: StepLR, step_size: 1, gamma: -1}": ": sets the learning rate to -0.1 after "
    "epoch 1",
    "scheduler={name: OneCycleLR, max_lr: 1, total_steps: 2}": ": fails after step 3: Tried to "
    "step 3 times.",
    "scheduler={name: ReduceLROnPlateau, warmup: 1}": "cannot be combined with ReduceLROnPlateau",
    "scheduler={name: ReduceLROnPlateau, factor: 2}": "Factor should be < 1.0.",
    "early_stopping={monitor: validation/los}": "'validation/los' is not measured in training;"
    " did you mean 'validation/loss'?",
    "checkpoint.monitor=validation/r": "did you mean 'validation/r2'?",
    "callbacks=[EarlyStopping]": "is not known: the section early_stopping: {patience: 5} does",
    "checkpoint.monitor=loss": "'loss' is not measured in training",
    "train={epochs: 1, clip_norm: 0}": "must be greater than 0, got 0",
    "optimizer={name: LBFGS, line_search_fn: wolfe}": "optimizer.line_search_fn: 'wolfe' is not "
    "known; did you mean 'strong_wolfe'?",
    "optimizer={name: LBFGS, groups: []}": "optimizer.groups: unknown key",
}


@pytest.mark.parametrize("override", MISTAKES)
def test_mistakes(override: str) -> None:
    assert MISTAKES[override] in refusal(override)


TOGETHER = {
    ("data.target=z", "optimizer={name: Adam, betas: [0.9, 2], lr: -1}",
     "scheduler={name: LinearLR, start_factor: 7}"):
        "data.target optimizer.lr optimizer.betas scheduler.start_factor",
    ("model.freeze=[a, b]", "optimizer.lr=-1"): "model.freeze[0] model.freeze[1] optimizer.lr",
    ("model.layers=[{name: Dropout, p: 7}, {name: Dropout, p: 8}]", "optimizer.lr=-1"):
        "model.layers[0].p model.layers[1].p optimizer.lr",
    ("checkpoint.monitor=x", "early_stopping.monitor=y"):
        "checkpoint.monitor early_stopping.monitor",
}  # fmt: skip


@pytest.mark.parametrize("overrides", TOGETHER)
def test_mistakes_are_told_at_once(overrides: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        experiment(REGRESSION, *overrides)
    assert " ".join(problem.path for problem in caught.value.problems) == TOGETHER[overrides]


def test_training_ends_early(capsys: pytest.CaptureFixture[str]) -> None:
    result = result_of(REGRESSION, "early_stopping={patience: 3, min_delta: 1e9}",
                       "train={epochs: 50, batch_size: null}")  # fmt: skip
    assert (result.status, result.exit_code) == ("finished", 0)
    assert len(recorded(result.directory, "validation/loss")) == 4
    better = ("train={epochs: 6, batch_size: null}", "optimizer.lr=0.05")  # in each epoch
    result = result_of(REGRESSION, "early_stopping={patience: 1}", *better)
    assert len(recorded(result.directory, "validation/loss")) == 6
    # Of some metrics more is better.
    stopping = "early_stopping={monitor: validation/accuracy, patience: 2}"
    result_of(CLASSIFICATION, stopping, "optimizer.lr=1e-9", "train={epochs: 50}")
    pattern = r"finished after 3 steps, .*: validation/accuracy has not been better than [\d.]+ " \
              r"since epoch 1"  # fmt: skip
    assert re.search(pattern, capsys.readouterr().out)


def test_a_moving_average_of_the_weights() -> None:
    run = experiment(CLASSIFICATION, NORMALIZED, "averaging={method: ema, decay: 0.5}")
    own, expected = dict(run.model.named_parameters()), dict[str, np.ndarray]()

    def follow(loop: Loop) -> None:
        for name, p in own.items():
            expected[name] = (expected.get(name, p.detach().numpy()) + p.detach().numpy()) / 2

    looped(run, At(follow))
    for name, value in expected.items():
        np.testing.assert_allclose(weights(run)[name], value, rtol=1e-5, atol=1e-7)
    assert any((p.detach().numpy() != weights(run)[name]).any() for name, p in own.items())
    assert run.final_model is not run.model


def test_the_mean_of_the_weights_of_epochs() -> None:
    train = "train={epochs: 4, batch_size: 8}"
    run = experiment(CLASSIFICATION, "averaging={method: swa, start: 1}", train)
    seen: list[np.ndarray] = []
    weight = run.model[0].weight.detach().numpy()
    looped(run, At(lambda loop: seen.append(weight.copy())))
    ends = seen[7::4]  # of all epochs of 4 steps but the first
    assert len(ends) == 3
    np.testing.assert_allclose(weights(run)["0.weight"], np.mean(ends, axis=0), rtol=1e-5)


def test_two_steps_are_enough_to_see_that_everything_works(monkeypatch, capsys) -> None:
    drawn = []
    monkeypatch.setattr("nanotorch.train.runs.run.draw", lambda place, _: drawn.append(place) or ())
    result = result_of(CLASSIFICATION, "train={epochs: 500, fast_dev_run: true}", "log.plots=true")
    assert result.status == "finished"
    assert "finished after 2 steps" in capsys.readouterr().out
    assert drawn == [result.directory / "plots"]
    # Nothing is left behind.
    assert not result.directory.exists()
    assert sorted(path.name for path in Path().iterdir()) == ["table.csv", "x.yaml"]


def test_a_mean_of_weights_has_statistics_of_its_own() -> None:
    settings = (CLASSIFICATION, NORMALIZED, "averaging={method: swa}", "train={epochs: 4}")
    first, layer, *_ = result_of(*settings).model
    with torch.no_grad():
        x = first(torch.from_numpy(experiment(*settings).dataset.parts["train"].x))
    np.testing.assert_allclose(layer.running_mean.numpy(), x.mean(0).numpy(), rtol=1e-4, atol=1e-6)
    assert (layer.running_mean != trained(*settings).model[1].running_mean).any()
