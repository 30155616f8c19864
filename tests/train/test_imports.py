"""--import: the user's modules, in trainings, sweeps and predictions."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanotorch.train import commands
from nanotorch.train.config.components import LAYERS
from tests.train.examples import REGRESSION, mistake, said, write_example
from tests.train.test_cli import SCRIPT

MODULE = """\
import nanotorch as torch
from nanotorch import train


@train.register_layer
class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x
"""
TEXT = REGRESSION.replace("layers:", "layers:\n    - Twice")


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield
    commands.imported.clear()
    LAYERS.registered.pop("Twice", None)
    for name in set(sys.modules) - before:
        if not name.startswith("nanotorch"):
            del sys.modules[name]


@pytest.mark.parametrize(
    "name", ["my_layers", pytest.param("my_layers.py", marks=pytest.mark.slow), "deep/my_layers.py"]
)
def test_names_of_a_module_can_be_used(name: str) -> None:
    write_example(Path(), TEXT)
    Path("deep").mkdir()
    Path("my_layers.py").write_text("from beside import *\n", "utf-8")
    Path("beside.py").write_text(MODULE, "utf-8")
    Path("deep/my_layers.py").write_text("from inside import *\n", "utf-8")
    Path("deep/inside.py").write_text(MODULE, "utf-8")
    assert "'Twice' is not known" in mistake("train --config x.yaml --check")
    assert said(f"train --import {name} --config x.yaml")[0] == 0
    # And a second time changes nothing.
    assert said(f"train --list Twice --import {name}") == (0, "Twice:\n", "")
    assert said(f"predict latest table.csv --import {name}")[0] == 0


def test_who_goes_on_is_reminded_of_the_module() -> None:
    write_example(Path(), TEXT)
    Path("my_layers.py").write_text(MODULE, "utf-8")
    paused = "train.time_limit=1e-9 train.epochs=3"
    code, shown, _ = said(f"train --import my_layers.py --config x.yaml {paused}")
    python = commands.python_command()
    assert code == 0
    assert f"to resume: {python} scripts/train.py --import my_layers.py --resume runs" in shown
    commands.imported.clear()
    del LAYERS.registered["Twice"]
    for command in ("train --resume latest", "predict latest table.csv"):
        lines = mistake(command).splitlines()
        assert "'Twice' is not known" in lines[0]
        told = "run.json: the run was made with --import my_layers.py; add this again"
        assert lines[1].endswith(told)


def test_the_runs_of_a_sweep_import_as_well() -> None:
    write_example(Path(), TEXT)
    Path("my_layers.py").write_text(MODULE, "utf-8")
    code, shown, _ = said("sweep --config x.yaml seed=0 --import my_layers")
    assert code == 0
    assert "1 of 1 runs finished" in shown


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nowhere", "", "no module 'nowhere' in this directory or on Python's path"),
        ("own.x", "", "no module 'own.x' in this directory or on Python's path"),
        ("nowhere.py", "", "cannot read 'nowhere.py': No such file"),
        (".own", "", "'.own' is not a valid module name"),
        ("", "", "'' is not a valid module name"),
        ("json.py", "", "another module is called 'json'; rename the file"),
        ("own", "1 / 0", "/own.py:1: ZeroDivisionError: division by zero"),
        ("own.py", "\n\nx y", "SyntaxError: invalid syntax"),
        ("own", "import nowhere.to_be_found", "/own.py:1: ModuleNotFoundError: No module named"),
        ("own", "import sys; sys.exit(0)", "exits when it is imported; put what it runs "
         'under `if __name__ == "__main__":`'),
        ("own", "from nanotorch.train.cli import main; main(['--import', 'own', '--config', 'x'])",
         None),
        ("own", "import nanotorch.train as t\nt.register_function('sphere', abs)",
         "/own.py:2: ValueError: a function called 'sphere' exists already"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported(name: str, text: str, message: str | None) -> None:
    write_example(Path())
    Path("own.py").write_text(text, "utf-8")
    Path("json.py").write_text("", "utf-8")
    code, _, told = said("train --config x.yaml --check --import", name)
    if message is None:  # who runs a training meanwhile is told, not the one who waits for it
        assert (code, "starts a training when it is imported" in told) == (0, True)
        return
    assert code == 2
    assert told.startswith(f"command line: --import {name}: ")
    assert message in told
    assert not Path("runs").exists()


def test_the_script_finds_modules_in_the_current_directory() -> None:
    write_example(Path(), TEXT)
    Path("my_layers.py").write_text(MODULE, "utf-8")
    command = [*SCRIPT, "--import", "my_layers", "--config", "x.yaml", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
