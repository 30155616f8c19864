"""Names: none of our own without a reason, all of PyTorch's or the reason why not."""

import ast
import importlib
import inspect
import re
import runpy
import subprocess
import sys
from functools import reduce
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import autograd, nn
from nanotorch.names.lookup import OF_TENSORS
from nanotorch.names.scope import REASONS, marked_names, names_of_pytorch, why_not
from nanotorch.program import ELSEWHERE, counterpart

ROOT = Path(__file__).parents[1]
KNOWN = names_of_pytorch()
IN_TENSOR_STR = "PyTorch keeps it in `torch._tensor_str`"
PROGRAMS = "lets `import torch` give nanotorch"
OWN_VIEW = "shows a graph, for which PyTorch needs other packages"
STREAM = "what functions of random numbers draw; PyTorch has it in C++"
OWN: dict[str, dict[str, str]] = {
    "": {"as_torch": PROGRAMS}
    | dict.fromkeys(["get_printoptions", "printoptions"], IN_TENSOR_STR),
    "autograd": dict.fromkeys(["explain", "make_dot", "print_graph"], OWN_VIEW),
    "Generator": dict.fromkeys(
        [
            "bernoulli", "draw32", "draw64", "exponential", "integers", "multinomial",
            "naturals", "normal", "permutation", "uniform", "uniform32", "uniform64",
        ],
        STREAM,
    ),
}  # fmt: skip


def names_at(place: str) -> set[str]:
    """The public names of a module or class; a package's modules are not meant."""
    found: Any = reduce(getattr, filter(None, place.split(".")), torch)
    return {
        name
        for name in dir(found)
        if name[0] != "_" and not isinstance(getattr(found, name, None), ModuleType)
    }


# What is one file shows what it imports, too.
WHOLE = (
    "", "Generator", "Size", "Tensor", "accelerator", "autograd", "autograd.Function", "backends",
    "cuda", "device", "distributions", "finfo", "func", "iinfo", "nn", "nn.Module", "nn.Parameter",
    "nn.functional", "nn.utils", "optim", "optim.Optimizer",
    "optim.lr_scheduler.LRScheduler", "utils.data",
)  # fmt: skip


@pytest.mark.parametrize("place", WHOLE)
def test_every_name_is_pytorchs(place: str) -> None:
    own = OWN.get("Tensor" if place == "nn.Parameter" else place, {})
    assert names_at(place) - set(KNOWN[place]) == set(own)


def test_a_name_of_our_own_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "clamp_numbers_", torch.Tensor.clamp_, raising=False)
    with pytest.raises(AssertionError):
        test_every_name_is_pytorchs("Tensor")


MODULES = ["", *(place for place in KNOWN if place and counterpart(place))]


