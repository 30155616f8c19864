"""Unusual arguments."""

from tests.core.asking import as_pytorch

test_as_pytorch = as_pytorch("unusual")
