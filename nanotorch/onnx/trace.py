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
CORE, READING = f"{PACKAGE}_core/", f"{PACKAGE}_core/layout.py"
READS = ("item", "tolist", "numpy", "__array__", "__bool__", "__float__", "__int__", "__index__")
SET_ITEM = Tensor.__setitem__.__code__
OWN = (PACKAGE, NUMPY)
FIXED = "a value of a tensor becomes a constant of the exported model, by {}"


@dataclass(frozen=True)
class Ref:
    """A tensor of a run.

    Attributes:
        key: a name; the numbers of a call and of its result; or a list of one text, which says how
            a tensor was made that no operation has returned.
    """

    key: Any
    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class Call:
    """A call of an operation, or of a function that has a mapping as a whole.

    Attributes:
        name: the name of the operation or function.
        arguments: its arguments by name, with a `Ref` for each known tensor and an array for any
            other; those of an operation are as its kernel gets them.
        operands: by the name of each operand of an operation, in order, the dtype that its kernel
            gets; None for an operand that is not one tensor.
        results: the tensors that it returns.
        site: the function that a module or the user called, and file and line of the user's code.
    """

    name: str
    arguments: Mapping[str, Any]
    operands: Mapping[str, Any]
    results: list[Ref]
    site: str


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
        self._before: dict[FrameType, Any] = {}  # tensors that calls in place are about to change

    def learn(self, tensor: Tensor, key: Any) -> None:
        """Note the key of a tensor; see `Ref`."""
        self._known.setdefault(id(tensor), (tensor, {}))[1][tensor._cell[0]] = key

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function and note its operations; returns the tensors in its result, resolved."""
        before: Any = sys.getprofile()
        sys.setprofile(self._hook)
        try:
            result = function(*args, **kwargs)
        finally:
            sys.setprofile(before if callable(before) else None)
        return [self._resolve(part) for part in tree_leaves(result) if isinstance(part, Tensor)]

    def _key(self, tensor: Tensor) -> Any:
        """The key of a tensor; None if it depends on no input."""
        found = self._known.get(id(tensor))
        return found and found[1].get(tensor._cell[0], ["a write through a view"])

    def _resolve(self, value: Any) -> Any:
        """A structure with a `Ref` for each known tensor, and a copied array for any other one."""

        def part(held: Any) -> Any:
            if not isinstance(held, Tensor):
                return held
            key, array = self._key(held), held._array
            return array.copy() if key is None else Ref(key, array.shape, array.dtype)

        return map_parts(value, part)

    def _hook(self, frame: FrameType, event: str, result: Any) -> None:
        code, held = frame.f_code, frame.f_locals
        if event == "call" and self._whole is None:
            if code in self._names:
                names = [*inspect.getargs(code).args, *filter(None, inspect.getargs(code)[1:])]
                self._whole = frame, self._resolve({name: held[name] for name in names})
            elif code.co_filename.startswith(GENERATED) and code.co_name.endswith("_"):
                self._before[frame] = self._resolve(held[code.co_varnames[0]])
            elif code.co_filename == READING and code.co_name in READS:
                outside = not str(frame.f_back and frame.f_back.f_code.co_filename).startswith(OWN)
                if outside and self._key(held["self"]) is not None:
                    warnings.warn(FIXED.format(site(frame)), OnnxExporterWarning, stacklevel=3)
        elif event == "return" and self._whole is not None:
            if frame is self._whole[0]:
                arguments, self._whole = self._whole[1], None
                self._note(self._names[code], arguments, {}, result, frame)
        elif event == "return" and code.co_filename.startswith(GENERATED):
            before, op = self._before.pop(frame, None), frame.f_globals.get("this_op")
            if isinstance(op, Op) and result is not None:
                operands = {n: getattr(held.get(f"a_{n}"), "dtype", None) for n in op.inputs}
                arguments = self._resolve({n: held[n] for n in op.arguments if n in held})
                arguments |= {} if before is None else {op.inputs[0]: before}
                self._note(op.name, arguments, operands, result, frame)
        elif event == "return" and code is SET_ITEM:
            self.learn(held["self"], [f"a write at an index, {site(frame)}"])
        elif event == "return" and code.co_filename.startswith(KERNELS):
            self._suspect(frame, result)

    def _note(
        self, name: str, arguments: Any, operands: Any, result: Any, frame: FrameType
    ) -> None:
        """Note a call with known operands, unless an inner call has made the same result."""
        results = [part for part in tree_leaves(result) if isinstance(part, Tensor)]
        if all(isinstance(self._key(part), tuple) for part in results):
            return
        if any(isinstance(part, Ref) for part in tree_leaves(arguments)):
            for number, part in enumerate(results):
                self.learn(part, (len(self.calls), number))
            refs = self._resolve(results)
            self.calls.append(Call(name, arguments, operands, refs, site(frame)))

    def _suspect(self, frame: FrameType, result: Any) -> None:
        """Note how a function makes an unknown tensor from a known one."""
        unknown = isinstance(result, Tensor) and self._key(result) is None
        if unknown and frame.f_code.co_filename != CREATION:
            given = [frame.f_locals.get(name) for name in inspect.getargs(frame.f_code).args]
            if any(isinstance(part, Ref) for part in tree_leaves(self._resolve(given))):
                self.learn(result, [site(frame)])


def site(frame: FrameType) -> str:
    """The function of this package that a module or the user called, and the user's line."""
    name, at = frame.f_code.co_name, frame.f_back
    while at is not None and at.f_code.co_filename.startswith((GENERATED, CORE, *KERNELS)):
        if not at.f_code.co_filename.startswith(CORE):
            name = at.f_code.co_name
        at = at.f_back
    return f"{name} ({users_line(frame)})"