def script() -> Any:
    """What `scripts/coverage.py` defines."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "scripts/coverage.py")))


def test_the_table_is_up_to_date() -> None:
    written = (ROOT / "nanotorch" / "COVERAGE.md").read_text("utf-8")
    assert written == script().table(), "run `python scripts/coverage.py`"


def test_every_name_is_present_or_out_of_scope() -> None:
    sorted_names = script().sorted_names
    missing = {place: sorted_names(KNOWN, place).get("not yet", []) for place in MODULES}
    assert {place: names for place, names in missing.items() if names} == {}
    assert {"nn.functional", "utils.data", "nn.utils"} <= set(MODULES)


@pytest.mark.parametrize("place", MODULES)
def test_a_misspelt_name_is_told_as_such(place: str) -> None:
    module = counterpart(place) if place else torch
    misspelt = {wrong for name in KNOWN[place] for wrong in (name[0] + name, name + "_x")}
    for name in misspelt - set(KNOWN[place]) - set(dir(module)):
        with pytest.raises(AttributeError, match=rf"^module '\S+' has no attribute '{name}'$"):
            getattr(module, name)


def test_nothing_that_is_there_is_named_as_out_of_scope() -> None:
    listed = [name for reason in REASONS for name in reason.names.split()]
    exact = [name for name in listed if not set(name) & set("\\*+?[")]
    is_nothing = script().is_nothing
    wrong = []
    for place in sorted(KNOWN):
        here: Any = reduce(lambda a, b: getattr(a, b, None), filter(None, place.split(".")), torch)
        for name in KNOWN[place]:
            value = getattr(here, name, None)
            outside = isinstance(value, ModuleType) and not value.__name__.startswith("nano")
            if value is None or outside or is_nothing(value):
                continue
            dotted = f"{place or 'torch'}.{name}"
            wrong += [dotted for e in exact if re.fullmatch(e, dotted if "." in e else name)]
    assert wrong == []
    assert "futures" in exact


def test_names_are_told_apart() -> None:
    sorted_names = script().sorted_names
    found = sorted_names({"nn": ["Linear", "NLLLoss2d", "Nothing"]}, "nn")
    assert found.pop("present") == ["Linear"]
    assert found.pop("not yet") == ["Nothing"]
    ((why, names),) = found.items()
    assert "removed" in why
    assert names == ["NLLLoss2d"]
    assert sorted_names({"nope": ["x"]}, "nope") == {"not yet": ["x"]}


OF_TENSOR = "^'Tensor' object has no attribute"
OUT = "out of scope"
FILES_WITH_REASONS = {
    "distributions.transforms": "CatTransform", "distributions.constraints": "corr_cholesky",
    "utils.data.dataset": "StackDataset", "functional": "stft", "return_types": "mode",
    "nn.modules.loss": "MultiMarginLoss", "serialization": "register_package",
}  # fmt: skip
NO_MODULES = {
    "signal": rf": {OUT}\. Windows are .*", "signal.windows": rf": {OUT}\. Windows are .*",
    "nn.utils.init": rf": {OUT}\. Few use it\. Make the layer.*", "nonsense": "",
}  # fmt: skip
# A program; the error; what it says, and the name that it tells Python.
REFUSED: list[tuple[str, type[Exception], str, str]] = [
    ("torch._inductor", AttributeError,
     rf"^module 'torch' has no attribute '_inductor': {OUT}\. It is a part of Py", "_inductor"),
    ("torch.jti", AttributeError, "^module 'torch' has no attribute 'jti'$", "jti"),
    ("torch.nn.__nope__", AttributeError,
     "^module 'torch.nn' has no attribute '__nope__'$", "__nope__"),
    ("torch.zeros(2).to_sparse()", AttributeError, f"{OF_TENSOR} 'to_sparse': {OUT}", "to_sparse"),
    ("torch.zeros(2).nope()", AttributeError, f"{OF_TENSOR} 'nope'$", "nope"),
    ("torch.Tensor.to_sparse", AttributeError, "^type object 'Tensor' .* 'to_sparse': ",
     "to_sparse"),
    ("from nanotorch import signal", ImportError, f"name 'signal' from 'torch': {OUT}", "torch"),
    ("from nanotorch import jti", ImportError, "name 'jti' from 'nanotorch'", "nanotorch"),
    ("import nanotorch.utils.data.sampler as p; p.Zip", AttributeError, " has no .* 'Zip'$", "Zip"),
    *((f"import nanotorch.{place} as p; p.{name}", AttributeError,
       rf"^module 'torch.{place}' has no .* '{name}': {OUT}\. .*$", name)
      for place, name in FILES_WITH_REASONS.items()),
    *((f"import nanotorch.{module}", ModuleNotFoundError,
       f"^No module named 'nanotorch.{module.removesuffix('.windows')}'{reason}$",
       f"nanotorch.{module.removesuffix('.windows')}") for module, reason in NO_MODULES.items()),
]  # fmt: skip


@pytest.mark.parametrize(("program", "kind", "text", "name"), REFUSED)
def test_what_is_not_there_tells_the_reason(
    program: str, kind: type[Any], text: str, name: str
) -> None:
    with pytest.raises(kind, match=text) as caught:
        exec(program, {"torch": torch})
    assert caught.value.name == name


def test_tensors_lack_what_is_out_of_scope() -> None:
    tensor = torch.zeros(2)
    for name in OF_TENSORS:
        assert why_not("Tensor", name), name
        assert not hasattr(tensor, name)
    assert {name for name in KNOWN["Tensor"] if not hasattr(torch.Tensor, name)} <= {*OF_TENSORS}
    for listed in (dir(torch.Tensor), dir(tensor), dir(torch.nn.Parameter(tensor))):
        assert not set(OF_TENSORS) & set(listed)
        assert {"half", "shape", "__add__"} < set(listed)
    tensor.name = "mine"
    assert {"name", "_array"} < set(dir(tensor))


def test_python_may_ask_what_was_meant() -> None:
    for code, end in (
        ("torch.zeros(2).chalf", "where memory is short. Did you mean: 'half'?\n"),
        (
            "torch.nn.Linaer",
            "module 'torch.nn' has no attribute 'Linaer'. Did you mean: 'Linear'?\n",
        ),
    ):
        whole = f"import nanotorch as torch; {code}"
        run = subprocess.run([sys.executable, "-c", whole], stderr=subprocess.PIPE, text=True)
        assert run.stderr.endswith(end)


def test_reasons() -> None:
    told = [("", "jit"), ("jit", "script"), ("", "futures"), ("nn", "NLLLoss2d")]
    for (place, name), why in zip(told, ("TorchS", "TorchS", "whole in", "removed"), strict=True):
        assert why in str(why_not(place, name))
    assert why_not("", "uniform") is why_not("nn", "Conv2d") is None


def test_every_reason_can_be_told() -> None:
    for reason in REASONS:
        assert reason.why == reason.why.strip()
        assert not reason.why.endswith(".")
        assert reason.names.split()


LAZY = [autograd, nn, nn.utils]


def public_names(module: Any) -> set[str]:
    """What `from module import *` means: its list, or what the module defines."""
    own = [n for n, value in vars(module).items() if inspect.getmodule(value) is module]
    return {n for n in getattr(module, "__all__", own) if not n.startswith("_")}


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
            names |= public_names(importlib.import_module(str(node.module)))
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


@pytest.mark.parametrize("place", sorted({*MODULES} - {*ELSEWHERE}))
def test_a_star_import_brings_pytorchs_names(place: str) -> None:
    """All of them that are here, and no others."""
    module = importlib.import_module(f"nanotorch.{place}".rstrip("."))
    brought: dict[str, object] = {}
    exec(f"from {module.__name__} import *", brought)
    del brought["__builtins__"]
    listed = [name for name in marked_names()[place] if name[0] not in "-_"]
    assert sorted(brought) == [name for name in listed if hasattr(module, name)]
