"""Tables and sentences for people."""

import math

import pytest

from nanotorch.train.metrics import (
    aligned,
    duration,
    fitted,
    least_squares_text,
    metrics_table,
)


def test_a_table_is_aligned_and_has_no_row_without_samples() -> None:
    results = {"train/loss": 2828.45141, "train/r2": 0.5, "test/loss": 3e22, "test/r2": math.nan}
    assert metrics_table(results, {"train": 309, "validation": 0, "test": 66}).splitlines() == [
        "             train       test",
        "samples        309         66",
        "loss     2828.4514  3.000e+22",
        "R2          0.5000        nan",
    ]


def test_what_repeats_the_loss_is_left_out() -> None:
    """That of cross-entropy is the log loss, but for weights of classes."""
    results = {"train/loss": 0.5, "train/accuracy": 0.5, "train/log_loss": 0.5}
    lines = ["         train", "samples     20", "loss     0.5000", "accuracy 0.5000"]
    assert metrics_table(results, {"train": 20}).split() == " ".join(lines).split()
    assert "log loss  0.6000" in metrics_table({**results, "train/log_loss": 0.6}, {"train": 20})


def test_a_table_fits_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["name", "kind", "value"], ["a" * 30, "b" * 30, "1"], ["c", "d", "20"]]
    monkeypatch.setenv("COLUMNS", "80")
    assert aligned(rows).splitlines()[1] == f"{'a' * 30}  {'b' * 30}      1"
    monkeypatch.setenv("COLUMNS", "60")  # long cells are shortened
    wide, *_ = aligned(rows).splitlines()[1:]
    assert len(wide) == 60
    assert wide.split() == ["a" * 12 + "…" + "a" * 12, "b" * 13 + "…" + "b" * 12, "1"]
    monkeypatch.setenv("COLUMNS", "40")  # columns stand below each other
    several = [["n", *map(str, range(100, 130))], ["x", *map(str, range(30))]]
    blocks = aligned(several).split("\n\n")
    assert all(len(line) <= 40 for block in blocks for line in block.splitlines())
    assert [block.splitlines()[1].split()[0] for block in blocks] == ["x"] * len(blocks)
    shown = [cell for block in blocks for cell in block.splitlines()[1].split()[1:]]
    assert shown == [str(number) for number in range(30)]


def test_text_fits_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    path = "runs/" + "x" * 30
    assert fitted(f"one two three four five\nsix\nin {path}").splitlines() == [
        "one two three four", "  five", "six", "in", f"  {path}",
    ]  # fmt: skip


def test_the_closed_form_stands_beside_what_was_reached() -> None:
    text = "closed-form least squares: loss "
    assert least_squares_text(2.0, 2.001) == text + "2.0000; this run's is 0.0500 % above it"
    below = 2.0 - 1e-9  # by rounding
    assert least_squares_text(2.0, below) == text + "2.0000; this run's is 0.0000 % above it"
    assert least_squares_text(1e-13, 1e-9) == text + "0.0000"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (119.94, "119.9 s"), (125.2, "2 min 5 s")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
