"""What holds for every test: fixed seeds, and no state of the engine left behind."""

import gc
import os
import random
import signal
from collections.abc import Iterator

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
