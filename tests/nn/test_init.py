"""`nanotorch.nn.init` and the layers' own initialization draw PyTorch's values."""

from tests.asking import as_pytorch

test_init = as_pytorch("nn_init")
