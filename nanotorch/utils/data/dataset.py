"""Datasets: what has samples, by index or as a stream."""

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from nanotorch._core.call_site import warn
from nanotorch._core.tensor import Tensor
from nanotorch.ops.random import Generator, default_generator

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index: subclasses have `__getitem__` and, most often, `__len__`.

    With a method `__getitems__(indices)` that gives a list of samples, batches are read at once.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset[Any]") -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples as a stream: subclasses have `__iter__`."""


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors: sample i is the tuple of their i-th entries.

    Args:
        tensors: all of the same size in their first dimension.

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
    """Several datasets one after the other.

    Args:
        datasets: with lengths.

    Raises:
        AssertionError: for none, or an `IterableDataset` among them.
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
        dataset: the whole.
        indices: of the samples chosen.

    Raises:
        NotImplementedError: if a subclass has its own `__getitem__` but no `__getitems__`, which
            is what batches are read with.
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
    """The samples of several indices, by `__getitems__` where the dataset has it."""
    at_once = getattr(dataset, "__getitems__", None)
    if at_once:
        return at_once(indices)
    return [dataset[i] for i in indices]


def random_split(
    dataset: Dataset[T], lengths: Sequence[float], generator: Generator | None = default_generator
) -> list[Subset[T]]:
    """Divide a dataset at random.

    Args:
        dataset: with a length.
        lengths: of the parts; or fractions that sum up to 1, which are rounded down, and what
            remains goes one by one to the first parts.
        generator: of the permutation. Default: the default generator.

    Raises:
        ValueError: for a fraction outside [0, 1], or lengths that do not sum up to the dataset's.
    """
    count = len(dataset)  # type: ignore[arg-type]
    sizes = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        sizes = parts(count, sizes)
    if sum(sizes) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = (generator or default_generator).permutation(count).tolist()
    ends = itertools.accumulate(sizes)
    return [
        Subset(dataset, order[int(end - size) : int(end)])
        for end, size in zip(ends, sizes, strict=True)
    ]


def parts(count: int, fractions: Sequence[float]) -> list[float]:
    """How many of ``count`` samples go to each part."""
    for position, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {position} is not between 0 and 1")
    sizes: list[float] = [math.floor(count * fraction) for fraction in fractions]
    for i in range(int(count - sum(sizes))):
        sizes[i % len(sizes)] += 1
    for position, size in enumerate(sizes):
        if size == 0:
            warn(
                f"Length of split at index {position} is 0. This might result in an empty dataset."
            )
    return sizes
