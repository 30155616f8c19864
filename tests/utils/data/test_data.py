"""Datasets, samplers and loaders answer as PyTorch's."""

import nanotorch as torch
from nanotorch.utils.data import DataLoader, TensorDataset


def test_batches_have_memory_of_their_own() -> None:
    x = torch.arange(6.0)
    for loader in (DataLoader(TensorDataset(x), 3), DataLoader(TensorDataset(x), 1)):
        for (batch,) in loader:
            batch.zero_()
    assert torch.equal(x, torch.arange(6.0))
