"""Equal dtypes are one object in every tensor, and no operation relies on it."""

import copy
import io
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core.tensor import wrap
from nanotorch.utils.data import DataLoader, default_collate, default_convert
from tests.ops import test_table
from tests.ops.cases import Case, by_row, outcome
from tests.several import each, in_parts

WORKING = by_row(test_table.WORKING)
NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


class Marked(np.ndarray):
    """An array of a class of its own."""


def through_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def in_structure(array: np.ndarray) -> np.ndarray:
    records = np.zeros(array.shape, [("first", array.dtype), ("second", array.dtype)])
    records["second"] = array
    return records["second"]


def from_file(array: np.ndarray) -> np.ndarray:
    file = io.BytesIO()
    np.save(file, array)
    file.seek(0)
    return np.asarray(np.load(file))


def by_another_name(array: np.ndarray) -> np.ndarray:
    """Of the other of C's two types of 64 bits."""
    return array.view(np.longlong) if array.dtype == np.int64 else array


WAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "pickle": through_pickle,
    "metadata": lambda a: a.view(np.dtype(a.dtype, metadata={"unit": "m"})),
    "native": lambda a: a.view(a.dtype.newbyteorder("=")),
    "swapped twice": lambda a: a.view(a.dtype.newbyteorder().newbyteorder()),
    "copied": lambda a: a.view(copy.deepcopy(a.dtype)),
    "C name": by_another_name,
    "structure": in_structure,
    "file": from_file,
    "buffer": lambda a: np.frombuffer(bytearray(a.tobytes()), a.dtype).reshape(a.shape),
    "subclass": lambda a: through_pickle(a).view(Marked),
}


def saved(array: np.ndarray) -> Any:
    file = io.BytesIO()
    torch.save({"array": np.asarray(array), "tensor": torch.from_numpy(array)}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    return [torch.from_numpy(loaded["array"]), loaded["tensor"]]


def as_data(array: np.ndarray) -> torch.Tensor:
    t: torch.Tensor = torch.zeros(1)
    t.data = torch.from_numpy(array)
    return t


BOOLS: Any = torch.zeros(2, 2) == 0
ENTRIES: dict[str, Callable[[np.ndarray], Any]] = {
    "tensor": torch.tensor,
    "tensor of rows": lambda a: torch.tensor(list(a)),
    "tensor of numbers": lambda a: torch.tensor([list(row) for row in a]),
    "as_tensor": torch.as_tensor,
    "from_numpy": torch.from_numpy,
    "Tensor": torch.Tensor,
    "new_tensor": lambda a: BOOLS.new_tensor(a),
    "dlpack": torch.from_dlpack,
    "ufunc": lambda a: np.add(a, BOOLS),
    "product": lambda a: BOOLS * a,
    "__array_wrap__": lambda a: torch.zeros(1).__array_wrap__(a),
    "data": as_data,
    "saved": saved,
    "unpickled": lambda a: through_pickle(torch.from_numpy(a)),
    "unpickled part": lambda a: through_pickle(torch.from_numpy(a)[:, 1:]),
    "unpickled module": lambda a: through_pickle(torch.nn.Buffer(torch.from_numpy(a))),
    "copied": lambda a: copy.deepcopy(torch.from_numpy(a)),
    "collated": lambda a: default_collate([a, a]),
    "converted": default_convert,
    "loaded": lambda a: list(DataLoader(list(a), batch_size=2)),
    "row": lambda a: torch.stack(list(map(torch.from_numpy, np.asarray(a)))),
}


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors(part)


def is_own(tensor: Any) -> bool:
    """Whether the dtype object is the one of nanotorch's dtype of that name."""
    return tensor._array.dtype is getattr(torch, tensor._array.dtype.name)._numpy


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("entry", ENTRIES)
def test_arrays_enter_under_one_dtype_object(entry: str) -> None:
    for way, change in WAYS.items():
        for name in NAMES:
            given = change(np.array([[0, 1], [1, 0]], name))
            found = list(tensors(ENTRIES[entry](given)))
            assert found, (way, name)
            assert all(map(is_own, found)), (way, name)


def test_a_shared_array_is_still_shared() -> None:
    given = through_pickle(np.zeros((2, 3), np.float32))
    t = torch.from_numpy(given.T)
    t[2, 0] = 5
    assert given[0, 2] == 5
    assert t.numpy().strides == given.T.strides


def test_workers_give_what_operations_take() -> None:
    rows = [np.full(3, k, np.float32) for k in range(4)]
    layer = torch.nn.Linear(3, 2)
    for batch in DataLoader(rows, batch_size=2, num_workers=1):
        layer(batch).sum().backward()
        torch.mm(batch, layer.weight.t())
        assert is_own(batch)
    assert is_own(layer.weight.grad)


def test_what_holds_dtypes_comes_out_of_pickles_and_copies() -> None:
    for renewed in (through_pickle, copy.deepcopy):
        layer = torch.nn.LSTM(3, 3)
        step = torch.optim.Adam(layer.parameters())
        for _ in range(2):
            layer(torch.ones(2, 1, 3))[0].sum().backward()
            step.step()
        layer, step = renewed((layer, step))
        layer(torch.ones(2, 1, 3))[0].sum().backward()
        step.step()
        states = [t for state in step.state.values() for t in state.values()]
        assert all(map(is_own, [*layer.parameters(), *states]))


def through_a_pickle(case: Case) -> list[torch.Tensor]:
    """The inputs, every second array out of a pickle: the even ones or the odd ones."""
    tensors = [wrap(array) for array in case.arrays("float32")]
    for t in tensors[(case.number + 1) % 2 :: 2]:
        t._array = through_pickle(t._array)  # past the way in, which would renew its dtype
    return tensors


def check_dtypes(case: Case) -> None:
    plain = [wrap(array) for array in case.arrays("float32")]
    pairs = (outcome(case, inputs) for inputs in (through_a_pickle(case), plain))
    both = ([*results, *grads] for results, grads in pairs)
    for ours, expected in zip(*both, strict=True):
        assert ours.dtype == expected.dtype
        np.testing.assert_array_equal(ours.numpy(force=True), expected.numpy(force=True))


@in_parts(WORKING, 50)
def test_operations_decide_by_dtypes_that_are_equal(names: list[str]) -> None:
    each([case for name in names for case in WORKING[name]], check_dtypes)
