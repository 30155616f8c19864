"""Views, joins and rearrangements: PyTorch's answers to programs, and what programs cannot say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import nanotorch as torch
from nanotorch._core import call_site
from nanotorch._core.tensor import Tensor, wrap
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


def test_expanded_memory_is_shared_and_may_not_be_written_to() -> None:
    x = torch.zeros(3, 1)
    out = x.expand(3, 4)
    assert out.stride() == (1, 0)
    assert out.data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="more than one element"):
        out.add_(1)
    x.expand(3, 1).add_(1)
    assert x.tolist() == [[1.0], [1.0], [1.0]]


def test_a_clone_keeps_the_order_of_dimensions_in_memory() -> None:
    x = torch.zeros(2, 3, 4).permute(2, 0, 1)
    assert x.clone().stride() == (1, 12, 4)
    assert x.clone(memory_format=torch.contiguous_format).stride() == (6, 3, 1)
    assert x.contiguous().is_contiguous()
    assert x.permute(1, 2, 0).contiguous()._base is not None


def test_a_dtype_view_reads_the_same_bytes() -> None:
    x = torch.tensor([1.0, -2.0])
    bits = x.view(torch.int32)
    assert bits.tolist() == [0x3F800000, 0xC0000000 - 2**32]
    bits.zero_()
    assert x.tolist() == [0.0, 0.0]
    assert x._version == 1


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


def test_one_part_is_the_gradient_of_one_part() -> None:
    """A tensor taken apart into a single piece still has several outputs in the graph's eyes."""
    for apart in (Tensor.unbind, lambda t: t.split(5), lambda t: t.chunk(1)):
        x = torch.ones(1, 2, requires_grad=True)
        (part,) = apart(x)
        (part * torch.tensor([2.0, 3.0])).sum().backward()
        assert x.grad.tolist() == [[2.0, 3.0]]
