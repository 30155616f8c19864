"""Writes in place: PyTorch's answers to programs, and what programs cannot say."""

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import ops
from nanotorch._core.tensor import wrap
from tests.ops.asking import as_pytorch

test_as_pytorch = as_pytorch("inplace", "writes")


def test_memory_that_must_not_be_written_to_stays() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wrap(array).fill_(1)


def test_functions_in_place_are_the_methods() -> None:
    missing = [n for n in ops.NAMES if not hasattr(torch.Tensor, f"{n}_")]
    assert missing == []


def test_as_many_elements_stay_where_they_are() -> None:
    x = torch.arange(6.0)
    before = x.data_ptr()
    assert x.resize_(3, 2).data_ptr() == before
    assert x.resize_(7).data_ptr() != before
