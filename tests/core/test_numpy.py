"""Tensors among NumPy's arrays and numbers."""

import numpy as np
import pytest

import nanotorch as torch
from tests.core.asking import as_pytorch

# What is warned of once is so by the test that comes first.
once = pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
test_as_pytorch = once(as_pytorch("numpy"))


def test_no_array_of_tensors() -> None:
    """NumPy takes what it does not know for an object; a tensor it knows."""
    x, a = torch.ones(2), np.ones(2)
    assert (x * a).dtype is torch.float64
    assert np.multiply(a, x).dtype is torch.float64
    assert np.array([x, x]).dtype == np.float32
