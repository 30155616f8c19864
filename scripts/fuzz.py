"""Run random programs in PyTorch and nanotorch and report where the two differ.

    python scripts/fuzz.py --programs 10000 --seed 0

Program number i of a run has the seed ``seed + i`` and depends on nothing else; ``--show`` prints
it. Each statement's error, and after it all that can be seen of every tensor, is compared. A
difference is reported with the shortest program that shows it. It needs torch.
"""

import argparse
import importlib
import sys
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


def arguments() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000, help="number of programs")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    parser.add_argument("--length", type=int, default=18, help="greatest number of statements")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--differences", type=int, default=20, help="stop after this many")
    parser.add_argument("--show", action="store_true", help="also print the programs")
    return parser.parse_args()


def one(task: tuple[int, int, bool]) -> tuple[Any, int, str | None, str]:
    """Run a seed's program; returns the difference found, the number of statements, the accepted
    difference, and the program's text."""
    from fuzzing.programs import Found, shrink, write

    seed, length, show = task
    torch, nanotorch = importlib.import_module("torch"), importlib.import_module("nanotorch")
    torch.set_num_threads(1)
    both, found = write(torch, nanotorch, seed, length)
    text = "\n".join(both.statements) if show else ""
    if found is None:
        return None, len(both.statements), both.accepted, text
    program = Found(seed, both.statements, found, both.quiet)
    return shrink(torch, nanotorch, program), len(both.statements), None, text


def main() -> int:
    """Run all programs; returns the exit status, which says whether any differed."""
    options = arguments()
    try:
        importlib.import_module("torch")
    except ImportError:
        sys.exit("scripts/fuzz.py compares with PyTorch: run it with a Python that has torch")
    start, ran, statements, differences = time.perf_counter(), 0, 0, 0
    reasons: Counter[str] = Counter()
    seeds = range(options.seed, options.seed + options.programs)
    tasks = ((seed, options.length, options.show) for seed in seeds)
    with get_context("spawn").Pool(options.jobs) as pool:
        results = pool.imap(one, tasks, 20) if options.jobs > 1 else map(one, tasks)
        for program, count, reason, text in results:
            ran, statements = ran + 1, statements + count
            if text:
                print(text, end="\n\n")
            if reason:
                reasons[reason] += 1
            if program is not None:
                differences += 1
                quiet = ", compared only at its end" if program.quiet else ""
                print(f"# seed {program.seed}{quiet}", *program.statements, sep="\n")
                print(f"# PyTorch, then nanotorch: {program.text}\n", flush=True)
                if differences >= options.differences:
                    break
    for reason, count in reasons.most_common():
        print(f"accepted {count} times: {reason}")
    seconds = time.perf_counter() - start
    print(f"{ran} programs, {statements} statements, {differences} differences, {seconds:.0f} s")
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
