"""What a second process gains: ratios of one run, on this machine's cores.

    python scripts/bench_distributed.py                  # 2 processes against 1
    python scripts/bench_distributed.py --processes 4 --batch 512

It prints how many times as fast a training step of a convolutional network is, with the same
batch in one process and divided among several (one BLAS thread each): by the clock, and by the
work of a processor, which does not count what other programs take from it; how many bytes a process
sends in a step, beside the least that a ring needs; and a timeline of a step: when each bucket of
gradients goes on its way, and how long the step waits for the last at the end of `backward`.
"""

import argparse
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
from nanotorch.distributed.group import is_launched  # noqa: E402
from nanotorch.distributed.rendezvous import launcher  # noqa: E402
from nanotorch.nn.parallel import DistributedDataParallel  # noqa: E402


def network() -> Any:
    """A convolutional network for pictures of 28 x 28 pixels, of 0.43 million parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 256), nn.ReLU(), nn.Linear(256, 10),
    )  # fmt: skip


def stepper(model: Any, batch: int) -> Callable[[], None]:
    """A training step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    pictures, kinds = torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(pictures), kinds).backward()
        optimizer.step()

    return step


def timed(step: Callable[[], None]) -> tuple[float, float]:
    """How many seconds a step takes, and how many of them the processor works."""
    start, work = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - start, time.process_time() - work


def measure(batch: int, rounds: int, cap: float, reduction: str) -> None:
    """What each process does; that of rank 0 tells."""
    dist.init_process_group(reduction=reduction)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(network(), bucket_cap_mb=cap)
    alone, shared = stepper(network(), batch), stepper(model, batch // size)
    times: dict[str, list[tuple[float, float]]] = {"alone": [], "apart": [], "shared": []}
    for _ in range(rounds):  # the two in turn, since machines are not always as fast
        dist.barrier()
        if not rank:
            times["alone"].append(timed(alone))
        dist.barrier()
        with model.no_sync():  # what the machine can do at best
            times["apart"].append(timed(shared))
        dist.barrier()
        times["shared"].append(timed(shared))
    sent, events = watched(model, shared)
    if rank:
        return
    print(f"a step of {batch} pictures, the quickest of {rounds}: time, work of a processor")
    rows = {"alone": "1 process", "apart": f"{size} without sums", "shared": f"{size} processes"}
    first = [min(column) for column in zip(*times["alone"], strict=True)]
    for name, told in rows.items():
        best = [min(column) for column in zip(*times[name], strict=True)]
        cells = [f"{b * 1e3:8.1f} ms {f / b:5.2f} x" for b, f in zip(best, first, strict=True)]
        print(f"  {told:16}{'   '.join(cells)}")
    total = sum(p.numel() * p.element_size() for p in model.parameters())
    least = 2 * (size - 1) / size * total
    print(f"bytes that a process sends in a step ({reduction} reduction)")
    print(f"  {sent:,} of {total:,} bytes of gradients; a ring needs {least:,.0f}, "
          f"{sent / least:.3f} times")  # fmt: skip
    print("timeline of a step, in ms from the beginning of backward")
    for name, begin, end in events:
        print(f"  {name:28}{begin * 1e3:8.2f} to {end * 1e3:8.2f}")


def watched(model: Any, step: Callable[[], None]) -> tuple[int, list[tuple[str, float, float]]]:
    """A step with an eye on it: the bytes that go out, and when the buckets do."""
    home, sent = model.process_group, 0
    exchange, finish, backward = home.exchange, model._finish, torch.Tensor.backward
    start, waits, begun = 0.0, 0.0, {}

    def counted(tag: int, out: Any, received: Any) -> Any:
        nonlocal sent
        sent += sum(array.nbytes for k, array in out.items() if k != home.rank())
        return exchange(tag, out, received)

    def clocked(self: Any, *args: Any) -> None:
        nonlocal start
        start = time.perf_counter()
        backward(self, *args)

    def noted() -> None:
        nonlocal waits
        waits = time.perf_counter()
        finish()

    launch = model._launch

    def launched() -> None:
        first = model._launched
        launch()
        for number in range(first, model._launched):
            begun[number] = time.perf_counter()

    torch.Tensor.backward = clocked  # type: ignore[assignment, method-assign]
    home.exchange, model._finish, model._launch = counted, noted, launched
    step()
    end = time.perf_counter()
    torch.Tensor.backward = backward  # type: ignore[method-assign]
    home.exchange, model._finish, model._launch = exchange, finish, launch
    events = [
        (f"bucket {n}, {model._buckets[n].flat.nbytes:,} bytes", at - start, waits - start)
        for n, at in begun.items()
    ]
    return sent, [*events, ("wait for the buckets, update", waits - start, end - start)]


def main() -> None:
    """Start the processes, or be one of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=2, help="how many (default: 2)")
    parser.add_argument("--batch", type=int, default=256, help="pictures a step (default: 256)")
    parser.add_argument("--rounds", type=int, default=30, help="steps of each kind (default: 30)")
    parser.add_argument("--bucket-mb", type=float, default=0.5, help="MiB (default: 0.5)")
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
