"""Every test of the trainer works in an empty directory of its own, on a screen of its own."""

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nanotorch.train.config import load
from nanotorch.train.config import sections as config


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")  # however wide the terminal is


@pytest.fixture(scope="session", autouse=True)
def _equal_texts_are_parsed_once() -> Iterator[None]:
    """Hundreds of runs begin with the same few lines."""
    parse = load.parse_yaml

    @functools.lru_cache(1000)
    def known(text: str, start: config.Place) -> tuple[config.Tree, tuple[config.Problem, ...]]:
        noted = config.Noted()
        return parse(text, start, noted), tuple(noted)

    def parsed(text: str, start: config.Place, noted: Any = None) -> config.Tree:
        tree, problems = known(text, start)
        with contextlib.nullcontext() if noted is None else noted:
            config.raise_all(problems)
        return tree

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "parse_yaml", parsed)
        yield
