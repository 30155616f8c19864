"""Samples: tables and arrays of all forms become parts; nothing leaks into training."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from nanotorch.train.config.schema import Split
from nanotorch.train.data.csv_file import NO_HEADER
from nanotorch.train.data.dataset import (
    PARTS,
    Dataset,
    Preprocessing,
    moments,
    split_indices,
)
from tests.train.examples import (
    CLASSIFICATION,
    REGRESSION,
    TABLE,
    experiment,
    refusal_of,
)


def data_of(*overrides: str, table: str = TABLE, text: str = REGRESSION) -> Dataset:
    return experiment(text, *overrides, table=table).dataset


def whole(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The inputs and the targets of all parts."""
    parts = [data.parts[name] for name in PARTS]
    return np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts])


refusal = refusal_of(data_of)
RAW = ("data.standardize=false", "data.standardize_target=false")


def test_the_parts_are_the_table() -> None:
    data = data_of(*RAW)
    assert [len(data.parts[name]) for name in PARTS] == [14, 3, 3]
    assert list(data.preprocessing.features) == ["a", "b"]
    x, y = whole(data)
    assert x.dtype == y.dtype == np.float32
    assert y.shape == (20, 1)
    order = np.argsort(x[:, 0])
    np.testing.assert_array_equal(x[order, 0], np.arange(20))
    np.testing.assert_array_equal(y[order, 0], 3 * np.arange(20) + 1)
    # Features are chosen by name, in their order.
    x, _ = whole(data_of(*RAW, "data.features=[b, a]"))
    np.testing.assert_array_equal(x[:, 0], x[:, 1] ** 2 % 7)


def test_only_the_training_part_standardizes() -> None:
    raw, data = data_of(*RAW), data_of()
    train = data.parts["train"].x.astype(np.float64)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(train.std(axis=0), 1, atol=1e-6)
    mean, scale = data.preprocessing.mean, data.preprocessing.scale
    np.testing.assert_allclose(mean, raw.parts["train"].x.mean(axis=0), rtol=1e-6)
    for name in PARTS:
        expected = (raw.parts[name].x - mean) / scale
        np.testing.assert_allclose(data.parts[name].x, expected, atol=1e-6)
    # A constant feature is not divided.
    mean, scale = moments(np.full((9, 1), 0.1), standardize=True)
    assert (mean, scale) == (pytest.approx(0.1), 1)


GOOD_OR_BAD = "a,kind\n" + "".join(f"{i},{'good' if i % 4 else 'bad'}\n" for i in range(40))
KIND = "csv: table.csv\n  target: kind\n  positive: bad"


def of_table(data: str = KIND) -> str:
    """The classification, of a table."""
    return CLASSIFICATION.replace("generator: {name: moons, samples: 40}", data)


def test_classes_have_names() -> None:
    data = data_of(table=GOOD_OR_BAD, text=of_table())
    assert data.classes == ("good", "bad")
    train = data.parts["train"]
    raw = train.x[:, 0] * data.preprocessing.scale[0] + data.preprocessing.mean[0]
    np.testing.assert_array_equal(train.y[:, 0], np.rint(raw) % 4 == 0)
    # Stratified parts have the classes of the whole.
    parts = data_of("data.stratify=true", table=GOOD_OR_BAD, text=of_table()).parts
    assert [(len(parts[k]), parts[k].y.sum()) for k in PARTS] == [(28, 7), (6, 1), (6, 2)]


@pytest.mark.parametrize("samples", [1, 7, 100, 569])
def test_division_is_a_partition(samples: int) -> None:
    strata = np.arange(samples) % 3.0
    split = Split(train=0.6, validation=0.3, test=0.1)
    parts = split_indices(strata, np.arange(samples)[::-1], split)
    assert sorted(np.concatenate(list(parts.values()))) == list(range(samples))
    for name, part in parts.items():
        counts, all_ = (np.bincount(k.astype(int), minlength=3) for k in (strata[part], strata))
        assert (abs(counts - getattr(split, name) * all_) <= 1).all()


