"""Samples into batches: where a reader stands, and how it reads on."""

import copy
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.random import written
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.creation import as_tensor, tensor
from nanotorch.ops.joining import stack
from nanotorch.ops.random import Generator, default_generator
from nanotorch.utils.data.dataset import IterableDataset, Subset, TensorDataset, samples

# What a worker process knows of itself.


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What `get_worker_info` tells.

    Attributes:
        id: the number of this worker, from 0.
        num_workers: how many there are.
        seed: of PyTorch's and Python's random numbers in this worker.
        dataset: this worker's copy of the dataset.
        rng: None.
        worker_method: "multiprocessing".
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: None = None
    worker_method: str | None = "multiprocessing"


class _Current:
    """The worker that this process is."""

    info: WorkerInfo | None = None


current = _Current()


def get_worker_info() -> WorkerInfo | None:
    """Which worker this is; None outside of the workers of a `DataLoader`."""
    return current.info


# Where a pass through a loader stands, so that another process can resume there.
#
# The order of the samples is not written down but drawn again: what counts are the states of the
# generators when the pass began, and how many batches it has given since.


States = dict[str, Any]


class Position:
    """A pass under way.

    Attributes:
        start: what the order of its samples is drawn from.
        draws: whether it began with drawing a seed for workers.
        seed: of the workers.
        batches: how many it has given.
        ended: whether its stream has no more samples than those given.
        finished: whether it is over.
        workers: the table of where they stand; None without them.
    """

    __slots__ = ("batches", "draws", "ended", "finished", "seed", "start", "workers")

    def __init__(self, start: States, draws: bool = True, batches: int = 0) -> None:
        self.start, self.draws, self.batches = start, draws, batches
        self.seed, self.ended, self.finished = 0, False, False
        self.workers: Any = None

    def state(self) -> States:
        """What `DataLoader.load_state_dict` needs to resume the pass."""
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
        self._stateful = [s for s in self.samplers if has_state(s)]
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
            "samplers": [s.state_dict() for s in self._stateful],
        }

    def state(self) -> States:
        """The states of the samplers and of their and the loader's own generators."""
        return {
            "generators": [generator.get_state() for generator in self.generators],
            "samplers": [sampler.state_dict() for sampler in self._stateful],
        }

    def load_state(self, state: States) -> None:
        """Let the samplers and their and the loader's own generators continue from a state."""
        for generator, told in zip(self.generators, state["generators"], strict=True):
            generator.set_state(as_tensor(told))
        for sampler, told in zip(self._stateful, state["samplers"], strict=True):
            sampler.load_state_dict(told)

    @contextmanager
    def again(self, start: States) -> Iterator[None]:
        """A block in which everything is as when a pass began.

        Afterwards the random numbers of the program continue as if nothing had happened.
        """
        before = portable(raw_states())
        set_random_states(start["random"])
        self.load_state(start)
        try:
            yield
        finally:
            set_random_states(before)


def has_state(source: Any) -> bool:
    """Whether a dataset or a sampler tells of its own position."""
    return hasattr(source, "state_dict") and hasattr(source, "load_state_dict")


def dataset_state(dataset: Any) -> Any:
    """What a dataset tells of its own position; None if it tells nothing."""
    return dataset.state_dict() if has_state(dataset) else None


def raw_states() -> tuple[Any, ...]:
    """The states of the random numbers of nanotorch, Python and NumPy, as they come."""
    return default_generator._mark(), random.getstate(), np.random.get_state()  # noqa: NPY002 - users' code draws from it


def portable(states: tuple[Any, ...]) -> States:
    """States in a form that any kind of file can hold; the first one alone will do."""
    found: States = {"torch": wrap(written(states[0]))}
    if len(states) > 1:
        (version, words, spare), (kind, key, *rest) = states[1:]
        found["python"] = [version, wrap(np.array(words, np.int64)), spare]
        found["numpy"] = [kind, wrap(key.astype(np.int64)), *rest]
    return found


