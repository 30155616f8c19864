"""Killed trainings: a short run of the script that kills many."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.train.test_cli import ENVIRONMENT, posix

ROOT = Path(__file__).parents[2]


@posix
@pytest.mark.slow
def test_killed_trainings_end_as_if_they_had_been_left_alone() -> None:
    command = [sys.executable, str(ROOT / "scripts/kill_and_resume.py"), "--kills", "6"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "equal to the unbroken run, 0 not" in done.stdout
