"""A run exported to ONNX and served by onnxruntime gives what `nanotorch predict` prints."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.train.runs.predict import load_trained
from tests.train.config.test_build import EMBEDDING, TEXT
from tests.train.examples import CLASSIFICATION, MANY, REGRESSION, mistake, said
from tests.train.runs.test_predict import SMALL, predicted, trained

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnx and onnxruntime")
pytest.importorskip("onnx")

# Numbers, some of them missing, and names; one column is named like a node of the model.
TABLE = "size,town,relu,y\n" + "".join(
    f"{i if i % 5 else '?'},{'ABC'[i % 3]},{i * i % 7},{['no', 'yes', 'maybe'][i % 3]}\n"
    for i in range(40)
)
NUMBERS = "size,town,relu,y\n" + "".join(
    f"{i if i % 5 else '?'},{'ABC'[i % 3]},{i * i % 7},{100 + 7 * i}\n" for i in range(40)
)
DATA = "data={csv: table.csv, target: y, categorical: [town], missing: mean}"
TWO = DATA.replace("categorical", "positive: 'yes', categorical")
# The configuration, its table and its overrides.
RUNS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "numbers": (REGRESSION, NUMBERS, (DATA,)),
    "numbers in units": (REGRESSION, NUMBERS, (DATA[:-1] + ", standardize_target: true}",)),
    "two classes": (CLASSIFICATION, TABLE.replace("maybe", "no"), (TWO,)),
    "three classes": (MANY, TABLE, (DATA,)),
}


def served(directory: Path, **inputs: Any) -> dict[str, Any]:
    """The outputs of the exported run, by name."""
    code, out, messages = said(f"export {directory} model.onnx")
    assert (code, out) == (0, ""), messages
    session = onnxruntime.InferenceSession("model.onnx")
    assert [given.name for given in session.get_inputs()] == list(inputs)
    names = [given.name for given in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


@pytest.mark.parametrize("name", RUNS)
def test_a_table_is_served_by_its_columns(name: str) -> None:
    text, table, overrides = RUNS[name]
    directory = trained(text, table, *overrides)
    rows = [("3", "A", "2"), ("", "C", "5"), ("39.5", "", "0")]
    new = "size,town,relu\n" + "".join(f"{','.join(row)}\n" for row in rows)
    (names, *predictions), _ = predicted(f"{directory} new.csv", new=new)
    kinds = (np.float64, object, np.float64)
    columns = [
        np.array([cell or ("nan" if kind is np.float64 else "") for cell in cells], kind)[:, None]
        for cells, kind in zip(zip(*rows, strict=True), kinds, strict=True)
    ]
    outputs = served(directory, **dict(zip(("size", "town", "relu"), columns, strict=True)))
    assert list(outputs) == names
    for cells, found in zip(zip(*predictions, strict=True), outputs.values(), strict=True):
        if found.dtype == object:
            assert found.tolist() == list(cells)
        else:
            np.testing.assert_allclose(found, np.array(cells, np.float64), rtol=1e-5, atol=1e-6)


def test_arrays_are_served_as_they_are() -> None:
    x = np.arange(120.0).reshape(20, 6) ** 2
    np.savez("d.npz", x=x, y=x.sum(axis=1))
    directory = trained(REGRESSION, "a,y\n1,2\n", "data={npz: d.npz, inputs: x, target: y}")
    outputs = served(directory, x=x)
    wanted = load_trained(directory).predict(x).numpy().reshape(-1)
    np.testing.assert_allclose(outputs["y"], wanted, rtol=1e-5)


def test_a_model_of_text_gives_scores() -> None:
    Path("t.txt").write_text("abc" * 60, "utf-8")
    directory = trained(TEXT, "a,y\n1,2\n", EMBEDDING)
    codes = np.array([[0, 1, 2, 0]])
    outputs = served(directory, codes=codes)
    wanted = load_trained(directory).model(torch.from_numpy(codes)).detach().numpy()
    np.testing.assert_allclose(outputs["scores"], wanted, rtol=1e-5, atol=1e-6)


def test_mistakes() -> None:
    directory = trained(REGRESSION, SMALL)
    assert "is a file of a run" in mistake(f"export {directory} {directory}/run.json")
    assert "FILE: cannot write 'no/x': Parent directory" in mistake(f"export {directory} no/x")
