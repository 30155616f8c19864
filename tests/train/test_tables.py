"""Tables of other forms: no header, other delimiters, names in cells, cells without a value."""

import json
from pathlib import Path

import numpy as np
import pytest

from nanotorch.train.dataset import PARTS, Dataset, Preprocessing
from tests.train.examples import CLASSIFICATION, REGRESSION, experiment, refusal_of, write_example

NAMES = "size;town;y\n" + "".join(f"{i};{'ABC'[i % 3]};{i % 2}\n" for i in range(30))
CLASSES = "a,b,kind\n" + "".join(f"{i},{-i},{['red', 'blue', 'grey'][i % 3]}\n" for i in range(30))


def dataset(text: str, table: str, *overrides: str) -> Dataset:
    return experiment(text, *overrides, table=table).dataset


refusal = refusal_of(dataset)


def three_classes(*more: str) -> tuple[str, str, *tuple[str, ...]]:
    layers = "model.layers=[{name: Linear, out_features: 3}]"
    data = "data={csv: table.csv, target: kind, standardize: false}"
    return CLASSIFICATION, CLASSES, data, layers, "loss=CrossEntropyLoss", *more


SEMICOLONS = ("data.delimiter=';'", "data.standardize=false")


def test_names_become_a_feature_each() -> None:
    data = dataset(REGRESSION, NAMES, *SEMICOLONS, "data.categorical=[town]")
    assert list(data.preprocessing.features) == ["size", "town=A", "town=B", "town=C"]
    x = data.parts["train"].x
    np.testing.assert_array_equal(x[:, 1:].sum(axis=1), 1)
    np.testing.assert_array_equal(x[:, 1:].argmax(axis=1), x[:, 0] % 3)


def test_a_table_without_names_of_columns() -> None:
    table = "".join(f"{i},{2 * i},{3 * i}\n" for i in range(20))
    overrides = ("data.header=false", "data.target=column2", "data.standardize=false")
    data = dataset(REGRESSION, table, *overrides)
    assert list(data.preprocessing.features) == ["column1", "column3"]
    expected = 2 * data.parts["train"].x[:, 0]
    np.testing.assert_allclose(data.targets("train")[:, 0], expected, atol=1e-5)


HOLES = "a,b,y\n" + "".join(f"{i},{'' if i % 4 == 0 else i * 10},{i}\n" for i in range(40))


def test_cells_without_a_value_are_refused_left_out_or_filled() -> None:
    assert refusal(REGRESSION, HOLES) == (
        "table.csv:2:3: column 'b': is empty, like 9 more cells; "
        "data.missing: mean puts in the column's mean, drop leaves out the row"
    )
    dropped = dataset(REGRESSION, HOLES, "data.missing=drop", "data.standardize=false")
    assert sum(len(dropped.parts[name]) for name in PARTS) == 30
    for missing, measure in (("mean", np.mean), ("median", np.median)):
        filled = dataset(REGRESSION, HOLES, f"data.missing={missing}", "data.standardize=false")
        train = filled.parts["train"].x
        known = train[train[:, 0] % 4 != 0]
        expected = measure(known[:, 1].astype(np.float64))
        for name in PARTS:
            part = filled.parts[name].x
            np.testing.assert_allclose(part[part[:, 0] % 4 == 0][:, 1], expected, rtol=1e-6)


@pytest.mark.parametrize("cell", ["", "NA", "n/a", "NaN", "null", "?"])
def test_what_counts_as_missing(cell: str) -> None:
    table = "a,y\n" + f"{cell},1\n" + "3,1\n" * 9
    assert len(dataset(REGRESSION, table, "data.missing=drop").parts["train"]) == 6


def test_a_target_must_be_there() -> None:
    table = "a,y\n1,\n" + "3,1\n" * 9
    message = "table.csv:2:3: column 'y': is empty; data.missing: drop leaves out such rows"
    assert refusal(REGRESSION, table, "data.missing=mean") == message
    assert len(dataset(REGRESSION, table, "data.missing=drop").parts["train"]) == 6


@pytest.mark.parametrize("cell", ["", "NA", "?"])
def test_what_counts_as_missing_is_no_name(cell: str) -> None:
    """Neither of a category nor of a class, unless it is given as data.positive."""
    rows = "".join(f"{i},{'uv'[i % 2]},{'no' if i % 3 else 'yes'}\n" for i in range(20))
    table = f"a,c,y\n{rows}1,{cell},yes\n1,u,{cell}\n"
    data = "data={csv: table.csv, target: y, positive: yes, categorical: [c]}"
    text = refusal(CLASSIFICATION, table, data)
    assert [line.split(":")[1:4] for line in text.splitlines()] == [
        ["22", "3", " column 'c'"], ["23", "5", " column 'y'"]
    ]  # fmt: skip
    dropped = dataset(CLASSIFICATION, table, data.replace("yes,", "yes, missing: drop,"))
    assert list(dropped.preprocessing.features) == ["a", "c=u", "c=v"]


