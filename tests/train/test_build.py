"""Models: widths are inferred, and what does not fit is said."""

from pathlib import Path

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.train.build import ModelSpec, build_model
from nanotorch.train.config import ConfigError
from nanotorch.train.load import load_config
from nanotorch.train.schema import SupervisedConfig
from tests.train.examples import REGRESSION, write_example


def build(layers: str, inputs: int = 3) -> nn.Sequential:
    text = REGRESSION.replace("\n    - {name: Linear, out_features: 1}", f" {layers}")
    write_example(Path(), text)
    loaded = load_config("x.yaml")
    assert isinstance(loaded.config, SupervisedConfig)
    wanted = ModelSpec(torch.zeros(2, inputs), (1,), "there is 1 to predict")
    with loaded.origins.told():
        return build_model(loaded.config.model, wanted)


def test_widths_are_inferred_through_all_layers() -> None:
    model = build(
        "[{name: Linear, out_features: 8}, BatchNorm1d, Tanh, {name: Dropout, p: 0.1},"
        " {name: Linear, in_features: 8, out_features: 1, bias: false}]"
    )
    shapes = {name: tuple(weight.shape) for name, weight in model.named_parameters()}
    assert shapes == {
        "0.weight": (8, 3), "0.bias": (8,), "1.weight": (8,), "1.bias": (8,), "4.weight": (1, 8),
    }  # fmt: skip
    assert model(torch.zeros(5, 3)).shape == (5, 1)


def test_weights_are_those_of_the_same_layers_after_the_same_seed() -> None:
    torch.manual_seed(3)
    model = build("[{name: Linear, out_features: 4}, ReLU, {name: Linear, out_features: 1}]")
    torch.manual_seed(3)
    same = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    for mine, theirs in zip(model.parameters(), same.parameters(), strict=True):
        np.testing.assert_array_equal(mine.detach().numpy(), theirs.detach().numpy())


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (
            "[{name: Linear, out_features: 2}]",
            "x.yaml:6:41: model.layers[0].out_features: the model gives 2 numbers, "
            "but there is 1 to predict",
        ),
        ("[ReLU]", "x.yaml:6:11: model.layers: the model gives 3 numbers, "
         "but there is 1 to predict"),
        (
            "[{name: Linear, in_features: 4, out_features: 1}]",
            "x.yaml:6:40: model.layers[0].in_features: is 4, but the data has 3",
        ),
        (
            "[{name: Linear, out_features: 8}, {name: BatchNorm1d, num_features: 4}, "
            "{name: Linear, out_features: 1}]",
            "x.yaml:6:79: model.layers[1].num_features: is 4, but the layers before give 8",
        ),
        (
            "[{name: Linear, out_features: 99999999}, {name: Linear, out_features: 1}]",
            "x.yaml:6:41: model.layers[0].out_features: "
            "3 x 99999999 weights are more than 50,000,000",
        ),
        (
            "[{name: Dropout, p: 1.5}, {name: Linear, out_features: 1}]",
            "x.yaml:6:31: model.layers[0].p: "
            "dropout probability has to be between 0 and 1, but got 1.5; by default it is 0.5",
        ),
    ],
)  # fmt: skip
def test_layers_that_do_not_fit(layers: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(layers)
    assert str(caught.value) == message
