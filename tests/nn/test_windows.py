"""Layers of convolution, pooling, padding and resampling answer as PyTorch's."""

from tests.asking import as_pytorch

test_windows = as_pytorch("nn_windows")
