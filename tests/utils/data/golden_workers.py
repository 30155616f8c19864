"""Loaders with worker processes: orders, random numbers, what workers know, their errors.

The workers are forked, so that datasets may be defined where they are used.
"""

import os
import random
import re
from collections import namedtuple
from typing import Any

import numpy as np

from tests.answers import raised, warned

Point = namedtuple("Point", ["x", "y"])


def _loader(torch: Any, dataset: Any, *args: Any, **options: Any) -> Any:
    options = {"num_workers": 2, "multiprocessing_context": "fork", **options}
    return torch.utils.data.DataLoader(dataset, *args, **options)


class _Rows:
    """Numbers, each with random ones of all kinds."""

    def __init__(self, torch: Any, size: int = 10) -> None:
        self.torch, self.size = torch, size

    def __getitem__(self, index: int) -> Any:
        drawn = self.torch.rand(2)
        return index, drawn, self.torch.tensor([random.random(), np.random.rand()])  # noqa: NPY002 - it is seeded

    def __len__(self) -> int:
        return self.size


def orders(torch: Any) -> Any:
    """The order, the default generator's numbers meanwhile, and those afterwards."""
    d = torch.utils.data
    for size, batch, drop in ((10, 3, False), (12, 4, False), (7, 7, True), (9, 2, True)):
        for generator in (None, torch.Generator().manual_seed(size)):
            torch.manual_seed(size)
            whole = d.TensorDataset(torch.arange(size), torch.arange(size) * 2.0)
            given = {"shuffle": True, "drop_last": drop, "generator": generator}
            loader = _loader(torch, whole, batch, **given)
            for _ in range(2):
                yield [[batch, torch.rand(1)] for batch in loader]
            yield [torch.rand(2), generator and torch.rand(2, generator=generator)]


def kept_workers(torch: Any) -> Any:
    """Workers that go on to the next pass go on with their random numbers too."""
    torch.manual_seed(5)
    loader = _loader(torch, _Rows(torch), 2, persistent_workers=True, shuffle=True)
    answers = [[list(loader), torch.rand(1)] for _ in range(3)]
    batches = iter(loader)
    left = next(batches)
    return [*answers, left, list(loader), iter(loader) is batches, torch.rand(1)]


def streams(torch: Any) -> Any:
    d = torch.utils.data

    class Stream(d.IterableDataset):
        def __init__(self, sizes: Any) -> None:
            self.sizes = sizes

        def __iter__(self) -> Any:
            worker = d.get_worker_info().id
            return iter(range(worker * 100, worker * 100 + self.sizes[worker]))

        def __len__(self) -> int:
            return 5

    for sizes in ((5, 5), (0, 4), (6, 1), (0, 0), (2, 7)):
        for keep in (False, True):
            loader = _loader(torch, Stream(sizes), 2, persistent_workers=keep)
            passes = [[batch.tolist() for batch in loader] for _ in range(2)]
            yield passes if sizes != (6, 1) else sorted(map(str, passes))
    loader = _loader(torch, Stream((2, 2)), None)
    yield [list(loader), list(_loader(torch, Stream((3, 3)), 2, drop_last=True))]
    loader = _loader(torch, Stream((8, 8)), 2)
    told = len(loader)
    # On a machine with a single processor, two workers are warned of as well.
    told_of = [w for w in warned(lambda: list(loader)) if "Length of Iterable" in w]
    yield from [told, [w.split("<")[0] + w[-60:] for w in told_of]]


