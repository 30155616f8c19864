"""Running a step once under trace, and noting all it does."""

import dis
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.grad_mode import InferenceCell, mode
from nanotorch._core.op import observers
from nanotorch._core.random import Generator
from nanotorch._core.tensor import Tensor
from nanotorch.compile.proxy import Conditions, holds, leaves
from nanotorch.compile.reach import NAMES_OF_THINGS, VALUES, Arguments, State, Survey, Unguardable
from nanotorch.compile.tape import (
    CONSTANT,
    OUTSIDE,
    SLOT,
    TEMPORARY,
    Count,
    Gradient,
    Ref,
    Result,
    Storage,
    Tape,
    is_used_up,
)
from nanotorch.compile.tracing import Recorder, Watcher, function_behind, traced
from nanotorch.ops.generator import default_generator

META = ("_requires_grad", "_edge", "_view", "_retains_grad", "_leaf_hooks", "_past")


HAS_GRAPH = "it returns a tensor whose graph can still be used"


class Refused(Exception):  # noqa: N818 - not an error: the step then runs as it is
    """A step cannot be captured."""


class Slot:
    """A tensor that may be another one at each call.

    Attributes:
        path: how to find it among the arguments, as source; None for a leaf's gradient.
        tensor: the one of the trace.
        leaf: whose gradient it is.
    """

    __slots__ = ("array", "leaf", "path", "storage", "tensor")

    def __init__(
        self, path: str | None, tensor: Tensor, storage: Storage, leaf: Tensor | None = None
    ) -> None:
        self.path, self.tensor, self.storage, self.leaf = path, tensor, storage, leaf
        self.array = tensor._array

    def forget(self) -> None:
        """Hold no memory any more."""
        empty = np.empty(0, np.float32)
        self.array, self.storage.base = empty, empty
        if self.leaf is not None:
            self.tensor = self.leaf


def surroundings() -> tuple[Any, ...]:
    """What of the library's state decides what operations do."""
    return (mode.enabled, dtypes.default.numpy)


