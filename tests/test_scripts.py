"""The scripts of the project: their help only helps, and they take no option that they ignore."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.several import PYTHON, ended

SCRIPTS = Path(__file__).parent.parent / "scripts"
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_help_and_options(name: str) -> None:
    code, shown, error = ended(PYTHON, SCRIPTS / f"{name}.py", "--help")
    assert (code, error) == (0, "")
    assert shown.startswith("usage: ")
    code, shown, error = ended(PYTHON, SCRIPTS / f"{name}.py", "--no-such-option")
    assert (code, shown) == (2, "")
    assert f"{name}.py: error: " in error


@pytest.mark.skipif(find_spec("torch") is not None, reason="is about a Python without torch")
def test_golden_files_need_torch() -> None:
    code, _, error = ended(PYTHON, SCRIPTS / "make_golden.py")
    assert code == 1
    assert error.startswith(f"PyTorch is not installed for {PYTHON}: ")
    assert "Traceback" not in error
