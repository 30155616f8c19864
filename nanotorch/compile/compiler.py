"""One compiled function: its plans, and what becomes of a call."""

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import mode as grad_mode
from nanotorch._core.tensor import Tensor, observers
from nanotorch.compile.codegen import MISS
from nanotorch.compile.guards import (
    KNOWN_OPTIMIZERS,
    Arguments,
    Guards,
    Refused,
    Watcher,
    cannot_watch,
    lie_in,
    watch_library,
)
from nanotorch.compile.joint import Layouts
from nanotorch.compile.plan import GUARD, Plan, Report, verified
from nanotorch.compile.tape import has_graph, holders, parts
from nanotorch.compile.tracing import Capture, place_of, surroundings, tracing
from nanotorch.nn.module import Module
from nanotorch.optim.flat_buffer import settle

LIMIT = 8  # of plans of one function
OVERLAPS = 2  # of arguments and what is in reach: from then on they are looked for first
FALLBACK = "nanotorch.compile runs `{name}` as it is, uncompiled. {problem}"
DOUBLE = "gradients of its gradients are asked for"
GRADIENTS = "the gradients of its results come in other layouts each time"
NOT_AGAIN = "it would have to be compiled anew at almost every call: {what}"


def no_plan(args: Any, kwargs: Any) -> Any:
    """The replay of a function that has none."""
    return MISS


