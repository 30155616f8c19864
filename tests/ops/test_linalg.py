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


def test_products_of_half_precision_are_those_of_single_rounded() -> None:
    # NumPy's own sum in another order, by a function that takes 80 times as long.
    torch.manual_seed(0)
    a = torch.randn(256, 256).half()
    assert torch.equal(a @ a, (a.float() @ a.float()).half())


def test_a_norm_below_one_has_no_slope_where_an_element_is_zero() -> None:
    for numbers, expected in (([0.0, 4.0, -9.0], [0.0, 2.5, -5 / 3]), ([0.0, 0.0], [0.0, 0.0])):
        x = torch.tensor(numbers, requires_grad=True)
        (g,) = torch.autograd.grad(torch.linalg.vector_norm(x, 0.5), x)
        np.testing.assert_allclose(g.numpy(), expected, rtol=1e-6)


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


def test_the_gradient_of_both_factors_in_one_matrix() -> None:
    packed = wrap(drawn((2, 4, 3))).requires_grad_()
    _, L, U = torch.lu_unpack(packed, torch.ones(2, 3, dtype=torch.int32))
    ((L * 2).sum() + U.sum() * 3).backward()
    rows, columns = np.indices((4, 3))
    expected = np.where(rows > columns, 2.0, 3.0)
    np.testing.assert_array_equal(packed.grad.numpy(), np.stack([expected] * 2))


@pytest.mark.parametrize(
    ("shapes", "recorded", "product"),
    [
        (((2, 3, 4), (4, 5)), 0, "MmBackward0"), (((2, 3, 4), (4,)), 0, "MvBackward0"),
        (((3, 4), (2, 4, 5)), 1, "BmmBackward0"), (((4,), (2, 4, 5)), 1, "BmmBackward0"),
        (((3, 4), (2, 4, 5)), 0, "MmBackward0"),
    ],
)  # fmt: skip
def test_a_batch_by_a_matrix_is_one_product_where_that_saves_copies(
    shapes: tuple[tuple[int, ...], ...], recorded: int, product: str
) -> None:
    pair = [torch.ones(shape, requires_grad=k == recorded) for k, shape in enumerate(shapes)]
    waiting, names = [(pair[0] @ pair[1]).grad_fn], []
    for node in waiting:  # the list grows while the loop runs
        names.append(node.name())
        waiting += [source for source, _ in node.next_functions if source is not None]
    assert product in names
