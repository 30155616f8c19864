"""Samples: parts are disjoint, proportional and repeatable, and nothing leaks into training."""

from pathlib import Path

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.train.csv_file import NO_HEADER
from nanotorch.train.dataset import PARTS, Dataset, divide, load_dataset, moments
from nanotorch.train.load import load_config
from nanotorch.train.schema import Split
from tests.train.examples import CLASSIFICATION, REGRESSION, TABLE, refusal_of, write_example


def dataset(data: str, table: str = TABLE, seed: int = 0, classes: bool = False) -> Dataset:
    example = CLASSIFICATION if classes else REGRESSION
    before, _, after = example.partition("data:\n")
    text = f"{before}data:\n{data}model:\n{after.partition('model:')[2].lstrip()}"
    write_example(Path(), text.replace("model:\nlayers", "model:\n  layers"), table)
    loaded = load_config("x.yaml")
    generator = torch.Generator().manual_seed(seed)
    with loaded.origins.told():
        return load_dataset(loaded.config.data, "binary" if classes else "regression", generator)


refusal = refusal_of(dataset)


PLAIN = "  csv: table.csv\n  target: y\n"
RAW = PLAIN + "  standardize: false\n  standardize_target: false\n"


def test_the_parts_are_the_table() -> None:
    data = dataset(RAW)
    assert [len(data.parts[name]) for name in PARTS] == [14, 3, 3]
    assert list(data.preprocessing.features) == ["a", "b"]
    x = np.concatenate([data.parts[name].x for name in PARTS])
    y = np.concatenate([data.parts[name].y for name in PARTS])
    assert x.dtype == y.dtype == np.float32
    assert y.shape == (20, 1)
    order = np.argsort(x[:, 0])
    np.testing.assert_array_equal(x[order, 0], np.arange(20))
    np.testing.assert_array_equal(y[order, 0], 3 * np.arange(20) + 1)


def test_equal_seeds_give_equal_parts() -> None:
    first, second, other = dataset(RAW), dataset(RAW), dataset(RAW, seed=1)
    for name in PARTS:
        np.testing.assert_array_equal(first.parts[name].x, second.parts[name].x)
    assert not np.array_equal(first.parts["train"].x, other.parts["train"].x)


def test_features_are_chosen_by_name_in_their_order() -> None:
    table = "id,a,b,y\n" + "".join(f"n{i},{i},{-i},{i}\n" for i in range(10))
    data = dataset(RAW + "  features: [b, a]\n", table)
    x = data.parts["train"].x
    np.testing.assert_array_equal(x[:, 0], -x[:, 1])
    assert (x[:, 0] <= 0).all()


def test_only_the_training_part_standardizes() -> None:
    raw, data = dataset(RAW), dataset(PLAIN)
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


CLASSES = "a,kind\n" + "".join(f"{i},{'good' if i % 4 else 'bad'}\n" for i in range(40))
KIND = "  csv: table.csv\n  target: kind\n  positive: bad\n"


def test_classes_have_names() -> None:
    data = dataset(KIND, CLASSES, classes=True)
    assert data.classes == ("good", "bad")
    train = data.parts["train"]
    raw = train.x[:, 0] * data.preprocessing.scale[0] + data.preprocessing.mean[0]
    np.testing.assert_array_equal(train.y[:, 0], np.rint(raw) % 4 == 0)


def test_stratified_parts_have_the_classes_of_the_whole() -> None:
    data = dataset(KIND + "  stratify: true\n", CLASSES, classes=True)
    assert [int(data.parts[name].y.sum()) for name in PARTS] == [7, 1, 2]
    assert [len(data.parts[name]) for name in PARTS] == [28, 6, 6]


@pytest.mark.parametrize("samples", [1, 7, 100, 569])
def test_division_is_a_partition(samples: int) -> None:
    strata = np.arange(samples) % 3.0
    parts = divide(strata, np.arange(samples)[::-1], Split(train=0.6, validation=0.3, test=0.1))
    assert sorted(np.concatenate(list(parts.values()))) == list(range(samples))
    for name, fraction in zip(PARTS, (0.6, 0.3, 0.1), strict=True):
        for stratum in range(3):
            count = np.sum(strata[parts[name]] == stratum)
            assert abs(count - fraction * np.sum(strata == stratum)) <= 1


@pytest.mark.parametrize(
    ("data", "table", "message"),
    [
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
    ],
)  # fmt: skip
def test_data_that_cannot_be_had(data: str, table: str, message: str) -> None:
    assert refusal(data, table) == message


@pytest.mark.parametrize(
    ("data", "table", "message"),
    [
        (KIND.replace("bad", "awful"), CLASSES, "x.yaml:5:13: data.positive: "
         "column 'kind' has no such value; known here: bad, good"),
        (KIND, "a,kind\n1,bad\n2,good\n3,ugly\n", "x.yaml:4:11: data.target: "
         "column 'kind' has 3 different values; two classes are needed, "
         "or CrossEntropyLoss for more"),
        (PLAIN, "a,y\n1,u\n2,v\n3,w\n", "x.yaml:4:11: data.target: column 'y' has 3 different "
         "values; two classes are needed, or CrossEntropyLoss for more"),
        (PLAIN, "a,y\n1,0\n2,1\n3,2\n", "table.csv:4:3: column 'y': "
         "'2' is neither 0 nor 1; CrossEntropyLoss takes more than two classes"),
        (PLAIN, "a,y\n1,1\n2,1\n", "x.yaml:4:11: data.target: all 2 samples are of class 1"),
    ],
)  # fmt: skip
def test_classes_that_cannot_be_had(data: str, table: str, message: str) -> None:
    assert refusal(data, table, classes=True) == message
