"""The loop: which events come when, and that the last one always comes."""

from collections.abc import Iterable
from typing import Any

import pytest

from nanotorch.train.loop import Callback, Loop


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

    def on_start(self, loop: Loop) -> None:
        self._note("start", loop)

    def on_step(self, loop: Loop) -> None:
        self._note("step", loop)

    def on_epoch(self, loop: Loop) -> None:
        self._note("epoch", loop)

    def on_end(self, loop: Loop) -> None:
        self._note("end", loop)


class FailAt(Callback):
    """Raises at a step."""

    def __init__(self, step: int) -> None:
        self._step = step

    def on_step(self, loop: Loop) -> None:
        if loop.step == self._step:
            raise ValueError("as planned")


class StopAt(Callback):
    """Stops at a step."""

    def __init__(self, step: int) -> None:
        self._step = step

    def on_step(self, loop: Loop) -> None:
        if loop.step == self._step:
            loop.stop("enough")


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


def test_no_steps_are_no_epoch() -> None:
    notes: list[str] = []
    Loop(Counting(), 0, [Journal("x", notes)]).run()
    assert notes == ["x start 0.0", "x end 0.0"]


def test_a_callback_can_stop_the_loop_within_an_epoch() -> None:
    notes: list[str] = []
    task = Counting()
    loop = Loop(task, 100, [StopAt(5), Journal("x", notes)])
    loop.run()
    assert (task.taken, loop.stop_reason) == (5, "enough")
    assert notes[-2:] == ["x step 2.5", "x end 2.5"]


def test_an_exception_still_ends_every_callback_that_started() -> None:
    notes: list[str] = []
    loop = Loop(Counting(), 9, [Journal("x", notes), FailAt(2), Journal("y", notes)])
    with pytest.raises(ValueError, match="as planned"):
        loop.run()
    assert notes[-3:] == ["x step 1.2", "y end 1.2", "x end 1.2"]


def test_a_callback_that_cannot_start_ends_the_others() -> None:
    class Broken(Callback):
        def on_start(self, loop: Loop) -> None:
            raise OSError("no disk")

    notes: list[str] = []
    with pytest.raises(OSError, match="no disk"):
        Loop(Counting(), 9, [Journal("x", notes), Broken(), Journal("y", notes)]).run()
    assert notes == ["x start 0.0", "x end 0.0"]


class PauseAt(Callback):
    """Pauses at a step."""

    def __init__(self, step: int) -> None:
        self._step = step

    def on_step(self, loop: Loop) -> None:
        if loop.step == self._step:
            loop.pause("lunch")


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
    first = Loop(Counting(), steps, [Journal("x", notes), Counter(), PauseAt(at)])
    first.run()
    assert (first.step, first.pause_reason) == (at, "lunch")
    assert first.complete is (at == steps)

    task = Counting()
    task.taken = at
    counter = Counter()
    second = Loop(task, steps, [Journal("x", notes), counter])
    second.load_state(first.state())
    second.run()
    assert events(notes) == events(whole)
    assert (second.step, counter.count, second.first_loss) == (steps, steps, 1.0)


def test_what_is_kept_when_all_have_seen_a_step_can_be_gone_on_from() -> None:
    whole: list[str] = []
    states: list[tuple[int, Any]] = []

    class Keep(Callback):
        def on_settled(self, loop: Loop) -> None:
            states.append((len(events(whole)), loop.state()))

    Loop(Counting(), 7, [Journal("x", whole), Counter(), Keep()]).run()
    assert len(states) == 7 + 3
    for told, state in states:
        task, notes = Counting(), list[str]()
        task.taken = state["step"]
        loop = Loop(task, 7, [Journal("x", notes), Counter()])
        loop.load_state(state)
        loop.run()
        assert events(notes) == events(whole)[told:]


def test_a_stopped_loop_stays_stopped() -> None:
    loop = Loop(Counting(), 9, [StopAt(2)])
    loop.run()
    again = Loop(Counting(), 9, [])
    again.load_state(loop.state())
    again.run()
    assert (again.step, again.stop_reason) == (2, "enough")


def test_callbacks_of_one_class_keep_their_own_states() -> None:
    class Keeping(Callback):
        def __init__(self, steps: int) -> None:
            self.steps = steps

        def state(self) -> int:
            return self.steps

        def load_state(self, state: int) -> None:
            self.steps = state

    before = Loop(Counting(), 1, [Keeping(3), Keeping(5)]).state()
    after = [Keeping(0), Keeping(0)]
    Loop(Counting(), 1, after).load_state(before)
    assert [counter.steps for counter in after] == [3, 5]
