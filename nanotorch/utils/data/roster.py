"""Which worker reads which batch."""

import itertools
import pickle
from collections import deque
from dataclasses import dataclass
from typing import Any

from nanotorch.utils.data.position import portable


@dataclass
class Member:
    """What is known of a worker.

    Attributes:
        resumed: where it stood when it began, as `state` gave it in another process.
        begun: its random numbers at the beginning of the pass; None before it told them.
        told: its random numbers, the state of its dataset and whether that has ended; None before.
        active: whether its stream may have more in this pass.
        tasks: how many batches it has tried to read in this pass.
    """

    resumed: dict[str, Any] | None = None
    begun: bytes | None = None
    told: bytes | None = None
    active: bool = True
    tasks: int = 0

    def state(self) -> dict[str, Any]:
        """Where the worker stands, in a form that any kind of file can hold."""
        state = self.resumed or {"begun": None, "random": None, "dataset": None, "ended": False}
        if self.begun is not None:
            state = {**state, "begun": portable(pickle.loads(self.begun))}
        if self.told is not None:
            raw, dataset, ended = pickle.loads(self.told)
            state = {**state, "random": portable(raw), "dataset": dataset, "ended": ended}
        return {**state, "active": self.active, "tasks": self.tasks}


class Roster:
    """Hands the batches of a pass to workers in turn.

    Args:
        count: how many workers there are.
        prefetch: for how many batches each is asked in advance.
        in_order: whether batches are given in the order in which they were asked for.
    """

    def __init__(self, count: int, prefetch: int, in_order: bool) -> None:
        self.members = [Member() for _ in range(count)]
        self.room = prefetch * count
        self.in_order = in_order
        self.clear()

    def clear(self) -> None:
        """Begin a new pass."""
        for member in self.members:
            member.active, member.tasks = True, 0
        self._turn = 0
        self._numbers = itertools.count()
        # The batches that are asked for: their numbers, and whose they are.
        self._asked: deque[tuple[int, int]] = deque()

    def next_worker(self) -> int | None:
        """The next worker in turn that has more to read; None if there is none.

        If the order does not matter, it must have room for another batch too.
        """
        count = len(self.members)
        active = sum(member.active for member in self.members)
        for _ in range(count):
            worker, self._turn = self._turn, (self._turn + 1) % count
            if self.members[worker].active:
                busy = sum(owner == worker for _, owner in self._asked)
                if self.in_order or busy < self.room // active:
                    return worker
        return None

    def add(self, worker: int) -> int:
        """Note that a worker is asked for a batch; returns the batch's number."""
        number = next(self._numbers)
        self._asked.append((number, worker))
        return number

    def waited_for(self) -> list[int]:
        """The workers of which one has to give the next batch; none if all is read."""
        owners = [worker for _, worker in self._asked]
        return owners[:1] if self.in_order else sorted(set(owners))

    def done(self, number: int, worker: int) -> None:
        """Note that a worker has given a batch."""
        self._asked.remove((number, worker))
        self.members[worker].tasks += 1

    def retire(self, worker: int) -> None:
        """Note that the stream of a worker has no more."""
        self.members[worker].active = False
        self._asked = deque(task for task in self._asked if task[1] != worker)

    def state(self) -> dict[str, Any]:
        """Where the workers stand.

        Raises:
            RuntimeError: if the order does not matter.
        """
        if not self.in_order:
            raise RuntimeError("a DataLoader with in_order=False has no position to be saved")
        return {
            "members": [member.state() for member in self.members],
            "asked": [worker for _, worker in self._asked],
            "turn": self._turn,
        }

    def resume(self, state: dict[str, Any], mid_pass: bool) -> list[int]:
        """Go on from a state; returns who is to be asked for the next batches, in order.

        Args:
            state: what `state` gave, of as many workers.
            mid_pass: whether within a pass; else only the workers' own states count.
        """
        for member, told in zip(self.members, state["members"], strict=True):
            member.resumed = told
            if mid_pass:
                member.active, member.tasks = told["active"], told["tasks"]
        if not mid_pass:
            return []
        self._turn = state["turn"]
        return list(state["asked"])
