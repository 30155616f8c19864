"""Training in several processes under `mpiexec`: each computes its share of every step.

All of them run the same program on the same data, with the same weights. They exchange gradients,
and whatever may differ from process to process: the time, signals, the last bits of a measure.
The process of rank 0 alone writes, prints and draws.
"""

import os
import platform
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch._core.op import hidden_op

SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "WORLD_SIZE")
RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "RANK")
"""Where launchers tell how many processes there are, and which one this is."""
PATIENCE = 1.0
"""Seconds that other processes have to tell of an error that all come upon, before one does."""
BEAT = 0.5
"""Seconds between two signs of life."""
SILENCE = 20
"""Beats without a sign of life from another process, after which it is lost."""
LOST = 255
"""What a process says at last that has lost another."""
SIGN = 32_765  # the tag of its messages: odd, unlike those of `send`, above those of collectives


def launched(names: Sequence[str] = SIZES) -> int:
    """Return how many processes were started together; with `RANKS`, which one this is."""
    told = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in told if text.isdecimal()), 0)


def join(reduction: str) -> None:
    """Let this process join the others that a launcher has started with it, if there are any.

    Args:
        reduction: how gradients are added, as of `torch.distributed.init_process_group`.

    Raises:
        RuntimeError: if there is no MPI; the text says what to install.
    """
    if launched() > 1 and not is_joined():
        torch.distributed.init_process_group(reduction=reduction)


def is_joined() -> bool:
    """Return whether there are other processes; where none were asked for, nothing is imported."""
    return "nanotorch.distributed" in sys.modules and torch.distributed.is_initialized()


def size() -> int:
    """Return how many processes train together."""
    return torch.distributed.get_world_size() if is_joined() else 1


def rank() -> int:
    """Return which of them this is, from 0."""
    return torch.distributed.get_rank() if is_joined() else 0


def rank_facts() -> dict[str, Any]:
    """Return how many there are, and of several what their launcher would call one that ends."""
    found: list[Any] = [None] * size()
    if size() > 1:
        from nanotorch.distributed.optim import all_gather_object  # which one alone never needs

        all_gather_object(found, f"PID {os.getpid()} on {platform.node()}")
    return {"processes": size()} | ({"ranks": found} if size() > 1 else {})


@contextmanager
def watch_ranks() -> Iterator[None]:
    """Let the processes watch each other in the block; at its end they wait for each other.

    A connection does not end when a cable is cut, and rank 0 may draw for long: how long others
    wait tells nothing.
    """
    if size() == 1:
        yield
        return
    over = threading.Event()
    watch = threading.Thread(target=watch_next, args=(over,), daemon=True)
    watch.start()
    try:
        yield
        torch.distributed.barrier()
    finally:
        over.set()
        watch.join()


def watch_next(over: threading.Event) -> None:
    """Give signs of life to the next process, and end this one if the one before gives none.

    Where the processes fall apart, each part has one that hears nothing more. Beats are counted,
    not seconds: all processes may be stopped for a while.
    """
    comm: Any = torch.distributed.group.WORLD.comm  # type: ignore[union-attr]
    sent, silent = list[Any](), 0
    after, before = (rank() + 1) % size(), (rank() - 1) % size()
    while silent < SILENCE and not over.wait(BEAT):
        sent = [request for request in sent if not request.Test()]
        sent.append(comm.Isend(bytearray(1), after, SIGN))
        silent += 1
        while comm.Iprobe(before, SIGN):
            comm.Recv(sign := bytearray(1), before, SIGN)
            silent = sign[0]
    if over.is_set():
        return
    comm.Isend(bytearray([LOST]), after, SIGN)
    if silent < LOST:
        silence = f"nothing heard of rank {before} for {SILENCE * BEAT:g} s"
        why = "its host, or the network between, has failed"
        print(f"rank {rank()} of {size()} ends all processes: {silence}; {why}", file=sys.stderr)
    from nanotorch.distributed.group import end_all

    end_all(1)