def kinds_of_batches(torch: Any) -> Any:
    """All that a batch may be goes through to the other process as it is."""
    samples = [
        1, 2.5, True, "a", b"b", None, (1, "x"), [torch.ones(2), {"k": 1.5}], Point(1, 2),
        torch.zeros(0, 3), torch.tensor(3, dtype=torch.int16), torch.ones(2, 3).t(),
        torch.arange(40_000.0).reshape(200, 200).t(), torch.rand(3, requires_grad=True).detach(),
        torch.nn.Parameter(torch.ones(2)), torch.Size([1, 2]),
    ]  # fmt: skip
    given = _loader(torch, samples, None, collate_fn=lambda sample: sample)
    answers = []
    for back in given:
        shape = back.stride() if isinstance(back, torch.Tensor) else None
        text = float(back.sum()) if shape and back.numel() > 100 else back
        answers.append([type(back).__name__, text, shape and list(shape)])
    changed = [batch.mul_(2) for batch in _loader(torch, torch.arange(6.0), 3)]
    arrays = list(_loader(torch, [np.ones(2), np.zeros(2)], 2))
    return [
        answers, changed, arrays, [len(b) for b in _loader(torch, [1, 2, 3], 2, collate_fn=str)],
    ]  # fmt: skip


class _Bad:
    def __init__(self, error: Any, at: int = 3) -> None:
        self.error, self.at = error, at

    def __getitem__(self, index: int) -> Any:
        if index == self.at:
            raise self.error
        return index

    def __len__(self) -> int:
        return 8


class _ToldError(Exception):
    message = "told"

    def __init__(self, message: str, code: int = 3) -> None:
        super().__init__(message)


def _first_and_last(text: str) -> list[str]:
    lines = text.strip().splitlines()
    return [*lines[:2], lines[-1]]


def errors(torch: Any) -> Any:
    """Errors of workers come where the batch would; the loop may go on after them."""
    several = [
        ValueError("no"), KeyError("k"), IndexError("out"), _ToldError("x"), OSError(2, "file"),
        UnicodeDecodeError("utf8", b"a", 0, 1, "bad"), AssertionError(),
    ]  # fmt: skip
    for error in several:
        told = raised(list, _loader(torch, _Bad(error), 2))
        yield [*_first_and_last(told), "in __getitem__" in told]
    batches = iter(_loader(torch, _Bad(ValueError("no")), 2))
    around = [next(batches), raised(next, batches)[:60], next(batches), next(batches)]

    def fail(worker: int) -> None:
        raise RuntimeError(f"worker {worker} has no file")

    def by_worker(batch: Any) -> Any:
        raise TypeError("collate")

    yield from [
        around, raised(next, batches),
        _first_and_last(raised(list, _loader(torch, range(4), worker_init_fn=fail))),
        _first_and_last(raised(list, _loader(torch, range(4), collate_fn=by_worker))),
    ]  # fmt: skip


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def deaths(torch: Any) -> Any:
    class Dies(_Bad):
        def __getitem__(self, index: int) -> Any:
            if index == self.at:
                self.error()
            return index

    def told(die: Any) -> list[str]:
        try:
            list(_loader(torch, Dies(die), 2))
        except RuntimeError as error:
            return [_without_numbers(str(e)) for e in (error, error.__cause__)]
        return []

    return [told(lambda: os.kill(os.getpid(), 9)), told(lambda: os._exit(3))]


def refusals(torch: Any) -> Any:
    load = torch.utils.data.DataLoader
    bad = [
        {"prefetch_factor": -1}, {"multiprocessing_context": "spoon"},
        {"multiprocessing_context": 3}, {"timeout": -1},
    ]  # fmt: skip
    loader = load(range(3), timeout=2)
    return [
        *[raised(load, [1], num_workers=1, **options) for options in bad],
        raised(load, [1], num_workers=-1), raised(load, [1], persistent_workers=True),
        raised(load, [1], prefetch_factor=2), raised(load, [1], multiprocessing_context="fork"),
        raised(iter, load([1], num_workers=1, prefetch_factor=0)), raised(iter, loader),
        warned(lambda: load([1], num_workers=1000))[0].partition("system is")[0],
        load([1]).multiprocessing_context,
        type(load([1], num_workers=1, multiprocessing_context="fork").multiprocessing_context)
        .__name__,
        raised(setattr, load([1]), "multiprocessing_context", "fork"),
    ]  # fmt: skip
