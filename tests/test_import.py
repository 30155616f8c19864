"""`import nanotorch` is cheap: NumPy and the standard library, nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

# Everything the package may use somewhere, none of which an import of it may load.
LAZY = ("google.protobuf", "matplotlib", "mpi4py", "safetensors", "tensorboard", "tensorboardX")
LAZY += ("torch", "tqdm", "yaml")


def loaded_by(code: str) -> list[str]:
    """Return which of `LAZY` are loaded in a fresh interpreter after running `code`."""
    program = f"{code}\nimport sys\nprint(*(name for name in {LAZY} if name in sys.modules))"
    completed = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.split()


def test_import_loads_numpy_alone() -> None:
    assert loaded_by("import nanotorch, numpy\nassert nanotorch.nn and nanotorch.optim") == []


@pytest.mark.parametrize("name", ["yaml", "tqdm"])
def test_a_loaded_dependency_is_seen(name: str) -> None:
    assert loaded_by(f"import nanotorch, {name}") == [name]
