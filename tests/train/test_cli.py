"""The command line, as a user and as a shell script sees it."""

import contextlib
import functools
import io
import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nanotorch.train.cli import main
from nanotorch.train.config.load import shipped
from tests.patience import LONG, wait_until
from tests.several import posix
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, record_of, write_example

ROOT = Path(__file__).parents[2]
SCRIPT = [sys.executable, str(ROOT / "scripts" / "train.py")]
SEARCH = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
ENVIRONMENT = {**os.environ, "PYTHONPATH": SEARCH}


def start(command: list[str], **streams: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=ENVIRONMENT, **streams)


def on_a_terminal(
    command: list[str], columns: int = 100, directory: Path | None = None
) -> tuple[int, str]:
    """Run a command with a terminal; return its exit code and what was shown."""
    import fcntl
    import pty
    import struct
    import termios

    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        command, env=environment, cwd=directory, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    shown = b""
    try:
        while block := os.read(controller, 65536):
            shown += block
    except OSError:  # Linux's way to say that the other side is closed
        pass
    os.close(controller)
    return process.wait(), shown.decode()


def test_a_run_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    write_example(Path())
    assert main(["train.epochs=4", "--config", "x.yaml", "seed=3"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "epoch 4/4: loss " in captured.out
    assert re.search(r"^run directory: runs/x/[\d_-]+-[0-9a-f]{6}$", captured.out, re.MULTILINE)
    assert re.search(r"^finished after 16 steps, \d+\.\d s$", captured.out, re.MULTILINE)


def as_main(script: bool, *arguments: str) -> tuple[int, str]:
    """What Python does with the script or the module: the exit code and the output."""
    run = functools.partial(runpy.run_module, "nanotorch.train", alter_sys=True)
    if script:
        run = functools.partial(runpy.run_path, SCRIPT[1])
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "argv", [SCRIPT[1], *arguments])
        with pytest.raises(SystemExit) as ended:
            run(run_name="__main__")
    return int(str(ended.value.code)), out.getvalue()


@pytest.mark.parametrize("program", ["python -m nanotorch.train", "scripts/train.py"])
def test_help_calls_the_program_as_the_user_did(program: str) -> None:
    code, shown = as_main("script" in program, "--help")
    assert code == 0
    assert shown.startswith(f"usage: {program} [options] --config FILE [key=value ...]\n")
    assert shown.count(f"\n  {program} --config ") == 5
    names = {name for name in re.findall(r"--config (\w+)\b(?!\.)", shown) if name.islower()}
    assert len(names) >= 4
    assert names <= shipped().keys()


def test_help_imports_no_trainer() -> None:
    """Which would take three times as long."""
    program = (
        "import atexit, contextlib, runpy, sys\n"
        "atexit.register(lambda: print('imported', *sys.modules))\n"
        "sys.argv = ['x', '--help']\n"
        "for name in ('train', 'predict', 'sweep', 'compare'):\n"
        f"    path = {str(ROOT / 'scripts')!r} + f'/{{name}}.py'\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        runpy.run_path(path, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True
    )
    shown, _, imported = done.stdout.partition("imported")
    assert len(re.findall("^usage: scripts/", shown, re.MULTILINE)) == 4
    assert all(len(line) <= 80 for line in shown.splitlines())
    slow = ["nn", "optim", "serialization", "utils.tensorboard", "train.schema", "train.run"]
    assert not {f"nanotorch.{name}" for name in slow} & {*imported.split()}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_configuration_can_be_printed(encoding: str) -> None:
    """Also to a terminal without our characters."""
    write_example(Path()).rename("é.yaml")
    done = subprocess.run(
        [*SCRIPT, "--config", "é.yaml", "--print-config", "seed=9"],
        env={**ENVIRONMENT, "PYTHONIOENCODING": encoding}, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode(encoding)
    assert re.search(r"^seed: 9 +# command line: seed=9$", shown, re.MULTILINE)
    assert ("é" if encoding == "utf-8" else "\\xe9") + ".yaml:1:13" in shown
    assert not Path("runs").exists()


def test_the_script_and_the_module_are_the_same_program() -> None:
    write_example(Path(), MINIMIZATION)
    runs = [as_main(script, "--config", "x.yaml") for script in (True, False)]
    one, other = ((code, re.sub(r"runs/\S+|\d+\.\d s", "", shown)) for code, shown in runs)
    assert one == other
    assert one[0] == 0
    assert "  (1, 2)\n" in one[1]


@posix
def test_a_terminal_gets_a_bar() -> None:
    write_example(Path(), CLASSIFICATION)
    code, shown = on_a_terminal([*SCRIPT, "--config", "x.yaml", "train.steps=1000"])
    assert code == 0
    bars = re.findall(r"\repoch \d+/250 \|.*?\| [^\r]*", shown)
    times = r"\| \d\d:\d\d elapsed, \d\d:\d\d left, "
    assert any(re.search(f"{times}[\\d,.]+ steps/s, loss [\\d.e-]+ *$", bar) for bar in bars)
    lines = re.findall(r"epoch +(\d+)/250: loss [\d.e-]+, validation loss [\d.e-]+, ", shown)
    assert lines == [str(25 * k) for k in range(1, 11)]
    assert all(len(line) <= 100 for line in re.split(r"[\r\n]+", shown))


@posix
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)],
)
def test_an_interrupted_run_keeps_clean_records(number: signal.Signals, code: int) -> None:
    write_example(Path(), REGRESSION.replace("epochs: 2", "epochs: 100000000"))
    process = start([*SCRIPT, "--config", "x.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    records = "x/*/metrics.jsonl"
    wait_until(lambda: any(path.stat().st_size for path in Path("runs").glob(records)))
    process.send_signal(number)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err) == (code, b"")
    assert re.search(rb"^interrupted after \d+ steps, ", out, re.MULTILINE)
    (directory,) = Path("runs/x").iterdir()
    run = record_of(directory)
    assert run["status"] == "interrupted"
    lines = (directory / "metrics.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[-1])["step"] == run["steps"]
    assert (directory / "weights.safetensors").exists()


def small(pipe: int) -> None:
    """Let a pipe take so little that a run has to wait for its reader, where that can be set."""
    import fcntl

    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)


@posix
@pytest.mark.parametrize(
    "leaving", ["both", *(pytest.param(s, marks=pytest.mark.slow) for s in ("stdout", "stderr"))]
)
def test_a_reader_may_leave(leaving: str) -> None:
    write_example(Path(), MINIMIZATION.replace("iterations: 3", "iterations: 2000"))
    process = start([*SCRIPT, "--config", "x.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    small(process.stdout.fileno())
    process.stdout.readline()
    if leaving != "stdout":
        process.stderr.close()
    if leaving != "stderr":
        process.stdout.close()
    else:
        assert b"finished after 2000 steps" in process.stdout.read()
        process.stdout.close()
    if leaving == "stdout":
        assert process.stderr.read() == b""
        process.stderr.close()
    assert process.wait(timeout=LONG) == 0
    run = record_of()
    assert (run["status"], run["steps"]) == ("finished", 2000)


@posix
@pytest.mark.parametrize(
    "arguments",
    [["--config", "x.yaml", "nope=1"], pytest.param(["--nope"], marks=pytest.mark.slow)],
)
def test_a_reader_of_errors_may_leave(arguments: list[str]) -> None:
    """The warning goes nowhere; the exit code stays."""
    write_example(Path())
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nobody:
        assert start([*SCRIPT, *arguments], stderr=nobody.fileno()).wait(timeout=LONG) == 2


@posix
@pytest.mark.parametrize(
    "closed", [">&- 2>&-", *(pytest.param(s, marks=pytest.mark.slow) for s in (">&-", "2>&-"))]
)
def test_there_may_be_no_output_at_all(closed: str) -> None:
    write_example(Path())
    command = shlex.join([*SCRIPT, "--config", "x.yaml"])
    assert subprocess.run(["sh", "-c", f"{command} {closed}"], env=ENVIRONMENT).returncode == 0
    assert record_of()["status"] == "finished"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's full device")
@pytest.mark.parametrize(
    "option",
    ["seed=1", *(pytest.param(o, marks=pytest.mark.slow) for o in ("--print-config", "--check"))],
)
def test_output_that_cannot_be_written_is_an_error(option: str) -> None:
    write_example(Path())
    with Path("/dev/full").open("wb") as full:
        command = [*SCRIPT, "--config", "x.yaml", option]
        done = subprocess.run(command, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == b"error: No space left on device\n"
