"""The loop: which events come when, and that the last one always comes; its callbacks."""

import contextlib
import functools
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from nanotorch.train.training.loop import (
    Callback,
    Loop,
    Progress,
    RecordEpochs,
    RecordSteps,
    StopOnSignal,
)
from tests.several import in_threads, posix
from tests.train.examples import At, Kept


class Counting:
    """Three batches an epoch; the loss is the number of the step."""

    def __init__(self) -> None:
        self.taken = 0

    def batches(self, start: int) -> Iterable[Any]:
        return ["a", "b", "c"][start:]

    def step(self, batch: Any) -> tuple[float, int]:
        self.taken += 1
        return float(self.taken), 8


class Journal(Callback):
    """Notes every event."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self._name = name
        self._notes = notes

    def _note(self, event: str, loop: Loop) -> None:
        self._notes.append(f"{self._name} {event} {loop.epoch}.{loop.step}")

    on_start = functools.partialmethod(_note, "start")
    on_step = functools.partialmethod(_note, "step")
    on_epoch = functools.partialmethod(_note, "epoch")
    on_end = functools.partialmethod(_note, "end")


def stop(loop: Loop) -> None:
    loop.stop("enough")


def fail(loop: Loop) -> None:
    raise ValueError("as planned")


def test_the_order_of_events() -> None:
    notes: list[str] = []
    loop = Loop(Counting(), 4, [Journal("x", notes), Journal("y", notes)])
    loop.run()
    assert [note[2:] for note in notes if note.startswith("x")] == [
        "start 0.0",
        *("step 1.1", "step 1.2", "step 1.3", "epoch 1.3"),
        *("step 2.4", "epoch 2.4"),
        "end 2.4",
    ]
    assert notes[:4] == ["x start 0.0", "y start 0.0", "x step 1.1", "y step 1.1"]
    assert notes[-2:] == ["y end 2.4", "x end 2.4"]
    assert (loop.loss, loop.samples, loop.done, loop.stop_reason) == (4.0, 8, True, None)
    notes.clear()
    Loop(Counting(), 0, [Journal("x", notes)]).run()  # no steps are no epoch
    assert notes == ["x start 0.0", "x end 0.0"]


def test_a_callback_can_stop_the_loop_within_an_epoch() -> None:
    notes: list[str] = []
    task = Counting()
    loop = Loop(task, 100, [At(stop, 5), Journal("x", notes)])
    loop.run()
    assert (task.taken, loop.stop_reason) == (5, "enough")
    assert notes[-2:] == ["x step 2.5", "x end 2.5"]
    again = Loop(Counting(), 100, [])  # which stays stopped
    again.load_state(loop.state())
    again.run()
    assert (again.step, again.stop_reason) == (5, "enough")


def test_an_exception_still_ends_every_callback_that_started() -> None:
    unable = Callback()
    unable.on_start = fail  # type: ignore[method-assign]
    for failing, last in (
        (At(fail, 2), ["x step 1.2", "y end 1.2", "x end 1.2"]),
        (unable, ["x start 0.0", "x end 0.0"]),
    ):
        notes: list[str] = []
        loop = Loop(Counting(), 9, [Journal("x", notes), failing, Journal("y", notes)])
        with pytest.raises(ValueError, match="as planned"):
            loop.run()
        assert notes[-3:] == last


class Counter(Callback):
    """Counts steps."""

    count = 0

    def on_step(self, loop: Loop) -> None:
        self.count += 1

    def state(self) -> Any:
        return self.count

    def load_state(self, state: Any) -> None:
        self.count = state


def events(notes: list[str]) -> list[str]:
    return [note for note in notes if "start" not in note and "end" not in note]


@pytest.mark.parametrize("steps", [6, 7])
@pytest.mark.parametrize("at", [1, 2, 3, 4, 6])
def test_a_paused_loop_goes_on_as_if_nothing_had_been(at: int, steps: int) -> None:
    whole: list[str] = []
    Loop(Counting(), steps, [Journal("x", whole)]).run()
    notes: list[str] = []
    pause = At(lambda loop: loop.pause("lunch"), at)
    first = Loop(Counting(), steps, [Journal("x", notes), Counter(), pause])
    first.run()
    assert (first.step, first.pause_reason) == (at, "lunch")
    assert first.complete is (at == steps)
    second, counter = gone_on(first.state(), steps, notes)
    assert events(notes) == events(whole)
    assert (second.step, counter.count, second.first_loss) == (steps, steps, 1.0)


def gone_on(state: Any, steps: int, notes: list[str]) -> tuple[Loop, Counter]:
    """A loop that went on from a state, and what has counted its steps."""
    task, counter = Counting(), Counter()
    task.taken = state["step"]
    loop = Loop(task, steps, [Journal("x", notes), counter])
    loop.load_state(state)
    loop.run()
    return loop, counter


def test_what_is_kept_when_all_have_seen_a_step_can_be_gone_on_from() -> None:
    whole: list[str] = []
    states: list[tuple[int, Any]] = []

    class Keep(Callback):
        def on_settled(self, loop: Loop) -> None:
            states.append((len(events(whole)), loop.state()))

    Loop(Counting(), 7, [Journal("x", whole), Counter(), Keep()]).run()
    assert len(states) == 7 + 3
    for told, state in states:
        notes: list[str] = []
        gone_on(state, 7, notes)
        assert events(notes) == events(whole)[told:]


def test_callbacks_of_one_class_keep_their_own_states() -> None:
    before, after = [Counter(), Counter()], [Counter(), Counter()]
    before[0].count, before[1].count = 3, 5
    Loop(Counting(), 1, after).load_state(Loop(Counting(), 1, before).state())
    assert [counter.count for counter in after] == [3, 5]


def test_a_method_that_is_no_event_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(
        TypeError, match=r"^A\.on_epoch_end is no event; did you mean 'on_epoch'\?$"
    ):
        type("A", (Callback,), {"on_epoch_end": stop})
    own = {"one": stop, "_on_epoch_end": stop, "on_improved": stop, "on_epoch_2": False}
    type("C", (type("B", (Callback,), own),), {"on_improved": stop})


class Losses:
    """Yields given losses; each batch has as many samples as it says."""

    def __init__(self, *epoch: tuple[float, int]) -> None:
        self._epoch = epoch

    def batches(self, start: int) -> Iterable[Any]:
        return self._epoch[start:]

    def step(self, batch: Any) -> tuple[float, int]:
        return batch  # type: ignore[no-any-return]


def measuring(every: int = 1) -> Callback:
    """Measures a validation loss of 0.25."""
    return RecordEpochs(Kept().write, lambda: {"validation/loss": 0.25}, every)


def kill(number: signal.Signals) -> Callback:
    """Sends this process a signal after each step."""
    return At(lambda loop: signal.raise_signal(number))


HANDLED = StopOnSignal.numbers


@contextlib.contextmanager
def handled(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Let a handler have a signal in the block, whatever `nohup` and such have set."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@posix
@pytest.mark.parametrize("number", HANDLED)
def test_a_signal_stops_after_the_step_or_ends_a_run_without_one(number: signal.Signals) -> None:
    with handled(number, signal.SIG_DFL):
        before = [*map(signal.getsignal, HANDLED)]
        with StopOnSignal() as stop:
            loop = Loop(Losses((1.0, 1), (1.0, 1)), 9, [stop, kill(number)])
            loop.run()
        assert (loop.step, loop.pause_reason, stop.received) == (1, "interrupted", number)
        assert [*map(signal.getsignal, HANDLED)] == before
        with StopOnSignal() as stop:
            Loop(Losses((1.0, 1)), 1, [stop]).run()
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), number)
        assert stop.received == number
        assert [*map(signal.getsignal, HANDLED)] == before


def test_ignored_signals_stay_ignored() -> None:
    seen = []
    look = At(lambda loop: seen.append(signal.getsignal(signal.SIGINT)))
    with handled(signal.SIGINT, signal.SIG_IGN), StopOnSignal() as stop:
        Loop(Losses((1.0, 1)), 1, [stop, look]).run()
    assert seen == [signal.SIG_IGN]


def test_a_run_in_another_thread_leaves_signals_alone() -> None:
    def run(_: int) -> None:
        with StopOnSignal() as stop:
            Loop(Losses((1.0, 1)), 3, [stop, counter]).run()

    counter = Counter()
    in_threads(run, 1)
    assert counter.count == 3


def test_steps_are_recorded_every_few_and_at_the_end() -> None:
    losses = Losses((1.0, 1), (2.0, 1), (3.0, 1))
    for before, expected in (
        ([], [(2, 2.0), (4, 1.0), (5, 2.0)]),
        # A pause records no step that a whole run does not.
        ([At(lambda loop: loop.pause("interrupted"), 3)], [(2, 2.0)]),
    ):
        kept = Kept()
        Loop(losses, 5, [*before, RecordSteps(kept.write, 2)]).run()
        assert [(step, values["train/loss"]) for step, _, values in kept.records] == expected


def test_epochs_are_recorded_with_the_mean_over_samples() -> None:
    kept = Kept()
    measure = {"validation/loss": 7.0}
    callback = RecordEpochs(kept.write, lambda: measure, every=2)
    loop = Loop(Losses((1.0, 30), (5.0, 10)), 6, [callback])
    loop.run()
    assert kept.records == [
        (2, 1, {"train/epoch_loss": 2.0}),
        (4, 2, {"train/epoch_loss": 2.0, **measure}),
        (6, 3, {"train/epoch_loss": 2.0, **measure}),
    ]
    assert loop.measured == {"train/epoch_loss": 2.0, **measure}


@pytest.mark.parametrize("bar", [False, True])
def test_lines_are_few_and_whole_and_stand_above_the_bar(bar: bool, capsys) -> None:
    Loop(Losses((0.5, 1), (0.125, 1)), 400, [measuring(), Progress(200, bar=bar)]).run()
    captured = capsys.readouterr()
    shown = captured.out.splitlines()
    assert [line.split("/")[0] for line in shown] == [f"epoch {20 * k:3}" for k in range(1, 11)]
    assert shown[-1].startswith("epoch 200/200: loss 0.3125, validation loss 0.2500, ")
    assert shown[-1].endswith(" steps/s")
    assert bool(re.search(r"\r +\r$", captured.err)) == bar


def test_a_line_has_the_validation_loss_of_its_own_epoch(capsys) -> None:
    loss = iter(range(100))
    measured = RecordEpochs(Kept().write, lambda: {"validation/loss": next(loss)}, every=3)
    Loop(Losses((0.5, 1)), 40, [measured, Progress(40, 3)]).run()
    shown = re.findall(
        r"epoch +(\d+)/40: loss 0.5000, validation loss (\d+)\.0*, ", capsys.readouterr().out
    )
    assert shown == [*((str(6 * k), str(2 * k - 1)) for k in range(1, 7)), ("40", "13")]


def test_a_long_epoch_shows_lines_too(capsys: pytest.CaptureFixture[str]) -> None:
    Loop(Losses(*[(0.5, 1)] * 1000), 2000, [measuring(), Progress(2)]).run()
    shown = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    epochs = [[f"epoch {e}/2, step {1000 * (e - 1) + 200 * k}/2000" for k in range(1, 5)]
              for e in (1, 2)]  # fmt: skip
    assert shown == [*epochs[0], "epoch 1/2", *epochs[1], "epoch 2/2"]


@pytest.mark.parametrize("bar", [False, True])
def test_the_last_line_is_where_the_run_stopped(bar: bool, capsys) -> None:
    Loop(Losses((0.5, 1), (0.125, 1)), 400, [Progress(200, bar=bar), At(stop, 7)]).run()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("epoch   4/200, step 7/400: loss 0.5000, ")


def test_slow_steps_are_told_by_their_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    class Slow(Losses):
        def step(self, batch: Any) -> tuple[float, int]:
            time.sleep(1.1)
            return super().step(batch)

    Loop(Slow((0.5, 1)), 1, [Progress(1)]).run()
    assert re.fullmatch(r"epoch 1/1: loss 0\.5000, \d\.\d s/step\n", capsys.readouterr().out)


def test_the_bar_of_a_run_that_fails_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="as planned"):
        Loop(Losses((0.5, 1)), 9, [Progress(9, bar=True), At(fail)]).run()
    assert re.search(r"\r +\r$", capsys.readouterr().err)
