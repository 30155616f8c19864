"""Jacobians."""

import nanotorch as torch
from nanotorch.autograd.functional import jacobian


def test_an_empty_output_has_an_empty_jacobian() -> None:
    x = torch.ones(3)
    assert jacobian(lambda x: x[:0] * 2, x).shape == (0, 3)
    assert jacobian(lambda x: x * 2, x[:0]).shape == (0, 0)
