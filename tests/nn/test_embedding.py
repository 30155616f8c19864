"""Embeddings answer as PyTorch's."""

import pytest

import nanotorch as torch


def test_sparse_gradients_are_refused() -> None:
    weight, index = torch.ones(2, 2), torch.tensor([1])
    for call in (
        lambda: torch.nn.Embedding(2, 2, sparse=True),
        lambda: torch.nn.EmbeddingBag(2, 2, sparse=True),
        lambda: torch.nn.functional.embedding(index, weight, sparse=True),
        lambda: torch.nn.functional.embedding_bag(index, weight, index * 0, sparse=True),
    ):
        with pytest.raises(NotImplementedError, match="leave out sparse=True"):
            call()


def test_offsets_must_not_fall() -> None:
    with pytest.raises(RuntimeError, match="must not fall"):
        torch.nn.functional.embedding_bag(
            torch.tensor([1, 0, 1]), torch.ones(2, 2), torch.tensor([0, 2, 1])
        )
