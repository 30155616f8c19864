"""`DataLoader`: batches of a dataset, in order or shuffled, read here or by workers."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Never, Protocol, overload

import numpy as np

from nanotorch._core import arguments
from nanotorch._core.call_site import warn
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand
from nanotorch.ops.random import Generator, default_generator
from nanotorch.utils.data.dataset import (
    BatchSampler,
    IterableDataset,
    Plan,
    Position,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Sources,
    T_co,
    dataset_state,
    default_collate,
    default_convert,
    read_batches,
)
from nanotorch.utils.data.dataset import get_worker_info as get_worker_info

if TYPE_CHECKING:
    from nanotorch.utils.data.worker import WorkerBatches


FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
REPORTED = (
    "Length of IterableDataset {} was reported to be {}(when accessing len(dataloader)), but {} "
    "samples have been fetched. "
)
REPLICAS = (
    "For multiprocessing data-loading, this could be caused by not properly configuring the "
    "IterableDataset replica at each worker. Please see "
    "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
)
NO_DEVICE = (
    "pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
    "pin_memory_device='{}'."
)


class _Endless(Sampler[None]):
    """The sampler of a stream: an endless series of requests for one more sample."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


Number = Tensor | np.ndarray[Any, Any] | float


class Samples(Protocol[T_co]):
    """An object that returns samples by index, such as a dataset or a list."""

    def __getitem__(self, index: Any, /) -> T_co: ...


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches; each iteration is a new pass.

    The same seed leads to PyTorch's order of samples and PyTorch's seeds of workers. A batch of a
    `TensorDataset`, or of a `Subset` of one, is read from its tensors by one indexing. Its values
    equal those of samples collated one by one.

    `state_dict` and `load_state_dict` let another process resume a pass at the next batch.

    Args:
        dataset: an object with `__getitem__` and `__len__`, or an `IterableDataset`.
        batch_size: samples per batch; None returns single samples, converted by ``collate_fn``.
            Default: 1.
        shuffle: a new random order in each pass. Default: False.
        sampler: the order of the indices, instead of ``shuffle``.
        batch_sampler: lists of indices, instead of ``batch_size``, ``shuffle``, ``sampler`` and
            ``drop_last``.
        num_workers: the number of processes that read samples; 0 reads them in this one.
            Default: 0.
        collate_fn: makes a batch from a list of samples. Default: `default_collate`; without
            batches, `default_convert`.
        pin_memory, pin_memory_device: accepted for PyTorch's sake; without a GPU, no effect.
        drop_last: leave out the last batch if it is smaller. Default: False.
        timeout: seconds to wait for a worker's batch; 0 waits without limit. Default: 0.
        worker_init_fn: called in each worker with its number, after its random numbers are seeded.
        multiprocessing_context: starts the workers: a context of `multiprocessing`, or ``"fork"``,
            ``"spawn"``, ``"forkserver"``. Default: Python's default.
        generator: draws the random order and the workers' seed. Default: the default generator.
        prefetch_factor: the number of batches that each worker reads in advance. Default: 2.
        persistent_workers: keep the workers from one pass to the next. Default: False.
        in_order: return the workers' batches in the order of their indices; False returns them
            as they are ready. Default: True.

    Raises:
        ValueError: for options that exclude each other or are out of range.
        RuntimeError (in a pass): if a worker dies or takes longer than ``timeout``. An exception of
            a worker is raised again with its traceback in the message.
    """

    @overload
    def __init__(
        self, dataset: Samples[T_co], batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None, batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0, collate_fn: None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None, multiprocessing_context: Any = None,
        generator: Generator | None = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(  # the type of a batch: the result of `collate_fn`
        self: "DataLoader[object]", dataset: Any, batch_size: int | None = 1, *args: Any,
        collate_fn: Callable[[Any], Any], **options: Any,
    ) -> None: ...  # fmt: skip

    def __init__(  # type: ignore[misc]  # the second overload does not name its other options
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None, batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None, multiprocessing_context: Any = None,
        generator: Generator | None = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        counts = {"num_workers": num_workers, "timeout": timeout}
        for name, count in (counts | {"prefetch_factor": prefetch_factor or 0}).items():
            if count < 0:
                raise ValueError(f"{name} option should be non-negative")
        if num_workers == 0 and (persistent_workers or prefetch_factor is not None):
            name = "persistent_workers" if persistent_workers else "prefetch_factor"
            raise ValueError(f"{name} option needs num_workers > 0")
        if num_workers and arguments.WEBASSEMBLY:
            warn(
                "Python in WebAssembly cannot start processes, so a DataLoader with workers reads "
                "in this process: num_workers=0"
            )
            num_workers, timeout, multiprocessing_context = 0, 0, None
            prefetch_factor, persistent_workers = None, False
        self.dataset = dataset
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.multiprocessing_context = multiprocessing_context
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.in_order, self.generator = in_order, generator
        streams = isinstance(dataset, IterableDataset)
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
            raise ValueError("batch_size=None option is mutually exclusive with drop_last")
        if sampler is None and streams:
            sampler = _Endless()
        elif sampler is None and shuffle:
            sampler = RandomSampler(dataset, generator=generator)
        elif sampler is None:
            sampler = SequentialSampler(dataset)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        default = default_convert if batch_sampler is None else default_collate
        self.collate_fn = default if collate_fn is None else collate_fn
        self._reported: int | None = None  # the length of a stream, set by `__len__`
        self._position: Position | None = None
        self._resume: dict[str, Any] | None = None
        self._kept: WorkerBatches | None = None
        self.persistent_workers = persistent_workers
        self.check_worker_number_rationality()

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        bound = hasattr(os, "sched_getaffinity")
        processors = len(os.sched_getaffinity(0)) if bound else os.cpu_count() or 0
        if self.num_workers > processors:
            warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {processors}, which is "
                "smaller than what this DataLoader is going to create."
            )

    def __setattr__(self, name: str, value: Any) -> None:
        # The constructor sets `persistent_workers` last.
        if name in FIXED and "persistent_workers" in self.__dict__:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        if name == "multiprocessing_context" and value is not None:
            if self.num_workers == 0:
                raise ValueError("multiprocessing_context option needs num_workers > 0")
            import multiprocessing  # slow, and rarely needed
            from multiprocessing.context import BaseContext

            if isinstance(value, str):
                value = multiprocessing.get_context(value)
            if not isinstance(value, BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string "
                    f"specifying the start method, but got multiprocessing_context={value}"
                )
        object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """The number of batches; for an `IterableDataset`, computed from its ``len``."""
        if not self._plan.streams:
            sampler: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
            return len(sampler)
        self._reported = count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    @property
    def _plan(self) -> Plan:
        batched = self.batch_sampler is not None
        return Plan(self.dataset, self.collate_fn, batched, self.drop_last)

    # Numbers and arrays in samples become tensors in batches; for `Any` a batch is `Any`.
    @overload
    def __iter__(self: "DataLoader[Never]") -> Iterator[Any]: ...
    @overload
    def __iter__(self: "DataLoader[Number]") -> Iterator[Tensor]: ...
    @overload
    def __iter__(self: "DataLoader[tuple[Number, Number]]") -> Iterator[tuple[Tensor, Tensor]]: ...
    @overload
    def __iter__(self: "DataLoader[tuple[Number, ...]]") -> Iterator[tuple[Tensor, ...]]: ...
    @overload
    def __iter__(self) -> Iterator[Any]: ...

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory and self.pin_memory_device:
            warn(NO_DEVICE.format(self.pin_memory_device))
        if self.pin_memory:
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used."
            )
        plan, resume, self._resume = self._plan, self._resume, None
        sources = Sources(self)
        start = self._in_workers if self.num_workers else self._in_this_process
        going = None if resume is None else resume["pass"]
        if going is not None:
            self._position = Position(going["start"], going["draws"], going["batches"])
            self._position.ended = going["ended"]
            with sources.again(going["start"]):
                batches = start(plan, self._position, resume)
        if resume is not None:
            sources.load_state(resume["sources"])
        if going is None:
            self._position = Position(sources.now())
            batches = start(plan, self._position, resume)
        if plan.streams and self._reported is not None:
            return self._counted(batches, self._reported)
        return batches

    def _in_this_process(
        self, plan: Plan, position: Position, resume: dict[str, Any] | None
    ) -> Iterator[Any]:
        """Begin or resume a pass that reads the samples in this process."""
        if self.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        indices = self._order(plan, position)
        passed_over = position.batches * (self.batch_size or 1)
        if resume is not None and resume["dataset"] is not None:
            self.dataset.load_state_dict(resume["dataset"])
            passed_over = 0
        return read_batches(plan.reader(position, passed_over), indices, position)

    def _in_workers(
        self, plan: Plan, position: Position, resume: dict[str, Any] | None
    ) -> Iterator[Any]:
        """Begin or resume a pass whose samples workers read."""
        if not self.prefetch_factor:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"
            )
        state = None if resume is None else resume["workers"]
        mid_pass = resume is not None and resume["pass"] is not None
        kept, self._kept = self._kept, None
        if resume is not None or (kept is not None and not kept.usable):
            kept = None
        if kept is not None:
            position.draws, position.seed = False, kept.position.seed
        elif state is not None and not mid_pass:
            position.draws = False
        indices = self._order(plan, position)
        if state is not None:
            position.seed = state["seed"]
        batches = self._hire(plan, position.seed, state, mid_pass) if kept is None else kept
        position.workers = batches.table
        position.workers.clear()
        asked = [] if state is None else position.workers.resume(state, mid_pass)
        batches.begin(indices, position, asked)
        if self.persistent_workers:
            self._kept = batches
        return batches

    def _hire(
        self, plan: Plan, seed: int, state: dict[str, Any] | None, mid_pass: bool
    ) -> "WorkerBatches":
        """Start the workers."""
        # Import here: these modules are slow to import, and only loaders with workers need them.
        import multiprocessing

        from nanotorch.utils.data.worker import Job, WorkerBatches, WorkerPool, WorkerTable

        self.check_worker_number_rationality()
        told: list[Any] = [None] * self.num_workers if state is None else state["members"]
        jobs = []
        for number, one in enumerate(told):
            if one is not None and mid_pass:
                one = {**one, "samples": one["tasks"] * (self.batch_size or 1)}
            elif one is not None:  # the next pass begins with the random state after the last one
                one = {**one, "samples": 0, "ended": False, "begun": one["random"]}
            jobs.append(Job(plan, number, self.num_workers, seed, self.worker_init_fn, one))
        pool = WorkerPool(jobs, self.multiprocessing_context or multiprocessing)
        table = WorkerTable(self.num_workers, self.prefetch_factor or 1, self.in_order)
        return WorkerBatches(pool, table, self.timeout, self.persistent_workers)

    def _order(self, plan: Plan, position: Position) -> Iterator[Any]:
        """The indices of a pass, from ``position`` to its end."""
        order: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        indices = iter(order)
        if position.draws:
            # The workers' seed. As in PyTorch, it is drawn even without workers.
            position.seed = int((self.generator or default_generator).naturals(()).item())
            if self.num_workers:  # with workers, PyTorch asks for the indices a second time
                indices = iter(order)
        if plan.rows is not None and isinstance(order, BatchSampler) and order.gives_arrays():
            indices = order.arrays()
        for _ in itertools.islice(indices, position.batches):
            pass
        return indices

    def _counted(self, batches: Iterator[Any], reported: int) -> Iterator[Any]:
        """The batches of a stream, with a warning for each beyond the reported length."""
        for count, batch in enumerate(batches, 1):
            if count > reported:
                text = REPORTED.format(self.dataset, reported, count)
                warn(text + (REPLICAS if self.num_workers else ""))
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """The state of the latest pass, as tensors, numbers, strings, dicts and lists.

        It counts the batches returned so far. It includes the state of a dataset or a sampler that
        has `state_dict` and `load_state_dict`. It includes the states of the random generators of
        the order and of the workers. The program saves its own random state in its checkpoint.

        Raises:
            RuntimeError: for ``in_order=False``.
        """
        if self._resume is not None:
            return self._resume
        position = self._position
        going = position is not None and not position.finished
        state: dict[str, Any] = {
            "num_workers": self.num_workers,
            "pass": position.state() if position is not None and going else None,
            "sources": Sources(self).state(),
            "dataset": None if self.num_workers else dataset_state(self.dataset),
            "workers": None,
        }
        if position is not None and position.workers and (going or self.persistent_workers):
            state["workers"] = {"seed": position.seed, **position.workers.state()}
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Make the next pass continue the pass in ``state_dict``.

        If that pass was over, the next pass is the one that would have followed it. The loader
        needs the same arguments as the loader that returned the state.

        Raises:
            ValueError: for the state of a loader with another ``num_workers``.
        """
        if state_dict["num_workers"] != self.num_workers:
            raise ValueError(
                f"the state is of a DataLoader with num_workers={state_dict['num_workers']}, this "
                f"one has num_workers={self.num_workers}: the position of a pass depends on it"
            )
        self._resume = state_dict


on_demand(__name__)
