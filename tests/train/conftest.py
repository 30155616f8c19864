"""Every test of the trainer works in an empty directory of its own."""

import contextlib
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def _equal_texts_are_parsed_once() -> Iterator[None]:
    """Hundreds of runs begin with the same few lines."""
    parse = yaml.parse
    known = functools.lru_cache(1000)(lambda text: tuple(parse(text, Loader=yaml.SafeLoader)))

    def parsed(text: str, Loader: Any) -> Iterable[yaml.Event]:
        assert Loader is yaml.SafeLoader
        with contextlib.suppress(yaml.YAMLError):  # what precedes a mistake has its events, too
            if len(text) < 5000:  # of others, the trainer may have enough before the end
                return known(text)
        return parse(text, Loader=Loader)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "parse", parsed)
        yield
