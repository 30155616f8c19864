"""Models and their optimizers: widths are inferred, and what does not fit is said."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.train.config.build import (
    Characters,
    ManyClasses,
    TwoClasses,
    build_model,
    build_optimizer,
    freeze,
)
from nanotorch.train.config.components import LAYERS, LOSS_FACTS
from nanotorch.train.config.load import dump_config, load_config
from nanotorch.train.config.sections import ConfigError
from tests.train.examples import (
    CLASSIFICATION,
    experiment,
    refusal_of,
    trained,
    write_example,
)


def test_widths_are_inferred_through_all_layers() -> None:
    layers = (
        "{name: Linear, out_features: 8}, BatchNorm1d, Tanh, {name: Dropout, p: 0.1},"
        " {name: Linear, in_features: 8, out_features: 1, bias: false}"
    )
    model, *_ = built(f"model.layers=[{layers}]")
    shapes = {name: tuple(weight.shape) for name, weight in model.named_parameters()}
    assert shapes == {
        "0.weight": (8, 2), "0.bias": (8,), "1.weight": (8,), "1.bias": (8,), "4.weight": (1, 8),
    }  # fmt: skip
    assert model(torch.zeros(5, 2)).shape == (5, 1)


# What is predicted: one of many classes, characters of a text; losses and what they want.

TEXT = """\
experiment: text
data: {file: t.txt, context: 6}
model:
  layers:
    - {name: Linear, out_features: 3}
