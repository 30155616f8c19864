"""Checkpoints: memory for time."""

from tests.autograd.asking import as_pytorch

test_as_pytorch = as_pytorch("checkpoint")
