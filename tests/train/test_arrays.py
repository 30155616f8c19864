"""Arrays in files of NumPy: read without ever executing anything."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from nanotorch.train.dataset import PARTS, Dataset
from tests.train.examples import CLASSIFICATION, REGRESSION, experiment, refusal_of

X = np.arange(120.0).reshape(20, 2, 3)
NPZ = "data={npz: d.npz, inputs: x, target: y, standardize: false}"
LAYERS = "model.layers=[Flatten, {name: Linear, out_features: 1}]"


def dataset(*overrides: str, text: str = REGRESSION) -> Dataset:
    return experiment(text, *overrides).dataset


refusal = refusal_of(dataset)


def test_inputs_keep_their_shape() -> None:
    np.savez("d.npz", x=X, y=X.sum(axis=(1, 2)))
    data = dataset(NPZ, LAYERS)
    x = np.concatenate([data.parts[name].x for name in PARTS])
    y = np.concatenate([data.targets(name) for name in PARTS])
    assert x.shape == (20, 2, 3)
    np.testing.assert_allclose(x.sum(axis=(1, 2)), y[:, 0], rtol=1e-6)
    flat = dataset(NPZ, "data.shape=[6]")
    assert flat.parts["train"].x.shape == (14, 6)


def test_one_mean_for_all() -> None:
    np.savez("d.npz", x=X, y=X[:, 0, 0])
    train = dataset(NPZ, LAYERS, "data.standardize=together").parts["train"].x.astype(np.float64)
    assert abs(train.mean()) < 1e-6
    assert abs(train.std() - 1) < 1e-6
    assert (np.abs(train.mean(axis=0)) > 1e-3).all()


def test_two_files_of_one_array_each() -> None:
    np.save("a.npy", X[:, 0])
    np.save("b.npy", np.arange(20)[:, None])
    data = dataset("data={npy: {x: a.npy, y: b.npy}, standardize: false}")
    assert data.preprocessing.target == "b"
    assert data.parts["train"].x.shape == (14, 3)


def test_classes_are_numbers_or_text() -> None:
    layers = "model.layers=[Flatten, {name: Linear, out_features: 2}]"
    for labels in (np.arange(20) % 2 + 5, np.array(["no", "yes"] * 10)):
        np.savez("d.npz", x=X, y=labels)
        data = dataset(NPZ, layers, "loss=CrossEntropyLoss", text=CLASSIFICATION)
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
    assert "it holds objects, which could run code" in refusal(NPZ)
    np.save("a.npy", trap)
    np.save("b.npy", np.ones(2))
    assert "it holds objects, which could run code" in refusal("data={npy: {x: a.npy, y: b.npy}}")
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
    assert message in refusal(NPZ)


def test_a_file_of_one_array_is_no_copy_in_memory() -> None:
    x = np.random.default_rng(0).normal(size=(60_000, 20)).astype(np.float32)
    np.save("a.npy", x)
    np.save("b.npy", x[:, 0])
    tracemalloc.start()
    try:
        data = dataset("data={npy: {x: a.npy, y: b.npy}}")
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
    assert "cannot read 'd.npz': no sound file of NumPy" in refusal(NPZ)


def test_one_array_is_not_several() -> None:
    np.save("d.npz.npy", X)
    Path("d.npz.npy").rename("d.npz")
    assert "'d.npz' holds one array; give it as data.npy" in refusal(NPZ)
    np.savez("e.npz", X)
    assert "holds several arrays" in refusal("data={npy: {x: e.npz, y: e.npz}}")
