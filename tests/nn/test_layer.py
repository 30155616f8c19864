"""Layers declared by their options have methods as if they were written out."""

import inspect
import pickle

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.nn import layer


def test_options_are_the_arguments_of_the_constructor() -> None:
    assert str(inspect.signature(nn.LeakyReLU)) == (
        "(negative_slope: float = 0.01, inplace: bool = False) -> None"
    )
    made = nn.LeakyReLU(0.5)
    assert (made.negative_slope, made.inplace) == (0.5, False)
    assert made(torch.tensor([-2.0, 2.0])).tolist() == [-1.0, 2.0]
    assert not hasattr(nn.LeakyReLU, "negative_slope")
    with pytest.raises(TypeError, match=r"^Threshold.__init__\(\) missing 2 required"):
        nn.Threshold()
    with pytest.raises(TypeError, match=r"^GaussianNLLLoss.__init__\(\) takes 1 positional"):
        nn.GaussianNLLLoss(True)
    with pytest.raises(TypeError, match=r"^ReLU.forward\(\) missing 1 required"):
        nn.ReLU()()


def test_options_of_the_base_are_handed_to_it_and_tensors_are_buffers() -> None:
    weights = torch.tensor([1.0, 2.0])
    made = nn.BCEWithLogitsLoss(weights, reduction="sum", pos_weight=weights)
    assert made.reduction == "sum"
    assert list(made.state_dict()) == ["weight", "pos_weight"]
    assert nn.MSELoss.__init__ is nn.modules.loss._Loss.__init__  # nothing of its own, as PyTorch's


def test_methods_are_found_by_debuggers_and_pickle() -> None:
    assert "home.leaky_relu(input, self.negative_slope" in inspect.getsource(nn.LeakyReLU.forward)
    assert pickle.loads(pickle.dumps(nn.ReLU.forward)) is nn.ReLU.forward


def test_annotations_of_users_classes_are_no_options() -> None:
    class Scaled(nn.MSELoss):
        scale: float = 3.0

        def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            return super().forward(input, target) * self.scale

    assert issubclass(Scaled, layer.Layer)
    assert Scaled()(torch.ones(2), torch.zeros(2)).item() == Scaled.scale
    assert inspect.signature(Scaled) == inspect.signature(nn.MSELoss)


def test_a_function_that_is_replaced_is_the_one_called(monkeypatch: pytest.MonkeyPatch) -> None:
    from nanotorch.nn.functional import activation

    monkeypatch.setattr(activation, "softsign", lambda input: input * 5)
    assert nn.Softsign()(torch.ones(1)).item() == 5.0


def test_numbers_of_numpy_are_shown_as_numbers() -> None:
    assert repr(nn.MaxPool2d(np.int64(2))).startswith("MaxPool2d(kernel_size=2, stride=2,")
    assert repr(nn.GELU("tanh")) == "GELU(approximate='tanh')"
