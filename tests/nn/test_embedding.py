"""Embeddings answer as PyTorch's."""

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.ops.matrix import sums_of_rows


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


@pytest.mark.parametrize("count", [3, 1000])
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_rows_that_meet_are_added_up(count: int, kind: type) -> None:
    """Few rows in each place and many are added in different ways."""
    rng = np.random.default_rng(0)
    rows, at = rng.standard_normal((200, 4)).astype(np.float32), rng.integers(0, count, 200)
    expected = np.zeros((count, 4), np.float32)
    for row, place in zip(rows, at, strict=True):
        expected[place] += row
    actual = sums_of_rows(rows, at.astype(kind), count)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_a_table_without_rows() -> None:
    weight = torch.zeros(0, 3, requires_grad=True)
    torch.nn.functional.embedding(torch.zeros(0, dtype=torch.int64), weight).sum().backward()
    assert weight.grad.shape == (0, 3)
