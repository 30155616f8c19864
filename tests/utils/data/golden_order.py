"""Orders: the same seed gives the same samples in the same order, and leaves the same state."""

from typing import Any


def epochs(torch: Any, loader: Any, count: int = 3) -> Any:
    return [[batch[0].tolist() for batch in loader] for _ in range(count)]


def shuffled(torch: Any) -> Any:
    d = torch.utils.data
    sizes = ((10, 3, False), (12, 4, False), (7, 7, True), (9, 2, True), (5, 1, False))
    for size, batch, drop in (*sizes, (300, 64, False)):
        torch.manual_seed(size)
        whole = d.TensorDataset(torch.arange(size))
        loader = d.DataLoader(whole, batch, shuffle=True, drop_last=drop)
        yield [epochs(torch, loader), torch.rand(2)]


def unshuffled(torch: Any) -> Any:
    """Even without an order to draw, each pass draws a number."""
    d = torch.utils.data
    loader = d.DataLoader(d.TensorDataset(torch.arange(4)), 2)
    list(loader)
    after_one = torch.rand(2)
    iter(loader)
    return [after_one, torch.rand(2)]


def samplers(torch: Any) -> Any:
    d, g = torch.utils.data, torch.Generator().manual_seed(3)
    made = [
        d.RandomSampler(range(7)), d.RandomSampler(range(7), True, 50),
        d.RandomSampler(range(7), True), d.RandomSampler(range(7), False, 20),
        d.RandomSampler(range(7), False, 14), d.RandomSampler(range(7), False, 3),
        d.RandomSampler(range(7), generator=g),
        d.RandomSampler(range(7), True, 70, generator=g), d.SubsetRandomSampler([3, 5, 6, 7]),
        d.SubsetRandomSampler([3, 5, 6, 7], generator=g), d.RandomSampler(range(7), False, 9, g),
        d.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 5),
        d.WeightedRandomSampler([0.9, 0.4, 0.05, 0.2, 0.3, 0.1], 5, False),
        d.WeightedRandomSampler(torch.ones(50), 40, True, g), d.WeightedRandomSampler([1, 2], 1),
    ]  # fmt: skip
    return [[[list(sampler) for _ in range(2)] for sampler in made], torch.rand(2),
            torch.rand(2, generator=g)]  # fmt: skip


def samplers_in_loaders(torch: Any) -> Any:
    d, g = torch.utils.data, torch.Generator().manual_seed(3)
    whole = d.TensorDataset(torch.arange(20))
    made = [
        d.RandomSampler(whole, True, 45), d.RandomSampler(whole, False, 50),
        d.RandomSampler(whole, False, 45, g), d.SubsetRandomSampler([3, 5, 6, 7], g),
        d.WeightedRandomSampler(torch.arange(20.0), 30), d.SequentialSampler(whole),
    ]  # fmt: skip
    answers: list[Any] = []
    for sampler in made:
        answers.append(epochs(torch, d.DataLoader(whole, 8, sampler=sampler, generator=g), 2))
        batches = d.BatchSampler(sampler, 7, False)
        answers.append(epochs(torch, d.DataLoader(whole, batch_sampler=batches), 2))
        answers.append([x.tolist() for (x,) in d.DataLoader(whole, None, sampler=sampler)])
    return [answers, torch.rand(2), torch.rand(2, generator=g)]


def splits(torch: Any) -> Any:
    d, g = torch.utils.data, torch.Generator().manual_seed(42)
    whole = d.TensorDataset(torch.arange(11))
    parts = [d.random_split(whole, [0.7, 0.3], generator=g), d.random_split(whole, [5, 4, 2]),
             d.random_split(range(10), [0.3, 0.3, 0.4])]  # fmt: skip
    nested = d.random_split(parts[0][0], [0.5, 0.5], generator=g)
    return [
        [[list(p.indices) for p in split] for split in (*parts, nested)],
        epochs(torch, d.DataLoader(nested[0], 2, shuffle=True, generator=g)), torch.rand(1),
        epochs(torch, d.DataLoader(parts[1][0], 2, shuffle=True)),
    ]  # fmt: skip


def distributed(torch: Any) -> Any:
    d = torch.utils.data
    options = [{}, {"shuffle": False}, {"drop_last": True}, {"seed": 3}]
    for size, count in ((10, 3), (12, 4), (2, 5), (1, 4), (0, 2), (7, 1)):
        for given in options:
            samplers = [d.DistributedSampler(range(size), count, i, **given) for i in range(count)]
            yield [[list(s), len(s), s.num_samples, s.total_size] for s in samplers]
    sampler = d.DistributedSampler(range(9), 2, 1)
    sampler.set_epoch(4)
    whole = d.TensorDataset(torch.arange(9))
    yield [list(sampler), epochs(torch, d.DataLoader(whole, 2, sampler=sampler))]
    yield torch.rand(1)
