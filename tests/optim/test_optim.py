"""The optimizers answer as PyTorch's."""

from tests.asking import as_pytorch

test_optimizers = as_pytorch("optim")
test_state = as_pytorch("optim_state")
test_elementwise = as_pytorch("optim_elementwise")
# Of a few terms, in a valley whose curvature, 200, is by what roundings are magnified.
test_lbfgs = as_pytorch("optim_lbfgs", depth=200, terms=16)
test_schedulers = as_pytorch("optim_schedulers")
test_averages = as_pytorch("optim_swa")
