"""Linear, activation, dropout and normalization layers answer as PyTorch's."""

from tests.asking import as_pytorch

test_layers = as_pytorch("nn_layers")
