"""Brackets, gather and scatter: PyTorch's answers to programs, and NumPy's to drawn indices."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import nanotorch as torch
from nanotorch._core.tensor import wrap
from nanotorch.ops.gathering import add_rows
from tests.ops.asking import as_pytorch

test_as_pytorch = as_pytorch("indexing")

SHAPE = (4, 3, 5)


def as_torch(item: Any) -> Any:
    return torch.tensor(item) if isinstance(item, np.ndarray) else item


@st.composite
def indices(draw: st.DrawFn) -> tuple[Any, ...]:
    """An index of `SHAPE` that NumPy and PyTorch understand alike."""
    pattern = draw(arrays.array_shapes(min_dims=1, max_dims=2, max_side=3))
    items: list[Any] = []
    for size in SHAPE:
        whole = st.integers(-size, size - 1)
        bounds = st.one_of(st.none(), st.integers(-size - 1, size + 1))
        step = st.one_of(st.none(), st.integers(1, 3))
        sliced = st.builds(slice, bounds, bounds, step)
        several = arrays.arrays(np.int64, pattern, elements=whole)
        items.append(draw(st.one_of(whole, sliced, several)))
    start = draw(st.integers(0, 3))
    if start < 3 and draw(st.booleans()):  # dots for nothing part index arrays in NumPy only
        items[start : draw(st.integers(start + 1, 3))] = [...]
    else:
        items = items[:start]
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    # NumPy counts an integer among index arrays as one of them, PyTorch takes it off first.
    if any(isinstance(i, np.ndarray) for i in items):
        items = [slice(i, i + 1 or None) if isinstance(i, int) else i for i in items]
    return tuple(items)


@given(indices())
def test_reading_is_numpys(index: tuple[Any, ...]) -> None:
    array = np.arange(60.0).reshape(SHAPE)
    x = wrap(array.copy()).requires_grad_()
    at = tuple([as_torch(i) for i in index])
    out = x[at]
    np.testing.assert_array_equal(out.detach().numpy(), array[index])
    taken = wrap(x.detach().numpy())[at]
    assert np.shares_memory(taken.numpy(), x.detach().numpy()) == (
        taken.numel() > 0 and not any(isinstance(i, np.ndarray) for i in index)
    )
    weight = 1.0 + np.arange(out.numel()).reshape(out.shape) % 7
    (g,) = torch.autograd.grad(out, x, wrap(weight))
    expected = np.zeros(SHAPE)
    np.add.at(expected, index, weight)
    np.testing.assert_array_equal(g.numpy(), expected)


@given(indices(), st.booleans())
def test_writing_is_numpys(index: tuple[Any, ...], recorded: bool) -> None:
    array = np.arange(60.0).reshape(SHAPE)
    leaf = wrap(array.copy()).requires_grad_(recorded)
    x = leaf * 1
    at = tuple([as_torch(i) for i in index])
    array[index] = -1.0
    x[at] = -1.0
    np.testing.assert_array_equal(x.detach().numpy(), array)
    assert x._version == 1
    if recorded:
        (g,) = torch.autograd.grad(x.sum(), leaf)
        np.testing.assert_array_equal(g.numpy(), array != -1.0)


@given(arrays.arrays(bool, SHAPE[:2]))
def test_a_mask_reads_and_writes(mask: np.ndarray) -> None:
    array = np.arange(60.0).reshape(SHAPE)
    x = wrap(array.copy()).requires_grad_()
    out = x[torch.tensor(mask)]
    np.testing.assert_array_equal(out.detach().numpy(), array[mask])
    (g,) = torch.autograd.grad(out.sum(), x)
    np.testing.assert_array_equal(g.numpy(), np.broadcast_to(mask[..., None], SHAPE))
    y = x * 1
    y[torch.tensor(mask)] = out * 2
    np.testing.assert_array_equal(y.detach().numpy(), np.where(mask[..., None], 2 * array, array))


@given(arrays.arrays(np.int64, st.integers(0, 12), elements=st.integers(0, 4)), st.integers(0, 3))
def test_rows_add_up_in_any_width(rows: np.ndarray, width: int) -> None:
    values = np.arange(1.0, 1 + rows.size * width).reshape(rows.size, width)
    out, expected = np.zeros((5, width)), np.zeros((5, width))
    add_rows(out, [rows], values)
    np.add.at(expected, rows, values)
    np.testing.assert_array_equal(out, expected)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda base: base.clone(),
    "transposed": lambda base: base.clone().T.contiguous().T,
    "every second": lambda base: torch.stack([base, base], 2)[:, :, 0],
}


@pytest.mark.parametrize("width", [1, 3, 600])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_are_added_in_place_one_after_another(layout: str, width: int) -> None:
    """In PyTorch's order, to the bit, whatever the number and the size of the slices."""
    rng, make = np.random.default_rng(0), LAYOUTS[layout]
    base = torch.tensor(rng.random((10, width), dtype=np.float32))
    for count in (1, 20, 300):
        rows = rng.integers(0, 5, count)
        values = rng.random((count, width), dtype=np.float32)
        whole = np.repeat(rows[:, None], width, 1)
        expected = base.numpy().copy()
        np.add.at(expected, (whole, np.arange(width)), values)
        at, new, every = torch.tensor(rows), torch.tensor(values), torch.tensor(whole)
        columns = torch.arange(width)
        for out in (
            make(base).index_add_(0, at, new),
            make(base).T.index_add_(1, at, new.T).T,
            make(base).index_put_((at,), new, accumulate=True),
            make(base).index_put_((at[:, None] - 10, columns), new, accumulate=True),
            make(base).scatter_add_(0, every, new),
        ):
            np.testing.assert_array_equal(out.numpy(), expected)


ADDITIONS: dict[str, Any] = {
    "index_put_": lambda x: x.index_put_((torch.tensor([3, 3]),), x[:1] * 2, accumulate=True),
    "index_add_": lambda x: x.index_add_(1, torch.tensor([3, 3]), x[:, :2] * 2),
    "scatter_add_": lambda x: x.scatter_add_(1, torch.tensor([[3, 3]]), x[:1, :2] * 2),
}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", ADDITIONS)
def test_a_small_addition_does_not_copy_the_tensor(name: str, transposed: bool) -> None:
    x = torch.ones(500, 500)
    x = x.T if transposed else x
    ADDITIONS[name](x)  # the first call also makes the function
    tracemalloc.start()
    ADDITIONS[name](x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < x.nbytes / 4


def test_a_list_with_a_sequence_is_a_tuple_and_warns() -> None:
    x = torch.arange(6).reshape(2, 3)
    with pytest.warns(UserWarning, match="Using a non-tuple sequence"):
        assert x[[[0, 1], [1, 2]]].tolist() == [1, 5]


def test_bytes_as_a_mask_warn() -> None:
    x = torch.arange(3)
    with pytest.warns(UserWarning, match=r"indexing with dtype torch\.uint8 is now deprecated"):
        assert x[torch.tensor([1, 0, 1], dtype=torch.uint8)].tolist() == [0, 2]
    with pytest.warns(UserWarning, match="where received a uint8 condition"):
        torch.where(torch.tensor([1, 0, 1], dtype=torch.uint8), x, 0)
