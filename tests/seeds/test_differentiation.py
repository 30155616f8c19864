"""Automatic differentiation of a one-layer network."""

from tests.autograd.asking import as_pytorch

test_as_pytorch = as_pytorch("differentiation", folder="seeds")
