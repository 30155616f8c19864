"""Loaders with worker processes: orders, random numbers, what workers know, their errors.

The workers are forked, so that datasets may be defined where they are used.
"""

import functools
import os
import random
import re
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.answers import raised, sessions

Point = namedtuple("Point", ["x", "y"])


class _Items:
    """What a function gives for an index."""

    def __init__(self, item: Callable[[int], Any], size: int = 8) -> None:
        self.item, self.size = item, size

    def __getitem__(self, index: int) -> Any:
        return self.item(index)

    def __len__(self) -> int:
        return self.size


class _ToldError(Exception):
    message = "told"

    def __init__(self, message: str, code: int = 3) -> None:
        super().__init__(message)


def _bad(fail: Callable[[], Any]) -> _Items:
    """Indices, but for the fourth, at which something is called."""
    return _Items(lambda index: fail() if index == 3 else index)


def _throw(error: Exception) -> Any:
    raise error


def _ends(call: Callable[..., Any], *args: Any) -> list[str]:
    """The first lines of an error and its last one."""
    lines = raised(call, *args).strip().splitlines()
    return [*lines[:2], lines[-1]]


def _causes(call: Callable[[], Any]) -> list[str]:
    """The texts of an error and its cause, without numbers."""
    try:
        call()
    except RuntimeError as error:
        return [re.sub(r"\d+", "#", str(e)) for e in (error, error.__cause__)]
    return []


def _names(torch: Any) -> dict[str, Any]:
    d = torch.utils.data

    class Stream(d.IterableDataset):
        def __init__(self, *sizes: int) -> None:
            self.sizes = sizes

        def __iter__(self) -> Any:
            worker = d.get_worker_info().id
            return iter(range(worker * 100, worker * 100 + self.sizes[worker]))

        def __len__(self) -> int:
            return 5

    def noisy(index: int) -> Any:
        """A number with random ones of all kinds."""
        others = [random.random(), np.random.rand()]  # noqa: NPY002 - it is seeded
        return index, torch.rand(2), torch.tensor(others)

    forked = functools.partial(d.DataLoader, num_workers=2, multiprocessing_context="fork")
    return {
        "d": d, "load": d.DataLoader, "loader": forked, "Stream": Stream, "noisy": noisy, "np": np,
        "os": os, "Items": _Items, "ToldError": _ToldError, "bad": _bad, "throw": _throw,
        "ends": _ends, "causes": _causes, "Point": Point,
    }  # fmt: skip


workers = sessions(_names)("""
orders
    # The default generator's numbers meanwhile, and those afterwards.
    for size, batch, drop in ((10, 3, False), (12, 4, False), (7, 7, True), (9, 2, True)):
        for g in (None, torch.Generator().manual_seed(size)):
            _ = torch.manual_seed(size)
            whole = d.TensorDataset(torch.arange(size), torch.arange(size) * 2.0)
            batches = loader(whole, batch, shuffle=True, drop_last=drop, generator=g)
            [[[batch, torch.rand(1)] for batch in batches] for _ in range(2)]
            torch.rand(2), g and torch.rand(2, generator=g)
kept workers
    # They go on to the next pass with their random numbers.
    kept = loader(Items(noisy, 10), 2, persistent_workers=True, shuffle=True)
    for _ in range(3):
        list(kept), torch.rand(1)
    batches = iter(kept)
    next(batches), list(kept), iter(kept) is batches, torch.rand(1)
streams
    for sizes in ((5, 5), (0, 4), (6, 1), (0, 0), (2, 7)):
        for keep in (False, True):
            batches = loader(Stream(*sizes), 2, persistent_workers=keep)
            passes = [[batch.tolist() for batch in batches] for _ in range(2)]
            passes if sizes != (6, 1) else sorted(map(str, passes))
    list(loader(Stream(2, 2), None)), list(loader(Stream(3, 3), 2, drop_last=True))
    batches = loader(Stream(8, 8), 2)
    len(batches)
    # On a machine with a single processor, two workers are warned of as well.
    texts = [w for w in warned(lambda: list(batches)) if "Length of Iterable" in w]
    [w.split("<")[0] + w[-60:] for w in texts]
kinds of batches
    # All that a batch may be goes through to the other process as it is.
    samples = [1, 2.5, True, "a", b"b", None, (1, "x"), [torch.ones(2), {"k": 1.5}], Point(1, 2)]
    samples += [torch.zeros(0, 3), torch.tensor(3, dtype=torch.int16), torch.ones(2, 3).t()]
    samples += [torch.arange(40_000.0).reshape(200, 200).t(), nn.Parameter(torch.ones(2))]
    samples += [torch.rand(3, requires_grad=True).detach(), torch.Size([1, 2])]
    for back in loader(samples, None, collate_fn=lambda sample: sample):
        tensor = isinstance(back, torch.Tensor)
        type(back).__name__, float(back.sum()) if tensor and back.numel() > 100 else back
        list(back.stride()) if tensor else None
    [batch.mul_(2) for batch in loader(torch.arange(6.0), 3)]
    list(loader([np.ones(2), np.zeros(2)], 2))
    [len(batch) for batch in loader([1, 2, 3], 2, collate_fn=str)]
errors
    # They come where the batch would; the loop may go on after them.
    several = [ValueError("no"), KeyError("k"), IndexError("out"), ToldError("x"), AssertionError()]
    for error in (*several, OSError(2, "file"), UnicodeDecodeError("utf8", b"a", 0, 1, "bad")):
        batches = loader(bad(lambda: throw(error)), 2)
        ends(list, batches), "in __getitem__" in raised(list, batches)
    batches = iter(loader(bad(lambda: throw(ValueError("no"))), 2))
    next(batches), raised(next, batches)[:60], next(batches), next(batches), next(batches)
    ends(list, loader(range(4), worker_init_fn=lambda n: throw(RuntimeError(f"of worker {n}"))))
    ends(list, loader(range(4), collate_fn=lambda batch: throw(TypeError("collate"))))
deaths
    causes(lambda: list(loader(bad(lambda: os.kill(os.getpid(), 9)), 2)))
    causes(lambda: list(loader(bad(lambda: os._exit(3)), 2)))
refusals
    for options in (
        {"prefetch_factor": -1}, {"multiprocessing_context": "spoon"},
        {"multiprocessing_context": 3}, {"timeout": -1},
    ):
        load([1], num_workers=1, **options)
    load([1], num_workers=-1), load([1], persistent_workers=True), load([1], prefetch_factor=2)
    load([1], multiprocessing_context="fork"), iter(load([1], num_workers=1, prefetch_factor=0))
    iter(load(range(3), timeout=2)), load([1]).multiprocessing_context
    warned(lambda: load([1], num_workers=1000))[0].partition("system is")[0]
    type(loader([1]).multiprocessing_context).__name__
    setattr(load([1]), "multiprocessing_context", "fork")
""")
