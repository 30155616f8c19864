"""Packing what operations save."""

import pytest

import nanotorch as torch
from nanotorch._core.op import hooks, observers


def test_hooks_have_to_be_functions() -> None:
    with pytest.raises(TypeError, match="takes two functions"):
        torch.autograd.graph.saved_tensors_hooks(None, None).__enter__()


def test_nothing_is_observed_once_the_contexts_are_left() -> None:
    def fail() -> None:
        with torch.autograd.graph.save_on_cpu(), torch.autograd.set_detect_anomaly(True):
            assert len(observers) == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert observers == []
    assert hooks.stack == []
