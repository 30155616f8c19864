"""Tensors on the memory of others."""

import gc

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core import call_site


def test_the_memory_outlives_its_first_owner() -> None:
    x = torch.from_dlpack(np.full(1000, 3.0))
    array = np.from_dlpack(torch.full((1000,), 4.0))
    gc.collect()
    np.ones(1000)
    assert x.sum().item() == 3000
    assert array.sum() == 4000


def test_read_only_bytes() -> None:
    call_site.said.clear()
    with pytest.warns(UserWarning, match="The given buffer is not writable"):
        x = torch.frombuffer(b"ab", dtype=torch.uint8)
    assert x.tolist() == [97, 98]
    with pytest.raises(ValueError, match="read-only"):
        x.zero_()
    assert torch.from_dlpack(np.ones(2)).zero_().tolist() == [0, 0]


def test_the_cpu_is_the_only_device() -> None:
    with pytest.raises(AssertionError, match="CUDA"):
        torch.from_dlpack(np.ones(2), device="cuda")
