"""Tensors from values, arrays, shapes and ranges."""

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core import call_site
from nanotorch.ops import arguments


def test_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch warns of read-only arrays and of lists of arrays once in a program's life."""
    monkeypatch.setattr(call_site, "said", set())
    fixed = np.arange(3.0)
    fixed.setflags(write=False)
    torch.tensor(fixed)  # a copy
    with pytest.warns(UserWarning, match="not writable.* rest of this program.$") as caught:
        x = torch.from_numpy(fixed)
    torch.from_numpy(fixed)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="from a list of numpy.ndarrays is extremely slow"):
        torch.tensor([np.zeros(2), np.zeros(2)])
    torch.tensor([np.zeros(2), np.zeros(2)])
    # PyTorch writes to the memory nevertheless.
    with pytest.raises(ValueError, match="read-only"):
        x.add_(1)


@pytest.mark.parametrize("data", [[1.0, 2.0], [[1, 2], [3, 4]], [[[True]]], (1, 2.5), [], [[], []]])
def test_short_way(data: object) -> None:
    """Lists of numbers are read level by level, with the result of the long way."""
    short = arguments.new_array(data, None)
    sizes = arguments.nested_shape(data)
    dtype = arguments.infer_dtype(data)._numpy
    long = (
        arguments.convert_numbers(arguments.flatten_nested(data, sizes, 0), dtype)
        if short.size
        else short
    )
    assert (short.dtype, short.shape) == (dtype, sizes)
    np.testing.assert_array_equal(short, long.reshape(sizes))
