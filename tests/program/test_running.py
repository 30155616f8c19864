"""`python -m nanotorch x.py` is `python x.py`, but for what `import torch` gives."""

import os
import sys
from pathlib import Path

import pytest

from tests.program.test_import_paths import LINES
from tests.several import ended

PLAIN, OURS = [sys.executable], [sys.executable, "-m", "nanotorch"]

TOLD = """
import sys, __main__
print(sys.argv, __file__, __name__, __doc__, __package__, __spec__, type(__loader__).__name__)
print(sys.path[0], vars(__main__) is globals(), sorted(vars()))
"""
CHAINED = """
def f(n):
    return 1 / n

try:
    f(0)
except ArithmeticError as e:
    raise OSError from e
"""
SCRIPTS = {
    "told": TOLD,
    "error": "def f(n):\n    return 1 / n\n\nf(0)",
    "chained": CHAINED,
    "group": "raise ExceptionGroup('two', [ValueError(1), OSError(2)])",
    "syntax": "print(1)\nx = = 2",
    "future": "from __future__ import annotations\nf: nothing\nprint(__annotations__)",
    "exit": "import sys; sys.exit(3)",
    "text": "raise SystemExit('stopped')",
    "true": "import sys; sys.exit(True)",
    "hook": "import sys\nsys.excepthook = lambda k, e, t: print(k, e, t.tb_lineno)\n1 / 0",
    "atexit": "import atexit\natexit.register(lambda: print(x))\nx = 'last'\n1 / 0",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "interrupt": "import signal, os\ndef f():\n    os.kill(os.getpid(), signal.SIGINT)\nf()",
    "source": "import inspect\ndef f(): pass\nprint(inspect.getsource(f))",
}


def outcome(command: list[str], directory: Path, *more: str) -> tuple[int, str, str]:
    """How a program ends, and all it writes."""
    program = "import sys; print(sys.argv, sys.path[0] == '')"
    return ended(*command, *more, cwd=directory, input=program, PYTHONDONTWRITEBYTECODE="1")


if os.name != "posix":  # Windows's `os.kill` ends a process at once
    del SCRIPTS["interrupt"]
USUAL = ("told", "error", "interrupt", "pickle")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in USUAL else [pytest.mark.slow]) for n in SCRIPTS]
)
def test_a_script(name: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "x.py").write_text(SCRIPTS[name])
    plain = outcome(PLAIN, tmp_path, "inner/x.py", "a", "-b")
    assert outcome(OURS, tmp_path, "inner/x.py", "a", "-b") == plain


@pytest.mark.parametrize(
    "arguments",
    [
        ["no.py"],
        ["-m", "pack.one", "-x"],
        ["pack", "a"],
        ["-", "a"],
        ["-c", "import sys; print(sys.argv, sys.path[0], __name__); sys.exit(4)", "-m"],
        *(
            pytest.param(arguments, marks=pytest.mark.slow)
            for arguments in (["-m", "pack", "a"], ["-m", "pack.two"], ["-m", "no"], ["link.py"])
        ),
    ],
)
def test_other_ways_to_run(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "pack" / "two").mkdir(parents=True)
    for name in ("pack/__init__.py", "pack/two/__init__.py"):
        (tmp_path / name).write_text("")
    for name in ("pack/__main__.py", "pack/one.py"):
        (tmp_path / name).write_text(TOLD.replace("__spec__", "str(__spec__)[:40]"))
    (tmp_path / "link.py").symlink_to("pack/one.py")
    assert outcome(OURS, tmp_path, *arguments) == outcome(PLAIN, tmp_path, *arguments)


def test_without_a_program(tmp_path: Path) -> None:
    status, out, err = outcome(OURS, tmp_path)
    assert (status, out) == (2, "")
    assert err.startswith("usage: python -m nanotorch (script.py |")
    assert outcome(OURS, tmp_path, "--help")[:2] == (0, err)
    assert "unknown option -q" in outcome(OURS, tmp_path, "-q")[2]
    assert "Argument expected for the -m option" in outcome(OURS, tmp_path, "-m")[2]


