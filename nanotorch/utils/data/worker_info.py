"""What a worker process knows of itself."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What `get_worker_info` tells.

    Attributes:
        id: the number of this worker, from 0.
        num_workers: how many there are.
        seed: of PyTorch's and Python's random numbers in this worker.
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


class _Current:
    """The worker that this process is."""

    info: WorkerInfo | None = None


current = _Current()


def get_worker_info() -> WorkerInfo | None:
    """Which worker this is; None outside of the workers of a `DataLoader`."""
    return current.info
