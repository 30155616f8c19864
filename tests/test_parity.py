"""The same training script gives the same losses on nanotorch as on PyTorch.

The scripts under `tests/parity` are PyTorch programs. Only the name of the framework is changed.
"""

import json
from pathlib import Path

import pytest

from tests.answers import assert_same
from tests.parity_scripts import GOLDEN, SCRIPTS, run
from tests.tolerances import rounding


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_losses_are_those_of_pytorch(script: Path) -> None:
    expected = json.loads(GOLDEN.read_text("utf-8"))[script.stem]
    answer = run(script, "nanotorch")
    assert len(answer["losses"]) >= 100
    terms = 40  # of a mean over a batch; the layers are smaller
    depth, deepest = 1.0, 1e-5 / rounding("float32", terms=terms)
    for step, (loss, known) in enumerate(zip(answer["losses"], expected["losses"], strict=True), 1):
        # The roundings of steps add up like those of terms; more than 1e-5 is an error in any case.
        depth = min(step**0.5, deepest)
        assert_same(loss, known, depth=depth, terms=terms)
    assert_same(answer["final"], expected["final"], depth=depth, terms=terms)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_runs_are_repeatable(script: Path) -> None:
    assert run(script, "nanotorch") == run(script, "nanotorch")
