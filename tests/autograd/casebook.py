"""Situations: each is run with PyTorch, for its golden file, and with nanotorch.

Those of this folder are about derivatives and graphs; those in `tests/seeds` are the examples of
five tutorials.
"""

import importlib
import inspect

from tests.core.casebook import Situation

# By folder: each is a module `situations_<name>` there and a golden file `<folder>_<name>.json`.
FILES = {
    "autograd": [
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
    ],
    "seeds": [
        "backward_and_grad",
        "differentiation",
        "dynamic_graphs",
        "graphs",
        "retained_graphs",
    ],
}


def situations(name: str, folder: str = "autograd") -> dict[str, Situation]:
    """The situations of one file: its functions of nothing but the framework."""
    module = importlib.import_module(f"tests.{folder}.situations_{name}")
    return {
        key: value
        for key, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and list(inspect.signature(value).parameters) == ["torch"]
    }
