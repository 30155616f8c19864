"""Write PyTorch's answers to `tests/distributed/programs.py`: `tests/golden/distributed.json`.

Run it where torch is, with gloo. Each program runs in 2, 3 and 4 processes.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.answers import GOLDEN, told  # noqa: E402 - of the checkout
from tests.distributed.programs import SIZES, programs  # noqa: E402


def answer(rank: int, size: int, folder: str) -> None:
    """Run all programs as one of the processes, and write the answers to a file."""
    torch: Any = importlib.import_module("torch")
    for name in ("distributed", "distributed.optim", "utils.data", "nn.parallel"):
        importlib.import_module(f"torch.{name}")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    place = f"file://{folder}/meeting"
    torch.distributed.init_process_group("gloo", init_method=place, rank=rank, world_size=size)
    found = {}
    for name, program in programs().items():
        torch.manual_seed(0)
        found[name] = told(program(torch, rank, size))
        torch.distributed.barrier()
    (Path(folder) / str(rank)).write_text(json.dumps(found), "utf-8")
    torch.distributed.destroy_process_group()


def main() -> None:
    """Run the programs in each number of processes."""
    os.environ["OMP_NUM_THREADS"] = "1"
    start: Any = importlib.import_module("torch.multiprocessing").spawn
    answers = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            start(answer, (size, folder), nprocs=size)
            ranks = [json.loads((Path(folder) / str(k)).read_text("utf-8")) for k in range(size)]
            for name in ranks[0]:
                answers[f"{name}-{size}"] = [found[name] for found in ranks]
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in answers.items()]
    target = GOLDEN / "distributed.json"
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{target}: {len(answers)} answers, {target.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
