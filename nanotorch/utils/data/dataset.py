"""Datasets, samplers for the order of their samples, and functions that collate batches.

The random samplers draw PyTorch's numbers at PyTorch's moments. In addition to `__iter__`, many
samplers have `chunks`, which yields the same indices as a few arrays; `BatchSampler` slices these.
"""

import bisect
import copy
import itertools
import math
import random
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
    Sized,
)
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import float64
from nanotorch._core.random import state_bytes
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.names.lookup import on_demand
from nanotorch.ops.creation import as_tensor, tensor
from nanotorch.ops.joining import stack
from nanotorch.ops.random import Generator, default_generator

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Array = np.ndarray


class Dataset(Generic[T_co]):
    """Samples by index: subclasses define `__getitem__` and, most often, `__len__`.

    A method `__getitems__(indices)` that returns a list of samples reads a batch in one call.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset[Any]") -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples as a stream: subclasses define `__iter__`."""

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class ChainDataset(IterableDataset[Any]):
    """The samples of several streams, one after the other.

    Args:
        datasets: instances of `IterableDataset`. Their use raises AssertionError for another one.
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self._streams())

    def __len__(self) -> int:
        return sum(len(stream) for stream in self._streams())

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors: sample i is the tuple of their i-th entries.

    Args:
        tensors: of the same size in their first dimension.

    Raises:
        AssertionError: if the sizes differ.
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class ConcatDataset(Dataset[T_co]):
    """The samples of several datasets, in order.

    Args:
        datasets: datasets that have a length.

    Raises:
        AssertionError: if ``datasets`` is empty or contains an `IterableDataset`.
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - before]


class Subset(Dataset[T_co]):
    """Some of the samples of a dataset.

    Args:
        dataset: the whole dataset.
        indices: the indices of the chosen samples.

    Raises:
        NotImplementedError: if a subclass overrides `__getitem__` but not `__getitems__`, which
            reads batches.
    """

    dataset: Dataset[T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        kind = type(self)
        own = kind.__getitem__ is not Subset.__getitem__
        if own and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__. When subclassing "
                "Subset and overriding __getitem__, you must also override __getitems__."
            )
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        return samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def samples(dataset: Any, indices: list[Any]) -> list[Any]:
    """The samples at ``indices``, read by `__getitems__` if the dataset has it."""
    at_once = getattr(dataset, "__getitems__", None)
    if at_once:
        return at_once(indices)
    return [dataset[i] for i in indices]


def random_split(
    dataset: Dataset[T], lengths: Sequence[float], generator: Generator | None = default_generator
) -> list[Subset[T]]:
    """Split a dataset at random; returns the parts as `Subset`s.

    Args:
        dataset: a dataset that has a length.
        lengths: the lengths of the parts, or fractions that sum to 1. Lengths from fractions are
            rounded down; the remaining samples go one by one to the first parts.
        generator: draws the permutation. Default: the default generator.

    Raises:
        ValueError: for a fraction outside [0, 1], or lengths that do not sum to the dataset's.
    """
    count = len(dataset)  # type: ignore[arg-type]
    sizes = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        for position, fraction in enumerate(sizes):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {position} is not between 0 and 1")
        sizes = [math.floor(count * fraction) for fraction in sizes]
        for i in range(int(count - sum(sizes))):
            sizes[i % len(sizes)] += 1
        for position, size in enumerate(sizes):
            if size == 0:
                warn(
                    f"Length of split at index {position} is 0. This might result in an empty "
                    "dataset."
                )
    if sum(sizes) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = (generator or default_generator).permutation(count).tolist()
    ends = itertools.accumulate(sizes)
    return [
        Subset(dataset, order[int(end - size) : int(end)])
        for end, size in zip(ends, sizes, strict=True)
    ]


# Samplers: the order in which a loader reads a dataset.


class Sampler(Generic[T_co]):
    """An order of indices, or of lists of indices: subclasses define `__iter__`."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class ArraySampler(Sampler[int]):
    """A sampler that computes its indices as arrays."""

    def chunks(self) -> Iterator[Array]:
        """The indices of one pass; each array is drawn when the last one is used up."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        for chunk in self.chunks():
            yield from chunk.tolist()


