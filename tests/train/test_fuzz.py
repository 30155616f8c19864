"""Whatever is done to a configuration, the answer is a run or a message, never a traceback."""

import contextlib
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from nanotorch.train import cli
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, write_example

EXAMPLES = st.sampled_from([REGRESSION, CLASSIFICATION, MINIMIZATION])

# What a value, a key or a piece of syntax may be replaced by.
PIECES = st.sampled_from(
    [
        *(
            "",
            "~",
            "true",
            "on",
            "0",
            "-1",
            "1",
            "1.5",
            "1e-3",
            "1e300",
            "1e400",
            ".nan",
            "-.inf",
            "010",
        ),
        *("9" * 30, "x", "'", '"', "[", "]", "{", "}", "{}", "[]", "[1, 2]", "{a: 1}", ":", ": "),
        *(
            "- ",
            "-",
            "#",
            "&a",
            "*a",
            "&a *a",
            "!!int 1",
            "!!python/name:os",
            "|",
            ">",
            "<<: ",
            "?",
        ),
        *("\t", "\n", "\n  ", "---\n", "%", "@", "`", "\0", "\x1b", "\u2028", "é", "\ud7ff", "🙂"),
        *("name", "Linear", "SGD", "x[0]", "__import__('os')", "9**9**9", "Dropout", "sphere"),
    ]
)


def outcome(arguments: list[str], main: Callable[[list[str]], int] = cli.main) -> tuple[int, str]:
    """Return the exit code and the errors of a command."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = main(arguments)
        except SystemExit as exit_:  # an override that looks like an option
            code = int(str(exit_.code))
    return code, errors.getvalue()


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(EXAMPLES)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(PIECES) + text[end:]
    return text


@st.composite
def overrides(draw: st.DrawFn) -> str:
    sections = ["seed", "data", "model", "loss", "optimizer", "train", "log", "function", "x"]
    fields = ["name", "layers", "layers[0]", "layers[0].p", "lr", "epochs", "csv", "start", "split"]
    path = f"{draw(st.sampled_from(sections))}.{draw(st.sampled_from(fields))}"
    path = draw(st.sampled_from([path, path.partition(".")[0]]))
    return f"{path}={draw(PIECES)}{draw(PIECES)}"


def check(text: str, arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        before = Path.cwd()
        os.chdir(directory)
        try:
            write_example(Path(), text)
            code, errors = outcome(["--config", "x.yaml", "--check", *arguments])
            assert code in (0, 2)
            assert bool(errors) == (code == 2)
            assert sorted(path.name for path in Path().iterdir()) == ["table.csv", "x.yaml"]
        finally:
            os.chdir(before)


@settings(max_examples=60)
@given(mutated())
def test_a_mutated_file_is_a_run_or_a_message(text: str) -> None:
    check(text, [])


@pytest.mark.slow
@settings(max_examples=150)
@given(mutated())
def test_many_mutated_files(text: str) -> None:
    check(text, [])


@settings(max_examples=40)
@given(EXAMPLES, st.lists(overrides(), max_size=3))
def test_mutated_overrides_are_a_run_or_a_message(text: str, arguments: list[str]) -> None:
    check(text, arguments)


@pytest.mark.slow
@settings(max_examples=100)
@given(EXAMPLES, st.lists(overrides(), max_size=3))
def test_many_mutated_overrides(text: str, arguments: list[str]) -> None:
    check(text, arguments)


@settings(max_examples=60)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_message(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.yaml"
        path.write_bytes(data)
        code, errors = outcome(["--config", str(path), "--check"])
        assert code == 2
        assert errors.startswith(f"{path}:")
