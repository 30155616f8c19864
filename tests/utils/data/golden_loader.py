"""Datasets, collation and loaders: values, types, refusals."""

from collections import OrderedDict, UserDict, UserList, namedtuple
from typing import Any

import numpy as np

from tests.answers import raised, warned

Point = namedtuple("Point", ["x", "y"])


def tensor_dataset(torch: Any) -> Any:
    d = torch.utils.data
    whole = d.TensorDataset(torch.arange(6.0).reshape(3, 2), torch.arange(3))
    return [
        whole[0], whole[-1], whole[1:], len(whole), raised(lambda: whole[7]), whole[[0, 2]],
        raised(d.TensorDataset, torch.ones(2), torch.ones(3)), whole[torch.tensor([1])],
        raised(lambda: d.Dataset()[0]), raised(len, d.Dataset()),
    ]  # fmt: skip


def combined_datasets(torch: Any) -> Any:
    d = torch.utils.data
    a, b = d.TensorDataset(torch.arange(3)), d.TensorDataset(torch.arange(10, 12))
    both, part = a + b, d.Subset(a, [2, 0])
    return [
        type(both).__name__, len(both), [both[i] for i in range(5)], both[-1], both[-5],
        raised(lambda: both[-6]), raised(lambda: both[5]), both.cumulative_sizes,
        [part[i] for i in range(2)], part[[0, 1]], len(part), part.__getitems__([1, 0]),
        raised(d.ConcatDataset, []),
        # Pythons go on in words of their own about what is missing.
        raised(d.IterableDataset).split(" with")[0], "__iter__" in raised(d.IterableDataset),
        d.Subset(d.Subset(both, [4, 3, 0]), [2, 1])[0],
    ]  # fmt: skip


def own_subset(torch: Any) -> Any:
    d = torch.utils.data

    class Half(d.Subset):
        def __getitem__(self, idx: Any) -> Any:
            return self.dataset[self.indices[idx]][0] / 2

    class Whole(Half):
        def __getitems__(self, indices: Any) -> Any:
            return [self[i] for i in indices]

    base = d.TensorDataset(torch.arange(4.0))
    loaded = list(d.DataLoader(Whole(base, [0, 1, 3]), batch_size=2))
    return [raised(Half, base, [0, 1]), loaded]


def streams(torch: Any) -> Any:
    d = torch.utils.data

    class Stream(d.IterableDataset):
        def __init__(self, n: int) -> None:
            self.n = n

        def __iter__(self) -> Any:
            return iter(range(self.n))

    class Sized(Stream):
        def __len__(self) -> int:
            return self.n - 2

    refused = raised(d.ConcatDataset, [Stream(2)])
    loader = d.DataLoader(Sized(5))
    length = len(loader)
    return [
        refused, list(d.DataLoader(Stream(5), batch_size=2)),
        list(d.DataLoader(Stream(3), batch_size=None)),
        list(d.DataLoader(Stream(5), batch_size=2, drop_last=True)),
        length,
        [w.split(" at ")[0] for w in warned(lambda: list(loader))],
        len(d.DataLoader(Sized(7), batch_size=2)), raised(len, d.DataLoader(Stream(3))),
        len(d.DataLoader(Sized(7), batch_size=2, drop_last=True)),
        len(d.DataLoader(Sized(7), None)),
        raised(d.DataLoader, Stream(3), shuffle=True), raised(d.DataLoader, Stream(3), sampler=[1]),
        raised(d.DataLoader, Stream(3), batch_sampler=[1]),
        list(d.DataLoader(Stream(3), shuffle=False)), list(d.DataLoader(Stream(0), batch_size=2)),
    ]  # fmt: skip


def collation(torch: Any) -> Any:
    collate = torch.utils.data.default_collate
    batches = [
        [torch.ones(2), torch.zeros(2)], [torch.tensor(1), torch.tensor(2)], [1, 2], [1.0, 2],
        [1, 2.0], [True, False], ["a", "b"], [b"a", b"b"], [np.ones(2), np.zeros(2)],
        [np.float32(1), np.float32(2)], [np.float64(1)], [np.int64(1), np.int64(2)],
        [np.bool_(True)], [np.array(1), np.array(2)], [(1, 2.0), (3, 4.0)], [[1, 2], [3, 4]],
        [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], [Point(1, 2.0), Point(3, 4.0)],
        [(torch.ones(1), {"k": [1, 2]}), (torch.ones(1), {"k": [3, 4]})], [range(2), range(2, 4)],
        [OrderedDict(a=1), OrderedDict(a=2)], [UserDict(a=1), UserDict(a=2)],
        [UserList([1, 2]), UserList([3, 4])], [torch.ones(1, 2).half(), torch.ones(1, 2).half()],
        [torch.ones(0, 2)], [torch.ones(2, requires_grad=True)],
        [torch.ones(2), torch.zeros(2).double()],
    ]  # fmt: skip
    for batch in batches:
        result = collate(batch)
        yield [type(result).__name__, result]
    bad = [[None], [object()], [[1, 2], [1]], [torch.ones(2), torch.ones(3)], [np.array("a")], [],
           [{"a": 1}, {"b": 1}], [np.array([None])]]  # fmt: skip
    yield from [raised(collate, batch).split(" at 0x")[0] for batch in bad]


