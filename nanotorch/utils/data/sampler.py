"""Samplers: the order in which a loader reads a dataset.

The random ones draw what PyTorch draws, and when it draws it. Besides `__iter__` they have
`chunks`, which gives the same indices as a few arrays; `BatchSampler` cuts batches from those.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from nanotorch._core.dtypes import float64
from nanotorch.ops.creation import as_tensor
from nanotorch.ops.random import Generator, default_generator

T_co = TypeVar("T_co", covariant=True)
Array = np.ndarray


class Sampler(Generic[T_co]):
    """An order of indices, or of lists of indices: subclasses have `__iter__`."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class ArraySampler(Sampler[int]):
    """A sampler whose indices come as arrays."""

    def chunks(self) -> Iterator[Array]:
        """The indices of one pass; an array is drawn when the one before is used up."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        for chunk in self.chunks():
            yield from chunk.tolist()


class SequentialSampler(ArraySampler):
    """All indices in order.

    Args:
        data_source: something with a length.
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def chunks(self) -> Iterator[Array]:
        yield np.arange(len(self.data_source))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(ArraySampler):
    """All indices in random order, or random indices.

    Args:
        data_source: something with a length.
        replacement: draw each index independently of the others. Default: False.
        num_samples: how many indices. Default: as many as ``data_source`` has.
        generator: to draw from. Default: a new one in each pass, with a seed that the default
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
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        check_count(self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices one pass has."""
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
            # Drawn even where nothing of it is used, as what a shared generator gives next depends
            # on it.
            if count % n or self.generator is not None:
                yield generator.permutation(n)[: count % n]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    Args:
        indices: to choose from.
        generator: to draw from. Default: the default generator.
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
        weights: of the indices 0, 1, ...; they need not sum up to 1.
        num_samples: how many indices.
        replacement: draw each index independently of the others. Default: True.
        generator: to draw from. Default: the default generator.

    Raises:
        ValueError: if ``num_samples`` is not a positive integer, ``replacement`` not a bool or
            ``weights`` not one-dimensional.
    """

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:  # fmt: skip
        check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
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
        batch_size: how many indices to a batch.
        drop_last: leave out the last batch if it is smaller.

    Raises:
        ValueError: if ``batch_size`` is not a positive integer or ``drop_last`` not a bool.
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def gives_arrays(self) -> bool:
        """Whether `arrays` gives the same batches as `__iter__`."""
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


def check_count(num_samples: Any) -> None:
    """Refuse a number of samples that is not a positive integer."""
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise ValueError(
            f"num_samples should be a positive integer value, but got num_samples={num_samples}"
        )