class SequentialSampler(ArraySampler):
    """All indices in order.

    Args:
        data_source: an object that has a length.
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def chunks(self) -> Iterator[Array]:
        yield np.arange(len(self.data_source))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(ArraySampler):
    """All indices in random order, or random indices with replacement.

    Args:
        data_source: an object that has a length.
        replacement: draw each index independently of the others. Default: False.
        num_samples: the number of indices. Default: the length of ``data_source``.
        generator: draws the indices. Default: a new one in each pass, with a seed that the default
            generator draws.

    Raises:
        TypeError: if ``replacement`` is not a bool.
        ValueError: if ``num_samples``, or the length, is not a positive integer.
    """

    data_source: Sized

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:  # fmt: skip
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        check_option("replacement", replacement, bool, TypeError)
        check_option("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices in one pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def chunks(self) -> Iterator[Array]:
        n, count = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(int(default_generator.naturals(()).item()))
        if self.replacement:
            for _ in range(count // 32):
                yield generator.integers(0, n, 32)
            yield generator.integers(0, n, count % 32)
        else:
            for _ in range(count // n):
                yield generator.permutation(n)
            # Drawn even if none of it is used: a shared generator's next draws depend on it.
            if count % n or self.generator is not None:
                yield generator.permutation(n)[: count % n]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    Args:
        indices: the indices to shuffle.
        generator: draws the order. Default: the default generator.
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        generator = self.generator or default_generator
        for i in generator.permutation(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(ArraySampler):
    """Random indices with given probabilities.

    Args:
        weights: the weights of the indices 0, 1, ...; they need not sum to 1.
        num_samples: the number of indices.
        replacement: draw each index independently of the others. Default: True.
        generator: draws the indices. Default: the default generator.

    Raises:
        ValueError: if ``num_samples`` is not a positive integer, ``replacement`` not a bool or
            ``weights`` not one-dimensional.
    """

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:  # fmt: skip
        check_option("num_samples", num_samples)
        check_option("replacement", replacement, bool)
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be 1d, but have shape {tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def chunks(self) -> Iterator[Array]:
        generator = self.generator or default_generator
        yield generator.multinomial(self.weights._array, self.num_samples, self.replacement)

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of a sampler in lists of ``batch_size``.

    Args:
        sampler: a sampler or any iterable of indices.
        batch_size: the number of indices in a batch.
        drop_last: leave out the last batch if it is smaller.

    Raises:
        ValueError: if ``batch_size`` is not a positive integer or ``drop_last`` not a bool.
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        check_option("batch_size", batch_size)
        check_option("drop_last", drop_last, bool)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def gives_arrays(self) -> bool:
        """Whether `arrays` yields the same batches as `__iter__`."""
        sampler = self.sampler
        return (
            type(self).__iter__ is BatchSampler.__iter__
            and isinstance(sampler, ArraySampler)
            and type(sampler).__iter__ is ArraySampler.__iter__
        )

    def arrays(self) -> Iterator[Array]:
        """The batches as arrays, drawn as late as `__iter__` draws them."""
        size = self.batch_size
        chunks: Iterator[Array] = self.sampler.chunks()  # type: ignore[attr-defined]
        left = next(chunks)
        start = 0
        while True:
            while len(left) - start < size:
                more = next(chunks, None)
                if more is None:
                    break
                left, start = np.concatenate([left[start:], more]), 0
            batch = left[start : start + size]
            if len(batch) < size and (self.drop_last or not len(batch)):
                return
            yield batch
            start += size

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def check_option(
    name: str, value: Any, kind: Any = int, error: type[Exception] = ValueError
) -> None:
    """Raise ``error`` unless ``value`` is a bool or, for ``kind=int``, a positive integer."""
    if not isinstance(value, kind) or (kind is int and (value is True or value <= 0)):
        wanted = "boolean" if kind is bool else "positive integer"
        raise error(f"{name} should be a {wanted} value, but got {name}={value}")


class DistributedSampler(ArraySampler):
    """The indices for one of several processes: every ``num_replicas``-th of the order.

    All processes get equally many indices: the order is repeated from its start, or cut off.

    Args:
        dataset: an object that has a length, the same in all processes.
        num_replicas: the number of processes. Default: the size of the default group.
        rank: the number of this process, from 0. Default: its rank in the default group.
        shuffle: a random order, which `set_epoch` changes. Default: True.
        seed: the seed of the order, the same in all processes. Default: 0.
        drop_last: cut the order off instead of repeating its start. Default: False.

    Raises:
        ValueError: if ``rank`` is out of range, or there is no group of processes and
            ``num_replicas`` or ``rank`` is not given.
    """

    def __init__(
        self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None,
        shuffle: bool = True, seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        from nanotorch.distributed.group import get_rank, get_world_size  # rarely needed

        num_replicas = get_world_size() if num_replicas is None else num_replicas
        rank = get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def chunks(self) -> Iterator[Array]:
        count = len(self.dataset)
        if self.shuffle:
            order = Generator().manual_seed(self.seed + self.epoch).permutation(count)
        else:
            order = np.arange(count)
        # `resize` repeats the order from its start if it is too short.
        yield np.resize(order, self.total_size)[self.rank :: self.num_replicas]

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that the random order of later passes depends on; call it before each."""
        self.epoch = epoch


