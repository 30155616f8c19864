"""Batches that worker processes read in advance."""

from collections.abc import Iterator
from typing import Any

from nanotorch.utils.data.crew import Crew
from nanotorch.utils.data.position import Position
from nanotorch.utils.data.roster import Roster
from nanotorch.utils.data.worker import Ended, Failure


class WorkerBatches(Iterator[Any]):
    """Goes through the batches of a loader whose workers read them.

    Args:
        crew: the workers.
        roster: says which of them reads which batch.
        timeout: how long to wait for a batch, in seconds; 0 is for ever.
        keeps: whether the workers wait for another pass when one is over.
    """

    def __init__(self, crew: Crew, roster: Roster, timeout: float, keeps: bool) -> None:
        self.crew, self.roster = crew, roster
        self._timeout, self._keeps = timeout, keeps
        self._run = 0

    def begin(self, indices: Iterator[Any], position: Position, asked: list[int]) -> None:
        """Begin a pass, or go on with one.

        Args:
            indices: of the batches that are to come.
            position: which batches are counted in.
            asked: the workers that are to read the first ones; in turn if there are none.
        """
        self._indices, self.position = indices, position
        self._run += 1
        for worker in range(len(self.roster.members)):
            self.crew.send(worker, self._run)
        if self._run > 1:
            for worker in range(len(self.roster.members)):
                self._await_begin(worker)
        for worker in asked:
            self._ask(worker)
        for _ in range(0 if asked else self.roster.room):
            self._ask()

    def _await_begin(self, worker: int) -> None:
        """Wait until a worker has done what was asked of it in the pass before."""
        begun = False
        while not begun:
            _, (run, number, value, state) = self.crew.receive([worker])
            begun = run == self._run and number is None
        member = self.roster.members[worker]
        member.begun, member.told = value, state

    @property
    def usable(self) -> bool:
        """Whether the workers are there for another pass."""
        return self.crew.stop.alive

    def __next__(self) -> Any:
        try:
            value = self._next_value()
        except BaseException:
            # A channel that was left in the middle of a message cannot be used any more.
            self.crew.stop()
            raise
        if isinstance(value, Failure):
            value.reraise()
        if isinstance(value, Ended):
            raise StopIteration
        return value

    def _next_value(self) -> Any:
        """The next batch, or what a worker has in its place; `Ended` if all have ended."""
        while self.usable and (workers := self.roster.waited_for()):
            worker, answer = self.crew.receive(workers, self._timeout)
            run, number, value, state = answer
            if run != self._run:  # asked for in a pass that was left
                continue
            member = self.roster.members[worker]
            member.told = state
            if number is None:
                member.begun = value
                continue
            if isinstance(value, Ended):
                self.roster.retire(worker)
                self._ask()
                continue
            self.roster.done(number, worker)
            self._ask()
            self.position.batches += 1
            return value
        self.position.finished = True
        if not self._keeps:
            self.crew.stop()
        return Ended()

    def _ask(self, worker: int | None = None) -> None:
        """Ask for the next batch, if there is one, a worker or the one whose turn it is."""
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        if worker is None:
            worker = self.roster.next_worker()
        if worker is not None:
            self.crew.send(worker, (self._run, self.roster.add(worker), indices))
