"""`nn.utils` answers as PyTorch's."""

from tests.asking import as_pytorch

test_utils = as_pytorch("nn_utils")
