"""The operations of one run of a model, which Python's profiling hook sees."""

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from nanotorch._core.call_site import PACKAGE
from nanotorch._core.op import Op
from nanotorch._core.tensor import Tensor
from nanotorch.compile.recorder import NUMPY, users_line
from nanotorch.compile.tape import map_parts
from nanotorch.func.trees import tree_leaves
from nanotorch.onnx.errors import OnnxExporterWarning

GENERATED = "<nanotorch op "
# Where functions may compute a tensor from a tensor without an operation.
KERNELS = tuple(f"{PACKAGE}{place}" for place in ("ops/", "nn/functional/", "_core/tensor.py"))
CREATION = f"{PACKAGE}ops/creation.py"  # results depend on the shape of the argument alone
CORE = f"{PACKAGE}_core/"
READING = f"{PACKAGE}_core/layout.py"
READS = ("item", "tolist", "numpy", "__array__", "__bool__", "__float__", "__int__", "__index__")
WRITTEN = "a write through a view"
SET_ITEM = Tensor.__setitem__.__code__  # type: ignore[attr-defined]
FIXED = "a value of a tensor becomes a constant of the exported model: {} reads it ({})"


@dataclass(frozen=True)
class Ref:
    """A tensor of a run.

    Attributes:
        key: a name; the numbers of a call and of its result; for a tensor that no operation has
            made, a list of one text, which says how it was made.
    """

    key: Any
    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class Call:
    """A call of an operation, or of a function that has a mapping as a whole.

    Attributes:
        name: the name of the operation or function in the table.
        shown: the name of the function that a module or the user called.
        arguments: its arguments by name, with a `Ref` for each known tensor and an array for any
            other; those of an operation are as its kernel gets them.
        operands: by the name of each operand of an operation, in order, the dtype that its kernel
            gets; None for an operand that is not one tensor.
        results: the tensors that it returns.
        where: file and line of the user's code.
    """

    name: str
    shown: str
    arguments: Mapping[str, Any]
    operands: Mapping[str, Any]
    results: list[Ref]
    where: str


