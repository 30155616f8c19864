"""Jacobians, Hessians and their products."""

import numpy as np

import nanotorch as torch
from nanotorch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def test_the_products_are_those_of_the_matrices() -> None:
    x = torch.randn(3, dtype=torch.float64)
    v, w = torch.randn(3, dtype=torch.float64), torch.randn(2, dtype=torch.float64)
    a = torch.randn(2, 3, dtype=torch.float64)

    def several(x: torch.Tensor) -> torch.Tensor:
        return (a @ x).sin() * x.sum()

    def single(x: torch.Tensor) -> torch.Tensor:
        return several(x).exp().sum()

    matrix, curvature = jacobian(several, x).numpy(), hessian(single, x).numpy()
    np.testing.assert_allclose(vjp(several, x, w)[1].numpy(), w.numpy() @ matrix, rtol=1e-12)
    np.testing.assert_allclose(jvp(several, x, v)[1].numpy(), matrix @ v.numpy(), rtol=1e-12)
    np.testing.assert_allclose(curvature, curvature.T, rtol=1e-12)
    np.testing.assert_allclose(vhp(single, x, v)[1].numpy(), curvature @ v.numpy(), rtol=1e-12)
    np.testing.assert_allclose(hvp(single, x, v)[1].numpy(), curvature @ v.numpy(), rtol=1e-12)


def test_an_empty_output_has_an_empty_jacobian() -> None:
    x = torch.ones(3)
    assert jacobian(lambda x: x[:0] * 2, x).shape == (0, 3)
    assert jacobian(lambda x: x * 2, x[:0]).shape == (0, 0)
