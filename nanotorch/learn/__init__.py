"""Exercises in autograd, each checked against the engine; `python -m nanotorch.learn` lists them.

In a notebook, `learn.exercise(3)` shows the task of number 3, and `learn.check(3)` checks what the
cells define.

An exercise is a text in `exercises`: its task, then parts under the headings Start, Hint,
Solution, Check, and a Mistake for each typical wrong answer, with the hint that helps there. A
wrong answer gets the hint of the mistake that goes wrong in the same way, or else the general one.
"""

import contextlib
import io
import linecache
import re
import sys
import textwrap
import traceback
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import nanotorch as torch
from nanotorch._core.call_site import relative_path

FOLDER = Path(__file__).parent / "exercises"
HEADING = re.compile(r"^## (\w+)\n", re.MULTILINE)
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH, LINES = 78, 6  # of the terminal, and of a value


class Part(NamedTuple):
    """What stands under a heading: prose, and one block of code."""

    heading: str
    prose: str
    code: str


class Exercise(NamedTuple):
    """An exercise, as its file has it."""

    number: int
    title: str
    task: str
    parts: list[Part]
    path: Path

    def part(self, heading: str) -> Part:
        """The part under a heading."""
        return next(part for part in self.parts if part.heading == heading)

    @property
    def mistakes(self) -> list[Part]:
        """Typical wrong answers, each with the hint that helps."""
        return [part for part in self.parts if part.heading == "Mistake"]

    @property
    def heading(self) -> str:
        return f"{self.number}. {self.title}"

    @property
    def file(self) -> str:
        """The name of the learner's file."""
        return f"learn_{self.number:02}.py"

    @property
    def template(self) -> str:
        """The learner's file before anything is written into it."""
        check = f"To check it: python -m nanotorch.learn {self.number}"
        start = self.part("Start").code
        return f'"""{self}\n\n{check}\n"""\n\nimport nanotorch as torch\n\n\n{start}'

    def _repr_markdown_(self) -> str:
        """The task and the code to start from, in a notebook."""
        return f"### {self}\n\n```python\n{self.part('Start').code}```"

    def __str__(self) -> str:
        return f"{self.heading}\n\n{self.task}"


class Wrong(Exception):  # noqa: N818 - an answer is wrong, not the program
    """An answer that differs from the expected one, which may be hidden from the learner."""

    def __init__(self, found: Any, expected: Any, hidden: bool) -> None:
        self.found, self.expected, self.hidden = found, expected, hidden


class Report(NamedTuple):
    """What the checks of an exercise have found; true if the answer is right.

    Attributes:
        passed: what was right, in the order of the checks.
        asked: what was looked at when something went wrong.
        error: what went wrong, a `Wrong` answer or an error of the learner's; None if nothing.
        place: where the error is in the learner's code, or else in the checks.
    """

    exercise: Exercise
    passed: list[str]
    asked: str = ""
    error: BaseException | None = None
    place: str = ""

    def __bool__(self) -> bool:
        return self.error is None

    @property
    def hint(self) -> str:
        """What helps: the hint of the typical mistake that goes wrong in the same way."""
        for mistake in self.exercise.mistakes:
            if same_mistake(run_quietly(self.exercise, mistake.code), self):
                return mistake.prose
        if isinstance(self.error, SyntaxError | ImportError | NameError) and not self.passed:
            return "This is Python's, before autograd has a part in it: mend it first."
        return self.exercise.part("Hint").prose

    def __repr__(self) -> str:
        lines = [self.exercise.heading, "", *(f"  right  {what}" for what in self.passed)]
        if self.error is None:
            return "\n".join([*lines, "", "Solved.", "", self.exercise.part("Solution").prose])
        if isinstance(self.error, Wrong):
            lines += [f"  wrong  {self.asked}", *label_value("found", self.error.found)]
            lines += [] if self.error.hidden else label_value("expected", self.error.expected)
        else:
            told = "".join(traceback.format_exception_only(self.error))
            lines += [
                f"  error  {self.asked}",
                *wrap_text(f"{self.place}\n{told}".lstrip("\n"), " " * 9),
            ]
        return "\n".join([*lines, "", "Hint:", *wrap_text(self.hint, "  ")])


@cache
def exercises() -> list[Exercise]:
    """All exercises, in their order."""
    return [read(path) for path in sorted(FOLDER.glob("*.md"))]


def exercise(number: int) -> Exercise:
    """The exercise of a number, from 1.

    Raises:
        ValueError: if there is none.
    """
    if not 1 <= number <= len(exercises()):
        raise ValueError(f"there is no exercise {number}; there are 1 to {len(exercises())}")
    return exercises()[number - 1]


def check(number: int, names: dict[str, Any] | None = None) -> Report:
    """Check an answer.

    Args:
        number: of the exercise.
        names: what the learner has defined; those of the calling module or notebook by default.

    Raises:
        ValueError: if there is no such exercise.
    """
    return run(exercise(number), names=sys._getframe(1).f_globals if names is None else names)


