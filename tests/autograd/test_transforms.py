"""Functions that are being transformed, and other ways to differentiate."""

from tests.autograd.asking import as_pytorch

test_as_pytorch = as_pytorch("transforms")
