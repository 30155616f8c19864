"""The same training script gives the same losses on nanotorch as on PyTorch.

The scripts under `tests/parity` are PyTorch programs. Only the name of the framework is changed.
"""

import json
from pathlib import Path

import pytest

from tests.answers import assert_same
from tests.parity_scripts import GOLDEN, SCRIPTS, run


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_losses_are_those_of_pytorch(script: Path) -> None:
    expected = json.loads(GOLDEN.read_text("utf-8"))[script.stem]
    answer = run(script, "nanotorch")
    assert len(answer["losses"]) >= 100
    depth, terms = 1.0, 40  # of a mean over a batch; the layers are smaller
    for step, (loss, known) in enumerate(zip(answer["losses"], expected["losses"], strict=True), 1):
        depth = step**0.5  # the roundings of steps add up like those of terms
        assert_same(loss, known, depth=depth, terms=terms)
    assert_same(answer["final"], expected["final"], depth=depth, terms=terms)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_runs_are_repeatable(script: Path) -> None:
    assert run(script, "nanotorch") == run(script, "nanotorch")
