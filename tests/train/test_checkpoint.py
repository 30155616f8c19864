"""Weights on disk are the weights in memory, whatever the strides."""

from pathlib import Path

import numpy as np

import nanotorch as torch
from nanotorch import nn
from nanotorch.train.checkpoint import load_weights, save_weights


def test_a_state_dict_survives() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    save_weights(Path("w.safetensors"), model.state_dict())
    loaded = load_weights(Path("w.safetensors"))
    assert loaded.keys() == model.state_dict().keys()
    other = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    other.load_state_dict(loaded)
    x = torch.randn(5, 3)
    np.testing.assert_array_equal(model(x).detach().numpy(), other(x).detach().numpy())


def test_views_are_written_as_they_look() -> None:
    base = torch.arange(6.0).reshape(2, 3)
    views = {
        "transposed": base.t(),
        "expanded": torch.tensor([1.0]).expand(4),
        "strided": base[:, ::2],
        "scalar": torch.tensor(5),
    }
    save_weights(Path("w.safetensors"), views)
    loaded = load_weights(Path("w.safetensors"))
    for name, view in views.items():
        assert loaded[name].dtype == view.dtype
        np.testing.assert_array_equal(loaded[name].numpy(), view.numpy())