# What a worker process knows about itself.


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker process of a `DataLoader`, as `get_worker_info` describes it.

    Attributes:
        id: the number of this worker, from 0.
        num_workers: the number of workers.
        seed: the seed of nanotorch's and Python's random numbers in this worker.
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


current: list[WorkerInfo | None] = [None]  # the worker that this process is


def get_worker_info() -> WorkerInfo | None:
    """The worker that this process is; None outside of the workers of a `DataLoader`."""
    return current[0]


# The position of a pass through a loader, so that another process can resume there.
#
# The order of the samples is not stored but drawn again: the states of the generators at the start
# of the pass and the number of batches since then determine it.


States = dict[str, Any]


class Position:
    """The position of a pass.

    Attributes:
        start: the states from which the order of its samples is drawn.
        draws: whether the pass began by drawing a seed for workers.
        seed: the seed of the workers.
        batches: the number of batches returned so far.
        ended: whether its stream has no further samples.
        finished: whether the pass is over.
        workers: the table of the workers' positions; None without workers.
    """

    __slots__ = ("batches", "draws", "ended", "finished", "seed", "start", "workers")

    def __init__(self, start: States, draws: bool = True, batches: int = 0) -> None:
        self.start, self.draws, self.batches = start, draws, batches
        self.seed, self.ended, self.finished = 0, False, False
        self.workers: Any = None

    def state(self) -> States:
        """The state from which `DataLoader.load_state_dict` resumes the pass."""
        start = self.start
        if not isinstance(start["random"], dict):  # else of a resumed pass
            generators = [wrap(state_bytes(mark)) for mark in start["generators"]]
            start = {**start, "random": portable(start["random"]), "generators": generators}
        return {
            "start": start, "draws": self.draws, "batches": self.batches, "ended": self.ended
        }  # fmt: skip


class Sources:
    """The samplers and generators that determine a loader's order of samples.

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
        # A user's sampler or stream may draw from Python's and NumPy's random numbers.
        self.plain = own and not loader._plan.streams

    def now(self) -> States:
        """The states that a pass that begins now depends on; `Position.state` converts them."""
        return {
            "random": (default_generator._mark(),) if self.plain else raw_states(),
            "generators": [generator._mark() for generator in self.generators],
            "samplers": [s.state_dict() for s in self._stateful],
        }

    def state(self) -> States:
        """The states of the samplers, and of their generators and the loader's."""
        return {
            "generators": [generator.get_state() for generator in self.generators],
            "samplers": [sampler.state_dict() for sampler in self._stateful],
        }

    def load_state(self, state: States) -> None:
        """Set the samplers, and their generators and the loader's, to the result of `state`."""
        for generator, told in zip(self.generators, state["generators"], strict=True):
            generator.set_state(as_tensor(told))
        for sampler, told in zip(self._stateful, state["samplers"], strict=True):
            sampler.load_state_dict(told)

    @contextmanager
    def again(self, start: States) -> Iterator[None]:
        """A block in which all random states and samplers are as at the start of a pass.

        After the block, the program's random numbers continue as if nothing had happened.
        """
        before = portable(raw_states())
        set_random_states(start["random"])
        self.load_state(start)
        try:
            yield
        finally:
            set_random_states(before)