def set_random_states(states: States) -> None:
    """Continue with the random numbers of `portable`, as far as they are among them."""
    default_generator.set_state(as_tensor(states["torch"]))
    if "python" in states:
        version, words, spare = states["python"]
        random.setstate((version, tuple(as_tensor(words).tolist()), spare))
        kind, words, *rest = states["numpy"]
        key = as_tensor(words).numpy().astype(np.uint32)
        np.random.set_state((kind, key, *rest))  # noqa: NPY002 - as above


def told(start: States) -> States:
    """What `Sources.now` gave, in a form that any kind of file can hold."""
    if isinstance(start["random"], dict):  # of a resumed pass
        return start
    generators = [wrap(written(mark)) for mark in start["generators"]]
    return {**start, "random": portable(start["random"]), "generators": generators}


# From a list of samples to a batch.


CollateMap = dict[Any, Callable[..., Any]]
UNKNOWN = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch: Sequence[Any]) -> Any:
    """Put samples together: tensors, arrays and numbers become tensors with a new first dimension.

    Mappings, tuples and lists are collated entry by entry; tuples become lists, except named ones.
    Strings stay as they are. Python floats become float64.

    Raises:
        TypeError: for samples of another type.
        RuntimeError: for tensors or sequences of different sizes.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """`default_collate` with other functions for the types that are no containers.

    Args:
        collate_fn_map: functions ``f(batch, *, collate_fn_map)`` by type.
    """
    first = batch[0]
    functions = collate_fn_map or {}
    function = functions.get(type(first))
    if function is None:
        function = next((f for kind, f in functions.items() if isinstance(first, kind)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def together(parts: Sequence[Any]) -> Any:
        return collate(parts, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return like_mapping(first, {key: together([d[key] for d in batch]) for key in first})
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        named = hasattr(first, "_fields")
        if not named and any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return like_sequence(first, [together(parts) for parts in zip(*batch, strict=False)])
    raise TypeError(UNKNOWN.format(type(first)))


def default_convert(data: Any) -> Any:
    """Turn NumPy arrays and numbers, also inside containers, into tensors; the rest stays."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like_sequence(data, [default_convert(entry) for entry in data])
    return data


def like_mapping(first: Any, entries: dict[Any, Any]) -> Any:
    """A mapping of the type of ``first``; its copy, if it can be changed, to keep attributes."""
    try:
        if isinstance(first, MutableMapping):
            clone = copy.copy(first)
            clone.update(entries)
            return clone
        return type(first)(entries)
    except TypeError:
        return entries


def like_sequence(first: Any, entries: list[Any]) -> Any:
    """A sequence of the type of ``first``, but a list for a tuple that is not a named one."""
    if isinstance(first, tuple):
        return type(first)(*entries) if hasattr(first, "_fields") else entries
    try:
        if isinstance(first, MutableSequence):
            clone = copy.copy(first)
            for position, entry in enumerate(entries):
                clone[position] = entry
            return clone
        return type(first)(entries)
    except TypeError:
        return entries


def collate_tensors(batch: Sequence[Tensor], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Tensors of equal shapes, stacked."""
    arrays = [sample._array for sample in batch]
    shape, kind = arrays[0].shape, arrays[0].dtype
    if any(a.shape != shape or a.dtype != kind for a in arrays) or any(
        sample.requires_grad for sample in batch
    ):
        return stack(list(batch))
    return wrap(np.array(arrays))


def collate_arrays(batch: Sequence[np.ndarray], *, collate_fn_map: CollateMap | None = None) -> Any:
    """NumPy arrays, as tensors."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(UNKNOWN.format(batch[0].dtype))
    return collate([as_tensor(sample) for sample in batch], collate_fn_map=collate_fn_map)


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensors,
    np.ndarray: collate_arrays,
    (np.bool_, np.number, np.object_): lambda batch, **_: as_tensor(batch),
    float: lambda batch, **_: tensor(batch, dtype=dtypes.float64),
    int: lambda batch, **_: tensor(batch),
    str: lambda batch, **_: batch,
    bytes: lambda batch, **_: batch,
}


