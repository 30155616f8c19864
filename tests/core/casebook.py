"""Situations with answers: each is run with PyTorch once, for the golden file, and with nanotorch.

A situation is a function of the framework that returns what it saw: texts, numbers, lists of
them. Tensors answer by their `repr`.
"""

import importlib
import inspect
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Situation = Callable[[Any], Any]
GOLDEN = Path(__file__).parents[1] / "golden"


# Each is a module `situations_<name>` here and a file `<name>.json` among the golden ones.
FILES = [
    "dtypes",
    "engine",
    "graph",
    "hooks",
    "inplace",
    "mode",
    "node_hooks",
    "random",
    "random_engine",
    "tensor",
    "views",
]


def situations(name: str) -> dict[str, Situation]:
    """The situations of one file: its functions of nothing but the framework."""
    module = importlib.import_module(f"tests.core.situations_{name}")
    return {
        key: value
        for key, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and list(inspect.signature(value).parameters) == ["torch"]
    }


def golden(name: str) -> dict[str, Any]:
    """PyTorch's answers, by situation."""
    answers: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    return answers


def told(value: Any) -> Any:
    """An answer as the golden file holds it."""
    if isinstance(value, dict):
        return {str(k): told(v) for k, v in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return [told(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)


def raised(call: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The type and text of the error that the call raises."""
    try:
        result = call(*args, **kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return f"no error, but {told(result)}"


def warned(call: Callable[[], Any]) -> list[str]:
    """The texts of the warnings that the call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [f"{w.category.__name__}: {str(w.message).split(' (Triggered')[0]}" for w in caught]


def name_of(node: Any) -> str | None:
    """A node by its class."""
    return None if node is None else type(node).__name__


def tree(node: Any) -> Any:
    """A node with everything it leads to, as nested lists of names."""
    if node is None:
        return None
    return [name_of(node), [[tree(n), k] for n, k in node.next_functions]]


class Log(list[Any]):
    """Hooks that note their name and the gradient they saw."""

    def hook(self, name: str, result: Any = None) -> Callable[[Any], Any]:
        """A tensor hook that returns ``result``, called with the gradient if it is a function."""

        def note(g: Any) -> Any:
            self.append([name, told(g)])
            return result(g) if callable(result) else result

        return note

    def name(self, name: str) -> Callable[..., None]:
        """A hook of any kind that notes only that it was called."""

        def note(*_: Any) -> None:
            self.append(name)

        return note
