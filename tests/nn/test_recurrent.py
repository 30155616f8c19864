"""Recurrent layers and packed sequences answer as PyTorch's."""

import pytest

import nanotorch as torch


def test_a_length_beyond_the_padding_is_refused() -> None:
    """PyTorch lets it pass, and gives sizes of which there are no data."""
    with pytest.raises(RuntimeError, match="cannot be 5 steps long in an input of 4 steps"):
        torch.nn.utils.rnn.pack_padded_sequence(torch.ones(4, 2), [5, 2])
