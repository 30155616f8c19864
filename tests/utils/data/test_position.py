"""A loader goes on where another one stopped: same batches, same random numbers afterwards."""

import os
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.utils import data as d

pytestmark = [
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:Length of IterableDataset"),
]
needs_fork = pytest.mark.skipif(os.name != "posix", reason="the datasets here need a fork")
FORKED = {"num_workers": 2, "multiprocessing_context": "fork"}
SIZE, PASSES = 11, 2


class Noisy(d.Dataset[Any]):
    """Numbers with random ones, as augmented samples are."""

    def __getitem__(self, index: int) -> Any:
        numpys = float(np.random.rand())  # noqa: NPY002 - the generator that workers seed
        return index, torch.rand(1).item(), random.random(), numpys

    def __len__(self) -> int:
        return SIZE


class Stream(d.IterableDataset[Any]):
    """As many numbers as there are, divided among the workers, shuffled and noisy."""

    def __init__(self, sizes: tuple[int, ...] = (SIZE, 4)) -> None:
        self.sizes = sizes

    def __iter__(self) -> Iterator[Any]:
        info = d.get_worker_info()
        worker = info.id if info else 0
        order = list(range(self.sizes[worker]))
        random.shuffle(order)
        for i in order:
            yield worker * 100 + i, torch.rand(1).item()


class Stateful(Stream):
    """A stream that knows where it is, and counts how many samples it has read in all."""

    def __init__(self) -> None:
        super().__init__()
        self.at = self.read = 0

    def __iter__(self) -> Iterator[Any]:
        while self.at < SIZE:
            self.at += 1
            self.read += 1
            yield self.at - 1, torch.rand(1).item()
        self.at = 0

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


class OwnOrder(d.Sampler[int]):
    """A user's sampler that draws from Python's random numbers."""

    def __iter__(self) -> Iterator[int]:
        order = list(range(SIZE))
        random.shuffle(order)
        return iter(order)

    def __len__(self) -> int:
        return SIZE


class Counted(OwnOrder):
    """A sampler with a state: each pass begins one further."""

    def __init__(self) -> None:
        self.first = 0

    def __iter__(self) -> Iterator[int]:
        self.first += 1
        return iter([(self.first + i) % SIZE for i in range(SIZE)])

    def state_dict(self) -> dict[str, int]:
        return {"first": self.first}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.first = state["first"]


def rows() -> Any:
    return d.TensorDataset(torch.arange(SIZE), torch.arange(SIZE) * 0.5)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def weighted() -> Any:
    return d.WeightedRandomSampler([1.0, 2.0, 3.0], SIZE, generator=seeded())


def loaders(**more: Any) -> dict[str, Callable[[], d.DataLoader]]:
    return {
        "rows": lambda: d.DataLoader(rows(), 3, shuffle=True, **more),
        "in order": lambda: d.DataLoader(rows(), 3, drop_last=True, **more),
        "generator": lambda: d.DataLoader(Noisy(), 2, shuffle=True, generator=seeded(), **more),
        "weighted": lambda: d.DataLoader(Noisy(), 2, sampler=weighted(), **more),
        "single": lambda: d.DataLoader(Noisy(), None, shuffle=True, **more),
        "noisy": lambda: d.DataLoader(Noisy(), 2, shuffle=True, **more),
        "own": lambda: d.DataLoader(Noisy(), 2, sampler=OwnOrder(), **more),
        "counted": lambda: d.DataLoader(Noisy(), 2, sampler=Counted(), **more),
        "stream": lambda: d.DataLoader(Stream(), 2, **more),
        "stateful": lambda: d.DataLoader(Stateful(), 2, **more),
    }


KEPT = loaders(persistent_workers=True, **FORKED)
LOADERS = loaders()
WORKERS = loaders(**FORKED) | {"kept": KEPT["noisy"], "kept stream": KEPT["stream"]}


def states() -> Any:
    """What a program saves of its own random numbers."""
    return torch.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002


def restore(saved: Any) -> None:
    torch.set_rng_state(saved[0])
    random.setstate(saved[1])
    np.random.set_state(saved[2])  # noqa: NPY002


def plain(batch: Any) -> Any:
    return [t.tolist() if isinstance(t, torch.Tensor) else t for t in batch]


def numbers() -> Any:
    return torch.rand(1).item(), random.random(), float(np.random.rand())  # noqa: NPY002


def run(loader: d.DataLoader, passes: int, saves: Any = ()) -> tuple[list[Any], dict[int, Any]]:
    """All batches, each with numbers of the program's own, and the states saved after some."""
    log: list[Any] = []
    saved = {}
    for done in range(1, passes + 1):
        for batch in loader:
            log.append([plain(batch), numbers()])
            if len(log) in saves:
                saved[len(log)] = pickle.dumps((loader.state_dict(), states(), passes - done + 1))
        log.append("end")
        if len(log) in saves:
            saved[len(log)] = pickle.dumps((loader.state_dict(), states(), passes - done))
    return log, saved


def begin() -> None:
    torch.manual_seed(1)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002


def check(make: Callable[[], d.DataLoader], stride: int) -> None:
    begin()
    expected, _ = run(make(), PASSES)
    begin()
    log, saved = run(make(), PASSES, range(1, len(expected) + 1, stride))
    assert log == expected, "saving changes nothing"
    for cut, content in saved.items():
        state, own, passes = pickle.loads(content)
        begin()
        loader = make()
        loader.load_state_dict(state)
        restore(own)
        rest, _ = run(loader, passes)
        assert rest == expected[cut:], f"resumed after {cut}"


@pytest.mark.parametrize("name", LOADERS)
def test_the_rest_of_a_pass_is_the_same(name: str) -> None:
    check(LOADERS[name], stride=1)


OFTEN = ("stateful", "kept stream")


@needs_fork
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in OFTEN)) for n in WORKERS]
)
def test_the_rest_of_a_pass_of_workers_is_the_same(name: str) -> None:
    check(WORKERS[name], stride=5)


@needs_fork
@pytest.mark.parametrize("loaders", [LOADERS, WORKERS])
def test_a_resumed_loader_can_be_saved_and_resumed_again(loaders: Any) -> None:
    make = loaders["noisy"]
    begin()
    expected, _ = run(make(), 1)
    begin()
    loader = make()
    batches = iter(loader)
    log = [[plain(next(batches)), numbers()]]
    while len(log) < 4:
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        loader = make()
        loader.load_state_dict(state)
        assert loader.state_dict() is state
        log.append([plain(next(iter(loader))), numbers()])
    assert log == expected[:4]


def test_a_stream_with_a_state_is_not_read_again() -> None:
    loader = LOADERS["stateful"]()
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    fresh = LOADERS["stateful"]()
    fresh.load_state_dict(loader.state_dict())
    list(fresh)
    assert fresh.dataset.read == SIZE - 6


def test_refusals() -> None:
    state = d.DataLoader(range(4)).state_dict()
    with pytest.raises(ValueError, match=r"with num_workers=0, this one has num_workers=1"):
        d.DataLoader(range(4), num_workers=1).load_state_dict(state)


@needs_fork
def test_the_state_of_workers() -> None:
    loader = WORKERS["noisy"]()
    next(iter(loader))
    members = loader.state_dict()["workers"]["members"]
    assert [member["tasks"] for member in members] == [1, 0]
    assert type(members[0]["random"]["torch"]) is torch.Tensor
    loader = d.DataLoader(range(4), in_order=False, **FORKED)
    next(iter(loader))
    with pytest.raises(RuntimeError, match="in_order=False has no position"):
        loader.state_dict()
