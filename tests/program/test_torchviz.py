"""`import torchviz` in a program written for PyTorch: the package, or nanotorch's own drawing."""

from pathlib import Path

from tests.several import PYTHON, ended

PROGRAM = """
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


def run(directory: Path) -> tuple[int, str, str]:
    return ended(PYTHON, "-m", "nanotorch", "-c", PROGRAM, cwd=directory)


def test_where_it_is_not_installed(tmp_path: Path) -> None:
    assert run(tmp_path) == (0, "picture.svg\n", "")
    assert ">w<" in (tmp_path / "picture.svg").read_text("utf-8")


def test_where_it_is_installed(tmp_path: Path) -> None:
    (tmp_path / "torchviz.py").write_text(THEIRS, "utf-8")
    assert run(tmp_path) == (0, "theirs, picture.svg\n", "")