# From indices to batches: what reads a dataset, in the loader's process or in a worker's.


Array = np.ndarray
Reader = Callable[[Any], Any]


@dataclass
class Plan:
    """How a loader makes batches.

    Attributes:
        dataset: what is read.
        collate_fn: from a list of samples to a batch, or from one sample if not `batched`.
        batched: whether indices come in lists.
        drop_last: whether the last batch of a stream is left out if it is smaller.
    """

    dataset: Any
    collate_fn: Callable[[Any], Any]
    batched: bool
    drop_last: bool

    @property
    def streams(self) -> bool:
        """Whether the dataset is a stream."""
        return isinstance(self.dataset, IterableDataset)

    @cached_property
    def rows(self) -> tuple[list[Array], Array | None] | None:
        """The arrays whose rows are to be batched, and which rows; None for other datasets."""
        if self.streams or not self.batched or self.collate_fn is not default_collate:
            return None
        return rows_of(self.dataset)

    def reader(self, position: Position, skipped: int = 0) -> Reader:
        """What gives the batch of some indices; at the end of a stream it raises `StopIteration`.

        Args:
            position: where batches are counted.
            skipped: how many samples of a stream are passed over.
        """
        dataset, collate_fn, batched = self.dataset, self.collate_fn, self.batched
        if self.streams:
            return stream_reader(self, position, skipped)
        if self.rows is not None:
            return row_reader(self, position, *self.rows)

        def read(indices: Any) -> Any:
            position.batches += 1
            return collate_fn(samples(dataset, indices) if batched else dataset[indices])

        return read


def rows_of(dataset: Any) -> tuple[list[Array], Array | None] | None:
    """The arrays whose rows are a dataset's samples, and which rows; None for other datasets."""
    chosen: Array | None = None
    while type(dataset) is Subset:
        own = np.asarray(dataset.indices)
        if own.ndim != 1 or own.dtype.kind != "i":
            return None
        chosen = own if chosen is None else own.take(chosen)
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or any(t.requires_grad for t in dataset.tensors):
        return None
    return [tensor._array for tensor in dataset.tensors], chosen


def row_reader(plan: Plan, position: Position, arrays: list[Array], chosen: Array | None) -> Reader:
    """Batches that are the (chosen) rows of arrays, of each array at once."""

    def read(indices: Any) -> Any:
        position.batches += 1
        rows = indices if type(indices) is Array else np.asarray(indices)
        if rows.ndim == 1 and rows.dtype.kind == "i":
            try:
                rows = rows if chosen is None else chosen.take(rows)
                batch = []  # a comprehension is a call of its own until Python 3.12
                for array in arrays:
                    batch.append(wrap(array.take(rows, 0)))
                return batch
            except IndexError:
                pass  # reading one by one tells which index it is
        return plan.collate_fn(samples(plan.dataset, list(indices)))

    return read


def stream_reader(plan: Plan, position: Position, skipped: int) -> Reader:
    """Batches, or single samples, in the order in which a stream has them."""
    stream: Iterator[Any] = iter(()) if position.ended else iter(plan.dataset)

    def read(indices: Any) -> Any:
        size = len(indices) if plan.batched else 1
        part = []
        if not position.ended:
            part = [sample for _, sample in zip(range(size), stream, strict=False)]
            position.ended = len(part) < size
        if not part or (plan.drop_last and len(part) < size):
            position.finished = True
            raise StopIteration
        position.batches += 1
        return plan.collate_fn(part if plan.batched else part[0])

    for _ in zip(range(skipped), stream, strict=False):
        pass
    return read


def read_all(read: Reader, indices: Iterator[Any], position: Position) -> Iterator[Any]:
    """The batches of indices; an exception of one does not keep from reading the next."""

    def finish() -> Iterator[None]:
        position.finished = True
        yield from ()

    # Without a frame of Python's per batch, unlike a generator.
    return map(read, itertools.chain(indices, finish()))