PLAIN = "csv: table.csv\n  target: y"
HOLES = "a,b,y\n" + "".join(f"{i},{'' if i % 4 == 0 else i * 10},{i}\n" for i in range(40))
NOTHING = "a,b,y\n" + "1,?,2\n" * 9
# What stands in the section, the table, and what is said.
IMPOSSIBLE = [
    ("csv: tabel.csv\n  target: y", TABLE, "x.yaml:3:8: data.csv: cannot read 'tabel.csv': "
     "No such file or directory; did you mean 'table.csv'?"),
    ("csv: .\n  target: y", TABLE, "x.yaml:3:8: data.csv: cannot read '.': Is a directory"),
    ("csv: table.csv\n  target: progresion", "a,progression\n1,2\n", "x.yaml:4:11: data.target: "
     "table.csv has no column 'progresion'; did you mean 'progression'?"),
    # A column may have any name, also that of a key in another program.
    ("csv: table.csv\n  target: label", "a,lable,target\n1,2,3\n", "x.yaml:4:11: data.target: "
     "table.csv has no column 'label'; did you mean 'lable'?"),
    ("csv: table.csv\n  target: precision", "a,y\n1,2\n", "x.yaml:4:11: data.target: "
     "table.csv has no column 'precision'; known: a, y"),
    (PLAIN + "\n  features: [a, c, d]", TABLE,
     "x.yaml:5:17: data.features[1]: table.csv has no column 'c'; known: a, b, y\n"
     "x.yaml:5:20: data.features[2]: table.csv has no column 'd'; known: a, b, y"),
    (PLAIN, "a,b,y\n1,2,3\nx,2,3\n1,z,3\n", "table.csv:3:1: column 'a': 'x' is not a number\n"
     "table.csv:4:3: column 'b': 'z' is not a number"),
    (PLAIN, "a,y\n1,x\n2,2\n", "table.csv:2:3: column 'y': 'x' is not a number; "
     "experiment: classification predicts names"),
    (PLAIN, "1,2.5,x\n3,4,z\n", f"x.yaml:4:11: data.target: table.csv has no column 'y': its "
     f"first line {NO_HEADER}; write data.header: false"),
    (PLAIN, "y\n1\n2\n", "x.yaml:3:8: data.csv: has no column other than the target"),
    (PLAIN, "a,y\n1,2\n2,2\n", "x.yaml:3:3: data.split.test: "
     "leaves none of the 2 samples in this part; raise it, or make it 0"),
    (PLAIN, "a,y\n" + "1e300,1\n-1e300,1\n" * 9, "x.yaml:3:3: data: "
     "values of 'a' are too large for the model's 32-bit numbers"),
    (PLAIN + "\n  standardize: false", "a,y\n" + "1e39,1\n" * 9, "x.yaml:3:3: data: "
     "values of 'a' are too large for the model's 32-bit numbers"),
    # Cells without a value.
    (PLAIN, HOLES, "table.csv:2:3: column 'b': is empty (and 9 more cells); "
     "data.missing: mean fills in the column's mean, drop leaves the row out"),
    (PLAIN + "\n  missing: mean", "a,y\n1,\n" + "3,1\n" * 9,
     "table.csv:2:3: column 'y': is empty; data.missing: drop leaves such rows out"),
    (PLAIN + "\n  missing: mean", NOTHING, "x.yaml:5:12: data.missing: "
     "the training part has no value of 'b'"),
    (PLAIN + "\n  missing: drop", NOTHING, "x.yaml:5:12: data.missing: "
     "drops every row of table.csv"),
]  # fmt: skip
IMPOSSIBLE_CLASSES = [
    (KIND.replace("bad", "awful"), GOOD_OR_BAD, "x.yaml:5:13: data.positive: "
     "column 'kind' has no such value; known: bad, good"),
    (KIND, "a,kind\n1,bad\n2,good\n3,ugly\n", "x.yaml:4:11: data.target: "
     "column 'kind' has 3 different values; two classes are needed, "
     "or CrossEntropyLoss for more"),
    (PLAIN, "a,y\n1,u\n2,v\n3,w\n", "x.yaml:4:11: data.target: column 'y' has 3 different "
     "values; two classes are needed, or CrossEntropyLoss for more"),
    (PLAIN, "a,y\n1,0\n2,1\n3,2\n", "table.csv:4:3: column 'y': "
     "'2' is neither 0 nor 1; CrossEntropyLoss takes more than two classes"),
    (PLAIN, "a,y\n1,1\n2,1\n", "x.yaml:4:11: data.target: all 2 samples are of class 1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "table", "message"),
    [(REGRESSION.replace(PLAIN, data), *row) for data, *row in IMPOSSIBLE]
    + [(of_table(data), *row) for data, *row in IMPOSSIBLE_CLASSES],
)
def test_data_that_cannot_be_had(text: str, table: str, message: str) -> None:
    assert refusal(table=table, text=text) == message


NAMES = "size;town;y\n" + "".join(f"{i};{'ABC'[i % 3]};{i % 2}\n" for i in range(30))
CLASSES = "a,b,kind\n" + "".join(f"{i},{-i},{['red', 'blue', 'grey'][i % 3]}\n" for i in range(30))


def three_classes(*more: str, table: str = CLASSES) -> Dataset:
    layers = "model.layers=[{name: Linear, out_features: 3}]"
    data = "data={csv: table.csv, target: kind, standardize: false}"
    return data_of(data, layers, "loss=CrossEntropyLoss", *more, text=CLASSIFICATION, table=table)


def test_names_become_a_feature_each() -> None:
    towns = ("data.delimiter=';'", "data.categorical=[town]")
    data = data_of(*towns, "data.standardize=false", table=NAMES)
    assert list(data.preprocessing.features) == ["size", "town=A", "town=B", "town=C"]
    x = data.parts["train"].x
    np.testing.assert_array_equal(x[:, 1:].sum(axis=1), 1)
    np.testing.assert_array_equal(x[:, 1:].argmax(axis=1), x[:, 0] % 3)
    # The record of the preprocessing prepares the same again.
    prepared = data_of(*towns, table=NAMES).preprocessing
    record = json.loads(json.dumps(prepared.record()))
    again = Preprocessing.from_record(record)
    x = np.array([[3.0, 1, 0, 0], [4.0, 0, 1, 0]])
    np.testing.assert_array_equal(again.inputs(x), prepared.inputs(x))
    assert again.record() == record


def test_a_table_without_names_of_columns() -> None:
    table = "".join(f"{i},{2 * i},{3 * i}\n" for i in range(20))
    data = data_of("data.header=false", "data.target=column2", RAW[0], table=table)
    assert list(data.preprocessing.features) == ["column1", "column3"]
    expected = 2 * data.parts["train"].x[:, 0]
    np.testing.assert_allclose(data.targets("train")[:, 0], expected, atol=1e-5)


def test_cells_without_a_value_are_left_out_or_filled() -> None:
    assert len(whole(data_of("data.missing=drop", RAW[0], table=HOLES))[0]) == 30
    for missing, measure in (("mean", np.mean), ("median", np.median)):
        filled = data_of(f"data.missing={missing}", RAW[0], table=HOLES)
        train, (x, _) = filled.parts["train"].x, whole(filled)
        expected = measure(train[train[:, 0] % 4 != 0][:, 1].astype(np.float64))
        np.testing.assert_allclose(x[x[:, 0] % 4 == 0][:, 1], expected, rtol=1e-6)
    for cell in ("", "NA", "n/a", "NaN", "null", "?"):
        for row in (f"{cell},1", f"1,{cell}"):
            data = data_of("data.missing=drop", table=f"a,y\n{row}\n" + "3,1\n" * 9)
            assert len(data.parts["train"]) == 6


@pytest.mark.parametrize("cell", ["", "NA", "?"])
def test_what_counts_as_missing_is_no_name(cell: str) -> None:
    """Neither of a category nor of a class, unless it is given as data.positive."""
    rows = "".join(f"{i},{'uv'[i % 2]},{'no' if i % 3 else 'yes'}\n" for i in range(20))
    table = f"a,c,y\n{rows}1,{cell},yes\n1,u,{cell}\n"
    data = "data={csv: table.csv, target: y, positive: yes, categorical: [c]}"
    told = refusal(data, text=CLASSIFICATION, table=table)
    places = [line.split(":")[1:4] for line in told.splitlines()]
    assert places == [["22", "3", " column 'c'"], ["23", "5", " column 'y'"]]
    dropped = data_of(data, "data.missing=drop", text=CLASSIFICATION, table=table)
    assert list(dropped.preprocessing.features) == ["a", "c=u", "c=v"]


def test_the_mistakes_of_features_and_of_the_target_are_told_at_once() -> None:
    told = refusal(table="a,b,y\n" + "1,2,3\n" * 9 + "1,2,z\n1,y,4\nx,2,3\n")
    assert [line.split(":")[1] for line in told.splitlines()] == ["11", "12", "13"]


def test_parts_have_files_of_their_own() -> None:
    for name in ("v", "t"):
        Path(f"{name}.csv").write_text("y,b,a\n7,1,2\n8,3,4\n", "utf-8")
    files, table = "data.parts={validation: v.csv, test: t.csv}", "a,b,y\n" + "1,2,3\n" * 20
    data = data_of(files, RAW[0], table=table)
    assert [len(data.parts[name]) for name in PARTS] == [20, 2, 2]
    np.testing.assert_array_equal(data.parts["test"].x, [[2, 1], [4, 3]])
    only = data_of("data.parts={test: t.csv}", table=table)
    assert [len(only.parts[name]) for name in PARTS] == [16, 4, 2]  # 70 : 15 of the main table
    Path("t.csv").write_text("a,y\n1,2\n", "utf-8")
    assert "t.csv: has no column 'b'" in refusal(files, table=table)


def test_classes_by_name_in_their_order() -> None:
    data = three_classes()
    assert data.classes == ("blue", "grey", "red")
    part = data.parts["train"]
    assert part.y.dtype == np.int64
    np.testing.assert_array_equal(part.y, np.array([2, 0, 1])[part.x[:, 0].astype(int) % 3])
    numbers = CLASSES.replace("red", "10").replace("blue", "9").replace("grey", "-1.5")
    assert three_classes(table=numbers).classes == ("-1.5", "9", "10")
    Path("t.csv").write_text("a,b,kind\n1,2,pink\n", "utf-8")
    told = refusal_of(three_classes)("data.parts={test: t.csv}")
    assert told == "t.csv:2:5: column 'kind': 'pink' is not a class in the main table"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("loss=BCEWithLogitsLoss", "column 'kind' has 3 different values"),
        ("data.positive=red",
         "is for two classes, but column 'kind' has 3 different values; remove it"),
        ("model.layers[0].out_features=2", "the model outputs 2 numbers, but there are 3 classes"),
        ("data.class_weights=[1, 2]", "has 2 weights, but there are 3 classes"),
        ("data.class_weights=[0, 0, 0]", "must be positive numbers"),
        ("data.shape=[1, 3]", "[1, 3] does not fit the 2 numbers of a sample"),
        ("data.categorical=[c]", "table.csv has no column 'c'"),
        ("data.categorical=[kind]", "'kind' is the target"),
        ("data.delimiter=;;", "must be one character, got ';;'"),
        ("data.npz=x.npz", "cannot be combined with 'csv'; remove one of the two"),
        ("data.inputs=x", "belongs to 'npz'; remove it, or 'csv'"),
        ("loss={name: NLLLoss}", "NLLLoss needs LogSoftmax as the last layer"),
    ],
)  # fmt: skip
def test_mistakes_of_a_table(override: str, message: str) -> None:
    more = ("data.positive=red",) if override.startswith("loss=BCE") else ()
    assert message in refusal_of(three_classes)(*more, override)