class Capture:
    """One traced step: its tape and its effects.

    Attributes:
        result: what the step returned, a `Result` in place of each tensor it made.
        switched: modules that go between training and evaluation: their attributes, and the mode.
        retry, grown: whether another trace may succeed, since there is state now, or a module, that
            was made in this one, or more code is known.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        codes: set[CodeType],
        library: dict[CodeType, dict[str, Any]],
    ) -> None:
        self.surroundings = surroundings()
        self.arguments = Arguments(args, kwargs)
        self.function, self.codes, self.library = function, codes, library
        self.survey = survey_of(function, self.arguments, codes, library)
        self.slots: list[Slot] = []
        self.counts: list[Count] = []
        self.gradients: list[Gradient] = []
        self.switched: list[tuple[dict[str, Any], Any]] = []
        self.result: Any = None
        self.known = dict(self.survey.tensors)
        self.known |= {id(tensor): tensor for _, tensor in self.arguments.free}
        self.returned: dict[int, Result] = {}
        self.retry = self.grown = False
        self.problem: str | None = None

    @property
    def tape(self) -> Tape:
        return self.recorder.tape

    @property
    def conditions(self) -> Conditions:
        return self.recorder.conditions

    def run(self, args: Any, kwargs: Any) -> Any:
        """Execute the step under trace.

        Returns:
            What it returned.

        Raises:
            Refused: as ``problem``, if it cannot be replayed; the step has been executed all
                the same.
        """
        self.recorder = Recorder(self.known)
        self.add_slots()
        before = {key: state_of(tensor) for key, tensor in self.known.items()}
        watcher = Watcher()
        held = State(list(self.known.values()), self.generators(), self.survey.modules)
        failure, out = "", None

        def watched() -> Any:
            with watcher.watching():
                return self.function(*args, **kwargs)

        try:
            out = traced(self.recorder, watched)
        except Exception as error:
            if not self.same_python():  # which cannot be put back
                raise
            failure = f"{place_of(self.function)}: tracing it failed: {error}"
        self.recorder.proxies.clear()  # which hold what the step has made
        if failure:
            held.put_back()
            out = self.function(*args, **kwargs)  # an error of the step's own comes again
            self.problem = failure
            return out
        self.problem = self.recorder.problem or watcher.problem
        self.retry = self.recorder.made_state or watcher.imported
        if watcher.imported:  # the tape has what the module did then
            self.problem = self.problem or f"{place_of(self.function)}: a module is imported"
        known = watcher.codes <= self.codes and watcher.library.keys() <= self.library.keys()
        if not known and (self.problem is None or self.retry):
            self.codes |= watcher.codes
            self.library |= watcher.library
            self.grown, self.problem = True, f"{place_of(self.function)}: more code was called"
        if self.problem is None:
            try:
                self.note_effects(before, out, held)
            except (Refused, Unguardable) as reason:
                self.problem = self.problem or f"{place_of(self.function)}: {reason}"
        return out

    def same_python(self) -> bool:
        """Whether the step has changed nothing that Python code can see, up to an error."""
        try:
            after = survey_of(self.function, self.arguments, self.codes, self.library)
        except Unguardable:
            return False
        return after.signature == self.survey.signature

    def generators(self) -> list[Any]:
        """The generators in reach."""
        found = [g for g in self.survey.kept if isinstance(g, Generator)]
        return [default_generator, *found]

    def add_slots(self) -> None:
        """The memory of arguments and of gradients is looked up anew at every call."""
        for path, tensor in self.arguments.free:
            self.slots.append(Slot(path, tensor, self.tape.add_slot(tensor._array)))
        grads: dict[int, Tensor] = {}
        for tensor in list(self.known.values()):
            grad = tensor._grad
            if grad is not None and id(grad) not in grads:
                grads[id(grad)] = grad
                self.known[id(grad)] = grad
                storage = self.tape.add_slot(grad._array)
                self.slots.append(Slot(None, grad, storage, tensor))

    # Effects

    def note_effects(self, before: dict[int, Any], out: Any, held: State) -> None:
        """Compare the state of all tensors and of Python with that before the step."""
        if surroundings() != self.surroundings or observers:
            raise Refused("it leaves another mode behind than there was")
        for key, tensor in list(self.known.items()):
            array, meta, _, grad = before[key]
            if tensor._array is not array:
                raise Refused("a tensor's memory is replaced")
            if any(a is not b for a, b in zip(meta, state_of(tensor)[1], strict=True)):
                raise Refused("the history or the flags of a tensor from outside change")
            if tensor._grad is not grad:
                self.note_gradient(tensor)
        self.note_counts(before)
        asked = [leaf for expression, _ in self.conditions.asked for leaf in leaves(expression)]
        if any(leaf.late for leaf in asked):
            raise Refused("a number that the optimizer's step computes decides what it does next")
        self.compare_state(held)
        self.check_overlaps()
        self.check_constants()
        self.result = self.note_result(out)

    def note_gradient(self, leaf: Tensor) -> None:
        """A leaf has another ``grad`` than before."""
        grad = leaf._grad
        if grad is None:
            self.gradients.append(Gradient(leaf, None))
            return
        storage = self.tape.find(grad._array)
        if storage is None or id(grad) in self.known or grad._edge is not None:
            raise Refused("a gradient is replaced by a tensor from elsewhere")
        if storage.kind not in (TEMPORARY, CONSTANT) or type(grad) is not Tensor:
            raise Refused("a gradient shares memory with another tensor")
        self.gradients.append(Gradient(leaf, Ref(storage, grad._array)))

    def note_counts(self, before: dict[int, Any]) -> None:
        """Which version cells have changed."""
        slots = {id(slot.tensor): slot for slot in self.slots}
        seen: set[int] = set()
        for key, tensor in self.known.items():
            cell, former = tensor._cell, before[key][2]
            if id(cell) in seen or list(cell) == former:
                continue
            seen.add(id(cell))
            self.counts.append(Count(cell, slots.get(key), cell[0] - former[0], list(cell[1:])))

    def compare_state(self, held: State) -> None:
        """Refuse a step that changes what Python code can see, other than modules' modes."""
        modes = [(own, own["training"], before) for own, before in held.modes]
        self.switched = [(own, now) for own, now, before in modes if now is not before]
        held.switch_back()
        try:
            after = survey_of(self.function, self.arguments, self.codes, self.library)
        finally:
            for own, training in self.switched:
                own["training"] = training
        if after.signature == self.survey.signature:
            return
        changed = next((c for c in self.survey.checks if not holds(c)), None)
        if changed is None or not isinstance(changed.container, (dict, list)):
            name = getattr(changed, "key", None)
        else:
            name = changed.key
        self.retry = True  # once: optimizers make their state in their first step
        where = next(stores(self.codes, str(name)), place_of(self.function))
        what = f"`{name}` changes" if isinstance(name, str) else "a variable outside changes"
        self.problem = f"{where}: {what} in the step, which a replay would not repeat"

    def check_overlaps(self) -> None:
        """Refuse arguments that share memory with what the step writes to."""
        written = {
            out.storage for e in self.tape.entries for out in e.outs
            if out.storage.kind in (OUTSIDE, SLOT)
        }  # fmt: skip
        for slot in self.slots:
            for storage in self.tape.storages:
                if storage is slot.storage or not written & {storage, slot.storage}:
                    continue
                if storage.kind in (OUTSIDE, SLOT) and np.may_share_memory(
                    storage.base, slot.array
                ):
                    raise Refused("an argument shares memory with a tensor that is written to")

    def check_constants(self) -> None:
        """Refuse what was read past the recorder: arrays in the memory of tensors from outside."""
        ends = [np.lib.array_utils.byte_bounds(t._array) for t in self.known.values()]
        for storage in self.tape.storages:
            if storage.kind == CONSTANT and storage.base.size:
                low, high = np.lib.array_utils.byte_bounds(storage.base)
                if any(low < stop and start < high for start, stop in ends):
                    raise Refused("a part of a tensor is read in a way that is not followed")

    def note_result(self, out: Any) -> Any:
        """What the step returned, with its tensors noted."""
        if isinstance(out, Tensor):
            return self.note_tensor(out)
        if type(out) in (tuple, list):
            return type(out)([self.note_result(part) for part in out])
        if type(out) is dict:
            return {key: self.note_result(part) for key, part in out.items()}
        whole = isinstance(out, tuple) and all(isinstance(part, VALUES) for part in out)
        if isinstance(out, (*VALUES, *NAMES_OF_THINGS)) or whole:
            return out
        raise Refused(f"it returns a {type(out).__name__}")

    def note_tensor(self, out: Tensor) -> Any:
        """A tensor that the step returned."""
        if id(out) in self.known:
            for slot in self.slots:
                if slot.tensor is out:
                    return slot
            return Same(out)
        if type(out) is not Tensor:
            raise Refused("it returns a tensor of another class")
        for gradient in self.gradients:
            if gradient.leaf._grad is out:
                return gradient
        storage = self.tape.find(out._array)
        if storage is None or storage.kind not in (TEMPORARY, CONSTANT):
            raise Refused("it returns a view of a tensor from outside")
        if id(out) in self.returned:
            return self.returned[id(out)]
        if any(result.ref.storage is storage for result in self.returned.values()):
            raise Refused("it returns two tensors that share memory")
        if any(g.ref is not None and g.ref.storage is storage for g in self.gradients):
            raise Refused("it returns a tensor that shares memory with a gradient")
        edge = None
        if out.requires_grad:
            if out.grad_fn is None or has_graph(out):
                raise Refused(HAS_GRAPH)
            edge = (out.grad_fn, out.output_nr)
        self.returned[id(out)] = Result(
            Ref(storage, out._array), edge, InferenceCell if out.is_inference() else list
        )
        return self.returned[id(out)]


