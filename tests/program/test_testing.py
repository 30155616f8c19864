"""Results compared by `torch.testing.assert_close`, compared with PyTorch."""

from tests.asking import as_pytorch

test_testing = as_pytorch("testing")
