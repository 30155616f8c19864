"""One run of a step under trace, which records its calls and effects."""

import dis
import hashlib
import inspect
import sys
import threading
from collections.abc import Callable, Container
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.random  # a watched step must not be the first to load it

from nanotorch._core import doors, dtypes, random
from nanotorch._core.autocast import state as autocast
from nanotorch._core.grad_mode import InferenceCell, mode
from nanotorch._core.op import OPS
from nanotorch._core.random import Generator
from nanotorch._core.tensor import Tensor
from nanotorch.compile.codegen import MISS
from nanotorch.compile.guards import (
    KNOWN_OPTIMIZERS,
    MISSING,
    NAMES_OF_THINGS,
    OPTIONS,
    VALUES,
    Arguments,
    Check,
    Guards,
    Refused,
    Watcher,
    changes_gradients,
    check_holds,
    function_behind,
)
from nanotorch.compile.joint import GOES_BACKWARD, HAS_GRAPH, Joint, outputs_of
from nanotorch.compile.recorder import NOBODY, Recorder, Symbolic, Traced, current, unwrap_all
from nanotorch.compile.tape import (
    CONSTANT,
    OUTSIDE,
    SLOT,
    TEMPORARY,
    Count,
    Gradient,
    Leaf,
    Ref,
    Result,
    Slot,
    Tape,
    has_graph,
    leaves,
    map_parts,
)
from nanotorch.nn.module import Module
from nanotorch.ops.random import default_generator
from nanotorch.optim.lbfgs import LBFGS
from nanotorch.optim.optimizer import Optimizer, evaluate
from nanotorch.optim.rules import SGD, Rule

# The trace of a step: library code sees traced arrays; users' code sees no difference.
#
# These things are replaced during the call and restored after it. `Tensor._array` returns `Traced`
# arrays to the tracing thread. `np` in the library's modules makes new arrays traced. Kernels may
# be called as a whole. Generators record their draws.


tracing: dict[int, Any] = {}  # the `kwargs` of the call that traces: one at a time
# Classes whose steps are traced specially. The step of a user's class is ordinary Python.
STEPS: tuple[type, ...] = (SGD, Rule, LBFGS)
UNTOUCHED = ("nanotorch.compile", "nanotorch._core.random")
DRAWS = (
    "uniform", "normal", "integers", "naturals", "permutation", "bernoulli", "exponential",
    "multinomial",
)  # fmt: skip


