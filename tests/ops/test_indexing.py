"""Brackets, gather and scatter: PyTorch's answers to programs, and NumPy's to drawn indices."""

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
    add_rows(out, rows, values)
    np.add.at(expected, rows, values)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("index", [torch.tensor([0, 2]), torch.tensor([True, False, True])])
def test_an_index_written_to_after_its_use_is_noticed(index: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    out = x[index].sum()
    index[0] = 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


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


def test_a_view_that_no_graph_saw_follows_its_base_into_one() -> None:
    """Views of several steps are one step without a graph, and take part in it all the same."""
    v = torch.tensor(3.0, requires_grad=True)
    base = torch.zeros(3, 4)
    view = base[1:, ::2][0, 1:]
    other = base[1, 2]
    base.mul_(v)
    base[1, 2] = v * 2
    assert type(view.grad_fn).__name__ == "AsStridedBackward0"
    (view.sum() + other).backward()
    assert v.grad.item() == 4.0


def test_writing_through_a_view_of_many_steps() -> None:
    v = torch.tensor(3.0, requires_grad=True)
    base = torch.zeros(3, 4)
    part = base[1:, ::2][0]
    part[1:] = v
    (base * torch.arange(12.0).reshape(3, 4)).sum().backward()
    assert v.grad.item() == 6.0


@pytest.mark.parametrize("index", [(1, 2), 1, slice(1, 3), (slice(None), 2)])
def test_a_part_changed_in_place_is_written_back(index: Any) -> None:
    """`x[i] += 1` writes the same elements twice, as in PyTorch, and other parts overlap."""
    x = torch.arange(12).reshape(3, 4)
    wanted = x.numpy().copy()
    wanted[index] += 1
    before = x._version
    x[index] += 1
    assert x.tolist() == wanted.tolist()
    assert x._version == before + 2
    rows = torch.arange(16).reshape(4, 4)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        rows[:3] = rows[1:]


def test_gradients_of_extrema_without_dimensions_are_in_double() -> None:
    """As PyTorch: 1 for what attains the maximum, of which the divisor makes -0.5."""
    x = torch.tensor([-1.5], dtype=torch.float64, requires_grad=True)
    low = torch.tensor(-2.0, dtype=torch.float64)
    most = low.scatter_reduce(-1, torch.tensor(0), x / low, "amax")
    (g,) = torch.autograd.grad(most, x, create_graph=True)
    assert g.tolist() == [-0.5]
    assert g.dtype is torch.float64


def test_a_source_without_dimensions_has_one_element() -> None:
    places = torch.zeros(3, dtype=torch.int64)
    for write in (torch.Tensor.scatter_, torch.Tensor.scatter_add_):
        with pytest.raises(RuntimeError, match=r"no larger size than src \[\]"):
            write(torch.ones(3), 0, places, torch.tensor(2.0))
        assert write(torch.zeros(3), 0, places[:1], torch.tensor(2.0)).tolist() == [2, 0, 0]
