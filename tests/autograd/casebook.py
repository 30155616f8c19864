"""Situations of this folder: each is run with PyTorch, for its golden file, and with nanotorch."""

import importlib
import inspect

from tests.core.casebook import Situation

# Each is a module `situations_<name>` here and a file `autograd_<name>.json` among the golden ones.
FILES = [
    "anomaly",
    "checkpoint",
    "edges",
    "function",
    "function_context",
    "function_outputs",
    "functional",
    "functional_strict",
    "gradcheck",
    "inference",
    "saved_hooks",
    "variable",
]


def situations(name: str) -> dict[str, Situation]:
    """The situations of one file: its functions of nothing but the framework."""
    module = importlib.import_module(f"tests.autograd.situations_{name}")
    return {
        key: value
        for key, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and list(inspect.signature(value).parameters) == ["torch"]
    }
