"""What processes of MPI answer: as PyTorch's of gloo do, and what is promised beyond."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from nanotorch.distributed.group import launcher
from tests.answers import GOLDEN, assert_same
from tests.distributed.programs import SIZES, programs
from tests.several import PYTHON, ended

run = functools.partial(ended, OPENBLAS_NUM_THREADS="1")
try:
    MPIEXEC = launcher()
except RuntimeError:  # on Windows MPI is no package of Python's
    MPIEXEC = ""
needs_mpi = pytest.mark.skipif(not MPIEXEC, reason="there is no mpiexec")
of_mpich = pytest.mark.skipif(
    not MPIEXEC or not Path(MPIEXEC).with_name("mpichversion").exists(),
    reason="what MPICH's mpiexec does",
)


def compare(folder: Path, size: int) -> None:
    """Every rank has answered as PyTorch's of that rank, and all its checks have passed."""
    golden = json.loads((GOLDEN / "distributed.json").read_text("utf-8"))
    ranks: list[Any] = [json.loads((folder / str(k)).read_text("utf-8")) for k in range(size)]
    assert [found["failures"] for found in ranks] == [{}] * size
    assert len(ranks[0]["checks"]) > 9
    assert ranks[0]["answers"].keys() == programs().keys()
    for name in programs():
        for rank, found in enumerate(ranks):
            expected = golden[f"{name}-{size}"][rank]
            # Sums of a few terms, in another order than gloo's.
            assert_same(found["answers"][name], expected, f"{name} on rank {rank}", 1, 100)


@needs_mpi
@pytest.mark.parametrize(
    "size", [pytest.param(n, marks=[pytest.mark.slow] if n > 2 else []) for n in SIZES]
)
def test_processes_of_mpiexec(tmp_path: Path, size: int) -> None:
    command = MPIEXEC, "-n", size, PYTHON, "-W", "error", "-m", "tests.distributed.worker"
    status, shown, told = run(*command, tmp_path)
    assert status == 0, shown + told
    compare(tmp_path, size)
