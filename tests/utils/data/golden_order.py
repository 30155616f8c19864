"""Orders: the same seed gives the same samples in the same order, and leaves the same state."""

from typing import Any

from tests.answers import sessions


def _epochs(loader: Any, count: int = 3) -> Any:
    return [[batch[0].tolist() for batch in loader] for _ in range(count)]


def _names(torch: Any) -> dict[str, Any]:
    d = torch.utils.data
    kinds = ("DistributedSampler", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler")
    names = (*kinds, "DataLoader", "BatchSampler", "SequentialSampler", "random_split")
    made = {"rows": lambda n: d.TensorDataset(torch.arange(n)), "arange": torch.arange}
    g = torch.Generator().manual_seed(3)
    return {name: getattr(d, name) for name in names} | made | {"epochs": _epochs, "g": g}


orders = sessions(_names)("""
shuffled
    sizes = (10, 3, False), (12, 4, False), (7, 7, True), (9, 2, True), (5, 1, False)
    for size, batch, drop in (*sizes, (300, 64, False)):
        _ = torch.manual_seed(size)
        epochs(DataLoader(rows(size), batch, shuffle=True, drop_last=drop)), torch.rand(2)
unshuffled
    # Even without an order to draw, each pass draws a number.
    loader = DataLoader(rows(4), 2)
    len(list(loader)), torch.rand(2), iter(loader) is None, torch.rand(2)
samplers
    made = [RandomSampler(range(7), *more) for more in ((), (True, 50), (True,), (False, 20))]
    made += [RandomSampler(range(7), *more) for more in ((False, 14), (False, 3), (False, 9, g))]
    made += [RandomSampler(range(7), *more, generator=g) for more in ((), (True, 70))]
    made += [SubsetRandomSampler([3, 5, 6, 7], *more) for more in ((), (g,))]
    made += [WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 5)]
    made += [WeightedRandomSampler([0.9, 0.4, 0.05, 0.2, 0.3, 0.1], 5, False)]
    made += [WeightedRandomSampler(torch.ones(50), 40, True, g), WeightedRandomSampler([1, 2], 1)]
    [[list(sampler) for _ in range(2)] for sampler in made], torch.rand(2)
    torch.rand(2, generator=g)
samplers in loaders
    whole = rows(20)
    made = [RandomSampler(whole, *more) for more in ((True, 45), (False, 50), (False, 45, g))]
    made += [SubsetRandomSampler([3, 5, 6, 7], g), WeightedRandomSampler(arange(20.0), 30)]
    for sampler in (*made, SequentialSampler(whole)):
        epochs(DataLoader(whole, 8, sampler=sampler, generator=g), 2)
        epochs(DataLoader(whole, batch_sampler=BatchSampler(sampler, 7, False)), 2)
        [x.tolist() for (x,) in DataLoader(whole, None, sampler=sampler)]
    torch.rand(2), torch.rand(2, generator=g)
splits
    parts = [random_split(rows(11), [0.7, 0.3], generator=g), random_split(rows(11), [5, 4, 2])]
    nested = random_split(parts[0][0], [0.5, 0.5], generator=g)
    parts += [nested, random_split(range(10), [0.3, 0.3, 0.4])]
    [[list(p.indices) for p in split] for split in parts], torch.rand(1)
    epochs(DataLoader(nested[0], 2, shuffle=True, generator=g))
    epochs(DataLoader(parts[1][0], 2, shuffle=True))
distributed
    def made(size, count, **given):
        return [DistributedSampler(range(size), count, i, **given) for i in range(count)]
    for size, count in ((10, 3), (12, 4), (2, 5), (1, 4), (0, 2), (7, 1)):
        for given in ({}, {"shuffle": False}, {"drop_last": True}, {"seed": 3}):
            [[list(s), len(s), s.num_samples, s.total_size] for s in made(size, count, **given)]
    sampler = DistributedSampler(range(9), 2, 1)
    _ = sampler.set_epoch(4)
    list(sampler), epochs(DataLoader(rows(9), 2, sampler=sampler)), torch.rand(1)
""")
