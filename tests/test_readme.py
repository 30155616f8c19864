"""The README tells the truth: its paths exist, its blocks run and print what is shown."""

import re
import sys
from pathlib import Path

import pytest

from scripts.docs import directory_for_pictures, executed
from tests.several import PYTHON, ended, posix
from tests.train.test_cli import on_a_terminal

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent


def fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_there_are_two_set_up_commands_of_one_line() -> None:
    commands = [text for text in fences("sh") if text.startswith("python3 -m venv .venv ")]
    assert [text.count("\n") for text in commands] == [1, 1]
    assert "scripts/train.py --config" in commands[0]
    assert commands[1].endswith("-m pytest -n auto\n")


def test_the_paths_in_the_tables_exist() -> None:
    rows = [line for line in README.splitlines() if line.startswith("| `")]
    paths = [path for row in rows for path in re.findall(r"`([\w/.]+)`", row.split("|")[1])]
    assert len(paths) >= 20
    for path in paths:
        assert (ROOT / path).exists(), path


def test_the_examples_run_one_after_the_other_and_print_what_is_shown() -> None:
    with directory_for_pictures() as directory:
        assert executed(README, directory, shell=False) == README
        assert list((directory / "runs" / "parabola").glob("events.out.tfevents.*"))


def test_the_error_reads_as_shown(tmp_path: Path) -> None:
    (shown,) = fences("pytb")
    begins, rest = shown.split("...")
    lines = {1: "import torch", 3: "x = torch.ones(2, requires_grad=True)", 7: "y = x.exp()"}
    lines |= {9: "y.add_(1)", 10: "y.sum().backward()"}
    program = "\n".join(lines.get(number, "") for number in range(1, 11))
    (tmp_path / "train.py").write_text(program, "utf-8")
    _, _, error = ended(PYTHON, "-m", "nanotorch", "train.py", cwd=tmp_path)
    assert begins in error
    assert error.endswith(rest)


@pytest.mark.slow
@posix
def test_the_commands_run_one_after_the_other_and_fit_the_terminal(tmp_path: Path) -> None:
    """But for those that install and the server of TensorBoard."""
    for name in ("configs", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    (configuration,) = fences("yaml")
    (tmp_path / configuration.split()[1]).write_text(configuration, "utf-8")
    (tmp_path / "program.py").write_text(
        "import sys, torch\nprint(torch.ones(2), sys.argv)\n", "utf-8"
    )
    commands = [line for text in fences("sh") for line in text.splitlines()]
    first = commands[1].rpartition(" && ")[2]
    characters = ".venv/bin/python scripts/train.py --config configs/characters.yaml train.steps=4"
    wanted = [first, characters, *(line for line in commands if line.startswith(".venv/bin/"))]
    wanted = [line for line in wanted if "pip install" not in line]
    assert len(wanted) >= 9
    for line in wanted:
        command = ["bash", "-euc", line.replace(".venv/bin/", f"{BIN}/")]
        code, shown = on_a_terminal(command, 80, tmp_path)
        assert code == 0, shown
        wide = [part for part in re.split(r"[\r\n]+", shown) if len(part) > 80]
        assert not wide, line
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"configs", "scripts", "tumours.yaml", "program.py", "runs"}


@pytest.mark.parametrize("wrong", ["pip install nanotorch", "pip install -q nanotorch"])
def test_nobody_is_sent_to_the_other_project_of_this_name(wrong: str) -> None:
    assert wrong not in README
