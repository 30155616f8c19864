"""What holds for every test: fixed seeds, and no state of the engine left behind."""

import gc
import os
import random
import re
import signal
import sys
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import nanotorch as torch

# On a busy machine, examples take long, and so does making them.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# Failing checks show their values, as failing tests do.
pytest.register_assert_rewrite("tests.ops.checks")

# A shell may start its background jobs with Ctrl-C ignored, and they pass that on to their own.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The many processes that tests start compile the modules once, also where a container sets this.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


# What a platform lacks: patterns of its refusals, and the reason to skip a test that meets one.
REFUSALS: dict[str, dict[str, str]] = {
    "wasi": {
        "can't start new thread": "there are no threads",
        "does not support processes": "there are no processes",
        "cannot start processes": "there are no processes",
        "mmap is unavailable": "there is no shared memory",
        "has no attribute 'setitimer'": "there are no timers that interrupt",
    },
    "win32": {
        "cannot find context for 'fork": "there is no fork",
        "module 'os' has no attribute|WinError 87": "there are no such system calls",
        "module 'signal' has no attribute": "there are few signals",
        "No module named '(fcntl|pty|resource|termios)'": "the module is POSIX's",
        "privilege is not held": "symbolic links need a privilege",
        "there is no mpiexec": "MPI is no package of Python's",
    },
}
# Further tests that WebAssembly cannot pass, by the reason: parts of their names.
UNLIKE = {
    "there are no threads": ["saved_values-packing"],
    "there are no processes": ["data_workers-workers"],
    "NumPy's integers have 32 bits": ["creation-shared", "core_tensor-calls", "data_loader-co"],
    "no array reaches over 2 GB, not even a view": [
        *["mistakes-too_large", "mistakes-of_a_higher_kind", "mistakes-of_forms"],
        "test_what_reaches_beyond_the_end",
    ],
    "of 0.0 and -0.0, NumPy's maximum is another one": ["numbers-of_one", "numbers-of_two"],
    "C leaves open what -1.0 is as uint8": ["test_as_pytorch[torch.zeros(2, dtype=torch.uint8)"],
    "the C library rounds logarithms otherwise": ["nn_random-drawn"],
    "protobuf in pure Python prints numbers otherwise": ["tensorboard_writer-"],
}

if sys.platform == "wasi":

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        """Skip the tests of `UNLIKE`."""
        for reason, names in UNLIKE.items():
            for item in items:
                if any(name in item.nodeid for name in names):
                    item.add_marker(pytest.mark.skip(f"WebAssembly: {reason}"))


if sys.platform in REFUSALS:

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call() -> Generator[None, Any, Any]:
        """Skip a test that meets a refusal."""
        try:
            return (yield)
        except (Exception, pytest.fail.Exception) as error:
            text = f"{error}\n{error.__context__}"  # `pytest.warns` fails on top of a refusal
            for pattern, reason in REFUSALS[sys.platform].items():
                if re.search(pattern, text):
                    pytest.skip(f"{sys.platform}: {reason}")
            raise


gc.disable()  # collected tests stay


def pytest_collection_finish() -> None:
    """Spare every pass of the garbage collector the thousands of collected tests."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """What a process wrote outlives it without; only the end of the machine is waited out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def _same_start_and_end() -> Iterator[None]:
    """Seed all that is random; fail a test that leaves grad mode or the default dtype changed.

    One fixture: two would take thousands of tests seconds more.
    """
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - for third-party code that draws from the global stream
    torch.manual_seed(0)
    grad_enabled, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    yield
    leaked_grad, leaked_dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    torch.set_grad_enabled(grad_enabled)
    torch.set_default_dtype(dtype)
    assert leaked_grad == grad_enabled, "the test left grad mode changed"
    assert leaked_dtype == dtype, "the test left the default dtype changed"
