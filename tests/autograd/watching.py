"""Calls in anomaly mode, and what it tells of nan and infinity."""

import contextlib
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanotorch.autograd.anomaly_mode import (
    NonFinite,
    NonFiniteWarning,
    first_nonfinite,
    set_detect_anomaly,
)


def line_of(file: str, text: str) -> int:
    """The number of the first line of a file that has a text in it."""
    lines = Path(file).read_text("utf-8").splitlines()
    return next(k for k, line in enumerate(lines, 1) if text in line)


@contextlib.contextmanager
def watching(check_nan: bool = True) -> Iterator[list[str]]:
    """Anomaly mode; the texts of the warnings that it gives of nan and infinity."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with set_detect_anomaly(True, check_nan):
            yield told
    told += [str(w.message) for w in caught if w.category is NonFiniteWarning]


def found_in(call: Callable[[], Any]) -> tuple[NonFinite, list[str]]:
    """What a call in anomaly mode makes that is not finite, and the warnings."""
    with watching() as told:
        call()
    found = first_nonfinite()
    assert found is not None
    return found, told


def failure_of(call: Callable[[], Any]) -> tuple[str, str]:
    """The error of a call in anomaly mode: PyTorch's text, and what is told beyond."""
    with watching(), pytest.raises(RuntimeError) as raised:
        call()
    text, _, where = str(raised.value).partition("\n\nWhere:\n")
    return text, textwrap.dedent(where)
