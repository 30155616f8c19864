"""A text into samples: of each character, the one that follows is to be predicted."""

import numpy as np
from numpy.typing import NDArray

from nanotorch.serialization.files import contents

from .csv_file import shown_path
from .data_settings import TextData
from .dataset import PARTS, Dataset, Samples
from .preprocessing import Preprocessing
from .problems import Origins, quoted

LARGEST_TEXT = 20_000_000
MOST_CHARACTERS = 10_000
"""Of different ones."""
MOST_PLACES = 50_000_000
"""Characters of all samples of a part together, each counted as often as it occurs in one."""


def load_text(data: TextData, origins: Origins) -> Dataset:
    """Return the samples of a text: `context` characters, and the same moved on by one.

    The parts follow one another, so that nothing of one is in another.

    Raises:
        ConfigError: if there is no such text, or it is too short.
    """
    text = read_text(data, origins)
    characters = sorted(set(text))
    if len(characters) > MOST_CHARACTERS:
        message = f"has {len(characters)} different characters; at most {MOST_CHARACTERS}"
        raise origins.error("data.file", message)
    number = {character: index for index, character in enumerate(characters)}
    codes = np.array([number[character] for character in text], dtype=np.int64)
    fractions = [data.split.train, data.split.validation, data.split.test]
    ends = np.rint(np.cumsum(fractions) / sum(fractions) * len(codes)).astype(int)
    pieces = np.split(codes, ends[:-1])
    parts = {}
    for name, piece, fraction in zip(PARTS, pieces, fractions, strict=True):
        if fraction and len(piece) <= data.context:
            message = f"leaves {len(piece)} characters, not even one sample of {data.context} and"
            raise origins.error(f"data.split.{name}", f"{message} the one after it")
        if data.context * (len(piece) // (data.stride or data.context) + 1) > MOST_PLACES:
            message = f"makes samples of more than {MOST_PLACES:,} characters"
            raise origins.error("data.stride", message)
        parts[name] = windows(piece, data)
    return Dataset(parts, Preprocessing(target="the next character", classes=characters))


def read_text(data: TextData, origins: Origins) -> str:
    """Return the text of the file."""
    try:
        content = contents(data.file, LARGEST_TEXT)
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"{quoted(shown_path(data.file))} is not text in UTF-8"
        line = content.count(b"\n", 0, error.start) + 1
        raise origins.error("data.file", f"{message} (line {line})") from None
    except OSError as error:
        message = f"cannot read {quoted(shown_path(data.file))}: {error.strerror or error}"
        raise origins.error("data.file", message) from None
    return text


def windows(codes: NDArray[np.int64], data: TextData) -> Samples:
    """Return every sample that begins at a multiple of the stride."""
    if len(codes) <= data.context:
        nothing = np.zeros((0, data.context), dtype=np.int64)
        return Samples(nothing, nothing)
    found = np.lib.stride_tricks.sliding_window_view(codes, data.context + 1)
    found = found[:: data.stride or data.context]
    return Samples(found[:, :-1].copy(), found[:, 1:].copy())