def test_the_mistakes_of_features_and_of_the_target_are_told_at_once() -> None:
    text = refusal(REGRESSION, "a,b,y\n" + "1,2,3\n" * 9 + "1,2,z\n1,y,4\nx,2,3\n")
    assert [line.split(":")[1] for line in text.splitlines()] == ["11", "12", "13"]


def test_a_column_of_nothing() -> None:
    table = "a,b,y\n" + "1,?,2\n" * 9
    assert "the training part has no value of 'b'" in refusal(
        REGRESSION, table, "data.missing=mean"
    )
    assert "drops every row of table.csv" in refusal(REGRESSION, table, "data.missing=drop")


def test_parts_have_files_of_their_own() -> None:
    write_example(Path())
    for name in ("v", "t"):
        Path(f"{name}.csv").write_text("y,b,a\n7,1,2\n8,3,4\n", "utf-8")
    parts = "data.parts={validation: v.csv, test: t.csv}"
    data = dataset(REGRESSION, "a,b,y\n" + "1,2,3\n" * 10, parts, "data.standardize=false")
    assert [len(data.parts[name]) for name in PARTS] == [10, 2, 2]
    np.testing.assert_array_equal(data.parts["test"].x, [[2, 1], [4, 3]])
    only = dataset(REGRESSION, "a,b,y\n" + "1,2,3\n" * 20, "data.parts={test: t.csv}")
    assert [len(only.parts[name]) for name in PARTS] == [16, 4, 2]  # 70 : 15 of the main table
    Path("t.csv").write_text("a,y\n1,2\n", "utf-8")
    assert "t.csv: has no column 'b'" in refusal(REGRESSION, "a,b,y\n" + "1,2,3\n" * 9, parts)


def test_classes_by_name_in_their_order() -> None:
    data = dataset(*three_classes())
    assert data.classes == ("blue", "grey", "red")
    part = data.parts["train"]
    assert part.y.dtype == np.int64
    np.testing.assert_array_equal(part.y, np.array([2, 0, 1])[part.x[:, 0].astype(int) % 3])
    numbers = CLASSES.replace("red", "10").replace("blue", "9").replace("grey", "-1.5")
    assert dataset(CLASSIFICATION, numbers, *three_classes()[2:]).classes == ("-1.5", "9", "10")


def test_a_class_that_only_another_part_has() -> None:
    Path("t.csv").write_text("a,b,kind\n1,2,pink\n", "utf-8")
    message = refusal(*three_classes("data.parts={test: t.csv}"))
    assert message == "t.csv:2:5: column 'kind': 'pink' is no class of the main table"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("loss=BCEWithLogitsLoss", "column 'kind' has 3 different values"),
        (
            "data.positive=red",
            "is for two classes, but column 'kind' has 3 different values; remove it",
        ),
        ("model.layers[0].out_features=2", "the model gives 2 numbers, but there are 3 classes"),
        ("data.class_weights=[1, 2]", "has 2 weights, but there are 3 classes"),
        ("data.class_weights=[0, 0, 0]", "must be positive numbers"),
        ("data.shape=[1, 3]", "[1, 3] has no place for 2 numbers"),
        ("data.categorical=[c]", "table.csv has no column 'c'"),
        ("data.categorical=[kind]", "'kind' is the target"),
        ("data.delimiter=;;", "must be one character, got ';;'"),
        ("data.npz=x.npz", "excludes 'csv'; remove one of the two"),
        ("data.inputs=x", "needs 'npz'; remove it, as the section has 'csv'"),
        ("loss={name: NLLLoss}", "NLLLoss needs LogSoftmax as the last layer"),
    ],
)
def test_mistakes(override: str, message: str) -> None:
    more = ("data.positive=red",) if override.startswith("loss=BCE") else ()
    assert message in refusal(*three_classes(*more, override))


def test_weights_of_classes() -> None:
    text, table, *overrides = three_classes("data.class_weights=[1, 2, 4]")
    loss = experiment(text, *overrides, table=table).loss
    np.testing.assert_array_equal(loss.weight.numpy(), [1, 2, 4])
    table = "a,y\n" + "1,0\n" * 30 + "2,1\n" * 10
    data = "data={csv: table.csv, target: y, stratify: true, class_weights: balanced}"
    assert experiment(CLASSIFICATION, data, table=table).loss.pos_weight.item() == 3


def test_the_record_of_preprocessing_prepares_the_same_again() -> None:
    data = dataset(REGRESSION, NAMES, "data.delimiter=';'", "data.categorical=[town]")
    record = json.loads(json.dumps(data.preprocessing.record()))
    again = Preprocessing.from_record(record)
    x = np.array([[3.0, 1, 0, 0], [4.0, 0, 1, 0]])
    np.testing.assert_array_equal(again.inputs(x), data.preprocessing.inputs(x))
    assert again.record() == record
