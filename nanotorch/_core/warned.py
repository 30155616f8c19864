"""Warnings, which point at the user's line, so that each line that causes one gets its own."""

import sys
import warnings
from types import FrameType

from nanotorch._core.origins import ours

BETWEEN = ("contextlib", "copy", "pickle")  # Python's modules that call us for the user
said: set[str] = set()  # by `warn_once`
always = [False]  # whether that says it again, after `set_warn_always`


def users_frame(frame: FrameType) -> FrameType:
    """The innermost call that is the user's, from a frame outwards."""
    while frame.f_back is not None and (
        ours[frame.f_code.co_filename] or frame.f_globals.get("__name__") in BETWEEN
    ):
        frame = frame.f_back
    return frame


def warn(
    text: str | Warning, category: type[Warning] = UserWarning, frame: FrameType | None = None
) -> None:
    """Give a warning as if the user's line had given it.

    Args:
        frame: the user's; default: the innermost.
    """
    user = users_frame(sys._getframe(1)) if frame is None else frame
    warnings.warn_explicit(
        text,
        category,
        user.f_code.co_filename,
        user.f_lineno,
        module=user.f_globals.get("__name__") or "<string>",  # as Python itself does
        registry=user.f_globals.setdefault("__warningregistry__", {}),
    )


def warn_once(text: str, key: str = "") -> None:
    """Warn, if this has not been said yet: PyTorch says some things but once.

    Args:
        key: what stands for all texts of one kind; default: the text.
    """
    if always[0] or (key or text) not in said:
        said.add(key or text)
        warn(text)
