"""Regression and classification: what is learned, what is measured."""

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.train.config import ConfigError
from nanotorch.train.metrics import coefficients_table
from nanotorch.train.supervised import least_squares, streams
from tests.train.examples import (
    CLASSIFICATION,
    REGRESSION,
    experiment,
    trained,
    weights,
)

SCATTERED = ("data.target=b", "data.features=[a]")  # b is not a linear function of a


def test_steps_come_from_epochs_or_are_given() -> None:
    assert experiment().steps == 2 * 4  # 14 samples in batches of 4
    assert experiment(REGRESSION, "train={steps: 3}").steps == 3
    assert experiment(REGRESSION, "train.batch_size=null").steps == 2


def test_the_same_configuration_learns_the_same() -> None:
    first, second = trained(CLASSIFICATION), trained(CLASSIFICATION)
    other = trained(CLASSIFICATION, "seed=1")
    for name, values in weights(first).items():
        np.testing.assert_array_equal(values, weights(second)[name])
        assert not np.array_equal(values, weights(other)[name])


def test_random_numbers_drawn_elsewhere_change_nothing() -> None:
    first = trained()
    torch.manual_seed(99)
    torch.rand(1000)
    second = trained()
    for name, values in weights(first).items():
        np.testing.assert_array_equal(values, weights(second)[name])


def test_a_step_is_the_one_written_by_hand() -> None:
    run = experiment(REGRESSION, "train.batch_size=null", "train.shuffle=false")
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    samples = run.dataset.parts["train"]
    x, y = torch.from_numpy(samples.x), torch.from_numpy(samples.y)
    for batch in run.batches(0):
        loss, count = run.step(batch)
    expected = nn.MSELoss()(model(x), y)
    expected.backward()
    optimizer.step()
    assert (loss, count) == (expected.item() * run.unit, 14)
    np.testing.assert_array_equal(weights(run)["0.weight"], model.weight.detach().numpy())
    np.testing.assert_array_equal(weights(run)["0.bias"], model.bias.detach().numpy())


def test_a_linear_regression_reaches_the_closed_form() -> None:
    run = trained(REGRESSION, *SCATTERED, "train={epochs: 300, batch_size: null}")
    report = run.report()
    best = least_squares(run.dataset.parts["train"], bias=True)[1] * run.unit
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


@pytest.mark.parametrize(
    "override",
    [
        "loss=L1Loss",
        "model.layers=[{name: Linear, out_features: 2}, {name: Linear, out_features: 1}]",
    ],
)
def test_there_is_a_closed_form_for_linear_least_squares_only(override: str) -> None:
    assert "closed-form" not in trained(REGRESSION, override).report().text


def test_a_percentage_of_nothing_is_not_shown() -> None:
    text = trained(REGRESSION, "train={epochs: 9, batch_size: null}").report().text
    assert "\nclosed-form least squares: loss 0.0000\n" in text


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


def test_coefficients_of_made_samples_stand_beside_the_true_ones() -> None:
    data = "data={generator: {name: line, slope: 7, intercept: 0.5, noise: 0}}"
    *_, header, slope, intercept = trained(REGRESSION, data).report().text.splitlines()
    assert header.split()[-1] == "truth"
    assert [row.split()[2:] for row in (slope, intercept)] == [["7", "7"], ["0.5", "0.5"]]


def test_many_coefficients_are_cut_short() -> None:
    names = [f"f{i}" for i in range(30)]
    text = coefficients_table("y", names, {"coefficient": range(31)})
    assert text.splitlines()[-3:] == ["f19                 19", "intercept           30",
                                      "and 10 features more"]  # fmt: skip


def test_a_logistic_regression_tells_log_odds() -> None:
    layers = "model.layers=[{name: Linear, out_features: 1}]"
    text = trained(CLASSIFICATION, layers).report().text
    assert "\nlog odds of 1  coefficient\nx0 " in text


