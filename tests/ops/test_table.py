"""Every sample of every operation: PyTorch's answers, and what holds for any operation."""

import pytest

from tests.ops import checks
from tests.ops.cases import Answer, Case, by_row, cases, each, load

GOLDEN = load()
ALL = list(cases())


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


def over(some: list[Case]) -> pytest.MarkDecorator:
    rows = by_row(some)
    return pytest.mark.parametrize("samples", rows.values(), ids=rows)


@over(COMPARED)
def test_value(samples: list[Case]) -> None:
    each(samples, lambda case: checks.check_values(case, GOLDEN[case.key]))


@over(FAILING)
def test_error(samples: list[Case]) -> None:
    each(samples, lambda case: checks.check_error(case, GOLDEN[case.key]))


@over(DIFFERENTIATED)
def test_first_gradient(samples: list[Case]) -> None:
    each(samples, lambda case: checks.check_first(case, answer_to(case)))


@over(TWICE)
def test_second_gradient(samples: list[Case]) -> None:
    each(samples, lambda case: checks.check_second(case, answer_to(case)))


@over(DIFFERENTIATED)
def test_bare_and_recorded(samples: list[Case]) -> None:
    each(samples, checks.check_modes)


@over(LAID_OUT)
def test_layouts(samples: list[Case]) -> None:
    """Each sample in one layout, the next one in the next."""
    each(samples, lambda case: checks.check_layouts(case, [checks.LAYOUTS[case.number % 3]]))


@pytest.mark.slow
@over(LAID_OUT)
def test_all_layouts(samples: list[Case]) -> None:
    each(samples, checks.check_layouts)


@over(DIFFERENTIATED)
def test_memory(samples: list[Case]) -> None:
    each(samples, checks.check_memory)


@over(DIFFERENTIATED)
def test_release(samples: list[Case]) -> None:
    each(samples, checks.check_release)
