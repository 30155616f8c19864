"""Parameters in groups with arguments of their own, and frozen ones; layers of one's own."""

from pathlib import Path

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.train.build import build_model, build_optimizer, freeze
from nanotorch.train.components import LAYERS
from nanotorch.train.config import ConfigError
from nanotorch.train.load import dump_config, load_config
from tests.train.examples import CLASSIFICATION, refusal_of, write_example


def built(*overrides: str) -> tuple[nn.Module, torch.optim.Optimizer, str]:
    write_example(Path(), CLASSIFICATION)
    loaded = load_config("x.yaml", overrides)
    with loaded.origins.told():
        model = build_model(loaded.config.model, torch.zeros(2, 2), (1,), "there is 1 to predict")
        freeze(model, loaded.config.model.freeze)
        optimizer = build_optimizer(loaded.config.optimizer, model)
    return model, optimizer, dump_config(loaded)


def names_of(model: nn.Module, group: dict[str, list[torch.Tensor]]) -> list[str]:
    by_identity = {id(parameter): name for name, parameter in model.named_parameters()}
    return [by_identity[id(parameter)] for parameter in group["params"]]


refusal = refusal_of(built)


def test_groups_take_the_parameters_whose_names_match() -> None:
    groups = (
        "optimizer.groups=[{parameters: '*.bias', weight_decay: 0}, {parameters: '2.*', lr: 1}]"
    )
    model, optimizer, text = built("optimizer.weight_decay=0.5", groups)
    assert [names_of(model, group) for group in optimizer.param_groups] == [
        ["0.bias", "2.bias"],
        ["2.weight"],
        ["0.weight"],
    ]
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0, 0.5, 0.5]
    assert [group["lr"] for group in optimizer.param_groups] == [0.01, 1, 0.01]
    assert (
        'groups: [{parameters: "*.bias", weight_decay: 0.0}, {parameters: "2.*", lr: 1.0}]' in text
    )


def test_what_is_frozen_is_not_learned() -> None:
    model, optimizer, _ = built("model.freeze=['0.*']")
    assert names_of(model, optimizer.param_groups[0]) == ["2.weight", "2.bias"]
    assert [parameter.requires_grad for parameter in model.parameters()] == [False] * 2 + [True] * 2


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimizer.groups=[{parameters: '*.biass', lr: 1}]",
         "optimizer.groups[0].parameters: '*.biass' matches no parameter; "
         "did you mean '0.bias'?"),
        ("optimizer.groups=[{parameters: '0.*'}, {parameters: 0.bias}]",
         "optimizer.groups[1].parameters: "
         "matches only parameters that are frozen, or in a group before"),
        ("optimizer.groups=[{lr: 1}]", "optimizer.groups[0].parameters: missing"),
        ("optimizer.groups=[{parameters: '*', lrr: 1}]",
         "optimizer.groups[0].lrr: unknown key; did you mean 'lr'?"),
        ("optimizer.groups=[{parameters: '*', lr: -1}]",
         "optimizer.groups[0].lr: Invalid learning rate: -1.0; by default it is 0.001"),
        ("optimizer.groups=3", "expected a list of mappings, got 3 (an integer)"),
        ("model.freeze=['*']", "leaves no parameters to learn"),
        ("model.freeze=[0.weigth]",
         "model.freeze[0]: '0.weigth' matches no parameter; did you mean '0.weight'?"),
    ],
)  # fmt: skip
def test_mistakes_are_placed(override: str, message: str) -> None:
    place = f"command line: {override}: "
    assert refusal(override) == place + message


def test_mistakes_of_all_groups_are_told_at_once() -> None:
    groups = "[{parameters: '9.*', lr: -1}, {parameters: '0.*', betas: [0.9, 2], eps: -1}]"
    with pytest.raises(ConfigError) as caught:
        built(f"optimizer={{name: Adam, weight_decay: -1, groups: {groups}}}")
    assert [problem.path for problem in caught.value.problems] == [
        "optimizer.groups[0].parameters", "optimizer.groups[0].lr", "optimizer.weight_decay",
        "optimizer.groups[1].eps", "optimizer.groups[1].betas",
    ]  # fmt: skip


class Halved(nn.Module):
    """A layer of one's own."""

    def __init__(self, in_features: int, by: float = 2.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(in_features))
        self.by = by

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x / self.by


def test_users_register_layers_of_their_own() -> None:
    assert LAYERS.register(Halved) is Halved
    try:
        with pytest.raises(ValueError, match="a layer called 'Halved' is known already"):
            LAYERS.register(Halved)
        layers = "model.layers=[{name: Halved, by: 4}, {name: Linear, out_features: 1}]"
        model, _, _ = built(layers)
        x = torch.ones(3, 2)
        np.testing.assert_array_equal(model[0](x).detach().numpy(), np.full((3, 2), 0.25))
        assert "unknown key of Halved; did you mean 'by'?" in refusal(
            "model.layers=[{name: Halved, bye: 4}]"
        )
    finally:
        del LAYERS.registered["Halved"]


def test_an_error_in_a_users_layer_names_its_line() -> None:
    class Misfit(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.ones(3)

    LAYERS.register(Misfit)
    try:
        message = refusal("model.layers=[Misfit]")
    finally:
        del LAYERS.registered["Misfit"]
    assert "(3) at non-singleton dimension 1\n\nWhere:\n  in module Misfit at " in message
    assert "return x + torch.ones(3)\n  input (x) has shape [2, 2], not made" in message


def test_a_name_must_be_one() -> None:
    with pytest.raises(ValueError, match="is not a name that a configuration can use"):
        LAYERS.register(Halved, "half by half")


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ("[{name: Unflatten, dim: 1, unflattened_size: [3, 2]}]",
         "model.layers[0]: does not take samples of shape (2,): unflatten: Provided "
         "sizes [3, 2] don't multiply up to the size of dim 1 (2) in the input tensor"),
        ("[{name: Positions, length: 900000000}]",
         "model.layers[0].length: 2 x 900000000 weights are more than 50,000,000"),
        ("[{name: Unflatten, dim: 1, unflattened_size: [1, 1, 2]}, "
         "{name: ZeroPad2d, padding: 900000}]",
         "model.layers[1].padding: makes more than 200,000,000 numbers of two samples"),
        ("[{name: LSTM, hidden_size: 3, num_layers: 1000000000000000000000}]",
         "model.layers[0].num_layers: is more than 1,000"),
        ("[{name: LSTM, hidden_size: 3}]",
         "model.layers[0]: gives several things; add {name: Item} after it, which takes the first"),
        ("[{name: LSTM, hidden_size: 3}, {name: Linear, out_features: 1}]",
         "model.layers[0]: gives several things; add {name: Item} after it, which takes the first"),
        ("[{name: Conv2d, out_channels: 3, kernel_size: 3}]",
         "model.layers[0]: takes samples of 3 dimensions, channels first, but they have shape "
         "(2,); data.shape gives them one"),
        ("[{name: Unflatten, dim: 1, unflattened_size: [2, 1]}]",
         "the model gives numbers of shape (2, 1), but there is 1 to predict; add Flatten before "
         "the last layers"),
    ],
)  # fmt: skip
def test_layers_are_tried_on_two_samples(layers: str, message: str) -> None:
    assert message in refusal(f"model.layers={layers}")
