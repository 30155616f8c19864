"""Samples that programs give: columns are matched by name, and cells are read as those of files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch import nn
from nanotorch.train import RunResult, fit, load_trained, train
from nanotorch.train.config.sections import ConfigError
from tests.train.config.test_build import EMBEDDING, TEXT
from tests.train.examples import CLASSIFICATION, REGRESSION, loaded, refusal_of

NAMES = ("size", "rooms", "flat", "city")
CITIES = ("Berlin", "Leipzig", "Munich")
TABLE = ",".join([*NAMES, "price"]) + "\n"
TABLE += "".join(
    f"{50 + i if i % 9 else ''},{i % 5},{i % 2},{CITIES[i % 3] if i % 8 else ''},{1000 * i}\n"
    for i in range(1, 60)
)
DATA = "data={csv: table.csv, target: price, categorical: [flat, city], missing: "
ROWS = [[61, 3, 1, "Berlin"], [80, 1, 0, "Munich"], [90.5, 2, 0, "Leipzig"]]
HOLES = [[None, 3, 1, "Berlin"], [80, 1, 0, None], [90.5, 2, 0, "Leipzig"]]


class Frame:
    """As much of a data frame as predictions need."""

    def __init__(self, columns: Mapping[Any, Any], repeated: Sequence[Any] = ()) -> None:
        self._columns, self.columns = columns, [*columns, *repeated]

    def __getitem__(self, name: Any) -> Any:
        return self._columns[name]


def run_of(missing: str) -> RunResult:
    return train(loaded(REGRESSION, f"{DATA}{missing}}}", table=TABLE), verbose=False)


def written(rows: Sequence[Sequence[Any]]) -> Path:
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    Path("new.csv").write_text("\n".join([",".join(NAMES), *lines, ""]), "utf-8")
    return Path("new.csv")


def forms(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    """The same samples in all forms that predictions take."""
    columns = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
    turned = {"note": ["?", None, 1], **dict(reversed(columns.items()))}
    yield "rows", rows
    yield "array of objects", np.array(rows, dtype=object)
    yield "columns", columns
    yield "columns in another order, and one more", turned
    yield "columns of arrays", {name: np.array(column) for name, column in turned.items()}
    yield "frame", Frame(turned)
    yield (
        "frame of text",
        Frame({n: ["" if v is None else str(v) for v in c] for n, c in turned.items()}),
    )
    yield "frame with blanks in names", Frame({f" {n} ": column for n, column in turned.items()})
    yield "dicts", [dict(zip(NAMES, row, strict=True)) for row in rows]
    yield (
        "dicts in another order",
        [
            {NAMES[k]: row[k] for k in order}
            for row, order in zip(rows, [(3, 1, 0, 2), (0, 2, 3, 1), (2, 3, 1, 0)], strict=True)
        ],
    )
    whole = {"flat": [1.0, 0.0, 0.0], "rooms": np.array([3.0, 1.0, 2.0], np.float32)}
    yield "whole numbers as floats", Frame({**turned, **whole})


def test_columns_are_matched_by_name_in_every_form() -> None:
    for missing, rows in (("mean", ROWS), ("drop", ROWS), ("mean", HOLES)):
        run = run_of(missing)
        model = load_trained(run.directory)
        expected = model.predict(model.samples(written(rows))[0]).numpy()
        assert len({*expected.flatten().tolist()}) == 3
        for form, x in forms(rows):
            for predict in (run.predict, model.predict):
                np.testing.assert_allclose(predict(x).numpy(), expected, rtol=1e-6, err_msg=form)
        for empty in ([], np.zeros((0, 4)), {name: [] for name in NAMES}):
            assert run.predict(empty).shape == (0, 1)


def one(**changes: Any) -> dict[str, Any]:
    """A table of one row with some other columns; without those that are None."""
    row = {**dict(zip(NAMES, ([cell] for cell in ROWS[0]), strict=True)), **changes}
    return {name: column for name, column in row.items() if column is not None}


AS_TRAINED = "fill it in, or train with data.missing: mean"
REFUSED: dict[str, tuple[Any, str]] = {
    "a column lacks": (one(city=None, ctiy=["Berlin"]), "has no column 'city', which the model was "
                       "trained on; did you mean 'ctiy'?"),
    "without names": (Frame({k: [1.0] for k in range(4)}), "has no column 'size', 'rooms', 'flat' "
                      "and 1 more, which the model was trained on"),
    "a row lacks it": ([{**dict(zip(NAMES, ROWS[0], strict=True))}, {"size": 1, "rooms": 2,
                        "flat": 1}], "row 1 has no column 'city'"),
    "twice": (Frame(one(), ["size"]), "has two columns called 'size'; rename one"),
    "twice, but for blanks": (Frame(one(**{" size": [1]})), "has two columns called 'size'"),
    "one value": (one(size=3), "column 'size': expected a list of values, got shape ()"),
    "lengths": (one(rooms=[1, 2]), "column 'rooms': expected 1 values, got shape (2,)"),
    "unknown": (one(city=["Berlln"]), "row 0, column 'city': 'Berlln' is not a value in the "
                "training data; did you mean 'Berlin'?"),
    "unknown in a row": ([*ROWS, [1, 2, 0, "Berlln"]], "row 3, column 'city': 'Berlln' is not a"),
    "a word": (one(size=["large"]), "row 0, column 'size': 'large' is not a number"),
    "infinite": (one(size=[np.inf]), "row 0, column 'size': 'inf' is not a number"),
    "None": (HOLES, f"row 0, column 'size': is empty; {AS_TRAINED}"),
    "NaN": (one(size=[np.nan]), f"row 0, column 'size': 'nan' is a missing value; {AS_TRAINED}"),
    "empty": (one(city=["Berlin"], size=[""]), f"row 0, column 'size': is empty; {AS_TRAINED}"),
    "NaN in features": (np.full((2, 7), np.nan), f"row 0: 'size' is nan; {AS_TRAINED}"),
    "other width": ([[1, 2]], "takes 7 numbers for each sample, samples first, or the cells of "
                    "size, rooms, flat, city; got an array of shape (1, 2)"),
}  # fmt: skip


def test_samples_that_do_not_fit_are_refused() -> None:
    run = run_of("drop")
    for predict in (run.predict, load_trained(run.directory).predict):
        refused = refusal_of(predict, ValueError)
        for case, (x, message) in REFUSED.items():
            assert f"predict(): {message}" in refused(x), case


def test_made_up_features_and_arrays_have_names() -> None:
    moons = train(loaded(CLASSIFICATION), verbose=False)
    x = np.random.default_rng(0).normal(size=(3, 2))
    names = moons.task.dataset.preprocessing.features
    turned = Frame({names[1]: x[:, 1], names[0]: x[:, 0]})
    assert torch.equal(moons.predict(turned), moons.predict(x))
    np.savez("d.npz", x=np.arange(80.0).reshape(20, 4), y=np.arange(20.0))
    arrays = "data={npz: d.npz, inputs: x, target: y, shape: [2, 2]}"
    run = train(
        loaded(REGRESSION, arrays, "model.layers=[Flatten, {name: Linear, out_features: 1}]")
    )
    images = np.arange(8.0).reshape(2, 2, 2)
    cells = [{f"x{k}": row[k] for k in (3, 1, 0, 2)} for row in images.reshape(2, 4)]
    assert torch.equal(run.predict(cells), run.predict(images))


def test_a_text_takes_codes() -> None:
    Path("t.txt").write_text("abc" * 60, "utf-8")
    run = train(loaded(TEXT, EMBEDDING, "log={plots: false, tensorboard: false}"), verbose=False)
    assert run.predict([[0, 1, 2]]).shape[:2] == (1, 3)
    refused = refusal_of(run.predict, ValueError)
    for x in ("abc", [0, 1], [[0.5]], {"a": [1]}):
        assert "predict(): takes codes of characters, shape (samples, places)" in refused(x)


# Frames as samples of `fit`.


def fitted(x: Any, **parts: Any) -> RunResult:
    torch.manual_seed(0)
    sgd, y = {"name": "SGD", "lr": 1e-3}, X @ [[1.0], [-2.0], [3.0]]
    parts = {name: (samples, y) for name, samples in parts.items()}
    return fit(
        nn.Linear(3, 1), (x, y), loss="MSELoss", optimizer=sgd, epochs=2, verbose=False, **parts
    )


X = np.random.default_rng(0).normal(size=(20, 3)) * [1, 10, 100]
COLUMNS = dict(zip("abc", X.T, strict=True))
TURNED: list[Callable[[], Any]] = [
    lambda: Frame({"c": X[:, 2], "d": ["?"] * 20, "a": X[:, 0], "b": X[:, 1]}),
    lambda: dict(reversed(COLUMNS.items())),
    lambda: [dict(zip("cab", row[[2, 0, 1]].tolist(), strict=True)) for row in X],
    lambda: X,
]


def test_fit_matches_the_columns_of_its_training_data() -> None:
    plain = fitted(X, validation=X, test=X)
    for x in (Frame(COLUMNS), COLUMNS, [dict(zip("abc", row.tolist(), strict=True)) for row in X]):
        for other in TURNED:
            run = fitted(x, validation=other(), test=other())
            assert run.results == plain.results
            assert torch.equal(run.predict(other()), plain.predict(X))
    numbered = Frame({k: X[:, k] for k in (0, 1, 2)})  # of an array: without names
    assert torch.equal(plain.predict(numbered), plain.predict(X))
    turned = Frame({k: X[:, k] for k in (2, 1, 0)})
    assert fitted(numbered, validation=turned, test=turned).results == plain.results


def test_fit_refuses_what_lacks_a_column() -> None:
    lacks = {"a": X[:, 0], "b": X[:, 1]}
    assert "fit(): validation: has no column 'c'; known: a, b" in refusal_of(fitted)(
        Frame(COLUMNS), validation=Frame(lacks)
    )
    run = fitted(Frame(COLUMNS))
    assert refusal_of(run.predict, ValueError)(lacks) == "predict(): has no column 'c'; known: a, b"
    alone = Frame(COLUMNS)
    alone.shape = (20, 3)  # type: ignore[attr-defined]
    refused = refusal_of(fit)(nn.Linear(3, 1), alone, loss="MSELoss", optimizer="SGD", epochs=1)
    assert "got one array of shape (20, 3), without targets" in refused
    words = {**COLUMNS, "c": ["x"] * 20}
    assert "expected arrays of numbers" in refusal_of(fitted, ConfigError)(Frame(words))
