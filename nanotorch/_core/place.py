"""Where in the user's program something is computed: the line of source, the module of a model."""

import itertools
import linecache
from types import FrameType
from typing import Any, NamedTuple

from nanotorch._core.origins import Site, line_of, ours, shown

ENGINE, CALLS = "nanotorch._core.engine", "nanotorch.nn.module_call"


class Place(NamedTuple):
    """A line of the user's source, and in which call of a module it ran.

    Attributes:
        module: as ``MLP.net.0 (Linear)``: the class of the outermost module, the path from there
            as in `named_modules`, the class of the innermost; None outside of modules.
        backward: whether a backward pass was going on: the line is in a hook or a user's function.
    """

    file: str
    line: int
    function: str
    module: str | None
    backward: bool

    def __str__(self) -> str:
        source = linecache.getline(self.file, self.line).strip()
        where = f"{shown(self.file)}:{self.line}"
        if not self.function.startswith("<"):
            where += f", in {self.function}"
        return f"{where}: {source}" if source else where


def place_of(frame: FrameType | None) -> tuple[Place | None, FrameType | None]:
    """Where the computation in ``frame`` was asked for, and the user's frame there.

    Neither, if it is the backward pass itself that computes, by a formula of an operation.
    """
    user: FrameType | None = None
    modules: list[Any] = []  # the innermost first
    backward = False
    while frame is not None and not backward:
        owner = frame.f_globals.get("__name__")
        if owner == ENGINE:
            if user is None:
                return None, None
            backward = True
        elif owner == CALLS:
            # No other frame is asked for its locals: as long as it runs, it would keep them.
            called = frame.f_locals.get("self")
            if hasattr(called, "named_modules") and not (modules and modules[-1] is called):
                modules.append(called)
        elif user is None and not ours[frame.f_code.co_filename]:
            user = frame
        frame = frame.f_back
    if user is None:
        return None, None
    code = user.f_code
    path = path_of(modules[::-1]) if modules else None
    return Place(code.co_filename, user.f_lineno, code.co_name, path, backward), user


def place_at(site: Site) -> Place:
    """What is known of a place that every node keeps."""
    return Place(site[0].co_filename, line_of(site), site[0].co_name, None, False)


def path_of(modules: list[Any]) -> str:
    """The names by which one leads to the next; what is not registered stands behind a ``>``."""
    text, named = type(modules[0]).__name__, False
    for parent, child in itertools.pairwise(modules):
        # Its own children first: to look through them all takes long in a large model.
        known = itertools.chain(parent._modules.items(), parent.named_modules())
        name = next((name for name, module in known if module is child), "")
        named = bool(name)
        text += f".{name}" if named else f" > {type(child).__name__}"
    return f"{text} ({type(modules[-1]).__name__})" if named else text
