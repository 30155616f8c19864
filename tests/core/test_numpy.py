"""Tensors among NumPy's arrays and numbers."""

import numpy as np

import nanotorch as torch


def test_no_array_of_tensors() -> None:
    """NumPy takes what it does not know for an object; a tensor it knows."""
    x, a = torch.ones(2), np.ones(2)
    assert (x * a).dtype is torch.float64
    assert np.multiply(a, x).dtype is torch.float64
    assert np.array([x, x]).dtype == np.float32
