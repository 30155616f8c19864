"""Datasets, samplers and loaders answer as PyTorch's."""

import copy as copies
import pickle

import pytest

import nanotorch as torch
from nanotorch.utils.data import DataLoader, Subset, TensorDataset, default_collate


@pytest.mark.parametrize("batch_size", [1, 3, 8, 50])
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_cut_at_once_are_those_collated(batch_size: int, shuffle: bool) -> None:
    """The short way of tensor datasets and the long way of any other give the same batches."""
    whole = TensorDataset(torch.randn(20, 3), torch.arange(20), torch.rand(20) > 0.5)
    part = Subset(whole, torch.randperm(20)[:13].tolist())
    for dataset in (whole, part):
        passes = []
        for collate_fn in (None, lambda batch: default_collate(batch)):
            generator = torch.Generator().manual_seed(batch_size)
            loader = DataLoader(
                dataset, batch_size, shuffle, collate_fn=collate_fn, generator=generator
            )
            passes.append([batch for _ in range(2) for batch in loader])
        for short, long in zip(*passes, strict=True):
            assert [t.dtype for t in short] == [t.dtype for t in long]
            assert all(torch.equal(a, b) for a, b in zip(short, long, strict=True))


def test_batches_have_memory_of_their_own() -> None:
    x = torch.arange(6.0)
    for loader in (DataLoader(TensorDataset(x), 3), DataLoader(TensorDataset(x), 1)):
        for (batch,) in loader:
            batch.zero_()
    assert torch.equal(x, torch.arange(6.0))


@pytest.mark.parametrize("begun", [False, True])
def test_a_loader_can_be_copied_and_named_in_annotations(begun: bool) -> None:
    loader = DataLoader(TensorDataset(torch.arange(6.0)), 2, shuffle=True)
    if begun:
        next(iter(loader))
    torch.manual_seed(4)
    expected = [batch.tolist() for (batch,) in loader]
    for copy in (pickle.loads(pickle.dumps(loader)), copies.deepcopy(loader)):
        torch.manual_seed(4)
        assert [batch.tolist() for (batch,) in copy] == expected
    assert DataLoader[int].__origin__ is DataLoader
