"""`import torch` gives nanotorch, and `import torch.nn` its `nn`: the same modules, twice named."""

import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import nanotorch
from nanotorch.names.lookup import STAND_INS, no_module
from nanotorch.torch_version import TorchVersion
from nanotorch.version import __version__ as pytorch_version

PATH, LAST = (str(Path(__file__).with_name(name)) for name in ("path", "last"))
# Modules that have another name here, by what follows `torch.`.
ELSEWHERE = {
    "autograd.grad_mode": "nanotorch._core.grad_mode",
    "distributed.constants": "nanotorch.distributed",
    "distributed.distributed_c10d": "nanotorch.distributed",
    "utils.data._utils": "nanotorch.utils.data",
    "utils.data._utils.collate": "nanotorch.utils.data.reading",
    "_tensor": "nanotorch._core.tensor",
}


class TorchFinder(MetaPathFinder, Loader):
    """Finds `torch.<name>` as what nanotorch has of that name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of PyTorch's; None for all others.

        Raises:
            ModuleNotFoundError: for one that nanotorch lacks.
        """
        if not fullname.startswith("torch."):
            return None
        module = counterpart(fullname.removeprefix("torch."))
        if module is None:
            raise no_module(fullname)
        spec = ModuleSpec(fullname, self)
        spec.loader_state = module, module.__spec__
        return spec

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """PyTorch as an installed distribution, for those who ask `importlib.metadata`."""
        if getattr(context, "name", None) not in ("torch", None):  # None asks for all
            return ()
        from importlib.metadata import Distribution  # it takes long to import

        class Torch(Distribution):
            def read_text(self, filename: str) -> str | None:
                told = f"Metadata-Version: 2.1\nName: torch\nVersion: {nanotorch.__version__}\n"
                return told if filename == "METADATA" else None

            def locate_file(self, path: Any) -> Path:
                return Path(nanotorch.__file__).parent / path

        return (Torch(),)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, which is loaded already."""
        return spec.loader_state[0]

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back the spec that it had, which the import has replaced."""
        spec: Any = module.__spec__
        module.__spec__ = spec.loader_state[1]


def counterpart(name: str) -> ModuleType | None:
    """The module of nanotorch's that stands for ``torch.<name>``; None if there is none."""
    if name in ELSEWHERE:
        return importlib.import_module(ELSEWHERE[name])
    try:
        return importlib.import_module(f"nanotorch.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not f"nanotorch.{name}.".startswith(f"{error.name}."):
            raise  # a dependency is missing, not the module
    above, _, last = name.rpartition(".")
    holder = importlib.import_module("nanotorch") if not above else counterpart(above)
    found = getattr(holder, last, None)
    return found if isinstance(found, ModuleType) else None


def as_torch() -> ModuleType:
    """Let `import torch` and its submodules give nanotorch in this process; returns nanotorch.

    The modules are the same by either name, and so are their classes. ``torch.__version__`` is
    then that of the PyTorch whose behaviour nanotorch has, with nanotorch's own behind a plus.
    Processes started by `multiprocessing` do the same. May be called again. `import torchviz`
    gives `make_dot` if that package is not installed.

    Raises:
        RuntimeError: if PyTorch itself has been imported already.
    """
    there = sys.modules.get("torch")
    if there is nanotorch:
        return nanotorch
    if there is not None and not str(there.__file__).startswith(PATH):
        raise RuntimeError(
            f"PyTorch has been imported already, from {there.__file__}; call "
            "nanotorch.as_torch() before the first `import torch`"
        )
    version = f"{pytorch_version}+nanotorch.{nanotorch.__version__}"
    nanotorch.__version__ = TorchVersion(version)
    nanotorch.__name__ = "torch"
    sys.modules["torch"] = nanotorch
    for name, module in STAND_INS.items():
        sys.modules[name.replace("nano", "", 1)] = module
    sys.meta_path.insert(0, TorchFinder())
    sys.path.insert(0 if sys.flags.safe_path else 1, PATH)
    sys.path.append(LAST)
    return nanotorch