class ArrayAttribute:
    """The descriptor `Tensor._array` during a trace."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __get__(self, tensor: Any, kind: Any = None) -> Any:
        if tensor is None:
            return self
        array = tensor.__dict__.get("_array", MISSING)
        if array is MISSING:
            raise AttributeError("_array")
        if threading.get_ident() != self.recorder.thread:
            return array
        return self.recorder.seen(tensor, array)

    def __set__(self, tensor: Any, value: Any) -> None:
        if threading.get_ident() == self.recorder.thread:
            value = self.recorder.given(tensor, value)
        tensor.__dict__["_array"] = value


class Numpy:
    """The module `np` during a trace: the new arrays that it makes are traced."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        for name, value in (("zeros", 0), ("ones", 1), ("empty", None), ("full", MISSING)):
            for made in (name, f"{name}_like"):
                setattr(self, made, constructor(getattr(np, made), value, recorder))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def array(self, object: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if type(object) is Traced and self.recorder.mine:
            kwargs |= {} if dtype is None else {"dtype": dtype}
            return self.recorder.function(np.array, (object,), kwargs)
        if isinstance(object, Symbolic) and self.recorder.mine:
            ref = self.recorder.number(object, np.dtype(dtype or np.float64))
            return Traced(ref.array)
        return np.array(object, dtype, **kwargs)

    def asarray(self, a: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if type(a) is Traced and self.recorder.mine:
            same = dtype is None or np.dtype(dtype) == a.dtype
            return a if same else a.astype(dtype)
        return self.array(a, dtype) if isinstance(a, Symbolic) else np.asarray(a, dtype, **kwargs)

    def ascontiguousarray(self, a: Any, dtype: Any = None) -> Any:
        if type(a) is Traced and self.recorder.mine:
            return self.recorder.function(np.ascontiguousarray, (a,), {})
        return np.ascontiguousarray(a, dtype)


def constructor(function: Callable[..., Any], value: Any, recorder: Recorder) -> Callable[..., Any]:
    """A function such as `np.zeros` whose results are traced.

    It is not a method: that would make a reference cycle, which keeps the trace alive.

    Args:
        value: the value of the elements; None for any, `MISSING` for the argument ``fill_value``.
    """

    def make(*args: Any, **kwargs: Any) -> Any:
        array = function(*unwrap_all(args), **unwrap_all(kwargs))
        if not recorder.mine:
            return array
        given = args[1] if len(args) > 1 else kwargs.get("fill_value")
        return recorder.blank(array, given if value is MISSING else value)

    return make


class Changes:
    """Temporary replacements of entries and attributes."""

    def __init__(self) -> None:
        self.undo: list[tuple[Any, ...]] = []  # functions with their arguments

    def item(self, container: dict[Any, Any], key: Any, value: Any) -> None:
        """Replace an entry of a dict."""
        self.undo.append((container.__setitem__, key, container[key]))
        container[key] = value

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a class."""
        before = vars(owner).get(name, MISSING)
        last = (
            (remove_attribute, owner, name) if before is MISSING else (setattr, owner, name, before)
        )
        self.undo.append(last)
        setattr(owner, name, value)

    def put_back(self) -> None:
        """Undo all replacements; an interruption waits until this is done."""
        interruption = None
        while True:
            try:
                while self.undo:
                    function, *arguments = self.undo[-1]
                    function(*arguments)
                    del self.undo[-1]
                break
            except KeyboardInterrupt as error:
                interruption = error
        if interruption is not None:
            raise interruption


def remove_attribute(owner: Any, name: str) -> None:
    """Delete an attribute of a class, if it is still there."""
    if name in vars(owner):
        delattr(owner, name)


def run_traced(recorder: Recorder, run: Callable[[], Any]) -> Any:
    """Call ``run`` while this thread's library code works on traced arrays; returns its result."""
    changes = Changes()
    try:
        install_replacements(changes, recorder)
        return run()
    finally:  # a generator's `finally` might run later, after an interruption on the way to it
        try:
            current[0] = NOBODY
            changes.put_back()
        except KeyboardInterrupt:  # it may have come before `put_back` could catch it
            changes.put_back()
            raise


def install_replacements(changes: Changes, recorder: Recorder) -> None:
    """Make the replacements of a trace."""
    shim: Any = Numpy(recorder)
    changes.attribute(Tensor, "_array", ArrayAttribute(recorder))
    current[0] = recorder
    for name, own in library():
        for key in caches_of(name, len(own)):
            changes.item(own, key, untraced(own[key], recorder))
        if own.get("np") is np:
            changes.item(own, "np", shim)
        if name.startswith("nanotorch.optim.") and "scalar" in own:

            def made(value: Any, dtype: np.dtype, scalar: Any = own["scalar"]) -> Any:
                symbolic = type(value) is Traced or isinstance(value, Symbolic)
                return shim.array(value, dtype) if symbolic else scalar(value, dtype)

            changes.item(own, "scalar", made)  # it caches no number that may change
    for o in OPS.copy().values():  # a finalizer may declare another one meanwhile
        space = o.namespace
        changes.item(space, "kernel", recorder.kernel(space["kernel"]))
        changes.item(space, "asarray", shim.asarray)
    for name in DRAWS:
        method = vars(random.Generator)[name]
        changes.attribute(random.Generator, name, recorder.draw(method))
    for known in STEPS:
        changes.attribute(known, "step", traced_step(vars(known)["step"], recorder))


def library() -> list[tuple[str, dict[str, Any]]]:
    """The names and variables of the library's modules that compute on tensors."""
    # The copy is made in one step. A loop over the dict is not: a finalizer may import meanwhile.
    return [
        (name, vars(module))
        for name, module in sys.modules.copy().items()
        if name.startswith("nanotorch.")
        and not name.startswith(UNTOUCHED)
        and isinstance(module, ModuleType)
    ]


@cache
def caches_of(name: str, size: int) -> list[str]:
    """The names of a module's functions that cache their results.

    Args:
        size: the number of the module's variables.
    """
    own = vars(sys.modules[name])
    return [key for key, value in own.copy().items() if hasattr(value, "cache_clear")]


def untraced(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """A function that caches its results, which depend on no array: they are constants."""

    def plain(*args: Any, **kwargs: Any) -> Any:
        if not recorder.mine:
            return function(*args, **kwargs)
        result = recorder.plainly(function, args, kwargs)
        # The methods of plain arrays could not be traced.
        return Traced(result) if type(result) is np.ndarray else result

    return plain


def traced_step(step: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """The method `step` of an optimizer, with symbolic options."""

    def stepped(self: Optimizer, closure: Any = None) -> Any:
        if not recorder.mine:
            return step(self, closure)
        if type(self) not in KNOWN_OPTIMIZERS:
            name = type(self).__name__
            recorder.refuse(f"the step of `{name}` depends on the values of tensors, or may do so")
            return step(self, closure)
        loss = evaluate(closure)
        changes = Changes()
        try:
            for group in self.param_groups:
                for name in OPTIONS & set(group):
                    value, leaf = group[name], Leaf(group, name)
                    if type(value) in (int, float):
                        changes.item(group, name, Symbolic.of(value, leaf, recorder.asked))
                    elif type(value) is tuple and all(type(n) in (int, float) for n in value):
                        places = [(f"{{}}[{i}]", leaf) for i in range(len(value))]
                        pairs = zip(value, places, strict=True)
                        numbers = tuple(Symbolic.of(n, p, recorder.asked) for n, p in pairs)
                        changes.item(group, name, numbers)
            recorder.counting = True
            step(self)
            return loss
        finally:
            recorder.counting = False
            changes.put_back()

    return stepped


# The state that a step can change, to restore and to compare.


class State:
    """A copy of everything that a step can change.

    Args:
        tensors: the tensors whose values, gradients and versions the step may change.
        generators: the generators that the step may draw from.
        modules: the modules that the step may switch between training and evaluation.
    """

    def __init__(self, tensors: list[Tensor], generators: list[Any], modules: list[Module]) -> None:
        self.leaves, self.grads = tensors, [tensor._grad for tensor in tensors]
        held = {id(t): t for t in (*tensors, *self.grads) if t is not None}
        self.tensors = list(held.values())
        self.arrays = {id(t._array): t._array for t in self.tensors}
        self.values = {key: array.copy("K") for key, array in self.arrays.items()}
        self.cells = {id(t._cell): (t._cell, list(t._cell)) for t in self.tensors}
        self.meta = [meta_of(tensor) for tensor in self.tensors]
        self.generators = generators
        self.drawn = [generator.get_state() for generator in generators]
        self.modes = [(vars(m), vars(m)["training"]) for m in modules if "training" in vars(m)]

    def leave_gradients(self, gradients: Container[int] = ()) -> None:
        """Forget the gradients: the step did not use them, and other threads may add to them.

        Args:
            gradients: the `id` of each tensor that is in reach only as a gradient.
        """
        # Gradients that the step reaches itself, for example as arguments, stay.
        kept = [
            (t, m) for t, m in zip(self.leaves, self.meta, strict=False) if id(t) not in gradients
        ]
        self.tensors, self.meta = [t for t, _ in kept], [m for _, m in kept]
        self.leaves, self.grads = [], []
        arrays, cells = {id(meta[0]) for meta in self.meta}, {id(t._cell) for t in self.tensors}
        self.arrays = {key: array for key, array in self.arrays.items() if key in arrays}
        self.cells = {key: cell for key, cell in self.cells.items() if key in cells}

    def switch_back(self) -> None:
        """Restore the training mode of the modules."""
        for own, training in self.modes:
            own["training"] = training

    def look(self) -> list[tuple[str, Any]]:
        """The present state as named fingerprints, which need no memory."""
        modes, now = self.modes, [tensor._grad for tensor in self.leaves]
        held = [("tensor", t) for t in self.tensors]
        held += [("gradient", grad) for grad in now if grad is not None]
        return [
            *[(f"a {kind} of shape {list(t.shape)}", fingerprint(t._array)) for kind, t in held],
            ("which tensors have gradients", [grad is not None for grad in now]),
            ("how often a tensor was written to", [tensor._cell[0] for tensor in self.tensors]),
            ("whether a module is in training mode", [own.get("training") for own, _ in modes]),
            ("what was drawn from a generator",
             [fingerprint(generator.get_state()._array) for generator in self.generators]),
        ]  # fmt: skip

    def put_back(self) -> None:
        """Restore the whole state."""
        for key, array in self.arrays.items():
            if array.flags.writeable:
                np.copyto(array, self.values[key])
        for cell, content in self.cells.values():
            list.__setitem__(cell, slice(None), content)
        for tensor, grad in zip(self.leaves, self.grads, strict=True):
            if tensor._grad is not grad:
                tensor._grad = grad
        for generator, state in zip(self.generators, self.drawn, strict=True):
            generator.set_state(state)
        self.switch_back()


def fingerprint(array: np.ndarray) -> tuple[Any, ...]:
    """A value that is equal for arrays of the same bits and layout, and practically only then."""
    if not array.flags.forc:
        array = array.copy("K")
    flat: Any = array.ravel("K").view(np.uint8)
    digest = hashlib.blake2b(flat).digest() if array.size else b""
    strides = array.strides if array.size > 1 else ()
    return array.shape, array.dtype.str, strides, digest


# The comparison of a plan's first replay with the step itself: all effects must have the same bits.


GUARD = "a guard"


def verify_plan(
    plan: Any, function: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Any, str | None]:
    """Run the step, and its replay from the same state, and compare them.

    Returns:
        The step's result, and the name of the first difference: None for none, `GUARD` if a guard
        of the plan does not hold. In any case, the state is as after the step.
    """
    before = plan.state(args, kwargs)
    result = function(*args, **kwargs)
    expected = before.look() + plan.outcome(result, args, kwargs)
    before.put_back()
    difference = None
    try:
        replayed = plan.call(args, kwargs)
        if replayed is MISS:
            difference = GUARD
        elif plan.error is None:
            found = before.look() + plan.outcome(replayed, args, kwargs)
            pairs = zip(expected, found, strict=False)
            difference = next((name for (name, a), (_, b) in pairs if a != b), None)
    except Exception as error:
        plan.error = error
    if plan.error is not None:
        difference = f"an error, {plan.error!r},"
    if difference is not None:
        before.put_back()
        result = function(*args, **kwargs)
    return result, difference


def bits_of(result: Any) -> Any:
    """A value that is equal for results of the same bits."""

    def bits(part: Any) -> Any:
        if isinstance(part, Tensor):
            return fingerprint(part._array), part.requires_grad
        return type(part), id(part) if isinstance(part, NAMES_OF_THINGS) else repr(part)

    return map_parts(result, bits)


META = ("_array", "_writes", "_history", "_view", "_retains_grad", "_leaf_hooks", "_past")


def meta_of(tensor: Tensor) -> list[Any]:
    """The attributes of a tensor that a step might replace, except its gradient."""
    view = None if tensor._view is None else tensor._view.history
    return [*[getattr(tensor, name) for name in META], view]


def library_state() -> tuple[Any, ...]:
    """The state that operations depend on: grad mode, default dtype and autocast."""
    return (mode.enabled and True, dtypes.default.numpy, autocast.region)


class Capture:
    """One traced step of a `Compiler`: its tape and its effects.

    Attributes:
        result: the step's result, with a `Result` in place of each new tensor.
        has_graph: whether the step returns tensors whose graph can still be used; before the trace,
            whether this is expected.
        layouts: the layouts of these tensors' gradients, if they are known.
        joint: these gradients; None if there are none.
        switched: the attributes and the new mode of each module that the step switches between
            training and evaluation.
        retry: whether another trace may succeed, because this one made state or imported a module.
        grown: whether another trace may succeed, because more code is known.
    """

    def __init__(self, compiler: Any, args: Any, kwargs: Any) -> None:
        self.surroundings = library_state()
        self.has_graph, self.layouts = compiler.watched[self.surroundings], compiler.layouts
        self.arguments = Arguments(args, kwargs, self.has_graph)
        self.function = function = compiler.function
        self.codes, self.library = compiler.codes, compiler.library
        self.guards = Guards(function, self.arguments, self.codes, self.library, self.has_graph)
        self.joint: Joint | None = None
        self.later = Watcher(ahead=True)  # watches the gradients, computed before they are needed
        self.slots: list[Slot] = []
        self.counts: list[Count] = []
        self.gradients: list[Gradient] = []
        self.switched: list[tuple[dict[str, Any], Any]] = []
        self.result: Any = None
        self.known = dict(self.guards.tensors)
        self.known |= {id(tensor): tensor for _, tensor in self.arguments.free}
        self.returned: dict[int, Result] = {}
        self.retry = self.grown = False
        self.problem: str | None = None

    @property
    def tape(self) -> Tape:
        return self.recorder.tape

    def run(self, args: Any, kwargs: Any) -> Any:
        """Run the step under trace; returns its result.

        If the step cannot be replayed, ``problem`` says why. The step has run in any case.
        """
        self.recorder = Recorder(self.known)
        reached = list(self.known.values())
        self.add_slots()
        watcher, expects_graph = Watcher(), self.has_graph
        generators = [g for g in self.guards.kept.values() if isinstance(g, Generator)]
        held = State(reached, [default_generator, *generators], self.guards.modules)
        failure, out = "", None

        def watched() -> Any:
            inner = [t for _, t in self.arguments.free if t.requires_grad and not t.is_leaf]
            handles = [tensor.register_hook(goes_backward) for tensor in inner]
            try:
                with watcher.watching():
                    result = self.function(*args, **kwargs)
            finally:
                for handle in handles:
                    handle.remove()
            self.differentiate(result)
            return result

        def goes_backward(_: Any) -> None:
            self.recorder.refuse(GOES_BACKWARD)

        try:
            out = run_traced(self.recorder, watched)
        except Exception as error:
            if self.changed() is not None:  # this change cannot be undone
                raise
            failure = f"{site_of(self.function)}: tracing it failed: {error}"
        self.recorder.proxies.clear()  # they hold the tensors that the step made
        self.uses_gradients = changes_gradients(watcher.library)
        if not self.uses_gradients:
            given = {id(tensor) for _, tensor in self.arguments.free}
            held.leave_gradients(self.guards.only_gradients() - given)
        if failure:
            held.put_back()
            out = self.function(*args, **kwargs)  # raises again if the error was the step's own
            self.problem = failure
            return out
        self.problem = self.recorder.problem or watcher.problem
        self.retry = self.recorder.made_state or watcher.imported
        self.retry |= self.has_graph is not expects_graph
        if watcher.imported:  # the tape contains the calls of the import
            self.problem = self.problem or f"{site_of(self.function)}: a module is imported"
        codes = watcher.codes | self.later.codes
        all_known = codes <= self.codes and watcher.library.keys() <= self.library.keys()
        if not all_known and (self.problem is None or self.retry):
            self.codes |= codes
            self.library |= watcher.library
            self.grown, self.problem = True, f"{site_of(self.function)}: more code was called"
        if self.problem is None:
            try:
                self.note_effects(out, held)
            except Refused as reason:
                self.problem = self.problem or f"{site_of(self.function)}: {reason}"
        if self.has_graph and (self.problem is None or self.changed() is None):
            held.put_back()  # a backward pass cannot run through traced arrays: run the step again
            out = self.function(*args, **kwargs)
        return out

    def differentiate(self, result: Any) -> None:
        """Trace the gradients of the step's results that have a graph."""
        outputs = outputs_of(result, self.arguments)
        if not outputs or not self.recorder.live:
            return
        expects, self.has_graph = self.has_graph, True
        try:
            if not expects:
                raise Refused(HAS_GRAPH)
            with self.later.watching():
                self.joint = Joint(self.tape, outputs, self.arguments, self.known, self.layouts)
        except Refused as reason:
            self.recorder.problem = self.later.problem or f"{site_of(self.function)}: {reason}"

    def add_slots(self) -> None:
        """Add the arguments and gradients, whose memory every replay looks up."""
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

    def note_effects(self, out: Any, held: State) -> None:
        """Note how tensors and Python objects differ from before the step; refuse other changes.

        Args:
            out: the step's result.
            held: the state before the step.
        """
        if library_state() != self.surroundings or doors.nodes:
            raise Refused("it leaves grad mode, the default dtype or another mode changed")
        for tensor, grad in zip(held.leaves, held.grads, strict=True):
            if tensor._grad is not grad:
                self.note_gradient(tensor)
        for tensor, meta in zip(held.tensors, held.meta, strict=True):
            if tensor._array is not meta[0]:
                raise Refused("a tensor's memory is replaced")
            if any(a is not b for a, b in zip(meta, meta_of(tensor), strict=True)):
                raise Refused("the history or the flags of a tensor from outside change")
        if self.joint is not None and any(g.ref is not None for g in self.gradients):
            raise Refused(GOES_BACKWARD)
        self.note_counts(held)
        asked = [leaf for expression, _ in self.recorder.asked for leaf in leaves(expression)]
        if any(leaf.late for leaf in asked):
            raise Refused("a number that the optimizer's step computes decides what it does next")
        self.compare_state(held)
        self.check_overlaps()
        self.check_constants()
        self.result = map_parts(out, self.note_result)

    def note_gradient(self, leaf: Tensor) -> None:
        """Note that a leaf has a new ``grad``."""
        grad = leaf._grad
        if grad is None:
            self.gradients.append(Gradient(leaf, None))
            return
        storage = self.tape.find(grad._array)
        plain = type(grad) is Tensor and grad._edge is None and id(grad) not in self.known
        if storage is None or storage.kind not in (TEMPORARY, CONSTANT) or not plain:
            raise Refused("a gradient is replaced by a tensor from elsewhere")
        self.gradients.append(Gradient(leaf, Ref(storage, grad._array)))

    def note_counts(self, held: State) -> None:
        """Note the version cells that have changed."""
        slots = {id(slot.tensor): slot for slot in self.slots}
        seen: set[int] = set()
        for key, tensor in self.known.items():
            if id(tensor._cell) not in held.cells:
                continue
            cell, former = held.cells[id(tensor._cell)]
            if id(cell) in seen or list(cell) == former:
                continue
            seen.add(id(cell))
            self.counts.append(Count(cell, slots.get(key), cell[0] - former[0], list(cell[1:])))

    def changed(self) -> Check | None:
        """The check of the first thing, visible to Python code, that changed; None for none."""
        return next((check for check in self.guards.checks if not check_holds(check)), None)

    def compare_state(self, held: State) -> None:
        """Refuse a step that changes objects visible to Python code, except modules' modes."""
        modes = [(own, own["training"], before) for own, before in held.modes]
        self.switched = [(own, now) for own, now, before in modes if now is not before]
        held.switch_back()
        changed = self.changed()
        for own, training in self.switched:
            own["training"] = training
        if changed is None:
            return
        name = changed.key
        self.retry = True  # once: optimizers make their state in their first step
        stores = [
            f"{code.co_filename}:{i.positions and i.positions.lineno}"
            for code in self.codes for i in dis.get_instructions(code)
            if i.opname.startswith("STORE") and i.argval == name
        ]  # fmt: skip
        where = next(iter(stores), site_of(self.function))
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
        """Refuse constants in the memory of outside tensors: they were read past the recorder."""
        ends = [np.lib.array_utils.byte_bounds(t._array) for t in self.known.values()]
        for storage in self.tape.storages:
            if storage.kind == CONSTANT and storage.base.size:
                low, high = np.lib.array_utils.byte_bounds(storage.base)
                if any(low < stop and start < high for start, stop in ends):
                    raise Refused("a part of a tensor is read in a way that the trace does not see")

    def note_result(self, out: Any) -> Any:
        """A part of the step's result, for the plan; refuses objects of other classes."""
        if isinstance(out, Tensor):
            return self.note_tensor(out)
        whole = isinstance(out, tuple) and all(isinstance(part, VALUES) for part in out)
        if isinstance(out, (*VALUES, *NAMES_OF_THINGS)) or whole:
            return out
        raise Refused(f"it returns a {type(out).__name__}")

    def note_tensor(self, out: Tensor) -> Any:
        """A returned tensor, for the plan: a `Slot`, `Gradient`, `Result` or a tensor in reach."""
        if id(out) in self.known:
            for slot in self.slots:
                if slot.tensor is out:
                    return slot
            return out
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
        others: list[Result | Gradient] = [*self.returned.values(), *self.gradients]
        if any(other.ref is not None and other.ref.storage is storage for other in others):
            raise Refused("it returns two tensors, or one and a gradient, that share memory")
        edge: Any = None
        numbers = [n for n, o in enumerate(self.joint.outputs if self.joint else ()) if o is out]
        if numbers:
            (edge,) = numbers
        elif out.requires_grad:
            if out.grad_fn is None or has_graph(out):
                raise Refused(HAS_GRAPH)
            edge = (out.grad_fn, out.output_nr)
        self.returned[id(out)] = Result(
            Ref(storage, out._array), edge, InferenceCell if out.is_inference() else list
        )
        return self.returned[id(out)]


def site_of(function: Any) -> str:
    """The file and line of a function, or of a module's forward; the name if there is no code."""
    function = inspect.unwrap(function) if callable(function) else function
    inner = function_behind(getattr(function, "forward", function))
    if inner is None:
        return getattr(function, "__name__", type(function).__name__)
    return f"{inner.__code__.co_filename}:{inner.__code__.co_firstlineno}"
