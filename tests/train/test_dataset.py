"""Samples: tables and arrays of all forms become parts; nothing leaks into training."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.train.csv_file import NO_HEADER
from nanotorch.train.dataset import (
    PARTS,
    Dataset,
    Preprocessing,
    load_dataset,
    moments,
    split_indices,
)
from nanotorch.train.load import load_config
from nanotorch.train.schema import Split
from tests.train.examples import (
    CLASSIFICATION,
    REGRESSION,
    TABLE,
    experiment,
    refusal_of,
    write_example,
)


def data_of(data: str, table: str = TABLE, seed: int = 0, classes: bool = False) -> Dataset:
    example = CLASSIFICATION if classes else REGRESSION
    before, _, after = example.partition("data:\n")
    text = f"{before}data:\n{data}model:\n{after.partition('model:')[2].lstrip()}"
    write_example(Path(), text.replace("model:\nlayers", "model:\n  layers"), table)
    loaded = load_config("x.yaml")
    generator = torch.Generator().manual_seed(seed)
    with loaded.origins.told():
        return load_dataset(loaded.config.data, "binary" if classes else "regression", generator)


refusal_of_data = refusal_of(data_of)


PLAIN = "  csv: table.csv\n  target: y\n"
RAW = PLAIN + "  standardize: false\n  standardize_target: false\n"


def test_the_parts_are_the_table() -> None:
    data = data_of(RAW)
    assert [len(data.parts[name]) for name in PARTS] == [14, 3, 3]
    assert list(data.preprocessing.features) == ["a", "b"]
    x = np.concatenate([data.parts[name].x for name in PARTS])
    y = np.concatenate([data.parts[name].y for name in PARTS])
    assert x.dtype == y.dtype == np.float32
    assert y.shape == (20, 1)
    order = np.argsort(x[:, 0])
    np.testing.assert_array_equal(x[order, 0], np.arange(20))
    np.testing.assert_array_equal(y[order, 0], 3 * np.arange(20) + 1)


def test_features_are_chosen_by_name_in_their_order() -> None:
    table = "id,a,b,y\n" + "".join(f"n{i},{i},{-i},{i}\n" for i in range(10))
    data = data_of(RAW + "  features: [b, a]\n", table)
    x = data.parts["train"].x
    np.testing.assert_array_equal(x[:, 0], -x[:, 1])
    assert (x[:, 0] <= 0).all()


def test_only_the_training_part_standardizes() -> None:
    raw, data = data_of(RAW), data_of(PLAIN)
    train = data.parts["train"].x.astype(np.float64)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(train.std(axis=0), 1, atol=1e-6)
    np.testing.assert_allclose(
        data.preprocessing.mean, raw.parts["train"].x.mean(axis=0), rtol=1e-6
    )
    for name in PARTS:
        expected = (raw.parts[name].x - data.preprocessing.mean) / data.preprocessing.scale
        np.testing.assert_allclose(data.parts[name].x, expected, atol=1e-6)


def test_a_constant_feature_is_not_divided() -> None:
    mean, scale = moments(np.full((9, 1), 0.1), standardize=True)
    assert mean == pytest.approx(0.1)
    assert scale == 1


GOOD_OR_BAD = "a,kind\n" + "".join(f"{i},{'good' if i % 4 else 'bad'}\n" for i in range(40))
KIND = "  csv: table.csv\n  target: kind\n  positive: bad\n"


def test_classes_have_names() -> None:
    data = data_of(KIND, GOOD_OR_BAD, classes=True)
    assert data.classes == ("good", "bad")
    train = data.parts["train"]
    raw = train.x[:, 0] * data.preprocessing.scale[0] + data.preprocessing.mean[0]
    np.testing.assert_array_equal(train.y[:, 0], np.rint(raw) % 4 == 0)


def test_stratified_parts_have_the_classes_of_the_whole() -> None:
    data = data_of(KIND + "  stratify: true\n", GOOD_OR_BAD, classes=True)
    assert [int(data.parts[name].y.sum()) for name in PARTS] == [7, 1, 2]
    assert [len(data.parts[name]) for name in PARTS] == [28, 6, 6]


@pytest.mark.parametrize("samples", [1, 7, 100, 569])
def test_division_is_a_partition(samples: int) -> None:
    strata = np.arange(samples) % 3.0
    parts = split_indices(
        strata, np.arange(samples)[::-1], Split(train=0.6, validation=0.3, test=0.1)
    )
    assert sorted(np.concatenate(list(parts.values()))) == list(range(samples))
    for name, fraction in zip(PARTS, (0.6, 0.3, 0.1), strict=True):
        for stratum in range(3):
            count = np.sum(strata[parts[name]] == stratum)
            assert abs(count - fraction * np.sum(strata == stratum)) <= 1


IMPOSSIBLE = [
    (
        "  csv: tabel.csv\n  target: y\n",
        TABLE,
        "x.yaml:3:8: data.csv: cannot read 'tabel.csv': No such file or directory; "
        "did you mean 'table.csv'?",
    ),
    ("  csv: .\n  target: y\n", TABLE, "x.yaml:3:8: data.csv: cannot read '.': Is a directory"),
    (
        "  csv: table.csv\n  target: progresion\n",
        "a,progression\n1,2\n",
        "x.yaml:4:11: data.target: table.csv has no column 'progresion'; "
        "did you mean 'progression'?",
    ),
    (
        RAW + "  features: [a, c, d]\n",
        TABLE,
        "x.yaml:7:17: data.features[1]: table.csv has no column 'c'; known here: a, b, y\n"
        "x.yaml:7:20: data.features[2]: table.csv has no column 'd'; known here: a, b, y",
    ),
    (PLAIN, "a,b,y\n1,2,3\nx,2,3\n1,z,3\n", "table.csv:3:1: column 'a': 'x' is not a number\n"
     "table.csv:4:3: column 'b': 'z' is not a number"),
    (PLAIN, "a,y\n1,x\n2,2\n", "table.csv:2:3: column 'y': 'x' is not a number; "
     "experiment: classification predicts names"),
    (PLAIN, "1,2.5,x\n3,4,z\n", f"x.yaml:4:11: data.target: table.csv has no column 'y': its "
     f"first line {NO_HEADER}; write data.header: false"),
    (PLAIN, "y\n1\n2\n", "x.yaml:3:8: data.csv: has no column beside the target"),
    (PLAIN, "a,y\n1,2\n2,2\n", "x.yaml:3:3: data.split.test: "
     "leaves this part without any of the 2 samples; make it 0, or give more of them"),
    (PLAIN, "a,y\n" + "1e300,1\n-1e300,1\n" * 9, "x.yaml:3:3: data: "
     "values of 'a' are too large for the 32 bits of the model"),
    (RAW, "a,y\n" + "1e39,1\n" * 9, "x.yaml:3:3: data: "
     "values of 'a' are too large for the 32 bits of the model"),
]  # fmt: skip
IMPOSSIBLE_CLASSES = [
    (KIND.replace("bad", "awful"), GOOD_OR_BAD, "x.yaml:5:13: data.positive: "
     "column 'kind' has no such value; known here: bad, good"),
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
    ("classes", "data", "table", "message"),
    [(False, *row) for row in IMPOSSIBLE] + [(True, *row) for row in IMPOSSIBLE_CLASSES],
)
def test_data_that_cannot_be_had(classes: bool, data: str, table: str, message: str) -> None:
    assert refusal_of_data(data, table, classes=classes) == message


NAMES = "size;town;y\n" + "".join(f"{i};{'ABC'[i % 3]};{i % 2}\n" for i in range(30))
CLASSES = "a,b,kind\n" + "".join(f"{i},{-i},{['red', 'blue', 'grey'][i % 3]}\n" for i in range(30))


def dataset_of_table(text: str, table: str, *overrides: str) -> Dataset:
    return experiment(text, *overrides, table=table).dataset


refusal_of_table = refusal_of(dataset_of_table)


def three_classes(*more: str) -> tuple[str, str, *tuple[str, ...]]:
    layers = "model.layers=[{name: Linear, out_features: 3}]"
    data = "data={csv: table.csv, target: kind, standardize: false}"
    return CLASSIFICATION, CLASSES, data, layers, "loss=CrossEntropyLoss", *more


SEMICOLONS = ("data.delimiter=';'", "data.standardize=false")


def test_names_become_a_feature_each() -> None:
    data = dataset_of_table(REGRESSION, NAMES, *SEMICOLONS, "data.categorical=[town]")
    assert list(data.preprocessing.features) == ["size", "town=A", "town=B", "town=C"]
    x = data.parts["train"].x
    np.testing.assert_array_equal(x[:, 1:].sum(axis=1), 1)
    np.testing.assert_array_equal(x[:, 1:].argmax(axis=1), x[:, 0] % 3)


def test_a_table_without_names_of_columns() -> None:
    table = "".join(f"{i},{2 * i},{3 * i}\n" for i in range(20))
    overrides = ("data.header=false", "data.target=column2", "data.standardize=false")
    data = dataset_of_table(REGRESSION, table, *overrides)
    assert list(data.preprocessing.features) == ["column1", "column3"]
    expected = 2 * data.parts["train"].x[:, 0]
    np.testing.assert_allclose(data.targets("train")[:, 0], expected, atol=1e-5)


HOLES = "a,b,y\n" + "".join(f"{i},{'' if i % 4 == 0 else i * 10},{i}\n" for i in range(40))


def test_cells_without_a_value_are_refused_left_out_or_filled() -> None:
    assert refusal_of_table(REGRESSION, HOLES) == (
        "table.csv:2:3: column 'b': is empty, like 9 more cells; "
        "data.missing: mean puts in the column's mean, drop leaves out the row"
    )
    dropped = dataset_of_table(REGRESSION, HOLES, "data.missing=drop", "data.standardize=false")
    assert sum(len(dropped.parts[name]) for name in PARTS) == 30
    for missing, measure in (("mean", np.mean), ("median", np.median)):
        filled = dataset_of_table(
            REGRESSION, HOLES, f"data.missing={missing}", "data.standardize=false"
        )
        train = filled.parts["train"].x
        known = train[train[:, 0] % 4 != 0]
        expected = measure(known[:, 1].astype(np.float64))
        for name in PARTS:
            part = filled.parts[name].x
            np.testing.assert_allclose(part[part[:, 0] % 4 == 0][:, 1], expected, rtol=1e-6)


@pytest.mark.parametrize("cell", ["", "NA", "n/a", "NaN", "null", "?"])
def test_what_counts_as_missing(cell: str) -> None:
    table = "a,y\n" + f"{cell},1\n" + "3,1\n" * 9
    assert len(dataset_of_table(REGRESSION, table, "data.missing=drop").parts["train"]) == 6


def test_a_target_must_be_there() -> None:
    table = "a,y\n1,\n" + "3,1\n" * 9
    message = "table.csv:2:3: column 'y': is empty; data.missing: drop leaves out such rows"
    assert refusal_of_table(REGRESSION, table, "data.missing=mean") == message
    assert len(dataset_of_table(REGRESSION, table, "data.missing=drop").parts["train"]) == 6


@pytest.mark.parametrize("cell", ["", "NA", "?"])
def test_what_counts_as_missing_is_no_name(cell: str) -> None:
    """Neither of a category nor of a class, unless it is given as data.positive."""
    rows = "".join(f"{i},{'uv'[i % 2]},{'no' if i % 3 else 'yes'}\n" for i in range(20))
    table = f"a,c,y\n{rows}1,{cell},yes\n1,u,{cell}\n"
    data = "data={csv: table.csv, target: y, positive: yes, categorical: [c]}"
    text = refusal_of_table(CLASSIFICATION, table, data)
    assert [line.split(":")[1:4] for line in text.splitlines()] == [
        ["22", "3", " column 'c'"], ["23", "5", " column 'y'"]
    ]  # fmt: skip
    dropped = dataset_of_table(CLASSIFICATION, table, data.replace("yes,", "yes, missing: drop,"))
    assert list(dropped.preprocessing.features) == ["a", "c=u", "c=v"]


def test_the_mistakes_of_features_and_of_the_target_are_told_at_once() -> None:
    text = refusal_of_table(REGRESSION, "a,b,y\n" + "1,2,3\n" * 9 + "1,2,z\n1,y,4\nx,2,3\n")
    assert [line.split(":")[1] for line in text.splitlines()] == ["11", "12", "13"]


def test_a_column_of_nothing() -> None:
    table = "a,b,y\n" + "1,?,2\n" * 9
    assert "the training part has no value of 'b'" in refusal_of_table(
        REGRESSION, table, "data.missing=mean"
    )
    assert "drops every row of table.csv" in refusal_of_table(
        REGRESSION, table, "data.missing=drop"
    )


def test_parts_have_files_of_their_own() -> None:
    write_example(Path())
    for name in ("v", "t"):
        Path(f"{name}.csv").write_text("y,b,a\n7,1,2\n8,3,4\n", "utf-8")
    parts = "data.parts={validation: v.csv, test: t.csv}"
    data = dataset_of_table(REGRESSION, "a,b,y\n" + "1,2,3\n" * 10, parts, "data.standardize=false")
    assert [len(data.parts[name]) for name in PARTS] == [10, 2, 2]
    np.testing.assert_array_equal(data.parts["test"].x, [[2, 1], [4, 3]])
    only = dataset_of_table(REGRESSION, "a,b,y\n" + "1,2,3\n" * 20, "data.parts={test: t.csv}")
    assert [len(only.parts[name]) for name in PARTS] == [16, 4, 2]  # 70 : 15 of the main table
    Path("t.csv").write_text("a,y\n1,2\n", "utf-8")
    assert "t.csv: has no column 'b'" in refusal_of_table(
        REGRESSION, "a,b,y\n" + "1,2,3\n" * 9, parts
    )


def test_classes_by_name_in_their_order() -> None:
    data = dataset_of_table(*three_classes())
    assert data.classes == ("blue", "grey", "red")
    part = data.parts["train"]
    assert part.y.dtype == np.int64
    np.testing.assert_array_equal(part.y, np.array([2, 0, 1])[part.x[:, 0].astype(int) % 3])
    numbers = CLASSES.replace("red", "10").replace("blue", "9").replace("grey", "-1.5")
    assert dataset_of_table(CLASSIFICATION, numbers, *three_classes()[2:]).classes == (
        "-1.5",
        "9",
        "10",
    )


def test_a_class_that_only_another_part_has() -> None:
    Path("t.csv").write_text("a,b,kind\n1,2,pink\n", "utf-8")
    message = refusal_of_table(*three_classes("data.parts={test: t.csv}"))
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
def test_mistakes_of_a_table(override: str, message: str) -> None:
    more = ("data.positive=red",) if override.startswith("loss=BCE") else ()
    assert message in refusal_of_table(*three_classes(*more, override))


def test_weights_of_classes() -> None:
    text, table, *overrides = three_classes("data.class_weights=[1, 2, 4]")
    loss = experiment(text, *overrides, table=table).loss
    np.testing.assert_array_equal(loss.weight.numpy(), [1, 2, 4])
    table = "a,y\n" + "1,0\n" * 30 + "2,1\n" * 10
    data = "data={csv: table.csv, target: y, stratify: true, class_weights: balanced}"
    assert experiment(CLASSIFICATION, data, table=table).loss.pos_weight.item() == 3


def test_the_record_of_preprocessing_prepares_the_same_again() -> None:
    data = dataset_of_table(REGRESSION, NAMES, "data.delimiter=';'", "data.categorical=[town]")
    record = json.loads(json.dumps(data.preprocessing.record()))
    again = Preprocessing.from_record(record)
    x = np.array([[3.0, 1, 0, 0], [4.0, 0, 1, 0]])
    np.testing.assert_array_equal(again.inputs(x), data.preprocessing.inputs(x))
    assert again.record() == record


X = np.arange(120.0).reshape(20, 2, 3)
NPZ = "data={npz: d.npz, inputs: x, target: y, standardize: false}"
FLAT = "model.layers=[Flatten, {name: Linear, out_features: 1}]"


def dataset_of_arrays(*overrides: str, text: str = REGRESSION) -> Dataset:
    return experiment(text, *overrides).dataset


refusal_of_arrays = refusal_of(dataset_of_arrays)


def test_inputs_keep_their_shape() -> None:
    np.savez("d.npz", x=X, y=X.sum(axis=(1, 2)))
    data = dataset_of_arrays(NPZ, FLAT)
    x = np.concatenate([data.parts[name].x for name in PARTS])
    y = np.concatenate([data.targets(name) for name in PARTS])
    assert x.shape == (20, 2, 3)
    np.testing.assert_allclose(x.sum(axis=(1, 2)), y[:, 0], rtol=1e-6)
    flat = dataset_of_arrays(NPZ, "data.shape=[6]")
    assert flat.parts["train"].x.shape == (14, 6)


def test_one_mean_for_all() -> None:
    np.savez("d.npz", x=X, y=X[:, 0, 0])
    train = (
        dataset_of_arrays(NPZ, FLAT, "data.standardize=together")
        .parts["train"]
        .x.astype(np.float64)
    )
    assert abs(train.mean()) < 1e-6
    assert abs(train.std() - 1) < 1e-6
    assert (np.abs(train.mean(axis=0)) > 1e-3).all()


def test_two_files_of_one_array_each() -> None:
    np.save("a.npy", X[:, 0])
    np.save("b.npy", np.arange(20)[:, None])
    data = dataset_of_arrays("data={npy: {x: a.npy, y: b.npy}, standardize: false}")
    assert data.preprocessing.target == "b"
    assert data.parts["train"].x.shape == (14, 3)


def test_classes_are_numbers_or_text() -> None:
    layers = "model.layers=[Flatten, {name: Linear, out_features: 2}]"
    for labels in (np.arange(20) % 2 + 5, np.array(["no", "yes"] * 10)):
        np.savez("d.npz", x=X, y=labels)
        data = dataset_of_arrays(NPZ, layers, "loss=CrossEntropyLoss", text=CLASSIFICATION)
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
    assert "it holds objects, which could run code" in refusal_of_arrays(NPZ)
    np.save("a.npy", trap)
    np.save("b.npy", np.ones(2))
    assert "it holds objects, which could run code" in refusal_of_arrays(
        "data={npy: {x: a.npy, y: b.npy}}"
    )
    assert not Path("sprung").exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X}, "d.npz has no array 'y'; known here: x"),
        ({"xs": X, "y": X[:, 0, 0]}, "d.npz has no array 'x'; did you mean 'xs'?"),
        ({"x": X, "y": X[:5, 0, 0]}, "has the shape (5,), but there are 20 samples"),
        ({"x": X[:, 0, 0], "y": X[:, 0, 0]}, "has the shape (20,); it needs samples"),
        ({"x": X, "y": np.array(["a"] * 20)}, "holds <U1, not numbers"),
        ({"x": np.where(X == 7, np.nan, X), "y": X[:, 0, 0]}, "the number at [1, 0, 1] is nan"),
        ({"x": X[:0], "y": X[:0, 0, 0]}, "has no samples"),
    ],
)
def test_arrays_that_do_not_fit(arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez("d.npz", **arrays)
    assert message in refusal_of_arrays(NPZ)


def test_a_file_of_one_array_is_no_copy_in_memory() -> None:
    x = np.random.default_rng(0).normal(size=(60_000, 20)).astype(np.float32)
    np.save("a.npy", x)
    np.save("b.npy", x[:, 0])
    tracemalloc.start()
    try:
        data = dataset_of_arrays("data={npy: {x: a.npy, y: b.npy}}")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * x.nbytes  # the inputs, and one part as it was
    train = data.parts["train"].x
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(train.std(axis=0), 1, rtol=1e-4)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"\x93NUMPY", b"a,b\n1,2\n"])
def test_files_that_are_something_else(content: bytes) -> None:
    Path("d.npz").write_bytes(content)
    assert "cannot read 'd.npz': no sound file of NumPy" in refusal_of_arrays(NPZ)


def test_one_array_is_not_several() -> None:
    np.save("d.npz.npy", X)
    Path("d.npz.npy").rename("d.npz")
    assert "'d.npz' holds one array; give it as data.npy" in refusal_of_arrays(NPZ)
    np.savez("e.npz", X)
    assert "holds several arrays" in refusal_of_arrays("data={npy: {x: e.npz, y: e.npz}}")