SAME = """
import sys, numpy
from importlib.metadata import distribution, distributions, packages_distributions, version
import torch, torch.onnx, torch.nn as nn, torch.nn.functional as F, torch.optim.lr_scheduler
import torch.backends.cudnn as cudnn
from torch import nn as again, save
from torch.autograd import Function, Variable
from torch.cuda.amp import GradScaler
from torch.utils.data import TensorDataset
from torch.utils.data.dataset import Dataset
from torch.utils.tensorboard import SummaryWriter
import nanotorch
assert torch is nanotorch and nn is again is nanotorch.nn and F is nanotorch.nn.functional
assert Linear is nn.Linear and Parameter is nanotorch.nn.Parameter
assert LRScheduler is torch.optim.lr_scheduler.LRScheduler and issubclass(TensorDataset, Dataset)
assert isinstance(nanotorch.zeros(2), torch.Tensor)
assert nn.__spec__.name == nn.__package__ == "nanotorch.nn"
assert issubclass(nn.BatchNorm2d, nn.modules.batchnorm._BatchNorm) and _pair(3) == (3, 3)
assert torch.__name__ == "torch" and torch.__version__.startswith("2.15.0+nanotorch.")
assert torch.__version__ >= (2, 0) and torch.__version__ < "3"
assert version("torch") == distribution("Torch").version == torch.__version__
assert "torch" in [found.name for found in distributions()] and packages_distributions()
assert version("numpy") == numpy.__version__ and torch.onnx.__name__ == "nanotorch.onnx"
assert nanotorch.as_torch() is torch
print("same")
"""
LACKING = """
for text in [
    "import torch._inductor", "import torch.nn.utils.init", "from torch import lobpcg",
    "import torch.nope", "import torch.nn.nope as x", "import torch.fx\\ntorch.fx.zork",
    "import pickle\\npickle.loads(b'ctorch._utils\\\\n_rebuild_tensor_v2\\\\n.')",
]:
    try:
        exec(text)
    except (ImportError, AttributeError) as error:
        print(type(error).__name__, "|", error.name, "|", str(error).partition(". ")[0])
"""


def test_the_modules_are_the_same(tmp_path: Path) -> None:
    asked = "".join(f"from torch.{place} import {', '.join(names)}\n" for place, *names in LINES)
    (tmp_path / "x.py").write_text(asked + SAME)
    assert outcome(OURS, tmp_path, "x.py") == (0, "same\n", "")


def test_modules_that_are_not_there(tmp_path: Path) -> None:
    status, out, err = outcome(OURS, tmp_path, "-c", LACKING)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "ModuleNotFoundError | torch._inductor | No module named 'torch._inductor': out of scope",
        "ModuleNotFoundError | torch.nn.utils.init | No module named 'torch.nn.utils.init': "
        "out of scope",
        "ImportError | torch | cannot import name 'lobpcg' from 'torch': out of scope",
        "ModuleNotFoundError | torch.nope | No module named 'torch.nope'",
        "ModuleNotFoundError | torch.nn.nope | No module named 'torch.nn.nope'",
        "AttributeError | zork | module 'torch.fx' has no attribute 'zork': out of scope",
        "ModuleNotFoundError | torch._utils | No module named 'torch._utils': out of scope",
    ]


def test_processes_that_the_program_starts(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("""
import multiprocessing, torch
def f(n):
    return torch.ones(n).sum().item(), torch.__version__
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(f, [3]) == [(3.0, torch.__version__)])
""")
    assert outcome(OURS, tmp_path, "x.py") == (0, "True\n", "")


def test_pytorch_itself_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("")
    code = "import torch, nanotorch\ntry: nanotorch.as_torch()\nexcept RuntimeError as e: print(e)"
    status, out, err = outcome(PLAIN, tmp_path, "-c", code)
    assert (status, err) == (0, "")
    assert out.startswith("PyTorch has been imported already, from ")


DRAWING = """
import torch
from torchviz import make_dot

w = torch.ones(2, requires_grad=True)
print(make_dot((w * 3).sum(), params={"w": w}).render("picture", format="svg"))
"""
THEIRS = """
class Drawing:
    def render(self, name, format):
        return f"theirs, {name}.{format}"

def make_dot(var, params):
    return Drawing()
"""


def test_torchviz_is_the_package_or_a_drawing_of_ones_own(tmp_path: Path) -> None:
    assert outcome(OURS, tmp_path, "-c", DRAWING) == (0, "picture.svg\n", "")
    assert ">w<" in (tmp_path / "picture.svg").read_text("utf-8")
    (tmp_path / "torchviz.py").write_text(THEIRS, "utf-8")
    assert outcome(OURS, tmp_path, "-c", DRAWING) == (0, "theirs, picture.svg\n", "")
