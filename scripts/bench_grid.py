"""Time random numbers, and reads and writes at indices, beside PyTorch, over sizes.

    python scripts/bench_grid.py               # all functions
    python scripts/bench_grid.py --only randn

Each cell is the time of nanotorch by that of PyTorch, with one thread each: the two take turns in
one process, and the shortest of many turns counts. Both draw the same numbers. A turn of random
numbers is long enough to include the blocks that nanotorch makes ahead.
"""

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

SIZES = (1, 4, 16, 64, 256, 1024, 4096)
ROUNDS, SECONDS = 20, 0.01
Call = Callable[[], Any]


def calls(torch: Any, n: int) -> dict[str, Call]:
    """The functions with tensors of ``n`` elements; those at indices use a table of 4096 rows."""
    x, p, integers = torch.zeros(n), torch.full((n,), 0.3), torch.zeros(n, dtype=torch.int64)
    torch.manual_seed(0)
    table, wide = torch.zeros(4096, 8), torch.zeros(8, 4096)
    at, rows, vector = torch.randint(0, 4096, (n,)), torch.randn(n, 8), torch.zeros(100_000)
    columns, weight = at.expand(8, n), torch.zeros(4096, 8, requires_grad=True)
    dropout, embedding = torch.nn.functional.dropout, torch.nn.functional.embedding
    return {
        "randn": lambda: torch.randn(n),
        "rand": lambda: torch.rand(n),
        "randint": lambda: torch.randint(0, 10, (n,)),
        "randperm": lambda: torch.randperm(n),
        "dropout": lambda: dropout(x, 0.3, True),
        "bernoulli": lambda: torch.bernoulli(p),
        "normal_": lambda: x.normal_(),
        "uniform_": lambda: x.uniform_(),
        "exponential_": lambda: x.exponential_(),
        "random_": lambda: integers.random_(),
        "rand_like": lambda: torch.rand_like(x),
        "multinomial": lambda: torch.multinomial(p, 1),
        "index_put_, add": lambda: vector.index_put_((at,), x, accumulate=True),
        "index_put_, add rows": lambda: table.index_put_((at,), rows, accumulate=True),
        "index_add_, dim 0": lambda: table.index_add_(0, at, rows),
        "index_add_, dim 1": lambda: wide.index_add_(1, at, rows.T),
        "index_copy_": lambda: table.index_copy_(0, at, rows),
        "scatter_add_": lambda: wide.scatter_add_(1, columns, rows.T),
        "gather": lambda: wide.gather(1, columns),
        "take": lambda: vector.take(at),
        "embedding, backward": lambda: embedding(at, weight).backward(rows),
    }


def turn(call: Call, times: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def ratio(ours: Call, theirs: Call) -> float:
    """The shortest time of a call of ours by that of theirs."""
    pair = ours, theirs
    times = [max(int(SECONDS / min(turn(call, 3) for _ in range(3))), 1) for call in pair]
    rounds = [[turn(call, n) for call, n in zip(pair, times, strict=True)] for _ in range(ROUNDS)]
    return min(mine for mine, _ in rounds) / min(other for _, other in rounds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="WORD", default="", help="functions that contain WORD")
    word = parser.parse_args().only
    # Imported here: `--help` needs neither.
    nanotorch, torch = (importlib.import_module(name) for name in ("nanotorch", "torch"))
    torch.set_num_threads(1)
    made = {n: (calls(nanotorch, n), calls(torch, n)) for n in SIZES}
    print(f"{'elements or rows':22}", *[f"{n:>6}" for n in SIZES])
    for name in made[1][0]:
        if word in name:
            figures = [ratio(ours[name], theirs[name]) for ours, theirs in made.values()]
            print(f"{name:22}", *[f"{figure:6.1f}" for figure in figures], flush=True)


if __name__ == "__main__":
    main()
