"""Call sites: the lines of the user's source that errors and warnings point at."""

import contextlib
import itertools
import linecache
import os
import sys
import warnings
from types import CodeType, FrameType
from typing import Any, NamedTuple

from nanotorch._core.grad_mode import mode
from nanotorch._core.ownership import IN_VARIABLE, references

# Sites: every node keeps the site of the user's call that recorded it. A site is a code object and
# the offset of an instruction, which cost almost nothing to keep. Only an error message turns a
# site into a file and a line, after PyTorch's text.


Site = tuple[CodeType, int]
PACKAGE = __file__.rpartition("_core")[0]  # with the separator
COMMANDS = f"{PACKAGE}train{os.sep}cli.py"  # counts as a user's program
WHERE = "\n\nWhere:"


class _Ours(dict[str, bool]):
    """By its name, whether a source file is the framework's own, generated code included."""

    def __missing__(self, filename: str) -> bool:
        own = filename.startswith((PACKAGE, "<nanotorch")) and filename != COMMANDS
        self[filename] = own
        return own


ours = _Ours()


def find_site(frame: FrameType | None) -> Site | None:
    """The site of the innermost user's frame, from ``frame`` outwards."""
    while frame is not None:
        code = frame.f_code
        if not ours[code.co_filename]:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def current_site() -> Site | None:
    """The site of the user's line that runs now, or that calls one of our modules."""
    site: Site | bool | None = mode.enabled
    return site if isinstance(site, tuple) else find_site(sys._getframe(1))


def count_write(cell: list[Any], name: str, depth: int = 2) -> None:
    """Count a write by the operation ``name`` in the version cell of the memory written to.

    Args:
        depth: how many frames of ours are the innermost ones: it takes long to look at a frame.
    """
    cell[0] = (cell[0] if cell.__class__ is list else cell.version) + 1  # type: ignore[attr-defined]
    site: Site | bool | None = mode.enabled
    if site.__class__ is not tuple:
        try:
            site = find_site(sys._getframe(depth))
        except ValueError:  # C has called us
            site = None
    cell[1] = (name, site)


def at_site(site: Site | None) -> str:
    """The text ` at file:line`, and below it the line itself if it can be read."""
    if site is None:
        return ""
    found = call_site_at(site)
    text = f"\n      {found.source}" if found.source else ""
    return f" at {relative_path(found.file)}:{found.line}{text}"


def relative_path(path: str) -> str:
    """A file's path in messages: relative to the working directory, if the file is inside it.

    A notebook's cell has its name in tracebacks, not that of its temporary file.
    """
    notebook = sys.modules.get("IPython")
    shell = notebook and notebook.get_ipython()
    if cell := shell and shell.compile.format_code_name(path):
        return " ".join(cell)
    return path.removeprefix(os.getcwd() + os.sep)  # noqa: PTH109 - pathlib imports for 3 ms


def paragraph(*parts: str) -> str:
    """The part of a message after PyTorch's text: one indented line for each of ``parts``."""
    return WHERE + "".join(f"\n  {part}" for part in parts) if parts else ""


# Call sites for users: the line of source, and the module whose call runs it.


ENGINE, CALLS = "nanotorch._core.engine", "nanotorch.nn.module_call"
FUNCTION = 1  # the flag of code whose variables are not in a dict


class CallSite(NamedTuple):
    """A line of the user's source, and the module whose call ran it.

    Attributes:
        module: a text such as ``MLP.net.0 (Linear)``: the class of the outermost module, the path
            from there as in `named_modules`, the class of the innermost; None outside modules.
        backward: whether the line ran in a backward pass, in a hook or a user's function.
    """

    file: str
    line: int
    function: str
    module: str | None = None
    backward: bool = False

    @property
    def source(self) -> str:
        """The line itself; "" if it cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        where = f"{relative_path(self.file)}:{self.line}"
        if not self.function.startswith("<"):
            where += f", in {self.function}"
        return f"{where}: {self.source}" if self.source else where


def call_site_of(frame: FrameType | None) -> tuple[CallSite | None, FrameType | None]:
    """The call site of the computation in ``frame``, and the user's frame there.

    Both are None if the backward pass itself computes, by the formula of an operation.
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
            # Read the locals of these frames only: before Python 3.13, the read leaves in the frame
            # a dict that keeps its values alive until the frame ends.
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
    return CallSite(code.co_filename, user.f_lineno, code.co_name, path, backward), user


def call_site_at(site: Site) -> CallSite:
    """The call site of a node's site, without a module."""
    code, offset = site
    lines = (line for start, end, line in code.co_lines() if start <= offset < end and line)
    return CallSite(code.co_filename, next(lines, code.co_firstlineno), code.co_name)


def names_in(frame: FrameType | None) -> dict[int, str]:
    """Names of tensors by `id`: a frame's variables, and the parts of modules among them."""
    return {number: name for number, (name, _) in tensors_in(frame).items()}


