"""Pruning is PyTorch's."""

from tests.asking import as_pytorch

test_as_pytorch = as_pytorch("nn_prune")
