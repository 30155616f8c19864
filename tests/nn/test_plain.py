"""Functions of `nn.functional` as the package itself has them are PyTorch's."""

from tests.asking import as_pytorch

test_as_pytorch = as_pytorch("nn_plain")
