"""`DataLoader`: batches of a dataset, in this process."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from nanotorch._core.tensor import wrap
from nanotorch.ops.generator import Generator, default_generator
from nanotorch.utils.data.collate import default_collate, default_convert
from nanotorch.utils.data.dataset import IterableDataset, Subset, TensorDataset, samples
from nanotorch.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

Array = np.ndarray
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Endless(Sampler[None]):
    """Asks a stream for one more sample, as often as one likes."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader:
    """Goes through a dataset in batches, anew each time it is iterated over.

    Each pass draws one number from the generator besides the order of the samples, as PyTorch's
    loader does, so that the same seed gives the same batches. Batches of a `TensorDataset`, and of
    a `Subset` of one, are cut out of its tensors at once; their values are those of collating
    sample by sample.

    Args:
        dataset: something with `__getitem__` and `__len__`, or an `IterableDataset`.
        batch_size: samples per batch; None gives single samples, converted by ``collate_fn``.
            Default: 1.
        shuffle: a new random order in each pass. Default: False.
        sampler: the order of the indices, instead of ``shuffle``.
        batch_sampler: lists of indices, instead of ``batch_size``, ``shuffle``, ``sampler`` and
            ``drop_last``.
        num_workers: only 0: samples are read in this process.
        collate_fn: from a list of samples to a batch. Default: `default_collate`; without batches,
            `default_convert`.
        drop_last: leave out the last batch if it is smaller. Default: False.
        generator: of the random order. Default: the default generator.
        pin_memory, timeout, worker_init_fn, multiprocessing_context, prefetch_factor,
            persistent_workers, pin_memory_device, in_order: accepted where they ask for nothing.

    Raises:
        ValueError: for options that exclude each other or are out of their range.
        NotImplementedError: if ``num_workers`` is not 0.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        check_workers(
            num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context
        )
        self.dataset = dataset
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.prefetch_factor, self.multiprocessing_context = prefetch_factor, None
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.in_order = in_order
        self._streams = isinstance(dataset, IterableDataset)
        self._reported: int | None = None  # the length of a stream, once somebody has asked for it
        self.generator = generator
        check_order(self._streams, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._usual_sampler(bool(shuffle))
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        default = default_convert if batch_sampler is None else default_collate
        self.collate_fn = default if collate_fn is None else collate_fn
        self.persistent_workers = persistent_workers

    def _usual_sampler(self, shuffle: bool) -> Sampler[Any]:
        if self._streams:
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __setattr__(self, name: str, value: Any) -> None:
        # `persistent_workers` is the last that the constructor sets.
        if name in FIXED and "persistent_workers" in self.__dict__:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """The number of batches; of an `IterableDataset`, as far as its length tells."""
        if not self._streams:
            sampler: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
            return len(sampler)
        self._reported = count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used.",
                stacklevel=2,
            )
        indices: Iterator[Any] = iter(
            self.sampler if self.batch_sampler is None else self.batch_sampler
        )
        # PyTorch gives its workers this seed, and draws it without workers too.
        (self.generator or default_generator).naturals(())
        if self._streams:
            return self._from_stream(iter(self.dataset))
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[i]) for i in indices)
        source = rows_of(self.dataset) if self.collate_fn is default_collate else None
        if source is None:
            return (self.collate_fn(samples(self.dataset, part)) for part in indices)
        if isinstance(self.batch_sampler, BatchSampler) and self.batch_sampler.gives_arrays():
            indices = self.batch_sampler.arrays()
        return self._from_rows(*source, indices)

    def _from_rows(
        self, arrays: list[Array], chosen: Array | None, indices: Iterator[Any]
    ) -> Iterator[Any]:
        """Batches of a dataset whose samples are the (chosen) rows of arrays."""
        for part in indices:
            rows = np.asarray(part)
            batch = None
            if rows.ndim == 1 and rows.dtype.kind == "i":
                try:
                    rows = rows if chosen is None else chosen.take(rows)
                    batch = [wrap(array.take(rows, 0)) for array in arrays]
                except IndexError:
                    batch = None  # reading one by one tells which index it is
            yield self.collate_fn(samples(self.dataset, list(part))) if batch is None else batch

    def _from_stream(self, stream: Iterator[Any]) -> Iterator[Any]:
        """Batches, or single samples, of an `IterableDataset`."""
        size = self.batch_size
        yielded = 0
        while True:
            part = [sample for _, sample in zip(range(size or 1), stream, strict=False)]
            if not part or (self.drop_last and size is not None and len(part) < size):
                return
            yielded += 1
            if self._reported is not None and yielded > self._reported:
                warnings.warn(
                    f"Length of IterableDataset {self.dataset} was reported to be {self._reported}"
                    f"(when accessing len(dataloader)), but {yielded} samples have been fetched. ",
                    stacklevel=2,
                )
            yield self.collate_fn(part[0] if size is None else part)


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


def check_workers(
    num_workers: int,
    timeout: float,
    prefetch_factor: int | None,
    persistent_workers: bool,
    multiprocessing_context: Any,
) -> None:
    """Refuse options of worker processes, in PyTorch's words where it refuses them too."""
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers > 0:
        raise NotImplementedError(
            f"nanotorch reads samples in the calling process: num_workers={num_workers} is not "
            "available, use num_workers=0"
        )
    if prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 "
            "to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if persistent_workers:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if multiprocessing_context is not None:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > "
            f"0), but got num_workers={num_workers}"
        )


def check_order(
    streams: bool,
    batch_size: int | None,
    shuffle: bool | None,
    sampler: Any,
    batch_sampler: Any,
    drop_last: bool,
) -> None:
    """Refuse ways to order and group samples that exclude each other."""
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if streams and value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                "and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def get_worker_info() -> None:
    """None: samples are read in the main process."""
    return