class Compiler:
    """What there is for one compiled function.

    Args:
        fullgraph: raise an error where the function cannot be compiled.
        limit: how many plans there may be, for calls that differ.

    Attributes:
        plan: the one of the last call.
        replay: its function, for a quick look.
        uncompiled: for each grad mode and default dtype in which the function runs as it is, why,
            and what is called in place of a plan.
        watched: for each in which it has been watched, whether it returns what is to go backward.
        layouts: in which layouts gradients have come, where these were not the expected ones.
        overlapping: what holds memory that arguments were seen to lie in, though others hold it.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool, limit: int = LIMIT) -> None:
        watch_library()
        self.function, self.fullgraph, self.limit = function, fullgraph, limit
        self.name = getattr(function, "__name__", type(function).__name__)
        self.plans: list[Plan] = []
        self.plan: Plan | None = None
        self.replay: list[Callable[..., Any]] = [no_plan]
        self.codes: set[CodeType] = set()
        self.library: dict[CodeType, dict[str, Any]] = {}  # with the globals it saw
        self.uncompiled: dict[Any, tuple[str, Callable[..., Any]]] = {}
        self.watched: dict[Any, bool] = {}
        self.layouts: Layouts | None = None
        self.overlaps = 0
        self.overlapping: frozenset[int] = frozenset()
        self.attempts = 0
        self.missed = 0  # how many plans were not those of the next call

    def use(self, plan: Plan) -> None:
        """Look first whether a plan is that of the next call, too."""
        self.plan, self.replay[0] = plan, plan.call

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call for which the plan at hand is not the right one.

        Where operations are observed, as in anomaly mode, or transformed, as under `vmap`, the
        function runs as it is.
        """
        if surroundings() in self.uncompiled:
            _, uncompiled = self.uncompiled[surroundings()]
            self.plan, self.replay[0] = None, uncompiled
            return uncompiled(args, kwargs)
        overlaps = self.overlapping and lie_in(parts(Tensor, args, kwargs), self.overlapping)
        if overlaps or observers or grad_mode.transforms or cannot_watch():
            return self.function(*args, **kwargs)
        for plan in self.plans if not tracing else ():
            if plan.verified and plan is not self.plan:
                result = plan.call(args, kwargs)
                if result is not MISS:
                    self.use(plan)
                    return result
        try:
            if tracing.setdefault(0, kwargs) is kwargs:
                return self.step(args, kwargs)
        finally:  # no call here, which an interruption could come after
            try:
                if tracing[0] is kwargs:
                    del tracing[0]
            except KeyError:
                pass
        return self.function(*args, **kwargs)

    def step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Watch the first call, trace the second, verify the third, replay the others."""
        if surroundings() not in self.watched:
            return self.watch(args, kwargs)
        forward = self.watched[surroundings()]
        try:
            arguments = Arguments(args, kwargs, forward)
            guards = Guards.of(self.function, arguments, self.codes, self.library, forward)
        except Refused as reason:
            return self.fall_back(str(reason), args, kwargs)
        in_reach = holders(tensor._array for tensor in guards.tensors.values())
        if lie_in([tensor for _, tensor in arguments.free], in_reach):  # others need not
            self.overlaps += 1
            if self.overlaps >= OVERLAPS:
                self.overlapping |= in_reach
            return self.function(*args, **kwargs)
        key = (surroundings(), arguments.key, guards.grads)
        for plan in self.plans:
            if plan.key != key or plan.turn or not plan.applies():
                continue
            if not plan.verified:
                return self.verify(plan, args, kwargs)
            self.use(plan)  # from the next call on
            return self.function(*args, **kwargs)
        if any(plan.turn for plan in self.plans):
            return self.function(*args, **kwargs)
        known = [o for o in guards.optimizers if type(o) in KNOWN_OPTIMIZERS]
        del guards, arguments, key  # which hold arrays that may move
        if not self.plans:
            settle(known)
        return self.trace(args, kwargs)

    def watch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function as it is, and see which code it calls."""
        watcher, where = Watcher(), surroundings()
        with watcher.watching():
            result = self.function(*args, **kwargs)
        self.watched[where] = any(map(has_graph, parts(Tensor, result)))
        self.codes |= watcher.codes
        self.library |= watcher.library
        if watcher.problem is not None:
            self.give_up(watcher.problem)
        return result

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function under trace, and make a plan of it."""
        if len(self.plans) >= self.limit:
            what = "its arguments or variables differ each time"
            return self.fall_back(NOT_AGAIN.format(what=what), args, kwargs)
        forward = self.watched[surroundings()]
        try:
            capture = Capture(
                self.function, args, kwargs, self.codes, self.library, forward, self.layouts
            )
        except Refused as reason:
            return self.fall_back(str(reason), args, kwargs)
        result = capture.run(args, kwargs)
        if capture.has_graph:
            self.watched[capture.surroundings] = True
        if capture.problem is None:
            try:
                self.plans.append(Plan(capture, self.name, self.replan))
            except Refused as reason:
                self.give_up(f"{place_of(self.function)}: {reason}")
            except Exception as error:
                self.give_up(f"{place_of(self.function)}: making a replay failed: {error!r}")
            self.attempts = 0
        elif capture.grown or (capture.retry and self.attempts < 2):  # code is not without end
            self.attempts += not capture.grown
        else:
            self.give_up(capture.problem)
        return result

    def verify(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compare the first replay of a plan with the function itself."""
        result, difference = verified(plan, self.function, args, kwargs)
        if difference is None:
            plan.verified = True
            self.use(plan)
        elif difference == GUARD and self.missed < self.limit:
            self.missed += 1
            self.plans.remove(plan)
        else:
            self.give_up(f"{place_of(self.function)}: {difference} came out otherwise in a replay")
        return result

    def replan(self, plan: Plan, layouts: Layouts | None) -> None:
        """Gradients have come otherwise than a plan expects, or are differentiated themselves."""
        self.layouts, where = layouts, plan.key[0]
        self.missed += 1
        if layouts is None:
            self.give_up(f"{place_of(self.function)}: {DOUBLE}", where)
        elif self.missed > self.limit:
            self.give_up(f"{place_of(self.function)}: {NOT_AGAIN.format(what=GRADIENTS)}", where)
        elif plan in self.plans:
            self.plans.remove(plan)
            if self.plan is plan:
                self.plan, self.replay[0] = None, no_plan

    def fall_back(self, problem: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Give up, and call the function."""
        self.give_up(f"{place_of(self.function)}: {problem}")
        return self.function(*args, **kwargs)

    def give_up(self, problem: str, where: Any = None) -> None:
        """Run the function as it is in this grad mode from now on, and say so once.

        Raises:
            RuntimeError: if that is not wanted (``fullgraph``), now and at later calls.
        """
        where = enabled, kind = where or surroundings()
        text = FALLBACK.format(name=self.name, problem=problem)
        function, fullgraph = self.function, self.fullgraph

        def uncompiled(args: Any, kwargs: Any) -> Any:
            if (grad_mode.enabled and True) is not enabled or dtypes.default.numpy is not kind:
                return MISS
            if fullgraph:
                raise RuntimeError(text)
            return function(*args, **kwargs)

        self.uncompiled[where] = problem, uncompiled
        self.plans = [plan for plan in self.plans if plan.key[0] != where]
        self.plan, self.replay[0] = None, uncompiled
        if fullgraph:
            raise RuntimeError(text)
        warn(text)

    def report(self) -> Report:
        """What was compiled, or why nothing was."""
        problem = next((problem for problem, _ in self.uncompiled.values()), None)
        return Report(self.name, problem, [plan.figures() for plan in self.plans])

    def source(self) -> str:
        """The source of the replay of the last call; empty if there is none."""
        return "" if self.plan is None else self.plan.source


def compiled_function(compiler: Compiler) -> Callable[..., Any]:
    """The function that users call in place of theirs."""
    slow, replay = compiler.call, compiler.replay

    def compiled(*args: Any, **kwargs: Any) -> Any:
        result = replay[0](args, kwargs)
        return slow(args, kwargs) if result is MISS else result

    functools.update_wrapper(compiled, compiler.function)
    compiled.__wrapped__ = compiler.function  # type: ignore[attr-defined]
    compiled.report = compiler.report  # type: ignore[attr-defined]
    compiled.source = compiler.source  # type: ignore[attr-defined]
    return compiled


# Modules whose forward is compiled.


class OptimizedModule(Module):
    """A module whose forward is compiled; all else is the module's own.

    Attributes:
        _orig_mod: the module.
        report, source: those of a compiled function.
    """

    _orig_mod: Module

    def __init__(self, module: Module, compiler: Compiler) -> None:
        super().__init__()
        own = self.__dict__
        own["_compiler"], own["forward"] = compiler, compiled_function(compiler)
        own["report"], own["source"] = compiler.report, compiler.source
        own["_orig_mod"] = self._modules["_orig_mod"] = module
        del own["training"]

    def __reduce_ex__(self, protocol: Any) -> Any:
        compiler = self.__dict__["_compiler"]
        return compiled_module, (self._orig_mod, compiler.fullgraph, compiler.limit)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name == "_orig_mod" or "_orig_mod" not in own:
            return super().__getattr__(name)
        return getattr(own["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_orig_mod" in self.__dict__:
            setattr(self._orig_mod, name, value)
        else:
            super().__setattr__(name, value)


def compiled_module(module: Module, fullgraph: bool, limit: int) -> OptimizedModule:
    """A module whose forward is compiled."""
    return OptimizedModule(module, Compiler(module, fullgraph, limit))
