"""Components come from the framework: names exist, signatures are understood, errors are placed."""

from inspect import Parameter
from pathlib import Path
from typing import Any, get_args

import pytest

import nanotorch as torch
from nanotorch.train.components import LAYERS, LOSSES, OPTIMIZERS, Components
from nanotorch.train.config import Component, ConfigError, described
from nanotorch.train.load import dump_config, load_config
from nanotorch.train.schema import SupervisedConfig
from tests.several import each
from tests.train.examples import REGRESSION, write_example

ALL = {name: registry for registry in (LAYERS, LOSSES, OPTIMIZERS) for name in registry.names}


def test_all_plain_optimizers_are_known() -> None:
    assert {"SGD", "Adam", "AdamW", "LBFGS"} <= set(OPTIMIZERS.names)
    assert not {"Optimizer", "SparseAdam"} & set(OPTIMIZERS.names)


# For arguments without a default; any other number is 2, which suits a size of anything.
REQUIRED: dict[str, Any] = {
    "unflattened_size": (1, 2),
    "dim": 1,
    "encoder_layer": Component(
        "TransformerEncoderLayer", {"d_model": 2, "nhead": 2, "batch_first": True}
    ),
}


# What has a default that says nothing.
NEEDED = {f"FractionalMaxPool{n}d": {"output_size": 2} for n in (2, 3)}


def required(registry: Components, name: str) -> dict[str, Any]:
    given: dict[str, Any] = {**NEEDED.get(name, {})}
    for argument, key in registry.keys(name).items():
        if key.default is not Parameter.empty:
            continue
        if argument in REQUIRED:
            given[argument] = REQUIRED[argument]
        elif "mapping" in described(key.hint):
            given[argument] = Component("Identity", {})
        else:
            given[argument] = 2
    return given


def check_defaults(name: str) -> None:
    registry = ALL[name]
    inputs = [[torch.zeros(2, 2, requires_grad=True)]] if registry is OPTIMIZERS else []
    defaults = {name: key.default for name, key in registry.keys(name).items()}
    arguments = {
        name: value for name, value in defaults.items() if value not in (None, Parameter.empty)
    }
    component = Component(name, {**arguments, **required(registry, name)})
    inferred = dict.fromkeys(registry.followed(name), 2)
    built = registry.build(component, *inputs, **inferred)
    assert type(built).__name__ == name


def check_types(name: str) -> None:
    registry = ALL[name]
    keys = registry.keys(name)
    for parameter in registry.parameters(name):
        assert parameter.default is parameter.empty or parameter.name in keys, parameter
    for key in keys.values():
        assert key.default in (None, Parameter.empty) or "mapping" not in described(key.hint)


def test_every_component_can_be_built_with_its_defaults() -> None:
    each(ALL, check_defaults)


def test_every_argument_is_configurable_by_a_type() -> None:
    each(ALL, check_types)


def test_layers_take_one_input() -> None:
    assert {"Linear", "ReLU", "Flatten", "LayerNorm", "Positions"} <= set(LAYERS.names)
    assert not {"Bilinear", "Sequential", "Module", "MSELoss"} & set(LAYERS.names)


@pytest.mark.parametrize(
    ("registry", "name", "expected"),
    [
        (OPTIMIZERS, "SGD", {"lr": float, "momentum": float, "nesterov": bool}),
        (OPTIMIZERS, "Adam", {"betas": tuple[float, float], "amsgrad": bool}),
        (LAYERS, "Dropout", {"p": float}),
        (LAYERS, "Linear", {"bias": bool}),
        (LOSSES, "HuberLoss", {"delta": float, "reduction": str}),
    ],
)
def test_types_come_from_signatures(
    registry: Components, name: str, expected: dict[str, Any]
) -> None:
    keys = registry.keys(name)
    assert {argument: keys[argument].hint for argument in expected} == expected


@pytest.mark.parametrize("name", OPTIMIZERS.names)
def test_what_the_trainer_provides_is_not_configurable(name: str) -> None:
    assert "params" not in OPTIMIZERS.keys(name)


def test_hints_keep_what_a_file_can_express() -> None:
    assert LAYERS.plain_hint(float | torch.Tensor, 1.0) is float
    assert LAYERS.plain_hint(None, 0.5) is float
    assert LAYERS.plain_hint(torch.dtype | None, None) is None
    assert set(get_args(LAYERS.plain_hint(torch.Tensor | None, None))) == {
        type(None),
        float,
        tuple[float, ...],
    }


def test_numbers_become_tensors_where_the_component_wants_them() -> None:
    component = Component("BCEWithLogitsLoss", {"reduction": "mean", "pos_weight": 3.0})
    loss = LOSSES.build(component)
    zero, one = torch.zeros(1, 1), torch.ones(1, 1)
    assert loss(zero, one).item() == pytest.approx(3 * loss(zero, zero).item())


def test_null_is_handed_over_where_it_is_not_the_default() -> None:
    text = REGRESSION.replace("layers:", "layers:\n    - {name: BatchNorm1d, momentum: null}")
    write_example(Path(), text)
    loaded = load_config("x.yaml")
    assert isinstance(loaded.config, SupervisedConfig)
    layer = loaded.config.model.layers[0]
    assert layer.build(num_features=2).momentum is None
    assert "momentum: null  " in dump_config(loaded)


def build_optimizer(text: str) -> Any:
    write_example(Path(), REGRESSION.replace("{name: SGD, lr: 0.1}", text))
    loaded = load_config("x.yaml")
    assert isinstance(loaded.config, SupervisedConfig)
    parameters = [torch.zeros(2, requires_grad=True)]
    with loaded.origins.told():
        return loaded.config.optimizer.build(parameters)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{name: SGD, lr: -1}",
         "x.yaml:9:28: optimizer.lr: Invalid learning rate: -1.0; by default it is 0.001"),
        ("{name: SGD, lr: 1, momentum: -0.5}",
         "x.yaml:9:41: optimizer.momentum: Invalid momentum value: -0.5; by default it is 0"),
        ("{name: SGD, nesterov: true}", "x.yaml:9:34: optimizer.nesterov: "
         "Nesterov momentum requires a momentum and zero dampening; by default it is false"),
        ("{name: Adam, betas: [0.9, 1]}", "x.yaml:9:32: optimizer.betas: "
         "Invalid beta parameter at index 1: 1.0; by default it is [0.9, 0.999]"),
        ("{name: SGD, lr: -1, momentum: -1}",
         "x.yaml:9:28: optimizer.lr: Invalid learning rate: -1.0; by default it is 0.001\n"
         "x.yaml:9:42: optimizer.momentum: Invalid momentum value: -1.0; by default it is 0"),
    ],
)  # fmt: skip
def test_what_a_constructor_refuses_is_placed_at_its_cause(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_optimizer(text)
    assert str(caught.value) == message
