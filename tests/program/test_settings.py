"""Switches, mixed precision and tensor types, compared with PyTorch."""

import pytest

import nanotorch as torch


def test_mixed_precision_is_told_not_to_happen() -> None:
    with pytest.warns(UserWarning, match="Disabling autocast"), torch.autocast("cpu"):
        assert torch.ones(1).mul(2).dtype is torch.float32
