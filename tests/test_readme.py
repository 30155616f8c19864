"""The README tells the truth: its paths exist, its Python runs and prints what is shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_there_are_two_set_up_commands_of_one_line() -> None:
    commands = [text for text in fences("sh") if text.startswith("python3 -m venv .venv ")]
    assert [text.count("\n") for text in commands] == [1, 1]
    assert "scripts/train.py --config" in commands[0]
    assert commands[1].endswith("-m pytest -n auto\n")


def test_the_named_configuration_exists() -> None:
    names = re.findall(r"configs/\w+\.yaml", README)
    assert names
    for name in names:
        assert (ROOT / name).is_file(), name


def test_the_paths_in_the_table_exist() -> None:
    rows = [line for line in README.splitlines() if line.startswith("| `")]
    paths = [path for row in rows for path in re.findall(r"`([\w/.]+)`", row.split("|")[1])]
    assert len(paths) >= 8
    for path in paths:
        assert (ROOT / path).exists(), path


def run(program: str, directory: Path) -> str:
    completed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return completed.stdout


def test_the_python_example_prints_what_is_shown(tmp_path: Path) -> None:
    (program,) = fences("python")
    (shown,) = fences("text")
    assert run(program, tmp_path) == shown


def test_the_tensorboard_example_writes_a_run(tmp_path: Path) -> None:
    program = "".join(fences("python") + fences("py"))
    run(program, tmp_path)
    assert list((tmp_path / "runs" / "parabola").glob("events.out.tfevents.*"))


@pytest.mark.parametrize("wrong", ["pip install nanotorch", "pip install -q nanotorch"])
def test_nobody_is_sent_to_the_other_project_of_this_name(wrong: str) -> None:
    assert wrong not in README
