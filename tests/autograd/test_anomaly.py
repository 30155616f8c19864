"""Anomaly mode: PyTorch's answers, and turning it on and off."""

import threading
import warnings

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch._core.op import OPS, Array, op
from nanotorch.autograd.anomaly_mode import detect_anomaly, first_nonfinite, set_detect_anomaly
from tests.autograd.golden_function import leaf
from tests.autograd.watching import watching
from tests.several import in_threads


def kernels() -> list[bool]:
    """Of each operation, whether its own kernel is called."""
    return [o.namespace["kernel"] is o.called for o in OPS.values()]


def test_kernels_are_watched_in_the_mode_and_as_they_were_after_it() -> None:
    views = [o.view for o in OPS.values()]

    def fail() -> None:
        with set_detect_anomaly(False):
            assert all(kernels())
            raise ValueError("inside")

    assert all(kernels())
    with set_detect_anomaly(True):
        assert kernels() == views
        with pytest.raises(ValueError, match="inside"):
            fail()
        assert kernels() == views
        with set_detect_anomaly(True, check_nan=False):
            assert all(kernels())
    assert all(kernels())


def inverted(input: Array) -> Array:
    """``1 / input``."""
    return 1 / input


def test_operations_that_are_declared_in_the_mode_are_watched() -> None:
    before = dict(OPS)
    try:
        with watching() as told:
            op(method=False, public=False)(inverted)(torch.zeros(2))
    finally:
        for name in set(OPS) - set(before):
            del OPS[name]
    assert [text.partition(",")[0] for text in told] == ["inverted gave inf in all 2 elements"]


def test_without_check_nan_nothing_is_looked_at() -> None:
    with watching(check_nan=False) as told:
        x = leaf(torch, 0.0)
        (x.sqrt() * 0).backward()
        torch.zeros(1).log()
    assert told == []
    assert first_nonfinite() is None


def test_nested_contexts_have_one_record() -> None:
    with watching() as told:
        with set_detect_anomaly(True):
            torch.zeros(1).log()
        with set_detect_anomaly(True, check_nan=False), set_detect_anomaly(False):
            pass
        torch.zeros(1).log()
        assert first_nonfinite() is not None
    assert len(told) == 1
    assert first_nonfinite() is not None
    with watching():
        assert first_nonfinite() is None


def test_threads_leave_the_mode_in_any_order() -> None:
    entered, left = threading.Barrier(2), threading.Event()
    seen: list[bool] = []

    def work(number: int) -> None:
        with set_detect_anomaly(True):
            entered.wait()
            if number:
                left.wait()
                seen.append(torch.is_anomaly_enabled())
        if not number:
            left.set()

    in_threads(work, 2)
    assert seen == [True]
    assert not torch.is_anomaly_enabled()
    assert all(kernels())


def test_a_setting_outside_of_contexts_stays() -> None:
    set_detect_anomaly(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with detect_anomaly(check_nan=False):
            assert not torch.is_anomaly_check_nan_enabled()
            set_detect_anomaly(False)
            assert not torch.is_anomaly_enabled()
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (True, True)
    set_detect_anomaly(False)
    assert all(kernels())


def test_watching_changes_no_result() -> None:
    def run() -> list[bytes]:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(torch.randn(5, 3)), torch.randn(5, 1)).backward()
            optimizer.step()
        return [p.detach().numpy().tobytes() for p in net.parameters()]

    plain = run()
    with watching() as told:
        assert run() == plain
    assert told == []
    assert first_nonfinite() is None


def test_the_record_of_a_phase_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="phase is 'sideways', but must be 'forward', 'backward'"):
        first_nonfinite("sideways")
