"""Anomaly mode, profilers, debuggers and interruptions around compiled steps."""

import cProfile
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch._core.graph import changes
from nanotorch.compile.codegen import MISS
from nanotorch.compile.tracing import tracing
from tests.compile.beside import alike, array, flat, usual
from tests.several import in_threads

CALLS = 10


def training() -> tuple[Callable[[], Any], list[Any]]:
    """A step and its parameters."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer, x = optim.Adam(model.parameters(), lr=0.01), array(5, 3)
    return usual(model, optimizer, lambda: model(x).pow(2).mean())[0], list(model.parameters())


def anomaly() -> Any:
    return torch.autograd.set_detect_anomaly(True)


def packed() -> Any:
    return torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", [anomaly, packed])
@pytest.mark.parametrize("when", [0, 1, 2, 5])
def test_a_mode_that_observes_operations_is_on_for_a_call(mode: Any, when: int) -> None:
    def program(compiled: Any) -> Any:
        original, parameters = training()
        step = compiled(original)
        for n in range(CALLS):
            with mode() if n == when else nullcontext():
                yield flat(step())
        parameters[0].data[0, 0] = float("nan")
        with anomaly(), pytest.raises(RuntimeError, match="nan"):
            step()

    alike(program)


def calls(step: Any) -> list[Any]:
    return [flat(step()) for _ in range(CALLS)]


def under_cprofile(step: Any) -> list[Any]:
    profiler = cProfile.Profile()
    found: list[Any] = profiler.runcall(calls, step)
    names = {entry.code.co_name for entry in profiler.getstats() if hasattr(entry.code, "co_name")}
    assert ("replay" in names) == hasattr(step, "report")
    return found


def under_a_profiler(step: Any) -> list[Any]:
    seen: list[str] = []

    def see(frame: Any, event: str, argument: Any) -> None:
        seen.append(frame.f_code.co_name)

    sys.setprofile(see)
    try:
        found = calls(step)
        assert sys.getprofile() is see
    finally:
        sys.setprofile(None)
    assert ("replay" in seen) == hasattr(step, "report")
    return found


def under_a_debugger(step: Any) -> list[Any]:
    lines: list[int] = []

    def trace(frame: Any, event: str, argument: Any) -> Any:
        lines.append(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return calls(step)
    finally:
        sys.settrace(before)


def under_a_profiler_that_cannot_rest(step: Any) -> list[Any]:
    """Compilation waits until it has gone."""
    before = sys.getprofile
    try:
        sys.getprofile = object  # type: ignore[assignment]
        found = [flat(step()) for _ in range(4)]
    finally:
        sys.getprofile = before
    assert not hasattr(step, "report") or not step.report().plans
    return found + calls(step)


@pytest.mark.parametrize("how", [
    under_cprofile, under_a_profiler, under_a_debugger, under_a_profiler_that_cannot_rest,
])  # fmt: skip
def test_tools_that_watch_python(how: Any) -> None:
    alike(lambda compiled: how(compiled(training()[0])))


def interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def run_for(seconds: float, function: Callable[[], Any], times: int) -> None:
    """Call a function so often, or until the time is over."""
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            for _ in range(times):
                function()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    signal.signal(signal.SIGALRM, before)


# It may also come in a finalizer, from where Python does not pass it on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("stride", [4, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("warm", [0, 1, 2, 3])
def test_an_interruption_leaves_nothing_locked(warm: int, stride: int) -> None:
    """Whenever it comes: in the watched call, the traced one, the compared one, or a replay."""
    for delay in range(1, 25, stride):
        step = torch.compile(training()[0], fullgraph=True)
        for _ in range(warm):
            step()
        replays = warm == 3
        run_for(delay * (2e-5 if replays else 4e-4), step, 40 if replays else 1)
        assert not tracing
        assert sys.getprofile() is None
        assert all(not plan.turn for plan in compiler_of(step).plans)
        assert type(vars(torch.Tensor).get("_array")).__name__ != "ArrayAttribute"
    for _ in range(5):
        step()
    assert step.report().plans


def compiler_of(step: Any) -> Any:
    return next(
        cell.cell_contents.__self__
        for cell in step.__closure__
        if hasattr(cell.cell_contents, "__self__")
    )


def test_a_finalizer_that_calls_the_step_again() -> None:
    plain, _ = training()
    step = torch.compile(training()[0], fullgraph=True)
    expected = [flat(plain()) for _ in range(8)]
    found = [flat(step()) for _ in range(4)]
    replay = compiler_of(step).plan.call
    kwargs: dict[str, Any] = {}
    plan = compiler_of(step).plan
    plan.turn[0] = other = {}  # as if a replay were going on
    assert replay((), kwargs) is MISS
    found.append(flat(step()))  # runs as it is
    assert plan.turn == {0: other}
    plan.turn.clear()
    found += [flat(step()) for _ in range(3)]
    assert found == expected


def test_threads_replay_the_same_plan() -> None:
    model, inputs = nn.Linear(3, 2), [array(60, 3, seed=n) for n in range(4)]

    @torch.no_grad()
    def evaluate(x: Any) -> Any:
        return torch.softmax(model(x) * 2, 1).sum(0)

    step = torch.compile(evaluate, fullgraph=True)
    expected = [flat(evaluate(x)) for x in inputs]
    for _ in range(4):
        step(inputs[0])

    def work(number: int) -> None:
        for _ in range(200):
            changes[0] += 1  # a look at the modules each time
            assert flat(step(inputs[number])) == expected[number]

    in_threads(work, 4)
    assert not compiler_of(step).plan.turn
