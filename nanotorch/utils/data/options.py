"""What a `DataLoader` refuses and warns of, in PyTorch's words."""

import os
from typing import Any

from nanotorch._core.warned import warn


def check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    """Refuse options of worker processes that are out of range or without workers."""
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if prefetch_factor is not None:
        if num_workers == 0:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers "
                "> 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def checked_context(context: Any, num_workers: int) -> Any:
    """What starts worker processes, from its name or as it is; None for Python's default."""
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > "
            f"0), but got num_workers={num_workers}"
        )
    import multiprocessing  # slow, and rarely needed
    from multiprocessing.context import BaseContext

    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{methods!r}, but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={context}"
        )
    return context


def warn_of_many(num_workers: int) -> None:
    """Warn if there are to be more workers than processors for them."""
    bound = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if bound else os.cpu_count()
    if processors is not None and num_workers <= processors:
        return
    advice = (
        "DataLoader is not able to compute a suggested max number of worker in current system."
        if processors is None
        else f"Our suggested max number of worker in current system is {processors}"
        f"{'' if bound else ' (`cpuset` is not taken into account)'}, which is smaller than what "
        "this DataLoader is going to create."
    )
    warn(
        f"This DataLoader will create {num_workers} worker processes in total. {advice} Please be "
        "aware that excessive worker creation might get DataLoader running slow or even freeze, "
        "lower the worker number to avoid potential slowness/freeze if necessary.",
    )


def check_order(
    streams: bool,
    batch_size: int | None,
    shuffle: bool | None,
    sampler: Any,
    batch_sampler: Any,
    drop_last: bool,
) -> None:
    """Refuse ways to order and group samples that exclude each other."""
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
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )
