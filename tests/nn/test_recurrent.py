"""Recurrent layers and packed sequences answer as PyTorch's."""

from tests.asking import as_pytorch

test_recurrent = as_pytorch("nn_recurrent")
