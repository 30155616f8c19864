"""Datasets, samplers and loaders answer as PyTorch's."""

import pytest

import nanotorch as torch
from nanotorch.utils.data import DataLoader, TensorDataset
from tests.asking import as_pytorch

test_data = as_pytorch("data")
test_orders = as_pytorch("data_order")


def test_worker_processes_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="num_workers=2 is not available"):
        DataLoader(TensorDataset(torch.arange(3)), num_workers=2)
