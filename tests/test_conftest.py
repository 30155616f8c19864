"""The checks around every test are seen to fail on tests that deserve it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def outcome(directory: Path, body: str) -> tuple[int, str]:
    """Run one test of this body under a copy of the suite's conftest."""
    shutil.copy(ROOT / "tests" / "conftest.py", directory)
    source = f"import nanotorch as torch\n\n\ndef test_it():\n    {body}\n"
    (directory / "test_it.py").write_text(source, "utf-8")
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return completed.returncode, completed.stdout


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("torch.set_grad_enabled(False)", "left grad mode changed"),
        ("torch.set_default_dtype(torch.float64)", "left the default dtype changed"),
    ],
)
def test_a_leak_is_seen(tmp_path: Path, body: str, complaint: str) -> None:
    code, output = outcome(tmp_path, body)
    assert code == 1
    assert complaint in output


def test_a_clean_test_passes_with_fixed_seeds(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, "assert f'{torch.rand(1).item():.4f}' == '0.4963'")
    assert code == 0, output
