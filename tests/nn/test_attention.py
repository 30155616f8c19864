"""Attention answers as PyTorch's."""

from tests.asking import as_pytorch

test_attention = as_pytorch("nn_attention")