class Same:
    """A tensor from outside that the step returned."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def has_graph(out: Tensor) -> bool:
    """Whether somebody may go backward from a tensor."""
    return out.grad_fn is not None and not is_used_up(out.grad_fn)


def place_of(function: Any) -> str:
    """File and line of a function; of a module, those of its forward."""
    function = inspect.unwrap(function) if callable(function) else function
    inner = function_behind(getattr(function, "forward", function))
    if inner is None:
        return getattr(function, "__name__", type(function).__name__)
    return f"{inner.__code__.co_filename}:{inner.__code__.co_firstlineno}"


def state_of(tensor: Tensor) -> Any:
    """What of a tensor a step might change."""
    meta = [getattr(tensor, name) for name in META]
    return tensor._array, meta, list(tensor._cell), tensor._grad


def survey_of(
    function: Any, arguments: Arguments, codes: Iterable[CodeType], library: Iterable[CodeType]
) -> Survey:
    """What the function and its arguments reach."""
    survey = Survey(codes, library)
    survey.reach(function, "the step")
    for path, value in arguments.fixed:
        survey.reach(value, path)
    for path, kind, _ in arguments.lengths:
        if kind not in (tuple, list, dict):
            survey.reach(kind, path)
    survey.conclude()
    return survey


def stores(codes: Iterable[CodeType], name: str) -> Iterator[str]:
    """The lines that assign to a name."""
    for code in codes:
        line = code.co_firstlineno
        for instruction in dis.get_instructions(code):
            line = instruction.starts_line or line
            if instruction.opname.startswith("STORE") and instruction.argval == name:
                yield f"{code.co_filename}:{int(line)}"
