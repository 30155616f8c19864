"""What differs between predicting numbers, one of two classes, one of many, and characters."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn

from .build import ModelSpec
from .components import LOSS_FACTS
from .config import refusal
from .dataset import Dataset, Targets
from .metrics import class_metrics, classification_metrics, matrix_text, regression_metrics

Array = NDArray[np.float64]
Outputs = NDArray[Any]
"""What a model gives; numbers are in the target's own units."""

MOST_SHOWN = 20
"""Classes of which a confusion matrix is shown."""


class Kind:
    """Base of the kinds of prediction.

    Args:
        loss: the name of the loss, which tells how outputs become probabilities.
    """

    targets: Targets = "regression"
    """What targets are to be."""

    def __init__(self, loss: str) -> None:
        self.loss = loss

    def outputs(self, dataset: Dataset) -> tuple[tuple[int, ...], str]:
        """Return the shape of what the model gives for a sample, and the reason for it."""
        return (1,), "there is 1 to predict"

    def wanted(self, dataset: Dataset) -> ModelSpec:
        """Return what a model is to be made for."""
        example = torch.from_numpy(np.concatenate([dataset.parts["train"].x[:1]] * 2))
        symbols = len(dataset.classes or ()) if isinstance(self, Characters) else None
        return ModelSpec(example, *self.outputs(dataset), symbols)

    def criterion(self, loss: nn.Module) -> nn.Module:
        """Return the loss of a batch's outputs against its targets."""
        return loss

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        """Return the metrics."""
        raise NotImplementedError

    def shortfall(self, results: Mapping[str, float], part: str, targets: NDArray[Any]) -> str:
        """Return how a part's metrics fall short of those of one answer for all samples."""
        classes, counts = np.unique(targets, return_counts=True)
        accuracy, share = results[f"{part}/accuracy"], counts.max() / counts.sum()
        if not accuracy < share:
            return ""
        largest = f"predicting the commonest of {len(classes)} classes for all samples"
        return f"accuracy {accuracy:.3f} is less than the {share:.3f} of {largest}"

    def chosen(self, outputs: Outputs) -> NDArray[Any]:
        """Return the class that each sample is taken for."""
        return np.zeros(0)

    def predictions(self, outputs: Outputs, dataset: Dataset) -> Mapping[str, NDArray[Any]]:
        """Return what the outputs say, as columns of a table."""
        raise NotImplementedError

    def details(self, outputs: Outputs, targets: NDArray[Any], names: Sequence[str]) -> str:
        """Return which classes are taken for which, for people; nothing if they are too many.

        Args:
            outputs, targets: of some samples.
            names: of the classes, if they have some; else these are numbers.
        """
        chosen = self.chosen(outputs)
        names = names or [str(k) for k in range(max(outputs[0].size, 2))]
        few = len(chosen) and len(names) <= MOST_SHOWN
        return matrix_text(chosen, targets, names) if few else ""


class Numbers(Kind):
    """A number for each sample."""

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        return regression_metrics(outputs, targets)

    def shortfall(self, results: Mapping[str, float], part: str, targets: NDArray[Any]) -> str:
        if not results[f"{part}/r2"] < 0:
            return ""
        r2 = f"R2 {results[f'{part}/r2']:.3f}"
        return f"{r2} is worse than predicting the mean target for all samples"

    def predictions(self, outputs: Outputs, dataset: Dataset) -> Mapping[str, NDArray[Any]]:
        return {dataset.preprocessing.target: outputs.reshape(-1)}


class TwoClasses(Kind):
    """A score for each sample: class 1 from 0 on, or from a probability of 0.5 on."""

    targets = "binary"

    def probability(self, outputs: Outputs) -> Array:
        """Return the probability of class 1."""
        by_sigmoid = LOSS_FACTS[self.loss].probability == "sigmoid"
        return sigmoid(outputs) if by_sigmoid else outputs.astype(np.float64)

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        return classification_metrics(self.probability(outputs), targets)

    def chosen(self, outputs: Outputs) -> NDArray[Any]:
        return (self.probability(outputs).reshape(-1) >= 0.5).astype(int)

    def predictions(self, outputs: Outputs, dataset: Dataset) -> Mapping[str, NDArray[Any]]:
        names, score = np.array(dataset.classes or ()), self.probability(outputs).reshape(-1)
        return {dataset.preprocessing.target: names[self.chosen(outputs)], f"p({names[1]})": score}