def has_state(source: Any) -> bool:
    """Whether a dataset or a sampler can save and load its position."""
    return hasattr(source, "state_dict") and hasattr(source, "load_state_dict")


def dataset_state(dataset: Any) -> Any:
    """The state of a dataset; None if it has no `state_dict`."""
    return dataset.state_dict() if has_state(dataset) else None


def raw_states() -> tuple[Any, ...]:
    """The random states of nanotorch, Python and NumPy, in their own formats."""
    return default_generator._mark(), random.getstate(), np.random.get_state()  # noqa: NPY002 - users' code draws from it


def portable(states: tuple[Any, ...]) -> States:
    """The result of `raw_states`, or its first entry alone, as tensors, numbers and strings."""
    found: States = {"torch": wrap(state_bytes(states[0]))}
    if len(states) > 1:
        (version, words, spare), (kind, key, *rest) = states[1:]
        found["python"] = [version, wrap(np.array(words, np.int64)), spare]
        found["numpy"] = [kind, wrap(key.astype(np.int64)), *rest]
    return found


def set_random_states(states: States) -> None:
    """Set the random states that a result of `portable` holds."""
    default_generator.set_state(as_tensor(states["torch"]))
    if "python" in states:
        version, words, spare = states["python"]
        random.setstate((version, tuple(as_tensor(words).tolist()), spare))
        kind, words, *rest = states["numpy"]
        key = as_tensor(words).numpy().astype(np.uint32)
        np.random.set_state((kind, key, *rest))  # noqa: NPY002 - as above


# From a list of samples to a batch.


CollateMap = dict[Any, Callable[..., Any]]
UNKNOWN = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one batch: tensors, arrays and numbers become tensors with a new dimension 0.

    Mappings, tuples and lists are collated entry by entry; tuples become lists, except named
    tuples. Strings stay in a list. Python floats become float64.

    Raises:
        TypeError: for samples of another type.
        RuntimeError: for tensors or sequences of different sizes.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """`default_collate` with other functions for some types.

    Args:
        collate_fn_map: functions ``f(batch, *, collate_fn_map)`` by type. Other types than
            mappings and sequences must be among them. Default: none.
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
        return like_container(first, {key: together([d[key] for d in batch]) for key in first})
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        named = hasattr(first, "_fields")
        if not named and any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return like_container(first, [together(parts) for parts in zip(*batch, strict=False)])
    raise TypeError(UNKNOWN.format(type(first)))


def default_convert(data: Any) -> Any:
    """``data`` with tensors for NumPy arrays and numbers, also in containers."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return like_container(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like_container(data, [default_convert(entry) for entry in data])
    return data


def like_container(first: Any, entries: Any) -> Any:
    """A container of the type of ``first`` with other entries.

    A mutable container is copied, to keep its attributes. A tuple becomes a list, except a named
    tuple.
    """
    if isinstance(first, tuple):
        return type(first)(*entries) if hasattr(first, "_fields") else entries
    try:
        if not isinstance(first, MutableMapping | MutableSequence):
            return type(first)(entries)
        clone = copy.copy(first)
        for key, entry in entries.items() if isinstance(entries, dict) else enumerate(entries):
            clone[key] = entry
        return clone
    except TypeError:
        return entries