def conversion(torch: Any) -> Any:
    convert = torch.utils.data.default_convert
    things = [1, 1.0, "a", np.ones(2), np.float32(1), (np.ones(1), "a"), [np.ones(1), 2],
              {"a": np.ones(1)}, Point(np.array(0), 1), torch.ones(1), None, np.array("a"),
              range(2), b"a", OrderedDict(a=np.array(1))]  # fmt: skip
    return [[type(convert(thing)).__name__, convert(thing)] for thing in things]


def loader_arguments(torch: Any) -> Any:
    d = torch.utils.data
    whole = d.TensorDataset(torch.arange(4))
    empty = d.TensorDataset(torch.ones(0))
    loader = d.DataLoader(whole)
    bad = [
        {"num_workers": -1}, {"batch_size": 0}, {"batch_size": 2.5}, {"batch_size": True},
        {"batch_size": None, "drop_last": True}, {"shuffle": True, "sampler": [1]},
        {"batch_sampler": [[1]], "batch_size": 3}, {"batch_sampler": [[1]], "shuffle": True},
        {"batch_sampler": [[1]], "sampler": [1]}, {"batch_sampler": [[1]], "drop_last": True},
        {"prefetch_factor": 3}, {"persistent_workers": True}, {"timeout": -1}, {"drop_last": 1},
        {"multiprocessing_context": "fork"},
    ]  # fmt: skip
    return [
        *[raised(d.DataLoader, whole, **options) for options in bad],
        raised(d.DataLoader, empty, shuffle=True), raised(setattr, loader, "batch_size", 2),
        raised(setattr, loader, "dataset", empty),
        raised(list, d.DataLoader(whole, 2, sampler=[9])),
        raised(list, d.DataLoader(d.Subset(whole, [0, 9]), 2)),
        warned(lambda: list(d.DataLoader(whole, pin_memory=True))), d.get_worker_info(),
        warned(lambda: list(d.DataLoader(whole, pin_memory=True, pin_memory_device="cuda"))),
        raised(list, d.DataLoader(whole, 2, sampler=["a"])).split(":")[0],
        raised(list, d.DataLoader(whole, batch_sampler=[[0, 7]])),
    ]  # fmt: skip


def sampler_arguments(torch: Any) -> Any:
    d = torch.utils.data
    return [
        raised(d.RandomSampler, [1], replacement=1), raised(d.RandomSampler, [1], num_samples=0),
        raised(d.RandomSampler, [1], num_samples=1.5), raised(d.RandomSampler, []),
        raised(d.WeightedRandomSampler, [1, 2], 0), raised(d.WeightedRandomSampler, [[1, 2]], 1),
        raised(d.WeightedRandomSampler, [1, 2], 1, replacement=3),
        raised(d.WeightedRandomSampler, [1, 2], True), raised(d.BatchSampler, [1], 0, False),
        raised(d.BatchSampler, [1], 2, 1), raised(d.BatchSampler, [1], True, False),
        raised(list, d.WeightedRandomSampler([1.0, 2.0], 5, replacement=False)),
        len(d.RandomSampler(range(5))), len(d.RandomSampler(range(5), num_samples=9)),
        len(d.WeightedRandomSampler([1, 2], 7)), len(d.SubsetRandomSampler([1, 2])),
        len(d.SequentialSampler(range(4))), list(d.SequentialSampler(range(4))),
        [len(d.BatchSampler(range(7), n, drop)) for n in (2, 7, 8) for drop in (False, True)],
        [list(d.BatchSampler(range(7), n, drop)) for n in (2, 7, 8) for drop in (False, True)],
        d.WeightedRandomSampler([1, 2], 1).weights, raised(list, d.Sampler()),
        list(d.BatchSampler(iter("abc"), 2, False)),
    ]  # fmt: skip


def splitting(torch: Any) -> Any:
    d = torch.utils.data
    split = d.random_split
    return [
        raised(split, range(5), [3, 4]), raised(split, range(5), [0.5, 0.6]),
        raised(split, range(5), [-0.5, 1.5]), warned(lambda: split(range(1), [0.5, 0.5])),
        [[len(p) for p in split(range(11), fractions)] for fractions in
         ([0.5, 0.5], [0.3, 0.3, 0.4], [0.1] * 10, [1.0], [0.25, 0.75])],
        [len(p) for p in split(range(5), [5, 0])], type(split(range(2), [1, 1])[0]).__name__,
    ]  # fmt: skip
