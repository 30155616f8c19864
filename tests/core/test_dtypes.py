"""Dtypes, their promotion, sizes and devices."""

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core import dtypes
from tests.answers import expressions


@pytest.mark.parametrize("kind", ["complex64", "U3", "object", "datetime64[s]"])
def test_types_without_counterpart(kind: str) -> None:
    with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type numpy\."):
        dtypes.dtype_of(np.zeros(2, kind))


USES = """
torch.tensor([1.0], dtype=kind)|torch.as_tensor(np.ones(2), dtype=kind)|torch.zeros(2, dtype=kind)
torch.arange(2, dtype=kind)|torch.randn(2, dtype=kind)|torch.zeros_like(torch.ones(2), dtype=kind)
torch.ones(2).new_zeros(2, dtype=kind)|torch.ones(2).to(kind)|torch.ones(2).view(kind)
torch.ones(2).sum(dtype=kind)|torch.nn.Linear(2, 2, dtype=kind)|torch.set_default_dtype(kind)
"""


def test_dtypes_that_numpy_lacks_are_there_but_no_tensor_has_them() -> None:
    text = (
        r"^torch\.float8_e5m2 is out of scope\. Nanotorch computes in the dtypes of NumPy and in "
        r"bfloat16\. Use float32, or"
    )
    for use in expressions(USES):
        with pytest.raises(NotImplementedError, match=text):
            eval(use, {"torch": torch, "np": np, "kind": torch.float8_e5m2})
    assert torch.get_default_dtype() is torch.float32
    assert not hasattr(torch.float8_e5m2, "_numpy")
    assert not hasattr(torch.complex64, "char")


def test_promotion_is_symmetric_and_associative_within_a_rank() -> None:
    for a in dtypes.ALL:
        for b in dtypes.ALL:
            ab = dtypes.promote_types(a, b)
            assert ab is dtypes.promote_types(b, a)
            assert dtypes.promote_types(a, ab) is ab
            for c in dtypes.ALL:
                left = dtypes.promote_types(ab, c)
                assert left is dtypes.promote_types(a, dtypes.promote_types(b, c))


ON_A_GPU = """
torch.ones(2, device='cuda')|torch.tensor([1.0], device=torch.device('cuda:0'))
torch.zeros_like(torch.ones(2), device='cuda')|torch.ones(2).to(device=torch.device('cuda'))
torch.ones(2).to('cuda')|torch.ones(2).cuda()|torch.nn.Linear(2, 1).cuda()
torch.nn.Linear(2, 1).to('cuda')|torch.nn.Linear(2, 1).to(torch.device('cuda'))
torch.cuda.current_device()|torch.cuda.set_device(0)|torch.cuda.synchronize()
torch.cuda.get_device_name()
"""


def test_no_gpu() -> None:
    for use in expressions(ON_A_GPU):
        with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled(\nTry|$)"):
            eval(use)


def test_no_tensor_elsewhere() -> None:
    with pytest.raises(RuntimeError, match="runs on the CPU only; there is no device 'xla'"):
        torch.ones(2, device="xla")


def test_the_usual_choice_of_a_device() -> None:
    """As PyTorch's tutorials write it."""
    a = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = torch.accelerator.is_available()
    b = torch.accelerator.current_accelerator().type if found else "cpu"
    assert torch.ones(2).to(a).to(b).device == a
    assert not torch.backends.cuda.is_built()
    assert not torch.backends.cudnn.is_available()
    assert torch.backends.cudnn.version() is None
    assert torch.accelerator.current_accelerator() is None
