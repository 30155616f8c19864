"""Whether there is anything faster than the CPU: there is not; and Intel's GPUs, `xpu`."""

from nanotorch.names.lookup import stand_in as _stand_in


def is_available() -> bool:
    """Always False."""
    return False


def device_count() -> int:
    """Always 0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """Always None."""


xpu = _stand_in(
    "nanotorch.xpu",
    {
        "nanotorch.cuda": (
            "device_count empty_cache is_available is_initialized manual_seed manual_seed_all"
        )
    },
)
