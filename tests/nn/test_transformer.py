"""Transformers answer as PyTorch's."""

from tests.asking import as_pytorch

test_transformer = as_pytorch("nn_transformer", depth=4)
