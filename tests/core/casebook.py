"""The engine's situations with PyTorch's answers: their files, and how they describe graphs.

See `tests.answers` for what a situation is.
"""

from collections.abc import Callable
from typing import Any

from tests.answers import Situation, situations_in, told

# Each is a module `situations_<name>` here and a file `<name>.json` among the golden ones.
FILES = [
    "arguments",
    "beyond",
    "called",
    "copying",
    "creation",
    "device",
    "dtypes",
    "engine",
    "graph",
    "hooks",
    "inplace",
    "layout",
    "mistakes",
    "mode",
    "node_hooks",
    "numbers",
    "numpy",
    "origins",
    "out",
    "out_functions",
    "out_layout",
    "out_memory",
    "random",
    "random_engine",
    "sizes",
    "special_values",
    "tensor",
    "traits",
    "unusual",
    "views",
]


def situations(name: str) -> dict[str, Situation]:
    """The situations of one file."""
    return situations_in(f"tests.core.situations_{name}")


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
