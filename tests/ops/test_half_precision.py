"""Half precision is computed in single and rounded once, by kernels and by formulas.

The table of operations is called with half precision and with the same numbers in single.
"""

from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.nn import functional as F
from tests.ops.asking import as_pytorch
from tests.ops.cases import Case, by_row, cases, outcome
from tests.ops.sampling import Sample, weights_like

# What lies further apart, as PyTorch's does. Results of several operations that are rounded in
# between: differences of rounded numbers, products of rounded products; in half precision only is
# a root a power, of which that of -inf is inf.
RESULTS = {
    "binary_cross_entropy_with_logits", "gradient", "matrix_power", "pow",
    "tanhshrink", "triplet_margin_loss",
}  # fmt: skip
# Gradients that are computed from a rounded result or norm, whose rounding they magnify.
GRADIENTS = {
    "corrcoef", "cosine_similarity", "gradient", "logcumsumexp", "logsumexp", "matrix_power",
}  # fmt: skip
# Of large numbers: squares and products that overflow in between.
LARGE_RESULTS = {
    *RESULTS, "corrcoef", "cosine_embedding_loss", "cosine_similarity", "cov", "einsum",
    "gaussian_nll_loss", "kl_div", "mse_loss", "trapezoid",
}  # fmt: skip
LARGE_GRADIENTS = {
    *GRADIENTS, "cosine_embedding_loss", "cov", "cumprod", "cumprod_", "einsum",
    "gaussian_nll_loss", "local_response_norm", "scatter_reduce", "scatter_reduce_", "softmax",
}  # fmt: skip
# These refuse half precision with a RuntimeError. Any operation may raise NotImplementedError.
FLOAT_AND_DOUBLE = {
    "linalg.lstsq", "linalg.matrix_rank", "linalg.pinv", "nanquantile", "pinverse", "quantile",
}  # fmt: skip
test_as_pytorch = as_pytorch("half")
ROWS = by_row(case for case in cases() if case.row.torch is not None)


def drawn(case: Case, kind: str, scale: float) -> list[torch.Tensor]:
    """Inputs that half precision holds."""
    tensors = []
    for array, described in zip(case.arrays(), case.sample.inputs(), strict=True):
        if described.dtype == "float":
            scaled = scale if described.domain in ("real", "positive") else 1
            array = (array * scaled).astype(np.float16).astype(kind)
        tensors.append(torch.tensor(array))
    return tensors


def takes_floats(sample: Sample) -> bool:
    return any(described.dtype == "float" for described in sample.inputs())


def apart(half: np.ndarray, single: np.ndarray, whole: bool) -> float:
    """How far they lie apart, in units of the last place of each number, or of the largest."""
    with np.errstate(over="ignore"):
        rounded = single.astype(np.float16)
    if half.dtype != np.float16 or np.array_equal(half, rounded, equal_nan=True):
        return 0
    same = (half == rounded) | (np.isnan(half) & np.isnan(rounded))
    largest = np.maximum(np.abs(half), np.abs(rounded))
    if whole:
        largest = largest.max(initial=0, where=np.isfinite(largest))
    with np.errstate(invalid="ignore"):
        far = np.abs(half.astype(np.float64) - rounded) / np.spacing(largest).astype(np.float64)
    return float(np.where(same, 0, far).max())


@pytest.mark.filterwarnings("ignore:cov")
@pytest.mark.parametrize(
    ("scale", "results", "gradients", "most"),
    [
        pytest.param(1, RESULTS, GRADIENTS, None, marks=pytest.mark.slow),
        pytest.param(100, LARGE_RESULTS, LARGE_GRADIENTS, None, marks=pytest.mark.slow),
        (100, LARGE_RESULTS, LARGE_GRADIENTS, 1),
    ],
)
def test_half_precision_is_rounded_once(
    scale: float, results: set[str], gradients: set[str], most: int | None
) -> None:
    """For all samples of every operation, or its first one."""
    wrong = []
    for name, row in ROWS.items():
        for case in [c for c in row if c.sample.fails is False and takes_floats(c.sample)][:most]:
            try:
                half = outcome(case, drawn(case, "float16", scale))
            except RuntimeError as error:
                if type(error) is RuntimeError and name not in FLOAT_AND_DOUBLE:
                    raise
                continue
            single = outcome(case, drawn(case, "float32", scale))
            for found, exact, whole in zip(half, single, (False, True), strict=True):
                pairs = zip(found, exact, strict=True)
                units = [apart(*(t.numpy(force=True) for t in pair), whole) for pair in pairs]
                exempt = name in (gradients if whole else results)
                if not exempt and not max(units, default=0) <= (4 if whole else 2):
                    wrong.append(f"{case}: {units}")
    assert not wrong


def test_what_is_recorded_has_the_bits_of_what_is_not() -> None:
    x = torch.tensor([-3.0, 0.5, 7.0], dtype=torch.float16, requires_grad=True)
    for function in (torch.tanh, F.softplus, F.silu, torch.std, lambda v: F.softmax(v, 0)):
        weights = weights_like(function(x).shape, "weight", 0)
        g = torch.tensor(weights, dtype=torch.float16)
        (bare,) = torch.autograd.grad(function(x), x, g)
        (recorded,) = torch.autograd.grad(function(x), x, g, create_graph=True)
        assert recorded.dtype == torch.float16
        np.testing.assert_array_equal(bare, recorded.detach())
        recorded.sum().backward()