def read(path: Path) -> Exercise:
    """Read an exercise from its file."""
    head, *rest = HEADING.split(path.read_text("utf-8"))
    title, _, task = head.removeprefix("# ").partition("\n")
    parts = []
    for heading, body in zip(rest[::2], rest[1::2], strict=True):
        prose, code, *_ = *FENCE.split(body), ""
        parts.append(Part(heading, prose.strip(), code))
    return Exercise(int(path.name[:2]), title, task.strip(), parts, path)


def run(
    exercise: Exercise, source: str | bytes = "", file: str = "the answer", names: Any = None
) -> Report:
    """Run an answer and the checks on it, with the same random numbers each time.

    Args:
        exercise: whose checks.
        source: of the answer; empty if ``names`` holds it.
        file: how a message calls it.
        names: what the answer has defined already.
    """
    passed: list[str] = []
    asked = ""
    names = {"__name__": Path(file).stem, "torch": torch} if names is None else names
    checks: dict[str, Any] = {}

    def expect(what: str, expected: Any, when: str = "", *, hidden: bool = False) -> None:
        """Compute what an expression gives, and compare."""
        nonlocal asked
        asked = f"{what}  # {when}" if when else what
        # Of a text, an interrupt would change the exit code of the process.
        if not same(found := eval(compile(what, "a check", "eval"), checks), expected):
            raise Wrong(found, expected, hidden)
        passed.append(asked)
        asked = ""

    code = exercise.part("Check").code
    above = exercise.path.read_text("utf-8").partition(code)[0].count("\n")
    dtype = torch.get_default_dtype()
    try:
        with torch.random.fork_rng(), torch.enable_grad():
            torch.manual_seed(0)
            if source:
                exec(compile(source, file, "exec", dont_inherit=True), names)
            checks |= {**names, "torch": torch, "expect": expect}
            exec(compile("\n" * above + code, exercise.path, "exec"), checks)
    except BaseException as error:
        place = inside = ""  # the innermost line of the learner's, and that of the checks
        for frame, line in traceback.walk_tb(error.__traceback__):
            path, function = frame.f_code.co_filename, frame.f_code.co_name
            text = linecache.getline(path, line).strip()
            if frame.f_globals is names:
                name = "" if function == "<module>" else f", in {function}"
                place = f"{relative_path(path)}, line {line}{name}\n    {text}"
            elif path == str(exercise.path):
                inside = text
        if isinstance(error, NameError) and not place:
            error = NameError(f"{file} does not define `{error.name}`")
        return Report(exercise, passed, asked or inside or f"while {file} runs", error, place)
    finally:
        torch.set_default_dtype(dtype)
    return Report(exercise, passed)


def run_quietly(*arguments: Any) -> Report:
    """What `run` finds, without what the answer prints and warns of."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
        return run(*arguments)


def same(found: Any, expected: Any) -> bool:
    """Whether an answer is the expected one: numbers up to rounding, tensors of equal shape.

    A number, and a tensor of one element in any shape, count as the same.
    """
    if isinstance(expected, tuple | list):
        several = isinstance(found, tuple | list) and len(found) == len(expected)
        return several and all(map(same, found, expected))
    number = int | float | torch.Tensor
    if isinstance(expected, bool) or not isinstance(expected, number):
        return type(found) is type(expected) and bool(found == expected)
    if not isinstance(found, number) or isinstance(found, bool):
        return False
    a, b = (torch.as_tensor(value).detach().double() for value in (found, expected))
    if a.numel() == b.numel() == 1:
        a, b = a.reshape(()), b.reshape(())
    return a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-6, equal_nan=True)


def same_mistake(one: Report, other: Report) -> bool:
    """Whether two answers go wrong in the same way."""
    if isinstance(one.error, Wrong) and isinstance(other.error, Wrong):
        return one.asked == other.asked and same(one.error.found, other.error.found)
    first, second = (str(report.error).partition("\n")[0] for report in (one, other))
    return type(one.error) is type(other.error) and first == second


def label_value(label: str, value: Any) -> list[str]:
    """A value under its name in a report; of a long one, its beginning."""
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    text = text.replace("Ellipsis", "... (nothing is written there yet)")
    first, *lines = wrap_text(text, " " * 19)
    lines[LINES - 1 :] = [" " * 19 + "..."] * (len(lines) >= LINES)
    return [f"         {label:8}  {first.lstrip()}", *lines]


def wrap_text(text: str, indent: str = "") -> list[str]:
    """Lines that fit the terminal."""
    lines = []
    for line in text.splitlines():
        margin = line[: len(line) - len(line.lstrip())]
        wide = textwrap.wrap(line, WIDTH - len(indent), subsequent_indent=margin) or [""]
        lines += [(indent + part).rstrip() for part in wide]
    return lines
