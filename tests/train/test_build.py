"""Models: widths are inferred, and what does not fit is said."""

import math
from pathlib import Path

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.train.build import Characters, ManyClasses, TwoClasses, build_model
from nanotorch.train.config import ConfigError
from nanotorch.train.load import load_config
from tests.train.examples import (
    CLASSIFICATION,
    REGRESSION,
    experiment,
    refusal_of,
    trained,
    write_example,
)


def build(layers: str, inputs: int = 3) -> nn.Sequential:
    text = REGRESSION.replace("\n    - {name: Linear, out_features: 1}", f" {layers}")
    write_example(Path(), text)
    loaded = load_config("x.yaml")
    with loaded.origins.told():
        x = torch.zeros(2, inputs)
        return build_model(loaded.config.model, x, (1,), "there is 1 to predict")


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
            "but there is 1 to predict; change model.layers[0].out_features to 1",
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
BLOBS = ("data.generator={name: blobs, samples: 90}", "loss=CrossEntropyLoss")
THREE = (*BLOBS, "model.layers[2].out_features=3")


refusal = refusal_of(experiment)


def test_many_classes_are_learned() -> None:
    run = trained(CLASSIFICATION, *THREE, "train={epochs: 40, batch_size: 16}")
    results = run.report()
    assert results.results["test/accuracy"] > 0.9
    assert "true \\ predicted  0  1  2" in results.text
    columns = run.kind.predictions(run.predict(run.dataset.parts["test"].x), run.dataset)
    assert list(columns) == ["y", "p(0)", "p(1)", "p(2)"]
    np.testing.assert_allclose(columns["p(0)"] + columns["p(1)"] + columns["p(2)"], 1)


def test_the_loss_of_probabilities_in_logarithms_is_the_same() -> None:
    scores = experiment(CLASSIFICATION, *THREE).measure("test")
    layers = "[{name: Linear, out_features: 4}, ReLU, {name: Linear, out_features: 3}"
    logarithms = f"model.layers={layers}, {{name: LogSoftmax, dim: 1}}]"
    other = experiment(CLASSIFICATION, *THREE, logarithms, "loss=NLLLoss").measure("test")
    assert other == pytest.approx(scores, rel=1e-5)


def test_probabilities_of_two_classes() -> None:
    scores = experiment(CLASSIFICATION).measure("test")
    layers = "[{name: Linear, out_features: 4}, ReLU, {name: Linear, out_features: 1}, Sigmoid]"
    other = experiment(CLASSIFICATION, f"model.layers={layers}", "loss=BCELoss").measure("test")
    assert other == pytest.approx(scores, rel=1e-5)
    assert scores["test/log_loss"] == pytest.approx(scores["test/loss"], rel=1e-5)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (BLOBS, "the model gives 1 number, but there are 3 classes"),
        (BLOBS[:1], "BCEWithLogitsLoss takes two classes, but there are 3"),
        (("loss=BCELoss",), "BCELoss needs Sigmoid as the last layer"),
        (
            (*THREE, "model.layers[1]={name: Softmax, dim: 1}", "model.layers[2]={name: Softmax}"),
            "remove this layer: CrossEntropyLoss applies the softmax itself",
        ),
    ],
)
def test_what_does_not_fit_a_loss(overrides: tuple[str, ...], message: str) -> None:
    assert message in refusal(CLASSIFICATION, *overrides)


def text_file(text: str) -> None:
    Path("t.txt").write_text(text, "utf-8")


def small_embedding() -> str:
    return "model.layers=[{name: Embedding, embedding_dim: 5}, {name: Linear, out_features: 3}]"


def test_a_text_that_repeats_is_learned() -> None:
    text_file("abc" * 60)
    run = trained(TEXT, small_embedding())
    assert run.dataset.classes == ["a", "b", "c"]
    part = run.dataset.parts["train"]
    np.testing.assert_array_equal((part.x + 1) % 3, part.y)
    results = run.report().results
    assert results["test/accuracy"] == 1
    assert results["train/loss"] < 0.1


def test_samples_of_a_text_begin_where_the_stride_says() -> None:
    text_file("abcdefghij" * 20)
    layers = small_embedding().replace("3", "10")
    all_after = experiment(TEXT, layers).dataset.parts["train"]
    overlapping = experiment(TEXT, layers, "data.stride=1").dataset.parts["train"]
    assert (len(all_after), len(overlapping)) == (23, 140 - 6)
    np.testing.assert_array_equal(overlapping.x[1], (overlapping.x[0] + 1) % 10)
    np.testing.assert_array_equal(all_after.x[1], (all_after.x[0] + 6) % 10)


def test_the_loss_counts_every_place_alike() -> None:
    import nanotorch as torch

    outputs, targets = torch.randn(4, 5, 3), torch.randint(0, 3, (4, 5))
    value = Characters("CrossEntropyLoss").criterion(nn.CrossEntropyLoss())(outputs, targets).item()
    p = torch.softmax(outputs, -1).numpy()
    own = np.take_along_axis(p, targets.numpy()[..., None], axis=2)
    assert value == pytest.approx(float(-np.log(own).mean()), rel=1e-5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "leaves 0 characters"),
        (b"abc", "leaves 2 characters, not even one sample of 6 and the one after it"),
        (b"abc\xff\nx", "t.txt:1:4: is not text in UTF-8 (byte 0xff)"),
    ],
)
def test_texts_that_cannot_be_had(content: bytes, message: str) -> None:
    Path("t.txt").write_bytes(content)
    assert message in refusal(TEXT)


def test_a_text_that_is_not_there() -> None:
    assert "cannot read 'none.txt': No such file" in refusal(TEXT, "data.file=none.txt")


def test_a_text_is_no_class() -> None:
    text_file("abc" * 60)
    message = "at each of 6 places there are 3 characters"
    assert message in refusal(TEXT, "model.layers=[{name: Embedding, embedding_dim: 5}]")
    assert "a text takes CrossEntropyLoss or NLLLoss" in refusal(TEXT, "loss=MSELoss")


def test_softmax_and_sigmoid_of_what_is_large() -> None:
    x = np.array([[1e4, 0, -1e4]], dtype=np.float32)
    softmax = ManyClasses("CrossEntropyLoss").probability
    np.testing.assert_array_equal(softmax(x), [[1, 0, 0]])
    sigmoid = TwoClasses("BCEWithLogitsLoss").probability
    np.testing.assert_array_equal(sigmoid(x), [[1, 0.5, 0]])
    assert math.isclose(float(softmax(np.zeros((1, 4), np.float32))[0, 0]), 0.25)


def test_a_loss_that_only_its_first_call_refuses() -> None:
    loss = "loss={name: CrossEntropyLoss, label_smoothing: 3}"
    assert "label_smoothing must be between 0.0 and 1.0. Got: 3" in refusal(
        CLASSIFICATION, *THREE, loss
    )
