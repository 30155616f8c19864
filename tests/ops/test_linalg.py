"""Products and norms: PyTorch's answers to programs, and what programs cannot say."""

import numpy as np
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