loss: CrossEntropyLoss
optimizer: {name: Adam, lr: 0.05}
train: {epochs: 30, batch_size: 8}
log: {tensorboard: false}
"""
EMBEDDING = "model.layers=[{name: Embedding, embedding_dim: 5}, {name: Linear, out_features: 3}]"
BLOBS = ("data.generator={name: blobs, samples: 90}", "loss=CrossEntropyLoss")
THREE = (*BLOBS, "model.layers[2].out_features=3")


refusal_of_run = refusal_of(experiment)


def test_many_classes_are_learned() -> None:
    run = trained(CLASSIFICATION, *THREE, "train={epochs: 40, batch_size: 16}")
    results = run.report()
    assert results.results["test/accuracy"] > 0.9
    assert "true \\ predicted  0  1  2" in results.text
    columns = run.kind.predictions(run.predict(run.dataset.parts["test"].x), run.dataset)
    assert list(columns) == ["y", "p(0)", "p(1)", "p(2)"]
    np.testing.assert_allclose(columns["p(0)"] + columns["p(1)"] + columns["p(2)"], 1)


@pytest.mark.parametrize(
    ("more", "last", "loss"),
    [(THREE, "3}, {name: LogSoftmax, dim: 1}", "NLLLoss"), ((), "1}, Sigmoid", "BCELoss")],
)
def test_the_loss_of_probabilities_is_that_of_scores(more: Any, last: str, loss: str) -> None:
    scores = experiment(CLASSIFICATION, *more).measure("test")
    layers = f"[{{name: Linear, out_features: 4}}, ReLU, {{name: Linear, out_features: {last}]"
    other = experiment(CLASSIFICATION, *more, f"model.layers={layers}", f"loss={loss}")
    assert other.measure("test") == pytest.approx(scores, rel=1e-5)
    assert scores["test/log_loss"] == pytest.approx(scores["test/loss"], rel=1e-5)


def test_what_does_not_fit_a_loss() -> None:
    for overrides, message in {
        BLOBS: "the model outputs 1 number, but there are 3 classes",
        BLOBS[:1]: "BCEWithLogitsLoss takes two classes, but there are 3",
        ("loss=BCELoss",): "BCELoss needs Sigmoid as the last layer",
        (*THREE, "model.layers[2]={name: Softmax}"): "remove this layer: CrossEntropyLoss applies "
        "the softmax itself",
        # Only its first call refuses this.
        (*THREE, "loss={name: CrossEntropyLoss, label_smoothing: 3}"): "label_smoothing must be "
        "between 0.0 and 1.0. Got: 3",
    }.items():
        assert message in refusal_of_run(CLASSIFICATION, *overrides)


def test_a_text_that_repeats_is_learned() -> None:
    Path("t.txt").write_text("abc" * 60, "utf-8")
    run = trained(TEXT, EMBEDDING)
    assert run.dataset.classes == ["a", "b", "c"]
    part = run.dataset.parts["train"]
    np.testing.assert_array_equal((part.x + 1) % 3, part.y)
    results = run.report().results
    assert results["test/accuracy"] == 1
    assert results["train/loss"] < 0.1


def test_samples_of_a_text_begin_where_the_stride_says() -> None:
    Path("t.txt").write_text("abcdefghij" * 20, "utf-8")
    layers = EMBEDDING.replace("3", "10")
    all_after = experiment(TEXT, layers).dataset.parts["train"]
    overlapping = experiment(TEXT, layers, "data.stride=1").dataset.parts["train"]
    assert (len(all_after), len(overlapping)) == (23, 140 - 6)
    np.testing.assert_array_equal(overlapping.x[1], (overlapping.x[0] + 1) % 10)
    np.testing.assert_array_equal(all_after.x[1], (all_after.x[0] + 6) % 10)


def test_the_loss_counts_every_place_alike() -> None:
    outputs, targets = torch.randn(4, 5, 3), torch.randint(0, 3, (4, 5))
    loss = nn.CrossEntropyLoss()
    kind = Characters(LOSS_FACTS["CrossEntropyLoss"], loss)
    value = kind.criterion(loss)(outputs, targets).item()
    p = torch.softmax(outputs, -1).numpy()
    own = np.take_along_axis(p, targets.numpy()[..., None], axis=2)
    assert value == pytest.approx(float(-np.log(own).mean()), rel=1e-5)


def test_texts_that_cannot_be_had() -> None:
    layers = "model.layers=[{name: Embedding, embedding_dim: 5}]"
    for (content, override), message in {
        (b"", "seed=0"): "leaves 0 characters",
        (b"abc", "seed=0"): "leaves 2 characters; a sample needs 6 + 1",
        (b"abc\xff\nx", "seed=0"): "t.txt:1:4: is not text in UTF-8 (byte 0xff)",
        (b"", "data.file=none.txt"): "cannot read 'none.txt': No such file",
        # A text is no class.
        (b"abc" * 60, layers): "at each of 6 places there are 3 characters",
        (b"abc" * 60, "loss=MSELoss"): "for text, choose CrossEntropyLoss or NLLLoss",
    }.items():
        Path("t.txt").write_bytes(content)
        assert message in refusal_of_run(TEXT, override)


def test_softmax_and_sigmoid_of_what_is_large() -> None:
    x = np.array([[1e4, 0, -1e4]], dtype=np.float32)
    softmax = ManyClasses(LOSS_FACTS["CrossEntropyLoss"], nn.CrossEntropyLoss()).probability
    np.testing.assert_array_equal(softmax(x), [[1, 0, 0]])
    sigmoid = TwoClasses(LOSS_FACTS["BCEWithLogitsLoss"], nn.BCEWithLogitsLoss()).probability
    np.testing.assert_array_equal(sigmoid(x), [[1, 0.5, 0]])
    assert math.isclose(float(softmax(np.zeros((1, 4), np.float32))[0, 0]), 0.25)


def built(*overrides: str) -> tuple[nn.Module, torch.optim.Optimizer, str]:
    write_example(Path(), CLASSIFICATION)
    loaded = load_config("x.yaml", overrides)
    with loaded.told():
        model = build_model(loaded.config.model, torch.zeros(2, 2), (1,), "there is 1 to predict")
        freeze(model, loaded.config.model.freeze)
        optimizer = build_optimizer(loaded.config.optimizer, model)
    return model, optimizer, dump_config(loaded)


def names_of(model: nn.Module, group: dict[str, list[torch.Tensor]]) -> list[str]:
    by_identity = {id(parameter): name for name, parameter in model.named_parameters()}
    return [by_identity[id(parameter)] for parameter in group["params"]]


refusal_of_build = refusal_of(built)


def test_groups_take_the_parameters_whose_names_match() -> None:
    groups = 'groups: [{parameters: "*.bias", weight_decay: 0.0}, {parameters: "2.*", lr: 1.0}]'
    model, optimizer, text = built(f"optimizer={{name: Adam, weight_decay: 0.5, {groups}}}")
    assert groups in text
    assert [names_of(model, group) for group in optimizer.param_groups] == [
        ["0.bias", "2.bias"], ["2.weight"], ["0.weight"]
    ]  # fmt: skip
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0, 0.5, 0.5]
    assert [group["lr"] for group in optimizer.param_groups] == [0.001, 1, 0.001]


def test_what_is_frozen_is_not_learned() -> None:
    model, optimizer, _ = built("model.freeze=['0.*']")
    assert names_of(model, optimizer.param_groups[0]) == ["2.weight", "2.bias"]
    assert [parameter.requires_grad for parameter in model.parameters()] == [False] * 2 + [True] * 2


ENCODER = (
    "{{name: TransformerEncoder, num_layers: 1, encoder_layer: "
    "{{name: TransformerEncoderLayer, nhead: {}, dim_feedforward: {}}}}}"
)
LINE = "{name: Linear, out_features: 1}"
UNFLAT = "{{name: Unflatten, dim: 1, unflattened_size: {}}}"
SEVERAL = "model.layers[0]: returns several values; add {name: Item} after it to take the first"
IN_LAYERS = {
    "{name: Linear, out_features: 2}": "model.layers[0].out_features: the model outputs 2 "
    "numbers, but there is 1 to predict; change model.layers[0].out_features to 1",
    "ReLU": "the model outputs 2 numbers, but there is 1 to predict",
    "{name: Linear, in_features: 4, out_features: 1}": "model.layers[0].in_features: is 4, but the "
    "data has 2",
    "{name: Linear, out_features: 8}, {name: BatchNorm1d, num_features: 4}, ReLU": "model."
    "layers[1].num_features: is 4, but the layers before it give 8",
    "{name: Linear, out_features: 99999999}": "model.layers[0].out_features: 2 x 99999999 weights "
    "are more than 50,000,000",
    f"{{name: Dropout, p: 1.5}}, {LINE}": "model.layers[0].p: dropout probability has to be "
    "between 0 and 1, but got 1.5; the default is 0.5",
    # Layers are tried on two samples.
    UNFLAT.format([3, 2]): "model.layers[0]: does not accept samples of shape (2,): unflatten: "
    "Provided sizes [3, 2] don't multiply up to the size of dim 1 (2) in the input tensor",
    "{name: Positions, length: 900000000}": "model.layers[0].length: 2 x 900000000 weights are "
    "more than 50,000,000",
    f"{UNFLAT.format([1, 1, 2])}, {{name: ZeroPad2d, padding: 900000}}": "model.layers[1].padding: "
    "makes more than 200,000,000 numbers of two samples",
    "{name: LSTM, hidden_size: 3, num_layers: 1000000000000000000000}": "model.layers[0]."
    "num_layers: is more than 1,000",
    # PyTorch accepts sizes of 0, and a training fails.
    "{name: Linear, in_features: 0, out_features: 1}": "model.layers[0].in_features: must be at "
    "least 1, got 0",
    ENCODER.format(2, 0): "model.layers[0].encoder_layer.dim_feedforward: must be at least 1, "
    "got 0",
    ENCODER.format(3, 4): "model.layers[0].encoder_layer: embed_dim must be divisible by num_heads",
    "{name: LayerNorm, normalized_shape: [3]}": "model.layers[0]: does not accept samples of shape "
    "(2,): Given normalized_shape=[3]",
    "{name: LSTM, hidden_size: 3}": SEVERAL,
    f"{{name: LSTM, hidden_size: 3}}, {LINE}": SEVERAL,
    "{name: Conv2d, out_channels: 3, kernel_size: 3}": "model.layers[0]: takes samples of 3 "
    "dimensions, channels first, but they have shape (2,); data.shape changes it",
    UNFLAT.format([2, 1]): "the model outputs numbers of shape (2, 1), but there is 1 to predict; "
    "add Flatten before the last layers",
}
MISTAKES = {
    "optimizer.groups=[{parameters: '*.biass', lr: 1}]": "optimizer.groups[0].parameters: "
    "'*.biass' matches no parameter; did you mean '0.bias'?",
    "optimizer.groups=[{parameters: '0.*'}, {parameters: 0.bias}]": "optimizer.groups[1].parameters"
    ": matches only parameters that are frozen or in an earlier group",
    "optimizer.groups=[{lr: 1}]": "optimizer.groups[0].parameters: missing",
    "optimizer.groups=[{parameters: '*', lrr: 1}]": "optimizer.groups[0].lrr: unknown key; "
    "did you mean 'lr'?",
    "optimizer.groups=[{parameters: '*', lr: -1}]": "optimizer.groups[0].lr: "
    "Invalid learning rate: -1.0; the default is 0.001",
    "optimizer.groups=3": "expected a list of mappings, got 3 (an integer)",
    "model.freeze=['*']": "leaves no parameters to learn",
    "model.freeze=[0.weigth]": "model.freeze[0]: '0.weigth' matches no parameter; "
    "did you mean '0.weight'?",
    **{f"model.layers=[{layers}]": message for layers, message in IN_LAYERS.items()},
}


@pytest.mark.parametrize("override", MISTAKES)
def test_mistakes_are_placed(override: str) -> None:
    told = refusal_of_build(override)
    assert told.startswith(f"command line: {override}: {MISTAKES[override]}")


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
    with pytest.raises(ValueError, match="is not a name that a configuration can use"):
        LAYERS.register(Halved, "half by half")
    assert LAYERS.register(Halved) is Halved
    try:
        with pytest.raises(ValueError, match="a layer called 'Halved' exists already"):
            LAYERS.register(Halved)
        layers = "model.layers=[{name: Halved, by: 4}, {name: Linear, out_features: 1}]"
        model, _, _ = built(layers)
        x = torch.ones(3, 2)
        np.testing.assert_array_equal(model[0](x).detach().numpy(), np.full((3, 2), 0.25))
        assert "unknown key of Halved; did you mean 'by'?" in refusal_of_build(
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
        message = refusal_of_build("model.layers=[Misfit]")
    finally:
        del LAYERS.registered["Misfit"]
    assert "(3) at non-singleton dimension 1\n\nWhere:\n  in module Misfit at " in message
    assert "return x + torch.ones(3)\n  input (x) has shape [2, 2], not made" in message
