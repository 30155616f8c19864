"""Products and norms: PyTorch's answers to programs, and what programs cannot say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import nanotorch as torch
from nanotorch._core.tensor import wrap
from tests.ops.asking import as_pytorch

test_as_pytorch = as_pytorch("linalg")

SIDES = st.integers(0, 3)
LABELS = "abcd"


def drawn(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(float(np.prod(shape))).reshape(shape) % 5 - 2


@given(
    arrays.mutually_broadcastable_shapes(signature="(n?,k),(k,m?)->(n?,m?)", max_dims=2),
    st.booleans(),
    st.booleans(),
)
def test_matmul_is_numpys_whatever_way_it_takes(
    shapes: arrays.BroadcastableShapes, first: bool, second: bool
) -> None:
    a, b = map(drawn, shapes.input_shapes)
    x, y = wrap(a).requires_grad_(first), wrap(b).requires_grad_(second)
    out = x @ y
    np.testing.assert_array_equal(out.detach().numpy(), a @ b)
    if first or second:
        leaves = [t for t in (x, y) if t.requires_grad]
        for leaf, g in zip(leaves, torch.autograd.grad(out.sum(), leaves), strict=True):
            assert g.shape == leaf.shape


@given(st.lists(st.text(LABELS, min_size=1, max_size=3), min_size=1, max_size=3), st.data())
def test_einsum_is_numpys(terms: list[str], data: st.DataObject) -> None:
    sizes = {label: data.draw(st.integers(1, 3)) for label in LABELS}
    used = sorted(set("".join(terms)))
    result = data.draw(st.permutations(used))[: data.draw(st.integers(0, len(used)))]
    equation = ",".join(terms) + "->" + "".join(result)
    operands = [drawn(tuple([sizes[label] for label in term])) for term in terms]
    out = torch.einsum(equation, *map(wrap, operands))
    np.testing.assert_allclose(out.numpy(), np.einsum(equation, *operands), atol=1e-12)


def test_half_precision_is_summed_in_single() -> None:
    row = torch.full((1, 4096), 0.5, dtype=torch.float16)
    assert (row @ torch.ones(4096, 1, dtype=torch.float16)).item() == 2048.0


def test_a_plan_is_made_once_for_an_equation() -> None:
    from nanotorch.ops.einstein import planned

    a, b = torch.ones(2, 3), torch.ones(3, 4)
    torch.einsum("ij,jk->ik", a, b)
    hits = planned.cache_info().hits
    torch.einsum("ij,jk->ik", a, b)
    assert planned.cache_info().hits == hits + 1


def test_norms_of_vectors_agree_with_numpy() -> None:
    x = np.array([[3.0, -4.0, 0.0], [1.0, 2.0, -2.0]])
    for ord in (0, 1, 2, 3, 0.5, -1, np.inf, -np.inf):
        with np.errstate(divide="ignore"):
            expected = np.linalg.norm(x, ord, axis=1)
        found = torch.linalg.vector_norm(wrap(x), ord, dim=1)
        np.testing.assert_allclose(found.numpy(), expected)
    assert wrap(x).norm().item() == pytest.approx(np.linalg.norm(x))


def test_the_gradient_of_a_norm_at_zero_is_zero() -> None:
    for p in (1.5, 2, 3):
        x = torch.zeros(3, requires_grad=True)
        x.norm(p).backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_foreign_operands_are_left_to_python() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        torch.ones(2, 2) @ 2
    with pytest.raises(TypeError, match="unsupported operand"):
        [1, 2] @ torch.ones(2, 2)


@pytest.mark.parametrize("p", [0.5, 1.5, 2.5, 3.0, -1.0])
def test_norm_of_one_number_has_a_second_derivative(p: float) -> None:
    x = torch.tensor(-2.0, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(x.norm(p), x, create_graph=True)
    (second,) = torch.autograd.grad(slope, x)
    assert slope.item() == pytest.approx(-1)
    assert second.item() == pytest.approx(0, abs=1e-12)
