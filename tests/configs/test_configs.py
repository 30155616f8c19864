"""Every shipped configuration runs and reaches what is promised; what is told of them is true."""

import contextlib
import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nanotorch.serialization import load
from nanotorch.train import RunResult, load_config, train
from nanotorch.train.cli import main
from tests.tolerances import TRAINING, rounding
from tests.train.examples import REGRESSION, write_example

CONFIGS = Path(__file__).parents[2] / "configs"
GOLDEN = Path(__file__).parents[1] / "golden" / "minimization.json"
WEIGHTS = "weights.safetensors"
NAMES = [
    "bce_classification", "characters", "digits_cnn", "function_minimization", "linear_regression",
    "rosenbrock", "synthetic_line", "two_moons",
]  # fmt: skip
# Of those that would take long, what is enough to see them work.
SHORT = {
    "characters": ["train={steps: 6, batch_size: 4}", "data.stride=1000"],
    "digits_cnn": ["train.epochs=1", "train.batch_size=128"],
    "function_minimization": ["function.iterations=2"],
    "rosenbrock": ["function.iterations=20"],
}


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(name: str, *overrides: str) -> RunResult:
    quiet = ["log.tensorboard=false", "log.plots=false"]
    return train(load_config(CONFIGS / f"{name}.yaml", [*quiet, *overrides]))


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_from_start_to_end(name: str) -> None:
    length = ["log.plots=false", *SHORT.get(name, ["train.epochs=2"])]
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["--config", str(CONFIGS / f"{name}.yaml"), *length]) == 0
    (directory,) = Path("runs", name).iterdir()
    assert json.loads((directory / "run.json").read_text("utf-8"))["status"] == "finished"
    assert any(path.name.startswith("events.out.tfevents.") for path in directory.iterdir())
    assert load_config(directory / "config.yaml").config.log.name == name
    with contextlib.redirect_stdout(io.StringIO()):  # what a run used can be run again
        assert main(["--config", str(directory / "config.yaml"), "--check"]) == 0


@pytest.mark.slow  # whole trainings
@pytest.mark.parametrize("name", NAMES)
def test_it_learns_the_same_bits_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanotorch.train.training.step.WORTHWHILE", 0)
    section = "function" if name in ("function_minimization", "rosenbrock") else "train"
    left = []
    for on in (True, False):
        length = SHORT[name] if name in ("characters", "digits_cnn") else []
        directory = run(name, *length, f"{section}.compile={str(on).lower()}").directory
        record = json.loads((directory / "run.json").read_text("utf-8"))
        assert record["step"]["compiled"] is on, record["step"]
        files = [(directory / file).read_bytes() for file in ("metrics.jsonl", WEIGHTS)]
        left.append((record["results"], *files))
    assert left[0] == left[1]


def test_linear_regression_reaches_the_closed_form() -> None:
    results = run("linear_regression").results
    best = results["train/least_squares_loss"]
    assert best <= results["train/loss"] * (1 + 1e-6)
    assert results["train/loss"] <= best * 1.001
    assert results["test/r2"] > 0.4


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 5))]
)
def test_bce_classification_recognizes_tumours(seed: int) -> None:
    results = run("bce_classification", f"seed={seed}").results
    assert results["test/accuracy"] >= 0.96
    assert results["test/auc"] >= 0.98


def test_rosenbrock_reaches_the_minimum() -> None:
    results = run("rosenbrock").results
    assert results["function/value"] < 1e-6
    assert results["function/distance"] < 1e-2


def test_function_minimization_takes_the_steps_that_pytorch_takes() -> None:
    directory = run("function_minimization", "log.every=1").directory
    *records, _ = map(json.loads, (directory / "metrics.jsonl").read_text("utf-8").splitlines())
    golden = json.loads(GOLDEN.read_text("utf-8"))["descents"][0]
    assert golden["start"] == [1, 2]
    assert golden["optimizer"] == {"name": "SGD", "lr": 1, "momentum": 0.5}
    shown = [[record[name] for name in ("function/value", "x/0", "x/1")] for record in records]
    limit = rounding("float32", len(shown) ** 0.5, terms=4)  # of a function of two numbers
    np.testing.assert_allclose(shown, golden["lines"], rtol=limit, atol=limit)


def test_synthetic_line_finds_slope_and_intercept() -> None:
    result = run("synthetic_line")
    weights = load(result.directory / WEIGHTS)
    assert weights["0.weight"].item() == pytest.approx(2, abs=0.05)
    assert weights["0.bias"].item() == pytest.approx(-1, abs=0.03)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_two_moons_are_told_apart(seed: int) -> None:
    assert run("two_moons", f"seed={seed}").results["test/accuracy"] >= 0.95


def test_digits_are_read() -> None:
    results = run("digits_cnn", "train.epochs=6").results
    assert results["test/accuracy"] >= 0.95


@pytest.mark.slow  # whole trainings
def test_the_network_of_digits_and_the_transformer_learn_what_pytorch_s_learn() -> None:
    golden = json.loads((GOLDEN.parent / "configurations.json").read_text("utf-8"))
    for name, overrides in golden["overrides"].items():
        directory = run(name, *overrides, "log.every=1").directory
        lines = (directory / "metrics.jsonl").read_text("utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        losses = [record["train/loss"] for record in records if "train/loss" in record]
        np.testing.assert_allclose(losses, golden["losses"][name], rtol=TRAINING)


def test_tables_are_whole_and_described() -> None:
    described = (CONFIGS / "data" / "README.md").read_text("utf-8")
    for name, rows, columns in (("diabetes", 442, 11), ("breast_cancer", 569, 31)):
        lines = (CONFIGS / "data" / f"{name}.csv").read_text("utf-8").splitlines()
        assert [len(row) for row in csv.reader(lines)] == [columns] * (rows + 1)
        section = described.partition(f"## `{name}.csv`: {rows} rows, {columns - 1} features")[2]
        assert "Origin: " in section
        assert re.search("licen[cs]e", section, re.IGNORECASE)


def test_every_configuration_is_tried_and_every_table_used() -> None:
    assert {path.stem for path in CONFIGS.glob("*.yaml")} == {*NAMES}
    text = "".join(path.read_text("utf-8") for path in CONFIGS.glob("*.yaml"))
    for path in (CONFIGS / "data").iterdir():
        assert f": data/{path.name}" in text or path.name == "README.md"


def test_images_and_the_text_are_whole_and_described() -> None:
    described = (CONFIGS / "data" / "README.md").read_text("utf-8")
    digits = np.load(CONFIGS / "data" / "digits.npz", allow_pickle=False)
    assert digits["images"].shape == (1797, 8, 8)
    assert digits["images"].max() == 16
    assert np.bincount(digits["labels"]).tolist() == [
        *(178, 182, 177, 183, 181, 182, 181, 179, 174, 180)
    ]
    sonnets = (CONFIGS / "data" / "sonnets.txt").read_text("utf-8")
    verses = [len(sonnet.splitlines()) for sonnet in sonnets.strip().split("\n\n")]
    assert set(verses) == {14}
    assert "`digits.npz`" in described
    assert f"`sonnets.txt`: {len(verses)} sonnets" in described
    assert "public domain" in described


README = (Path(__file__).parents[2] / "configs" / "README.md").read_text("utf-8")


def test_the_program_with_a_layer_of_its_own_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    path = write_example(tmp_path, REGRESSION.replace("layers:", "layers:\n    - {name: Scale}"))
    (tmp_path / "own.py").write_text(program, "utf-8")
    command = [sys.executable, "own.py", "--config", path.name, "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 Scale" in done.stdout
