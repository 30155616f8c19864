"""A newcomer's own table: one command with what is set by default gives a good model."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.nn import functional as F
from nanotorch.train import fit, load_config, load_trained, register_loss, train
from nanotorch.train.config.components import LOSS_FACTS, LOSSES
from nanotorch.train.runs.run import RunResult, resume
from tests.train.examples import (
    CLASSIFICATION,
    REGRESSION,
    experiment,
    loaded,
    recorded,
    refusal_of,
    result_of,
    said,
    trained,
)

CITIES = {"Leipzig": 20_000, "Berlin": 90_000, "Munich": 210_000}
HOUSES = """\
experiment: regression
data:
  csv: table.csv
  target: price
model:
  layers: [{name: Linear, out_features: 32}, ReLU, {name: Linear, out_features: 1}]
loss: MSELoss
optimizer: {name: Adam, lr: 1e-2}
train: {epochs: 50}
log: {tensorboard: false, plots: false, progress: false}
"""


def houses() -> str:
    """200 houses: the price grows with the size and the rooms, and differs between cities."""
    random, lines = np.random.default_rng(0), ["size,rooms,city,price"]
    for _ in range(200):
        size, city = int(random.integers(35, 220)), str(random.choice([*CITIES]))
        rooms = max(1, round(size / 28 + random.normal(0, 0.7)))
        price = CITIES[city] + 2600 * size + 9000 * rooms + random.normal(0, 15_000)
        lines.append(f"{size},{rooms},{city},{price:.0f}")
    return "\n".join(lines) + "\n"


def fitted(text: str, table: str, *overrides: str) -> RunResult:
    return train(loaded(text, *overrides, table=table))


def test_prices_are_learned_and_told_in_their_own_units() -> None:
    result = fitted(HOUSES, houses())
    found = result.results
    assert found["test/r2"] >= 0.95
    assert 10_000 < found["test/rmse"] < 40_000
    for part in ("train", "validation", "test"):
        assert found[f"{part}/loss"] == pytest.approx(found[f"{part}/rmse"] ** 2, rel=1e-4)
    losses = recorded(result.directory, "train/loss")
    assert losses[0] > 1e9 > losses[-1] > 1e7  # squares of prices
    kept = json.loads((result.directory / "preprocessing.json").read_bytes())
    assert kept["target_mean"] == pytest.approx(4.5e5, rel=0.2)
    Path("new.csv").write_text("size,rooms,city\n100,4,Berlin\n60,2,Munich\n", "utf-8")
    name, *prices = said("predict latest new.csv")[1].split()
    assert name == "price"
    expected = [90_000 + 260_000 + 36_000, 210_000 + 156_000 + 18_000]
    assert list(map(float, prices)) == pytest.approx(expected, rel=0.1)
    cells = [[100, 4, "Berlin"], [60, 2, "Munich"]]
    told = [f"{price:.9g}" for price in result.predict(cells).flatten().tolist()]
    assert told == prices
    with pytest.raises(ValueError, match=r"takes 5 numbers .* or the cells of size, rooms, city; "):
        result.predict([[100, 4]])


@pytest.mark.parametrize("loss", ["L1Loss", "SmoothL1Loss", "HuberLoss"])
def test_every_loss_of_numbers_has_their_units(loss: str) -> None:
    in_cents = re.sub(r",(\d+)\n", r",\g<1>00\n", houses())
    small, large = (fitted(HOUSES, table, f"loss={loss}") for table in (houses(), in_cents))
    for name, degree in (("train/loss", 2 if loss == "HuberLoss" else 1), ("train/mae", 1)):
        assert large.results[name] == pytest.approx(100**degree * small.results[name], rel=1e-3)


def test_a_constant_target_is_learned() -> None:
    table = "a,y\n" + "".join(f"{i},1e9\n" for i in range(20))
    assert fitted(REGRESSION, table).results["test/rmse"] < 3


class Rates(nn.Module):
    """Fits logarithms of rates to counts."""

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return (input.exp() - target * input).mean()


def register_counts() -> None:
    register_loss(nn.PoissonNLLLoss, "regression", "CountsOfMine")
    register_loss(lambda: nn.PoissonNLLLoss(full=True), "regression", "MadeCounts")
    register_loss(Rates, "regression", prediction=torch.exp)
    register_loss(Rates, "regression", "RatesAlone")
    register_loss(nn.MSELoss, "regression", "SquaresOfMine", degree=2)
    for name, degree, prediction in (
        ("DegreeOfMine", 2, torch.exp), ("CountsInUnits", 1, None),
        ("WrongPrediction", 0, lambda outputs: outputs.nothing()), ("OnePrediction", 0, torch.sum),
    ):  # fmt: skip
        factory = nn.PoissonNLLLoss if prediction is None else Rates
        register_loss(factory, "regression", name, degree, prediction)
    assert register_loss(nn.PoissonNLLLoss, "regression") is nn.PoissonNLLLoss  # known already
    with pytest.raises(ValueError, match="exists already"):
        register_loss(nn.PoissonNLLLoss, "regression", prediction=torch.exp)


@pytest.fixture(scope="module", autouse=True)
def _counts() -> Iterator[None]:
    known, facts = {**LOSSES.registered}, {**LOSS_FACTS}
    register_counts()
    yield
    for kept, before in ((LOSSES.registered, known), (LOSS_FACTS, facts)):
        kept.clear()
        kept.update(before)


def claims() -> str:
    """300 rows of a count, whose rate grows by the factor e with each 2 of `a`."""
    random, lines = np.random.default_rng(0), ["a,n"]
    for a in random.uniform(0, 5, 300):
        lines.append(f"{a},{random.poisson(np.exp(a / 2))}")
    return "\n".join(lines) + "\n"


LOG_RATES = ("PoissonNLLLoss", "CountsOfMine", "MadeCounts", "Rates")
CLAIMS = HOUSES.replace("price", "n").replace("lr: 1e-2", "lr: 3e-2")
RATES = CLAIMS.replace("out_features: 1}]", "out_features: 1}, Softplus]")


@pytest.mark.parametrize("loss", [*LOG_RATES, "{name: CountsOfMine, log_input: false}"])
def test_counts_are_measured_and_predicted_not_the_logarithms_of_rates(loss: str) -> None:
    plots = f"log.plots={str(loss == LOG_RATES[0]).lower()}"
    run = fitted(RATES if "false" in loss else CLAIMS, claims(), f"loss={loss}", plots)
    dataset = run.task.dataset
    np.testing.assert_array_equal(dataset.parts["train"].y, dataset.targets("train"))
    x, y = dataset.parts["test"].x, dataset.parts["test"].y
    outputs = run.model(torch.from_numpy(x)).detach().numpy()
    expected = outputs if "false" in loss else np.exp(outputs)
    assert run.results["test/mae"] == pytest.approx(np.abs(expected - y).mean(), rel=1e-5)
    assert run.results["test/r2"] > 0.4
    np.testing.assert_allclose(run.task.predict(x), expected, rtol=1e-6)  # figures show it
    found = run.predict([[1.0], [4.0]]).flatten().tolist()
    assert found == pytest.approx(np.exp([0.5, 2]), rel=0.3)
    assert load_trained(run.directory).predict([[1.0], [4.0]]).flatten().tolist() == found
    Path("new.csv").write_text("a,n\n1,2\n4,7\n", "utf-8")
    _, shown, told = said("predict latest new.csv")
    assert shown.split() == ["n", *(f"{value:.9g}" for value in found)]
    assert f"mae {(abs(found[0] - 2) + abs(found[1] - 7)) / 2:.4f}" in told


@pytest.mark.parametrize("loss", [nn.PoissonNLLLoss(), F.poisson_nll_loss, Rates()])
def test_fit_takes_the_prediction_of_a_loss(loss: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = np.loadtxt(claims().splitlines()[1:], delimiter=",").T[:, :, None]
    model = nn.Linear(1, 1)
    run = fit(model, (x, y), loss=loss, optimizer={"name": "Adam", "lr": 0.1}, epochs=30)
    expected = model(torch.tensor(x).float()).exp().detach()
    assert torch.equal(run.predict(x), expected)
    assert run.results["train/mae"] == pytest.approx(np.abs(expected.numpy() - y).mean(), rel=1e-5)
    assert run.results["train/r2"] > 0.4
    fit(model, (x, 1000 + y), loss=loss, optimizer={"name": "SGD", "lr": 0.0}, epochs=1)
    assert closing(capsys).endswith("target; train longer or with another learning rate")


def test_targets_of_a_loss_of_its_own_kind_stay_as_they_are() -> None:
    squares = trained(REGRESSION, "loss=SquaresOfMine")
    assert squares.measure("test") == trained(REGRESSION).measure("test")
    alone = experiment(REGRESSION, "loss=RatesAlone")
    np.testing.assert_array_equal(alone.dataset.parts["train"].y, alone.dataset.targets("train"))
    hint = "register the loss with its degree, so that the target is standardized, or with its pre"
    assert hint in alone.report().warning
    for settings in ("loss=CountsOfMine", "loss={name: CountsOfMine, log_input: false}"):
        run = experiment(REGRESSION, settings, "data.standardize_target=false")
        poor = {"train/r2": -1.0, "test/r2": -1.0}
        told = run._warning(poor, {"train": np.ones(3), "test": np.ones(3)})
        assert told.endswith("train longer or with another learning rate (--find-lr proposes one)")


def test_predictions_of_a_loss_that_cannot_be() -> None:
    units = "so its target cannot be standardized; register it with degree 0 instead of"
    for loss, message in {
        "DegreeOfMine": f"{units} 2",
        "CountsInUnits": f"{units} 1",
        "WrongPrediction": "AttributeError: 'Tensor' object has no attribute 'nothing' at ",
        "OnePrediction": "its `prediction` returns shape () for outputs of (1, 1)",
    }.items():
        assert message in refusal_of(fitted)(CLAIMS, claims(), f"loss={loss}")


def test_a_run_from_before_targets_were_standardized_goes_on_and_predicts() -> None:
    off = "data.standardize_target=false"
    whole = result_of(REGRESSION, "train.epochs=6", off)
    part = train(load_config("x.yaml", ["train.epochs=3", off]))
    config = part.directory / "config.yaml"
    text = config.read_text("utf-8")
    assert "  standardize_target: false" in text
    config.write_text(re.sub(r"  standardize_target.*\n", "", text), "utf-8")
    path = part.directory / "preprocessing.json"
    kept = json.loads(path.read_bytes())
    path.write_text(json.dumps({k: v for k, v in kept.items() if not k.startswith("target_")}))
    code, _, told = said(f"predict {part.directory} table.csv")
    assert code == 0
    assert "rmse" in told
    shutil.copytree(part.directory, "copy")
    assert resume("copy", "train.epochs=6").results == whole.results


def closing(capsys: pytest.CaptureFixture[str]) -> str:
    """What a run says in the end, on one line."""
    return " ".join(capsys.readouterr().out.rpartition("\nfinished after ")[2].split())


@pytest.mark.parametrize(
    ("overrides", "warning"),
    [
        (("train.epochs=50",), ""),
        (("train.epochs=1", "optimizer.lr=1e-6"), "train longer or with another learning rate"),
        (("data.standardize_target=false",), "set data.standardize_target: true"),
        (("train.epochs=1", "optimizer.lr=1e-6", "train.fast_dev_run=true"), ""),
        (("data.target=noise",), "only the training part fits"),
    ],
)
def test_a_useless_regression_says_so_and_why(
    overrides: tuple[str, ...], warning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    random, (header, *rows) = np.random.default_rng(0), houses().splitlines()
    rows = [f"{row},{random.normal()}\n" for row in rows]
    fitted(HOUSES, f"{header},noise\n{''.join(rows)}", "train.epochs=400", *overrides)
    last = closing(capsys)
    assert ("warning: test R2 -" in last) == bool(warning)
    assert warning in last


def test_a_useless_classification_says_so_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    table = "a,y\n" + "".join(f"{i % 7},{int(i % 5 == 0)}\n" for i in range(200))
    data = "data={csv: table.csv, target: y, class_weights: [1, 99]}"
    fitted(CLASSIFICATION, table, data, "train.steps=200")
    assert re.search(
        r" s warning: test accuracy 0\.\d+ is less than the 0\.\d+ of always predicting the most "
        r"common of 2 classes; data\.class_weights favours rare classes over accuracy$",
        closing(capsys),
    )


def test_a_file_in_the_home_directory_is_found(tmp_path, monkeypatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "mine.csv").write_text(houses(), "utf-8")
    assert fitted(HOUSES, "a,b\n", "data.csv=~/mine.csv", "train.epochs=1").exit_code == 0


def test_a_class_that_looks_like_a_number_is_written_in_quotes() -> None:
    for value in ("1", "true"):
        table = "a,y\n" + "".join(f"{i},{value if i % 3 else 'other'}\n" for i in range(30))
        settings = (CLASSIFICATION, table, "data={csv: table.csv, target: y}")
        told = refusal_of(fitted)(*settings, f"data.positive={value}")
        assert told.endswith(f"""; write '"{value}"'""")
        assert fitted(*settings, f'data.positive="{value}"').exit_code == 0


PASSENGERS = HOUSES.replace("MSELoss", "BCEWithLogitsLoss").replace("epochs: 50", "epochs: 30")
PASSENGERS = PASSENGERS.replace("regression", "classification").replace("price", "Survived")


def passengers() -> str:
    """Mixed columns with holes, as of the ship's: names, tickets, cabins, and who survived."""
    random = np.random.default_rng(0)
    lines = ["PassengerId,Survived,Pclass,Name,Sex,Age,Ticket,Fare,Cabin,Embarked"]
    for number in range(1, 601):
        sex, rank = random.choice(["male", "female"], p=[0.65, 0.35]), random.integers(1, 4)
        survived = random.random() < {"male": 0.1, "female": 0.85}[sex] + 0.05 * (2 - rank)
        age = "" if random.random() < 0.2 else f"{random.gamma(6, 5):.1f}"
        ticket = f"{random.choice(['A/5 ', 'PC ', '', ''])}{random.integers(10_000, 400_000)}"
        cabin = "" if random.random() < 0.77 else f"C{random.integers(1, 90)}"
        port = random.choice(["S", "C", "Q", ""], p=[0.72, 0.18, 0.08, 0.02])
        fare = f"{100 / rank**2 * random.random() + 7:.4f}"
        name = f'"{"ABC"[number % 3]}son {number}, Mr. or Mrs."'
        row = number, int(survived), rank, name, sex, age, ticket, fare, cabin, port
        lines.append(",".join(map(str, row)))
    return "\n".join(lines) + "\n"


