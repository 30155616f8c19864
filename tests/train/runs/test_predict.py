"""Predictions of trained models for new samples, prepared as those of the training were."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.serialization import load
from nanotorch.train import train
from nanotorch.train.commands import call_again
from nanotorch.train.runs.predict import load_trained
from nanotorch.train.runs.run_directory import locked, step_of
from nanotorch.train.training.supervised import outputs_of
from tests.several import posix
from tests.train.config.test_build import EMBEDDING, TEXT
from tests.train.examples import (
    CLASSIFICATION,
    REGRESSION,
    experiment,
    loaded,
    mistake,
    result_of,
    said,
)

QUIET = ("log.plots=false", "log.progress=false", "log.histograms=0")
TABLE = "size,town,y\n" + "".join(
    f"{i if i % 5 else '?'},{'ABC'[i % 3]},{['no', 'yes'][i % 2]}\n" for i in range(40)
)
SMALL = "a,y\n" + "1,2\n2,3\n" * 9
# Tables of another form, and what is said of them.
FORMS = {
    "A,y\n1,2\n": " was trained on; did you mean 'A'?",
    "1\n2\n": "new.csv: the first line has values instead of column names, such as 'a'",
    "a;b\n1;2\n": "new.csv:1:2: the cells are separated by semicolons, but the training data "
    "by commas; save the table like that",
    "a,b\n,2\n": "new.csv:2:1: column 'a': is empty; fill it in, or train with data.missing: mean",
    "a,b\nx,2\n" + "y,1\n" * 5: "'x' is not a number (and 5 more cells)\n",
    "a,y\n1,x\n": "new.csv:2:3: column 'y': 'x' is not a number",
}


def trained(text: str, table: str, *overrides: str) -> Path:
    return train(loaded(text, *QUIET, *overrides, table=table), verbose=False).directory


def predicted(words: str, **files: str) -> tuple[list[list[str]], str]:
    """The rows that a command prints, and what else it tells, with `new.csv` and such written."""
    for name, text in files.items():
        Path(f"{name}.csv").write_text(text, "utf-8")
    code, out, told = said(f"predict {words}")
    assert code == 0, told
    return list(csv.reader(io.StringIO(out))), told


def test_numbers_are_the_training_model_s() -> None:
    table = "a,b,y\n" + "".join(f"{i},{i % 7},{3 * i}\n" for i in range(30))
    directory = trained(REGRESSION, table)
    torch.manual_seed(5)
    expected = torch.rand(3).tolist()
    torch.manual_seed(5)
    model = load_trained(directory)
    assert torch.rand(3).tolist() == expected  # to load a model draws nothing
    ((name,), *rows), told = predicted(f"{directory} new.csv", new="b,a\n1,2\n3,40\n")
    assert (name, told) == ("y", "")
    weight, bias = (tensor.detach().numpy() for tensor in model.model.parameters())
    prepared = model.dataset.preprocessing
    for (shown,), cells in zip(rows, [(2, 1), (40, 3)], strict=True):
        output = (weight @ ((np.array(cells) - prepared.mean) / prepared.scale) + bias).item()
        expected = output * prepared.target_scale + prepared.target_mean
        assert float(shown) == pytest.approx(expected, rel=1e-5)


def test_classes_names_and_missing_cells() -> None:
    data = "data={csv: table.csv, target: y, positive: 'yes', categorical: [town], missing: mean}"
    trained(CLASSIFICATION, TABLE, data)
    rows, told = predicted("latest table.csv --output p.csv")
    assert rows == []
    assert "40 predictions in p.csv\naccuracy " in told
    with Path("p.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert set(found[0]) == {"y", "p(yes)"}
    assert {row["y"] for row in found} <= {"no", "yes"}
    assert all((float(row["p(yes)"]) >= 0.5) == (row["y"] == "yes") for row in found)
    # What targets that are all alike leave undefined is told.
    for kinds, alike in (("yes", True), ("no", False)):
        rows, told = predicted("latest new.csv", new=f"size,town,y\n1,A,yes\n2,B,{kinds}\n")
        undefined = "; auc needs targets that differ, and these are all equal"
        assert " ".join(told.split()).endswith(undefined) == alike
    Path("new.csv").write_text("size,town\n3,D\n", "utf-8")
    unseen = "new.csv:2:3: column 'town': 'D' is not a value in the training data; known: A, B, C"
    assert unseen in mistake("predict latest new.csv")


def test_files_of_a_run_are_not_written_over() -> None:
    directory = trained(REGRESSION, SMALL)
    names = ("run.json", "metrics.jsonl", "checkpoints/new", "../latest.txt", "../sweep.csv")
    for output in (directory / name for name in names):
        output.touch()
        before = output.read_bytes()
        message = f"command line: --output: '{output}' is a file of a run; choose another name\n"
        assert mistake(f"predict latest table.csv --output {output}").endswith(message)
        assert output.read_bytes() == before


def test_outputs_are_those_that_were_measured() -> None:
    result = result_of(CLASSIFICATION, *QUIET)
    model = load_trained(result.directory)
    samples = experiment(CLASSIFICATION, *QUIET).dataset.parts["test"]
    found = model.kind.measure(outputs_of(model.model, samples.x, 64), samples.y)
    assert found == pytest.approx(
        {name: result.results[f"test/{name}"] for name in found}, rel=1e-9, nan_ok=True
    )


def test_a_text_goes_on() -> None:
    Path("t.txt").write_text("abc" * 60, "utf-8")
    directory = trained(TEXT, "a,y\n1,2\n", EMBEDDING)
    command = f"predict {directory} --prompt ab --length 7 --temperature"
    assert said(f"{command} 0") == (0, "abcabcabc\n", "")
    texts = [said(f"{command} 9 --seed {seed}")[1] for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    assert "the training text has no 'x'" in mistake("predict latest --prompt x")


def test_arrays() -> None:
    x = np.arange(120.0).reshape(20, 6)
    np.savez("d.npz", x=x, y=x.sum(axis=1))
    trained(REGRESSION, "a,y\n1,2\n", "data={npz: d.npz, inputs: x, target: y}")
    assert len(predicted("latest d.npz")[0]) == 21
    np.save("one.npy", x[:1, :5])
    told = mistake("predict latest one.npy")
    assert "has 5 numbers for each sample; the model takes 6" in told


# The words after `predict`: how it ends. DIR is the run, `new.csv` a table with these rows.
MISTAKES = {
    "nowhere table.csv": "error: nowhere: there is no such run",
    "table.csv": "error: table.csv: is not the directory of a run: it has no config.yaml",
    "DIR": "command line: needs a file of samples",
    "DIR none.csv": "No such file",
    "DIR x.yaml": "x.yaml:",
    "DIR .": ".: cannot be read: Is a directory",
    "DIR table.csv --output ''": "--output: cannot write '': Is a directory",
    "DIR table.csv --output runs": "cannot write 'runs': Is a directory",
    "DIR table.csv --output ./table.csv": "file of samples, which",
    "DIR table.csv --output no/x": "cannot write 'no/x': Parent directory no does not exist",
    "DIR table.csv --prompt a": "--prompt is for models of text; leave it out",
    "housse table.csv": "housse: there is no such run; did you mean 'houses'?",
}


def test_what_cannot_be_used() -> None:
    directory = trained(REGRESSION, SMALL, "log.name=houses")
    for words, message in MISTAKES.items():
        assert message in mistake(f"predict {words.replace('DIR', str(directory))}")
    for table, message in FORMS.items():
        Path("new.csv").write_text(table, "utf-8")
        assert message in mistake("predict latest new.csv")
    for name, content, message in (
        ("weights.safetensors", "no", "does not fit this run's model"),
        ("preprocessing.json", "{}", "lacks classes, columns, delimiter"),
    ):
        (directory / name).write_text(content)
        assert f"{name}: {message}" in mistake("predict latest table.csv")


def test_rows_without_a_target_are_predicted() -> None:
    directory = trained(REGRESSION, SMALL)
    rows, told = predicted("latest some.csv", some="a,y\n1,2\n2,\n3,NA\n")
    assert len(rows) == 4
    assert "\nthe 1 row with a target: mae " in told
    rows, told = predicted(f"{directory} none.csv", none="a,y\n1,\n2,\n")
    assert (len(rows), told) == (3, "")


def test_the_run_that_is_taken_is_named() -> None:
    runs = sorted(trained(REGRESSION, SMALL, "log.name=houses") for _ in range(2))
    other = trained(REGRESSION, "c,y\n" + "1,2\n2,3\n" * 9, "log.name=wine")
    Path("new.csv").write_text("a\n1\n", "utf-8")
    first, newest = map(str, runs)  # both may have begun in the same second
    for name, taken in (("houses", newest), ("runs/houses", newest), (first, "")):
        rows, told = predicted(f"{name} new.csv --output -")
        assert rows[0] == ["y"]
        assert told == (f"run: {taken}\n" if taken else "")
    told = mistake("predict latest new.csv")
    assert f"new.csv: has no column 'c', which {other} was trained on" in told
    assert not Path("-").exists()


def test_weights_that_are_not_final_are_told() -> None:
    paused = trained(REGRESSION, SMALL, "train.epochs=10000000", "train.time_limit=0.01")
    rows, told = predicted(f"{paused} table.csv")
    assert len(rows) == 19
    assert told.startswith("warning: the run is not finished but out of time: these are its ")
    diverged = trained(REGRESSION, SMALL, "optimizer.lr=1e30", "train.epochs=9")
    told = mistake(f"predict {diverged} table.csv")
    assert "has diverged; train with a smaller optimizer.lr" in told


@posix
def test_a_run_that_goes_on_has_no_weights_yet() -> None:
    directory = trained(REGRESSION, SMALL)
    record, weights = directory / "run.json", directory / "weights.safetensors"
    record.write_text(record.read_text("utf-8").replace('"finished"', '"running"'), "utf-8")
    weights.unlink()
    with locked(directory):
        assert "this run is still in progress" in mistake("predict latest table.csv")
    killed = f"before there were weights; to resume it: {call_again()} --resume {directory}"
    assert killed in mistake("predict latest table.csv")


@pytest.mark.parametrize("averaging", ["null", "{method: ema, decay: 0.5}"])
def test_the_named_checkpoint_is_used(averaging: str) -> None:
    kept = "checkpoint={best: 3, every: 5, last: 9}"
    table = "a,y\n" + "".join(f"{i},{i * i}\n" for i in range(20))
    run = trained(REGRESSION, table, kept, f"averaging={averaging}", "train.epochs=3")
    files = sorted((run / "checkpoints").iterdir())
    assert [path.name[:5] for path in files] == ["best-"] * 3 + ["step-"] * 3
    for path in [*files, run / "weights.safetensors"]:
        model, weights = load_trained(path), load(path)
        if path.name.startswith("step-"):
            weights = weights["state"]["task"]["model"]
            if averaging != "null":
                weights = load(path)["state"]["loop"]["callbacks"]["Average"]
                weights = {name: weights[f"module.{name}"] for name in ("0.weight", "0.bias")}
        assert model.weights == path
        assert all(torch.equal(weights[n], w) for n, w in model.model.state_dict().items())
        rows, told = predicted(f"{path} new.csv", new="a\n3\n")
        assert float(rows[1][0]) == pytest.approx(model.predict([[3]]).item())
        assert told == ""
    found = {load_trained(path).predict([[3]]).item() for path in files}
    assert len(found) == len({step_of(path) for path in files}) == 5
    # Weights from before a divergence can be used if they are named.
    record = run / "run.json"
    record.write_text(record.read_text("utf-8").replace('"finished"', '"diverged"'), "utf-8")
    assert len(predicted(f"{files[0]} table.csv")[0]) == 21
    assert "has diverged" in mistake(f"predict {run / 'weights.safetensors'} table.csv")


def test_checkpoints_that_cannot_be_used() -> None:
    run, other = (trained(REGRESSION, SMALL, "checkpoint.best=1") for _ in range(2))
    best, step = (next((run / "checkpoints").glob(f"{name}-*")) for name in ("best", "step"))
    Path("best.safetensors").write_bytes(best.read_bytes())
    kept = other / "checkpoints"
    (kept / "step-00000077.safetensors").write_bytes(step.read_bytes())
    for name, content in (("best-1", best.read_bytes()[:99]), ("best-2", b"")):
        (kept / f"{name}.safetensors").write_bytes(content)
    foreign = "step-00000077.safetensors: belongs to another run"
    last = f"; the last weights are in {other / 'weights.safetensors'}"
    told = {
        "best.safetensors": "is not in the directory of its run; move it back there",
        kept / "step-00000077.safetensors": foreign,
        kept / "best-1.safetensors": "is cut off",
        kept / "best-2.safetensors": "is empty",
        other / "run.json": f"is not a file of nanotorch or safetensors; it begins with {last}",
        kept / "best-9.safetensors": "there is no such checkpoint; did you mean 'best-",
    }
    for path, message in told.items():
        for part in message.split(last):
            assert part.rstrip() in mistake(f"predict {path} table.csv")
        assert mistake(f"train --resume {path}")
    for path in (best, run / "weights.safetensors"):
        assert "is not the checkpoint of a training" in mistake(f"train --resume {path}")
        assert "is a file; give the directory of its run" in mistake(f"compare {path}")
    (other / "preprocessing.json").unlink()
    assert "preprocessing.json: cannot be read: No such" in mistake(
        f"predict {next(kept.glob('best-0*'))} table.csv"
    )
