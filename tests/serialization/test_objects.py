"""What is saved is what is loaded: values, types, identities, memory."""

import math
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file

import nanotorch as torch
from nanotorch import nn
from tests.serialization.test_files import loaded, written


def through(obj: Any) -> Any:
    """An object after a stay in a file."""
    return loaded(written(obj))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    | st.binary() | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner)
    | st.tuples(inner, inner)
    | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers(), st.text()), inner)
    | st.builds(OrderedDict, st.dictionaries(st.text(), inner)),
)  # fmt: skip


def kinds(value: Any) -> Any:
    """The types inside a value; `==` takes 1, 1.0 and True for the same."""
    if isinstance(value, dict):
        return type(value), [(kinds(k), kinds(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [kinds(v) for v in value]
    return type(value)


@settings(max_examples=30)
@given(PLAIN)
def test_containers_and_numbers(obj: Any) -> None:
    found = through(obj)
    assert found == obj
    assert kinds(found) == kinds(obj)


def test_other_kinds() -> None:
    obj = {
        "counter": Counter({3: 2, 1: 1}), "sets": ({1, 2}, frozenset({(1, "a")})),
        "size": torch.Size([2, 3]), "dtype": torch.float64, "device": torch.device("cuda:1"),
        "bytes": bytearray(b"ab"), "numbers": (np.float64(0.1), np.int32(3), np.bool_(True)),
    }  # fmt: skip
    found = through(obj)
    assert found == obj
    assert kinds(found) == kinds(obj)
    assert math.isnan(through(math.nan))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 2), (2, 3)])
def test_tensors(dtype: str, shape: tuple[int, ...]) -> None:
    tensor = torch.rand(shape).mul(5).to(getattr(torch, dtype))
    found = through(tensor)
    assert found.dtype is tensor.dtype
    assert found.shape == shape
    assert torch.equal(found, tensor)
    found.add_(1) if dtype != "bool" else found.logical_not_()  # it can be written to


def test_what_a_tensor_is_besides_its_values() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    parameter = nn.Parameter(torch.ones(2))
    frozen = nn.Parameter(torch.ones(2), requires_grad=False)
    told = through([x.t(), parameter, frozen, (x.requires_grad_() * 2), np.arange(3.0)])
    assert told[0].stride() == (1, 3)
    assert [type(t) for t in told[1:3]] == [nn.Parameter] * 2
    assert [t.requires_grad for t in told[1:4]] == [True, False, True]
    assert told[3].is_leaf  # history is not saved
    assert isinstance(told[4], np.ndarray)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_arrays_of_what_no_tensor_is_of(dtype: str) -> None:
    array = np.array([[1, 2, 3], [4, 5, np.iinfo(dtype).max]], dtype)
    found = through({"random state": ("MT19937", array.T)})["random state"][1]
    assert found.dtype == dtype
    assert np.array_equal(found, array.T)


@pytest.mark.parametrize("dtype", [">u4", ">i8", ">f4", ">f8"])
def test_arrays_in_the_other_byte_order_come_back_in_that_of_the_machine(dtype: str) -> None:
    array = np.array([1.1, 2, 300], dtype)
    found = through(array)
    assert found.dtype == np.dtype(dtype).newbyteorder("=")
    assert np.array_equal(found, array)


def test_memory_that_is_shared_stays_so() -> None:
    base = torch.arange(12.0).reshape(3, 4)
    found = through(
        {"base": base, "again": base, "row": base[1], "t": base[:, ::2].t(), "other": base.clone()}
    )
    assert found["again"] is found["base"]
    found["row"].zero_()
    expected = base.clone()
    expected[1] = 0
    assert torch.equal(found["base"], expected)
    assert torch.equal(found["t"], expected[:, ::2].t())
    assert torch.equal(found["other"], base)
    halves = through([base[:2], base[2:]])  # neighbours that do not overlap
    halves[0].zero_()
    assert torch.equal(halves[1], base[2:])


def test_only_what_is_seen_is_stored() -> None:
    assert len(written(torch.zeros(1_000_000)[:3])) < 1000
    apart = through([torch.zeros(9)[::4], torch.ones(1).expand(3)])
    assert [t.stride() for t in apart] == [(1,), (1,)]


def test_gaps_between_tensors_of_one_memory_are_in_the_file() -> None:
    """A file gives what it asks for, so that a small one cannot fill the memory."""
    base = torch.arange(10_000.0).reshape(100, 100)
    data = written({"gaps": base[:, ::50], "few": base[:, :3]})
    assert 40_000 < len(data) < 41_000
    found = loaded(data)
    assert torch.equal(found["gaps"], base[:, ::50])
    found["few"][1, 0] = -1
    assert found["gaps"][1, 0] == -1
    assert len(written([base, base[:, :3]])) < 42_000


def test_tied_weights(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    torch.save(model.state_dict(), tmp_path / "m.safetensors")
    state = torch.load(tmp_path / "m.safetensors")
    state["0.weight"].zero_()
    assert not state["1.weight"].any()
    assert set(load_file(tmp_path / "m.safetensors")) == set(model.state_dict())


def test_a_flat_state_has_its_keys_for_other_readers(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    torch.save(model.state_dict(), tmp_path / "m.safetensors")
    arrays = load_file(tmp_path / "m.safetensors")
    assert set(arrays) == set(model.state_dict())
    for name, tensor in model.state_dict().items():
        np.testing.assert_array_equal(arrays[name], tensor.numpy())
    with safe_open(tmp_path / "m.safetensors", "np") as file:
        assert file.metadata()["format"] == "pt"


def test_names_that_would_be_the_same() -> None:
    obj = {"a.b": torch.ones(1), "a": {"b": torch.zeros(1)}, "__metadata__": torch.ones(2)}
    obj |= {"\udcff": torch.ones(3), r"\udcff": torch.ones(4)}  # the first is no text in UTF-8
    found = through(obj)
    assert [*map(len, found.values())] == [1, 1, 2, 3, 4]
    assert torch.equal(found["a"]["b"], torch.zeros(1))
    assert torch.equal(found["a.b"], torch.ones(1))
    assert torch.equal(found["__metadata__"], torch.ones(2))


def test_the_versions_of_modules_come_along() -> None:
    state = nn.BatchNorm1d(2).state_dict()
    assert through(state)._metadata == state._metadata


def recursive() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


def deep() -> list[Any]:
    nest: list[Any] = []
    for _ in range(5000):
        nest = [nest]
    return nest


class Point(tuple):
    """A tuple of a user's own."""


@pytest.mark.parametrize(
    ("obj", "error", "message"),
    [
        (
            {"d": defaultdict(int)},
            TypeError,
            "defaultdict cannot be in a file .*convert it to a plain dict",
        ),
        ([Point((1, 2))], TypeError, r"obj\[0\]: Point cannot be in a file .* plain tuple"),
        (np.array(["a"]), TypeError, "ndarray of dtype <U1 cannot be in a file"),
        (object(), TypeError, "object cannot be in a file"),
        (recursive(), ValueError, "contains itself"),
    ],
)
def test_what_cannot_be_saved(obj: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        written(obj)


@pytest.mark.parametrize("name", ["x.safetensors", "x.pt"])
def test_containers_that_are_too_deep(name: str) -> None:
    with pytest.raises(ValueError, match="deeply"):
        written(deep(), name)