class ManyClasses(Kind):
    """A score for each class."""

    targets = "classes"

    def outputs(self, dataset: Dataset) -> tuple[tuple[int, ...], str]:
        count = len(dataset.classes or ())
        return (count,), f"there are {count} classes"

    def probability(self, outputs: Outputs) -> Array:
        """Return the probability of each class."""
        if LOSS_FACTS[self.loss].probability == "exp":
            return np.exp(outputs.astype(np.float64))
        return softmax(outputs)

    def chosen(self, outputs: Outputs) -> NDArray[Any]:
        return outputs.argmax(axis=1)

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        return class_metrics(self.probability(outputs), targets)

    def predictions(self, outputs: Outputs, dataset: Dataset) -> Mapping[str, NDArray[Any]]:
        names, probability = list(dataset.classes or ()), self.probability(outputs)
        found = {dataset.preprocessing.target: np.array(names)[self.chosen(probability)]}
        return found | {f"p({name})": probability[:, k] for k, name in enumerate(names)}


def each_place(loss: nn.Module, args: tuple[torch.Tensor, torch.Tensor]) -> Any:
    """Let a loss take outputs (N, T, classes) and classes (N, T), every place as a sample."""
    outputs, targets = args
    return outputs.flatten(0, 1), targets.flatten()


class Characters(ManyClasses):
    """A score of each character for each place of a text."""

    def outputs(self, dataset: Dataset) -> tuple[tuple[int, ...], str]:
        count, places = len(dataset.classes or ()), dataset.parts["train"].x.shape[1]
        return (places, count), f"at each of {places} places there are {count} characters"

    def criterion(self, loss: nn.Module) -> nn.Module:
        loss.register_forward_pre_hook(each_place)
        return loss

    def measure(self, outputs: Outputs, targets: NDArray[Any]) -> Mapping[str, float]:
        return {"accuracy": float(np.mean(outputs.argmax(axis=2) == targets))}

    def continued(
        self, predict: Callable[[NDArray[Any]], NDArray[Any]], dataset: Dataset, prompt: str,
        length: int, temperature: float = 0.8, seed: int = 0,
    ) -> str:  # fmt: skip
        """Return a text with as many characters more, each drawn by the model's probabilities.

        Scores are divided by the temperature before they become probabilities: nearer to 0 the
        likeliest ones are taken; 0 takes the likeliest.

        Raises:
            ValueError: if the prompt is empty, or has a character that training has not seen.
        """
        generator = torch.Generator().manual_seed(seed)
        characters = list(dataset.classes or ())
        codes_of = {character: index for index, character in enumerate(characters)}
        unknown = [character for character in prompt if character not in codes_of]
        if unknown:
            raise ValueError(f"training has not seen {unknown[0]!r}")
        if not prompt:
            raise ValueError("needs a beginning")
        places = dataset.parts["train"].x.shape[1]
        codes = [codes_of[character] for character in prompt]
        for _ in range(length):
            scores = predict(np.array([codes[-places:]], dtype=np.int64))[0, -1].astype(np.float64)
            if not temperature:
                codes.append(int(scores.argmax()))
                continue
            powers = np.exp((scores - scores.max()) / temperature)
            draw = torch.rand(1, generator=generator, dtype=torch.float64).item()
            code = np.searchsorted(np.cumsum(powers / powers.sum()), draw)
            codes.append(min(int(code), len(scores) - 1))
        return "".join(characters[code] for code in codes)

    def details(self, outputs: Outputs, targets: NDArray[Any], names: Sequence[str]) -> str:
        return ""


def class_weights(
    given: str | tuple[float, ...] | None, dataset: Dataset, loss: str
) -> dict[str, float | tuple[float, ...]]:
    """Return what a loss takes for the weights of classes; by `balanced`, all count alike.

    These are n / (K·nₖ) for K classes with nₖ of the n samples of the training part; for a loss
    of two classes, n₀ / n₁ for class 1.
    """
    if given is None:
        return {}
    count = len(dataset.classes or ())
    if isinstance(given, tuple):
        weights = np.array(given)
        if len(given) != count:
            message = f"has {len(given)} weights, but there are {count} classes"
            raise refusal("data.class_weights", message)
    else:
        labels = dataset.parts["train"].y.reshape(-1).astype(np.int64)
        counts = np.bincount(labels, minlength=count)
        weights = counts.sum() / (count * np.maximum(counts, 1))
    if LOSS_FACTS[loss].kind != "binary":
        return {"weight": tuple(float(weight) for weight in weights)}
    if not weights[0]:
        raise refusal("data.class_weights", "class 0 needs a weight that is not 0")
    return {"pos_weight": float(weights[1] / weights[0])}


def sigmoid(x: Outputs) -> Array:
    """Return 1 / (1 + exp(-x)) in double precision, where more scores differ."""
    with np.errstate(over="ignore"):  # exp(-x) = inf gives the right 0
        result: Array = 1 / (1 + np.exp(-x.astype(np.float64)))
    return result


def softmax(x: Outputs) -> Array:
    """Return exp(xₖ) / Σ exp(xⱼ) over the last dimension, in double precision."""
    powers = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
