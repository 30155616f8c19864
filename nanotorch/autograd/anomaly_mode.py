"""Anomaly mode: finds the operation whose gradient fails, or that first made nan or infinity."""

import threading
from typing import Any

from nanotorch._core import doors
from nanotorch._core.call_site import warn
from nanotorch._core.graph import anomaly
from nanotorch.autograd.anomaly import ENABLED, watch
from nanotorch.autograd.anomaly import NonFinite as NonFinite
from nanotorch.autograd.anomaly import NonFiniteWarning as NonFiniteWarning
from nanotorch.autograd.anomaly import Range as Range


class Setting:
    """A setting of anomaly mode: whether the mode is on, and whether it looks for nan.

    Args:
        owner: the context manager that ends the setting.
    """

    def __init__(self, owner: Any, enabled: bool, check_nan: bool) -> None:
        self.owner, self.enabled, self.check_nan = owner, enabled, check_nan


class _Here(threading.local):
    """Per thread: the setting of the last call, which `__enter__` may still make a context."""

    pending: Setting | None = None


here = _Here()
changing = threading.RLock()
# The settings in force: the last one counts. The first one holds outside of all contexts. Threads
# may leave their contexts in any order.
settings = [Setting(None, False, True)]


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for nan and infinity when it is on."""
    return anomaly.check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Call `set_detect_anomaly`."""
    set_detect_anomaly(mode, check_nan)


def first_nonfinite(phase: str | None = None) -> NonFinite | None:
    """The first operation that made infinity from finite numbers, or nan from numbers without nan.

    The answer stays after the mode is turned off, until it is turned on again.

    Args:
        phase: "forward" or "backward" for the first of a forward or backward pass; default: any.

    Returns:
        None if there was none. Otherwise a record that `print` shows in full: ``op`` is the
        operation's name; ``module``, ``file`` and ``line`` are where it was called; ``inputs`` and
        ``result`` are the ranges of the values.

    Raises:
        ValueError: for any other phase.
    """
    if phase not in (None, "forward", "backward"):
        raise ValueError(f"phase is {phase!r}, but must be 'forward', 'backward' or None")
    return next((f for f in watch.firsts if phase in (None, f.phase)), None)


def _settle() -> None:
    """Make the pending setting permanent: its call was not followed by `__enter__`."""
    pending, here.pending = here.pending, None
    if pending is not None:
        before = settings[settings.index(pending) - 1]
        before.enabled, before.check_nan = pending.enabled, pending.check_nan
        settings.remove(pending)


def _enter(owner: Any, enabled: bool, check_nan: bool) -> Setting:
    """Put a setting into force; returns the setting."""
    with changing:
        _settle()
        if enabled and not anomaly.enabled:
            watch.begin()
        settings.append(Setting(owner, enabled, check_nan))
        _apply()
        return settings[-1]


def _leave(owner: Any) -> None:
    """End the last setting of a context manager."""
    with changing:
        _settle()
        settings.remove(next(s for s in reversed(settings) if s.owner is owner))
        _apply()


def _apply() -> None:
    """Switch the engine to the last setting."""
    enabled, check_nan = settings[-1].enabled, settings[-1].check_nan
    if enabled and not anomaly.enabled:
        doors.nodes.append(watch)
    elif anomaly.enabled and not enabled:
        doors.nodes.remove(watch)
    anomaly.enabled, anomaly.check_nan = enabled, check_nan
    if watch.on != (enabled and check_nan):
        watch.turn(enabled and check_nan)


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Turn anomaly mode on or off, at once; as a context manager, until the end of its block.

    In anomaly mode, every recorded operation notes the call that made it. A backward pass that
    fails warns with the traceback of the call whose gradient it was computing.

    ``check_nan`` checks the result of every operation, in grad mode or not. A `NonFiniteWarning`
    reports the first operation that makes infinity from finite numbers, and the first that makes
    nan from numbers without nan, with the module, the line and the ranges of its inputs. Numbers in
    the program, as in ``masked_fill(mask, float("-inf"))``, count as inputs. To stop there, make
    the warning an error::

        warnings.simplefilter("error", torch.autograd.anomaly_mode.NonFiniteWarning)

    If a backward pass fails because of nan, its error also says where the nan began. In other
    cases, call `first_nonfinite`.

    Args:
        mode: whether the mode is on from now on, in all threads.
        check_nan: whether to look for nan and infinity. A backward pass then fails if a gradient is
            nan.

    Raises:
        TypeError: if an argument is not a bool.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        for position, (name, given) in enumerate((("enabled", mode), ("check_nan", check_nan)), 1):
            if not isinstance(given, bool):
                raise TypeError(
                    f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool, "
                    f"not {type(given).__name__}"
                )
        self.prev, self.prev_check_nan = anomaly.enabled, anomaly.check_nan
        here.pending = _enter(self, mode, check_nan)

    def __enter__(self) -> None:
        if here.pending is not None and here.pending.owner is self:
            here.pending = None
            return
        # Entered again, or after another call: as in PyTorch, nothing changes until the end.
        with changing:
            now = _enter(self, anomaly.enabled, anomaly.check_nan)
            before = settings[settings.index(now) - 1]
            before.enabled, before.check_nan = self.prev, self.prev_check_nan

    def __exit__(self, *exc: object) -> None:
        _leave(self)


class detect_anomaly:  # noqa: N801 - PyTorch's name
    """Context manager that turns on anomaly mode and warns that it is slow: `set_detect_anomaly`.

    Args:
        check_nan: whether to look for nan and infinity. A backward pass then fails if a gradient is
            nan.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warn(ENABLED)

    def __enter__(self) -> None:
        _enter(self, True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _leave(self)