def test_weights_of_classes() -> None:
    layers = "model.layers=[{name: Linear, out_features: 3}]"
    data = "data={csv: table.csv, target: kind, class_weights: [1, 2, 4]}"
    loss = experiment(CLASSIFICATION, data, layers, "loss=CrossEntropyLoss", table=CLASSES).loss
    np.testing.assert_array_equal(loss.weight.numpy(), [1, 2, 4])
    table = "a,y\n" + "1,0\n" * 30 + "2,1\n" * 10
    data = "data={csv: table.csv, target: y, stratify: true, class_weights: balanced}"
    assert experiment(CLASSIFICATION, data, table=table).loss.pos_weight.item() == 3


X = np.arange(120.0).reshape(20, 2, 3)
NPZ = "data={npz: d.npz, inputs: x, target: y, standardize: false}"
NO_ARRAYS = "cannot read 'd.npz': not a valid NumPy file"
FLAT = "model.layers=[Flatten, {name: Linear, out_features: 1}]"


def test_inputs_keep_their_shape() -> None:
    np.savez("d.npz", x=X, y=X.sum(axis=(1, 2)))
    x, y = whole(data_of(NPZ, FLAT, "data.standardize_target=false"))
    assert x.shape == (20, 2, 3)
    np.testing.assert_allclose(x.sum(axis=(1, 2)), y[:, 0], rtol=1e-6)
    flat = data_of(NPZ, "data.shape=[6]")
    assert flat.parts["train"].x.shape == (14, 6)