NUMBERS = (0.1, 1e-3, 7.3, 65536.0, 1e-8, -2.5, 3, True)


@pytest.mark.parametrize("number", NUMBERS)
def test_factors_and_divisors_keep_their_digits(number: float) -> None:
    values = (np.random.default_rng(0).normal(size=64) * 3).astype(np.float16)
    x, single, v = torch.tensor(values), values.astype(np.float32), np.float32(number)
    expected: dict[str, Any] = {
        "mul": single * v, "true_divide": single / v, "div": single / v,
        "floor_divide": np.floor_divide(single, v), "trunc": np.trunc(single / v),
    }  # fmt: skip
    for name, exact in expected.items():
        with np.errstate(over="ignore"):
            rounded = exact.astype(np.float16)
        for other in (number, *(torch.tensor(number, dtype=d) for d in FLOATS[1:])):
            if name == "trunc":
                found = [torch.div(x, other, rounding_mode="trunc")]
            else:
                in_place = getattr(x.clone(), name + "_")(other)
                found = [getattr(torch, name)(x, other), in_place]
            for out in found:
                assert out.dtype == torch.float16
                np.testing.assert_array_equal(out, rounded, err_msg=name)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(number * x, (single * v).astype(np.float16))


FLOATS = (torch.float16, torch.float32, torch.float64)


@pytest.mark.parametrize("alpha", [0.1, 3, -2.5])
def test_scaled_sums_are_rounded_once(alpha: float) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 64)).astype(np.float16)
    x, y, factor = torch.tensor(a), torch.tensor(b), np.float32(np.float16(alpha))
    more = (a + b.astype(np.float32) * factor).astype(np.float16)
    less = (a - b.astype(np.float32) * factor).astype(np.float16)
    np.testing.assert_array_equal(torch.add(x, y, alpha=alpha), more)
    np.testing.assert_array_equal(x.clone().add_(y, alpha=alpha), more)
    np.testing.assert_array_equal(torch.sub(x, y, alpha=alpha), less)


def test_gradients_of_factors() -> None:
    x = torch.tensor([1e-3, 2.0], dtype=torch.float16, requires_grad=True)
    w = torch.tensor(0.1, requires_grad=True)
    gx, gw = torch.autograd.grad((x * w).sum(), (x, w))
    assert gx.dtype == torch.float16
    assert gw.dtype == torch.float32


def test_steps_of_optimizers_keep_the_digits_of_their_numbers() -> None:
    values = np.random.default_rng(2).normal(size=64).astype(np.float16)
    p = torch.nn.Parameter(torch.tensor(values))
    p.grad = torch.ones_like(p)
    torch.optim.SGD([p], lr=0.1).step()
    rate = np.float32(np.float16(0.1))
    expected = (values.astype(np.float32) - rate).astype(np.float16)
    np.testing.assert_array_equal(p.detach(), expected)
    q = torch.nn.Parameter(torch.zeros(4, dtype=torch.float16))
    q.grad = torch.full_like(q, 1e-3)  # whose square vanishes in half precision
    torch.optim.Adamax([q], lr=0.01).step()
    np.testing.assert_allclose(q.detach(), -0.01, rtol=1e-3)


REFUSED: dict[str, Any] = {
    "linalg.solve": lambda x: torch.linalg.solve(x, x),
    "linalg.cholesky": torch.linalg.cholesky,
    "linalg.qr": torch.linalg.qr,
    "linalg.svd": torch.linalg.svdvals,
    "linalg.eigh": torch.linalg.eigvalsh,
    "linalg.solve_triangular": lambda x: torch.linalg.solve_triangular(x, x, upper=True),
    "cdist": lambda x: torch.cdist(x, x),
    "avg_pool3d_out_frame": lambda x: F.avg_pool3d(x[None, None], 1),
    "compute_index_ranges_weights": lambda x: F.interpolate(
        x[None, None], (2, 2), mode="bilinear", antialias=True
    ),
}


@pytest.mark.parametrize("kernel", REFUSED)
def test_what_pytorch_has_for_other_precisions_only(kernel: str) -> None:
    x = torch.eye(3, dtype=torch.float16)
    with pytest.raises(NotImplementedError, match=f"^\"{kernel}\" not implemented for 'Half'"):
        REFUSED[kernel](x)
    assert REFUSED[kernel](x.float()) is not None
    assert torch.linalg.matrix_exp(x).dtype == torch.float16


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_the_gradient_of_gelu_is_rounded_once(approximate: str) -> None:
    x = torch.linspace(-4, 4, 65).half().requires_grad_()
    exact = x.detach().double().requires_grad_()
    for t in (x, exact):
        torch.nn.functional.gelu(t, approximate=approximate).sum().backward()
    assert (x.grad.double() - exact.grad).abs().max() <= 2**-11 * 1.01
