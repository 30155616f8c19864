"""How graphs are freed, and two losses on one graph."""

from tests.autograd.asking import as_pytorch

test_as_pytorch = as_pytorch("retained_graphs", folder="seeds")
