"""Random tensors and generators answer as PyTorch's."""

from tests.asking import as_pytorch

test_random = as_pytorch("nn_random")
