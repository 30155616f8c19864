"""One compiled function: its plans, and what becomes of a call."""

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import mode as grad_mode
from nanotorch._core.op import observers
from nanotorch.compile.capture import Capture, place_of, surroundings, survey_of
from nanotorch.compile.plan import GUARD, MISS, Plan, Report, verified
from nanotorch.compile.proxy import watch_library
from nanotorch.compile.reach import Arguments, Unguardable, overlap
from nanotorch.compile.tracing import KNOWN_OPTIMIZERS, Watcher, cannot_watch, tracing
from nanotorch.nn.module import Module
from nanotorch.optim.flat_buffer import settle

LIMIT = 8  # of plans of one function
FALLBACK = "nanotorch.compile runs `{name}` as it is, uncompiled. {problem}"
NOT_AGAIN = "it would have to be compiled anew at almost every call: {what}"


COMPILERS: "weakref.WeakSet[Compiler]" = weakref.WeakSet()


@contextmanager
def nothing_replayed() -> Iterator[None]:
    """Let compiled functions that a step calls run as they are, so that they are captured too."""
    try:
        for compiler in COMPILERS:
            compiler.replay[0] = no_plan
        yield
    finally:
        for compiler in COMPILERS:
            compiler.plan = compiler.plan  # its replay again


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
        miss: what that returns if it is not the right one.
        problem: why the function runs as it is; None as long as it does not.
    """

    miss = MISS

    def __init__(self, function: Callable[..., Any], fullgraph: bool, limit: int = LIMIT) -> None:
        watch_library()
        self.function, self.fullgraph, self.limit = function, fullgraph, limit
        self.name = getattr(function, "__name__", type(function).__name__)
        self.plans: list[Plan] = []
        self.replay: list[Callable[..., Any]] = [no_plan]
        self.plan = None
        self.codes: set[CodeType] = set()
        self.library: dict[CodeType, dict[str, Any]] = {}  # with the globals it saw
        self.problem: str | None = None
        self.watched = False
        self.attempts = 0
        COMPILERS.add(self)
        self.missed = 0  # how many plans were not those of the next call

    @property
    def plan(self) -> Plan | None:
        """See the class."""
        return self._plan

    @plan.setter
    def plan(self, plan: Plan | None) -> None:
        self._plan = plan
        self.replay[0] = no_plan if plan is None else plan.call

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call for which the plan at hand is not the right one.

        Where operations are observed, as in anomaly mode, the function runs as it is.
        """
        if self.problem is not None or observers or cannot_watch():
            return self.function(*args, **kwargs)
        for plan in self.plans if not tracing else ():
            if plan.verified and plan is not self.plan:
                result = plan.call(args, kwargs)
                if result is not MISS:
                    self.plan = plan
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
        if not self.watched:
            return self.watch(args, kwargs)
        try:
            arguments = Arguments(args, kwargs)
            survey = survey_of(self.function, arguments, self.codes, self.library)
        except Unguardable as reason:
            return self.fall_back(f"{place_of(self.function)}: {reason}", args, kwargs)
        if overlap(arguments, survey):  # only this call: others need not
            return self.function(*args, **kwargs)
        key = (surroundings(), arguments.key, survey.grads, survey.signature)
        for plan in self.plans:
            if plan.key != key or plan.turn or not plan.renew(survey, arguments):
                continue
            if not plan.verified:
                return self.verify(plan, args, kwargs)
            self.plan = plan
            result = plan.call(args, kwargs)
            if result is not MISS:
                return result
        if any(plan.turn for plan in self.plans):
            return self.function(*args, **kwargs)
        known = [o for o in survey.optimizers if type(o) in KNOWN_OPTIMIZERS]
        del survey, arguments, key  # which hold arrays that may move
        if not self.plans:
            settle(known)
        return self.trace(args, kwargs)

    def watch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function as it is, and see which code it calls."""
        watcher = Watcher()
        with nothing_replayed(), watcher.watching():
            result = self.function(*args, **kwargs)
        self.watched = True
        self.codes |= watcher.codes
        self.library |= watcher.library
        if watcher.problem is not None:
            self.give_up(watcher.problem)
        return result

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function under trace, and make a plan of it."""
        if len(self.plans) >= self.limit:
            what = "its arguments or variables differ each time"
            problem = f"{place_of(self.function)}: {NOT_AGAIN.format(what=what)}"
            return self.fall_back(problem, args, kwargs)
        try:
            capture = Capture(self.function, args, kwargs, self.codes, self.library)
        except Unguardable as reason:
            return self.fall_back(f"{place_of(self.function)}: {reason}", args, kwargs)
        with nothing_replayed():
            result = capture.run(args, kwargs)
        if capture.problem is None:
            self.add_plan(capture)
        elif capture.grown or (capture.retry and self.attempts < 2):  # code is not without end
            self.attempts += not capture.grown
        else:
            self.give_up(capture.problem)
        return result

    def add_plan(self, capture: Capture) -> None:
        """Make a plan of a trace."""
        try:
            self.plans.append(Plan(capture, self.name))
        except Exception as error:
            self.give_up(f"{place_of(self.function)}: making a replay failed: {error!r}")
        else:
            self.attempts = 0

    def verify(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compare the first replay of a plan with the function itself."""
        result, difference = verified(plan, self.function, args, kwargs)
        if difference is None:
            plan.verified, self.plan = True, plan
        elif difference == GUARD and self.missed < self.limit:
            self.missed += 1
            self.plans.remove(plan)
        else:
            self.give_up(f"{place_of(self.function)}: {difference} came out otherwise in a replay")
        return result

    def fall_back(self, problem: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Give up, and call the function."""
        self.give_up(problem)
        return self.function(*args, **kwargs)

    def give_up(self, problem: str) -> None:
        """Run the function as it is from now on, and say so once.

        Raises:
            RuntimeError: if that is not wanted (``fullgraph``).
        """
        self.problem, self.plan = problem, None
        self.plans.clear()
        text = FALLBACK.format(name=self.name, problem=problem)
        if self.fullgraph:
            raise RuntimeError(text)
        warn(text)

    def report(self) -> Report:
        """What was compiled, or why nothing was."""
        return Report(self.name, self.problem, [plan.figures() for plan in self.plans])

    def source(self) -> str:
        """The source of the replay of the last call; empty if there is none."""
        return "" if self.plan is None else self.plan.source


# Modules whose forward is compiled.


class OptimizedModule(Module):
    """A module whose forward is compiled where nothing is recorded; all else is the module's own.

    Attributes:
        _orig_mod: the module.
    """

    _orig_mod: Module

    def __init__(self, module: Module, compiler: Compiler, replaying: Callable[..., Any]) -> None:
        super().__init__()
        object.__setattr__(self, "_orig_mod", module)
        self._modules["_orig_mod"] = module
        object.__setattr__(self, "_compiler", compiler)
        object.__setattr__(self, "_compiled", replaying)
        self.__dict__.pop("training")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's forward."""
        if grad_mode.enabled:
            return self._orig_mod(*args, **kwargs)
        return self._compiled(*args, **kwargs)

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

    def report(self) -> Any:
        """What was compiled, or why nothing was."""
        return self.__dict__["_compiler"].report()

    def source(self) -> str:
        """The source of the replay of the last call; empty if there is none."""
        return str(self.__dict__["_compiler"].source())