class Trace:
    """A run of a model, and the tensors in it that depend on the inputs or the parameters.

    A tensor is known by its identity and version: after a write, even through a view, it is unknown
    until an operation is seen to return it.

    Args:
        functions: the functions that are noted as a whole, by name.

    Attributes:
        calls: the calls with known operands, in order.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.calls: list[Call] = []
        self._names = {inspect.unwrap(f).__code__: name for name, f in functions.items()}
        self._known: dict[int, tuple[Tensor, dict[float, Any]]] = {}
        self._whole: tuple[FrameType, dict[str, Any]] | None = None  # the function that is noted
        self._warned: set[str] = set()  # the lines
        self._before: dict[FrameType, Any] = {}  # tensors that calls in place are about to change

    def learn(self, tensor: Tensor, key: Any) -> None:
        """Note the key of a tensor; see `Ref`."""
        self._known.setdefault(id(tensor), (tensor, {}))[1][tensor._cell[0]] = key

    def resolve(self, value: Any) -> Any:
        """A structure with a `Ref` for each known tensor, and a copied array for any other one."""

        def part(held: Any) -> Any:
            if not isinstance(held, Tensor):
                return held
            key = self._key(held)
            if key is None:
                return held._array.copy()
            return Ref(key, held._array.shape, held._array.dtype)

        return map_parts(value, part)

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function and note its operations; returns its result, resolved."""
        before: Any = sys.getprofile()
        sys.setprofile(self._hook)
        try:
            result = function(*args, **kwargs)
        finally:
            sys.setprofile(before if callable(before) else None)
        return [self.resolve(part) for part in tree_leaves(result) if isinstance(part, Tensor)]

    def _key(self, tensor: Tensor) -> Any:
        """The key of a tensor; None if it depends on no input."""
        found = self._known.get(id(tensor))
        return None if found is None else found[1].get(tensor._cell[0], [WRITTEN])

    def _hook(self, frame: FrameType, event: str, result: Any) -> None:
        code = frame.f_code
        if event == "call" and self._whole is None:
            if code in self._names:
                names = inspect.getargs(code)
                every = [*names.args, *([names.varargs] if names.varargs else [])]
                held = {name: frame.f_locals[name] for name in every}
                self._whole = frame, self.resolve(held)
            elif code.co_filename.startswith(GENERATED) and code.co_name.endswith("_"):
                self._before[frame] = self.resolve(frame.f_locals[code.co_varnames[0]])
            elif code.co_filename == READING and code.co_name in READS:
                self._read(frame)
        elif event == "return" and code is SET_ITEM:
            self.learn(frame.f_locals["self"], [f"a write at an index ({users_line(frame)})"])
        elif event == "return" and result is not None:
            if self._whole is not None:
                if frame is self._whole[0]:
                    arguments, self._whole = self._whole[1], None
                    self._note(self._names[code], arguments, {}, result, frame)
            elif code.co_filename.startswith(GENERATED):
                self._note_operation(frame, result)
            elif code.co_filename.startswith(KERNELS) and code.co_filename != CREATION:
                self._suspect(frame, result)

    def _note_operation(self, frame: FrameType, result: Any) -> None:
        op, held = frame.f_globals.get("this_op"), frame.f_locals
        before = self._before.pop(frame, None)
        if not isinstance(op, Op):
            return
        arrays = {n: held.get(f"a_{n}") for n in op.inputs}
        operands = {n: getattr(a, "dtype", None) for n, a in arrays.items()}
        arguments = self.resolve({n: held[n] for n in op.arguments if n in held})
        if before is not None:
            arguments[op.inputs[0]] = before
        self._note(op.name, arguments, operands, result, frame)

    def _note(
        self, name: str, arguments: Any, operands: Any, result: Any, frame: FrameType
    ) -> None:
        """Note a call with known operands, unless an inner call has made the same result."""
        results = [part for part in tree_leaves(result) if isinstance(part, Tensor)]
        if all(isinstance(self._key(part), tuple) for part in results):
            return
        if not any(isinstance(part, Ref) for part in tree_leaves(arguments)):
            return
        for number, part in enumerate(results):
            self.learn(part, (len(self.calls), number))
        refs = self.resolve(results)
        shown = outermost_name(frame)
        self.calls.append(Call(name, shown, arguments, operands, refs, users_line(frame)))

    def _read(self, frame: FrameType) -> None:
        """Warn if the user's code reads the values of a known tensor."""
        line, back = users_line(frame), frame.f_back
        if back is not None and back.f_code.co_filename.startswith((PACKAGE, NUMPY)):
            return
        if line not in self._warned and self._key(frame.f_locals["self"]) is not None:
            self._warned.add(line)
            name = frame.f_code.co_name.strip("_")
            warnings.warn(FIXED.format(name, line), OnnxExporterWarning, stacklevel=4)

    def _suspect(self, frame: FrameType, result: Any) -> None:
        """Note how a function makes an unknown tensor from a known one."""
        if isinstance(result, Tensor) and self._key(result) is None:
            held = frame.f_locals
            given = [held.get(name) for name in inspect.getargs(frame.f_code).args]
            if any(isinstance(p, Tensor) and self._key(p) is not None for p in tree_leaves(given)):
                self.learn(result, [f"{outermost_name(frame)} ({users_line(frame)})"])


def outermost_name(frame: FrameType) -> str:
    """The name of the function, by which the caller of this package's functions knows a call."""
    name, at = frame.f_code.co_name, frame.f_back
    while at is not None and at.f_code.co_filename.startswith((GENERATED, CORE, *KERNELS)):
        if not at.f_code.co_filename.startswith(CORE):
            name = at.f_code.co_name
        at = at.f_back
    return name
