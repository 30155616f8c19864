"""`nanotorch.nn.module` and its bases answer as PyTorch."""

from tests.asking import as_pytorch

test_modules = as_pytorch("nn_module")
test_state = as_pytorch("nn_state")
test_hooks = as_pytorch("nn_hooks")
