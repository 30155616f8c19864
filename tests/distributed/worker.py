"""One of several processes: runs the programs and the checks, and writes what came of them.

mpiexec -n 2 python -m tests.distributed.worker FOLDER
"""

import importlib
import json
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.answers import told
from tests.distributed.checks import checks
from tests.distributed.programs import programs


def main(folder: str, rank: int = -1, size: int = -1) -> None:
    """Run everything; in processes without launcher, ``rank`` and ``size`` say who this is."""
    torch: Any = importlib.import_module("nanotorch")
    dist = torch.distributed
    with warnings.catch_warnings(action="ignore"):  # that "gloo" means MPI
        dist.init_process_group("gloo", rank=rank, world_size=size)
    rank, size = dist.get_rank(), dist.get_world_size()
    answers, failures = {}, {}
    for name, program in programs().items():
        torch.manual_seed(0)
        answers[name] = told(program(torch, rank, size))
        dist.barrier()
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    for name, check in checks().items():
        try:
            check(rank, size)
        except (Exception, pytest.fail.Exception):
            failures[name] = traceback.format_exc()
        dist.barrier()
    written = json.dumps({"answers": answers, "failures": failures, "checks": list(checks())})
    (Path(folder) / str(rank)).write_text(written, "utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
