"""`DistributedSampler`: each of several processes reads its share of a dataset."""

from collections.abc import Iterator, Sized

import numpy as np

from nanotorch.ops.random import Generator
from nanotorch.utils.data.sampler import Array, ArraySampler


class DistributedSampler(ArraySampler):
    """The indices that fall to one of several processes: every ``num_replicas``-th of the order.

    All processes have equally many: the order is filled up from its beginning, or cut off.

    Args:
        dataset: something with a length, the same in all processes.
        num_replicas: how many processes there are. Default: as many as `init_process_group` knows.
        rank: which of them this is, from 0. Default: the same.
        shuffle: a random order, which `set_epoch` changes. Default: True.
        seed: of the order, the same in all processes. Default: 0.
        drop_last: cut off what does not divide evenly, instead of filling up. Default: False.

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
        # `resize` repeats the order from its beginning where it is too short.
        yield np.resize(order, self.total_size)[self.rank :: self.num_replicas]

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the random order of the passes from now on; call it before each of them."""
        self.epoch = epoch
