"""Which situations have golden files: those of this folder, and the tutorials' in `tests/seeds`.

See `tests.answers` for what a situation is.
"""

from tests.answers import Situation, situations_in

# By folder: each is a module `situations_<name>` there and a golden file `<folder>_<name>.json`.
FILES = {
    "autograd": [
        "anomaly",
        "checkpoint",
        "edges",
        "function",
        "function_context",
        "function_outputs",
        "function_views",
        "functional",
        "functional_strict",
        "gradcheck",
        "inference",
        "penalties",
        "saved_hooks",
        "saved_values",
        "transforms",
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
    """The situations of one file."""
    return situations_in(f"tests.{folder}.situations_{name}")
