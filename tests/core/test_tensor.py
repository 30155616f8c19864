"""The tensor: attributes, copies, memory that it shares, and NumPy."""

import copy
import gc

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core.layout import attributes_of


def test_the_array_is_always_an_ndarray() -> None:
    x = torch.ones(3)
    for result in (x.sum(), x[0], x.max(), x.mean() * 2, torch.tensor(1.0), x @ x, -x.sum()):
        assert type(result._array) is np.ndarray
        assert result.shape == ()


def test_attributes_are_looked_up_without_python() -> None:
    """With `__getattr__` in the class every attribute that is there takes longer, too."""
    assert not hasattr(torch.Tensor, "__getattr__")
    assert torch.Tensor.__getattribute__ is object.__getattribute__


def test_nothing_of_the_engines_is_a_users() -> None:
    """Whatever happens to a tensor, what it is given for that is not taken for an attribute."""
    x = torch.nn.Parameter(torch.randn(2, 3))
    x.register_hook(lambda g: g)
    x.register_post_accumulate_grad_hook(lambda p: None)
    y = x * 2
    y.retain_grad()
    z = y.view(6).t_().unsqueeze_(0)
    z.add_(1).sum().backward(retain_graph=True)
    out = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
    assert not any(map(attributes_of, (x, y, z, x.grad, out, y.detach(), x.data, torch.tensor(1))))


def test_memory_that_no_array_owns() -> None:
    block = memoryview(bytearray(64))
    x = torch.from_numpy(np.ndarray((2, 3), np.float32, block, 0, (16, 4)))
    y, z = copy.deepcopy([x, x[1]])
    y += 1
    assert (x.tolist(), z.tolist()) == ([[0.0] * 3] * 2, [0.0] * 3)
    assert copy.copy(x).tolist() == x.tolist()


def test_the_memory_outlives_its_first_owner() -> None:
    x = torch.from_dlpack(np.full(1000, 3.0))
    array = np.from_dlpack(torch.full((1000,), 4.0))
    gc.collect()
    np.ones(1000)
    assert x.sum().item() == 3000
    assert array.sum() == 4000


def test_the_cpu_is_the_only_device() -> None:
    with pytest.raises(AssertionError, match="CUDA"):
        torch.from_dlpack(np.ones(2), device="cuda")


def test_no_array_of_tensors() -> None:
    """NumPy takes what it does not know for an object; a tensor it knows."""
    x, a = torch.ones(2), np.ones(2)
    assert (x * a).dtype is torch.float64
    assert np.multiply(a, x).dtype is torch.float64
    assert np.array([x, x]).dtype == np.float32
