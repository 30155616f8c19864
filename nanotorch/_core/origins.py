"""Where in the user's source something was done.

A place is a code object and the offset of an instruction, which cost next to nothing to keep. They
are read only for a message that tells of them, after PyTorch's text.
"""

import linecache
import os
import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from nanotorch._core.grad_mode import mode

if TYPE_CHECKING:
    from nanotorch._core.graph import Node
    from nanotorch._core.tensor import Tensor

Site = tuple[CodeType, int]
PACKAGE = __file__.rpartition("_core")[0]  # with the separator
USERS = PACKAGE + "train" + os.sep  # the training loop calls as a user does
WHERE = "\n\nWhere:"


class _Ours(dict[str, bool]):
    """Whether a source file is the framework's own; generated functions name themselves so."""

    def __missing__(self, filename: str) -> bool:
        own = filename.startswith((PACKAGE, "<nanotorch")) and not filename.startswith(USERS)
        self[filename] = own
        return own


ours = _Ours()


def climb(frame: FrameType | None) -> Site | None:
    """The innermost call that is not the framework's own, from a frame outwards."""
    while frame is not None and ours[frame.f_code.co_filename]:
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def here() -> Site | None:
    """The place in the user's source that is being executed, or the call of one of our modules."""
    site: Site | bool | None = mode.enabled
    return site if isinstance(site, tuple) else climb(sys._getframe(1))


def wrote(cell: list[Any], name: str) -> None:
    """Count a write by the operation ``name`` to the memory that ``cell`` stands for."""
    cell[0] = (cell[0] if cell.__class__ is list else cell.version) + 1  # type: ignore[attr-defined]
    cell[1] = (name, here())


def told(site: Site | None) -> str:
    """` at file:line`, and below it the line itself if it can be read."""
    if site is None:
        return ""
    path, line = site[0].co_filename, line_of(site)
    text = linecache.getline(path, line).strip()
    return f" at {shown(path)}:{line}" + (f"\n      {text}" if text else "")


def line_of(site: Site) -> int:
    """The number of the line in its file."""
    code, offset = site
    lines = [line for start, end, line in code.co_lines() if start <= offset < end and line]
    return lines[0] if lines else code.co_firstlineno


def shown(path: str) -> str:
    """A file's path as messages have it: from where the program runs, if it is below there."""
    return path.removeprefix(os.getcwd() + os.sep)  # noqa: PTH109 - pathlib imports for 3 ms


def paragraph(*parts: str) -> str:
    """What follows PyTorch's text: one indented line for each party."""
    return WHERE + "".join(f"\n  {part}" for part in parts)


def maker(tensor: "Tensor") -> str:
    """Which operation made a tensor, and where."""
    node = tensor.grad_fn
    if node is None:
        return "a leaf" if tensor._requires_grad else "not made by a recorded operation"
    return f"made by {operation(node)}{told(node._site)}"


def operation(node: "Node") -> str:
    """How a message calls the operation of a node."""
    op = getattr(type(node), "op", None)
    return node.name() if op is None else op.known_as


def about_change(node: "Node | None", kept: str, cell: list[Any]) -> str:
    """Who saved a value, under which name, and who has written to it since."""
    parts = [] if node is None else [f"{operation(node)} saved it as {kept}{told(node._site)}"]
    if cell[1] is not None:
        name, site = cell[1]
        parts.append(f"{name} changed it{told(site)}")
    return paragraph(*parts) if parts else ""


def about_second_pass(node: "Node", site: Site | None) -> str:
    """What was freed, and by which pass."""
    return paragraph(
        f"{operation(node)} saved values{told(node._site)}",
        f"a backward pass used and freed them{told(site)}",
    )


def about_operands(operands: dict[str, Any]) -> str:
    """The shapes of operands that do not fit, and where they come from.

    Args:
        operands: tensors by the names of the parameters.
    """
    return paragraph(
        *(f"{name} has shape {list(t._array.shape)}, {maker(t)}" for name, t in operands.items())
    )
