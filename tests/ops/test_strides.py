"""Results and gradients lie in memory as PyTorch's do, but for what is listed here."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch._core.tensor import wrap
from tests.ops.cases import Case, by_row, cases
from tests.ops.strides import asked, lies, told
from tests.several import each, in_parts

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "strides.json").read_text("utf-8"))
FIRST = (
    "PyTorch asks the first operand; NumPy lays a result in order where operands lie differently, "
    "and to look at that would cost every operation"
)
EXCEPTIONS = {
    name: why
    for why, names in {
        FIRST: """
            add sub mul div pow atan2 remainder fmod maximum minimum where eq ne lt le gt ge
            mse_loss l1_loss smooth_l1_loss huber_loss
            binary_cross_entropy binary_cross_entropy_with_logits
            hypot logaddexp logaddexp2 copysign lerp addcmul addcdiv clamp_min clamp_max""",
        "PyTorch's kernel leaves its own order": "kron nll_loss rrelu",
        "PyTorch gives out LAPACK's memory, which goes column by column": """
            linalg.solve linalg.solve_triangular linalg.qr linalg.lstsq cholesky_solve
            linalg.lu_factor""",
    }.items()
    for name in names.split()
} | dict.fromkeys(("Q of linalg.qr", "R of linalg.qr", "sign of slogdet"), "of the same memory")
ROWS = by_row(
    case
    for case in cases()
    if case.row.torch is not None and case.number in asked(case.row.samples)
)


def answer(case: Case) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return told(torch, case.function, case.name, case.sample, wrap)


def check_strides(case: Case) -> None:
    assert answer(case) == GOLDEN[case.key]


@in_parts([name for name in ROWS if name not in EXCEPTIONS], 50)
def test_as_pytorch(names: list[str]) -> None:
    each([case for name in names for case in ROWS[name]], check_strides)


def check_exception(name: str) -> None:
    """It is one still; those for the order of the inputs are none where all lie in order."""
    differing = [c for c in ROWS[name] if answer(c) != GOLDEN[c.key]]
    assert differing
    if EXCEPTIONS[name] == FIRST:
        for case in differing:
            assert answer(case).get("in order") == GOLDEN[case.key].get("in order")


def test_exceptions_are_exceptions() -> None:
    each(EXCEPTIONS, check_exception)


def test_strides_are_seen() -> None:
    x = np.zeros((2, 1, 3))
    assert lies(wrap(x)) is None
    assert lies(wrap(x.T)) == [1, 0, 3]
    assert lies(wrap(x[..., ::2])) == [3, 0, 2]
    assert lies(wrap(x[:0].T)) is None
