"""Writes in place: PyTorch's answers to programs, and what programs cannot say."""

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import ops
from nanotorch._core.tensor import wrap
from tests.ops.asking import as_pytorch

test_as_pytorch = as_pytorch("inplace", "writes")


def test_the_gradient_of_a_copy_has_the_dtype_of_its_source() -> None:
    source = torch.ones(3, requires_grad=True)
    target = torch.zeros(2, 3, dtype=torch.float64)
    target.copy_(source)
    (target * target).sum().backward()
    assert source.grad.dtype is torch.float32
    assert source.grad.tolist() == [4.0, 4.0, 4.0]


def test_a_slice_of_a_base_in_another_order_in_memory() -> None:
    """The steps to the written view may be possible in one layout only."""
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    base = x.t().clone()
    flat = base.t().view(6)
    flat[1:3] = torch.tensor([0.0, 0.0])
    (base * base).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 0.0], [6.0, 8.0, 10.0]]


def test_a_write_is_counted_once_and_seen_by_all_views() -> None:
    x = torch.zeros(2, 3)
    row, column, flat = x[0], x[:, 1], x.view(-1)
    for write in (
        lambda: row.fill_(1),
        lambda: column.zero_(),
        lambda: flat.copy_(torch.ones(6)),
        lambda: x.__setitem__(0, 2.0),
        lambda: x.__setitem__(torch.tensor([1]), 3.0),
        lambda: x.masked_fill_(x > 2, 0.0),
        lambda: x.index_add_(0, torch.tensor([0, 0]), torch.ones(2, 3)),
        lambda: x.scatter_(1, torch.tensor([[0]]), 9.0),
    ):
        before = x._version
        write()
        assert {t._version for t in (x, row, column, flat)} == {before + 1}
    assert flat.tolist() == [9.0, 4.0, 4.0, 0.0, 0.0, 0.0]


def test_memory_that_must_not_be_written_to_stays() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wrap(array).fill_(1)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "int64"])
def test_numbers_beyond_an_integer_are_refused(name: str) -> None:
    dtype = getattr(torch, name)
    largest = torch.iinfo(dtype).max
    x = torch.zeros(2, dtype=dtype)
    assert x.fill_(largest).tolist() == [largest] * 2
    with pytest.raises(RuntimeError, match="without overflow"):
        x.fill_(largest + 1)
    with pytest.raises(RuntimeError, match="without overflow"):
        x[0] = float("nan")
    assert x.tolist() == [largest] * 2


def test_functions_in_place_are_the_methods() -> None:
    missing = [n for n in ops.NAMES if not hasattr(torch.Tensor, f"{n}_")]
    assert missing == []
    x = torch.tensor([0.25, 1.0])
    assert torch.exp_(x) is x
    assert torch.equal(x, torch.tensor([0.25, 1.0]).exp())
    assert torch.fill_(x, 2.0).tolist() == [2.0, 2.0]
    assert torch.nan_to_num_(torch.tensor([float("nan")]), nan=1.0).tolist() == [1.0]
    with pytest.raises(
        TypeError, match=r"exp_\(\): argument 'input' \(position 1\) must be Tensor, not int"
    ):
        torch.exp_(2)


def test_as_many_elements_stay_where_they_are() -> None:
    x = torch.arange(6.0)
    before = x.data_ptr()
    assert x.resize_(3, 2).data_ptr() == before
    assert x.resize_(7).data_ptr() != before
