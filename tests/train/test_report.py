"""Tables and sentences for people."""

import math

import pytest

from nanotorch.train.metrics import duration, least_squares_text, metrics_table


def test_a_table_is_aligned_and_has_no_row_without_samples() -> None:
    results = {"train/loss": 2828.45141, "train/r2": 0.5, "test/loss": 3e22, "test/r2": math.nan}
    assert metrics_table(results, {"train": 309, "validation": 0, "test": 66}).splitlines() == [
        "part   samples       loss      R2",
        "train      309  2828.4514  0.5000",
        "test        66  3.000e+22     nan",
    ]


def test_the_closed_form_stands_beside_what_was_reached() -> None:
    text = "closed-form least squares: training loss "
    assert least_squares_text(2.0, 2.001) == text + "2.0000; this run's is 0.0500 % above it"
    below = 2.0 - 1e-9  # by rounding
    assert least_squares_text(2.0, below) == text + "2.0000; this run's is 0.0000 % above it"
    assert least_squares_text(1e-13, 1e-9) == text + "0.0000"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (119.94, "119.9 s"), (125.2, "2 min 5 s")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
