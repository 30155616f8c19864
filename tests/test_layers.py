"""The package is a stack of layers: a module imports only from layers above its own.

Imports inside functions count, also by `import_module`; those under `if TYPE_CHECKING:` do not.
Inside one layer the order is free, but cycles are not. Every slow or optional dependency is
imported by the modules named for it, inside a function, and nowhere else.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parent.parent / "nanotorch"

# Top to bottom. `nanotorch` itself re-exports what stands above it.
LAYERS = (
    "nanotorch.names", "nanotorch._core.doors", "nanotorch._core.grad_mode",
    "nanotorch._core.arguments", "nanotorch._core.dtypes", "nanotorch._core.ownership",
    "nanotorch._core.call_site", "nanotorch._core.meta", "nanotorch._core.bfloat16",
    "nanotorch._core.layout", "nanotorch.multiprocessing", "nanotorch._core",
    "nanotorch.ops", "nanotorch.overrides", "nanotorch.settings", "nanotorch.func.batched",
    "nanotorch.func.rules", "nanotorch.func.functions", "nanotorch.linalg", "nanotorch._lowrank",
    "nanotorch.special",
    "nanotorch.functional", "nanotorch.types", "nanotorch.return_types", "nanotorch.autograd",
    "nanotorch.distributed", "nanotorch.nn", "nanotorch.func",
    "nanotorch.distributions", "nanotorch.optim", "nanotorch.utils.data", "nanotorch.utils",
    "nanotorch.serialization", "nanotorch.distributed.optim", "nanotorch.compile",
    "nanotorch.compiler", "nanotorch.backends", "nanotorch.amp", "nanotorch.cuda",
    "nanotorch.quasirandom", "nanotorch.testing", "nanotorch.hub", "nanotorch.version", "nanotorch",
    "nanotorch.utils.tensorboard", "nanotorch.profiler", "nanotorch.onnx", "nanotorch.train",
    "nanotorch.program", "nanotorch.learn", "nanotorch.distributed.run", "nanotorch.__main__",
)  # fmt: skip

# Dependency -> the modules that may import it.
LAZY = {
    "google": {"nanotorch.utils.tensorboard.files"},
    "matplotlib": {"nanotorch.train.runs.plots", "nanotorch.utils.tensorboard"},
    "mpi4py": {"nanotorch.distributed.group"},
    "onnx": {
        "nanotorch.onnx",
        "nanotorch.onnx.exporter",
        "nanotorch.onnx.graph",
        "nanotorch.train.runs.export",
    },
    "onnxruntime": {"nanotorch.onnx"},
    "PIL": set[str](),
    "safetensors": set[str](),
    "tensorboard": set[str](),
    "tensorboardX": {"nanotorch.utils.tensorboard.files"},
    "torch": set[str](),
    "tqdm": {"nanotorch.train.training.loop"},
    "yaml": {"nanotorch.train.config.load"},
}

Sources = Mapping[str, tuple[str, bool]]  # of modules, with whether each is a package


def import_statements(node: ast.AST, inside: bool = False) -> Iterator[tuple[Any, bool]]:
    """The import statements under a node, each with whether a function surrounds it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, inside
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            yield from import_statements(ast.Module(child.orelse, []), inside)
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from import_statements(child, inside or isinstance(child, ast.FunctionDef))


def imports_of(module: str, sources: Sources) -> Iterator[tuple[str, bool]]:
    """The modules that a module imports; `from package import module` names the module."""
    source, is_package = sources[module]
    package = module.split(".") if is_package else module.split(".")[:-1]
    yield from ((name, True) for name in re.findall(r"""import_module\(["']([\w.]+)""", source))
    for statement, inside in import_statements(ast.parse(source)):
        if isinstance(statement, ast.Import):
            yield from ((alias.name, inside) for alias in statement.names)
            continue
        parts = package[: len(package) + 1 - statement.level] if statement.level else []
        origin = ".".join([*parts, *filter(None, [statement.module])])
        for alias in statement.names:
            submodule = f"{origin}.{alias.name}"
            yield (submodule if submodule in sources else origin), inside


def layer_of(module: str) -> str | None:
    """The innermost layer that holds a module; a top-level module may be a layer."""
    holders = [name for name in LAYERS if f"{module}.".startswith(f"{name}.")]
    inner = max(holders, key=len, default=None)
    return None if inner == "nanotorch" and module != "nanotorch" else inner


def violations(sources: Sources) -> list[str]:
    problems: list[str] = []
    edges: dict[str, set[str]] = {module: set() for module in sources}
    for module in sources:
        own = layer_of(module)
        if own is None:
            problems.append(f"{module} belongs to no layer")
            continue
        for name, inside in imports_of(module, sources):
            root = name.split(".")[0]
            if root in LAZY and (module not in LAZY[root] or not inside):
                problems.append(f"{module} imports {name}" + ("" if inside else " at its top"))
            if root != "nanotorch" or (other := layer_of(name)) is None:
                continue
            if LAYERS.index(other) > LAYERS.index(own):
                problems.append(f"{module} imports {name}, from a layer below its own")
            elif other == own and name in sources:
                edges[module].add(name)
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        problems.append("modules import each other: " + " -> ".join(error.args[1]))
    return problems


def test_the_package_keeps_to_its_layers() -> None:
    sources = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        is_package = path.name == "__init__.py"
        sources[name.removesuffix(".__init__")] = path.read_text("utf-8"), is_package
    assert len(sources) > 100
    assert violations(sources) == []


BAD = {
    "from a layer below": {
        "nanotorch.ops.shape": "from nanotorch.nn import functional",
        "nanotorch.nn.functional": "",
    },
    "below its own": {"nanotorch._core.tensor": "def f():\n    from ..ops import shape"},
    "overrides, from a layer below": {
        "nanotorch._core.tensor": 'def f():\n    import_module("nanotorch.overrides")'
    },
    "each other": {
        "nanotorch.nn.a": "from .b import x",
        "nanotorch.nn.b": "def f():\n    import nanotorch.nn.a",
    },
    "imports nanotorch, from": {"nanotorch.optim.rules": "import nanotorch as torch"},
    "imports yaml at its top": {"nanotorch.train.config.load": "import yaml"},
    "imports tqdm": {"nanotorch.nn.module": "def f():\n    from tqdm import tqdm"},
    "no layer": {"nanotorch.helpers": ""},
}


@pytest.mark.parametrize("message", BAD)
def test_a_violation_is_seen(message: str) -> None:
    sources = {module: (source, False) for module, source in BAD[message].items()}
    assert message in " / ".join(violations(sources))


@pytest.mark.parametrize(
    "source",
    [
        "from nanotorch._core.tensor import Tensor",
        "from ..ops import shape",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from nanotorch.nn import Module",
        "import numpy as np\nimport functools",
    ],
)
def test_what_is_allowed_passes(source: str) -> None:
    assert violations({"nanotorch.autograd.function": (source, False)}) == []
