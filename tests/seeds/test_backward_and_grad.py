"""`backward`, `grad`, nodes by hand, and hooks."""

from tests.autograd.asking import as_pytorch

test_as_pytorch = as_pytorch("backward_and_grad", folder="seeds")