def test_one_mean_for_all() -> None:
    np.savez("d.npz", x=X, y=X[:, 0, 0])
    train = data_of(NPZ, FLAT, "data.standardize=together").parts["train"].x.astype(np.float64)
    assert (abs(train.mean()), train.std()) == pytest.approx((0, 1), abs=1e-6)
    assert (np.abs(train.mean(axis=0)) > 1e-3).all()


def test_files_of_one_array() -> None:
    x = np.random.default_rng(0).normal(size=(60_000, 20)).astype(np.float32)
    np.save("a.npy", x)
    np.save("b.npy", x[:, :1])
    tracemalloc.start()
    try:
        data = data_of("data={npy: {x: a.npy, y: b.npy}}")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The inputs, one part as it was, and random numbers made ahead.
    assert peak < 3 * x.nbytes + (1 << 18)
    assert data.preprocessing.target == "b"
    train = data.parts["train"].x
    assert train.shape == (42_000, 20)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(train.std(axis=0), 1, rtol=1e-4)
    # They are not those of several.
    Path("a.npy").rename("d.npz")
    assert "'d.npz' contains one array; use data.npy" in refusal(NPZ)
    np.savez("e.npz", X)
    assert "contains several arrays" in refusal("data={npy: {x: e.npz, y: e.npz}}")


