"""From indices to batches: what reads a dataset, in the loader's process or in a worker's."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nanotorch._core.tensor import wrap
from nanotorch.utils.data.collate import default_collate
from nanotorch.utils.data.dataset import IterableDataset, Subset, TensorDataset, samples
from nanotorch.utils.data.position import Position

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
        dataset, collate_fn = self.dataset, self.collate_fn
        if self.streams:
            return stream_reader(self, position, skipped)
        if self.rows is not None:
            return row_reader(self, position, *self.rows)

        def read(index: Any) -> Any:
            position.batches += 1
            return collate_fn(dataset[index])

        def read_several(indices: Any) -> Any:
            position.batches += 1
            return collate_fn(samples(dataset, indices))

        return read_several if self.batched else read


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
