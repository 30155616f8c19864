"""Type stubs: they are current, they tell the truth, and type checkers and editors read them."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from tests.ops.cases import cases
from tests.ops.sampling import is_inplace

ROOT = Path(__file__).parent.parent
PROGRAM = """
import nanotorch as torch
from nanotorch import nn

x = torch.ones(2, 3)
reveal_type(torch.relu(x))
reveal_type(x.sum())
reveal_type(nn.Linear(3, 2)(x))
reveal_type(x.max(1).values)
reveal_type(torch.nn.functional.relu(x) + 1)
torch.relux(x)
x.summ()
nn.Linear(3, 2)(x, x)


@torch.no_grad()
def shifted(x: torch.Tensor) -> torch.Tensor:
    return x + 1


reveal_type(shifted(x))
"""


def declared(text: str) -> set[str]:
    """What a stub declares; imports aside, which the formatter sorts and takes out."""
    nodes = ast.walk(ast.parse(text))
    return {ast.unparse(n) for n in nodes if isinstance(n, ast.FunctionDef | ast.AnnAssign)}


def test_stubs_are_current() -> None:
    stubs = runpy.run_path(str(ROOT / "scripts/stubs.py"))["stubs"]()
    assert len(stubs) == 3
    for path, written in stubs.items():
        differing = declared(written) ^ declared(path.read_text("utf-8"))
        assert not differing, f"run scripts/stubs.py: {path.name} is not current"


def results(stub: str) -> dict[str, set[str]]:
    """The types of results that a stub declares, by function or method."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse((ROOT / "nanotorch" / stub).read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            assert node.returns is not None
            found.setdefault(node.name, set()).add(ast.unparse(node.returns))
    return found


def is_one(value: object, kind: str) -> bool:
    """Whether a value is of a type that a stub names."""
    if kind.startswith("tuple["):
        return isinstance(value, tuple) and all(isinstance(v, torch.Tensor) for v in value)
    if kind.startswith("return_types."):
        return type(value).__name__ == kind.partition(".")[2]
    return kind == "Any" or type(value).__name__ == kind.removeprefix("_")


@pytest.mark.parametrize("stub", ["__init__.pyi", "_core/methods.pyi"])
def test_results_are_of_the_declared_types(stub: str) -> None:
    declared, seen, method = results(stub), set(), "methods" in stub
    for case in cases():
        if case.name not in declared or is_inplace(case.name):
            continue
        call = case.call("float32")
        try:
            holder = call.tensors[0] if method and call.args[0] is call.tensors[0] else torch
            args = call.args if holder is torch else call.args[1:]
            result = getattr(holder, case.name)(*args, **call.kwargs)
        except Exception:  # a sample of a refusal, or of another function of that name
            continue
        seen.add(case.name)
        assert any(is_one(result, kind) for kind in declared[case.name]), (str(case), result)
    assert len(seen) > 250


def test_a_result_of_another_type_is_seen() -> None:
    assert is_one((torch.ones(2),), "tuple[Tensor, ...]")
    assert not is_one((torch.ones(2), 1), "tuple[Tensor, ...]")
    assert not is_one(torch.ones(2).max(0), "return_types.min")
    assert not is_one(1, "Tensor")


@pytest.mark.slow
def test_a_type_checker_knows_results_and_names(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", program]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout
    lines = shown.splitlines()
    assert [line for line in lines if "note" in line] == [
        line for line in lines if 'Revealed type is "nanotorch._core.tensor.Tensor"' in line
    ]
    errors = [line.partition("error: ")[2] for line in lines if "error" in line]
    assert len(errors) == 3, shown
    assert 'no attribute "relux"' in errors[0]
    assert 'no attribute "summ"' in errors[1]
    assert "Too many arguments" in errors[2]


@pytest.mark.slow
def test_an_editor_completes_names() -> None:
    jedi = pytest.importorskip("jedi")

    def script(line: str) -> Any:
        return jedi.Script(f"import nanotorch as torch\nx = torch.ones(2)\n{line}")

    def completed(line: str) -> list[str]:
        return [found.name for found in script(line).complete()]

    def parameters(line: str) -> list[str]:
        (signature,) = script(line).get_signatures()
        return [p.name for p in signature.params]

    assert "relu" in completed("torch.rel")
    assert "sum" in completed("x.su")
    assert "mean" in completed("x.sum().me")
    assert "values" in completed("x.max(0).val")
    assert "weight" in completed("torch.nn.Linear(1, 2).wei")
    assert parameters("torch.nn.LSTM(")[:3] == ["input_size", "hidden_size", "num_layers"]
    assert parameters("torch.nn.RNN(")[3] == "nonlinearity"
    assert parameters("torch.nn.Softmax(") == ["dim"]
    assert parameters("torch.nn.AvgPool2d(")[:2] == ["kernel_size", "stride"]
