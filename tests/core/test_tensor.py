"""The tensor: attributes, conversions, operators."""

import copy

import numpy as np

import nanotorch as torch


def test_the_array_is_always_an_ndarray() -> None:
    x = torch.ones(3)
    for result in (x.sum(), x[0], x.max(), x.mean() * 2, torch.tensor(1.0), x @ x, -x.sum()):
        assert type(result._array) is np.ndarray
        assert result.shape == ()


def test_deepcopy_copies_the_gradient_and_the_memory() -> None:
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    twin = copy.deepcopy(x)
    twin.grad.zero_()
    twin.data.zero_()
    assert x.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_subclass_is_a_tensor() -> None:
    class Named(torch.Tensor):
        pass

    named = Named([1.0, 2.0])
    assert isinstance(named, torch.Tensor)
    assert (named * 2).tolist() == [2.0, 4.0]
    assert repr(named) == "Named([1., 2.])"
    assert repr(Named([[1.0], [2.0]])) == "Named([[1.],\n       [2.]])"


def test_attributes_are_looked_up_without_python() -> None:
    """With `__getattr__` in the class every attribute that is there takes longer, too."""
    assert not hasattr(torch.Tensor, "__getattr__")
    assert torch.Tensor.__getattribute__ is object.__getattribute__
