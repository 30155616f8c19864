"""`Variable`, as old scripts use it."""

from tests.autograd.asking import as_pytorch

test_as_pytorch = as_pytorch("variable")