def waiting_time() -> float:
    """Return the seconds that this process has waited for others."""
    return torch.distributed.Work.waited if size() > 1 else 0.0


def share(batch: Sequence[torch.Tensor], full: int) -> list[torch.Tensor]:
    """Return this process's rows of a batch; of a small one, the last processes get none.

    Args:
        batch: tensors, samples first.
        full: how many samples a batch has, but for the last.
    """
    rows = -(-full // size())
    first = rank() * rows
    return [tensor[first : first + rows] for tensor in batch]


class Present:
    """Which parameters any process has a gradient of.

    A compiled step has been told when it was traced: it cannot do with others.
    """

    mask: list[bool] | None = None

    def update(self, mask: list[bool]) -> None:
        """Keep what a step has found; one that is replayed must find the same."""
        if self.mask not in (None, mask):
            message = "another parameter has a gradient now than when the step was compiled"
            raise RuntimeError(f"{message}; set train.compile: false")
        self.mask = mask


def add_gradients(parameters: Iterable[torch.Tensor], loss: torch.Tensor) -> torch.Tensor:
    """Add up the gradients of all processes; return the sum of the losses.

    A parameter that no process has a gradient of keeps None.
    """
    given, total = [p for p in parameters if p.requires_grad], loss.detach()
    for kind in {p.dtype: None for p in given}:
        same, present = [p for p in given if p.dtype == kind], Present()
        there = torch.tensor([float(p.grad is not None) for p in same], dtype=kind)
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in same]
        flat = [there, *map(torch.flatten, parts), loss.detach().to(kind).reshape(1)]
        whole = all_reduced(torch.cat(flat), len(same), present)
        _, *sums, total = whole.split([part.numel() for part in flat])
        for p, part, wanted in zip(same, sums, present.mask or (), strict=True):
            if wanted:
                p.grad = part.reshape(p.shape)
    return total.to(loss.dtype, copy=True).reshape(())


@hidden_op()
def all_reduced(input: np.ndarray, count: int, present: Present) -> np.ndarray:
    """The sum over all processes: an operation, so that compiled steps exchange gradients, too."""
    # A traced array has no memory: the call is traced as one.
    whole = np.array(memoryview(input))  # type: ignore[arg-type]
    torch.distributed.all_reduce(torch.from_numpy(whole))
    present.update((whole[:count] > 0).tolist())
    return whole


def max_over_ranks(*numbers: int) -> list[int]:
    """Return the greatest that any process gives of each: what one wants holds for all."""
    if size() == 1:
        return [*numbers]
    found = torch.tensor([*map(int, numbers)])
    torch.distributed.all_reduce(found, torch.distributed.ReduceOp.MAX)
    return found.tolist()


BEFORE, AFTER = -1, -2
"""In place of the number of a share: before the first one, and after the last."""
_draws: list[Any] = []
"""What was drawn before the step, and where the default generator goes on after it."""


@hidden_op()
def drawing(input: np.ndarray, share: int) -> np.ndarray:
    """The same array: an operation, so that compiled steps draw, too.

    From here on random numbers are those of a share of a step's samples, whoever computes it. They
    follow from a number that all processes draw before the step.
    """
    same = np.array(memoryview(input))  # type: ignore[arg-type]  # first of all, as above
    generator = torch.default_generator
    if share == BEFORE:
        _draws[:] = int(generator.naturals(())), generator.get_state()
    elif share == AFTER:
        generator.set_state(_draws[1])
    else:
        generator.manual_seed(hash((_draws[0], share)) % 2**32)
    return same


def end_rank(told: str, code: int) -> int:
    """Tell of an error that ends this process, and so all of them; return the exit code."""
    me = (rank() or launched(RANKS)) * (launched() > 1)
    if me:
        time.sleep(PATIENCE)  # rank 0 tells of what all come upon, and ends them meanwhile
    print(f"rank {me} of {launched()}: {told.strip()}" if me else told, file=sys.stderr)
    if launched() > 1:
        from nanotorch.distributed.group import end_all  # which few programs need

        end_all(code)
    return code
