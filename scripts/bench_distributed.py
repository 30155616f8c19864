"""What a second process gains: ratios of one run, on this machine's cores.

    python scripts/bench_distributed.py                  # 2 processes against 1
    python scripts/bench_distributed.py --processes 4 --batch 512

It prints how many times as fast a training step of a convolutional network is, with the same
batch in one process and divided among several (one BLAS thread each): by the clock, and by the
work of a processor, which does not count what other programs take from it. Processes that share
nothing show what the machine can do at best; those that send messages do what those of several
hosts do. Then it prints how many bytes these send in a step, beside the least that a ring needs,
and a timeline: when each bucket of gradients begins and is added up, and what is left when
`backward` is over.
"""

import argparse
import functools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import nanotorch as torch  # noqa: E402 - of the checkout
from nanotorch import distributed as dist  # noqa: E402
from nanotorch import nn  # noqa: E402
from nanotorch.distributed.group import is_launched, launcher  # noqa: E402
from nanotorch.nn.parallel import DistributedDataParallel  # noqa: E402


def network() -> Any:
    """A convolutional network for pictures of 28 x 28 pixels, of 0.43 million parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 256), nn.ReLU(), nn.Linear(256, 10),
    )  # fmt: skip


def stepper(model: Any, batch: int) -> Callable[[], None]:
    """A function that does a training step of a model."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    pictures, kinds = torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(pictures), kinds).backward()
        optimizer.step()

    return step


def timed(step: Callable[[], None]) -> tuple[float, float]:
    """The seconds of a step, by the clock and of the processor."""
    start, work = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - start, time.process_time() - work


def measure(batch: int, rounds: int, cap: float, reduction: str) -> None:
    """Measure in each process; rank 0 prints the results."""
    dist.init_process_group(reduction=reduction)
    home: Any = dist.group.WORLD
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(network(), bucket_cap_mb=cap)
    home.shared_memory = lambda size: None  # so that it sends messages, as between hosts
    far = DistributedDataParallel(network(), bucket_cap_mb=cap)
    alone = stepper(network(), batch)
    shared, sent = stepper(model, batch // size), stepper(far, batch // size)

    def apart() -> None:
        with model.no_sync():
            shared()

    rows = {
        "1 process": alone if not rank else lambda: None,
        f"{size} that share nothing": apart,  # the machine's limit
        f"{size} processes": shared,
        f"{size}, by messages": sent,
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for _ in range(rounds):  # in turn, since a machine's speed drifts
        for name, step in rows.items():
            dist.barrier()
            times[name].append(timed(step))
    count, _ = watched(far, sent)
    _, events = watched(model, shared)
    if rank:
        return
    print(f"a step of {batch} images, the fastest of {rounds}: elapsed time, processor time")
    first = [min(column) for column in zip(*times["1 process"], strict=True)]
    for name, found in times.items():
        best = [min(column) for column in zip(*found, strict=True)]
        cells = [f"{b * 1e3:8.1f} ms {f / b:5.2f} x" for b, f in zip(best, first, strict=True)]
        print(f"  {name:22}{'   '.join(cells)}")
    total = sum(p.numel() * p.element_size() for p in model.parameters())
    least = 2 * (size - 1) / size * total
    print(f"bytes of messages that a process sends in a step ({reduction} reduction)")
    print(f"  {count:,} of {total:,} bytes of gradients; a ring needs {least:,.0f}, "
          f"{count / least:.3f} times")  # fmt: skip
    print("timeline of a step, in ms from the start of backward")
    for name, begin, end in events:
        print(f"  {name:28}{begin * 1e3:8.2f} to {end * 1e3:8.2f}")


def watched(model: Any, step: Callable[[], None]) -> tuple[int, list[tuple[str, float, float]]]:
    """Run a step; returns the bytes sent, and the start and end of each bucket's sum."""
    home, sent, start = model.process_group, 0, 0.0
    begun, added = {}, {}
    exchange, finish, backward = home.exchange, model._finish, torch.Tensor.backward

    def counted(tag: int, out: Any, received: Any) -> Any:
        nonlocal sent
        sent += sum(array.nbytes for k, array in out.items() if k != home.rank())
        return exchange(tag, out, received)

    def clocked(self: Any, *args: Any) -> None:
        nonlocal start
        start = time.perf_counter()
        backward(self, *args)

    def noted(bucket: Any) -> None:
        name = f"bucket of {bucket.flat.nbytes:,} bytes"
        begun[name] = time.perf_counter()
        type(bucket).start(bucket)

        def steps(inner: Any) -> Any:
            yield from inner
            added[name] = time.perf_counter()

        added[name] = time.perf_counter()
        bucket.work._steps = steps(bucket.work._steps)

    def finished() -> None:
        begun["wait, update"] = time.perf_counter()
        finish()

    torch.Tensor.backward = clocked  # type: ignore[assignment, method-assign]
    home.exchange, model._finish = counted, finished
    for bucket in model._buckets:
        bucket.start = functools.partial(noted, bucket)
    step()
    added["wait, update"] = time.perf_counter()
    torch.Tensor.backward = backward  # type: ignore[method-assign]
    home.exchange, model._finish = exchange, finish
    for bucket in model._buckets:
        del bucket.start
    return sent, [(name, at - start, added[name] - start) for name, at in begun.items()]


def main() -> None:
    """Start the processes, or, in one of them, measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=2, help="number of processes (default: 2)")
    parser.add_argument("--batch", type=int, default=256, help="images a step (default: 256)")
    parser.add_argument("--rounds", type=int, default=30, help="steps of each kind (default: 30)")
    parser.add_argument("--bucket-mb", type=float, default=0.5, help="bucket size (default: 0.5)")
    parser.add_argument("--reduction", default="ordered", choices=("ordered", "fast"))
    asked = parser.parse_args()
    if is_launched():
        measure(asked.batch, asked.rounds, asked.bucket_mb, asked.reduction)
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    own = [sys.executable, *sys.argv]
    os.execv(launcher(), [launcher(), "-n", str(asked.processes), *own])


if __name__ == "__main__":
    main()
