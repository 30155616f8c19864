"""`python -m nanotorch.learn` and its functions: what a learner meets."""

import linecache
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import learn
from nanotorch.learn.__main__ import main
from tests.several import posix

WRITTEN = "Fill in the new file learn_03.py. The same command then checks it.\n"
RELU = "import nanotorch as torch\n\n\ndef relu_backward(g, x):\n    {}\n"


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    linecache.checkcache()  # which forgets the files of this name of other tests


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code and what is printed, errors last."""
    try:
        code = main(list(arguments))
    except SystemExit as end:
        code = int(str(end.code))
    return code, "".join(capsys.readouterr())


def answer(line: str) -> None:
    Path("learn_03.py").write_text(RELU.format(line), "utf-8")


def test_from_the_task_to_the_solution(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = command(capsys, "3")
    assert code == 0
    assert shown.startswith("3. The formula of relu\n\nEach operation brings a formula")
    assert shown.endswith(WRITTEN)
    written = Path("learn_03.py").read_text("utf-8")
    assert shown.removesuffix(f"\n{WRITTEN}") in written

    code, shown = command(capsys, "3")
    assert code == 1
    assert "found     ... (nothing is written there yet)" in shown
    assert Path("learn_03.py").read_text("utf-8") == written

    Path("learn_03.py").write_text(written.replace("...", "g * (x > 0)"), "utf-8")
    code, shown = command(capsys, "3")
    assert code == 0
    assert "\nSolved.\n" in shown
    assert shown.endswith("-m nanotorch.learn 4\n")

    _, shown = command(capsys)
    assert "   3  The formula of relu                         solved\n" in shown
    assert f"Solved in this directory: 1 of {len(learn.exercises())}." in shown


def test_a_wrong_answer_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    answer("return g * torch.relu(x)")
    code, shown = command(capsys, "3")
    assert code == 1
    assert shown == (
        "3. The formula of relu\n"
        "\n"
        "  wrong  relu_backward(g, x)  # x = [-2, -0.5, 0, 0.5, 3]\n"
        "         found     tensor([  0.,   0.,   0.,   2., -15.])\n"
        "         expected  tensor([ 0.,  0.,  0.,  4., -5.])\n"
        "\n"
        "Hint:\n"
        "  This multiplies g by the value of relu. It takes its slope: 1 where x > 0,\n"
        "  else 0.\n"
        "\n"
        "Change learn_03.py, then run the command again.\n"
        "To see a solution, add --solution.\n"
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "return g * (x > 0",
            """  error  while learn_03.py runs
           File "learn_03.py", line 5
             return g * (x > 0
                        ^
         SyntaxError: '(' was never closed""",
        ),
        (
            "return g * positive(x)",
            "learn_03.py, line 5, in relu_backward\n             return g *",
        ),
        (
            "exit()",
            "learn_03.py, line 5, in relu_backward\n             exit()\n         SystemExit",
        ),
        ("return x @ x @ x", "RuntimeError: both arguments to matmul need to be at least 1D"),
        ("import torch", "Hint:\n  Write `import nanotorch as torch`."),
        ("return object()", "found     <object object at"),
        ("return list(range(9999))", "\n                   ...\n         expected"),
        ("pass\n\n\nrelu_backward = 3", "TypeError: 'int' object is not callable"),
        (
            "pass\n\n\ndel relu_backward",
            "learn_03.py does not define `relu_backward`\n\nHint:\n  This is an error of Python,",
        ),
        ("return (1, ...)", "found     (1, ... (nothing is written there yet))\n"),
        ("pass\n\n\n1 / 0", "learn_03.py, line 8\n             1 / 0\n         ZeroDivisionError"),
    ],
)
def test_an_error_of_the_learners_is_told(line: str, told: str, capsys) -> None:
    answer(line)
    code, shown = command(capsys, "3")
    assert code == 1
    assert told in shown
    assert "Traceback" not in shown
    assert shown.count("Hint:") == 1
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["0"], f"error: there is no exercise 0; there are 1 to {len(learn.exercises())}\n"),
        (["99", "--solution"], "error: there is no exercise 99; there are 1 to "),
        (["--solution"], "--solution needs a number"),
        (["4"], "Is a directory: 'learn_04.py'" if os.name == "posix" else "Permission denied"),
    ],
)
def test_what_is_asked_for_wrongly(arguments: list[str], told: str, capsys: Any) -> None:
    Path("learn_04.py").mkdir()
    code, shown = command(capsys, *arguments)
    assert code == 2
    assert told in shown
    assert [path.name for path in Path().iterdir()] == ["learn_04.py"]


def test_the_solution_is_shown_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = command(capsys, "3", "--solution")
    assert code == 0
    assert "    return g * (x > 0)\n" in shown
    assert not list(Path().iterdir())


def test_what_is_to_be_predicted_is_not_told() -> None:
    report = learn.check(4, {"A": (9, 4)})
    assert (
        "  wrong  A\n         found     (9, 4)\n\nHint:\n  In A, x and y are two leaves."
        in repr(report)
    )


def test_the_list_is_quiet_about_the_files_output(capsys: pytest.CaptureFixture[str]) -> None:
    answer("return g * (x > 0)\n\n\nprint('mine')")
    code, shown = command(capsys)
    assert code == 0
    assert "mine" not in shown
    assert "solved" in shown
    _, shown = command(capsys, "3")
    assert shown.startswith("mine\n")


@posix
@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["3"], 130, "learn_03.py, line 6, in relu_backward\n             while True: Path("),
        ([], 0, "not solved yet: learn_03.py\n   4  Five ways to make y\n"),
    ],
)
def test_an_endless_answer_can_be_stopped(
    arguments: list[str], code: int, told: str, tmp_path: Path
) -> None:
    answer("while True: Path('started').touch()")
    text = Path("learn_03.py").read_text("utf-8")
    Path("learn_03.py").write_text(f"from pathlib import Path\n{text}", "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "nanotorch.learn", *arguments], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    while not Path("started").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    shown = process.communicate()[0]
    assert process.returncode == code
    assert told in shown
    assert "KeyboardInterrupt" not in shown


@pytest.mark.filterwarnings("always")
def test_a_hint_is_found_quietly(recwarn: pytest.WarningsRecorder) -> None:
    """The wrong answers that an answer is compared with warn of nothing."""
    report = learn.run(learn.exercise(1), "def slope(at): return 3")
    assert report.hint.startswith("Make x from `at`")
    assert not recwarn.list


def test_in_a_notebook() -> None:
    """`check` looks at what the calling module has; nothing of the engine stays changed."""
    cell = (
        "from nanotorch import learn\n"
        "def relu_backward(g, x):\n    torch.set_grad_enabled(False); return {}\n"
        "before = learn.check(3)\n"
    )
    cells: dict[str, Any] = {"torch": torch}
    state = torch.get_rng_state()
    exec(cell.format("(x > 0).float()"), cells)
    report: learn.Report = cells["before"]
    assert not report
    assert report.hint.startswith("This is only the slope of relu.")
    exec(cell.format("g * (x > 0)"), cells)
    assert cells["before"]
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()
    shown = learn.exercise(3)._repr_markdown_()
    assert shown.startswith("### 3. The formula of relu\n")
    assert "```python\ndef relu_backward(g, x):\n    return ...\n```" in shown
    with pytest.raises(ValueError, match="there is no exercise 0; there are 1 to"):
        learn.check(0)


@pytest.mark.parametrize(
    ("found", "expected", "equal"),
    [
        (1.0, torch.tensor(1.0), True),
        (torch.tensor(1.0), 1, True),
        (torch.tensor([1.0]), torch.tensor(1.0), True),
        (torch.ones(2, 1), torch.ones(2), False),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]), False),
        (1.001, 1.0, False),
        (float("nan"), 1.0, False),
        (None, 0.0, False),
        (0.0, None, False),
        (True, 1.0, False),
        (1, True, False),
        ((1, None), (1.0, None), True),
        ((1, 2), (1, 2, 3), False),
        ("enough", "enough", True),
        (..., torch.ones(2), False),
    ],
)
def test_what_counts_as_the_same(found: object, expected: object, equal: bool) -> None:
    assert learn.same(found, expected) == equal


@posix
@pytest.mark.parametrize("arguments", ["", "3 --solution"])
def test_a_reader_may_leave(arguments: str) -> None:
    shown = f"{sys.executable} -m nanotorch.learn {arguments} | head -n 1"
    done = subprocess.run(shown, shell=True, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


@posix
@pytest.mark.parametrize("module", ["nanotorch.learn", "nanotorch.train"])
def test_ctrl_c_while_modules_load_shows_no_traceback(module: str, tmp_path: Path) -> None:
    interrupt = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    (tmp_path / "numpy.py").write_text(interrupt, "utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-u", "-m", module, "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
