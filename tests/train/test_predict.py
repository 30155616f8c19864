"""Predictions of trained models for new samples, prepared as those of the training were."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.train import cli, load_config, predict, train
from nanotorch.train.predict import load_trained
from nanotorch.train.run_directory import locked
from nanotorch.train.supervised import outputs_of
from tests.train.examples import CLASSIFICATION, REGRESSION, experiment, result_of, write_example
from tests.train.test_build import TEXT, small_embedding

QUIET = ("log.plots=false", "log.progress=false", "log.histograms=0")
TABLE = "size,town,y\n" + "".join(
    f"{i if i % 5 else '?'},{'ABC'[i % 3]},{['no', 'yes'][i % 2]}\n" for i in range(40)
)


SMALL = "a,y\n" + "1,2\n2,3\n" * 9
# Tables of another form, and what is said of them.
FORMS = {
    "A,y\n1,2\n": " was trained on; did you mean 'A'?",
    "1\n2\n": "new.csv: holds values, not the names of columns, such as 'a'",
    "a;b\n1;2\n": "new.csv:1:2: the cells are separated by semicolons, those of the training "
    "by commas; save the table so",
    "a,b\n,2\n": "new.csv:2:1: column 'a': is empty; training knew none without",
    "a,b\nx,2\n" + "y,1\n" * 5: "'x' is not a number, like 5 more cells\n",
    "a,y\n1,x\n": "new.csv:2:3: column 'y': 'x' is not a number",
}


def trained(text: str, table: str, *overrides: str) -> Path:
    write_example(Path(), text, table)
    return train(load_config("x.yaml", [*QUIET, *overrides])).directory


def predicted(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[list[str]], str]:
    capsys.readouterr()
    assert cli.predict([*arguments]) == 0
    captured = capsys.readouterr()
    return list(csv.reader(io.StringIO(captured.out))), captured.err


def test_numbers_are_the_training_model_s(capsys: pytest.CaptureFixture[str]) -> None:
    directory = trained(
        REGRESSION, "a,b,y\n" + "".join(f"{i},{i % 7},{3 * i}\n" for i in range(30))
    )
    Path("new.csv").write_text("b,a\n1,2\n3,40\n", "utf-8")
    rows, errors = predicted(capsys, str(directory), "new.csv")
    assert rows[0] == ["y"]
    assert errors == ""
    model = load_trained(directory)
    weight, bias = (tensor.detach().numpy() for tensor in model.model.parameters())
    prepared = model.dataset.preprocessing
    for row, (a, b) in zip(rows[1:], [(2, 1), (40, 3)], strict=True):
        x = (np.array([a, b]) - prepared.mean) / prepared.scale
        output = (weight @ x + bias).item()
        expected = output * prepared.target_scale + prepared.target_mean
        assert float(row[0]) == pytest.approx(expected, rel=1e-5)


def test_what_targets_that_are_all_alike_leave_undefined_is_told(capsys) -> None:
    data = "data={csv: table.csv, target: y, positive: 'yes', categorical: [town], missing: mean}"
    trained(CLASSIFICATION, TABLE, data)
    for rows, told in (("1,A,yes\n2,B,yes\n", True), ("1,A,yes\n2,B,no\n", False)):
        Path("new.csv").write_text(f"size,town,y\n{rows}", "utf-8")
        errors = " ".join(predicted(capsys, "latest", "new.csv")[1].split())
        assert errors.endswith("; auc takes targets that differ, and these are all alike") == told


def test_classes_names_and_missing_cells(capsys: pytest.CaptureFixture[str]) -> None:
    data = "data={csv: table.csv, target: y, positive: yes, categorical: [town], missing: mean}"
    directory = trained(CLASSIFICATION, TABLE, data.replace("yes", "'yes'"))
    rows, errors = predicted(capsys, "latest", "table.csv", "--output", "p.csv")
    assert rows == []
    assert "40 predictions in p.csv\naccuracy " in errors
    with Path("p.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert set(found[0]) == {"y", "p(yes)"}
    assert {row["y"] for row in found} <= {"no", "yes"}
    assert all((float(row["p(yes)"]) >= 0.5) == (row["y"] == "yes") for row in found)
    Path("new.csv").write_text("size,town\n3,D\n", "utf-8")
    assert cli.predict([str(directory), "new.csv"]) == 2
    assert "new.csv:2:3: column 'town': 'D' is not a value that training has seen" in (
        capsys.readouterr().err
    )


def test_files_of_a_run_are_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    directory = trained(REGRESSION, SMALL)
    names = ("run.json", "metrics.jsonl", "checkpoints/new", "../latest.txt", "../sweep.csv")
    for output in (directory / name for name in names):
        output.touch()
        before = output.read_bytes()
        assert cli.predict(["latest", "table.csv", "--output", str(output)]) == 2
        message = f"command line: --output: '{output}' is a file of a run; choose another name\n"
        assert capsys.readouterr().err.endswith(message)
        assert output.read_bytes() == before


def test_outputs_are_those_that_were_measured(capsys: pytest.CaptureFixture[str]) -> None:
    result = result_of(CLASSIFICATION, *QUIET)
    model = load_trained(result.directory)
    samples = experiment(CLASSIFICATION, *QUIET).dataset.parts["test"]
    found = model.kind.measure(outputs_of(model.model, samples.x, 64), samples.y)
    assert found == pytest.approx(
        {name: result.results[f"test/{name}"] for name in found}, rel=1e-9, nan_ok=True
    )


def test_a_text_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.txt").write_text("abc" * 60, "utf-8")
    directory = trained(TEXT, "a,y\n1,2\n", small_embedding())
    capsys.readouterr()
    arguments = [str(directory), "--prompt", "ab", "--length", "7"]
    assert cli.predict([*arguments, "--temperature", "0"]) == 0
    assert capsys.readouterr().out == "abcabcabc\n"
    texts = []
    for seed in ("0", "0", "1"):
        assert cli.predict([*arguments, "--temperature", "9", "--seed", seed]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]
    assert cli.predict([str(directory), "--prompt", "x"]) == 2
    assert "training has not seen 'x'" in capsys.readouterr().err


def test_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.arange(120.0).reshape(20, 6)
    np.savez("d.npz", x=x, y=x.sum(axis=1))
    directory = trained(REGRESSION, "a,y\n1,2\n", "data={npz: d.npz, inputs: x, target: y}")
    rows, _ = predicted(capsys, str(directory), "d.npz")
    assert len(rows) == 21
    np.save("one.npy", x[:1, :5])
    assert cli.predict([str(directory), "one.npy"]) == 2
    assert "has 5 numbers for each sample; the model takes 6" in capsys.readouterr().err


def test_what_cannot_be_used(capsys: pytest.CaptureFixture[str]) -> None:
    directory = trained(REGRESSION, SMALL)
    for arguments, message in (
        (["nowhere", "table.csv"], "error: nowhere: there is no such run"),
        (["table.csv"], "error: table.csv: is not the directory of a run: it has no config.yaml"),
        ([str(directory)], "command line: needs a file of samples; --prompt is"),
        ([str(directory), "none.csv"], "No such file"),
        ([str(directory), "x.yaml"], "x.yaml:"),
        ([str(directory), "."], ".: cannot be read: Is a directory"),
        (
            [str(directory), "table.csv", "--output", ""],
            "--output: cannot write '': Is a directory",
        ),
        ([str(directory), "table.csv", "--output", "runs"], "cannot write 'runs': Is a directory"),
        ([str(directory), "table.csv", "--output", "./table.csv"], "file of samples itself, which"),
        (
            [str(directory), "table.csv", "--output", "no/x"],
            "cannot write 'no/x': Parent directory no does not exist",
        ),
        ([str(directory), "table.csv", "--prompt", "a"], "--prompt is for models of text"),
    ):
        assert cli.predict(arguments) == 2
        assert message in capsys.readouterr().err
    for table, message in FORMS.items():
        Path("new.csv").write_text(table, "utf-8")
        assert cli.predict([str(directory), "new.csv"]) == 2
        assert message in capsys.readouterr().err
    (directory / "weights.safetensors").write_bytes(b"no")
    assert cli.predict([str(directory), "table.csv"]) == 2
    assert "weights.safetensors: is not what this run's model needs" in capsys.readouterr().err
    (directory / "preprocessing.json").write_text("{}")
    assert cli.predict([str(directory), "table.csv"]) == 2
    assert "preprocessing.json: lacks classes, columns, delimiter" in capsys.readouterr().err


def test_loading_a_model_draws_nothing() -> None:
    directory = trained(REGRESSION, SMALL)
    torch.manual_seed(5)
    expected = torch.rand(3).tolist()
    torch.manual_seed(5)
    load_trained(directory)
    assert torch.rand(3).tolist() == expected


def test_rows_without_a_target_are_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    directory = trained(REGRESSION, SMALL)
    Path("some.csv").write_text("a,y\n1,2\n2,\n3,NA\n", "utf-8")
    rows, told = predicted(capsys, str(directory), "some.csv")
    assert len(rows) == 4
    assert told.startswith("the 1 row with a target: mae ")
    Path("none.csv").write_text("a,y\n1,\n2,\n", "utf-8")
    rows, told = predicted(capsys, str(directory), "none.csv")
    assert (len(rows), told) == (3, "")


def test_the_run_that_is_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    table = "a,b,y\n" + "".join(f"{i},{i % 7},{3 * i}\n" for i in range(30))
    first = trained(REGRESSION, table, "log.name=houses")
    newest = trained(REGRESSION, table, "log.name=houses")
    other = trained(REGRESSION, "c,y\n" + "1,2\n2,3\n" * 9, "log.name=wine")
    Path("new.csv").write_text("a,b\n1,2\n", "utf-8")
    first, newest = sorted([first, newest])  # both may have begun in the same second
    for name, taken in (("houses", newest), ("runs/houses", newest), (str(first), first)):
        rows, told = predicted(capsys, name, "new.csv", "--output", "-")
        assert rows[0] == ["y"]
        assert told == (f"run: {taken}\n" if name != str(taken) else "")
    assert cli.predict(["latest", "new.csv"]) == 2
    assert f"new.csv: has no column 'c', which {other} was trained on" in capsys.readouterr().err
    assert cli.predict(["housse", "new.csv"]) == 2
    assert "housse: there is no such run; did you mean 'houses'?" in capsys.readouterr().err
    assert not Path("-").exists()


def test_weights_that_are_not_final_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    table = SMALL
    paused = trained(REGRESSION, table, "train.epochs=10000000", "train.time_limit=0.01")
    rows, told = predicted(capsys, str(paused), "table.csv")
    assert len(rows) == 19
    assert told.startswith("warning: the run is not finished but out of time: these are its ")
    diverged = trained(REGRESSION, table, "optimizer.lr=1e30", "train.epochs=9")
    assert cli.predict([str(diverged), "table.csv"]) == 2
    assert "has diverged; train with a smaller optimizer.lr" in capsys.readouterr().err


def test_a_run_that_goes_on_has_no_weights_yet(capsys: pytest.CaptureFixture[str]) -> None:
    directory = trained(REGRESSION, SMALL)
    record, weights = directory / "run.json", directory / "weights.safetensors"
    record.write_text(record.read_text("utf-8").replace('"finished"', '"running"'), "utf-8")
    weights.unlink()
    with locked(directory):
        assert cli.predict(["latest", "table.csv"]) == 2
        assert "this run is still going on" in capsys.readouterr().err
    assert cli.predict(["latest", "table.csv"]) == 2
    assert f"was killed before there were weights; train.py --resume {directory} resumes it" in (
        capsys.readouterr().err
    )


def test_a_number_has_as_many_digits_as_tell_it_from_others() -> None:
    assert [predict.prediction_text(v) for v in (np.pi * 1e5, 1 / 3, 2.0, "no")] == [
        "314159.265", "0.333333333", "2", "no"
    ]  # fmt: skip
