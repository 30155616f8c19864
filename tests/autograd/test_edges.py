"""Edges, and hooks for several tensors."""

from tests.autograd.asking import as_pytorch

test_as_pytorch = as_pytorch("edges")
