"""Whether there is anything faster than the CPU: there is not."""

from nanotorch.names.lookup import on_demand as _on_demand


def is_available() -> bool:
    """Always False."""
    return False


def device_count() -> int:
    """Always 0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """Always None."""


__getattr__, __dir__ = _on_demand(__name__)
