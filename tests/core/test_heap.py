"""Freed memory is used again; see `nanotorch._core.arguments`."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
{first}
def work():
    return [np.ones(800_000, np.float32) for _ in range(4)]
for _ in range(5):
    work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    work()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 5)
"""


def faults(first: str) -> int:
    """How many pages the system hands out for four arrays of 3 MB that were there before."""
    source = FAULTS.format(first=first)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries do otherwise")
def test_freed_memory_is_kept() -> None:
    assert faults("import nanotorch") < 100
    assert faults("") > 1000
