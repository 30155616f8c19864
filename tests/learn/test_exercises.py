"""Each exercise: its solution passes, and each wrong answer gets the hint that fits it."""

import pytest

from nanotorch.learn import Exercise, Part, exercises, run

MISTAKES = [(each, mistake) for each in exercises() for mistake in each.mistakes]


def named(value: object) -> str:
    return value.path.stem if isinstance(value, Exercise) else ""


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_numbers_count_up() -> None:
    assert [each.number for each in exercises()] == list(range(1, len(exercises()) + 1))
    assert len(exercises()) >= 12


@pytest.mark.parametrize("exercise", exercises(), ids=named)
def test_the_solution_passes(exercise: Exercise) -> None:
    report = run(exercise, exercise.part("Solution").code)
    assert report, report
    assert report.passed


@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES, ids=named)
def test_a_mistake_fails_and_gets_its_own_hint(exercise: Exercise, mistake: Part) -> None:
    report = run(exercise, mistake.code)
    assert not report
    assert report.hint == mistake.prose, report
    assert flat(f"Hint: {mistake.prose}") in flat(repr(report))


@pytest.mark.parametrize("exercise", exercises(), ids=named)
def test_the_file_as_it_is_written_fails_with_a_hint(exercise: Exercise) -> None:
    report = run(exercise, exercise.template)
    assert not report
    assert report.hint in (exercise.part("Hint").prose, exercise.mistakes[0].prose)


@pytest.mark.parametrize("exercise", exercises(), ids=named)
def test_it_fits_the_terminal(exercise: Exercise) -> None:
    shown = [exercise.template, *(part.prose for part in exercise.parts)]
    shown += [repr(run(exercise, part.code)) for part in exercise.parts if part.code]
    wide = [line for text in shown for line in text.splitlines() if len(line) > 80]
    assert not wide
