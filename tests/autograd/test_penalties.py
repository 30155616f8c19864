"""Gradients of penalties on gradients."""

from tests.autograd.asking import as_pytorch

test_as_pytorch = as_pytorch("penalties")
