"""The further losses are PyTorch's."""

from tests.asking import as_pytorch

test_as_pytorch = as_pytorch("nn_further_loss")
