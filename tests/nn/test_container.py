"""The containers answer as PyTorch's."""

from tests.asking import as_pytorch

test_containers = as_pytorch("nn_container")
