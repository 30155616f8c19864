"""Exercises in autograd, each checked against the engine; `python -m nanotorch.learn` lists them.

In a notebook, `learn.exercise(3)` shows the task of exercise 3, and `learn.check(3)` checks the
names that the cells define.

An exercise is a Markdown file in `exercises`: its task, then parts under the headings Start, Hint,
Solution, Check, and a Mistake for each typical wrong answer, with a hint. A wrong answer gets the
hint of the mistake that fails in the same way, or else the general hint.
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
WIDTH, LINES = 78, 6  # columns of the terminal, and lines for a value


class Part(NamedTuple):
    """The part under a heading: prose, and one block of code."""

    heading: str
    prose: str
    code: str


class Exercise(NamedTuple):
    """An exercise, as read from its file."""

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
        """Typical wrong answers, each with its hint."""
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
        """The initial text of the learner's file."""
        from nanotorch.train.commands import call_again

        check = f"To check it: {call_again('python -m nanotorch.learn')} {self.number}"
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
    """The result of the checks of an exercise; true if the answer is right.

    Attributes:
        passed: the checks that were right, in order.
        asked: the check, or the line of the checks, that failed.
        error: a `Wrong` answer or an error in the learner's code; None if the answer is right.
        place: the place of the error in the learner's code; empty if it is not there.
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
        """The hint of the typical mistake that fails in the same way, or the general hint."""
        if isinstance(self.error, KeyboardInterrupt):
            return "Does its loop end?"
        if isinstance(self.error, ImportError) and self.error.name == "torch":
            return "Write `import nanotorch as torch`."
        for mistake in self.exercise.mistakes:
            if same_mistake(run_quietly(self.exercise, mistake.code), self):
                return mistake.prose
        if isinstance(self.error, SyntaxError | ImportError | NameError) and not self.passed:
            return "This is an error of Python, before autograd comes in: fix it first."
        return self.exercise.part("Hint").prose

    def __repr__(self) -> str:
        lines = [self.exercise.heading, "", *(f"  right  {what}" for what in self.passed)]
        if self.error is None:
            return "\n".join([*lines, "", "Solved.", "", self.exercise.part("Solution").prose])
        if isinstance(self.error, Wrong):
            lines += [f"  wrong  {self.asked}", *label_value("found", self.error.found)]
            lines += [] if self.error.hidden else label_value("expected", self.error.expected)
        else:
            stopped = isinstance(self.error, KeyboardInterrupt)
            message = "".join([] if stopped else traceback.format_exception_only(self.error))
            lines += [
                f"  {'interrupted' if stopped else 'error'}  {self.asked}",
                *wrap_text(f"{self.place}\n{message}".lstrip("\n"), " " * 9),
            ]
        return "\n".join([*lines, "", "Hint:", *wrap_text(self.hint, "  ")])


@cache
def exercises() -> list[Exercise]:
    """All exercises, in order."""
    return [read(path) for path in sorted(FOLDER.glob("*.md"))]


def exercise(number: int) -> Exercise:
    """The exercise with a number, from 1.

    Raises:
        ValueError: if there is no such exercise.
    """
    if not 1 <= number <= len(exercises()):
        raise ValueError(f"there is no exercise {number}; there are 1 to {len(exercises())}")
    return exercises()[number - 1]


def check(number: int, names: dict[str, Any] | None = None) -> Report:
    """Check an answer; returns the report.

    Args:
        number: the number of the exercise.
        names: the learner's definitions. Default: those of the calling module or notebook.

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
    """Run an answer and its checks, with the same random numbers each time; returns the report.

    Args:
        exercise: the exercise.
        source: the code of the answer; empty if ``names`` holds its definitions.
        file: the name of the answer in messages.
        names: the definitions that exist already.
    """
    passed: list[str] = []
    asked = ""
    names = {"__name__": Path(file).stem, "torch": torch} if names is None else names
    checks: dict[str, Any] = {}

    def expect(what: str, expected: Any, when: str = "", *, hidden: bool = False) -> None:
        """Evaluate an expression, and raise `Wrong` unless its value is the expected one."""
        nonlocal asked
        asked = f"{what}  # {when}" if when else what
        # Compiled first: an interrupt in `eval` of a string would change the exit code.
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
        place = inside = ""  # the learner's innermost line, and that of the checks
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
    """The report of `run`; the answer's output and warnings are dropped."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
        return run(*arguments)


def same(found: Any, expected: Any) -> bool:
    """Whether an answer is the expected one: numbers up to rounding, tensors of equal shape.

    A number and a tensor of one element, in any shape, count as equal.
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
    """Whether two answers fail in the same way."""
    if isinstance(one.error, Wrong) and isinstance(other.error, Wrong):
        return one.asked == other.asked and same(one.error.found, other.error.found)
    first, second = (str(report.error).partition("\n")[0] for report in (one, other))
    return type(one.error) is type(other.error) and first == second


def label_value(label: str, value: Any) -> list[str]:
    """The lines of a report that show a value; a long one is cut off."""
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    text = text.replace("Ellipsis", "... (nothing is written there yet)")
    first, *lines = wrap_text(text, " " * 19)
    lines[LINES - 1 :] = [" " * 19 + "..."] * (len(lines) >= LINES)
    return [f"         {label:8}  {first.lstrip()}", *lines]


def wrap_text(text: str, indent: str = "") -> list[str]:
    """The lines of a text, wrapped at the width of the terminal."""
    lines = []
    for line in text.splitlines():
        margin = line[: len(line) - len(line.lstrip())]
        wide = textwrap.wrap(line, WIDTH - len(indent), subsequent_indent=margin) or [""]
        lines += [(indent + part).rstrip() for part in wide]
    return lines
