"""`import nanotorch` is cheap: NumPy and the standard library, nothing else."""

import pytest

from tests.several import PYTHON, ended

# Everything the package may use somewhere, none of which an import of it may load.
LAZY = ("google.protobuf", "matplotlib", "mpi4py", "tensorboard", "tensorboardX")
LAZY += ("torch", "tqdm", "yaml")

# What takes its time and is not needed by everybody: the first use loads it.
LATER = ("numpy.random", "pathlib", "nanotorch.nn", "nanotorch.autograd.functional")
LATER += ("nanotorch.autograd.graph_view", "nanotorch.compile.compiler", "nanotorch.linalg")
LATER += ("nanotorch.cuda", "nanotorch.ops.fused", "dataclasses", "numpy.typing")
LATER += ("nanotorch.serialization",)


def loaded_by(source: str, names: tuple[str, ...] = LAZY) -> list[str]:
    """Return which of ``names`` are loaded in a fresh interpreter after running ``source``."""
    program = f"{source}\nimport sys\nprint(*(name for name in {names} if name in sys.modules))"
    code, shown, error = ended(PYTHON, "-c", program)
    assert code == 0, error
    return shown.split()


def test_import_loads_numpy_alone() -> None:
    assert loaded_by("import nanotorch, numpy\nassert nanotorch.nn and nanotorch.optim") == []


@pytest.mark.parametrize("name", ["yaml", "tqdm"])
def test_a_loaded_dependency_is_seen(name: str) -> None:
    assert loaded_by(f"import nanotorch, {name}") == [name]


FAMILIES = """
import importlib
from nanotorch._core.op import PUBLIC
from nanotorch._core.tensor import Tensor
from nanotorch.ops import FAMILIES, LATER
from nanotorch.ops import RULES

methods, before, found = dict(vars(Tensor)), set(PUBLIC), {}
assert not before & {name for names in LATER.values() for name in names.split()}
for family in FAMILIES["nanotorch.ops"].split():
    importlib.import_module(f"nanotorch.ops.{family}")
for name in PUBLIC.keys() - before:
    found.setdefault(PUBLIC[name].__module__, set()).add(name)
assert found == {module: set(names.split()) for module, names in LATER.items()}, found
assert methods == dict(vars(Tensor))
assert before >= {name for names, _ in RULES for name in names} & set(PUBLIC)
"""


def test_families_that_are_imported_later_have_the_functions_that_are_told() -> None:
    """And nothing else, that the package would then lack."""
    assert loaded_by(FAMILIES) == []


def test_import_leaves_for_later_what_not_everybody_needs() -> None:
    assert loaded_by("import nanotorch\nnanotorch.manual_seed(0)", LATER) == []
    assert loaded_by("import nanotorch\nnanotorch.rand(1)", LATER) == ["numpy.random"]
    assert "pathlib" in loaded_by("import nanotorch\nnanotorch.autograd.print_graph", LATER)