def stack_batch(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Tensors or arrays of equal shapes, stacked into a tensor."""
    if isinstance(batch[0], np.ndarray):
        if batch[0].dtype.kind in "SUO":
            raise TypeError(UNKNOWN.format(batch[0].dtype))
        return collate([as_tensor(sample) for sample in batch], collate_fn_map=collate_fn_map)
    arrays = [sample._array for sample in batch]
    shape, kind = arrays[0].shape, arrays[0].dtype
    if any(a.shape != shape or a.dtype != kind for a in arrays) or any(
        sample.requires_grad for sample in batch
    ):
        return stack(list(batch))
    return wrap(np.array(arrays))


default_collate_fn_map: CollateMap = {
    Tensor: stack_batch,
    np.ndarray: stack_batch,
    (np.bool_, np.number, np.object_): lambda batch, **_: as_tensor(batch),
    float: lambda batch, **_: tensor(batch, dtype=dtypes.float64),
    int: lambda batch, **_: tensor(batch),
    str: lambda batch, **_: batch,
    bytes: lambda batch, **_: batch,
}


# From indices to batches: the functions that read a dataset, in the loader's process or a worker's.


Reader = Callable[[Any], Any]


@dataclass
class Plan:
    """How a loader makes batches.

    Attributes:
        dataset: the dataset to read.
        collate_fn: makes a batch from a list of samples, or from one sample unless `batched`.
        batched: whether indices come in lists.
        drop_last: whether to leave out the last batch of a stream if it is smaller.
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
        """The arrays whose rows a batch selects, and which rows; None for other loaders."""
        if self.streams or not self.batched or self.collate_fn is not default_collate:
            return None
        chosen: Array | None = None
        dataset = self.dataset
        while type(dataset) is Subset:
            own = np.asarray(dataset.indices)
            if own.ndim != 1 or own.dtype.kind != "i":
                return None
            chosen = own if chosen is None else own.take(chosen)
            dataset = dataset.dataset
        if type(dataset) is not TensorDataset or any(t.requires_grad for t in dataset.tensors):
            return None
        return [tensor._array for tensor in dataset.tensors], chosen

    def reader(self, position: Position, skipped: int = 0) -> Reader:
        """The function from indices to a batch; it raises StopIteration at the end of a stream.

        Args:
            position: counts the batches.
            skipped: the number of samples of a stream to skip first.
        """
        dataset, collate_fn, batched = self.dataset, self.collate_fn, self.batched
        arrays, chosen = self.rows or ((), None)
        stream: Iterator[Any] = iter(dataset if self.streams and not position.ended else ())

        def read(indices: Any) -> Any:
            position.batches += 1
            return collate_fn(samples(dataset, indices) if batched else dataset[indices])

        def read_rows(indices: Any) -> Any:
            """The batch of some rows, by one indexing of each array."""
            rows = indices if type(indices) is Array else np.asarray(indices)
            if rows.ndim == 1 and rows.dtype.kind == "i":
                try:
                    rows = rows if chosen is None else chosen.take(rows)
                    batch = []  # a comprehension is a call of its own until Python 3.12
                    for array in arrays:
                        batch.append(wrap(array.take(rows, 0)))
                    position.batches += 1
                    return batch
                except IndexError:
                    pass  # reading the rows one by one names the wrong index
            return read(list(indices))

        def read_on(indices: Any) -> Any:
            """The next batch of a stream."""
            size = len(indices) if batched else 1
            part = []
            if not position.ended:
                part = [sample for _, sample in zip(range(size), stream, strict=False)]
                position.ended = len(part) < size
            if not part or (self.drop_last and len(part) < size):
                position.finished = True
                raise StopIteration
            position.batches += 1
            return collate_fn(part if batched else part[0])

        for _ in zip(range(skipped), stream, strict=False):
            pass
        return read_on if self.streams else read if self.rows is None else read_rows


def read_batches(read: Reader, indices: Iterator[Any], position: Position) -> Iterator[Any]:
    """The batches of some indices; after an exception for one, the next can still be read."""

    def finish() -> Iterator[None]:
        position.finished = True
        yield from ()

    # Unlike a generator, `map` needs no Python frame per batch and survives an exception.
    return map(read, itertools.chain(indices, finish()))


on_demand(__name__)
