"""Every sample of every operation: PyTorch's answers, and what holds for any operation."""

import functools
from collections.abc import Callable

import pytest

from tests.ops import checks
from tests.ops.cases import Answer, Case, by_row, cases, load
from tests.several import each, in_parts

GOLDEN = load()
ALL = cases()


def answer_to(case: Case) -> Answer | None:
    """PyTorch's answer, where the row has a counterpart there."""
    return GOLDEN[case.key] if case.row.torch is not None else None


def fails(case: Case) -> bool:
    answer = answer_to(case)
    return answer is not None and answer.error is not None


def differentiated(case: Case) -> bool:
    """Whether the sample has gradients to check."""
    answer = answer_to(case)
    if answer is None:
        return case.differentiable
    return any(output.seen["float64"].node for output in answer.outputs)


WORKING = [case for case in ALL if not fails(case)]
FAILING = [case for case in ALL if fails(case)]
COMPARED = [case for case in WORKING if answer_to(case) is not None]
DIFFERENTIATED = [case for case in WORKING if differentiated(case)]
LAID_OUT = [case for case in WORKING if case.row.layouts]
TWICE = [case for case in DIFFERENTIATED if case.row.second]


def value(case: Case) -> None:
    checks.check_values(case, GOLDEN[case.key])


def error(case: Case) -> None:
    checks.check_error(case, GOLDEN[case.key])


def first_gradient(case: Case) -> None:
    checks.check_first(case, answer_to(case))


def second_gradient(case: Case) -> None:
    checks.check_second(case, answer_to(case))


def layouts(case: Case) -> None:
    """Each sample in one layout, the next one in the next."""
    checks.check_layouts(case, [checks.LAYOUTS[case.number % 3]])


def of(some: list[Case], check: Callable[[Case], None]) -> Callable[[Case], None]:
    """The check for these samples, which passes all others."""
    keys = {case.key for case in some}

    @functools.wraps(check)
    def checked(case: Case) -> None:
        if case.key in keys:
            check(case)

    return checked


NUMBERS = [of(COMPARED, value), of(DIFFERENTIATED, first_gradient)]
FURTHER = [
    of(FAILING, error), of(TWICE, second_gradient), of(DIFFERENTIATED, checks.check_modes),
    of(LAID_OUT, layouts), of(DIFFERENTIATED, checks.check_memory),
    of(DIFFERENTIATED, checks.check_release),
]  # fmt: skip
ROWS = by_row(ALL)


@pytest.mark.parametrize("name", by_row(COMPARED + DIFFERENTIATED))
def test_values_and_gradients(name: str) -> None:
    each(ROWS[name], *NUMBERS)


@in_parts(ROWS, 10)
def test_what_else_holds(names: list[str]) -> None:
    each([case for name in names for case in ROWS[name]], *FURTHER)


@pytest.mark.slow
@in_parts(ROWS, 25)
def test_all_layouts(names: list[str]) -> None:
    each([case for name in names for case in ROWS[name]], of(LAID_OUT, checks.check_layouts))
