"""The trainer as Python programs call it: `train` and `resume`, and what they return."""

import inspect
import io
import math
import re
import shutil
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

import nanotorch as torch
from nanotorch.train import fit, load_config, load_trained, resume, train
from nanotorch.train.config.load import shipped
from nanotorch.train.runs.run import History
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    TABLE,
    refusal_of,
    same_weights,
    write_example,
)

DATA = np.array([line.split(",") for line in TABLE.splitlines()[1:]], dtype=np.float64)


def test_a_file_a_mapping_and_a_loaded_configuration_train_alike() -> None:
    path = write_example(Path())
    runs = [
        train("x.yaml", "train.epochs=3", "optimizer.lr=0.05"),
        train(path, "train.epochs=3", "optimizer.lr=0.05"),
        train(yaml.safe_load(REGRESSION), "train.epochs=3", "optimizer={name: SGD, lr: 0.05}"),
        train(load_config(path, ["train.epochs=3", "optimizer.lr=0.05"])),
    ]
    assert all(run.results == runs[0].results for run in runs)
    assert all(same_weights(run, runs[0]) for run in runs)
    assert [run.directory.parent.name for run in runs] == ["x", "x", "run", "x"]


def test_a_mapping_may_hold_paths_and_numbers_of_numpy(tmp_path: Path) -> None:
    write_example(tmp_path)
    config = yaml.safe_load(REGRESSION)
    config["data"]["csv"] = tmp_path / "table.csv"
    config["optimizer"]["lr"] = np.float64(0.05)
    config["train"] = {"epochs": np.int64(1), "batch_size": None}
    assert train(config, verbose=False).status == "finished"
    wrong = {"experiment": "regression", "seed": DATA, "train": {"epocs": 3}}
    told = refusal_of(train)(wrong)
    assert "the mapping: seed: expected an integer, got 'array([[ 0.,  0.,  1.],\\n" in told
    assert "the mapping: train.epocs: unknown key; did you mean 'epochs'?" in told
    assert "the mapping: model: missing" in told


def test_a_shipped_configuration_is_known_by_its_name() -> None:
    run = train("two_moons", "train.epochs=1", "log={tensorboard: false, plots: false}")
    assert run.directory.parent == Path("runs/two_moons")
    known = refusal_of(train)("two_mons")
    assert known == "two_mons: there is no such file or configuration; did you mean 'two_moons'?"


def test_overrides_are_no_list() -> None:
    write_example(Path())
    for call, what in ((train, "x.yaml"), (resume, train("x.yaml").directory)):
        assert "one argument each; got ['seed=1']" in refusal_of(call, TypeError)(what, ["seed=1"])
    told = refusal_of(train, TypeError)
    assert "give the overrides to load_config" in told(load_config("x.yaml"), "seed=1")
    for wrong, advice in {
        "epochs": "write it as a text: 'train.epochs=3'", "seed": "write it as a text: 'seed=3'",
        "epoch": "write it as a text: 'train.epochs=3'", "device": "nanotorch runs on the CPU",
        "foo": "settings are texts, such as 'train.epochs=5'",
    }.items():  # fmt: skip
        assert f"no argument '{wrong}'; {advice}" in told("x.yaml", **{wrong: 3})
    assert "call nanotorch.train.resume('latest')" in told("x.yaml", resume="latest")
    assert "or a mapping; got 5" in told(5)
    assert refusal_of(train)("x.yaml", "seed=1", "seed=2").endswith(
        "seed=1 seed=2: the key is given twice; remove one of the two"
    )


def test_the_history_has_a_row_for_each_epoch_or_step(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    write_example(Path())
    history = train("x.yaml", "train={epochs: 3, validate_every: 2}", verbose=False).history
    assert capsys.readouterr().out == ""
    names = ["epoch", "train/loss", "validation/loss", "validation/mae", "validation/rmse"]
    assert list(history) == [*names, "validation/r2"]
    assert history["epoch"] == [1, 2, 3]
    assert history["train/loss"][0] > history["train/loss"][2]
    assert [math.isnan(value) for value in history["validation/loss"]] == [True, False, False]
    lines = str(history).splitlines()
    assert lines[0].split() == list(history)
    for count, shown in ((20, range(20)), (99, [*range(10), "...", *range(89, 99)])):
        rows = str(History([{"epoch": k, "train/epoch_loss": 0.5} for k in range(count)]))
        assert [row.split()[0] for row in rows.splitlines()[1:]] == [*map(str, shown)]
    assert re.fullmatch(r"2 +\S+ +\S+ +\S+ +\S+ +\S+", lines[2])
    run = train(write_example(Path(), MINIMIZATION), verbose=False)
    shown = ["step", "function/value", "x/0", "x/1", "train/lr", "function/gradient_norm"]
    assert list(run.history) == shown
    assert run.history["function/value"] == [2, 2, 0]
    assert run.predict([1.0, 3.0]).item() == 5


@pytest.mark.parametrize("text", [REGRESSION, MINIMIZATION], ids=["epochs", "steps"])
def test_notebooks_show_the_curves(text: str) -> None:
    pytest.importorskip("matplotlib")
    run = train(write_example(Path(), text), verbose=False)
    page = run._repr_html_()
    picture = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    shown = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert shown >= ({"Loss", "train", "validation"} if text is REGRESSION else {"Value"})
    assert f"<code>{run.directory}</code>" in page
    assert f"<pre>{run.history}</pre>" in page


def test_predictions_take_what_stands_in_the_data() -> None:
    write_example(Path())
    run = train("x.yaml", "train={epochs: 300, batch_size: null}")
    given = run.predict(DATA[:, :2])
    assert isinstance(given, torch.Tensor)
    np.testing.assert_allclose(given.numpy()[:, 0], DATA[:, 2], rtol=1e-3, atol=0.05)
    assert not run.model.training
    told = refusal_of(run.predict, ValueError)(DATA)
    assert "takes 2 numbers for each sample" in told
    assert "(20, 3)" in told


def test_a_finished_run_is_resumed_to_what_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.yaml").write_text(CLASSIFICATION, "utf-8")
    run = train("x.yaml")
    again = resume(run.directory)
    assert (again.results, again.history) == (run.results, run.history)
    assert same_weights(again, run)
    for other in (again, load_trained(run.directory)):
        assert torch.equal(other.predict([[0.5, 1]]), run.predict([[0.5, 1]]))
    longer = resume(run.directory, "train.steps=6", verbose=False)
    assert not same_weights(longer, run)
    assert "going on" not in capsys.readouterr().out


def test_the_examples_of_docstrings_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    train("two_moons", "train.epochs=2", "log={plots: false, tensorboard: false}")
    path = f"runs/{Path('runs/latest.txt').read_text('utf-8').strip()}"
    write_example(Path())
    (Path("configs")).mkdir()
    shutil.copy(shipped()["two_moons"], "configs/two_moons.yaml")
    for function in (train, resume, load_config, load_trained, fit):
        told = str(inspect.getdoc(function)).partition("Args:")[0]
        (block,) = re.findall(r"(?:^    .*\n)+", told, re.MULTILINE)
        program = textwrap.dedent(block).replace("runs/two_moons/2026-01-31_12-00-00-abcdef", path)
        x = torch.randn(40, 4)
        names = {"nn": torch.nn, "torch": torch, function.__name__: function, "x": x, "x_new": x}
        exec(program, names | {"y": x[:, :1]})
