"""Where a pass through a loader stands, so that another process can go on from there.

The order of the samples is not written down but drawn again: what counts are the states of the
generators when the pass began, and how many batches it has given since.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from nanotorch._core.tensor import wrap
from nanotorch._core.twister import written
from nanotorch.ops.creation import as_tensor
from nanotorch.ops.generator import Generator, default_generator

States = dict[str, Any]


class Position:
    """A pass that goes on.

    Attributes:
        start: what the order of its samples is drawn from.
        draws: whether it began with drawing a seed for workers.
        seed: of the workers.
        batches: how many it has given.
        ended: whether its stream has no more samples than those given.
        finished: whether it is over.
        roster: where the workers stand; None without them.
    """

    __slots__ = ("batches", "draws", "ended", "finished", "roster", "seed", "start")

    def __init__(self, start: States, draws: bool = True, batches: int = 0) -> None:
        self.start, self.draws, self.batches = start, draws, batches
        self.seed, self.ended, self.finished = 0, False, False
        self.roster: Any = None

    def state(self) -> States:
        """What `DataLoader.load_state_dict` needs to go on with the pass."""
        return {
            "start": told(self.start),
            "draws": self.draws,
            "batches": self.batches,
            "ended": self.ended,
        }


class Sources:
    """What a loader draws the order of its samples from.

    Args:
        loader: a `DataLoader`.
    """

    def __init__(self, loader: Any) -> None:
        inner = getattr(loader.batch_sampler, "sampler", None)
        samplers = [s for s in (loader.batch_sampler, loader.sampler, inner) if s is not None]
        self.samplers = list({id(s): s for s in samplers}.values())
        held = [getattr(owner, "generator", None) for owner in (loader, *self.samplers)]
        found = [g for g in held if isinstance(g, Generator) and g is not default_generator]
        self.generators = list({id(g): g for g in found}.values())
        own = all(type(s).__module__.startswith("nanotorch.") for s in self.samplers)
        # Orders and streams of the user's may draw from Python's and NumPy's random numbers.
        self.plain = own and not loader._plan.streams

    def now(self) -> States:
        """What a pass that begins now depends on, as it comes; see `told`."""
        return {
            "random": (default_generator._mark(),) if self.plain else raw_states(),
            "generators": [generator._mark() for generator in self.generators],
            "samplers": [s.state_dict() for s in self._stateful()],
        }

    def _stateful(self) -> Iterator[Any]:
        for sampler in self.samplers:
            if hasattr(sampler, "state_dict") and hasattr(sampler, "load_state_dict"):
                yield sampler

    def state(self) -> States:
        """The states of the samplers and of their and the loader's own generators."""
        return {
            "generators": [generator.get_state() for generator in self.generators],
            "samplers": [sampler.state_dict() for sampler in self._stateful()],
        }

    def load_state(self, state: States) -> None:
        """Let the samplers and their and the loader's own generators go on from a state."""
        for generator, told in zip(self.generators, state["generators"], strict=True):
            generator.set_state(as_tensor(told))
        for sampler, told in zip(self._stateful(), state["samplers"], strict=True):
            sampler.load_state_dict(told)

    @contextmanager
    def again(self, start: States) -> Iterator[None]:
        """A block in which everything is as when a pass began.

        Afterwards the random numbers of the program go on as if nothing had happened.
        """
        before = random_states()
        set_random_states(start["random"])
        self.load_state(start)
        try:
            yield
        finally:
            set_random_states(before)


def dataset_state(dataset: Any) -> Any:
    """What a dataset tells of its own position; None if it tells nothing."""
    if hasattr(dataset, "state_dict") and hasattr(dataset, "load_state_dict"):
        return dataset.state_dict()
    return None


def raw_states() -> tuple[Any, ...]:
    """The states of the random numbers of nanotorch, Python and NumPy, as they come."""
    return default_generator._mark(), random.getstate(), np.random.get_state()  # noqa: NPY002 - users' code draws from it


def random_states() -> States:
    """The states of all random numbers, as tensors, numbers, texts and lists of them."""
    return portable(raw_states())


def portable(states: tuple[Any, ...]) -> States:
    """States in a form that any kind of file can hold; the first one alone will do."""
    found: States = {"torch": wrap(written(states[0]))}
    if len(states) > 1:
        (version, words, spare), (kind, key, *rest) = states[1:]
        found["python"] = [version, wrap(np.array(words, np.int64)), spare]
        found["numpy"] = [kind, wrap(key.astype(np.int64)), *rest]
    return found


def set_random_states(states: States) -> None:
    """Go on with the random numbers of `random_states`, as far as they are among them."""
    default_generator.set_state(as_tensor(states["torch"]))
    if "python" in states:
        version, words, spare = states["python"]
        random.setstate((version, tuple(as_tensor(words).tolist()), spare))
        kind, words, *rest = states["numpy"]
        key = as_tensor(words).numpy().astype(np.uint32)
        np.random.set_state((kind, key, *rest))  # noqa: NPY002 - as above


def told(start: States) -> States:
    """What `Sources.now` gave, in a form that any kind of file can hold."""
    if isinstance(start["random"], dict):  # of a pass that was gone on with
        return start
    generators = [wrap(written(mark)) for mark in start["generators"]]
    return {**start, "random": portable(start["random"]), "generators": generators}
