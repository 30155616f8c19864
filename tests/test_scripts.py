"""The scripts of the project: their help only helps, and they take no option that they ignore."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py"))


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / f"{name}.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_help_and_options(name: str) -> None:
    done = run(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")
    done = run(name, "--no-such-option")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{name}.py: error: " in done.stderr


@pytest.mark.skipif(find_spec("torch") is not None, reason="is about a Python without torch")
def test_golden_files_need_torch() -> None:
    done = run("make_golden")
    assert done.returncode == 1
    told = f"PyTorch is not installed for {sys.executable}: "
    assert done.stderr.startswith(told)
    assert "Traceback" not in done.stderr
