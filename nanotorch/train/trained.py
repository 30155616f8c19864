"""A trained model with everything that it takes to use it, from its run's directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn
from nanotorch.serialization import load

from .build import Wanted, build_model
from .checkpoint import CheckpointError
from .dataset import Dataset, Samples
from .kinds import Characters, Kind
from .preprocessing import Preprocessing, PreprocessingRecord
from .problems import Origins
from .resume import find, load_own_config
from .run import WEIGHTS
from .run_directory import read_json
from .schema import TextConfig, TrainedConfig
from .supervised import kind_of

BATCH = 1024


@dataclass(frozen=True)
class Trained:
    """A model, in evaluation mode, and what it was trained for."""

    config: TrainedConfig
    model: nn.Module
    kind: Kind
    dataset: Dataset
    """Without samples, but for the shape of one."""

    @property
    def preprocessing(self) -> Preprocessing:
        """How rows become inputs."""
        return self.dataset.preprocessing

    def outputs(self, x: NDArray[Any]) -> NDArray[np.float32]:
        """Return what the model gives for prepared inputs."""
        with torch.no_grad():
            found = [
                self.model(torch.from_numpy(x[start : start + BATCH])).numpy()
                for start in range(0, len(x), BATCH)
            ]
        return np.concatenate(found)


def load_trained(target: str | Path) -> Trained:
    """Return the model of a finished run.

    Args:
        target: the run's directory, or `latest`.

    Raises:
        CheckpointError: if there is no such run, it has no weights, or they are not its own.
        ConfigError: if its configuration is damaged.
    """
    directory, _ = find(target)
    config = load_own_config(directory).config
    if not isinstance(config, TrainedConfig):
        raise CheckpointError(directory, "is the run of a minimization, which has no model")
    kind, preprocessing = kind_of(config), read_preprocessing(directory / "preprocessing.json")
    text = isinstance(config, TextConfig)
    shape = (config.data.context,) if isinstance(config, TextConfig) else preprocessing.shape
    example = np.zeros((2, *shape), dtype=np.int64 if text else np.float32)
    dataset = Dataset({"train": Samples(example, example)}, preprocessing)
    outputs, reason = kind.outputs(dataset)
    symbols = len(dataset.classes or ()) if isinstance(kind, Characters) else None
    wanted = Wanted(torch.from_numpy(example), outputs, reason, symbols)
    state = torch.get_rng_state()  # initial weights are drawn, and thrown away
    model = build_model(config.model, wanted, Origins())
    torch.set_rng_state(state)
    path = directory / WEIGHTS
    try:
        model.load_state_dict(load(path))
    except OSError as error:
        raise CheckpointError(path, f"cannot be read: {error.strerror or error}") from None
    except (RuntimeError, ValueError, KeyError, EOFError) as error:
        text_of = str(error).removeprefix(f"{path}").lstrip(": ")
        raise CheckpointError(path, f"is not what this run's model needs: {text_of}") from None
    return Trained(config, model.eval(), kind, dataset)


def read_preprocessing(path: Path) -> Preprocessing:
    """Return how a run prepares inputs.

    Raises:
        CheckpointError: if it does not say.
    """
    record = read_json(path, PreprocessingRecord)
    try:
        return Preprocessing.from_record(record)
    except ValueError as error:
        raise CheckpointError(path, str(error)) from None


def continued(
    trained: Trained, prompt: str, length: int, temperature: float, generator: torch.Generator
) -> str:
    """Return a text with as many characters more, each drawn by the model's probabilities.

    Args:
        trained: of a text.
        prompt: how the text begins; characters that training has not seen are refused.
        length: how many characters are added.
        temperature: what scores are divided by before they become probabilities: nearer to 0 the
            likeliest ones are taken; 0 takes the likeliest.
        generator: where randomness comes from.

    Raises:
        ValueError: if the prompt is empty, or has a character that is not known.
    """
    characters = list(trained.dataset.classes or ())
    number = {character: index for index, character in enumerate(characters)}
    unknown = [character for character in prompt if character not in number]
    if unknown or not prompt:
        raise ValueError(
            f"training has not seen {unknown[0]!r}" if unknown else "needs a beginning"
        )
    places = trained.dataset.parts["train"].x.shape[1]
    codes = [number[character] for character in prompt]
    for _ in range(length):
        x = np.array([codes[-places:]], dtype=np.int64)
        scores = trained.outputs(x)[0, -1].astype(np.float64)
        codes.append(chosen(scores, temperature, generator))
    return "".join(characters[code] for code in codes)


def chosen(scores: NDArray[np.float64], temperature: float, generator: torch.Generator) -> int:
    """Return the number of a character, drawn by its score."""
    if not temperature:
        return int(scores.argmax())
    powers = np.exp((scores - scores.max()) / temperature)
    draw = torch.rand(1, generator=generator, dtype=torch.float64).item()
    return int(np.searchsorted(np.cumsum(powers / powers.sum()), draw).clip(max=len(scores) - 1))
