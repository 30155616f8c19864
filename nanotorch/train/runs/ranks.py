"""Training in several processes under `mpiexec`: each computes its share of every step.

All processes run the same program on the same data, with the same weights. They exchange gradients
and everything that may differ between processes: the time, signals, the last bits of a metric.
Only the process of rank 0 writes, prints and draws.
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
"""The variables in which launchers give the number of processes, and the rank of this one."""
PATIENCE = 1.0
"""Seconds that other ranks wait before they print an error: rank 0 prints one that all have."""
BEAT = 0.5
"""Seconds between two signs of life."""
SILENCE = 20
"""The number of beats without a sign of life after which another process is lost."""
LOST = 255
"""The last message of a process that has lost another one."""
SIGN = 32_765  # the tag of these messages: odd, unlike those of `send`, above those of collectives


def launched(names: Sequence[str] = SIZES) -> int:
    """Return the number of processes started together, or this process's rank for `RANKS`; or 0."""
    told = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in told if text.isdecimal()), 0)


def join(reduction: str) -> None:
    """Join the other processes that a launcher has started with this one, if there are any.

    Args:
        reduction: how gradients are added, as in `torch.distributed.init_process_group`.

    Raises:
        RuntimeError: if there is no MPI; the text names what to install.
    """
    if launched() > 1 and not is_joined():
        torch.distributed.init_process_group(reduction=reduction)


def is_joined() -> bool:
    """Return whether this process has joined others; imports nothing."""
    return "nanotorch.distributed" in sys.modules and torch.distributed.is_initialized()


def size() -> int:
    """Return the number of processes that train together."""
    return torch.distributed.get_world_size() if is_joined() else 1


def rank() -> int:
    """Return the rank of this process, counted from 0."""
    return torch.distributed.get_rank() if is_joined() else 0


def rank_facts() -> dict[str, Any]:
    """Return the number of processes and, for several, the PID and host of each."""
    found: list[Any] = [None] * size()
    if size() > 1:
        from nanotorch.distributed.optim import all_gather_object  # a single process needs none

        all_gather_object(found, f"PID {os.getpid()} on {platform.node()}")
    return {"processes": size()} | ({"ranks": found} if size() > 1 else {})


@contextmanager
def watch_ranks() -> Iterator[None]:
    """Let the processes watch each other in the block, and wait for each other at its end.

    The time that a process waits shows nothing: a connection stays open when a cable is cut, and
    rank 0 may draw plots for long. So each process sends signs of life.
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
    """Send signs of life to the next rank; end all processes if the previous rank sends none.

    If the network splits the processes, each part has a rank that hears nothing. Beats are
    counted instead of seconds because all processes may be stopped for a while.
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
        silence = f"no sign of life from rank {before} for {SILENCE * BEAT:g} s"
        why = "its host or the network has failed"
        print(f"rank {rank()} of {size()} ends all processes: {silence}; {why}", file=sys.stderr)
    from nanotorch.distributed.group import end_all

    end_all(1)


def waiting_time() -> float:
    """Return the seconds that this process has waited for others."""
    return torch.distributed.Work.waited if size() > 1 else 0.0


def share(batch: Sequence[torch.Tensor], full: int) -> list[torch.Tensor]:
    """Return this process's rows of a batch; the last processes get none of a small batch.

    Args:
        batch: the tensors, samples first.
        full: the number of samples in a batch, except the last.
    """
    rows = -(-full // size())
    first = rank() * rows
    return [tensor[first : first + rows] for tensor in batch]


class Present:
    """Records which parameters have a gradient in any process.

    A compiled step depends on the mask from its trace, so that it cannot work with another one.
    """

    mask: list[bool] | None = None

    def update(self, mask: list[bool]) -> None:
        """Keep the mask of a step.

        Raises:
            RuntimeError: if a replayed step has another mask.
        """
        if self.mask not in (None, mask):
            message = "other parameters have gradients than when the step was compiled"
            raise RuntimeError(f"{message}; set train.compile: false")
        self.mask = mask


def add_gradients(parameters: Iterable[torch.Tensor], loss: torch.Tensor) -> torch.Tensor:
    """Add up the gradients of all processes; return the sum of the losses.

    A parameter without a gradient in any process keeps None.
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
    # A traced array has no memory, so that the trace records this function as one call.
    whole = np.array(memoryview(input))  # type: ignore[arg-type]
    torch.distributed.all_reduce(torch.from_numpy(whole))
    present.update((whole[:count] > 0).tolist())
    return whole


def max_over_ranks(*numbers: int) -> list[int]:
    """Return the maximum of each number over all processes."""
    if size() == 1:
        return [*numbers]
    found = torch.tensor([*map(int, numbers)])
    torch.distributed.all_reduce(found, torch.distributed.ReduceOp.MAX)
    return found.tolist()


BEFORE, AFTER = -1, -2
"""Arguments of `drawing` instead of a share's number: before the first share, after the last."""
_draws: list[Any] = []
"""The number drawn before the step, and the generator's state for the time after the step."""


@hidden_op()
def drawing(input: np.ndarray, share: int) -> np.ndarray:
    """A copy of the array: an operation, so that compiled steps draw random numbers, too.

    From this call on, random numbers belong to a share of a step's samples, whatever process
    computes it. They follow from a number that all processes draw before the step.
    """
    same = np.array(memoryview(input))  # type: ignore[arg-type]  # comes first, as above
    generator = torch.default_generator
    if share == BEFORE:
        _draws[:] = int(generator.naturals(())), generator.get_state()
    elif share == AFTER:
        generator.set_state(_draws[1])
    else:
        generator.manual_seed(hash((_draws[0], share)) % 2**32)
    return same


def end_rank(told: str, code: int) -> int:
    """Print an error that ends this process, and so all of them; return the exit code."""
    me = (rank() or launched(RANKS)) * (launched() > 1)
    if me:
        time.sleep(PATIENCE)  # if rank 0 has the same error, it ends all processes meanwhile
    print(f"rank {me} of {launched()}: {told.strip()}" if me else told, file=sys.stderr)
    if launched() > 1:
        from nanotorch.distributed.group import end_all  # few programs need it

        end_all(code)
    return code
