"""The losses answer as PyTorch's."""

from tests.asking import as_pytorch

test_losses = as_pytorch("nn_loss")
