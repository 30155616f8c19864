"""Finding the operation whose gradient fails: anomaly mode, on and off."""

import warnings

from nanotorch._core.anomaly import ENABLED
from nanotorch._core.graph import anomaly
from nanotorch._core.saving import observers


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, once on, looks for nan in gradients."""
    return anomaly.check_nan


def _set(enabled: bool, check_nan: bool) -> None:
    if not isinstance(enabled, bool):
        raise TypeError(
            "set_anomaly_enabled(): argument 'enabled' (position 1) must be bool, "
            f"not {type(enabled).__name__}"
        )
    if enabled and not anomaly.enabled:
        observers.append(anomaly)
    elif anomaly.enabled and not enabled:
        observers.remove(anomaly)
    anomaly.enabled, anomaly.check_nan = enabled, check_nan


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Turn anomaly mode on or off, at once; as a context manager, until its end.

    In anomaly mode every recorded operation notes the call that made it, and a backward pass that
    fails warns with the traceback of the call whose gradient it was computing.

    Args:
        mode: whether the mode is on from now on, in all threads.
        check_nan: let a backward pass fail where a gradient holds nan.

    Raises:
        TypeError: if ``mode`` is not a bool.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = anomaly.enabled, anomaly.check_nan
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _set(self.prev, self.prev_check_nan)


class detect_anomaly:  # noqa: N801 - PyTorch's name
    """Context manager: anomaly mode, see `set_detect_anomaly`; warns that it takes time.

    Args:
        check_nan: let a backward pass fail where a gradient holds nan.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self.prev, self.prev_check_nan = anomaly.enabled, anomaly.check_nan
        warnings.warn(ENABLED, UserWarning, stacklevel=2)

    def __enter__(self) -> None:
        self.prev, self.prev_check_nan = anomaly.enabled, anomaly.check_nan
        _set(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _set(self.prev, self.prev_check_nan)