def test_classes_are_numbers_or_text() -> None:
    layers = "model.layers=[Flatten, {name: Linear, out_features: 2}]"
    for labels in (np.arange(20) % 2 + 5, np.array(["no", "yes"] * 10)):
        np.savez("d.npz", x=X, y=labels)
        data = data_of(NPZ, layers, "loss=CrossEntropyLoss", text=CLASSIFICATION)
        assert list(data.classes or ()) == sorted({str(label) for label in labels})
        part = data.parts["train"]
        np.testing.assert_array_equal(part.y, (part.x[:, 0, 0] / 6) % 2)


class Trap:
    """What would run if it were unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, (Path("sprung"),))  # type: ignore[return-value]


def test_objects_are_not_unpickled() -> None:
    trap = np.array([Trap(), 1], dtype=object)
    np.savez("d.npz", x=trap, y=np.ones(2))
    np.save("a.npy", trap)
    np.save("b.npy", np.ones(2))
    for data in (NPZ, "data={npy: {x: a.npy, y: b.npy}}"):
        assert "it holds objects, which could run code" in refusal(data)
    assert not Path("sprung").exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X}, "d.npz has no array 'y'; known: x"),
        ({"xs": X, "y": X[:, 0, 0]}, "d.npz has no array 'x'; known: xs, y"),
        ({"x": X, "y": X[:5, 0, 0]}, "has the shape (5,), but there are 20 samples"),
        ({"x": X[:, 0, 0], "y": X[:, 0, 0]}, "has the shape (20,); expected samples"),
        ({"x": X, "y": np.array(["a"] * 20)}, "holds <U1, not numbers"),
        ({"x": np.where(X == 7, np.nan, X), "y": X[:, 0, 0]}, "the number at [1, 0, 1] is nan"),
        ({"x": X[:0], "y": X[:0, 0, 0]}, "has no samples"),
        (b"", NO_ARRAYS),
        (b"PK\x03\x04 not a zip", NO_ARRAYS),
        (b"\x93NUMPY", NO_ARRAYS),
        (b"a,b\n1,2\n", NO_ARRAYS),
    ],
)
def test_arrays_that_do_not_fit(arrays: dict[str, np.ndarray] | bytes, message: str) -> None:
    if isinstance(arrays, bytes):
        Path("d.npz").write_bytes(arrays)
    else:
        np.savez("d.npz", **arrays)
    assert message in refusal(NPZ)