def test_mixed_columns_with_holes_say_in_one_line_what_to_set() -> None:
    *columns, last = refusal_of(fitted)(PASSENGERS, passengers()).splitlines()
    named = sorted(line.split("'")[1] for line in columns)
    assert named == ["Age", "Cabin", "Embarked", "Name", "Ticket"]
    before, _, advice = last.partition(": this table can be read with ")
    assert before == "x.yaml:3:3: data"
    settings = shlex.split(advice)
    assert settings == ["data.exclude=[Name, Ticket, Cabin]", "data.missing=mean"]
    assert fitted(PASSENGERS, passengers(), *settings).results["test/accuracy"] > 0.75
    Path("new.csv").write_text("PassengerId,Pclass,Sex,Age,Fare,Embarked\n1,1,male,,30,S\n")
    assert said("predict latest new.csv")[0] == 0


def test_what_to_set_follows_from_what_is_set() -> None:
    for override, advice in {
        "data.categorical=[Sex]": "'data.exclude=[Name, Ticket, Cabin]' "
        "'data.categorical=[Sex, Embarked]' data.missing=mean",
        "data.features=[Sex, Name, Age]": "'data.features=[Sex, Age]' data.missing=mean",
        "data={csv: table.csv, target: Survived, exclude: [Name], missing: median}": "'data."
        "exclude=[Name, Ticket, Cabin]'",
    }.items():
        told = refusal_of(fitted)(PASSENGERS, passengers(), override)
        assert told.endswith(f": this table can be read with {advice}")


def test_columns_of_few_names_are_features() -> None:
    table = "a,b,c,y\n" + "".join(f"{i},{['u', 'v', '?'][i % 3]},name {i},{i}\n" for i in range(40))
    Path("own.csv").write_text(table, "utf-8")
    data = "data={csv: own.csv, target: y, exclude: [c], missing: mean}"
    run = experiment(REGRESSION, data)
    assert list(run.dataset.preprocessing.features) == ["a", "b=u", "b=v"]
    assert "columns of names: b (2)" in run.describe()
    x = run.dataset.parts["train"].x
    assert {tuple(row) for row in np.sign(x[:, 1:]).tolist()} == {(1, -1), (-1, 1), (-1, -1)}
