"""Names that nanotorch lacks: Python's error, with the reason where there is one."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import nanotorch as torch
from nanotorch import autograd, nn
from nanotorch.names.lookup import on_demand
from nanotorch.names.scope import OF_TENSORS, REASONS, why_not


def test_a_name_out_of_scope() -> None:
    message = r"^module 'torch' has no attribute 'jit': out of scope\. TorchScript is .* Remove"
    with pytest.raises(AttributeError, match=message) as caught:
        _ = torch.jit
    assert caught.value.name == "jit"
    assert not hasattr(torch, "fx")
    assert getattr(torch, "sparse", None) is None


def test_a_method_out_of_scope() -> None:
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'to_sparse': out"):
        torch.zeros(2).to_sparse()
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'nope'$"):
        torch.zeros(2).nope()
    assert not hasattr(torch.nn.Parameter(torch.zeros(2)), "is_quantized_by")
    tensor = torch.zeros(2)
    tensor.name = "mine"  # users may keep what they like
    assert tensor.name == "mine"
    assert not hasattr(torch.Tensor, "to_sparse")
    with pytest.raises(AttributeError, match=r"^type object 'Tensor' has no .* 'to_sparse': "):
        _ = torch.Tensor.to_sparse


def test_tensors_lack_what_is_out_of_scope() -> None:
    for name in OF_TENSORS:
        assert why_not("Tensor", name), name
        assert not hasattr(torch.zeros(2), name)
    known = json.loads((Path(__file__).parent / "golden" / "names.json").read_text("utf-8"))
    lacking = {name for name in known["Tensor"] if not hasattr(torch.Tensor, name)}
    assert lacking <= set(OF_TENSORS)


def test_what_is_out_of_scope_is_not_listed() -> None:
    tensor = torch.zeros(2)
    for listed in (dir(torch.Tensor), dir(tensor), dir(torch.nn.Parameter(tensor))):
        assert not set(OF_TENSORS) & set(listed)
        assert {"half", "shape", "__add__"} < set(listed)
    tensor.name = "mine"
    assert {"name", "_array"} < set(dir(tensor))


def test_python_may_ask_what_was_meant() -> None:
    code = "import nanotorch as torch; torch.zeros(2).chalf"
    run = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    assert run.stderr.endswith("where memory is short. Did you mean: 'half'?\n")


def test_a_name_that_nobody_has() -> None:
    with pytest.raises(AttributeError, match=r"^module 'torch' has no attribute 'jti'$"):
        _ = torch.jti


def test_an_import_tells_the_reason() -> None:
    with pytest.raises(ImportError, match=r"cannot import name 'jit' from 'torch': out of scope"):
        from nanotorch import jit  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'jti' from 'nanotorch'"):
        from nanotorch import jti  # noqa: F401


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("signal", ": out of scope. Windows serve .*"),
        ("nn.utils.prune", ": out of scope. Few programs prune .*"),
        ("signal.windows", ": out of scope. Windows serve .*"),
        ("nonsense", ""),
    ],
)
def test_an_import_of_a_module_tells_the_reason(module: str, reason: str) -> None:
    missing = module.removesuffix(".windows")
    message = f"^No module named 'nanotorch.{missing}'{reason}$"
    with pytest.raises(ModuleNotFoundError, match=message) as caught:
        importlib.import_module(f"nanotorch.{module}")
    assert caught.value.name == f"nanotorch.{missing}"


def test_names_are_imported_when_they_are_used() -> None:
    code = "import nanotorch, sys; assert 'nanotorch.serialization' not in sys.modules"
    code += "; from nanotorch import save; assert nanotorch.save is nanotorch.serialization.save"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("place", "name", "why"),
    [
        ("", "jit", "TorchScript"),
        ("jit", "script", "TorchScript"),  # for the sake of the module it would stand in
        ("nn", "SyncBatchNorm", "one process"),
        ("Tensor", "to_sparse", "dense"),
        ("nn", "NLLLoss2d", "removed"),
        ("", "uniform", None),
        ("nn", "Conv2d", None),
    ],
)
def test_reasons(place: str, name: str, why: str | None) -> None:
    found = why_not(place, name)
    assert (found is None) if why is None else (found is not None and why in found)


def test_every_reason_can_be_told() -> None:
    for reason in REASONS:
        assert reason.why == reason.why.strip()
        assert not reason.why.endswith(".")
        assert reason.names.split()


def test_special_names_are_left_to_python() -> None:
    with pytest.raises(AttributeError, match=r"^module 'torch.nn' has no attribute '__file__'$"):
        on_demand("nanotorch.nn")[0]("__file__")


LAZY = [autograd, nn, nn.utils]


def typed_names(package: ModuleType) -> set[str]:
    """What checkers of types are told that a package has, though it is imported later."""
    tree = ast.parse(Path(str(package.__file__)).read_text("utf-8"))
    (branch,) = [
        node.body
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "_TYPE_CHECKING"
    ]
    imports = [node for node in branch if isinstance(node, ast.ImportFrom)]
    names = {alias.asname or alias.name for node in imports for alias in node.names} - {"*"}
    for node in imports:
        if node.names[0].name == "*":
            names |= {*importlib.import_module(str(node.module)).__all__}
    return names


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_checkers_of_types_know_what_is_imported_later(package: ModuleType) -> None:
    code = f"import {package.__name__} as p; print(*set(dir(p)) - set(vars(p)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    later = set(done.stdout.split())
    assert later
    assert typed_names(package) <= {*later, *vars(package)}
    modules = {n for n in later if isinstance(getattr(package, n), ModuleType)}
    assert later - modules <= typed_names(package)
