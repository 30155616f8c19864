"""Classes and functions that a file may name, as programs tell PyTorch before they load one.

They are noted only: nothing that a file of `save` names is ever called.
"""

from typing import Any

noted: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Note classes and functions, or pairs of one and its name."""
    noted.extend(entry for entry in safe_globals if entry not in noted)


def get_safe_globals() -> list[Any]:
    """What was noted."""
    return list(noted)


def clear_safe_globals() -> None:
    """Forget what was noted."""
    noted.clear()


class safe_globals:  # noqa: N801 - PyTorch's name
    """`add_safe_globals` inside `with`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self.before = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        noted[:] = self.before
