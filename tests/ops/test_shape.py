"""Views, joins and rearrangements: PyTorch's answers to programs, and what programs cannot say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import nanotorch as torch
from nanotorch._core import call_site
from nanotorch._core.tensor import wrap
from tests.ops.asking import as_pytorch

test_as_pytorch = as_pytorch("shape")

SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def counted(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(float(np.prod(shape))).reshape(shape)


@given(SHAPES, st.data())
def test_permuted_reshaped_and_sliced_tensors_share_memory(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    array = counted(shape)
    order = data.draw(st.permutations(range(len(shape))))
    x = wrap(array)
    for view in (x.permute(tuple(order)), x.unsqueeze(0), x.view(-1), x[...]):
        assert np.shares_memory(view.numpy(), array) or not array.size
        assert view._is_view()
        before = x._version
        view.add_(1)
        assert x._version == view._version == before + 1
    np.testing.assert_array_equal(x.permute(tuple(order)).numpy(), array.transpose(order))


@given(SHAPES, st.data())
def test_reshape_is_a_view_where_numpy_needs_no_copy(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    array = counted(shape).transpose(order)
    target = data.draw(st.permutations(shape)) + data.draw(st.sampled_from([[], [1]]))
    out = wrap(array).reshape(target)
    np.testing.assert_array_equal(out.numpy(), array.reshape(target))
    try:
        array.reshape(target, copy=False)
    except ValueError:
        assert not out._is_view()
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            wrap(array).view(target)
    else:
        assert out._is_view()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: x.T, "x.T of 3 dimensions is deprecated."),
        (lambda x: x[0, 0, 0].T, "x.T of 0 dimensions is deprecated."),
        (lambda x: x[0, 0, 0].mT, "Tensor.mT is deprecated on 0-D tensors."),
        (lambda x: x[0, 0, 0].H, "Tensor.H is deprecated on 0-D tensors."),
    ],
)
def test_transposing_what_is_no_matrix_warns(
    make: object, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_site, "said", set())
    assert callable(make)
    with pytest.warns(UserWarning, match=text.replace(".", r"\.")):
        make(torch.zeros(2, 3, 4))