def tensors_in(frame: FrameType | None) -> dict[int, tuple[str, Any]]:
    """The names and tensors of `names_in`, by `id`."""
    found: dict[int, tuple[str, Any]] = {}
    if frame is None:
        return found
    seen = frame.f_locals
    for variable, value in [*seen.items(), *frame.f_globals.items()]:
        kind = type(value)
        if variable.startswith("_"):
            continue
        if hasattr(kind, "grad_fn"):
            found.setdefault(id(value), (variable, value))
        elif hasattr(kind, "named_parameters"):
            with contextlib.suppress(Exception):  # the module may be only partly initialized
                for name, part in (*value.named_parameters(), *value.named_buffers()):
                    found.setdefault(id(part), (f"{variable}.{name}", part))
    # Before Python 3.13, the frame keeps the dict `f_locals`, and with it the tensors. Clear the
    # dict, unless the user holds it, too, as the result of `locals()`.
    kept = type(seen) is dict and frame.f_code.co_flags & FUNCTION
    if kept and references(seen) == IN_VARIABLE + 1:
        seen.clear()
    return found


def path_of(modules: list[Any]) -> str:
    """The path through nested modules; ``>`` precedes one that its caller has not registered."""
    text, named = type(modules[0]).__name__, False
    for parent, child in itertools.pairwise(modules):
        # Direct children first: `named_modules` walks the whole model.
        known = itertools.chain(parent._modules.items(), parent.named_modules())
        name = next((name for name, module in known if module is child), "")
        named = bool(name)
        text += f".{name}" if named else f" > {type(child).__name__}"
    return f"{text} ({type(modules[-1]).__name__})" if named else text


def operation_name(node: Any) -> str:
    """The name of a node's operation in messages."""
    op = getattr(type(node), "op", None)
    return node.name() if op is None else str(op.known_as)


def describe_operands(operands: dict[str, Any], *more: str) -> str:
    """The part of a message with the operands' shapes and the lines that made them.

    Args:
        operands: tensors by the names of the parameters.
        more: further lines.
    """
    names = names_in(call_site_of(sys._getframe(1))[1])
    parts = []
    for name, t in operands.items():
        node, known = None, names.get(id(t))
        with contextlib.suppress(RuntimeError):  # a view may have lost its history
            node = t.grad_fn
        view = None if hasattr(t, "_whole") else t._view  # a sample under `vmap` has no `_view`
        if known is None and view is not None and id(view.base) in names:
            known = f"a view of {names[id(view.base)]}"
        called = name if known in (None, name) else f"{name} ({known})"
        leaf = t.requires_grad and view is None
        maker = "a leaf" if leaf else "not made by a recorded operation"
        if node is not None:
            maker = f"made by {operation_name(node)}{at_site(node._site)}"
        kind = "" if str(t.dtype) == "torch.float32" else f" and dtype {t.dtype.name}"
        parts.append(f"{called} has shape {list(t.shape)}{kind}, {maker}")
    return paragraph(*parts, *more)


def note_operands(error: Exception, /, **operands: Any) -> Exception:
    """Append the text of `describe_operands` to an error; returns the error."""
    error.args = (str(error) + describe_operands(operands),)
    return error


def describe_range(holder: str, things: str, count: int, name: str, numbers: Any) -> str:
    """The part of a message with a tensor's number of things and the range of the indices.

    Args:
        holder: the name of the tensor.
        things: the noun for its parts, such as "rows".
        count: the number of these parts.
        name: the name of the indices.
        numbers: the indices, an ndarray.
    """
    return paragraph(
        f"{holder} has {count} {things}, 0 to {count - 1}",
        f"{name} has values from {numbers.min()} to {numbers.max()}",
    )


# Warnings point at the user's line: so Python shows a warning once for each of these lines.


BETWEEN = ("contextlib", "copy", "pickle")  # Python's modules that call us for the user
said: set[str] = set()  # the keys of the warnings that `warn_once` has given
always = [False]  # whether `warn_once` repeats them: see `set_warn_always`


def warn(
    text: str | Warning, category: type[Warning] = UserWarning, frame: FrameType | None = None
) -> None:
    """Give a warning that points at the user's line.

    Args:
        frame: the user's frame; default: the innermost one.
    """
    if frame is None:
        frame = sys._getframe(1)
        while frame.f_back is not None and (
            ours[frame.f_code.co_filename] or frame.f_globals.get("__name__") in BETWEEN
        ):
            frame = frame.f_back
    module = frame.f_globals.get("__name__") or "<string>"  # as Python itself does
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    file, line = frame.f_code.co_filename, frame.f_lineno
    warnings.warn_explicit(text, category, file, line, module, registry)


def warn_once(text: str, key: str = "") -> None:
    """Warn at most once in a process, as PyTorch does for some warnings.

    Args:
        key: a key that is shared by all texts of the same warning; default: the text.
    """
    if always[0] or (key or text) not in said:
        said.add(key or text)
        warn(text)
