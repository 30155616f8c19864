"""The console command, and the wheel that brings it."""

import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import yaml

import nanotorch as torch
from tests.several import PYTHON, ended

ROOT = Path(__file__).parent.parent
# As pip writes it.
SCRIPT = f"#!{sys.executable}\nimport sys\nfrom nanotorch.__main__ import main\nsys.exit(main())\n"
QUIET = ("log.plots=false", "log.tensorboard=false")


def console(directory: Path, *arguments: str) -> tuple[int, str, str]:
    script = directory / "bin" / "nanotorch"
    script.parent.mkdir(exist_ok=True)
    script.write_text(SCRIPT, "utf-8")
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    return ended(PYTHON, script, *arguments, cwd=directory, PATH=path)


def test_the_command_says_what_there_is(tmp_path: Path) -> None:
    code, shown, error = console(tmp_path, "--help")
    assert (code, error) == (0, "")
    assert shown.startswith("usage: nanotorch COMMAND")
    assert console(tmp_path) == (2, "", shown)
    assert console(tmp_path, "--version") == (0, f"nanotorch {torch.__version__}\n", "")
    code, _, error = console(tmp_path, "trian")
    assert code == 2
    assert error.startswith("nanotorch: error: there is no command 'trian'\n\nusage")


@pytest.mark.parametrize("command", ["train", "predict", "sweep", "compare", "run"])
def test_each_command_has_its_help(command: str, tmp_path: Path) -> None:
    code, shown, error = console(tmp_path, command, "--help")
    assert (code, error) == (0, "")
    assert shown.startswith(f"usage: nanotorch {command} ")
    assert "PROGRAM" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_only_its_own_commands_end_silently_at_ctrl_c(tmp_path: Path) -> None:
    """A package whose name begins with nanotorch's keeps its traceback."""
    told = "import sys, nanotorch\nprint(sys.excepthook is not sys.__excepthook__)"
    (tmp_path / "nanotorch_own").mkdir()
    for name, text in (("__init__", told), ("__main__", "")):
        (tmp_path / f"nanotorch_own/{name}.py").write_text(text, "utf-8")
    (tmp_path / "own.py").write_text(told, "utf-8")
    for words, silent in (
        (["nanotorch_own"], False),
        (["nanotorch.train", "--import", "own.py", "--list", "Adam"], True),
    ):
        code, shown, error = ended(sys.executable, "-m", *words, cwd=tmp_path)
        assert (code, error, shown.splitlines()[0]) == (0, "", str(silent))


def test_a_shipped_configuration_trains_and_is_resumed_by_name(tmp_path: Path) -> None:
    short = ("train.time_limit=1e-9", *QUIET)
    code, shown, _ = console(tmp_path, "train", "--config", "two_moons", *short)
    again = next(line for line in shown.splitlines() if "--resume" in line)
    assert code == 0
    assert ": nanotorch train --resume runs/two_moons/" in again
    code, shown, error = console(tmp_path, "train", "--resume", "latest", "train.time_limit=null")
    assert (code, error) == (0, "")
    assert "finished after" in shown
    code, shown, error = console(tmp_path, "compare", "runs/two_moons")
    assert (code, error) == (0, "")


def test_a_program_is_run_as_by_python(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("import sys, torch\nprint(torch.ones(1), sys.argv)\n1 / 0\n")
    code, shown, error = console(tmp_path, "run", "p.py", "a")
    assert (code, shown) == (1, "tensor([1.]) ['p.py', 'a']\n")
    assert error.count("File ") == 1
    module = (PYTHON, "-m", "nanotorch", "p.py", "a")
    assert ended(*module, cwd=tmp_path) == (code, shown, error)


@pytest.mark.slow
def test_what_is_published_has_everything_and_works_anywhere(tmp_path: Path) -> None:
    """The wheel is built from the source distribution, and so has to be complete as well."""
    binaries = tmp_path / "venv" / "bin"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python, pip = binaries / "python", ("-m", "pip", "--disable-pip-version-check", "-q", "install")

    def checked(*command: object, **more: str) -> str:
        code, shown, error = ended(*command, cwd=empty, **{"PYTHONPATH": "", **more})
        assert code == 0, (shown, error)
        return shown

    (empty := tmp_path / "empty").mkdir()
    checked(python, *pip, "build")
    checked(python, "-m", "build", "--outdir", tmp_path, ROOT)
    (source,), (wheel,) = (tmp_path.glob(f"nanotorch_numpy-*{end}") for end in (".tar.gz", ".whl"))
    with tarfile.open(source) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    some = {"CHANGELOG.md", "docs/CITATION.cff", "docs/img/graph.png", "tests/test_package.py"}
    assert some | {*listed.split()} <= packed
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (information,) = (name for name in names if name.endswith("METADATA"))
        told = Parser().parsestr(archive.read(information).decode())
    files = [path.relative_to(ROOT) for path in (ROOT / "nanotorch").rglob("*.py*")]
    files += [path.relative_to(ROOT) for path in (ROOT / "nanotorch").rglob("py.typed")]
    sources = {path.as_posix() for path in files if path.suffix in (".py", ".pyi", ".typed")}
    shipped = [path for path in (ROOT / "configs").rglob("*") if path.is_file()]
    sources |= {f"nanotorch/{path.relative_to(ROOT).as_posix()}" for path in shipped}
    assert sources <= names
    assert not {name for name in names if name.startswith(("tests", "scripts"))}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert told["Name"] == "nanotorch-numpy"
    assert not any("Private" in kind for kind in told.get_all("Classifier", []))

    checked(python, *pip, wheel)
    table = ROOT / "configs" / "data" / "breast_cancer.csv"
    (empty / "p.py").write_text("import torch\nprint(torch.__file__)\n", "utf-8")
    commands = {
        "--version": f"nanotorch {torch.__version__}\n",
        "train --config bce_classification train.epochs=2": "run directory: runs/bce_classific",
        f"predict bce_classification {table}": "diagnosis,p(malignant)\n",
        "sweep --config two_moons --jobs 2 train.epochs=1 optimizer.lr=0.1,0.01": "2 runs",
        "compare runs/two_moons_sweep --metric validation/accuracy": "optimizer.lr",
        "run p.py": str(tmp_path / "venv"),
    }
    for command, expected in commands.items():
        assert expected in checked(binaries / "nanotorch", *command.split()), command


def test_the_version_stands_in_one_place() -> None:
    """Where the build reads it; the citation has none."""
    told = yaml.safe_load((ROOT / "docs" / "CITATION.cff").read_text("utf-8"))
    assert told.keys() >= {"cff-version", "message", "title", "authors"}
    texts = [ROOT / "pyproject.toml", *ROOT.glob("docs/*.cff"), *ROOT.rglob("nanotorch/*.py")]
    found = [path.name for path in texts if str(torch.__version__) in path.read_text("utf-8")]
    assert found == ["__init__.py"]