def test_a_model_without_bias_is_compared_with_its_like() -> None:
    train = "train={epochs: 300, batch_size: null}"
    run = trained(REGRESSION, *SCATTERED, "model.layers[0].bias=false", train)
    results = run.report().results
    assert results["train/loss"] == pytest.approx(results["train/least_squares_loss"], rel=1e-3)


def test_the_report_has_a_column_per_part() -> None:
    text = trained().report().text.splitlines()
    assert text[0].split() == ["train", "validation", "test"]
    assert text[1].split() == ["samples", "14", "3", "3"]
    assert [line.split()[0] for line in text[2:7]] == ["loss", "MAE", "RMSE", "R2", "closed-form"]
    text = trained(CLASSIFICATION).report().text.splitlines()
    assert [line.split()[0] for line in text[2:10]] == [
        "loss", "accuracy", "precision", "recall", "F1", "AUC", "average", "Brier",
    ]  # fmt: skip


def test_parts_that_are_empty_are_not_reported() -> None:
    run = trained(REGRESSION, "data.split={train: 1, validation: 0, test: 0}")
    assert run.measure("test") == {}
    assert run.report().text.splitlines()[0].split() == ["train"]
    assert {len(line.split()) for line in run.report().text.splitlines()[1:6]} == {2}


def test_measuring_is_in_evaluation_mode_and_trains_nothing() -> None:
    dropout = "model.layers=[{name: Dropout, p: 0.9}, {name: Linear, out_features: 1}]"
    run = trained(REGRESSION, dropout)
    before = weights(run)
    assert run.measure("test") == run.measure("test")
    assert run.model.training
    for name, values in weights(run).items():
        np.testing.assert_array_equal(values, before[name])


def test_the_measured_loss_is_the_mean_over_samples() -> None:
    run = trained(CLASSIFICATION)
    samples = run.dataset.parts["train"]
    logits = run.predict(samples.x).astype(np.float64)
    expected = np.mean(
        np.log1p(np.exp(-np.abs(logits))) + np.maximum(logits, 0) - logits * samples.y
    )
    assert run.measure("train")["train/loss"] == pytest.approx(float(expected), rel=1e-5)


def test_large_parts_are_predicted_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(CLASSIFICATION)
    whole = run.predict(run.dataset.parts["train"].x)
    monkeypatch.setattr("nanotorch.train.supervised.LARGEST_BATCH", 5)
    np.testing.assert_allclose(run.predict(run.dataset.parts["train"].x), whole, rtol=1e-5)


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
    text = CLASSIFICATION.replace("generator: {name: moons, samples: 40}", "csv: table.csv")
    layers = "model.layers=[{name: Linear, out_features: 3}]"
    more = ("data.target=y", "loss=CrossEntropyLoss", layers, f"data.stratify={stratify}")
    lines = experiment(text, *more, table=table).describe().splitlines()
    warnings = [line for line in lines if line.startswith("warning: ")]
    assert warnings == [
        f"warning: the {name} part has no sample of class 'w'" for name in ("validation", "test")
    ]


@pytest.mark.parametrize("size", [1, 13])
def test_batch_normalization_needs_two_samples(size: int) -> None:
    layers = "model.layers=[BatchNorm1d, {name: Linear, out_features: 1}]"
    with pytest.raises(ConfigError) as caught:
        experiment(REGRESSION, layers, f"train.batch_size={size}")
    assert str(caught.value) == (
        f"command line: train.batch_size={size}: "
        "leaves a batch of one sample, whose variance BatchNorm1d cannot know"
    )
    trained(REGRESSION, layers, "train.batch_size=7")


def test_streams_differ_from_each_other_and_by_seed() -> None:
    draws = {
        tuple(torch.rand(3, generator=stream).tolist())
        for seed in (0, 1)
        for stream in streams(seed, 2)
    }
    assert len(draws) == 4
