"""Datasets, collation and loaders: values, types, refusals."""

import types
from collections import OrderedDict, UserDict, UserList, namedtuple
from typing import Any

import numpy as np

from tests.answers import raised, sessions

Point = namedtuple("Point", ["x", "y"])


def _names(torch: Any) -> dict[str, Any]:
    d = torch.utils.data

    class Stream(d.IterableDataset):
        def __init__(self, n: int) -> None:
            self.n = n

        def __iter__(self) -> Any:
            return iter(range(self.n))

    class Sized(Stream):
        def __len__(self) -> int:
            return self.n - 2

    whole = d.TensorDataset(torch.arange(4))
    public = {name: getattr(d, name) for name in dir(d) if not name.startswith("_")}
    public = {k: v for k, v in public.items() if not isinstance(v, types.ModuleType)}
    return public | {"Stream": Stream, "Sized": Sized, "whole": whole, "np": np}


session = sessions(_names)

datasets = session("""
of tensors
    d = TensorDataset(torch.arange(6.0).reshape(3, 2), torch.arange(3))
    d[0], d[-1], d[1:], len(d), d[7], d[[0, 2]], TensorDataset(torch.ones(2), torch.ones(3))
    d[torch.tensor([1])], Dataset()[0], len(Dataset())
memory of batches
    x = torch.arange(6.0)
    for size in (3, 1):
        for (batch,) in DataLoader(TensorDataset(x), size):
            _ = batch.zero_()
    x
combined
    a = TensorDataset(torch.arange(3))
    both, part = a + TensorDataset(torch.arange(10, 12)), Subset(a, [2, 0])
    type(both).__name__, len(both), [both[i] for i in range(5)], both[-1], both[-5], both[-6]
    both[5], both.cumulative_sizes, [part[i] for i in range(2)], part[[0, 1]], len(part)
    part.__getitems__([1, 0]), ConcatDataset([]), Subset(Subset(both, [4, 3, 0]), [2, 1])[0]
    # Pythons go on in words of their own about what is missing.
    raised(IterableDataset).split(" with")[0], "__iter__" in raised(IterableDataset)
a subset of one's own
    class Half(Subset):
        def __getitem__(self, idx):
            return self.dataset[self.indices[idx]][0] / 2
    class Whole(Half):
        def __getitems__(self, indices):
            return [self[i] for i in indices]
    base = TensorDataset(torch.arange(4.0))
    Half(base, [0, 1]), list(DataLoader(Whole(base, [0, 1, 3]), batch_size=2))
streams
    ConcatDataset([Stream(2)]), list(DataLoader(Stream(5), batch_size=2))
    list(DataLoader(Stream(3), batch_size=None))
    list(DataLoader(Stream(5), batch_size=2, drop_last=True))
    loader = DataLoader(Sized(5))
    len(loader), [w.split(" at ")[0] for w in warned(lambda: list(loader))]
    len(DataLoader(Sized(7), batch_size=2)), len(DataLoader(Stream(3)))
    len(DataLoader(Sized(7), batch_size=2, drop_last=True)), len(DataLoader(Sized(7), None))
    DataLoader(Stream(3), shuffle=True), DataLoader(Stream(3), sampler=[1])
    DataLoader(Stream(3), batch_sampler=[1]), list(DataLoader(Stream(3), shuffle=False))
    list(DataLoader(Stream(0), batch_size=2))
splits
    random_split(range(5), [3, 4]), random_split(range(5), [0.5, 0.6])
    random_split(range(5), [-0.5, 1.5]), warned(lambda: random_split(range(1), [0.5, 0.5]))
    for fractions in ([0.5, 0.5], [0.3, 0.3, 0.4], [0.1] * 10, [1.0], [0.25, 0.75]):
        [len(p) for p in random_split(range(11), fractions)]
    [len(p) for p in random_split(range(5), [5, 0])]
    type(random_split(range(2), [1, 1])[0]).__name__
""")


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


arguments = session("""
of loaders
    empty, loader = TensorDataset(torch.ones(0)), DataLoader(whole)
    DataLoader(whole, num_workers=-1), DataLoader(whole, 0), DataLoader(whole, 2.5)
    DataLoader(whole, True), DataLoader(whole, None, drop_last=True)
    DataLoader(whole, shuffle=True, sampler=[1]), DataLoader(whole, 3, batch_sampler=[[1]])
    DataLoader(whole, batch_sampler=[[1]], shuffle=True)
    DataLoader(whole, batch_sampler=[[1]], sampler=[1])
    DataLoader(whole, batch_sampler=[[1]], drop_last=True), DataLoader(whole, prefetch_factor=3)
    DataLoader(whole, persistent_workers=True), DataLoader(whole, timeout=-1)
    DataLoader(whole, drop_last=1), DataLoader(whole, multiprocessing_context="fork")
    DataLoader(empty, shuffle=True), setattr(loader, "batch_size", 2)
    setattr(loader, "dataset", empty), list(DataLoader(whole, 2, sampler=[9]))
    list(DataLoader(Subset(whole, [0, 9]), 2)), get_worker_info()
    warned(lambda: list(DataLoader(whole, pin_memory=True)))
    warned(lambda: list(DataLoader(whole, pin_memory=True, pin_memory_device="cuda")))
    raised(list, DataLoader(whole, 2, sampler=["a"])).split(":")[0]
    list(DataLoader(whole, batch_sampler=[[0, 7]]))
of samplers
    RandomSampler([1], replacement=1), RandomSampler([1], num_samples=0)
    RandomSampler([1], num_samples=1.5), RandomSampler([]), WeightedRandomSampler([1, 2], 0)
    WeightedRandomSampler([[1, 2]], 1), WeightedRandomSampler([1, 2], 1, replacement=3)
    WeightedRandomSampler([1, 2], True), BatchSampler([1], 0, False), BatchSampler([1], 2, 1)
    BatchSampler([1], True, False), list(WeightedRandomSampler([1.0, 2.0], 5, replacement=False))
    len(RandomSampler(range(5))), len(RandomSampler(range(5), num_samples=9))
    len(WeightedRandomSampler([1, 2], 7)), len(SubsetRandomSampler([1, 2]))
    len(SequentialSampler(range(4))), list(SequentialSampler(range(4)))
    for n in (2, 7, 8):
        for drop in (False, True):
            len(BatchSampler(range(7), n, drop)), list(BatchSampler(range(7), n, drop))
    WeightedRandomSampler([1, 2], 1).weights, list(Sampler())
    list(BatchSampler(iter("abc"), 2, False))
""")


def chained_streams(torch: Any) -> Any:
    data = torch.utils.data

    class Stream(data.IterableDataset):
        def __init__(self, count: int) -> None:
            self.count = count

        def __iter__(self) -> Any:
            return iter(range(self.count))

    class Sized(Stream):
        def __len__(self) -> int:
            return self.count

    both = Sized(2) + Sized(3)
    yield type(both).__name__, list(both), len(both), list(both + Sized(1)), len(both.datasets)
    for workers in (0, 1):
        loader = data.DataLoader(both, 2, num_workers=workers)
        yield len(loader), list(loader)
    yield list(data.ChainDataset(Sized(n) for n in (1, 2))), list(data.ChainDataset([]))
    chain = data.ChainDataset
    yield raised(len, Stream(1) + Sized(1)), raised(list, chain([[1]])), raised(len, chain([[1]]))
    yield raised(data.ConcatDataset, [Sized(1)]), raised(lambda: both[0])
    yield raised(lambda: data.TensorDataset(torch.ones(1)) + Sized(1))
